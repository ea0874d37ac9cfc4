package instructions

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"pawl/internal/lazy"
	"pawl/internal/visible"
)

// A Front is the front matter of a Markdown file, by key.
type Front map[string]any

// CutFront returns the front matter of a file and the text after it. It is as lenient as the agents that such
// files were written for: a byte order mark, lines that end with CR LF, and values that YAML would want in quotes
// ("description: Use when: x") are read all the same.
func CutFront(content []byte) (Front, string, error) {
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return nil, "", errors.New("it is not text in UTF-8")
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(content), "\ufeff"), "\r\n", "\n")
	if !strings.HasPrefix(text, "---\n") {
		return nil, text, nil
	}
	rest := text[len("---"):] // without a copy: of 200 skills it is read at each start
	head, body, ok := strings.Cut(rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix(rest, "\n---"); !ok {
			return nil, "", errors.New("the front matter has no end: a line ---")
		}
	}
	f, err := parseFront(head)
	return f, body, err
}

var (
	// keyLine is a line whose value may need quotes.
	keyLine = lazy.Regexp(`(?m)^([A-Za-z][\w-]*):[ \t]+([^\s|>"'].*)$`)
	// looseLine is a line that begins a value in what is no YAML.
	looseLine = lazy.Regexp(`^([a-z][\w-]*):(?:[ \t]+(.*))?\s*$`)
)

// parseFront parses front matter. Most has plain lines alone, which need no YAML: of 200 skills it is read at each start.
func parseFront(text string) (Front, error) {
	if f := plainFront(text); f != nil {
		return f, nil
	}
	values := map[string]any{} // in it maps are of this type too
	err := yaml.Unmarshal([]byte(text), &values)
	if err != nil {
		quoted := keyLine().ReplaceAllStringFunc(text, func(line string) string {
			key, value, _ := strings.Cut(line, ":")
			return key + ": '" + strings.ReplaceAll(strings.TrimSpace(value), "'", "''") + "'"
		})
		values = map[string]any{}
		if yaml.Unmarshal([]byte(quoted), &values) != nil {
			if values = looseFront(text); values == nil {
				return nil, fmt.Errorf("the front matter is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
			}
		}
	}
	return values, nil
}

// plainFront reads front matter of which each value means in YAML what it says; nil: it is something else.
func plainFront(text string) Front {
	f := Front{}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		key, value, ok := strings.Cut(line, ": ")
		value = strings.TrimSpace(value)
		if !ok || !plainKey(key) || value == "" || !letter(value[0]) || strings.ContainsAny(value, ":#") {
			return nil
		}
		f[key] = value
	}
	return f
}

// plainKey reports whether a key is a word of ASCII: letters, digits, - and _ after a letter.
func plainKey(key string) bool {
	for i := range len(key) {
		if c := key[i]; !letter(c) && (i == 0 || c != '-' && c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return key != ""
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// looseFront reads front matter that is no YAML because its description has several lines, as in agents of Claude Code
// with examples of talk: it goes on until a line that begins with another key. nil: it is something else.
func looseFront(text string) map[string]any {
	values := map[string]any{}
	last := ""
	for line := range strings.Lines(strings.TrimSpace(text)) {
		m := looseLine().FindStringSubmatch(line)
		switch {
		case m != nil && values[m[1]] == nil && m[1] != "user" && m[1] != "assistant":
			var value any
			last = m[1]
			err := yaml.Unmarshal([]byte(m[2]), &value)
			if _, pairs := value.(map[string]any); err != nil || pairs && !strings.HasPrefix(m[2], "{") { // "Use it so: …"
				value = m[2]
			}
			values[last] = value
		case last == "description":
			values[last] = fmt.Sprint(values[last], "\n", line)
		default:
			return nil
		}
	}
	return values
}

// Text returns the value of a key on one line, without characters that cannot be seen; a list as it was written.
func (f Front) Text(key string) string {
	s := ""
	switch v := f[key].(type) {
	case nil:
	case []any:
		for i, word := range v {
			if i > 0 {
				s += ", "
			}
			s += fmt.Sprint(word)
		}
		s = "[" + s + "]"
	case map[string]any: // "Use when: x" below its key
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				s += ", "
			}
			s += fmt.Sprint(name, ": ", v[name])
		}
	default:
		s = fmt.Sprint(v)
	}
	return strings.Join(strings.Fields(visible.Strip(s)), " ")
}

// Words returns the list of a key; a text is one with blanks or commas, but for those in parentheses.
func (f Front) Words(key string) []string {
	return fieldsOutside(strings.Trim(f.Text(key), "[]"), " ,", '(', ')')
}

// fieldsOutside splits a text at separators, but for those between brackets.
func fieldsOutside(text, separators string, open, end rune) []string {
	depth := 0
	return strings.FieldsFunc(text, func(c rune) bool {
		switch c {
		case open:
			depth++
		case end:
			depth--
		}
		return depth == 0 && strings.ContainsRune(separators, c)
	})
}

// Flag returns the value of a key that says yes or no, in any of the words that YAML has had for it.
func (f Front) Flag(key string, otherwise bool) bool {
	switch strings.ToLower(f.Text(key)) {
	case "true", "yes", "on", "1":
		return true
	case "false", "no", "off", "0":
		return false
	}
	return otherwise
}
