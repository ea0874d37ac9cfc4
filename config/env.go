package config

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
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
	if err != nil {
		return "", Errorf("the folder to work in cannot be found: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", Errorf("%s is not a folder to work in", dir)
	}
	return dir, nil
}
