package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/helper"
	"pawl/internal/proc"
	"pawl/run"
)

// Contains reports whether commands that nobody knows are bounded at the levels [run.Trial] and [run.Inside]: where
// each has a file tree and a network of its own, and all that programs obey by itself in the workspace can be mounted.
// A nil Policy contains nothing.
func (p *Policy) Contains() bool {
	if p == nil {
		return false
	}
	a := p.abilities().Abilities
	if a.Isolation != proc.Namespace || !a.Tree || !a.Network || !a.Filter || !p.index.begin(context.Background()) {
		return false
	}
	_, ok := p.index.obeyedPaths()
	return ok
}

// allowedTemp is the folder in the temporary one of a workspace where commands have theirs that somebody allowed: what runs
// unasked can change nothing there. Programs keep compiled code in such folders, and run it the next time.
const allowedTemp = "allowed"

func (p *Policy) makeAllowedTemp() error {
	if info, err := os.Lstat(filepath.Join(p.Temp, allowedTemp)); err == nil && !info.IsDir() {
		if err := os.Remove(filepath.Join(p.Temp, allowedTemp)); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(p.Temp, allowedTemp), 0o755)
}

// isContained reports whether commands at a level run unasked whatever they do.
func isContained(level run.Confinement) bool { return level == run.Trial || level == run.Inside }

// maxObeyed bounds how many files and folders that programs obey are mounted for one command.
const maxObeyed = 500

// contain turns what holds for every command into what holds for one that runs unasked whatever it does. It can
// change no cache but copies of its own of what is built, and at [run.Trial] nothing of the workspace. Repositories
// can be changed if repository says so, which is for git's own work.
func (p *Policy) contain(g places, level run.Confinement, repository bool) error {
	if err := p.makeAllowedTemp(); err != nil {
		return inWords(err)
	}
	for path, n := range maps.Clone(g) {
		works := slices.Contains(p.workFolders(), path)
		if n.kind == helper.Temporary {
			g.put(grant{path: filepath.Join(path, allowedTemp), source: filepath.Join(p.Temp, allowedTemp), kind: helper.ReadOnly, pinned: true})
		}
		switch {
		case n.kind == helper.Writable && slices.Contains(p.built, path):
			n.kind = helper.Overlay
		case n.kind == helper.Writable && works && level == run.Inside:
		case n.kind == helper.Writable && repository && level == run.Inside && slices.Contains(p.own, path):
		case n.kind == helper.Writable, n.kind == helper.Overlay:
			n.kind, n.pinned = helper.ReadOnly, works
		}
		g[path] = n
	}
	p.index.refresh()
	if level != run.Inside {
		return nil
	}
	obeyed, ok := p.index.obeyedPaths()
	if !ok {
		return errors.New("the sandbox cannot keep what other programs obey in the workspace from being changed: there is too much of it, or some of it has a second name; repeat the call with \"sandbox\": \"write\", which a person decides")
	}
	for path := range obeyed {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 { // what it leads to is obeyed
			if path, err = filepath.EvalSymlinks(path); err != nil || !slices.ContainsFunc(p.workFolders(), func(f string) bool { return isBelow(path, f) && path != f }) {
				continue
			}
		}
		g.put(grant{path: path, source: path, kind: helper.ReadOnly, pinned: true})
	}
	if !repository {
		repositories, _ := p.index.gitPaths()
		for _, dir := range repositories {
			if isDotGit(filepath.Base(dir)) && (slices.Contains(p.own, dir) || !guardOf(p).wasMade(dir)) {
				g.put(grant{path: dir, source: dir, kind: helper.ReadOnly, pinned: true})
			}
		}
		return nil
	}
	for i, dir := range p.own {
		if err := p.excludeSecrets(g, dir, filepath.Join(p.overlays, fmt.Sprint("exclude-", i))); err != nil {
			return err
		}
	}
	return nil
}

// excludeSecrets keeps git from taking in the secrets that are hidden from it, which it would see as empty files: it
// puts a list of what git ignores, in a file of its own, over the one of a repository.
func (p *Policy) excludeSecrets(g places, dir, own string) error {
	list := filepath.Join(dir, "info", "exclude")
	text, err := atomicfile.Read(list)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the sandbox cannot read what git ignores: %w", err)
	}
	var hidden []string
	for _, path := range p.index.secretPaths() {
		if rel, err := filepath.Rel(p.workOf(dir), path); err == nil && !p.tracks(path) {
			hidden = append(hidden, "/"+ignorePattern.Replace(rel))
		}
	}
	if len(hidden) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the sandbox hides %s from commands that run unasked, and git would take it for an empty file; repeat the call with \"sandbox\": \"write\", which a person decides", hidden[0])
	}
	if err := os.MkdirAll(p.overlays, 0o700); err != nil {
		return inWords(err)
	}
	if err := os.WriteFile(own, append(text, "\n"+strings.Join(hidden, "\n")+"\n"...), 0o600); err != nil {
		return inWords(err)
	}
	g.put(grant{path: list, source: own, kind: helper.ReadOnly, pinned: true})
	return nil
}

// ignorePattern makes a pattern of git's that stands for one path.
var ignorePattern = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// wasMade is isMade for others than the guard.
func (g *guard) wasMade(path string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.isMade(path)
}

// An obeyedFile is a file or folder of the workspace that programs obey by themselves, as it was before a command
// that can change the workspace unasked.
type obeyedFile struct {
	ID     string `json:"id"`     // which file it is
	Folder string `json:"folder"` // which folder it is in
	Link   string `json:"link,omitempty"`
	Little bool   `json:"little,omitempty"` // nothing runs by it; see saysLittle
}

