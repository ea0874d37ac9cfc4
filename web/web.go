// Package web has the pages that the server shows in a browser: HTML, style sheets and JavaScript modules, embedded as
// they are written, without a build step. The pages know the HTTP API (docs/api.md) and nothing else of pawl; anybody
// could have written them. What they show is set as text, never as HTML.
package web

import "embed"

// Files are the pages and what they load, by the names under which they load each other.
//
//go:embed *.html *.js *.css *.svg *.webmanifest
var Files embed.FS
