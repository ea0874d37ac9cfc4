package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/internal/helper"
)

// A guard watches over what programs outside obey in one workspace while commands
// run there that may write: the configuration and the hooks of repositories, the
// folders and files that git takes for one, pawl's own configuration.
//
// What is there when a command starts it cannot change where it has a file tree of
// its own: that is mounted read-only. What is not there has no place to mount on, and
// making one would show in the workspace; so what comes into being is looked at when
// the command has ended, before its result is told, and taken away if a program
// outside would obey it. What git would obey at once - in a repository that was there
// before whatever comes (commondir, config.worktree, hooks), in a new one what would make
// git run a program, a .git that leads to one that is not looked at - is taken away as it
// appears, within milliseconds; where folders cannot be watched, and for what is written
// by another name or through a mapping, of which no event tells, within seconds. Where
// there is no file tree the same is done with all that was changed.
//
// Nothing is read twice: what stood there before is held with its inode and times,
// and only what has others by then is compared. New repositories are known from the
// index.
//
// What a person changes while a command runs cannot be told from what the command
// did, but for what is mounted. Nothing is lost: the other version is kept.
type guard struct {
	mu            sync.Mutex
	running       map[*Session]bool
	before        *baseline // what stood there before the first of the commands that run
	journal       *journal
	told          []string          // what was undone and is not told yet
	made          map[string]string // repositories and links that commands of this process made, with which file each is
	undone        map[string]int    // how often what came at once was taken away
	undoneInAll   int
	newConfigs    map[[32]byte]bool // configurations of new repositories that were looked at
	maxNewConfigs int
	disarmed      map[string]disarmedRepository
	said          map[string]bool // of which paths told speaks
	stop          chan struct{}   // ends the look at what comes into being; nil: there is none
}

// A disarmedRepository is one that [guard.disarm] took something from.
type disarmedRepository struct {
	id    string               // which file it is
	taken map[string]*snapshot // by name
	said  []string             // what was told of it
}

// A baseline is what is guarded, as it was before any of the commands that run now.
type baseline struct {
	// Repositories are the folders of those that are known, with which file each is.
	Repositories map[string]string `json:"repositories"`
	// Paths are what is guarded, absolute.
	Paths map[string]*snapshot `json:"paths"`
	// Links are the links in the folders of repositories; see [linksIn].
	Links map[string]string `json:"links"`
	// Folders are the further folders of the policy.
	Folders []string `json:"folders,omitempty"`
}

// equals reports whether two baselines are of the same looks at the same paths.
func (b *baseline) equals(o *baseline) bool {
	return maps.Equal(b.Repositories, o.Repositories) && maps.Equal(b.Paths, o.Paths) && maps.Equal(b.Links, o.Links) && slices.Equal(b.Folders, o.Folders)
}

// guards has one for each workspace of this process: policies share them.
var guards sync.Map // workspace and state folder -> *guard

func guardOf(p *Policy) *guard {
	g, _ := guards.LoadOrStore(strings.Join(append(p.workFolders(), p.journals), "\x00"), &guard{running: map[*Session]bool{}, before: &baseline{}, maxNewConfigs: maxNewConfigs})
	return g.(*guard)
}

// maxMounted bounds how many repositories are mounted so that they cannot be changed.
// What there are more of is compared after each command.
const maxMounted = 50

// begin counts a command in. With mounts the command has a file tree of its own, and
// begin adds to it what must be unchangeable in it.
func (g *guard) begin(s *Session, mounts places) error {
	p := s.policy
	g.mu.Lock()
	defer g.mu.Unlock()
	p.index.refresh()
	if len(g.running) == 0 {
		p.closeRoots(func(folder string, root *os.Root) bool { // another folder may have its name now
			was, err := root.Stat(".")
			now, nowErr := os.Lstat(folder)
			return err != nil || nowErr != nil || !os.SameFile(was, now)
		})
		if err := g.open(p); err != nil {
			return err
		}
	}
	g.running[s] = true
	if g.stop == nil {
		g.stop = make(chan struct{})
		go p.index.follow(g.stop, func(paths []string) { g.atOnce(p, paths) })
		go g.poll(p, g.stop)
	}
	if mounts != nil {
		there := maps.Clone(g.before.Paths)
		maps.DeleteFunc(there, func(_ string, was *snapshot) bool { return !was.isThere() })
		s.mounted = g.mount(mounts, slices.Sorted(maps.Keys(g.before.Repositories)), maps.Keys(there))
	}
	return nil
}

