package config

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"pawl/internal/atomicfile"
	"pawl/internal/owner"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// An Env looks a variable of the environment up.
type Env func(name string) (value string, set bool)

// Get returns a variable; "" if it is not set.
func (e Env) Get(name string) string {
	v, _ := e(name)
	return v
}

// UserDir returns the folder of the user's configuration.
func (e Env) UserDir() string { return filepath.Join(e.xdg("XDG_CONFIG_HOME", ".config"), "pawl") }

// UserFile returns the path of the user's configuration file.
func (e Env) UserFile() string { return filepath.Join(e.UserDir(), "config.toml") }

// ModelsFile returns the path of the user's file of providers and models.
func (e Env) ModelsFile() string { return filepath.Join(e.UserDir(), "models.toml") }

// ProgramsDir returns the path of the user's folder of descriptions of external agents.
func (e Env) ProgramsDir() string { return filepath.Join(e.UserDir(), "programs") }

// CodexDir returns the folder of the user's configuration of Codex.
func (e Env) CodexDir() string {
	if dir := e.Get("CODEX_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(e.Get("HOME"), ".codex")
}

// StateDir returns the folder for everything pawl keeps.
func (e Env) StateDir() string {
	dir := e.Get("PAWL_STATE_DIR")
	if dir == "" {
		return filepath.Join(e.xdg("XDG_STATE_HOME", ".local/state"), "pawl")
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// CheckStateDir returns why the variable that names the state folder cannot be used; nil if it can.
// A relative path would be another folder in each workspace.
func (e Env) CheckStateDir() error {
	if dir := e.Get("PAWL_STATE_DIR"); dir != "" && !filepath.IsAbs(dir) {
		return Errorf("PAWL_STATE_DIR %s: must be an absolute path", visible.Quote(dir))
	}
	if info, err := os.Stat(e.StateDir()); err == nil && !info.IsDir() {
		return Errorf("the state folder %s (%s) cannot be used: %s: not a directory; PAWL_STATE_DIR names another on a local disk", e.StateDir(), e.StateSource(), e.StateDir())
	}
	return nil
}

// CheckPrivate returns an error if others can write a file or folder of pawl's, which rules and logs
// are kept in: it belongs to another user than this one and root, or its mode lets everybody write.
// What is not there, or cannot be looked at, has no error.
func CheckPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // whoever uses it says so
	}
	uid, known := owner.Of(info)
	switch {
	case !known:
		return nil // a system without owners
	case uid != os.Getuid() && uid != 0:
		return Errorf("%s belongs to user %d, who could change your rules and logs: take it with chown, or name another state folder with PAWL_STATE_DIR", path, uid)
	case info.Mode().Perm()&0o002 != 0:
		return Errorf("%s can be written by all users (mode %04o), who could change your rules and logs: run `chmod go-w %[1]s`", path, info.Mode().Perm())
	}
	return nil
}

// MakeStateDir makes the state folder if it is missing. One that cannot be made or entered
// is an [*Error] that says where the choice of it came from.
func (e Env) MakeStateDir() error {
	err := os.MkdirAll(filepath.Join(e.StateDir(), "workspaces"), 0o700)
	path, ok := errors.AsType[*fs.PathError](err)
	if !ok || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EIO) {
		return err
	}
	return Errorf("the state folder %s (%s) cannot be used: %s: %w; PAWL_STATE_DIR names another on a local disk", e.StateDir(), e.StateSource(), path.Path, path.Err)
}

// LogKey returns the secret with which the logs of this state folder are sealed, for [store.Options]. The first call that may
// make it does; nil: there is none yet.
func (e Env) LogKey(make bool) ([]byte, error) {
	file := filepath.Join(e.StateDir(), "log-key")
	if _, err := os.Lstat(file); !make && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	key, err := atomicfile.Once(file, func() []byte { return []byte(rand.Text() + "\n") })
	if exposed, ok := errors.AsType[*atomicfile.ExposedError](err); ok {
		return nil, Errorf("%s can be read by others (mode %04o), who could make logs that are continued: run `chmod 600 %[1]s`", file, exposed.Mode)
	}
	if err == nil && len(key) < len(rand.Text()) {
		err = Errorf("%s has no key: restore it from a backup, or remove it, and logs of before are read and not continued", file)
	}
	return key, err
}

// StoreVariable names the store that runs are kept in, by its address; not set: the state folder.
const StoreVariable = "PAWL_STORE"

