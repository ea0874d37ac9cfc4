package api

import (
	_ "embed"
	"net/http"
)

// tryPage lists the operations of the OpenAPI document and sends requests. It loads nothing
// from elsewhere.
//
//go:embed page.html
var tryPage []byte

//go:embed page.js
var tryScript []byte

//go:embed page.css
var tryStyle []byte

// pagePolicy lets a page load what this server serves, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pages registers the page to try the operations with. It has nothing of the workspace in
// it, so it needs no token; the requests that it sends do.
func (s *Server) pages() {
	file := func(path, kind string, content []byte) {
		s.guard.open["GET "+path] = true
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Security-Policy", pagePolicy)
			_, _ = w.Write(content) // a client that is gone needs no page
		})
	}
	file(Prefix+"/docs", "text/html; charset=utf-8", tryPage)
	file(Prefix+"/docs.js", "text/javascript; charset=utf-8", tryScript)
	file(Prefix+"/docs.css", "text/css; charset=utf-8", tryStyle)
}
