// Package sandbox confines the shell commands of a workspace.
//
// A [Policy] says what commands may reach: what they read and write, what they find
// unchangeable, what is hidden from them. [Policy.Start] puts a command under it;
// package pawl/internal/proc enforces it, on Linux with what the kernel has of:
//
//   - a file tree of the command's own (mount namespace): what the policy does not
//     name is not there, what it only lets read cannot be changed, attributes
//     included; a network of its own with nothing but a loopback; its own processes;
//   - Landlock: the same for files, where namespaces are forbidden too; and no
//     signals or abstract sockets to processes outside;
//   - a filter of system calls for the rest: other processes' memory, mounts, new
//     namespaces, kernel interfaces, setuid files; and sockets, where there is no
//     network namespace.
//
// A command at the level [run.ReadOnly] can change nothing and reads no secrets
// ([Policy.EnforcesReadOnly] says whether that is enforced). What any other leaves in
// the workspace that programs outside would obey - configuration and hooks of
// repositories, new repositories, pawl's own configuration - is judged when it ends,
// and undone ([Session.End], [Policy.Recover]); what git obeys in a repository as soon as
// it is there, also while the command runs. Nothing of the sandbox itself is ever
// in the workspace.
//
// [Probe] says what is in force on a machine. A command that is to be confined never
// runs with less than bounded files and a closed network: it is an error instead.
//
// What it does not do: it bounds neither the disk that a command fills nor the
// memory it takes (it is the first to be ended when memory is short); a declared
// cache that is writable can be filled with what later builds outside will use.
package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"pawl/internal/helper"
	"pawl/internal/stable"
)

// A Policy says what the commands of a workspace may reach. All paths are absolute.
// A folder stands for all below it; of two that hold for a path the nearer counts,
// and of two for the same path the stricter. A Policy does not change and is safe
// for concurrent use.
type Policy struct {
	// Workspace is the folder that commands work in; they may change it.
	Workspace string
	// Folders are further folders that they may change, guarded as the workspace is.
	Folders []string
	// Temp is their temporary folder. Where there are namespaces they see it as
	// /tmp, else TMPDIR names it.
	Temp string
	// Writable are the caches of toolchains, and of a worktree its repository.
	Writable []string
	// Programs are caches with programs that others run. What commands change of them
	// is the workspace's own, in an overlay; where there can be none they only read
	// them.
	Programs []string
	// Readable are system folders, toolchains, and single files of the home.
	Readable []string
	// ReadOnly are paths in the workspace that stay as they are, beside those of git:
	// what programs outside would obey later. Those that are not there must not come
	// into being.
	ReadOnly []string
	// Hidden are folders and files that are not there for commands: pawl's own, and
	// keys where the person keeps them in a folder that is granted.
	Hidden []string

	options Options
	places  func() places // what holds for every command; planned when it is first asked for
	index   *index        // what of the workspace has to be known by name
	git     gitProgram
	// repositories are the folders of those that the workspace and the further folders are in,
	// as far as they are outside them.
	repositories []string
	// own are the folders of the repositories that these are worked in with, inside or outside.
	own      []string
	built    []string          // of Writable, the caches of what toolchains build
	mixed    map[string]string // of Writable, those with programs in them, by the variable that names another
	refused  string            // where what commands should not have made is kept
	overlays string            // where changes to Programs are kept
	journals string            // where it is written down what stood in the workspace while commands run
	turns    []string          // see turnsOf
	roots    sync.Map
	readings sync.Map // of indexes, by the folder of their repository; see trackedIn
	tracked  struct { // see tracks
		once  sync.Once
		paths map[string]bool
	}
	trees  *trees
	report *Report // for tests: what there is, instead of what [Probe] says
}

// Options are what a policy is made from beside the workspace.
type Options struct {
	StateDir   string // pawl's state folder
	RuntimeDir string // the folder of pawl's sockets; empty: it has none
	ConfigDir  string // the folder of the person's configuration and rules; empty: it has none
	// Folders are further folders that commands may change; see [CheckFolder].
	Folders []string
	// Copy says that the workspace is a copy of a repository that pawl has made in StateDir, and
	// Objects are the folders of the objects that it shares: commands read them.
	Copy    bool
	Objects []string
	// Reads are further files and folders that commands read, and Owns folders that they change too, unguarded: those
	// of a program that works in the sandbox as a whole.
	Reads, Owns []string
	// Getenv is [os.Getenv], or what stands for it.
	Getenv func(name string) string
	// IsSecret reports whether a file or folder holds secrets by its name: a path
	// relative to the workspace, with slashes. Commands that only read do not see
	// those. nil: none does.
	IsSecret func(path string) bool
	// IsObeyed reports the same of names of what programs obey by themselves. Commands that run unasked whatever
	// they do change none of these. nil: none does.
	IsObeyed func(path string) bool
}

