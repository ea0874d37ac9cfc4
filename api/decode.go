package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// strictJSON is the only format of bodies. A name that an object has twice is an error, so
// that no two readers of a body take it for different things; names are compared with case
// by the schema of the operation, which also knows all of them.
var strictJSON = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	},
	Unmarshal: func(data []byte, v any) error {
		if _, first := v.(*any); first { // it is decoded twice: for the schema, then into its type
			if err := checkJSON(data); err != nil {
				return err
			}
		}
		return inRange(json.Unmarshal(data, v))
	},
}

const outOfRange = ": the number is too large or too small"

// inRange says in words that a number does not fit into its field, which the schema of an
// operation cannot say. It returns other errors as they are.
func inRange(err error) error {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case ok && strings.HasPrefix(e.Value, "number "):
		return errors.New(strings.TrimPrefix(e.Field, ".") + outOfRange)
	case ok:
		return fmt.Errorf("%s: a value of another type is needed than %s", strings.TrimPrefix(e.Field, "."), e.Value)
	}
	return err
}

// maxDepth bounds how deep objects and arrays are nested.
const maxDepth = 100

// checkJSON returns an error unless data is one JSON value in UTF-8 without duplicate names.
func checkJSON(data []byte) error {
	if len(data) > 0 && len(bytes.TrimSpace(data)) == 0 {
		return errors.New("it is not valid JSON: there is white space alone")
	}
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		_, err := d.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, jsontext.ErrDuplicateName):
			return fmt.Errorf("the name of a member occurs twice in an object, at %s", d.StackPointer())
		case err != nil:
			return fmt.Errorf("it is not valid JSON: %s", malformed(data, d, err))
		case d.StackDepth() > maxDepth:
			return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
		case d.StackDepth() == 0 && d.InputOffset() < int64(len(bytes.TrimRight(data, " \t\r\n"))):
			return errors.New("there is something after the JSON value")
		}
	}
}

// malformed says what is wrong with text that is not JSON, and where. d has read it up to there.
func malformed(data []byte, d *jsontext.Decoder, err error) string {
	kind, _ := d.StackIndex(d.StackDepth())
	open := map[jsontext.Kind]string{'{': "an object that is not closed", '[': "an array that is not closed"}[kind]
	if errors.Is(err, io.ErrUnexpectedEOF) {
		if rest := bytes.TrimSpace(data[min(d.InputOffset(), int64(len(data))):]); bytes.HasPrefix(bytes.TrimLeft(rest, ",: \t\r\n"), []byte(`"`)) {
			open = "a string that is not closed"
		}
		return "it ends in " + cmp.Or(open, "the middle of a value")
	}
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return "it cannot be read" // unreachable: it is read from memory
	}
	before := data[:min(e.ByteOffset, int64(len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d: %s", line, column, strings.TrimPrefix(e.Err.Error(), "jsontext: "))
}
