package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"pawl/internal/atomicfile"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// A keptLogin is what a server elsewhere was authorized with, as it is stored: in a file of its own, readable
// by the person alone. The token goes to the server alone, and what refreshes it to the token endpoint alone
// that has issued it: a server that names another authorization server needs another login.
type keptLogin struct {
	Server   string           `json:"server"` // its address
	TokenURL string           `json:"token_url"`
	Style    oauth2.AuthStyle `json:"auth_style"`
	ID       string           `json:"client_id"`
	Secret   string           `json:"client_secret,omitempty"`
	Scopes   []string         `json:"scopes,omitempty"` // granted
	Wanted   []string         `json:"wanted,omitempty"` // that the server has asked for since
	Token    *oauth2.Token    `json:"token"`
}

// An authorizer authorizes the requests to a server elsewhere: with a token that is kept, or, while a person
// logs in, as the authorization server says.
type authorizer struct {
	r      *Remote
	server string // its address, without variables
	http   *http.Client

	asking sync.Mutex // held while the person is asked

	mu    sync.Mutex
	login auth.OAuthHandler // nil: no person logs in
	got   string            // the token that the login has brought; empty: none yet
	dead  string            // a token that has expired and cannot be refreshed
	wrong error             // why the login has failed; nil: it has not
	kept  *keptLogin        // as it was last read or stored; nil: there was none
}

// loginNeeded is why a server has refused a request that a person has to authorize.
type loginNeeded struct{ why string }

func (e *loginNeeded) Error() string { return e.why }

// maxScopes bounds how many scopes are kept of a server that asks for ever more.
const maxScopes = 200

func (a *authorizer) file() string {
	if a.r.all.opt.Logins == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(a.server))
	return filepath.Join(a.r.all.opt.Logins, hex.EncodeToString(sum[:8])+".json")
}

// read returns what is kept, by this process or another; nil: nothing. a.mu is held.
func (a *authorizer) read() *keptLogin {
	if file := a.file(); file != "" {
		var k keptLogin
		content, err := atomicfile.Read(file)
		if a.kept = nil; err == nil && json.Unmarshal(content, &k) == nil && k.Server == a.server && k.Token != nil {
			a.kept = &k
		}
	}
	return a.kept
}

// store keeps k. a.mu is held.
func (a *authorizer) store(k keptLogin) error {
	a.kept = &k
	file := a.file()
	if file == "" {
		return nil
	}
	content, err := json.Marshal(k)
	if err == nil {
		err = atomicfile.Write(file, content, atomicfile.Durable)
	}
	return err
}

func (a *authorizer) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login != nil {
		return a.login.TokenSource(ctx)
	}
	if a.kept == nil && a.read() == nil {
		return nil, nil
	}
	return a, nil
}

// Token returns a token that has not expired, or nil if there is none: the server says then what it wants.
func (a *authorizer) Token() (*oauth2.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		return nil, nil
	}
	if !a.kept.Token.Valid() { // another process may have refreshed it
		if a.read() == nil {
			return nil, nil
		}
		if !a.kept.Token.Valid() {
			if err := a.refresh(); err != nil || a.kept == nil {
				return nil, err
			}
		}
	}
	return a.kept.Token, nil
}

// refresh exchanges what is kept for a new token, if the authorization server lets it. a.mu is held.
func (a *authorizer) refresh() error {
	k := *a.kept
	c := oauth2.Config{ClientID: k.ID, ClientSecret: k.Secret, Endpoint: oauth2.Endpoint{TokenURL: k.TokenURL, AuthStyle: k.Style}}
	token, err := c.TokenSource(context.WithValue(a.r.all.ctx, oauth2.HTTPClient, a.http), &oauth2.Token{RefreshToken: k.Token.RefreshToken}).Token()
	switch refused, is := errors.AsType[*oauth2.RetrieveError](err); {
	case k.Token.RefreshToken == "", is && refused.Response.StatusCode < http.StatusInternalServerError:
		a.kept, a.dead = nil, k.Token.AccessToken // it is read again: another process may have a new one
		return nil
	case err != nil:
		return err
	}
	k.Token = token
	return a.store(k)
}

