package sandbox

import (
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
	"pawl/run"
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
	inside        int       // how many of them are at the level run.Inside
	before        *baseline // what stood there before the first of the commands that run
	journal       *journal
	told          []string          // what was undone and is not told yet
	made          map[string]string // repositories and links that commands of this process made, with which file each is
	undone        map[string]int    // how often what came at once was taken away
	undoneInAll   int
	newConfigs    map[[32]byte]bool // configurations of new repositories that were looked at
	maxNewConfigs int
	disarmed      map[string]disarmedRepository
	said          map[string]bool      // of which paths told speaks
	unreadable    map[string]time.Time // since when indexes cannot be read
	stop          chan struct{}        // ends the look at what comes into being; nil: there is none
	listings      map[string]listing   // see list
}

// A baseline is what is guarded, as it was before any of the commands that run now.
type baseline struct {
	// Repositories are the folders of those that are known, with which file each is.
	Repositories map[string]string `json:"repositories"`
	// Paths are what is guarded, absolute.
	Paths map[string]*snapshot `json:"paths"`
	// Links are the links in the folders of repositories; see [linksIn].
	Links map[string]string `json:"links"`
	// Obeyed is what programs obey by themselves, while commands run that can change the workspace unasked; nil: none does.
	Obeyed map[string]obeyedFile `json:"obeyed"`
	// Folders are the further folders of the policy.
	Folders []string `json:"folders,omitempty"`

	indexes map[string]fileStat // the indexes of the repositories; see [indexesIn]
}

// equals reports whether two baselines are of the same looks at the same paths.
func (b *baseline) equals(o *baseline) bool {
	return maps.Equal(b.Repositories, o.Repositories) && maps.Equal(b.Paths, o.Paths) && maps.Equal(b.Links, o.Links) && maps.Equal(b.Obeyed, o.Obeyed) && (b.Obeyed == nil) == (o.Obeyed == nil) && slices.Equal(b.Folders, o.Folders)
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
	if s.level == run.Inside {
		if err := g.beginsInside(p); err != nil {
			return err
		}
	}
	g.running[s] = true
	if g.stop == nil {
		g.stop = make(chan struct{})
		go p.index.follow(g.stop, func(came, replaced []string) {
			g.bare(replaced)
			g.atOnce(p, came)
		})
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

// lockJournals locks the journals of the workspace, and makes that of this process if there is none.
func (g *guard) lockJournals(p *Policy) (unlock func(), err error) {
	if g.journal == nil {
		if g.journal, err = openJournal(p.journals); err != nil {
			return nil, fmt.Errorf("the sandbox cannot write down what it looks after in %s: %w", p.journals, inWords(err))
		}
	}
	if unlock, err = g.journal.lock(); err != nil {
		return nil, fmt.Errorf("the sandbox cannot look after %s: %w", p.Workspace, err)
	}
	return unlock, nil
}

// open finds out what stands in the workspace before a command runs there, with no
// other process doing the same.
func (g *guard) open(p *Policy) error {
	unlock, err := g.lockJournals(p)
	if err != nil {
		return err
	}
	defer unlock()
	others := g.recoverDead(p)
	p.index.forgetChanges()
	repositories, _ := p.index.gitPaths()
	was := g.before
	g.before = &baseline{Repositories: map[string]string{}, Paths: map[string]*snapshot{}, Links: map[string]string{}, Folders: p.Folders, indexes: map[string]fileStat{}}
	g.undone, g.undoneInAll, g.disarmed, g.newConfigs = map[string]int{}, 0, nil, map[[32]byte]bool{}
	for _, dir := range repositories {
		g.before.Repositories[dir] = idOf(dir)
		maps.Copy(g.before.Links, g.linksIn(dir))
		for _, path := range indexesIn(dir, g.list(dir)) {
			if info, err := os.Lstat(path); err == nil {
				g.before.indexes[path] = statOf(info)
			}
		}
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
	if err := g.journal.begin(g.before); err != nil {
		return fmt.Errorf("the sandbox cannot write down what it looks after in %s: %w", p.journals, inWords(err))
	}
	return nil
}

// beats is the file whose time says that commands run; nil: there is none.
func (g *guard) beats() *os.File {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.journal == nil {
		return nil
	}
	return g.journal.unlocked
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
	if s.level == run.Inside {
		g.endsInside()
	}
	if len(g.running) == 0 {
		close(g.stop)
		g.stop = nil
		g.journal.end()
	}
	return g.sayAll(p)
}

// maxTold bounds how many sentences are told at once: they are in the result of a call, with which they have to stay in
// the context.
const maxTold = 20

// sayAll returns what is to be told. Of many things that were undone all but the first are counted.
func (g *guard) sayAll(p *Policy) []string {
	told := g.told
	g.told, g.said = nil, nil
	if more := len(told) - maxTold; more > 1 {
		told = append(told[:maxTold:maxTold], fmt.Sprintf("%d more things that it had changed or made were treated the same way; what was taken away is in %s", more, p.refused))
	}
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
		if to := byID[id]; to != "" && to != dir && g.before.Repositories[to] != id && !comesToBeObeyed(dir, to) {
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
		g.checkPath(p, path, mounted, until, nil)
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
	g.checkIndexes(p, repositories, false)
	g.checkObeyed(p, until)
	for dir := range g.before.Repositories {
		if id := idOf(dir); id == "" {
			delete(g.before.Repositories, dir)
		} else {
			g.before.Repositories[dir] = id // removed and made anew: its paths were compared
		}
	}
}

// comesToBeObeyed reports whether a git outside obeys a repository by itself in the folder that
// it was moved to and did not before. Then it is judged as a new one.
func comesToBeObeyed(from, to string) bool { return isOfGit(to) && !isOfGit(from) }

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
	return statOf(info).id(path)
}

// id returns which file it is, at a path. Where that is not known no two paths have the same one: what
// moves is one that is gone and a new one.
func (s fileStat) id(path string) string {
	if s.inode == 0 {
		return path
	}
	return fmt.Sprintf("%d:%d", s.device, s.inode)
}

// checkPath compares one guarded path. It reports whether something was undone. What is pending
// stays, because no git obeys it for now; nil: the command has ended, and nothing is.
func (g *guard) checkPath(p *Policy, path string, mounted map[string]fileStat, until time.Time, pending func(path string) bool) bool {
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
		if name == "" && !isDotGit(filepath.Base(path)) && !slices.Contains(p.ReadOnly, path) && !isForeignConfig(path) && !isForeignLink(path) {
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
	if pending != nil && pending(path) {
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