// mount adds to a file tree what must be unchangeable in it, and returns what that is.
func (g *guard) mount(mounts places, repositories []string, paths iter.Seq[string]) (mounted map[string]fileStat) {
	mounted = map[string]fileStat{}
	mount := func(path, kind string) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			mounts.put(grant{path: path, source: path, kind: kind, pinned: true})
			mounted[path] = statOf(info)
		}
	}
	for i, dir := range repositories {
		if i < maxMounted && isDotGit(filepath.Base(dir)) && !g.isMade(dir) {
			mount(dir, helper.Writable) // to be committed to, and not to be exchanged
		}
	}
	for path := range paths {
		if g.isFixed(path) && len(mounted) < 8*maxMounted {
			mount(path, helper.ReadOnly)
		}
	}
	return mounted
}

// foresee adds to a file tree what begin is going to add if the workspace stays as it is.
func (g *guard) foresee(p *Policy, mounts places) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.index.refresh()
	repositories, _ := p.index.gitPaths()
	g.mount(mounts, repositories, slices.Values(slices.DeleteFunc(p.guarded(), isNobodys)))
}

// isFixed reports whether what is at a path must not change at all: not what git
// itself changes as it works, not repositories that are nobody's .git, which tests
// make and configure, and not what commands made themselves. All that is judged by
// what it becomes.
func (g *guard) isFixed(path string) bool {
	dir, name := splitGitName(path)
	if name == "" {
		return !g.isMade(path)
	}
	return fixedNames[name] && isOfGit(dir) && !g.isMade(dir)
}

// isMade reports whether a repository or link was made by a command.
func (g *guard) isMade(path string) bool {
	id, ok := g.made[path]
	return ok && id == idOf(path)
}

// makes puts down that a command made a repository or a link.
func (g *guard) makes(path string) {
	if g.made == nil {
		g.made = map[string]string{}
	}
	g.made[path] = idOf(path)
}

// open finds out what stands in the workspace before a command runs there, with no
// other process doing the same.
func (g *guard) open(p *Policy) error {
	if g.journal == nil {
		var err error
		if g.journal, err = openJournal(p.journals); err != nil {
			return fmt.Errorf("the sandbox cannot write down what it looks after: %w", err)
		}
	}
	unlock, err := g.journal.lock()
	if err != nil {
		return fmt.Errorf("the sandbox cannot look after %s: %w", p.Workspace, err)
	}
	defer unlock()
	dead, others := g.journal.others()
	for _, d := range dead {
		g.told = append(g.told, p.recover(d)...)
	}
	if len(dead) > 0 {
		p.index.refresh()
	}
	p.index.forgetChanges()
	repositories, _ := p.index.gitPaths()
	was := g.before
	g.before = &baseline{Repositories: map[string]string{}, Paths: map[string]*snapshot{}, Links: map[string]string{}, Folders: p.Folders}
	g.undone, g.undoneInAll, g.disarmed, g.newConfigs = map[string]int{}, 0, nil, map[[32]byte]bool{}
	for _, dir := range repositories {
		g.before.Repositories[dir] = idOf(dir)
		maps.Copy(g.before.Links, linksIn(dir))
	}
	for _, path := range p.guarded() {
		root, rel := p.rootAt(path)
		if root == nil {
			continue
		}
		switch k := was.Paths[path]; {
		case isNobodys(path):
			g.before.Paths[path] = &snapshot{}
		case k != nil && k.unchanged(root, rel):
			g.before.Paths[path] = k
		default:
			g.before.Paths[path] = takeGuarded(root, path, rel)
		}
	}
	// What commands of other processes have made since theirs began is not what stood
	// there.
	for _, o := range others {
		for dir := range g.before.Repositories {
			if o.Repositories[dir] == "" {
				delete(g.before.Repositories, dir)
			}
		}
		for path := range g.before.Paths {
			if k := o.Paths[path]; k != nil {
				g.before.Paths[path] = k
			} else if dir, name := splitGitName(path); name != "" && g.before.Repositories[dir] == "" {
				delete(g.before.Paths, path)
			}
		}
	}
	for _, o := range others {
		maps.DeleteFunc(g.before.Links, func(path, what string) bool { return o.Links != nil && o.Links[path] != what })
	}
	return g.journal.begin(g.before)
}