// TemporalVariable names the server that gives the tasks of a shared database to workers: HOST:PORT, or
// HOST:PORT/NAMESPACE. The program pawl-fleet alone reads it.
const TemporalVariable = "PAWL_TEMPORAL"

// RepositoryVariable names the git repository that the machines of a shared database work on. The program pawl-fleet alone
// reads it.
const RepositoryVariable = "PAWL_REPOSITORY"

// internalVariables are the variables of pawl's that are no settings.
var internalVariables = []string{"PAWL_BYPASS_AS_ROOT", "PAWL_EXTERNAL_AGENT", "PAWL_LOG", "PAWL_MANAGED_RULES", "PAWL_PROC", "PAWL_RUN", "PAWL_RUN_TOKEN", "PAWL_STATE_DIR", StoreVariable, TemporalVariable, RepositoryVariable}

// CheckVariables looks for variables that begin with PAWL_ and that pawl does not have, in
// an environment in the form of [os.Environ]. One that is nearly the name of a setting is an
// [*Error]: what was meant does not hold. The others are named in notes.
func CheckVariables(environ []string) (notes []string, err error) {
	known := slices.Clone(internalVariables)
	for _, k := range keys {
		known = append(known, k.Env())
	}
	plain := func(name string) string { return strings.ReplaceAll(strings.TrimPrefix(name, "PAWL_"), "_", "") }
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if name == "PAWL_LOG" && value != "" && value != "debug" {
			return notes, Errorf("PAWL_LOG %s: must be debug, or not set", visible.Quote(value))
		}
		if !strings.HasPrefix(name, "PAWL_") || value == "" || slices.Contains(known, name) {
			continue
		}
		near := ""
		for _, k := range known {
			if n := len(plain(k)); near == "" && n > 2 && text.Distance(plain(name), plain(k)) <= 1+n/6 {
				near = k
			}
		}
		if ours := foreignKeys[strings.ToLower(strings.TrimPrefix(name, "PAWL_"))]; near == "" && ours != "" {
			if k, err := LookupKey(ours); err == nil {
				ours = k.Env()
			}
			return notes, Errorf("unknown variable %s in the environment: use %s", name, ours)
		}
		if near != "" {
			return notes, Errorf("unknown variable %s in the environment; did you mean %s?", name, near)
		}
		notes = append(notes, fmt.Sprintf("the unknown variable %s has no effect; `pawl config` lists the settings", name))
	}
	return notes, nil
}

// StateSource returns where the choice of the state folder came from.
func (e Env) StateSource() string {
	for _, name := range []string{"PAWL_STATE_DIR", "XDG_STATE_HOME"} {
		if e.Get(name) != "" {
			return FromEnv + " " + name
		}
	}
	return FromDefault
}

// WorkspaceState returns the folder for what is kept of one workspace. Its name can be read,
// and the hash keeps folders of the same name apart.
func (e Env) WorkspaceState(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	base := strings.Map(func(r rune) rune {
		if r < ' ' || r == '/' || r == '\\' {
			return '_'
		}
		return r
	}, filepath.Base(workspace))
	return filepath.Join(e.StateDir(), "workspaces", base+"-"+hex.EncodeToString(sum[:16]))
}

// xdg returns a folder of the XDG base directory specification (version 0.8, read
// 2026-11-20): the variable if it is an absolute path, else rest in the home folder.
func (e Env) xdg(variable, rest string) string {
	if dir := e.Get(variable); filepath.IsAbs(dir) {
		return dir
	}
	home := e.Get("HOME")
	if !filepath.IsAbs(home) {
		// A relative home would be looked for in the workspace, which must not be able
		// to grant itself anything. Without one, as under cron, the system knows.
		home = "/nonexistent"
		if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && filepath.IsAbs(u.HomeDir) {
			home = u.HomeDir
		}
	}
	return filepath.Join(home, rest)
}

// Workspace returns the folder dir ("": the current one), absolute and without symbolic
// links, so that one folder has one state.
func Workspace(dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return "", Errorf("the folder to work in, %s, cannot be used: %w", path.Path, path.Err)
	}
	if err != nil {
		return "", Errorf("the folder to work in cannot be used: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", Errorf("the folder to work in, %s, is not a folder", dir)
	}
	return dir, nil
}

// Person returns the name of the user, for who looks at decisions and rules later.
func Person() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user " + strconv.Itoa(os.Getuid())
}