// For returns the policy for a workspace. Folders of toolchains that are installed
// are made if they are missing, and so is the temporary folder. The caller may
// [Policy.Close] it.
func For(workspace string, o Options) (*Policy, error) {
	stateDir, runtimeDir, getenv := o.StateDir, o.RuntimeDir, o.Getenv
	workspace, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return nil, fmt.Errorf("sandbox for a workspace: %w", err)
	}
	if !filepath.IsAbs(workspace) || filepath.Dir(workspace) == workspace {
		return nil, fmt.Errorf("refusing to use %s as a workspace: start pawl in a project's folder", workspace)
	}
	h := homeOf(getenv)
	var folders []string
	for _, folder := range o.Folders {
		real, err := CheckFolder(folder, workspace, o)
		if err != nil {
			return nil, err
		}
		if !isBelow(real, workspace) && !slices.Contains(folders, real) {
			folders = append(folders, real)
		}
	}
	if h.dir != "" && isBelow(h.dir, workspace) {
		return nil, fmt.Errorf("sandbox for the workspace %s: your home folder %s is in it, and commands could change what your shell and other programs run; start pawl in a project's folder", workspace, h.dir)
	}
	if why := h.refuses(workspace); why != "" && !o.Copy {
		return nil, fmt.Errorf("sandbox for the workspace %s: %s; start pawl in a project's folder", workspace, why)
	}
	for _, own := range []struct{ name, dir, set string }{
		{"state", stateDir, "PAWL_STATE_DIR"}, {"configuration", o.ConfigDir, "XDG_CONFIG_HOME"}, {"runtime", runtimeDir, "XDG_RUNTIME_DIR"},
	} {
		if own.dir == "" {
			continue
		}
		if dir := resolved(own.dir); isBelow(dir, workspace) || isBelow(workspace, dir) && !(o.Copy && own.dir == stateDir) {
			return nil, fmt.Errorf("sandbox for the workspace %s: pawl's %s folder %s is where commands write, so they could change what pawl may do; name another with %s, or start pawl in another folder", workspace, own.name, dir, own.set)
		}
	}
	temp := tempDir(stateDir, workspace)
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return nil, fmt.Errorf("sandbox for %s: its temporary folder: %w", workspace, err)
	}
	for _, dir := range []string{filepath.Dir(temp), temp} {
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			return nil, fmt.Errorf("sandbox for %s: its temporary folder %s is a link to another; remove the link", workspace, dir)
		}
	}
	if temp, err = filepath.EvalSymlinks(temp); err != nil {
		return nil, fmt.Errorf("sandbox for %s: its temporary folder: %w", workspace, err)
	}
	// As /tmp is, for commands of root's that become somebody else; the folder it is
	// in is closed to others.
	if info, err := os.Stat(temp); err == nil && info.Mode() == fs.ModeDir|0o777|fs.ModeSticky {
		// Nothing is written where it need not be: a run on a full or read-only disk can be looked at.
	} else if err := os.Chmod(temp, 0o777|os.ModeSticky); err != nil {
		return nil, fmt.Errorf("sandbox for %s: its temporary folder: %w", workspace, err)
	}
	p := &Policy{
		Workspace: workspace,
		Folders:   folders,
		options:   o,
		Temp:      temp,
		refused:   filepath.Join(stateDir, "refused"),
		journals:  journalsDir(stateDir, workspace),
		overlays:  overlaysDir(stateDir, workspace),
		Readable:  slices.Concat(systemFolders, h.readable()),
		ReadOnly:  obeyedOutside(workspace),
		Hidden:    slices.Concat([]string{stateDir, runtimeDir, o.ConfigDir}, h.secrets()),
	}
	for _, folder := range folders {
		p.ReadOnly = append(p.ReadOnly, obeyedOutside(folder)...)
	}
	p.Writable, p.Programs, p.mixed = h.caches()
	p.built = h.in(builtCaches...)
	p.Readable = append(p.Readable, toolchains(p.Writable)...)
	p.Readable = slices.Concat(p.Readable, o.Objects, o.Reads)
	p.Writable = append(p.Writable, o.Owns...)
	p.git = findGit(p.safePath(getenv("PATH")))
	for _, folder := range p.workFolders() {
		dir := p.git.folder(folder)
		if dir != "" {
			p.own = append(p.own, commonFolder(dir))
		}
		if dir != "" && !slices.ContainsFunc(p.workFolders(), func(f string) bool { return isBelow(dir, f) }) {
			// A worktree, or a folder of a larger repository: to commit is to write there.
			p.Writable = append(p.Writable, commonFolder(dir))
			p.repositories = append(p.repositories, dir)
		}
	}
	p.turns = p.turnsOf()
	p.Hidden = slices.DeleteFunc(p.Hidden, func(s string) bool { return s == "" })
	p.places = sync.OnceValue(p.plan)
	if o.Copy {
		if over, ok := p.places().nearest(filepath.Dir(resolved(stateDir))); ok && over.source == over.path {
			return nil, fmt.Errorf("sandbox for the copy %s: pawl's state folder %s is in %s, which commands see (PATH names it), and what is hidden there hides the copy; name another state folder with PAWL_STATE_DIR", workspace, stateDir, over.path)
		}
	}
	p.index = newIndex(p.guardedFolders(), p.workFolders(), o.IsSecret, o.IsObeyed)
	// A watcher holds a descriptor, and a tree a process; a policy that nobody closed
	// gives them back when it is no longer used.
	runtime.AddCleanup(p, (*index).close, p.index)
	p.trees = &trees{}
	runtime.AddCleanup(p, (*trees).close, p.trees)
	return p, nil
}