// end counts a command out, and puts back what it or one beside it has changed. It
// returns what, a sentence each.
func (g *guard) end(s *Session) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.running[s] {
		return nil
	}
	p := s.policy
	p.index.refresh()
	g.check(p, s.mounted, time.Time{})
	delete(g.running, s)
	if len(g.running) == 0 {
		close(g.stop)
		g.stop = nil
		g.journal.end()
	}
	told := g.told
	g.told, g.said = nil, nil
	return told
}

// check compares what is guarded with what stood there, judges what is new, and puts
// back what has to be. What is in mounted cannot have been changed in its place. With
// a time only what was changed before it counts.
func (g *guard) check(p *Policy, mounted map[string]fileStat, until time.Time) {
	repositories, _ := p.index.gitPaths()
	byID := map[string]string{}
	for _, dir := range repositories {
		byID[idOf(dir)] = dir
	}
	moved := map[string]string{} // from, to
	for dir, id := range g.before.Repositories {
		if to := byID[id]; to != "" && to != dir && g.before.Repositories[to] != id {
			moved[dir] = to
		}
	}
	for from, to := range moved {
		if g.before.move(from, to); g.made[from] != "" {
			g.makes(to)
		}
	}
	for _, dir := range repositories {
		if g.before.Repositories[dir] == "" {
			g.judgeRepository(p, dir, until)
		}
	}
	paths := append(slices.Collect(maps.Keys(g.before.Paths)), p.guarded()...)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		g.checkPath(p, path, mounted, until)
	}
	for from, to := range moved {
		// Something else was put in its place, and that was taken away.
		if _, err := os.Lstat(from); err != nil && g.said[from] {
			root, rel := p.rootAt(to)
			if _, back := p.rootAt(from); root != nil && root.Rename(rel, back) == nil {
				g.before.move(to, from)
			}
		}
	}
	repositories, _ = p.index.gitPaths()
	g.removeLinks(p, g.newLinks(repositories, until))
	for dir := range g.before.Repositories {
		if id := idOf(dir); id == "" {
			delete(g.before.Repositories, dir)
		} else {
			g.before.Repositories[dir] = id // removed and made anew: its paths were compared
		}
	}
}

// tell puts down a sentence about a path.
func (g *guard) tell(path, sentence string) {
	if g.said == nil {
		g.said = map[string]bool{}
	}
	if g.said[path] {
		return // it came again
	}
	g.said[path] = true
	g.told = append(g.told, sentence)
}

// move makes a repository known by another path.
func (b *baseline) move(from, to string) {
	b.Repositories[to] = b.Repositories[from]
	delete(b.Repositories, from)
	for path, what := range maps.Clone(b.Links) {
		if isBelow(path, from) {
			delete(b.Links, path)
			b.Links[to+strings.TrimPrefix(path, from)] = what
		}
	}
	for _, name := range gitNames {
		if s := b.Paths[filepath.Join(from, name)]; s != nil {
			b.Paths[filepath.Join(to, name)] = s
			delete(b.Paths, filepath.Join(from, name))
		}
	}
}

func idsOf(paths []string) (ids []string) {
	for _, path := range paths {
		ids = append(ids, idOf(path))
	}
	return ids
}

// idOf returns which file is at a path; empty if there is none.
func idOf(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	s := statOf(info)
	return fmt.Sprintf("%d:%d", s.device, s.inode)
}

// checkPath compares one guarded path. It reports whether something was undone.
func (g *guard) checkPath(p *Policy, path string, mounted map[string]fileStat, until time.Time) bool {
	root, rel := p.rootAt(path)
	if root == nil {
		return false
	}
	was, known := g.before.Paths[path]
	if !known {
		dir, name := splitGitName(path)
		if name != "" && g.before.Repositories[dir] == "" {
			return false // it is judged with its repository
		}
		if name == "" && !isDotGit(filepath.Base(path)) && !slices.Contains(p.ReadOnly, path) && !isForeignConfig(path) {
			return false // a configuration names it now, and did not when the command started
		}
		was = &snapshot{}
	}
	if was.unchanged(root, rel) {
		return false
	}
	if info, err := root.Lstat(rel); err == nil {
		if m, ok := mounted[path]; ok && m.isFile(statOf(info)) { // which no command can write
			g.before.Paths[path] = takeGuarded(root, path, rel) // a person's change
			return false
		}
		if !until.IsZero() && !statOf(info).changed.Before(until) {
			return false
		}
	} else if parent, err := root.Lstat(filepath.Dir(rel)); err != nil || !was.isThere() {
		delete(g.before.Paths, path) // what it was in is gone
		return false
	} else if !until.IsZero() && !statOf(parent).changed.Before(until) {
		return false
	}
	now := takeGuarded(root, path, rel)
	_, name := splitGitName(path)
	fixed := g.isFixed(path) && (name != "" || was.isThere())
	if now.equals(was) || !fixed && p.mayBecome(path, was, now) {
		if g.before.Paths[path] = now.withoutStat(); name == "" && !was.isThere() {
			g.makes(path)
		}
		return false
	}
	g.tell(path, p.restore(root, rel, was, now))
	// A command that runs may have changed it again by now: then what stood there
	// still counts.
	if g.before.Paths[path] = was; was.isThere() {
		if now := takeGuarded(root, path, rel); now.equals(was) {
			g.before.Paths[path] = now.withoutStat()
		}
	}
	return true
}

