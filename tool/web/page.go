package web

import (
	"bufio"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"pawl/internal/text"
)

// MaxContent is how many bytes of a page are read, packed and unpacked: 10 MB, as it is said.
const MaxContent = 10_000_000

// A Page is what a server sent, unpacked.
type Page struct {
	URL     *url.URL // it came from, after redirects
	Status  string   // such as "200 OK"
	IsError bool     // the status is that of an error
	Type    string   // as the server calls it; may be empty
	Content []byte
	Cut     bool // it continues behind [MaxContent]
	Broken  bool // it broke off

	media   string // of Type, lower case, without parameters; may be empty
	charset string // of Type
}

// read reads a response up to MaxContent, both as it is sent and unpacked: a few
// kilobytes can unpack to gigabytes, or to nothing without an end.
func read(response *http.Response) (Page, error) {
	p := Page{
		URL: response.Request.URL, Status: response.Status, IsError: response.StatusCode >= 400,
		Type: response.Header.Get("Content-Type"),
	}
	media, params, err := mime.ParseMediaType(p.Type)
	if err == nil || errors.Is(err, mime.ErrInvalidMediaParameter) {
		p.media, p.charset = media, params["charset"]
	}
	sent := &io.LimitedReader{R: response.Body, N: MaxContent + 1}
	r, err := unpacked(sent, response.Header.Get("Content-Encoding"))
	if err != nil {
		return p, err
	}
	p.Content, err = io.ReadAll(io.LimitReader(r, MaxContent+1))
	p.Cut = len(p.Content) > MaxContent || sent.N == 0
	p.Content = p.Content[:min(len(p.Content), MaxContent)]
	p.Broken = err != nil && !p.Cut
	if p.Broken && len(p.Content) == 0 {
		return p, fmt.Errorf("its content cannot be read: %w", err)
	}
	return p, nil
}

// unpacked undoes a content encoding; those that were not asked for are refused.
func unpacked(r io.Reader, encoding string) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(r)
		if errors.Is(err, io.EOF) {
			return strings.NewReader(""), nil // an answer without content
		}
		if err != nil {
			return nil, fmt.Errorf("it says that its content is gzip, which it is not (%w)", err)
		}
		return z, nil
	case "deflate":
		// RFC 9110 means zlib; some servers leave its header out.
		in := bufio.NewReader(r)
		if head, err := in.Peek(2); err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			return zlib.NewReader(in)
		}
		return flate.NewReader(in), nil
	}
	return nil, fmt.Errorf("its content is packed with %s, which was not asked for", text.OneLine(encoding, 40))
}

// UTF16 reports whether the server says that the content is text in UTF-16, which looks
// like no text.
func (p Page) UTF16() bool { return strings.HasPrefix(strings.ToLower(p.charset), "utf-16") }

// Text returns the content in UTF-8, from the character set that it is in by its
// header, its own beginning, or its looks, and whether it is HTML.
func (p Page) Text() (s string, isHTML bool) {
	s = p.decoded()
	// Some servers do not say what it is, or say what they say of everything.
	switch p.media {
	case "text/html", "application/xhtml+xml":
		return s, true
	case "", "application/octet-stream":
		start := strings.ToLower(strings.TrimSpace(s[:min(len(s), 512)]))
		return s, strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
	}
	return s, false
}

func (p Page) decoded() string {
	const byteOrderMark = "\ufeff"
	start := p.Content[:min(len(p.Content), 1024)]
	contentType := p.media
	if p.charset != "" {
		contentType = mime.FormatMediaType(cmp.Or(p.media, "text/plain"), map[string]string{"charset": p.charset})
	}
	encoding, name, certain := charset.DetermineEncoding(start, contentType)
	if name == "utf-8" || !certain && utf8.Valid(p.Content) {
		return strings.TrimPrefix(string(p.Content), byteOrderMark)
	}
	s, err := encoding.NewDecoder().Bytes(p.Content)
	if err != nil {
		return string(p.Content)
	}
	return strings.TrimPrefix(string(s), byteOrderMark)
}
