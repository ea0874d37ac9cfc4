package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/pelletier/go-toml/v2"

	"pawl/internal/text"
)

// CheckUserFile returns what is wrong with the user's file; nil also if it does not exist.
func (e Env) CheckUserFile() error {
	_, err := readFile(e.UserFile())
	return err
}

// readFile reads a configuration file: the values of each key as text. A file that does not
// exist has none.
func readFile(path string) (map[string][]string, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, Errorf("the configuration cannot be read: %w", err)
	}
	return parseFile(path, content, nil)
}

// parseFile parses the content of a configuration file. counts, if not nil, reports which
// keys count; the others are skipped.
func parseFile(path string, content []byte, counts func(name string) bool) (map[string][]string, error) {
	var raw map[string]any
	if err := toml.Unmarshal(content, &raw); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := at.Position()
			return nil, Errorf("%s, line %d: %w", path, line, err)
		}
		return nil, Errorf("%s: %w", path, err)
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	values := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if counts != nil && !counts(name) {
			continue
		}
		i := slices.Index(names, name)
		if i < 0 {
			return nil, Errorf("%s: there is no key %q%s", path, name, text.DidYouMean(name, names))
		}
		list, isList := raw[name].([]any)
		switch {
		case isList && !keys[i].List:
			return nil, Errorf("%s: %s must be one value", path, name)
		case !isList && keys[i].List:
			return nil, Errorf("%s: %s must be a list, such as [\"shell(go test *)\"]", path, name)
		case !isList:
			list = []any{raw[name]}
		}
		for _, v := range list {
			switch v := v.(type) {
			case string, int64:
				values[name] = append(values[name], fmt.Sprint(v))
			case float64: // 1e8 is a whole number
				values[name] = append(values[name], strconv.FormatFloat(v, 'f', -1, 64))
			default:
				return nil, Errorf("%s: %s has a value that is neither text nor a number", path, name)
			}
		}
	}
	return values, nil
}
