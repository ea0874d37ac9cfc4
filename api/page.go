package api

import (
	"embed"
	"mime"
	"net/http"
	"path"
)

// pageFiles are the pages of the server and what they load. They load nothing from elsewhere.
//
//go:embed index.html index.js session.js docs.html docs.js page.css
var pageFiles embed.FS

// pagePolicy lets a page load what this server serves, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pages registers the start page, which exchanges the code of a login link for a session, and
// the page to try the operations with. They have nothing of the workspace in them, so they need
// no token; the requests that they send do.
func (s *Server) pages() {
	for address, name := range map[string]string{"/{$}": "index.html", "/index.js": "index.js", "/session.js": "session.js", "/page.css": "page.css",
		Prefix + "/docs": "docs.html", Prefix + "/docs.js": "docs.js"} {
		content, err := pageFiles.ReadFile(name)
		if err != nil {
			panic(err) // it is a part of the program
		}
		s.guard.open["GET "+address] = true
		s.mux.HandleFunc("GET "+address, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
			w.Header().Set("Content-Security-Policy", pagePolicy)
			_, _ = w.Write(content) // a client that is gone needs no page
		})
	}
}
