package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pawl/internal/atomicfile"
	"pawl/internal/inside"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// LookupKey returns the key of that name, which may be written as its flag.
func LookupKey(name string) (Key, error) {
	var names []string
	for _, k := range keys {
		if k.Name == name || k.Flag() == strings.TrimPrefix(name, "--") || k.Env() == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	first, _, _ := strings.Cut(name, ".")
	if ours := foreignKeys[first]; ours != "" {
		return Key{}, Errorf("unknown setting %s: use %s", visible.Quote(name), ours)
	}
	if lower := strings.ToLower(strings.ReplaceAll(name, "-", "_")); strings.HasSuffix(lower, "_key") || strings.HasSuffix(lower, "apikey") || strings.HasSuffix(lower, "token") {
		return Key{}, Errorf("unknown setting %s: a key is a variable, such as ANTHROPIC_API_KEY, or is stored with /login in the terminal agent", visible.Quote(name))
	}
	return Key{}, Errorf("unknown setting %s%s; `pawl config` lists them", visible.Quote(name), text.DidYouMean(name, names))
}

// SetInUserFile sets a key in the user's configuration file, which is made if there is none,
// and returns its path. Without values the key is removed. The rest of the file stays as it is,
// with its comments.
func (e Env) SetInUserFile(k Key, values ...string) (path string, err error) {
	if len(values) > 1 && !k.List {
		return e.UserFile(), Errorf("%s must be one value, got %d", k.Name, len(values))
	}
	for _, v := range values {
		if err := k.Check(v); err != nil {
			return e.UserFile(), Errorf("%s: %w", k.Name, err)
		}
	}
	return e.editUserFile(func(_ string, content []byte) ([]byte, error) { return setLine(content, k, values) })
}

// editUserFile replaces the content of the user's configuration file, which is made if there is
// none, and returns its path. What it has before and after is checked.
func (e Env) editUserFile(edit func(path string, content []byte) ([]byte, error)) (path string, err error) {
	path = inside.Real(e.UserFile())
	content, err := readFile(path)
	if err != nil {
		return path, err
	}
	if _, err := parseFile(path, content, nil); err != nil {
		return path, err
	}
	edited, err := edit(path, content)
	if err != nil {
		return path, err
	}
	if _, err := parseFile(path, edited, nil); err != nil {
		return path, fmt.Errorf("%s cannot be edited, change it by hand: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return path, err
	}
	return path, atomicfile.Write(path, edited, atomicfile.Durable)
}

// setLine returns the content of a configuration file with a key set, or removed if there are no values.
func setLine(content []byte, k Key, values []string) ([]byte, error) {
	line, err := toml.Marshal(map[string]any{k.Name: k.toml(values)})
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		line = nil
	}
	lines := slices.Collect(strings.Lines(string(content)))
	first := slices.IndexFunc(lines, func(l string) bool { _, is := tableHeader([]byte(l)); return is })
	if first < 0 {
		first = len(lines)
	}
	for i := range lines[:first] { // below it are keys of tables
		name, _, ok := strings.Cut(lines[i], "=")
		if !ok || strings.Trim(strings.TrimSpace(name), `"'`) != k.Name {
			continue
		}
		for end := i + 1; end <= len(lines); end++ { // a list may have several lines
			given := strings.Join(lines[i:end], "")
			if toml.Unmarshal([]byte(given), new(map[string]any)) != nil {
				continue
			}
			if comment := commentOf(given); comment != "" && line != nil {
				line = append(bytes.TrimSuffix(line, []byte("\n")), " "+comment+"\n"...)
			}
			return []byte(strings.Join(slices.Concat(lines[:i], []string{string(line)}, lines[end:]), "")), nil
		}
	}
	if line != nil && first > 0 && !strings.HasSuffix(lines[first-1], "\n") {
		lines[first-1] += "\n"
	}
	if line != nil && first < len(lines) {
		line = append(line, '\n')
	}
	return []byte(strings.Join(slices.Concat(lines[:first], []string{string(line)}, lines[first:]), "")), nil
}

// commentOf returns the comment at the end of a setting of one line; "" if it has none.
func commentOf(setting string) string {
	setting = strings.TrimSpace(setting)
	if strings.Contains(setting, "\n") {
		return ""
	}
	for i := range setting {
		if setting[i] == '#' && toml.Unmarshal([]byte(setting[:i]), new(map[string]any)) == nil {
			return setting[i:]
		}
	}
	return ""
}

// toml returns the value of a key as the file has it.
func (k Key) toml(values []string) any {
	switch {
	case k.List:
		return values
	case len(values) == 0:
		return ""
	}
	if n, err := strconv.ParseInt(values[0], 10, 64); err == nil && k.check != nil {
		return n
	}
	if f, err := strconv.ParseFloat(values[0], 64); err == nil && k.check != nil {
		return f
	}
	return values[0]
}

// Check returns why a value cannot be one of the key; nil if it can.
func (k Key) Check(value string) error {
	switch {
	case k.Values != nil:
		return OneOf(k.Values...)(value)
	case k.check != nil:
		return k.check(value)
	}
	return nil
}