// obeyedNow returns those that are there.
func (p *Policy) obeyedNow() map[string]obeyedFile {
	now := map[string]obeyedFile{}
	obeyed, _ := p.index.obeyedPaths()
	for path := range obeyed {
		if id := idOf(path); id != "" {
			link, _ := os.Readlink(path)
			now[path] = obeyedFile{ID: id, Folder: idOf(filepath.Dir(path)), Link: link, Little: p.saysLittle(path)}
		}
	}
	return now
}

// checkObeyed takes away what commands made in the workspace that programs obey by themselves. What was there they
// could not change, for it was mounted; so they could put something else in its place only together with the folder
// that it is in. What has a new place is what it was. until is as for check.
func (g *guard) checkObeyed(p *Policy, until time.Time) {
	if g.before.Obeyed == nil {
		return
	}
	known := map[string]bool{}
	for _, was := range g.before.Obeyed {
		known[was.ID] = known[was.ID] || was.Link == "" // a link is not mounted, and its number may be that of another
	}
	now := p.obeyedNow()
	for _, path := range slices.Sorted(maps.Keys(now)) {
		is := now[path]
		was, before := g.before.Obeyed[path]
		switch {
		case is.Link == "" && was.Link == "" && (known[is.ID] || before && is.Folder == was.Folder && !was.Little), is == was:
			continue
		}
		root, rel := p.rootAt(path)
		if root == nil {
			continue
		}
		info, err := root.Lstat(rel)
		if err != nil || !until.IsZero() && !statOf(info).changed.Before(until) || was.Link == "" && is.Little {
			continue
		}
		g.tell(path, p.takeObeyed(root, rel, path))
		if was.Link != "" {
			root.Symlink(was.Link, rel)
		}
	}
}

// bare stops the commands that run unasked and can change the workspace if something that programs obey has left its
// place by other than them: what is put there is not mounted, so they could change it. Paths are those where
// that happened, where it is known; a file that has the number of the one before it is not seen otherwise.
func (g *guard) bare(paths []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for path, was := range g.before.Obeyed {
		if was.Link != "" || was.Little || was.Folder != idOf(filepath.Dir(path)) || was.ID == idOf(path) && !slices.Contains(paths, path) {
			continue
		}
		for s := range g.running {
			if s.level == run.Inside {
				s.violated(fmt.Sprintf("something else removed or replaced %s, which other programs obey by themselves, and the command could change what comes there from then on; the person has to look at it", path))
			}
		}
	}
}

// takeObeyed moves what a command made to where what was refused is kept, and says so.
func (p *Policy) takeObeyed(root *os.Root, rel, path string) string {
	what := fmt.Sprintf("The command made %s, which other programs obey by themselves", path)
	to := p.refusedAt(path)
	if err := moveOut(root, rel, to); err != nil {
		now := take(root, rel)
		kept := now.save(to) == nil
		if err := root.RemoveAll(rel); err != nil {
			return fmt.Sprintf("%s, and that could not be undone (%v): look at it before any program uses it", what, err)
		}
		if !kept {
			return what + ": that was undone, and not all of it could be kept"
		}
	}
	hideFromGit(to)
	return fmt.Sprintf("%s: that was undone; it is kept in %s. If it is needed, write the file with a tool, or repeat the call with \"sandbox\": \"write\"; a person decides that", what, to)
}

// harmlessMembers are those of a package.json that say what a package is and nothing that runs. Build tools write
// such files beside what they build.
var harmlessMembers = []string{"type", "name", "version", "main", "module", "types", "private", "sideEffects", "description", "license"}

// saysLittle reports whether a file has the name of one that programs obey, and nothing in it that they run.
func (p *Policy) saysLittle(path string) bool {
	root, rel := p.rootAt(path)
	if root == nil || !strings.EqualFold(filepath.Base(rel), "package.json") {
		return false
	}
	info, err := root.Lstat(rel)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return false
	}
	text, err := root.ReadFile(rel)
	var members map[string]json.RawMessage
	if err != nil || json.Unmarshal(text, &members) != nil {
		return false
	}
	for name := range members {
		if !slices.Contains(harmlessMembers, name) {
			return false
		}
	}
	return true
}

// beginsInside notes what is there that programs obey, before the first of the commands that can change the workspace
// unasked. It must not be known to a command that began earlier.
func (g *guard) beginsInside(p *Policy) error {
	if g.inside > 0 {
		g.inside++
		return nil
	}
	unlock, err := g.journal.lock() // others begin before or after it
	if err != nil {
		return err
	}
	defer unlock()
	_, others := g.journal.others()
	p.index.forgetReplaced()
	g.before.Obeyed = p.obeyedNow()
	for _, o := range others { // what commands of theirs have made since is not what stood there
		maps.DeleteFunc(g.before.Obeyed, func(path string, _ obeyedFile) bool {
			_, stood := o.Obeyed[path]
			return o.Obeyed != nil && !stood
		})
	}
	if err := g.journal.write(g.before); err != nil {
		g.before.Obeyed = nil
		return err
	}
	g.inside++
	return nil
}

// endsInside is the opposite of beginsInside.
func (g *guard) endsInside() {
	if g.inside--; g.inside == 0 {
		g.before.Obeyed = nil
		g.journal.write(g.before)
	}
}
