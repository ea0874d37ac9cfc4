package mcp

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/tool"
)

// An authority is an authorization server, and beside it a server of tools that wants its tokens.
type authority struct {
	*httptest.Server
	t *testing.T

	metadata func(map[string]any) // changes what it says of itself
	refuses  bool                 // the person says no
	brief    bool                 // tokens have expired when they come

	mu      sync.Mutex
	clients map[string]url.Values // by id: what they have registered with
	codes   map[string]url.Values // what was asked for with the codes that are out
	refresh map[string]string     // scopes by refresh token
	access  map[string]string     // scopes by access token
	needs   string                // a scope that calls need
	saw     []string              // paths that were asked for
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, clients: map[string]url.Values{"known": {}}, codes: map[string]url.Values{}, refresh: map[string]string{}, access: map[string]string{}}
	tools := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return goodServer() }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(strings.NewReader(string(body)))
		a.mu.Lock()
		scopes, ok := a.access[strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")]
		lacks := a.needs != "" && strings.Contains(string(body), "tools/call") && !slices.Contains(strings.Fields(scopes), a.needs)
		a.mu.Unlock()
		about := fmt.Sprintf(`resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, a.URL)
		switch {
		case !ok:
			w.Header().Set("WWW-Authenticate", `Bearer `+about+`, scope="read"`)
			w.WriteHeader(http.StatusUnauthorized)
		case lacks:
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+a.needs+`", `+about)
			w.WriteHeader(http.StatusForbidden)
		default:
			tools.ServeHTTP(w, req)
		}
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		a.answer(w, map[string]any{"resource": a.URL + "/mcp", "authorization_servers": []string{a.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		m := map[string]any{"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"read", "write", "offline_access"},
			"token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"}, "authorization_response_iss_parameter_supported": true}
		if a.metadata != nil {
			a.metadata(m)
		}
		a.answer(w, m)
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, req *http.Request) {
		var m struct {
			RedirectURIs []string `json:"redirect_uris"`
			Type         string   `json:"application_type"`
		}
		if err := json.NewDecoder(req.Body).Decode(&m); err != nil || m.Type != "native" {
			t.Errorf("it registers as %+v, %v", m, err)
		}
		id := rand.Text()
		a.mu.Lock()
		a.clients[id] = url.Values{"redirect_uri": m.RedirectURIs}
		a.mu.Unlock()
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"client_id": id, "redirect_uris": m.RedirectURIs, "token_endpoint_auth_method": "none"})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, req *http.Request) {
		q := req.URL.Query()
		a.mu.Lock()
		defer a.mu.Unlock()
		client, ok := a.clients[q.Get("client_id")]
		if want := client.Get("redirect_uri"); !ok || want != "" && want != q.Get("redirect_uri") || q.Get("resource") != a.URL+"/mcp" || q.Get("code_challenge_method") != "S256" {
			t.Errorf("it asks for %v", q)
		}
		answer := url.Values{"state": {q.Get("state")}, "iss": {a.URL}}
		if a.refuses {
			answer.Set("error", "access_denied\x1b[31m")
		} else {
			code := rand.Text()
			a.codes[code] = q
			answer.Set("code", code)
		}
		http.Redirect(w, req, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, req *http.Request) {
		_ = req.ParseForm()
		a.mu.Lock()
		defer a.mu.Unlock()
		scopes, ok := "", false
		switch f := req.PostForm; f.Get("grant_type") {
		case "authorization_code":
			q := a.codes[f.Get("code")]
			sum := sha256.Sum256([]byte(f.Get("code_verifier")))
			ok = q != nil && base64.RawURLEncoding.EncodeToString(sum[:]) == q.Get("code_challenge") && f.Get("resource") == q.Get("resource")
			delete(a.codes, f.Get("code"))
			scopes = q.Get("scope")
		case "refresh_token":
			scopes, ok = a.refresh[f.Get("refresh_token")]
			delete(a.refresh, f.Get("refresh_token"))
		}
		if !ok {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
			return
		}
		access, refresh := rand.Text(), rand.Text()
		a.access[access], a.refresh[refresh] = scopes, scopes
		a.answer(w, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": map[bool]int{true: 1, false: 3600}[a.brief], "refresh_token": refresh, "scope": scopes})
	})
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		a.mu.Lock()
		a.saw = append(a.saw, req.URL.Path)
		a.mu.Unlock()
		mux.ServeHTTP(w, req)
	}))
	t.Cleanup(func() { a.CloseClientConnections(); a.Close() })
	return a
}

func (a *authority) answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		a.t.Error(err)
	}
}

// revoke makes all tokens worthless that can call; those that refresh too, if all is true.
func (a *authority) revoke(all bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.access)
	if all {
		clear(a.refresh)
	}
}

// follow is a browser on this machine.
func follow(t *testing.T) Login {
	return Login{Show: func(link string) {
		go func() {
			if err := follows(link); err != nil {
				t.Error(err)
			}
		}()
	}}
}

