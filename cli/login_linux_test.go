package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"
)

// What is typed before a login asks for an address, and what is no address, is sent to no server and does not end the
// login.
func TestOnlyAnAddressIsSentByALogin(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var codes []string
	begins, goOn := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	answer := func(path string, status int, v map[string]any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+server.URL+`/about"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	answer("/about", http.StatusOK, map[string]any{"resource": server.URL + "/mcp", "authorization_servers": []string{server.URL}})
	var once sync.Once
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() { close(begins) })
		<-goOn
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token",
			"registration_endpoint": server.URL + "/register", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}})
	})
	answer("/register", http.StatusCreated, map[string]any{"client_id": "pawl", "token_endpoint_auth_method": "none"})
	mux.HandleFunc("/token", func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		codes = append(codes, req.PostFormValue("code"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
	})

	s := sit(t, "", nil, "mcp", "add", "web", server.URL+"/mcp")
	s.exits(0)
	s.starts("mcp", "login", "web")
	<-begins
	s.typed("hunter2-is-my-password\n")
	close(goOn)
	s.see("typed before this was asked: hunter2-is-my-password")
	s.see("the address that it is sent to: ")
	s.typed("\n")
	s.see("that is no address: nothing was sent")
	s.see("the address that it is sent to: ")
	s.typed("yes, go on please\n")
	s.see("that is no address: nothing was sent")
	s.see("the address that it is sent to: ")
	state := regexp.MustCompile(`state=([^&\s]+)`).FindStringSubmatch(s.all())
	if state == nil {
		t.Fatalf("there is no link:\n%s", s.all())
	}
	s.typed("http://127.0.0.1/callback?code=the-code&state=" + state[1] + "\n")
	s.see("the login to web has failed") // this server takes no code
	s.exits(1)
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(slices.Compact(codes), []string{"the-code"}) {
		t.Errorf("the server was sent %q", codes)
	}
}