// CheckFolder returns a further folder of a workspace with the links in it resolved, or why
// commands must not change it: what they could do with it is not bounded by the folder.
func CheckFolder(folder, workspace string, o Options) (string, error) {
	bad := func(why string) error { return fmt.Errorf("the folder %s cannot be added: %s", folder, why) }
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", bad("it is not there")
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", bad(err.Error())
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", bad("it is not a folder")
	}
	if slices.ContainsFunc(strings.Split(real, "/"), isDotGit) {
		return "", bad("it is in a repository's own folder")
	}
	h := homeOf(o.Getenv)
	switch {
	case filepath.Dir(real) == real:
		return "", bad("it is the root")
	case h.dir != "" && isBelow(resolved(h.dir), real):
		return "", bad("your home folder is in it, and commands could change what your shell and other programs run")
	case workspace != real && isBelow(workspace, real):
		return "", bad("the workspace is in it; start pawl there instead")
	}
	for _, own := range []string{o.StateDir, o.RuntimeDir, o.ConfigDir} {
		if own == "" {
			continue
		}
		if dir := resolved(own); isBelow(dir, real) || isBelow(real, dir) {
			return "", bad("pawl's own files are there")
		}
	}
	if why := h.refuses(real); why != "" {
		return "", bad(why)
	}
	return real, nil
}

// refuses says why commands must not change a folder; empty if they may.
func (h home) refuses(real string) string {
	projects := func(folders ...string) bool { // temporary folders and projects are below these
		return slices.ContainsFunc(folders, func(f string) bool { return real != f && isBelow(real, f) })
	}
	for _, system := range slices.Concat(systemFolders, []string{"/dev", "/proc", "/run", "/boot", "/var"}) {
		if isBelow(system, real) || isBelow(real, system) && !projects("/var", "/opt", "/Library", "/usr/src", "/usr/local/src", "/dev/shm") {
			return "it is a folder of the system"
		}
	}
	for _, system := range []string{"/var/log", "/var/spool", "/var/mail", "/var/backups"} { // /var/spool/cron
		if isBelow(real, system) {
			return "it is a folder of the system"
		}
	}
	if slices.Contains([]string{"/root", "/home", "/Users"}, real) {
		return "it is a home folder, or has those of users in it"
	}
	for _, secret := range h.secrets() {
		if _, err := os.Stat(secret); errors.Is(err, fs.ErrNotExist) {
			continue // and nothing can be in it
		}
		if isBelow(real, resolved(secret)) {
			return "keys and passwords are there"
		}
	}
	return ""
}

// workFolders are the workspace and the further folders.
func (p *Policy) workFolders() []string { return append([]string{p.Workspace}, p.Folders...) }

