// Package jsonc takes out of settings of other agents what they have beside JSON: comments, and commas before a closing
// bracket. It does not parse them.
package jsonc

import (
	"bytes"
	"iter"
)

// Strict returns JSON without what settings of other agents may have in it: a byte order mark, comments, and commas before a
// closing bracket. In place of comments there are blanks, so that what is wrong keeps its offset.
func Strict(content []byte) []byte {
	content = bytes.Clone(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")))
	for from, to := range comments(content) {
		if c := content[from:to]; c[1] == '*' && (len(c) < 4 || !bytes.HasSuffix(c, []byte("*/"))) {
			return content // it has no end: what is wrong is said by who reads it
		}
		for i := from; i < to; i++ {
			if content[i] != '\n' {
				content[i] = ' '
			}
		}
	}
	for i := range trailingCommas(content) {
		content[i] = ' '
	}
	return content
}

// comments yields the beginning and the end of each comment, the end of its line left out. One that has no end goes to
// the end of the text.
func comments(b []byte) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for i := 0; i < len(b); i++ {
			end, found := "", 0
			switch rest := b[i:]; {
			case b[i] == '"':
				i = stringEnd(b, i)
				continue
			case bytes.HasPrefix(rest, []byte("//")):
				end = "\n"
			case bytes.HasPrefix(rest, []byte("/*")):
				end, found = "*/", 2
			default:
				continue
			}
			to := len(b)
			if n := bytes.Index(b[i+2:], []byte(end)); n >= 0 {
				to = i + 2 + n + found
			}
			if !yield(i, to) {
				return
			}
			i = to - 1
		}
	}
}

// trailingCommas yields where the commas are before a closing bracket. There must be no comments.
func trailingCommas(b []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		comma := -1 // a comma after which only blanks came
		for i := 0; i < len(b); i++ {
			switch c := b[i]; {
			case c == ' ' || c == '\t' || c == '\n' || c == '\r':
				continue
			case c == ',':
				comma = i
				continue
			case c == '"':
				i = stringEnd(b, i)
			case (c == '}' || c == ']') && comma >= 0:
				if !yield(comma) {
					return
				}
			}
			comma = -1
		}
	}
}

// stringEnd returns the index of the quote that ends the string which begins at i, or of the last byte.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return min(i, len(b)-1)
}
