package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"go/parser"
	gotoken "go/token"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/api"
	"pawl/web"
)

// httpCases are the attacks of ../shared/cases/security/cases.json on a server, by their ids.
var httpCases = map[string]func(*testing.T){
	"sec028": func(t *testing.T) {
		s := serve(t, "")
		id := s.add("x")
		for _, c := range []struct{ method, path string }{{"GET", "/tasks"}, {"POST", "/tasks"}, {"GET", "/tasks/" + id}, {"DELETE", "/tasks/" + id}, {"GET", "/openapi.json"}, {"POST", "/login-links"}, {"GET", "/nowhere"}, {"PUT", "/tasks"}} {
			for _, auth := range []header{without("Authorization"), with("Authorization", "Bearer wrong"), with("Authorization", "Bearer "), with("Authorization", "Basic "+token), with("Authorization", token)} {
				s.do(c.method, c.path, "", auth).problem(401, "UNAUTHORIZED")
			}
		}
		s.do("GET", "/tasks", "", func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer " + token, "Bearer x"} }).problem(401, "UNAUTHORIZED")
		if list := s.do("GET", "/tasks", "").is(200); len(list.items("items")) != 1 {
			t.Errorf("the tasks are %+v", list.v)
		}
	},
	"sec029": func(t *testing.T) {
		if !strings.HasPrefix(api.DefaultAddress, "127.0.0.1:") {
			t.Errorf("the default address is %s", api.DefaultAddress)
		}
		for _, address := range []string{"0.0.0.0:7295", ":7295", "[::]:7295", "192.0.2.1:7295", "example.com:7295", "127.0.0.1.evil.test:7295", "7295", ""} {
			if err := api.CheckAddress(api.ServeOptions{Address: address, Names: []string{"x"}}); err == nil {
				t.Errorf("%q is served without TLS", address)
			}
		}
		for _, o := range []api.ServeOptions{{Address: "127.0.0.1:0"}, {Address: "[::1]:7295"}, {Address: "localhost:7295"}, {Address: "192.0.2.1:7295", CertFile: "c", KeyFile: "k"},
			{Address: "0.0.0.0:7295", InsecureAddress: true, Names: []string{"box"}}} {
			if err := api.CheckAddress(o); err != nil {
				t.Errorf("%+v: %v", o, err)
			}
		}
		if err := api.CheckAddress(api.ServeOptions{Address: "0.0.0.0:7295", CertFile: "c", KeyFile: "k"}); err == nil || !strings.Contains(err.Error(), "--host") {
			t.Errorf("an address without a name: %v", err)
		}
	},
	"sec030": func(t *testing.T) {
		serve(t, "").do("GET", "/tasks", "", with("Host", "evil.test")).problem(403, "FORBIDDEN_HOST")
	},
	"sec031": func(t *testing.T) {
		s := serve(t, "")
		_, port, err := net.SplitHostPort(strings.TrimPrefix(s.url, "http://"))
		must(t, err)
		for _, host := range []string{"127.0.0.1.evil.test", "localhost.evil.test", "[::1]", "0.0.0.0", "LOCALHOST", "localhost.", "127.0.0.1.", "127.1", "2130706433", "0177.0.0.1", "[::ffff:127.0.0.1]", "user@127.0.0.1"} {
			s.do("GET", "/tasks", "", with("Host", host+":"+port)).problem(403, "FORBIDDEN_HOST")
		}
		for _, host := range []string{"127.0.0.1", "127.0.0.1:1", "localhost"} { // another port, and none
			s.do("GET", "/tasks", "", with("Host", host)).problem(403, "FORBIDDEN_HOST")
		}
		s.do("GET", "/tasks", "", with("Host", "localhost:"+port)).is(200)
	},
	"sec032": func(t *testing.T) {
		s := serve(t, "")
		for _, method := range []string{"GET", "POST", "OPTIONS", "DELETE"} {
			a := s.do(method, "/tasks", "", with("Origin", "http://evil.test"))
			a.problem(403, "FORBIDDEN_ORIGIN")
			for name := range a.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s has %s", method, name)
				}
			}
		}
		if a := s.do("GET", "/tasks", "", with("Origin", s.url)); a.Status != 200 || a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("with its own origin: %+v", a)
		}
		s.do("GET", "/tasks", "", with("Sec-Fetch-Site", "cross-site")).problem(403, "FORBIDDEN_ORIGIN")
		s.do("GET", "/tasks", "", with("Sec-Fetch-Site", "same-site")).problem(403, "FORBIDDEN_ORIGIN")
	},
	"sec033": func(t *testing.T) {
		s := serve(t, "")
		body := `{"description":"x"}`
		s.do("POST", "/tasks", body, with("Content-Type", "text/plain"), with("Origin", "http://evil.test")).problem(403, "FORBIDDEN_ORIGIN")
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-16", "application/json, text/plain", "application/jsonp", ""} {
			s.do("POST", "/tasks", body, with("Content-Type", kind)).problem(415, "UNSUPPORTED_MEDIA_TYPE")
		}
		s.do("POST", "/tasks", body, without("Content-Type")).problem(415, "UNSUPPORTED_MEDIA_TYPE")
		s.do("POST", "/tasks", body, with("Content-Encoding", "gzip")).problem(415, "UNSUPPORTED_MEDIA_TYPE")
		s.do("POST", "/tasks", body, with("Content-Type", "application/json; charset=UTF-8")).is(201)
		if list := s.do("GET", "/tasks", "").is(200); len(list.items("items")) != 1 {
			t.Errorf("the tasks are %+v", list.v)
		}
	},
	"sec034": func(t *testing.T) {
		serve(t, "").do("GET", "/tasks", "", with("Origin", "null")).problem(403, "FORBIDDEN_ORIGIN")
	},
	"sec035": func(t *testing.T) {
		s := serve(t, "")
		for _, origin := range []string{"http://localhost.evil.test", "http://127.0.0.1:9", "http://127.0.0.1", "https" + strings.TrimPrefix(s.url, "http"), s.url + ".evil.test", s.url + "/", strings.ToUpper(s.url), "", s.url + " http://evil.test"} {
			s.do("POST", "/tasks", `{"description":"x"}`, with("Origin", origin)).problem(403, "FORBIDDEN_ORIGIN")
		}
		s.do("GET", "/tasks", "", func(r *http.Request) { r.Header["Origin"] = []string{s.url, "http://evil.test"} }).problem(403, "FORBIDDEN_ORIGIN")
	},
	"sec036": func(t *testing.T) {
		s := serve(t, "")
		upgrade := []header{with("Connection", "Upgrade"), with("Upgrade", "websocket"), with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), with("Sec-WebSocket-Version", "13")}
		s.do("GET", "/events", "", append(upgrade, with("Origin", "http://evil.test"))...).problem(403, "FORBIDDEN_ORIGIN")
		s.do("GET", "/events", "", upgrade...).problem(403, "FORBIDDEN")
	},
	"sec037": func(t *testing.T) {
		s := serve(t, "")
		id := s.add("x")
		for _, path := range []string{"/events", "/tasks/" + id + "/events"} {
			s.do("GET", path, "", without("Authorization")).problem(401, "UNAUTHORIZED")
			s.do("GET", path, "", with("Origin", "http://evil.test")).problem(403, "FORBIDDEN_ORIGIN")
			s.do("GET", path, "", with("Host", "evil.test")).problem(403, "FORBIDDEN_HOST")
		}
	},
	"sec038": func(t *testing.T) {
		var logged lockedBuffer
		s := serve(t, "")
		s.startWith(api.Options{Log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		for _, name := range []string{"token", "access_token", "TOKEN", "api_key"} {
			s.do("GET", "/tasks?"+name+"="+token, "", without("Authorization")).problem(400, "TOKEN_IN_ADDRESS")
		}
		a := s.do("GET", "/tasks", "")
		if a.Header.Get("Referrer-Policy") != "no-referrer" || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("the headers are %v", a.Header)
		}
		s.do("GET", "/tasks", "", with("Authorization", "Bearer "+token+"x")).problem(401, "UNAUTHORIZED")
		must(t, os.RemoveAll(filepath.Join(s.ws.State, "answers")))
		s.do("POST", "/tasks", `{"description":"x"}`, with("Idempotency-Key", "k"))
		if strings.Contains(logged.String(), token) {
			t.Errorf("the token is in the log: %s", logged.String())
		}
	},
	"sec039": func(t *testing.T) {
		state := filepath.Join(t.TempDir(), "state")
		made, err := api.LoadToken(state)
		must(t, err)
		file := filepath.Join(state, "serve-token")
		info, err := os.Stat(file)
		must(t, err)
		if info.Mode().Perm() != 0o600 || len(made) < 30 {
			t.Errorf("mode %04o, token of %d characters", info.Mode().Perm(), len(made))
		}
		if again, err := api.LoadToken(state); again != made || err != nil {
			t.Errorf("it is another one the second time: %v", err)
		}
		other, err := api.LoadToken(filepath.Join(t.TempDir(), "state"))
		if must(t, err); other == made {
			t.Error("two folders have one token")
		}
		must(t, os.Chmod(file, 0o644))
		if _, err := api.LoadToken(state); err == nil || !strings.Contains(err.Error(), "can be read by others") {
			t.Errorf("a file that others can read: %v", err)
		}
		for errno, next := range map[syscall.Errno]string{syscall.ENOSPC: "free some space", syscall.EROFS: "PAWL_STATE_DIR", syscall.EIO: "input/output"} {
			err := api.NotWritten(file, &fs.PathError{Op: "open", Path: "/s/.new-1", Err: errno})
			if !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), next) || strings.Contains(err.Error(), ".new-1") {
				t.Errorf("the token cannot be stored: %v", err)
			}
		}
	},
	"sec040": func(t *testing.T) {
		s := serve(t, "")
		id := s.add("x")
		before := s.do("GET", "/tasks/"+id, "").Body
		for _, method := range []string{"HEAD", "OPTIONS", "TRACE", "PROPFIND", "CONNECT"} {
			for _, path := range []string{"/tasks/" + id, "/tasks/" + id + "/cancel", "/events"} {
				if a := s.do(method, path, ""); a.Status < 400 {
					t.Errorf("%s %s: status %d", method, path, a.Status)
				}
			}
		}
		for _, name := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
			s.do("GET", "/tasks/"+id, "", with(name, "DELETE")).is(200)
			s.do("POST", "/tasks/"+id+"/retry", "", with(name, "DELETE")).problem(409, "INVALID_TRANSITION")
		}
		s.do("GET", "/tasks/"+id+"?_method=DELETE", "").problem(422, "INVALID_INPUT")
		s.do("HEAD", "/", "").is(405)
		if after := s.do("GET", "/tasks/"+id, "").Body; after != before {
			t.Errorf("the task has changed: %s", after)
		}
	},
	"sec041": func(t *testing.T) {
		s := serve(t, "")
		connect := func(h *http.Server) net.Conn {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			go func() { _ = h.Serve(l) }()
			t.Cleanup(func() { h.Close() })
			c, err := net.Dial("tcp", l.Addr().String())
			must(t, err)
			t.Cleanup(func() { c.Close() })
			must(t, c.SetDeadline(time.Now().Add(patience)))
			return c
		}
		h := api.NewHTTP(s.api)
		if h.ReadHeaderTimeout <= 0 || h.ReadHeaderTimeout > time.Minute || h.IdleTimeout <= 0 {
			t.Errorf("the timeouts are %s, %s", h.ReadHeaderTimeout, h.IdleTimeout)
		}
		h.ReadHeaderTimeout = 50 * time.Millisecond
		slow := connect(h)
		_, err := io.WriteString(slow, "GET /api/v1/tasks HTTP/1.1\r\nHost: x\r\n")
		must(t, err)
		if _, err := io.ReadAll(slow); err != nil {
			t.Errorf("a client that never ends its headers is not closed: %v", err)
		}
		many := connect(api.NewHTTP(s.api))
		go func() {
			w := bufio.NewWriter(many)
			fmt.Fprint(w, "GET /api/v1/tasks HTTP/1.1\r\nHost: x\r\n")
			for i := range 1_000_000 {
				if _, err := fmt.Fprintf(w, "X-%d: x\r\n", i); err != nil {
					return
				}
			}
			_ = w.Flush()
		}()
		if res, err := http.ReadResponse(bufio.NewReader(many), nil); err == nil {
			if res.Body.Close(); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("a million headers: %s", res.Status)
			}
		} // else the connection was reset, which is a bound too
		s.do("POST", "/tasks", `{"description":"`+strings.Repeat("x", 8<<20)+`"}`).problem(413, "BODY_TOO_LARGE")
		s.do("POST", "/tasks", `{"description":"x"}`, with("Idempotency-Key", strings.Repeat("k", 300))).problem(422, "INVALID_INPUT")
		s.do("POST", "/tasks", strings.Repeat("x", 8<<20), with("Idempotency-Key", "k")).problem(413, "BODY_TOO_LARGE")
	},
	"sec042": func(t *testing.T) {
		s := serve(t, "")
		id := s.add("x")
		for _, path := range []string{"/tasks/../../../etc/hostname", "/tasks/..%2f..%2fetc%2fhostname", "/tasks/%2e%2e/%2e%2e/etc/hostname", "//etc/hostname", "/tasks/" + id + "/attachments/..%2f..%2f..%2fserve-token",
			"/tasks/" + id + "/attachments/%2fetc%2fhostname", "/tasks/x%00y", "/file?path=../../etc/hostname"} {
			if a := s.do("GET", path, ""); a.Status < 400 || a.Status >= 500 || strings.Contains(a.Body, token) {
				t.Errorf("%s: status %d: %s", path, a.Status, a.Body)
			}
		}
	},
	"sec043": func(t *testing.T) {
		s := serve(t, "")
		s.do("POST", "/tasks", `{"description":"a","description":"b"}`).problem(400, "INVALID_JSON")
		s.do("POST", "/tasks", `{"description":"a","DESCRIPTION":"b"}`).problem(422, "INVALID_INPUT")
		s.do("POST", "/tasks", `{"Description":"a"}`).problem(422, "INVALID_INPUT")
		s.do("POST", "/tasks", `{"description":"a","descr\u0069ption":"b"}`).problem(400, "INVALID_JSON")
		id := s.add("x")
		s.do("PATCH", "/tasks/"+id, `{"budget":{"Cost":1}}`).problem(422, "INVALID_INPUT")
		s.do("PATCH", "/tasks/"+id, `{"budget":{"cost":1,"COST":2}}`).problem(422, "INVALID_INPUT")
	},
	"sec044": func(t *testing.T) {
		s := serve(t, "")
		id := s.add("x")
		for _, path := range []string{"/tasks/" + id + "/tools", "/mcp", "/sse", "/proxy?url=http://127.0.0.1"} {
			for _, method := range []string{"GET", "POST"} {
				s.do(method, path, "", without("Authorization")).problem(401, "UNAUTHORIZED")
			}
		}
	},
	"sec045": func(t *testing.T) {
		// The address that logs a browser in is printed; no program is started with it.
		files, err := filepath.Glob("*.go")
		must(t, err)
		for _, name := range append(files, "../cli/serve_command.go") {
			f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, parser.ImportsOnly)
			must(t, err)
			for _, i := range f.Imports {
				if i.Path.Value == `"os/exec"` && !strings.HasSuffix(name, "_test.go") {
					t.Errorf("%s starts programs", name)
				}
			}
		}
	},
}