// obeyedOutside returns what of a workspace programs outside obey, beside git: pawl's own
// configuration, and that of [foreignConfigs].
func obeyedOutside(workspace string) (paths []string) {
	paths = append(paths, filepath.Join(workspace, ".pawl"), filepath.Join(workspace, ".mcp.json"))
	for _, name := range slices.Sorted(maps.Keys(foreignConfigs)) {
		paths = append(paths, foreignPaths(filepath.Join(workspace, name))...)
	}
	return paths
}

// Close lets go of what watches the workspace, and of the file trees of commands. The
// policy can be used on.
func (p *Policy) Close() {
	if p == nil {
		return
	}
	p.index.close()
	p.trees.close()
	p.closeRoots(func(string, *os.Root) bool { return true })
}

// resolved returns a path with the links in it followed, as far as it is there.
func resolved(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	for up, rest := path, ""; ; up, rest = filepath.Dir(up), filepath.Join(filepath.Base(up), rest) {
		if real, err := filepath.EvalSymlinks(up); err == nil {
			return filepath.Join(real, rest)
		}
		if up == filepath.Dir(up) {
			return path
		}
	}
}

// A grant is what may be done at a path and below.
type grant struct {
	path, source string // source is what is there; the same but for /tmp and links
	kind         string // of helper.Mount
	upper        string // of an overlay, where its changes go
	pinned       bool   // kept though the folder above says the same: it cannot be renamed
}

// places are grants by path.
type places map[string]grant

// strictness orders the kinds that may be asked for one path.
var strictness = []string{helper.Memory, helper.Temporary, helper.Writable, helper.Overlay, helper.Link, helper.ReadOnly, helper.Devices, helper.NoFile, helper.Empty}

// put adds a grant for a path; of two for the same path the stricter counts.
func (g places) put(n grant) {
	if old, ok := g[n.path]; ok && slices.Index(strictness, old.kind) >= slices.Index(strictness, n.kind) {
		return
	}
	g[n.path] = n
}

// show adds a path that is there, and the links on the way to it. What is not there
// is left out.
func (g places) show(path, kind string, pinned bool) {
	if !filepath.IsAbs(path) {
		return
	}
	path = filepath.Clean(path)
	for range 40 { // as the kernel
		link := firstLink(path)
		if link == "" {
			break
		}
		to, err := os.Readlink(link)
		if err != nil {
			return
		}
		g.put(grant{path: link, source: to, kind: helper.Link})
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(link), to)
		}
		path = filepath.Join(to, strings.TrimPrefix(path, link))
	}
	if _, err := os.Lstat(path); err != nil || path == "/" || firstLink(path) != "" {
		return
	}
	g.put(grant{path: path, source: path, kind: kind, pinned: pinned})
}

// cover hides a path, if it is there, and returns where that is.
func (g places) cover(path string) (real string, ok bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", false
	}
	kind := helper.NoFile
	if info.IsDir() {
		kind = helper.Empty
	}
	g.put(grant{path: real, kind: kind})
	n := g[real]
	return real, n.kind == helper.NoFile || n.kind == helper.Empty
}

// firstLink returns the part of a path that ends at its first link; empty if
// there is none.
func firstLink(path string) string {
	at := ""
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		at += "/" + name
		if info, err := os.Lstat(at); err != nil {
			return ""
		} else if info.Mode()&os.ModeSymlink != 0 {
			return at
		}
	}
	return ""
}

// sharedMemory is where each command has memory of its own, to share among its processes.
const sharedMemory = "/dev/shm"

// plan returns what holds for every command of the policy. It looks at a thousand paths, and
// the first request of a run does not need it.
func (p *Policy) plan() places {
	g := places{
		"/dev":     {path: "/dev", kind: helper.Devices},
		"/tmp":     {path: "/tmp", source: p.Temp, kind: helper.Temporary},
		"/var/tmp": {path: "/var/tmp", source: p.Temp, kind: helper.Temporary},
	}
	if slices.ContainsFunc(p.workFolders(), func(f string) bool { return isBelow(f, sharedMemory) }) {
		g[sharedMemory] = grant{path: sharedMemory, source: p.Temp, kind: helper.Temporary} // one of its own would cover the workspace
	}
	for _, r := range p.Readable {
		g.show(r, helper.ReadOnly, false)
	}
	for _, w := range p.Writable {
		g.show(w, helper.Writable, true)
	}
	for _, w := range p.Programs {
		g.put(grant{path: w, source: w, kind: helper.Overlay, pinned: true})
	}
	for _, folder := range p.workFolders() {
		g.show(folder, helper.Writable, true)
	}
	for _, h := range append(rootsSecrets(), p.Hidden...) {
		g.cover(h)
	}
	for path, n := range g {
		// A toolchain in the workspace (an environment of Python's, node_modules/.bin
		// in PATH) is part of the work.
		if n.kind == helper.ReadOnly && slices.ContainsFunc(p.workFolders(), func(f string) bool { return isBelow(path, f) }) {
			delete(g, path)
		}
	}
	return g
}