// Authorize decides about a request that the server has refused: nil means that it is sent again.
func (a *authorizer) Authorize(ctx context.Context, req *http.Request, res *http.Response) error {
	sent := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	a.mu.Lock()
	defer a.mu.Unlock()
	if login := a.login; login != nil {
		a.mu.Unlock() // it stores what it gets
		defer a.mu.Lock()
		return a.ask(ctx, login, sent, req, res)
	}
	defer res.Body.Close()
	k := a.read()
	if k != nil && k.Token.AccessToken != sent && k.Token.AccessToken != a.dead {
		return nil // another process has logged in or refreshed
	}
	challenges, _ := oauthex.ParseWWWAuthenticate(res.Header.Values("WWW-Authenticate"))
	asked := map[string]string{}
	for _, c := range challenges {
		if c.Scheme == "bearer" {
			asked = c.Params
		}
	}
	switch {
	case res.StatusCode == http.StatusForbidden && asked["error"] != "insufficient_scope":
		return nil // its answer to the second request says why
	case res.StatusCode == http.StatusForbidden && k != nil:
		k.Wanted = union(k.Wanted, strings.Fields(asked["scope"]))
		return &loginNeeded{fmt.Sprintf("it wants further rights (%s): pawl mcp login %s", visible.Escape(clip(asked["scope"], 200)), a.r.Name) + suffix(a.store(*k))}
	case k != nil && k.Token.RefreshToken != "":
		if err := a.refresh(); err != nil || a.kept != nil {
			return err
		}
	}
	return &loginNeeded{"it wants a login: pawl mcp login " + a.r.Name}
}

// ask lets the person log in, unless that was done since the request was sent: several may be refused at once. What has
// failed is not asked again: the library tries each revision of the protocol.
func (a *authorizer) ask(ctx context.Context, login auth.OAuthHandler, sent string, req *http.Request, res *http.Response) error {
	a.asking.Lock()
	defer a.asking.Unlock()
	a.mu.Lock()
	done, wrong := a.got != "" && a.got != sent, a.wrong
	a.mu.Unlock()
	if done || wrong != nil {
		res.Body.Close()
		return wrong
	}
	wrong = login.Authorize(ctx, req, res)
	a.mu.Lock()
	a.wrong = wrong
	a.mu.Unlock()
	return wrong
}

func suffix(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(" (what it wants cannot be kept: %v)", err)
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) && len(a) < maxScopes {
			a = append(slices.Clip(a), s)
		}
	}
	return a
}

// A Login is how a person logs in to a server elsewhere.
type Login struct {
	// Show shows the link that the person has to open in a browser, on any machine.
	Show func(link string)
	// Pasted yields what the person has given: the address to which the browser was sent, or the code in it.
	// Without it the browser has to be on this machine.
	Pasted <-chan string
	Scopes []string // wanted beside what the server asks for
}

// Login lets a person log in to the server. It returns when that is done and the server has listed its tools.
func (r *Remote) Login(ctx context.Context, l Login) (Status, error) {
	a := r.auth()
	if a == nil {
		return r.Status(), fmt.Errorf("the server %s has no login: %s", r.Name, r.why())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return r.Status(), err
	}
	came := make(chan url.Values, 1)
	var state atomic.Value // of the link that was shown: without it a request is another program's
	web := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != callback || req.URL.Query().Get("state") != state.Load() {
			http.NotFound(w, req)
			return
		}
		select {
		case came <- req.URL.Query():
		default: // one is enough
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("pawl has the answer. You can close this window.\n"))
	})}
	go func() { _ = web.Serve(listener) }()
	defer web.Close()
	d, err := r.Expand(r.all.opt.Getenv)
	if err != nil {
		return r.Status(), err
	}
	asked, whole := false, true // whole: not a code alone
	handler, err := auth.NewAuthorizationCodeHandler(a.config(d, "http://"+listener.Addr().String()+callback, l, func(ctx context.Context, link string) (url.Values, error) {
		asked = true
		u, err := url.Parse(link)
		if err != nil {
			return nil, err
		}
		state.Store(u.Query().Get("state"))
		l.Show(link)
		select {
		case v := <-came:
			return v, nil
		case pasted, ok := <-l.Pasted:
			if !ok {
				return nil, errors.New("no code was given")
			}
			v := given(pasted, link)
			whole = strings.TrimSpace(pasted) != v.Get("code")
			return v, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}))
	if err != nil {
		return r.Status(), err
	}
	a.set(handler)
	defer a.set(nil)
	r.mu.Lock()
	r.failed = nil // it may be tried now
	r.mu.Unlock()
	s, err := r.List(ctx)
	a.mu.Lock()
	wrong := a.wrong
	a.mu.Unlock()
	switch {
	case wrong != nil:
		err = fmt.Errorf("the login to %s has failed: %s", r.Name, visible.Escape(text.OneLine(wrong.Error(), 500)))
		if !whole {
			err = fmt.Errorf("%w; paste the whole address, and not only a code", err)
		}
	case err == nil && !asked:
		err = fmt.Errorf("the server %s asks for no login", r.Name)
	}
	return s, err
}