func TestEveryAttackOnTheServerIsRefused(t *testing.T) {
	t.Parallel()
	for id, try := range httpCases {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			try(t)
		})
	}
	data, err := os.ReadFile("../../shared/cases/security/cases.json")
	if err != nil {
		t.Skip("the list of security cases is not here")
	}
	var list struct {
		Cases []struct{ ID, Area, Case string }
	}
	must(t, json.Unmarshal(data, &list))
	for _, c := range list.Cases {
		if c.Area == "http" && httpCases[c.ID] == nil {
			t.Errorf("%s (%s) is not tried", c.ID, c.Case)
		}
	}
}

// code returns the body that exchanges a new link, whose code no server is sent by opening it.
func (s *served) code() string {
	s.t.Helper()
	link := s.do("POST", "/login-links", "").is(201).text("url")
	code, ok := strings.CutPrefix(link, s.url+"/#code=")
	if !ok {
		s.t.Fatalf("the link is %s", link)
	}
	return `{"code":"` + code + `"}`
}

// A browser is logged in by a link that works once and for a short time. Its page then has a
// session that it sends as a header: no cookie is set, and none counts.
func TestABrowserIsLoggedInByALink(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	no := without("Authorization")
	for _, page := range []string{"/", "/app.js", "/session.js"} {
		a := s.do("GET", page, "", no)
		if a.Status != 200 || a.Header.Get("Set-Cookie") != "" || !strings.Contains(a.Header.Get("Content-Security-Policy"), "script-src 'self';") {
			t.Errorf("%s: %d %v", page, a.Status, a.Header)
		}
	}
	if a := s.do("GET", "/", "", no); !strings.Contains(a.Body, "pawl serve link") || strings.Contains(a.Body, s.dir) {
		t.Errorf("the start page is %s", a.Body)
	}
	localhost := "localhost:" + s.url[strings.LastIndexByte(s.url, ':')+1:]
	if a := s.do("GET", "/", "", no, with("Host", localhost)); a.Status != 307 || a.Header.Get("Location") != s.url+"/" {
		t.Errorf("a page at %s: status %d, %v", localhost, a.Status, a.Header)
	}
	s.do("GET", "/tasks", "", with("Host", localhost)).is(200)
	code := s.code()
	for _, change := range []header{with("Origin", "http://127.0.0.1:1"), with("Origin", "null"), with("Origin", "http://"+localhost), with("Sec-Fetch-Site", "same-site"), with("Host", "127.0.0.1:1")} {
		if a := s.do("POST", "/sessions", code, no, change); a.Status != 403 {
			t.Errorf("a page of another server exchanges a code: %+v", a)
		}
	}
	s.do("POST", "/sessions", code, no, with("Content-Type", "text/plain")).problem(415, "UNSUPPORTED_MEDIA_TYPE")
	in := s.do("POST", "/sessions", code, no, with("Origin", s.url), with("Idempotency-Key", "k"))
	session := in.is(201).text("token")
	if in.Header.Get("Set-Cookie") != "" {
		t.Errorf("a cookie is set: %v", in.Header)
	}
	s.do("POST", "/sessions", code, no, with("Idempotency-Key", "k")).problem(401, "LINK_EXPIRED")
	s.do("POST", "/sessions", `{"code":"x"}`, no).problem(401, "LINK_EXPIRED")
	bearer := with("Authorization", "Bearer "+session)
	s.do("GET", "/tasks", "", bearer).is(200)
	s.do("POST", "/tasks", `{"description":"x"}`, bearer).is(201)
	for _, cookie := range []string{"pawl_session=" + session, "pawl-session=" + session, "pawl_session_" + s.url[strings.LastIndexByte(s.url, ':')+1:] + "=" + strings.TrimPrefix(session, "pawlses_"), "token=" + token} {
		s.do("GET", "/tasks", "", no, with("Cookie", cookie)).problem(401, "UNAUTHORIZED")
	}
	for _, wrong := range []string{session + "x", strings.TrimPrefix(session, "pawlses_"), "pawlses_", "pawlses_9999999999." + strings.SplitN(session, ".", 2)[1]} {
		s.do("GET", "/tasks", "", with("Authorization", "Bearer "+wrong)).problem(401, "UNAUTHORIZED")
	}
	s.start()
	s.do("GET", "/tasks", "", bearer).is(200) // it outlives the server

	late := time.Now()
	api.SetNow(s.api, func() time.Time { return late })
	expired := s.code()
	bearer = with("Authorization", "Bearer "+s.do("POST", "/sessions", s.code(), no).is(201).text("token"))
	s.do("GET", "/tasks", "", bearer).is(200)
	late = late.Add(6 * time.Minute)
	s.do("POST", "/sessions", expired, no).problem(401, "LINK_EXPIRED")
	s.do("GET", "/tasks", "", bearer).is(200)
	late = late.Add(8 * 24 * time.Hour)
	s.do("GET", "/tasks", "", bearer).problem(401, "UNAUTHORIZED")
}