// mounts returns the file tree of places, parents first, without what says nothing
// new.
func (g places) mounts() []helper.Mount {
	paths := make([]string, 0, len(g))
	for p := range g {
		paths = append(paths, p)
	}
	stable.Sort(paths, func(a, b string) int { return strings.Compare(a+"/", b+"/") })
	var mounts []helper.Mount
	kept := places{}
	for _, path := range paths {
		n := g[path]
		over, ok := kept.nearest(filepath.Dir(path))
		switch {
		case (!ok || over.source != over.path) && (n.kind == helper.Empty || n.kind == helper.NoFile):
			continue // it is not there anyway
		case ok && n.kind == helper.Link:
			continue // what it is in is shown, and it with it
		case ok && !n.pinned && over.kind == n.kind && over.source == over.path && n.source == n.path:
			continue
		case ok && (over.kind == helper.Empty || over.kind == helper.NoFile) && n.kind != helper.Writable:
			continue // hidden with the folder it is in
		}
		kept[path] = n
		mounts = append(mounts, helper.Mount{Kind: n.kind, Source: n.source, Target: path, Upper: n.upper})
	}
	return mounts
}

// nearest returns the grant for a path: its own, or that of the nearest folder
// above it.
func (g places) nearest(path string) (grant, bool) {
	for {
		if n, ok := g[path]; ok {
			return n, true
		}
		up := filepath.Dir(path)
		if up == path {
			return grant{}, false
		}
		path = up
	}
}

// errHiddenInside says that without namespaces nothing can be taken out of a folder
// that commands write to.
var errHiddenInside = errors.New("it is in a folder that commands may write, and without namespaces nothing can be hidden there; move it (XDG_STATE_HOME, XDG_RUNTIME_DIR), or work in another folder")

// landlockRules are what Landlock has to allow where there is no file tree: files to
// be read, folders whose names are, and what may be changed too.
type landlockRules struct{ read, list, write []string }

// rules returns what Landlock has to allow where there is no file tree.
func (g places) rules(temp string) (landlockRules, error) {
	read := []string{"/dev/random", "/dev/urandom", "/proc"}
	var list []string
	write := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", temp}
	var hidden []string
	for path, n := range g {
		if n.kind == helper.Empty || n.kind == helper.NoFile {
			hidden = append(hidden, path)
		}
	}
	for path, n := range g {
		inside := slices.DeleteFunc(slices.Clone(hidden), func(h string) bool { return !isBelow(h, path) })
		switch {
		case path == "/tmp" || path == "/var/tmp":
		case n.kind == helper.Writable && len(inside) > 0:
			return landlockRules{}, fmt.Errorf("%s: %w", inside[0], errHiddenInside)
		case n.kind == helper.Writable:
			write = append(write, path)
		case n.kind == helper.ReadOnly || n.kind == helper.Overlay:
			parts := without(path, inside)
			if read = append(read, parts...); !slices.Contains(parts, path) && !slices.Contains(inside, path) {
				list = append(list, path)
			}
		}
	}
	slices.Sort(read)
	slices.Sort(list)
	slices.Sort(write)
	return landlockRules{read, list, write}, nil
}

// without returns a folder as the paths in it that are not hidden: Landlock can
// only add. What a link leads to is granted by its own name, or not at all.
func without(path string, hidden []string) []string {
	hidden = slices.DeleteFunc(slices.Clone(hidden), func(h string) bool { return !isBelow(h, path) })
	if len(hidden) == 0 {
		return []string{path}
	}
	if slices.Contains(hidden, path) {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var parts []string
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			continue
		}
		parts = append(parts, without(filepath.Join(path, e.Name()), hidden)...)
	}
	return parts
}

// isBelow reports whether a path is a folder or below it; both are clean.
func isBelow(path, folder string) bool {
	return path == folder || folder != "" && strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
