package api

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"pawl/web"
)

// pagePolicy lets a page load what this server serves, and nothing else, and make no markup of text. The one policy of trusted
// types, in push.js, makes one address of whatever it is given: that of the service worker.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; manifest-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types push"

// later are the scripts that the board loads when they are needed, or not at all.
var later = []string{"docs.js", "pages.js", "push.js", "worker.js"}

// pages registers the board, and the page to try the operations with. They have nothing of the workspace in them, so they
// need no token; the requests that they send do.
func (s *Server) pages() {
	names, err := fs.Glob(web.Files, "*.*")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	var modules []string // which the board loads, so that a browser need not find them one after the other
	for _, name := range names {
		if path.Ext(name) == ".js" && !slices.Contains(later, name) {
			modules = append(modules, "</"+name+">; rel=modulepreload")
		}
	}
	for _, name := range names {
		address := "/" + name
		switch name {
		case "index.html":
			address = "/{$}"
		case "docs.html":
			address = Prefix + "/docs"
		}
		content, err := web.Files.ReadFile(name)
		if err != nil {
			panic(err) // it is a part of the program
		}
		media := mime.TypeByExtension(path.Ext(name))
		if path.Ext(name) == ".webmanifest" {
			media = "application/manifest+json"
		}
		tag := `W/"` + hash(string(content))[:16] + `"` // weak: it is the same compressed
		compressed := sync.OnceValue(func() []byte { return gzipped(content) })
		s.guard.open["GET "+address] = true
		s.mux.HandleFunc("GET "+address, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Host, "localhost:") && !strings.Contains(s.guard.origins[0], "//localhost:") {
				http.Redirect(w, r, s.guard.origins[0]+r.URL.Path, http.StatusTemporaryRedirect) // its fragment stays
				return
			}
			w.Header().Set("Content-Type", media)
			w.Header().Set("Content-Security-Policy", pagePolicy)
			w.Header().Set("Cache-Control", "no-cache")
			w.Header().Set("Etag", tag)
			w.Header().Set("Vary", "Accept-Encoding")
			if name == "index.html" {
				w.Header()["Link"] = modules
			}
			if r.Header.Get("If-None-Match") == tag {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			body := content
			if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") { // a phone may be far away
				body = compressed()
				w.Header().Set("Content-Encoding", "gzip")
			}
			_, _ = w.Write(body) // a client that is gone needs no page
		})
	}
}

func gzipped(content []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a level that there is
	_, _ = z.Write(content)                               // into memory
	_ = z.Close()
	return b.Bytes()
}
