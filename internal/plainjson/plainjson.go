// Package plainjson writes JSON in which <, > and & stand as they are. encoding/json escapes
// them for pages of HTML; code is full of them, and \u003c is five bytes more for each.
package plainjson

import (
	"bytes"
	"encoding/json"

	"pawl/internal/visible"
)

// Line returns v as JSON on a line, with its end, that is safe to print on a terminal.
func Line(v any) ([]byte, error) {
	line, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	return visible.JSON(append(line, '\n')), nil
}

// Marshal returns v as JSON on one line, without an end of the line.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil // without the buffer's slack
}
