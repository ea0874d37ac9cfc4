package provider

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pawl/config"
	"pawl/internal/atomicfile"
	"pawl/internal/visible"
)

// keysFile is where a person's keys are kept that are not in the environment: lines of
// NAME=value, readable by this user alone, in the folder of the user's configuration.
func keysFile(env config.Env) string { return filepath.Join(env.UserDir(), "keys") }

// maxKeysFile bounds the file, in bytes.
const maxKeysFile = 64 << 10

// readKeys returns the stored keys by the names of their variables. A file that others can
// read does not count.
func readKeys(path string) (map[string]string, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxKeysFile:
		return nil, config.Errorf("%s is not a file of keys; remove it", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, config.Errorf("%s can be read by others, so its keys are not used: `chmod 600 %s`", path, path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	keys := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			keys[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return keys, nil
}

// StoreKey stores the key of a provider in the user's configuration folder, in a file that
// no one else can read, and returns its path. Variables of the environment are stronger.
func (ps *Providers) StoreKey(name, key string) (path string, err error) {
	p, ok := ps.Provider(name)
	if !ok || !p.NeedsKey() {
		return "", config.Errorf("there is no provider %s that takes a key", visible.Quote(name))
	}
	key = strings.TrimSpace(key)
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", config.Errorf("this is not a key: it must be one word of printable characters")
	}
	path = keysFile(ps.env)
	keys, err := readKeys(path)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Keys of model providers. pawl wrote this file; sandboxed commands cannot read it.\n")
	for n, v := range keys {
		if n != p.KeyEnv[0] {
			fmt.Fprintf(&b, "%s=%s\n", n, v)
		}
	}
	fmt.Fprintf(&b, "%s=%s\n", p.KeyEnv[0], key)
	if err := atomicfile.Write(path, []byte(b.String()), atomicfile.Durable); err != nil {
		return "", err
	}
	if keys, err = readKeys(path); err != nil {
		return "", err
	}
	ps.keys.Store(&keys)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	clear(ps.open) // they have the key that was there before
	return path, nil
}

// StoredKeys returns the keys that are stored, as NAME=value.
func (ps *Providers) StoredKeys() (keys []string) {
	for name, key := range *ps.keys.Load() {
		keys = append(keys, name+"="+key)
	}
	return keys
}

// storedKey returns the stored key of the first of some variables that has one, and where it
// is stored.
func (ps *Providers) storedKey(names []string) (key, from string) {
	keys := *ps.keys.Load()
	for _, name := range names {
		if v := keys[name]; v != "" {
			return v, name + " in " + keysFile(ps.env)
		}
	}
	return "", ""
}