// The page as a browser runs it: the code is exchanged and leaves the address, and the API's
// document is shown with the session. A server on another port of the same host has none of it.
func TestTheStartPageLogsARealBrowserIn(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed")
	}
	t.Parallel()
	s := serve(t, "")
	var requests []string
	var mu sync.Mutex
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, fmt.Sprint(r.URL, r.Header))
	}))
	defer other.Close()
	profile := t.TempDir()
	dump := func(address string) string {
		cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+profile, "--virtual-time-budget=20000", "--dump-dom", address)
		cmd.Env = append(os.Environ(), "HOME="+profile)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if page := dump(s.url + "/"); !strings.Contains(page, "pawl serve link") || strings.Contains(page, "New task") {
		t.Errorf("without a session: %s", page)
	}
	link := s.do("POST", "/login-links", "").is(201).text("url")
	if page := dump(link); !strings.Contains(page, "New task") {
		t.Errorf("with a link: %s", page)
	}
	if page := dump(s.url + api.Prefix + "/docs"); !strings.Contains(page, "/tasks/{task}") {
		t.Errorf("the API's document: %s", page)
	}
	if page := dump(link); !strings.Contains(page, "New task") {
		t.Errorf("the link again, with a session: %s", page)
	}
	dump(other.URL + "/")
	mu.Lock()
	defer mu.Unlock()
	if len(requests) == 0 || strings.Contains(strings.Join(requests, "\n"), "pawl") {
		t.Errorf("another server was sent %q", requests)
	}
}

