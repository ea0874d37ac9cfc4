package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/internal/owngit"
)

// A setting is one of a git configuration. The section and the name are in lower
// case; the subsection between them is as it was written.
type setting struct {
	section, subsection, name string
	value                     string
}

// key returns the setting's name without its subsection.
func (s setting) key() string { return s.section + "." + s.name }

// fullKey returns the setting's name as git takes it.
func (s setting) fullKey() string {
	if s.subsection == "" {
		return s.key()
	}
	return s.section + "." + s.subsection + "." + s.name
}

// errNoGit says that there is no git: then nothing obeys a configuration of git's,
// and nothing can be said of one.
var errNoGit = errors.New("git is not installed")

// gitTime bounds how long git may take to read one configuration.
const gitTime = 10 * time.Second

// configs remembers what git read of a text. A run sees few different ones.
var configs sync.Map // sha256 of the text -> parsedConfig

type parsedConfig struct {
	settings []setting
	err      error
}

// A gitProgram is the path of git; empty if it is not installed.
type gitProgram string

// parseConfig returns the settings of a git configuration, as git itself reads them;
// included files are not followed.
func (g gitProgram) parseConfig(text []byte) ([]setting, error) {
	if g == "" {
		return nil, errNoGit
	}
	sum := sha256.Sum256(text)
	if known, ok := configs.Load(sum); ok {
		c := known.(parsedConfig)
		return c.settings, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	call := owngit.Call{Program: string(g), Dir: "/", Own: true, Env: []string{"GIT_CEILING_DIRECTORIES=/", "HOME=/", "PATH=" + filepath.Dir(string(g))}}
	cmd := call.Command(ctx, "config", "-z", "--list", "--no-includes", "--file", "-")
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.Output()
	var c parsedConfig
	switch exit := (*exec.ExitError)(nil); {
	case errors.As(err, &exit) && ctx.Err() == nil && exit.ExitCode() > 0:
		c.err = fmt.Errorf("git cannot read it: %s", bytes.TrimSpace(exit.Stderr))
	case err != nil:
		return nil, fmt.Errorf("git config: %w", err) // not the text's fault: the next time it may be read
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		if first < 0 {
			continue
		}
		s := setting{section: key[:first], name: key[last+1:], value: value}
		if first < last {
			s.subsection = key[first+1 : last]
		}
		c.settings = append(c.settings, s)
	}
	configs.Store(sum, c)
	return c.settings, c.err
}

// readConfig returns the settings of a file; none if it is not there.
func (g gitProgram) readConfig(path string) ([]setting, error) {
	text, err := small(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return g.parseConfig(text)
}

// findGit returns git as it is found in the folders of PATH that no command of the
// policy can have filled.
func findGit(folders []string) gitProgram {
	for _, dir := range folders {
		path := filepath.Join(dir, "git")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return gitProgram(path)
		}
	}
	return ""
}

// safeFolders returns the folders of a PATH that are absolute and in none of those
// that commands write.
func safeFolders(path string, written ...string) []string {
	var safe []string
	for _, dir := range filepath.SplitList(path) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(dir) {
			continue
		}
		inside := func(folder string) bool { return isBelow(real, folder) || isBelow(filepath.Clean(dir), folder) }
		if !slices.ContainsFunc(written, inside) {
			safe = append(safe, dir)
		}
	}
	return safe
}

// safePath returns the folders of a PATH whose programs no command of the policy can
// have made.
func (p *Policy) safePath(path string) []string {
	return safeFolders(path, slices.Concat(p.Writable, p.workFolders(), []string{p.Temp, "/tmp", "/var/tmp"})...)
}