func follows(link string) error {
	res, err := http.Get(link)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// elsewhere is a browser on another machine: where it is sent cannot be reached, so the person pastes the address.
func elsewhere(t *testing.T, pasted func(address string) string) Login {
	typed := make(chan string, 1)
	return Login{Pasted: typed, Show: func(link string) {
		browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := browser.Get(link)
		if err != nil {
			t.Error(err)
			return
		}
		res.Body.Close()
		typed <- pasted(res.Header.Get("Location")) + "\n"
	}}
}

func TestAPersonLogsInOnceAndPawlStaysLoggedIn(t *testing.T) {
	t.Parallel()
	a, logins := newAuthority(t), t.TempDir()
	d := Definition{Name: "web", URL: a.URL + "/mcp", Required: true}
	const wants = "the server web cannot be used: it wants a login: pawl mcp login web"
	if err := play(t, Options{Logins: logins}, d).Prepare(t.Context()); err == nil || err.Error() != wants {
		t.Fatalf("without a login: %v", err)
	}
	if s, err := play(t, Options{Logins: logins}, d).Get("web").Login(t.Context(), follow(t)); err != nil || !s.Known {
		t.Fatalf("the login: %v", err)
	}
	files, err := os.ReadDir(logins)
	if err != nil || len(files) != 1 {
		t.Fatalf("kept in %v, %v", files, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kept with mode %v, %v", info.Mode(), err)
	}
	later := play(t, Options{Logins: logins}, d)
	if err := later.Prepare(t.Context()); err != nil {
		t.Fatalf("the next process: %v", err)
	}
	says := func(s *scene, want string) {
		t.Helper()
		if _, text := s.call(t.Context(), "mcp__web__echo", `{"message":"hi"}`, tool.Call{}); text != want {
			t.Errorf("it said %q, want %q", text, want)
		}
	}
	says(later, "hi")
	a.revoke(false) // the token has run out, as far as the server is concerned
	says(later, "hi")
	other := play(t, Options{Logins: logins}, d)
	if err := other.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.revoke(false)
	says(other, "hi") // refreshes, and the token of the first process is worth nothing any more
	says(later, "hi")
	a.revoke(true)
	says(later, "the server web has not made the call: it wants a login: pawl mcp login web")
	if was, err := later.Get("web").Logout(); err != nil || !was {
		t.Errorf("logout: %v, %v", was, err)
	}
	if files, _ := os.ReadDir(logins); len(files) != 0 {
		t.Errorf("after a logout there are %v", files)
	}
}

// Another program on the machine can reach the address that the browser is sent to, and does not know the state.
func TestAnotherProgramDoesNotEndALogin(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	d := Definition{Name: "web", URL: a.URL + "/mcp", Required: true}
	login := Login{Show: func(link string) {
		u, err := url.Parse(link)
		if err != nil {
			t.Error(err)
			return
		}
		for _, query := range []string{"?state=guessed&code=x", "?state=&error=access_denied", "?code=x", ""} {
			res, err := http.Get(u.Query().Get("redirect_uri") + query)
			if err != nil {
				t.Error(err)
				return
			}
			if res.Body.Close(); res.StatusCode != http.StatusNotFound {
				t.Errorf("%q is answered with %s", query, res.Status)
			}
		}
		follow(t).Show(link)
	}}
	if s, err := play(t, Options{Logins: t.TempDir()}, d).Get("web").Login(t.Context(), login); err != nil || !s.Known {
		t.Errorf("the login: %v", err)
	}
}

func TestABrowserOnAnotherMachineIsEnough(t *testing.T) {
	t.Parallel()
	for name, pasted := range map[string]func(string) string{
		"the address": func(address string) string { return address },
		"the code": func(address string) string {
			u, err := url.Parse(address)
			if err != nil {
				t.Error(err)
			}
			return u.Query().Get("code")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t)
			if name == "the code" { // what says who has issued it is in the address
				a.metadata = func(m map[string]any) { delete(m, "authorization_response_iss_parameter_supported") }
			}
			s := play(t, Options{Logins: t.TempDir()}, Definition{Name: "web", URL: a.URL + "/mcp"})
			if _, err := s.Get("web").Login(t.Context(), elsewhere(t, pasted)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFurtherRightsAreAskedForWithTheNextLogin(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := play(t, Options{Logins: t.TempDir()}, Definition{Name: "web", URL: a.URL + "/mcp"})
	if _, err := s.Get("web").Login(t.Context(), follow(t)); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	a.needs = "write"
	a.mu.Unlock()
	r, text := s.call(t.Context(), "mcp__web__echo", `{"message":"hi"}`, tool.Call{})
	if want := "the server web has not made the call: it wants further rights (write): pawl mcp login web"; !r.NotStarted || text != want {
		t.Errorf("it is told %q", text)
	}
	var asked string
	again := follow(t)
	show := again.Show
	again.Show = func(link string) {
		u, _ := url.Parse(link)
		asked = u.Query().Get("scope")
		show(link)
	}
	a.revoke(true)
	if _, err := s.Get("web").Login(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(asked); !slices.Contains(got, "read") || !slices.Contains(got, "write") {
		t.Errorf("the next login asks for %q", asked)
	}
	if _, text := s.call(t.Context(), "mcp__web__echo", `{"message":"hi"}`, tool.Call{}); text != "hi" {
		t.Errorf("it said %q", text)
	}
}

func TestAClientThatIsKnownAlreadyIsNotRegistered(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"known", "https://example.com/pawl.json"} {
		a := newAuthority(t)
		a.clients["https://example.com/pawl.json"] = url.Values{}
		a.metadata = func(m map[string]any) { m["client_id_metadata_document_supported"] = true }
		s := play(t, Options{}, Definition{Name: "web", URL: a.URL + "/mcp", ClientID: id})
		if _, err := s.Get("web").Login(t.Context(), follow(t)); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if slices.Contains(a.saw, "/register") {
			t.Errorf("%s is registered", id)
		}
	}
}

// A login of which nothing counts any more is needed again, whether the token has expired or was revoked.
func TestALoginThatHasExpiredIsNeededAgain(t *testing.T) {
	t.Parallel()
	for _, brief := range []bool{false, true} {
		a, logins := newAuthority(t), t.TempDir()
		a.brief = brief
		d := Definition{Name: "web", URL: a.URL + "/mcp", Required: true}
		if _, err := play(t, Options{Logins: logins}, d).Get("web").Login(t.Context(), follow(t)); err != nil {
			t.Fatal(err)
		}
		a.mu.Lock()
		clear(a.access)
		clear(a.refresh)
		a.mu.Unlock()
		const want = "the server web cannot be used: it wants a login: pawl mcp login web"
		if err := play(t, Options{Logins: logins}, d).Prepare(t.Context()); err == nil || err.Error() != want {
			t.Errorf("expired: %v, it says %v", brief, err)
		}
	}
}

// What is pasted and is not the answer to the link that was shown ends the login, with the reason.
func TestAPasteThatIsNoAnswerEndsTheLogin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pasted func(address string) string
		want   string
	}{
		"a code alone": {func(address string) string {
			u, _ := url.Parse(address)
			return u.Query().Get("code")
		}, "paste the whole address, and not only a code"},
		"another code": {func(address string) string {
			u, _ := url.Parse(address)
			q := u.Query()
			q.Set("code", "x")
			return "http://127.0.0.1/callback?" + q.Encode()
		}, "invalid_grant"},
		"another state": {func(address string) string { return strings.Replace(address, "state=", "state=x", 1) }, "state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, logins := newAuthority(t), t.TempDir()
			s := play(t, Options{Logins: logins}, Definition{Name: "web", URL: a.URL + "/mcp"})
			l, shown := elsewhere(t, c.pasted), 0
			show := l.Show
			l.Show = func(link string) { shown++; show(link) }
			_, err := s.Get("web").Login(t.Context(), l)
			if err == nil || !strings.HasPrefix(err.Error(), "the login to web has failed: ") || !strings.Contains(err.Error(), c.want) || shown != 1 {
				t.Errorf("%d links, and then %v", shown, err)
			}
			if files, _ := filepath.Glob(logins + "/*"); len(files) > 0 {
				t.Errorf("kept %v", files)
			}
		})
	}
}

func TestALoginThatCannotBeSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*authority, *Definition)
		want   string
	}{
		"refused": {func(a *authority, _ *Definition) { a.refuses = true }, `the login was refused: access_denied\u001b[31m`},
		"another issuer": {func(a *authority, _ *Definition) {
			a.metadata = func(m map[string]any) { m["issuer"] = "https://evil.example" }
		}, "issuer"},
		"no PKCE": {func(a *authority, _ *Definition) {
			a.metadata = func(m map[string]any) { delete(m, "code_challenge_methods_supported") }
		}, "PKCE"},
		"no registration": {func(a *authority, _ *Definition) {
			a.metadata = func(m map[string]any) { delete(m, "registration_endpoint") }
		}, "registration"},
		"a header":  {func(_ *authority, d *Definition) { d.Headers = map[string]string{"authorization": "Bearer x"} }, "its definition has an Authorization header"},
		"a program": {func(_ *authority, d *Definition) { d.URL, d.Command = "", "x" }, "it is a program on this machine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t)
			d, logins := Definition{Name: "web", URL: a.URL + "/mcp"}, t.TempDir()
			c.change(a, &d)
			s := play(t, Options{Logins: logins}, d)
			if _, err := s.Get("web").Login(t.Context(), follow(t)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if files, _ := filepath.Glob(logins + "/*"); len(files) > 0 {
				t.Errorf("kept %v", files)
			}
		})
	}
	open := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return goodServer() }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	t.Cleanup(func() { open.CloseClientConnections(); open.Close() })
	if _, err := play(t, Options{}, Definition{Name: "web", URL: open.URL}).Get("web").Login(t.Context(), follow(t)); err == nil || err.Error() != "the server web asks for no login" {
		t.Errorf("of a server that is open to all: %v", err)
	}
}