// judgeRepository looks at a folder that git takes for a repository and that was not
// there before. If a program outside would run something of its choice it is taken
// away: all of a .git, of others what makes it so.
func (g *guard) judgeRepository(p *Policy, dir string, until time.Time) {
	root, rel := p.rootAt(dir)
	if root == nil || !until.IsZero() && !changedBefore(root, rel, until) {
		return
	}
	harmful := ""
	taken := g.disarmed[dir]
	if len(taken.taken) > 0 && taken.id == idOf(dir) && isDotGit(filepath.Base(dir)) {
		harmful = slices.Sorted(maps.Keys(taken.taken))[0]
		g.told = slices.DeleteFunc(g.told, func(s string) bool { return slices.Contains(taken.said, s) })
	}
	for _, name := range gitNames {
		at := filepath.Join(rel, name)
		if now := takeGuarded(root, filepath.Join(dir, name), at); !p.mayBecome(filepath.Join(dir, name), &snapshot{}, now) {
			if !isDotGit(filepath.Base(dir)) {
				g.tell(filepath.Join(dir, name), p.restore(root, at, &snapshot{}, now))
				continue
			}
			harmful = name
			break
		}
	}
	if harmful != "" {
		g.tell(dir, p.takeAway(root, rel, harmful, taken.taken))
		return
	}
	g.before.Repositories[dir] = idOf(dir)
	g.makes(dir)
	for _, name := range gitNames {
		path := filepath.Join(dir, name)
		g.before.Paths[path] = takeGuarded(root, path, filepath.Join(rel, name)).withoutStat()
	}
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
			if p.leadsNowhere(path) || !g.checkPath(p, path, mounted, time.Time{}) {
				continue
			}
		case id == "":
			continue
		case g.before.Repositories[dir] != id:
			if slices.Contains(slices.Collect(maps.Values(g.before.Repositories)), id) {
				continue // it was moved, as it was
			}
			looked[dir] = true
			if path = g.disarm(p, dir); path == "" {
				continue
			}
		case p.isHalfWritten(path), !g.checkPath(p, path, mounted, time.Time{}):
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
		links = g.pollLinks(p, repositories, links)
		pause = max(leastPoll, pollShare*time.Since(began))
	}
}

// stopAll stops the commands that run.
func (g *guard) stopAll(reason string) {
	for s := range g.running {
		s.violated(reason)
	}
}

