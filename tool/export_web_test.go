package tool

import (
	"context"
	"net/url"
)

// A Page is what readHTML makes of a page.
type Page struct {
	Title, Text string
	Main        bool
}

// ReadHTML is readHTML.
func ReadHTML(ctx context.Context, source string, base *url.URL, links bool) Page {
	p := readHTML(ctx, source, base, links)
	return Page{p.title, p.text, p.main}
}

// SameSite is sameSite.
var SameSite = sameSite

// Readable is readable.
var Readable = readable