func TestRequestsAreBoundedBySecond(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	now := time.Now()
	s.startWith(api.Options{Rate: 2})
	api.SetNow(s.api, func() time.Time { return now })
	for range 4 {
		s.do("GET", "/tasks", "").is(200)
	}
	a := s.do("GET", "/tasks", "")
	if a.problem(429, "RATE_LIMITED"); a.Header.Get("Retry-After") != "1" {
		t.Errorf("the headers are %v", a.Header)
	}
	now = now.Add(time.Second)
	for range 2 {
		s.do("GET", "/tasks", "").is(200)
	}
	s.do("GET", "/tasks", "").problem(429, "RATE_LIMITED")
}

// The pages load nothing from elsewhere, have no script and no style of their own in them, and make no markup of text.
func TestThePagesLoadNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	files, err := fs.Glob(web.Files, "*")
	must(t, err)
	elsewhere := regexp.MustCompile(`(src|href|import|from|fetch\(|url\()[ ="'(]*(https?:)?//`)
	for _, name := range append(files, "docs", "") {
		if strings.HasSuffix(name, ".html") {
			continue // it has another address
		}
		a := s.do("GET", "/"+name, "", without("Authorization"))
		policy := a.Header.Get("Content-Security-Policy")
		if a.Status != 200 || len(a.Body) < 100 || !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("/%s: status %d, %d bytes, policy %s", name, a.Status, len(a.Body), policy)
		}
		if found := elsewhere.FindString(a.Body); found != "" {
			t.Errorf("/%s has %s", name, found)
		}
		for _, part := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "<style", "onclick=\"", "style=\""} {
			if strings.Contains(a.Body, part) {
				t.Errorf("/%s has %s", name, part)
			}
		}
		if again := s.do("GET", "/"+name, "", without("Authorization"), with("If-None-Match", a.Header.Get("Etag"))); again.Status != 304 {
			t.Errorf("/%s is sent again: status %d", name, again.Status)
		}
	}
}

// A lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