// disarm takes away what would make git run a program in a repository that was made
// while the command runs, and leaves the rest for the end. It returns a path that it took
// away; empty: none.
func (g *guard) disarm(p *Policy, dir string) (taken string) {
	root, rel := p.rootAt(dir)
	if root == nil {
		return ""
	}
	for name := range fixedNames {
		path, at := filepath.Join(dir, name), filepath.Join(rel, name)
		now := takeGuarded(root, path, at)
		if name == "config" {
			g.newConfigs[sha256.Sum256(now.Content)] = true
			if len(g.newConfigs) > g.maxNewConfigs {
				g.stopAll("something makes more repositories than can be looked at while it runs")
				return ""
			}
		}
		if now.isThere() && !p.isHalfWritten(path) && !p.mayBecome(path, &snapshot{}, now) {
			sentence := p.restore(root, at, &snapshot{}, now)
			g.tell(path, sentence)
			d := g.disarmed[dir]
			if d.taken == nil || d.id != idOf(dir) {
				d = disarmedRepository{id: idOf(dir), taken: map[string]*snapshot{}}
			}
			d.taken[name], d.said = now, append(d.said, sentence)
			if g.disarmed == nil {
				g.disarmed = map[string]disarmedRepository{}
			}
			g.disarmed[dir], taken = d, path
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

// mayBecome reports whether what is at a guarded path may stay though it is not what
// stood there.
func (p *Policy) mayBecome(path string, was, now *snapshot) bool {
	dir, name := splitGitName(path)
	switch {
	case name == "":
		// A link called .git may lead to a repository that is known or was judged.
		return isDotGit(filepath.Base(path)) && (!now.isThere() || now.Mode.IsRegular() && p.index.isRepository(namedIn(now.Content, filepath.Dir(path))))
	case name == "rebase-merge/git-rebase-todo":
		return !now.isThere() || now.Mode.IsRegular() && now.Stamp == "" && runsNothingNew(was.Content, now.Content)
	case name == "rebase-merge/strategy":
		return !now.isThere() || now.Mode.IsRegular() && mergeStrategies[strings.TrimSpace(string(now.Content))]
	case name == "sequencer/opts":
		if now.isThere() && (!now.Mode.IsRegular() || now.Stamp != "") {
			return false
		}
		settings, err := p.git.parseConfig(now.Content)
		return err == nil && !slices.ContainsFunc(settings, func(s setting) bool { return s.key() == "options.strategy" && !mergeStrategies[s.value] })
	case shallowNames[name]:
		return !now.isThere() || now.Mode.IsDir()
	case !now.isThere():
		return true
	case name == "hooks":
		return onlySamples(now)
	case name == "config" || name == "config.worktree" && !isOfGit(dir):
		if !now.Mode.IsRegular() || now.Stamp != "" {
			return false
		}
		settings, err := p.git.parseConfig(now.Content)
		return err == nil && harmful(settings, dir, p.Workspace) == ""
	case name == alternates:
		return now.Mode.IsRegular() && now.Stamp == "" && p.staysInside(now.Content, filepath.Join(dir, "objects"))
	case name == "commondir" || name == "gitdir":
		// That of a worktree names the repository it is in. An empty one is about to be written
		// by git, and read by no git: it is an error.
		return now.Mode.IsRegular() && filepath.Base(filepath.Dir(dir)) == "worktrees" &&
			(name == "gitdir" || now.Stamp == "" && len(now.Content) == 0 || filepath.Join(dir, strings.TrimSpace(string(now.Content))) == filepath.Dir(filepath.Dir(dir)))
	}
	return false
}

// staysInside reports whether the folders that alternates of a folder of objects name are
// where commands work.
func (p *Policy) staysInside(content []byte, objects string) bool {
	for line := range strings.Lines(string(content)) {
		at := strings.TrimSuffix(line, "\n")
		if !filepath.IsAbs(at) {
			at = filepath.Join(objects, at)
		}
		real, err := filepath.EvalSymlinks(at)
		if err != nil || strings.HasPrefix(line, `"`) || !slices.ContainsFunc(p.workFolders(), func(f string) bool { return isBelow(real, f) }) {
			return false // git reads what stands in quotes
		}
		if filepath.Base(real) != "objects" || !p.index.isRepository(filepath.Dir(real)) {
			return false // it could have alternates of its own, which nothing looks at
		}
	}
	return true
}

// onlySamples reports whether a folder of hooks has none that git would run.
func onlySamples(s *snapshot) bool {
	for name, f := range s.Files {
		if !strings.HasSuffix(name, ".sample") || !f.Mode.IsRegular() {
			return false
		}
	}
	return s.Mode.IsDir()
}

// restore puts a path back and says so.
func (p *Policy) restore(root *os.Root, path string, was, now *snapshot) string {
	what := "changed " + path
	switch {
	case !was.isThere():
		what = "made " + path
	case !now.isThere():
		what = "removed " + path
	}
	kept := ""
	if now.isThere() {
		to := p.refusedAt(path)
		if err := now.save(to); err == nil {
			kept = "; what it had made of it is kept in " + to
		}
		if err := root.RemoveAll(path); err != nil {
			return fmt.Sprintf("The command %s, which it must not, and that could not be undone (%v): look at it before any program uses it", what, err)
		}
	}
	if err := was.write(root, path); err != nil {
		return fmt.Sprintf("The command %s, which it must not; what was there could not be put back (%v)%s", what, err, kept)
	}
	return fmt.Sprintf("The command %s, which it must not: that was undone%s", what, kept)
}

// takeAway moves a new repository to where what was refused is kept, with what was
// taken from it before. Where that is on another disk only what made it harmful is kept,
// and it is removed.
func (p *Policy) takeAway(root *os.Root, path, harmful string, taken map[string]*snapshot) string {
	to := p.refusedAt(path)
	err := os.MkdirAll(filepath.Dir(to), 0o700)
	if err == nil {
		err = moveOut(root, path, to)
	}
	if err != nil {
		for _, name := range gitNames {
			if s := take(root, filepath.Join(path, name)); s.isThere() && !shallowNames[name] {
				s.save(filepath.Join(to, name))
			}
		}
		if err := root.RemoveAll(path); err != nil {
			return fmt.Sprintf("The command made %s, which it must not because of its %s, and that could not be undone (%v): look at it before any program uses it", path, harmful, err)
		}
	}
	for name, s := range taken {
		s.save(filepath.Join(to, name))
	}
	hideFromGit(to)
	return fmt.Sprintf("The command made %s, which it must not because of its %s: that was undone; what it had made of it is kept in %s", path, harmful, to)
}

// refusedAt returns where what was at a path is kept. Nothing there is called .git: the
// git of a person who looks at it must not obey it.
func (p *Policy) refusedAt(path string) string {
	names := strings.Split(path, "/")
	for i, name := range names {
		if isDotGit(name) {
			names[i] = "dot-git"
		}
	}
	return filepath.Join(p.refused, time.Now().UTC().Format("20060102-150405.000000"), filepath.Join(names...))
}

// hideFromGit renames what makes git take a folder, or one below it, for a repository.
func hideFromGit(dir string) {
	var paths []string
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if name := filepath.Base(path); err == nil && (isDotGit(name) || strings.EqualFold(name, "HEAD")) {
			paths = append(paths, path)
		}
		return nil
	})
	for _, path := range slices.Backward(paths) { // what is in a folder before the folder
		os.Rename(path, filepath.Join(filepath.Dir(path), strings.TrimPrefix(filepath.Base(path), ".")+".refused"))
	}
}

// rootAt returns the folder that commands write and a path is in, open, and the path
// in it; nil if commands write none that it is in.
func (p *Policy) rootAt(path string) (*os.Root, string) {
	for _, folder := range p.guardedFolders() {
		if !isBelow(path, folder) || path == folder {
			continue
		}
		opened, ok := p.roots.Load(folder)
		if !ok {
			root, err := os.OpenRoot(folder)
			if err != nil {
				return nil, ""
			}
			if opened, ok = p.roots.LoadOrStore(folder, root); ok {
				root.Close()
			}
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return nil, ""
		}
		return opened.(*os.Root), rel
	}
	return nil, ""
}

// closeRoots closes the folders that rootAt has opened and which pass.
func (p *Policy) closeRoots(which func(folder string, root *os.Root) bool) {
	p.roots.Range(func(folder, opened any) bool {
		if root := opened.(*os.Root); which(folder.(string), root) {
			p.roots.Delete(folder)
			root.Close()
		}
		return true
	})
}

// guardedFolders are those that commands write and that hold what is guarded: the
// workspace, the further folders, and the repositories that these are worktrees of.
func (p *Policy) guardedFolders() []string {
	folders := p.workFolders()
	for _, dir := range p.repositories {
		folders = append(folders, commonFolder(dir))
	}
	return folders
}

// recover puts back what the commands of a process that was killed have changed.
func (p *Policy) recover(dead deadJournal) []string {
	if slices.ContainsFunc(dead.Folders, func(f string) bool { return !slices.Contains(p.Folders, f) }) {
		// They ran with further folders that this policy does not have.
		o := p.options
		o.Folders = slices.DeleteFunc(slices.Concat(p.Folders, dead.Folders), func(f string) bool {
			_, err := CheckFolder(f, p.Workspace, p.options)
			return err != nil // it is gone
		})
		if q, err := For(p.Workspace, o); err == nil {
			defer q.Close()
			q.index.refresh()
			p = q
		}
	}
	g := &guard{before: &dead.baseline, undone: map[string]int{}, told: dead.told}
	g.check(p, nil, dead.until)
	for i, t := range g.told {
		g.told[i] = "When pawl was killed: " + t
	}
	return g.told
}

// Recover puts back what commands have changed whose pawl was killed, and returns
// what, a sentence each. A run does it when it starts.
func (p *Policy) Recover() ([]string, error) {
	if p == nil {
		return nil, nil
	}
	if entries, err := os.ReadDir(p.journals); len(entries) == 0 {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	g := guardOf(p)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.running) > 0 {
		return nil, nil
	}
	p.index.refresh()
	if err := g.open(p); err != nil {
		return nil, err
	}
	g.journal.end()
	told := g.told
	g.told, g.said = nil, nil
	return told, nil
}
