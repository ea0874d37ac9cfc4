package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A disarmedRepository is one that [guard.disarm] took something from.
type disarmedRepository struct {
	id    string               // which file it is
	taken map[string]*snapshot // by name
	said  []string             // what was told of it
}

// How often what appears in a repository is taken away at once before the commands that
// run are stopped: one of them makes it again and again.
const (
	maxAtOnce      = 20
	maxAtOnceInAll = 200 // in different places
)

// maxNewConfigs is how many different configurations of new repositories are looked at
// while commands run, before these are stopped: git has to read each, and what waits
// behind many is obeyed for as long.
const maxNewConfigs = 2000

// atOnce takes away what git would obey before the command has ended: of repositories that
// were there what is not as it was, of others what would make git run a program.
func (g *guard) atOnce(p *Policy, paths []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.running) == 0 {
		return
	}
	mounted := map[string]fileStat{}
	for s := range g.running {
		maps.Copy(mounted, s.mounted)
	}
	slices.Sort(paths)
	defer func(before int) {
		if len(g.told) > before {
			g.journal.keep(g.told)
		}
	}(len(g.told))
	looked := map[string]bool{} // new repositories
	for _, path := range slices.Compact(paths) {
		dir, name := splitGitName(path)
		isLink := name == "" && isDotGit(filepath.Base(path))
		if !fixedNames[name] && !isLink || looked[dir] {
			continue
		}
		switch id := idOf(dir); {
		case isLink:
			if p.leadsNowhere(path) || !g.checkPath(p, path, mounted, time.Time{}, p.leadsNowhere) {
				continue
			}
		case id == "":
			continue
		case g.before.Repositories[dir] != id:
			looked[dir] = true
			if path = g.disarm(p, dir, g.movedFrom(dir, id)); path == "" {
				continue
			}
		case p.isHalfWritten(path), !g.checkPath(p, path, mounted, time.Time{}, p.isHalfWritten):
			continue
		}
		g.undoneInAll++
		if g.undone[path]++; g.undone[path] == maxAtOnce || g.undoneInAll == maxAtOnceInAll {
			g.stopAll(fmt.Sprintf("something makes %s and its like again and again, which the sandbox takes away", path))
		}
	}
}

// poll looks at all that git obeys at once, again and again until stop is closed. A file
// can be written by a second name that a hard link gives it, and through a mapping; the
// watched folders tell of neither.
func (g *guard) poll(p *Policy, stop <-chan struct{}) {
	var links map[string]string
	for pause := leastPoll; ; {
		select {
		case <-stop:
			return
		case <-time.After(pause):
		}
		began := time.Now()
		repositories, paths := p.index.gitPaths()
		for _, dir := range repositories {
			for name := range fixedNames {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
		g.atOnce(p, paths)
		g.bare(nil)
		links = g.pollRepositories(p, repositories, links)
		pause = max(leastPoll, pollShare*time.Since(began))
	}
}

// pollRepositories takes away what is in the folders of repositories by which git would write
// elsewhere: links and indexes. links and its result are those of [guard.pollLinks].
func (g *guard) pollRepositories(p *Policy, repositories []string, links map[string]string) map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.running) == 0 {
		return nil
	}
	told := len(g.told)
	links = g.pollLinks(p, repositories, links)
	if g.checkIndexes(p, repositories, true); len(g.told) > told {
		g.journal.keep(g.told)
	}
	return links
}

// stopAll stops the commands that run.
func (g *guard) stopAll(reason string) {
	for s := range g.running {
		s.violated(reason)
	}
}

// movedFrom returns where a repository was before commands ran; empty if it is to be taken for
// a new one.
func (g *guard) movedFrom(dir, id string) string {
	for from, was := range g.before.Repositories {
		if was == id && !comesToBeObeyed(from, dir) {
			return from
		}
	}
	return ""
}

// disarm takes away what would make git run a program in a repository that was made
// while the command runs, and leaves the rest for the end. In one that was moved from elsewhere
// it puts that back. It returns a path that it took away; empty: none.
func (g *guard) disarm(p *Policy, dir, from string) (taken string) {
	root, rel := p.rootAt(dir)
	if root == nil {
		return ""
	}
	for name := range fixedNames {
		path, at := filepath.Join(dir, name), filepath.Join(rel, name)
		now, was := takeGuarded(root, path, at), &snapshot{}
		if from != "" {
			if was = g.before.Paths[filepath.Join(from, name)]; was == nil {
				was = &snapshot{}
			}
			if now.equals(was) {
				continue
			}
		}
		if name == "config" {
			g.newConfigs[sha256.Sum256(now.Content)] = true
			if len(g.newConfigs) > g.maxNewConfigs {
				g.stopAll("something makes more repositories than can be looked at while it runs")
				return ""
			}
		}
		if now.isThere() && !p.isHalfWritten(path) && !p.mayBecome(path, was, now) {
			sentence := p.restore(root, at, was, now)
			g.tell(path, sentence)
			if taken = path; from != "" {
				continue
			}
			d := g.disarmed[dir]
			if d.taken == nil || d.id != idOf(dir) {
				d = disarmedRepository{id: idOf(dir), taken: map[string]*snapshot{}}
			}
			d.taken[name], d.said = now, append(d.said, sentence)
			if g.disarmed == nil {
				g.disarmed = map[string]disarmedRepository{}
			}
			g.disarmed[dir] = d
		}
	}
	return taken
}

// isHalfWritten reports whether a guarded path is a file that its program may not have
// written to the end: it is empty, or a configuration that git cannot read. Then git
// obeys nothing of it.
func (p *Policy) isHalfWritten(path string) bool {
	text, err := small(path)
	if err != nil {
		return false
	}
	if name := filepath.Base(path); len(text) > 0 && name != "config" && name != "config.worktree" {
		return false
	}
	_, err = p.git.parseConfig(text)
	return len(text) == 0 || err != nil && !errors.Is(err, errNoGit)
}

// leadsNowhere reports whether git obeys nothing by what is at the path of a .git that is
// not a folder, for now: it is gone, not written to the end, or names a folder that is
// not there, or one that is looked at when it becomes a repository.
func (p *Policy) leadsNowhere(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return true
	}
	if !info.Mode().IsRegular() {
		return info.IsDir() // then it is no link any more
	}
	text, err := small(path)
	if err != nil {
		return false
	}
	dir := namedIn(text, filepath.Dir(path))
	return dir == "" || p.index.sees(dir) && !p.index.isRepository(dir)
}
