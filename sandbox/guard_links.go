package sandbox

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Git outside follows links in the folder of a repository when it writes there: a commit
// writes the message that MERGE_MSG proposes to COMMIT_EDITMSG, and a line to the logs. So a
// link that a command leaves there makes a person's git write what the command wants, where it
// wants. Git makes none itself, but for a HEAD that leads to a branch, and those of objects
// that several repositories share.

// linkFolders are the folders of a repository's in which git writes or reads files of known
// names; true: with the folders below.
var linkFolders = map[string]bool{"logs": true, "refs": true, "info": false, "objects": false, "objects/info": false, "objects/pack": false,
	"rebase-merge": false, "rebase-apply": false, "sequencer": false, "rr-cache": true}

// A listing is what was in a folder, and which folder that was.
type listing struct {
	stat    fileStat
	entries []fs.DirEntry
}

// maxListings bounds how many folders are remembered.
const maxListings = 4096

// list returns what is in a folder. It is read again if something in it was made, removed,
// renamed or exchanged since: all that changes the time of the folder's last change, which
// cannot be set back.
func (g *guard) list(dir string) []fs.DirEntry {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil
	}
	now := statOf(info) // before it is read: what comes meanwhile is seen the next time
	if was, ok := g.listings[dir]; ok && was.stat.same(now) {
		return was.entries
	}
	entries, err := os.ReadDir(dir) // what cannot be read no git reads
	if err != nil || !info.IsDir() {
		delete(g.listings, dir)
		return entries
	}
	if g.listings == nil || len(g.listings) >= maxListings {
		g.listings = map[string]listing{}
	}
	g.listings[dir] = listing{now, entries}
	return entries
}

// linksIn returns the links in the folder of a repository, with what each is: symbolic links,
// and files of the folder itself that have another name.
func (g *guard) linksIn(dir string) map[string]string {
	links := map[string]string{}
	var read func(rel string, top, deep bool)
	read = func(rel string, top, deep bool) {
		for _, e := range g.list(filepath.Join(dir, rel)) {
			name := filepath.Join(rel, e.Name())
			path := filepath.Join(dir, name)
			switch {
			case e.Type()&fs.ModeSymlink != 0:
				to, err := os.Readlink(path)
				if err == nil && (name != "HEAD" || !strings.HasPrefix(to, "refs/") || strings.Contains(to, "..")) {
					links[path] = "to " + to
				}
			case e.Type().IsRegular() && top:
				if info, err := os.Lstat(path); err == nil && namesOf(info) > 1 {
					links[path] = "of " + idOf(path)
				}
			case e.IsDir():
				if below, ok := linkFolders[name]; ok || deep {
					read(name, false, deep || below)
				}
			}
		}
	}
	read("", true, false)
	return links
}

// newLinks returns the links in repositories that were not there before, and before a time if
// one is given.
func (g *guard) newLinks(repositories []string, until time.Time) map[string]string {
	found := map[string]string{}
	if g.before.Links == nil {
		return found // of a release that did not look
	}
	for _, dir := range repositories {
		for path, what := range g.linksIn(dir) {
			if g.before.Links[path] == what {
				continue
			}
			if info, err := os.Lstat(path); err == nil && (until.IsZero() || statOf(info).changed.Before(until)) {
				found[path] = what
			}
		}
	}
	return found
}

// removeLinks takes links away, and says so.
func (g *guard) removeLinks(p *Policy, links map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(links)) {
		root, rel := p.rootAt(path)
		if root == nil {
			continue
		}
		if err := root.Remove(rel); err != nil {
			g.tell(path, fmt.Sprintf("The command made %s a link %s, which it must not, and that could not be undone (%v): look at it before you use git", path, links[path], err))
			continue
		}
		g.tell(path, fmt.Sprintf("The command made %s a link %s, which it must not: git would write there. It was removed", path, links[path]))
	}
}

// pollLinks takes away the links that are found the second time while commands run: git tries
// for a moment whether it can make one. It returns those that were found.
func (g *guard) pollLinks(p *Policy, repositories []string, before map[string]string) map[string]string {
	found := g.newLinks(repositories, time.Time{})
	again := maps.Clone(found)
	maps.DeleteFunc(again, func(path, what string) bool { return before[path] != what })
	g.removeLinks(p, again)
	return found
}
