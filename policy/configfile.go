package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"pawl/internal/stable"
)

// The configuration of a workspace: everything in the folders of folderNames, and these files. What is
// text for the model alone (AGENTS.md, CLAUDE.md) is not among them; see package instructions.
const (
	folderName = ".pawl"
	rulesName  = ".pawl/permissions.json"
	configName = ".pawl/config.toml"
)

var lonelyFiles = []string{".mcp.json"}

// folderNames are the folders of the configuration: pawl's own, and the one in which Claude
// Code has the commands that people write (code.claude.com/docs/en/slash-commands, read
// 2026-11-22).
var folderNames = []string{folderName, ".claude/commands"}

// The bounds of what a person can be asked to look at. Past them nothing counts.
const (
	maxFiles = 500
	maxDepth = 8
	maxTotal = 8 << 20 // bytes
)

// A configFile is one file of the configuration, as it is on the disk. What cannot be read, or
// is no file, has a problem instead of content.
type configFile struct {
	name    string // relative to the workspace, with slashes
	content []byte
	sum     string
	problem string
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// readConfigFile returns one configuration file of the workspace; nil if there is none. Links are
// not followed: not the file, and not the folder it is in.
func readConfigFile(root *os.Root, name string) *configFile {
	g := &configFile{name: name}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is %s and no folder", dir, kind(info.Mode()))
		}
		if err != nil {
			g.problem = err.Error()
			return g
		}
	}
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil
	case err != nil:
		g.problem = err.Error()
	case !info.Mode().IsRegular():
		g.problem = fmt.Sprintf("%s is %s and no file", name, kind(info.Mode()))
	default:
		g.load(root)
	}
	return g
}

// load reads the file. Between the look at it and here it may have become another: what
// counts is what was read, whatever its name meant by then. A root leads nowhere else.
func (g *configFile) load(root *os.Root) {
	f, err := root.OpenFile(g.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		defer f.Close()
		g.content, _, err = readWhole(f, g.name)
	}
	if err != nil {
		g.problem = err.Error()
		return
	}
	g.sum = sumOf(g.content)
}

// scan returns the configuration files of a workspace, and those at further names, by name.
func scan(root *os.Root, also []string) []configFile {
	return scanNames(root, slices.Concat(folderNames, lonelyFiles, also))
}

// scanNames returns the files at names, and in the folders there, by name.
func scanNames(root *os.Root, names []string) []configFile {
	s := scanner{root: root}
	for _, name := range names {
		info, err := root.Lstat(name)
		folder := slices.Contains(folderNames, name) || err == nil && info.IsDir() && !slices.Contains(lonelyFiles, name)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR) && name != folderName:
		case err != nil:
			s.add(configFile{name: name, problem: err.Error()})
		case folder && info.IsDir():
			s.folder(name, 1)
		case folder:
			s.add(configFile{name: name, problem: fmt.Sprintf("%s is %s and no folder", name, kind(info.Mode()))})
		default:
			if g := readConfigFile(root, name); g != nil { // it may be gone by now
				s.add(*g)
			}
		}
	}
	stable.Sort(s.found, func(a, b configFile) int { return cmp.Compare(a.name, b.name) })
	return s.found
}

// A scanner collects configuration files, up to the bounds.
type scanner struct {
	root  *os.Root
	found []configFile
	total int
	full  bool // a bound was reached, and said
}

func (s *scanner) add(g configFile) {
	switch {
	case s.full:
	case len(s.found) >= maxFiles || s.total+len(g.content) > maxTotal:
		s.full = true
		s.found = append(s.found, configFile{name: folderName, problem: fmt.Sprintf(
			"%s has more than %d files or %d MB, which nobody can look through", folderName, maxFiles, maxTotal>>20)})
	default:
		s.total += len(g.content)
		s.found = append(s.found, g)
	}
}

func (s *scanner) folder(name string, depth int) {
	if depth > maxDepth {
		s.add(configFile{name: name, problem: fmt.Sprintf("%s is more than %d folders deep", name, maxDepth)})
		return
	}
	dir, err := s.root.Open(name)
	if err == nil {
		defer dir.Close()
	}
	for err == nil && !s.full {
		var some []fs.DirEntry
		some, err = dir.ReadDir(64) // of a folder without end not all
		for _, e := range some {
			at := name + "/" + e.Name()
			if e.IsDir() && at != rulesName && at != configName {
				s.folder(at, depth+1)
			} else if g := readConfigFile(s.root, at); g != nil {
				s.add(*g)
			}
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.add(configFile{name: name, problem: err.Error()})
	}
}
