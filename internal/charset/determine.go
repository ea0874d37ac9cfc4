package charset

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// Determine returns the name of the character set of a page: by its beginning, which has at
// most 1024 bytes, and its Content-Type. It is certain when a byte order mark or the type says it
// (html.spec.whatwg.org, determining the character encoding, read 2026-11-22).
func Determine(content []byte, contentType string) (name string, certain bool) {
	for mark, name := range map[string]string{"\xfe\xff": "utf-16be", "\xff\xfe": "utf-16le", "\xef\xbb\xbf": "utf-8"} {
		if bytes.HasPrefix(content, []byte(mark)) {
			return name, true
		}
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		if name := Lookup(params["charset"]); name != "" {
			return name, true
		}
	}
	if name := declared(content); name != "" {
		return name, false
	}
	for i := len(content) - 1; i >= 0 && i > len(content)-utf8.UTFMax; i-- { // the last character may be cut
		if utf8.RuneStart(content[i]) {
			if !utf8.FullRune(content[i:]) {
				content = content[:i]
			}
			break
		}
	}
	if utf8.Valid(content) && bytes.ContainsFunc(content, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return "utf-8", false
	}
	return "windows-1252", false
}

// declared returns the character set that a tag meta of a page names; empty: none does.
func declared(content []byte) string {
	z := html.NewTokenizer(bytes.NewReader(content))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if t.Data != "meta" {
				continue
			}
			name, pragma := "", ""
			for _, a := range t.Attr {
				switch value := strings.ToLower(a.Val); a.Key {
				case "http-equiv":
					pragma = value
				case "charset":
					name, pragma = Lookup(value), "content-type"
				case "content":
					if name == "" {
						name = Lookup(inPragma(value))
					}
				}
			}
			if pragma != "content-type" || name == "" {
				continue
			}
			if strings.HasPrefix(name, "utf-16") {
				return "utf-8" // else the tag could not have been read
			}
			return name
		}
	}
}

// inPragma returns the label in a content such as text/html; charset=koi8-r.
func inPragma(content string) string {
	const space = " \t\n\f\r"
	for {
		_, after, ok := strings.Cut(content, "charset")
		if !ok {
			return ""
		}
		value, ok := strings.CutPrefix(strings.TrimLeft(after, space), "=")
		if !ok {
			content = after
			continue
		}
		value = strings.TrimLeft(value, space)
		if value != "" && (value[0] == '"' || value[0] == '\'') {
			quoted, _, ok := strings.Cut(value[1:], value[:1])
			if !ok {
				return ""
			}
			return quoted
		}
		if end := strings.IndexAny(value, ";"+space); end >= 0 {
			value = value[:end]
		}
		return value
	}
}
