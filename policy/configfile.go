package policy

import (
	"bytes"
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
	"strings"
	"sync"
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

var lonelyFiles = append([]string{".mcp.json"}, claudeSettings...)

// claudeSettings are the settings of Claude Code, which are configuration here only if they have hooks.
var claudeSettings = []string{".claude/settings.json", ".claude/settings.local.json"}

// HookFiles are the files with hooks, in the order in which they run.
var HookFiles = append(slices.Clone(claudeSettings), ".pawl/hooks.json")

// hasNoHooks reports whether a file is Claude Code's settings without hooks. What is written so that this overlooks it is
// not shown, and does not count either: it is never trusted.
func (g *configFile) hasNoHooks() bool {
	return slices.Contains(claudeSettings, g.name) && g.problem == "" && !bytes.Contains(g.content, []byte(`"hooks"`))
}

// folderNames are the folders of the configuration: pawl's own, those in which other agents have the commands that
// people write, those of their agents, and those of skills. .pawl comes first, and what is usually most last: a bound that is reached
// leaves out the rest.
var folderNames = append([]string{folderName, ".claude/commands", ".opencode/command", ".opencode/commands", ".gemini/commands",
	".claude/agents", ".claude/hooks", ".opencode/agent", ".opencode/agents", ".gemini/agents"}, SkillFolders...)

// SkillFolders are the folders of skills, the last first where names are the same
// (agentskills.io/client-implementation/adding-skills-support; Claude Code: code.claude.com/docs/en/skills, read
// 2026-11-22; google-gemini/gemini-cli docs/cli/skills.md and opencode.ai/docs/skills, read 2026-11-28). Of a skill the
// file SKILL.md counts: what else is in its folder is read and run as any file of the workspace.
var SkillFolders = []string{".opencode/skills", ".gemini/skills", ".claude/skills", ".agents/skills", ".pawl/skills"}

// SkillFile is the file of a skill, in a folder of its own.
const SkillFile = "SKILL.md"

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
		// Between the look at it and here it may have become another: what counts is what is read, whatever its
		// name means by then. A root leads nowhere else.
		f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			defer f.Close()
			err = g.load(f)
		}
		if err != nil {
			g.problem = err.Error()
		}
	}
	return g
}

func (g *configFile) load(f *os.File) (err error) {
	if g.content, _, err = readWhole(f, g.name); err == nil {
		g.sum = sumOf(g.content)
	}
	return err
}

// scan returns the configuration files of a workspace, and those at further names, by name.
func scan(root *os.Root, also []string) []configFile {
	names := slices.Concat(folderNames, lonelyFiles, also)
	slices.Sort(names)
	names = slices.Compact(names)
	return scanNames(root, slices.DeleteFunc(slices.Clone(names), func(name string) bool { // it is found in the other
		return slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(name, other+"/") })
	}))
}

// scanNames returns the files at names, and in the folders there, by name.
func scanNames(root *os.Root, names []string) []configFile {
	s := scanner{root: root}
	if dir, err := root.Open("."); err == nil {
		defer dir.Close()
		s.dir = dir
	}
	for _, name := range names {
		s.top = name
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
			if g := readConfigFile(root, name); g != nil && !g.hasNoHooks() { // it may be gone by now
				s.add(*g)
			}
		}
	}
	stable.Sort(s.found, func(a, b configFile) int { return cmp.Compare(a.name, b.name) })
	return s.found
}

// A scanner collects configuration files, up to the bounds.
type scanner struct {
	root    *os.Root
	dir     *os.File // the root, to open files in; nil if it cannot be opened
	found   []configFile
	total   int
	top     string // of names, that is looked through
	folders int    // that were looked through for skills
	full    bool   // a bound was reached, and said
}

func (s *scanner) add(g configFile) {
	switch {
	case s.full:
	case len(s.found) >= maxFiles || s.total+len(g.content) > maxTotal:
		s.full = true
		s.found = append(s.found, configFile{name: s.top, problem: fmt.Sprintf(
			"%s has more than %d files or %d MB, which nobody can look through", s.top, maxFiles, maxTotal>>20)})
	default:
		s.total += len(g.content)
		s.found = append(s.found, g)
	}
}

// read is readConfigFile, and faster for a file without links in its path: of 200 skills this is done at each start.
func (s *scanner) read(name string) *configFile {
	if f := openUnlinked(s.dir, name); f != nil {
		defer f.Close()
		if g := (&configFile{name: name}); g.load(f) == nil {
			return g
		}
	}
	return readConfigFile(s.root, name)
}

func (s *scanner) folder(name string, depth int) {
	whole := s.top == ".gemini" || s.top == ".opencode" // all that these programs obey is reviewed
	if !whole && slices.ContainsFunc(SkillFolders, func(f string) bool { return name == f || strings.HasPrefix(name, f+"/") }) {
		s.skills(name, depth)
		return
	}
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
			} else if g := s.read(at); g != nil {
				s.add(*g)
			}
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.add(configFile{name: name, problem: err.Error()})
	}
}

// The bounds of what is looked through for skills; see "Client implementation" of the format.
const (
	maxSkillFolders = 2_000
	maxSkillEntries = 5_000 // of one folder

	atOnce = 32 // files that are read before the bounds are checked
)

// skills adds the skills in a folder and, without going into those that are one, in the folders there. The
// files beside a SKILL.md are not looked at, however many they are.
func (s *scanner) skills(name string, depth int) {
	if s.folders++; s.folders > maxSkillFolders || depth > maxDepth {
		if s.folders <= maxSkillFolders+1 {
			s.add(configFile{name: name, problem: fmt.Sprintf("it is more than %d folders deep, or skills are in more than %d folders", maxDepth, maxSkillFolders)})
		}
		return
	}
	dir, err := s.root.Open(name)
	var entries []fs.DirEntry
	if err == nil {
		entries, err = dir.ReadDir(maxSkillEntries + 1)
		dir.Close() // it was only read
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		s.add(configFile{name: name, problem: err.Error()})
		return
	case len(entries) > maxSkillEntries:
		s.add(configFile{name: name, problem: fmt.Sprintf("%s has more than %d files", name, maxSkillEntries)})
		return
	}
	stable.Sort(entries, func(x, y fs.DirEntry) int { return cmp.Compare(x.Name(), y.Name()) })
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() == ".git" || e.Name() == "node_modules" || !e.IsDir() && e.Type()&fs.ModeSymlink == 0
	})
	for some := range slices.Chunk(entries, atOnce) {
		files := make([]*configFile, len(some))
		var readers sync.WaitGroup
		for first := range 2 {
			readers.Go(func() {
				for i := first; i < len(some); i += 2 {
					files[i] = s.read(name + "/" + some[i].Name() + "/" + SkillFile)
				}
			})
		}
		readers.Wait()
		for i, e := range some {
			switch {
			case s.full:
				return
			case files[i] != nil:
				s.add(*files[i])
			case e.IsDir():
				s.skills(name+"/"+e.Name(), depth+1)
			}
		}
	}
}
