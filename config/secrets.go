package config

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/visible"
	"pawl/permission/network"
	"pawl/tool"
)

// secretsKey is the table of secrets in the user's file.
const secretsKey = "secrets"

// A secretTable is a table [secrets.NAME].
type secretTable struct {
	Host   string `toml:"host"`
	Env    string `toml:"env"`
	File   string `toml:"file"`
	Header string `toml:"header"`
}

var secretFields = []string{"host", "env", "file", "header"}

// foreignSecretFields are what else people call them.
var foreignSecretFields = map[string]string{"value": "env or file: the value itself stands in no setting", "token": "env or file: the value itself stands in no setting", "hosts": "host, one; another host is another secret", "url": "host"}

var (
	variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerName   = lazy.Regexp(`^[A-Za-z0-9-]+$`)
)

// parseSecrets reads the tables [secrets.NAME] of the user's file.
func parseSecrets(file string, content []byte) (all []tool.Secret, err error) {
	typed, err := parseTables(file, content, secretsKey, "host and env", secretFields, foreignSecretFields)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(typed.Secrets)) {
		t := typed.Secrets[name]
		s := tool.Secret{Name: name, Host: strings.ToLower(t.Host), Env: t.Env, Header: cmp.Or(t.Header, "Authorization")}
		at := file + ": secrets." + name
		if err := network.CheckSecret(name, s.Host); err != nil {
			return nil, Errorf("%s: %w", at, err)
		}
		switch own := strings.HasPrefix(s.Env, "PAWL_"); {
		case own || !variableName().MatchString(s.Env):
			return nil, Errorf("%s: env %s: name the variable in which a command has the placeholder, such as NPM_TOKEN", at, visible.Quote(s.Env))
		case !headerName().MatchString(s.Header):
			return nil, Errorf("%s: %s is not the name of a header", at, visible.Quote(s.Header))
		case t.File != "" && t.File != filepath.Base(t.File):
			return nil, Errorf("%s: file %s: give the name of a file in %s, which no command sees", at, visible.Quote(t.File), filepath.Dir(file))
		case t.File != "":
			s.File = filepath.Join(filepath.Dir(file), t.File)
		}
		all = append(all, s)
	}
	return all, nil
}
