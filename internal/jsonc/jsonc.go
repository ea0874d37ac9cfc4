// Package jsonc finds what settings of other agents have beside JSON: comments, and commas before a closing bracket.
// It does not parse them.
package jsonc

import (
	"bytes"
	"iter"
)

// Comments yields the beginning and the end of each comment, the end of its line left out. One that has no end goes to
// the end of the text.
func Comments(b []byte) iter.Seq2[int, int] {
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

// TrailingCommas yields where the commas are before a closing bracket. There must be no comments.
func TrailingCommas(b []byte) iter.Seq[int] {
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
