package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"pawl/internal/visible"
)

// maxNesting bounds how deep the values of a file are nested.
const maxNesting = 100

// readYAML reads the front matter of a file, a mapping. The lines of nodes count from the
// line before it.
func readYAML(text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, yamlError(err)
	}
	if doc.Kind == 0 { // only comments
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	return doc.Content[0], nil
}

// yamlError returns an error of the library as an [*lineError].
func yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, what, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, text = n, what
			}
		}
	}
	return &lineError{line, "the front matter is not YAML: " + text}
}

// readJSON reads a file that is one JSON object, in the form of a YAML tree, so that both
// forms are read by the same code and have the same errors.
func readJSON(text []byte) (*yaml.Node, error) {
	line := func(offset int64) int { return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n")) }
	d := jsontext.NewDecoder(bytes.NewReader(text))
	n, err := jsonNode(d, line, 0)
	if err == nil {
		if _, more := d.ReadToken(); more == nil {
			err = errors.New("there is something after the object")
		}
	}
	if err != nil {
		if wrong, ok := errors.AsType[*lineError](err); ok {
			return nil, wrong
		}
		return nil, &lineError{line(d.InputOffset()), "not JSON: " + strings.TrimPrefix(err.Error(), "jsontext: ")}
	}
	return n, nil
}

func jsonNode(d *jsontext.Decoder, line func(int64) int, depth int) (*yaml.Node, error) {
	kind := d.PeekKind()
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: line(d.InputOffset())}
	if depth > maxNesting {
		return nil, &lineError{n.Line, "it is nested too deep"}
	}
	switch kind {
	case '{', '[':
		n.Kind = yaml.MappingNode
		if kind == '[' {
			n.Kind = yaml.SequenceNode
		}
		for d.PeekKind() != '}' && d.PeekKind() != ']' {
			c, err := jsonNode(d, line, depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, c)
		}
		_, err = d.ReadToken()
		return n, err
	case '"':
		n.Tag, n.Value = "!!str", token.String()
	case 't', 'f':
		n.Tag, n.Value = "!!bool", token.String()
	case 'n':
		n.Tag, n.Value = "!!null", "null"
	default:
		n.Tag, n.Value = "!!float", token.String()
		if !strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!int"
		}
	}
	return n, nil
}

// toJSON returns a node as JSON, with the members in their order.
func toJSON(n *yaml.Node, depth int) ([]byte, error) {
	if depth > maxNesting {
		return nil, &lineError{n.Line, "it is nested too deep"}
	}
	var b []byte
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			key, err := json.Marshal(n.Content[i].Value)
			if err != nil {
				return nil, err
			}
			value, err := toJSON(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			b = append(append(append(b, key...), ':'), value...)
		}
		return append(b, '}'), nil
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, c := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			value, err := toJSON(c, depth+1)
			if err != nil {
				return nil, err
			}
			b = append(b, value...)
		}
		return append(b, ']'), nil
	case yaml.ScalarNode:
		var v any
		switch n.Tag {
		case "!!bool", "!!null":
			if err := n.Decode(&v); err != nil {
				return nil, &lineError{n.Line, err.Error()}
			}
		case "!!int", "!!float":
			if json.Valid([]byte(n.Value)) {
				return []byte(n.Value), nil
			}
			var f float64
			if err := n.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
				return nil, &lineError{n.Line, fmt.Sprintf("%s is not a number that JSON has", visible.Quote(n.Value))}
			}
			v = f
		default:
			v = n.Value
		}
		return json.Marshal(v)
	}
	return nil, &lineError{n.Line, "aliases (*name) cannot be used here"}
}

// A lineError is a mistake in a line of a file.
type lineError struct {
	line int
	what string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }
