package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"pawl/internal/text"
	"pawl/output/jsonpath"
)

// maxYAML is how large a YAML text may be to be read as JSON, in bytes: YAML cannot be
// read in pieces, and its tree takes about thirty times as much.
const maxYAML = 1 << 20

// deepestYAML bounds the nesting, aliases included.
const deepestYAML = 1000

func errYAMLSize(n int64) error {
	return fmt.Errorf("this YAML has %s, and only %s are read as JSON: use read or search", text.Size(n), text.Size(maxYAML))
}

// yamlJSON returns a YAML text as JSON. Members stay in their order, numbers as they
// are written where JSON can write them so; what JSON does not have (infinity, dates)
// is a string. Several documents become an array.
func yamlJSON(source []byte) ([]byte, error) {
	if len(source) > maxYAML {
		return nil, errYAMLSize(int64(len(source)))
	}
	d := yaml.NewDecoder(bytes.NewReader(source))
	w := yamlWriter{limit: 64*len(source) + 1024}
	var documents [][]byte
	for {
		var n yaml.Node
		err := d.Decode(&n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not YAML: %s: use read or search", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		w.out = nil
		if err := w.write(&n, 0); err != nil {
			return nil, err
		}
		documents = append(documents, w.out)
		w.used += len(w.out)
	}
	switch len(documents) {
	case 0:
		return []byte("null"), nil
	case 1:
		return documents[0], nil
	}
	return joined("[]", documents), nil
}

// yamlWriter bounds what it writes, because a few aliases of aliases can stand for
// any amount of text.
type yamlWriter struct {
	out   []byte
	used  int // by earlier documents
	limit int
}

var errYAMLTooLarge = errors.New("this YAML stands for far more than is written in it (aliases of aliases): use read or search")

func (w *yamlWriter) write(n *yaml.Node, depth int) error {
	if depth > deepestYAML || w.used+len(w.out) > w.limit {
		return errYAMLTooLarge
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			w.out = append(w.out, "null"...)
			return nil
		}
		return w.write(n.Content[0], depth+1)
	case yaml.AliasNode:
		return w.write(n.Alias, depth+1)
	case yaml.SequenceNode:
		w.out = append(w.out, '[')
		for i, c := range n.Content {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if err := w.write(c, depth+1); err != nil {
				return err
			}
		}
		w.out = append(w.out, ']')
	case yaml.MappingNode:
		w.out = append(w.out, '{')
		if err := w.members(n, depth, map[string]bool{}); err != nil {
			return err
		}
		w.out = append(w.out, '}')
	default:
		w.scalar(n)
	}
	return nil
}

// members writes those of a mapping, and after them those of mappings merged into it
// (<<) that it does not have itself.
func (w *yamlWriter) members(n *yaml.Node, depth int, have map[string]bool) error {
	if depth > deepestYAML {
		return errYAMLTooLarge
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			merged = append(merged, value)
			continue
		}
		name, err := w.key(key, depth)
		if err != nil {
			return err
		}
		if have[name] {
			continue
		}
		if len(have) > 0 {
			w.out = append(w.out, ',')
		}
		have[name] = true
		w.out = append(jsonpath.AppendString(w.out, name), ':')
		if err := w.write(value, depth+1); err != nil {
			return err
		}
	}
	for len(merged) > 0 {
		m := merged[0]
		merged = merged[1:]
		if m.Kind == yaml.AliasNode {
			m = m.Alias
		}
		switch m.Kind {
		case yaml.SequenceNode:
			merged = slices.Concat(m.Content, merged)
		case yaml.MappingNode:
			if err := w.members(m, depth+1, have); err != nil {
				return err
			}
		}
	}
	return nil
}

// key returns a mapping's key as a member's name: a scalar as it is written, anything
// else as JSON.
func (w *yamlWriter) key(n *yaml.Node, depth int) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	k := yamlWriter{limit: w.limit, used: w.used + len(w.out)}
	err := k.write(n, depth+1)
	return string(k.out), err
}

func (w *yamlWriter) scalar(n *yaml.Node) {
	switch n.ShortTag() {
	case "!!null":
		w.out = append(w.out, "null"...)
		return
	case "!!bool":
		var v bool
		if n.Decode(&v) == nil {
			w.out = strconv.AppendBool(w.out, v)
			return
		}
	case "!!int", "!!float":
		if jsonpath.IsNumber(n.Value) {
			w.out = append(w.out, n.Value...)
			return
		}
		var i int64
		if n.Decode(&i) == nil { // 0x1F, 1_000
			w.out = strconv.AppendInt(w.out, i, 10)
			return
		}
		var f float64
		if n.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			w.out = strconv.AppendFloat(w.out, f, 'g', -1, 64)
			return
		}
	}
	w.out = jsonpath.AppendString(w.out, n.Value)
}