const callback = "/callback"

// given reads what a person has pasted after following a link.
func given(text, link string) url.Values {
	text = strings.TrimSpace(text)
	if u, err := url.Parse(text); err == nil && u.Query().Has("state") {
		return u.Query()
	}
	values := url.Values{"code": {text}}
	if u, err := url.Parse(link); err == nil {
		values.Set("state", u.Query().Get("state"))
	}
	return values
}

// config is how the SDK lets a person log in. The client is the one that the definition names, or one that is
// registered with the authorization server for this login.
func (a *authorizer) config(d Definition, redirect string, l Login, fetch func(ctx context.Context, link string) (url.Values, error)) *auth.AuthorizationCodeHandlerConfig {
	c := &auth.AuthorizationCodeHandlerConfig{RedirectURL: redirect, RequestRefreshToken: true, Client: a.http,
		ScopeFilter: func(found []string) []string {
			a.mu.Lock()
			defer a.mu.Unlock()
			all := union(slices.Clone(l.Scopes), found)
			if a.kept != nil {
				all = union(union(all, a.kept.Scopes), a.kept.Wanted)
			}
			return all
		},
		NewTokenSource: func(_ context.Context, c *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			k := keptLogin{Server: a.server, TokenURL: c.Endpoint.TokenURL, Style: c.Endpoint.AuthStyle, ID: c.ClientID, Secret: c.ClientSecret, Scopes: c.Scopes, Token: token}
			if granted, _ := token.Extra("scope").(string); granted != "" {
				k.Scopes = strings.Fields(granted)
			}
			a.got = token.AccessToken
			return oauth2.StaticTokenSource(token), a.store(k)
		},
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			v, err := fetch(ctx, args.URL)
			if err == nil && v.Get("code") == "" {
				err = fmt.Errorf("the login was refused: %s", visible.Escape(clip(cmp.Or(v.Get("error"), "there is no code in the answer"), 100)))
			}
			return &auth.AuthorizationResult{Code: v.Get("code"), State: v.Get("state"), Iss: v.Get("iss")}, err
		}}
	switch {
	case strings.HasPrefix(d.ClientID, "https://"):
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: d.ClientID}
	case d.ClientID != "":
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: d.ClientID}
		if d.ClientSecret != "" {
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: d.ClientSecret}
		}
		return c
	}
	c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
		ClientName: "pawl", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, ApplicationType: "native"}}
	return c
}

func (a *authorizer) set(login auth.OAuthHandler) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.read()
	a.login, a.got, a.wrong = login, "", nil
}

// auth returns what authorizes the requests to the server; nil: its definition does, or nothing.
func (r *Remote) auth() *authorizer {
	if r.why() != "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.authorizer == nil {
		d, _ := r.Expand(r.all.opt.Getenv) // a variable that is missing keeps it from being reached
		r.authorizer = &authorizer{r: r, server: d.URL, http: &http.Client{Timeout: time.Minute, Transport: &headers{base: r.all.base()}, CheckRedirect: staysThere}}
	}
	return r.authorizer
}

// why says why the server has no login; empty: it may have one.
func (r *Remote) why() string {
	switch {
	case r.URL == "":
		return "it is a program on this machine, which gets what it needs in env"
	case r.SSE:
		return "it speaks the old HTTP transport; give it a header"
	}
	for name := range r.Headers {
		if strings.EqualFold(name, "Authorization") {
			return "its definition has an Authorization header"
		}
	}
	return ""
}

// Logout forgets the login to the server. It reports whether there was one. The authorization server is not
// told; its own pages list the programs that have access.
func (r *Remote) Logout() (was bool, err error) {
	a := r.auth()
	if a == nil {
		return false, fmt.Errorf("the server %s has no login: %s", r.Name, r.why())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = nil
	if err = os.Remove(a.file()); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
