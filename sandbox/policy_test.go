package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/helper"
	"pawl/internal/proc"
)

// makeTree makes folders (names that end in /), files, and links ("a -> b").
func makeTree(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name, to, isLink := strings.Cut(name, " -> ")
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(to, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shown returns the mounts below dir, relative to it.
func shown(g places, dir string) []string {
	var lines []string
	for _, m := range g.mounts() {
		if !isBelow(m.Target, dir) {
			continue
		}
		rel, _ := filepath.Rel(dir, m.Target)
		line := m.Kind + " " + rel
		if m.Kind == helper.Link {
			line += " -> " + m.Source
		}
		lines = append(lines, line)
	}
	return lines
}

func TestTheNearerGrantCounts(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "sys/lib/x", "sys/lib/y/", "home/go/bin/", "home/go/pkg/", "home/ws/.git/config", "home/ws/key", "home/secret/", "home/link -> go", "out -> home/ws/key")
	g := places{}
	g.show(dir+"/sys", helper.ReadOnly, false)
	g.show(dir+"/sys/lib/y", helper.ReadOnly, false) // says nothing new
	g.show(dir+"/home/go", helper.ReadOnly, false)
	g.show(dir+"/home/go/pkg", helper.Writable, false)
	g.show(dir+"/home/link/bin", helper.ReadOnly, false)
	g.show(dir+"/home/ws", helper.Writable, true)
	g.show(dir+"/home/ws/.git/config", helper.ReadOnly, true)
	g.show(dir+"/nothing", helper.Writable, true)
	g.show("relative", helper.Writable, true)
	g.cover(dir + "/home/secret") // in nothing that is shown
	g.cover(dir + "/home/ws/key")
	g.cover(dir + "/out") // the same by a link
	want := []string{
		"ro home/go", "rw home/go/pkg", "link home/link -> go",
		"rw home/ws", "ro home/ws/.git/config", "none home/ws/key", "ro sys",
	}
	if diff := cmp.Diff(want, shown(g, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTheStricterOfTwoCounts(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "a/")
	for _, kinds := range [][]string{{helper.ReadOnly, helper.Writable}, {helper.Writable, helper.ReadOnly}} {
		g := places{}
		for _, k := range kinds {
			g.show(dir+"/a", k, false)
		}
		if g[dir+"/a"].kind != helper.ReadOnly {
			t.Errorf("%v: %v", kinds, g)
		}
	}
}

func TestWithoutNamespacesWhatIsHiddenIsLeftOut(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "etc/passwd", "etc/shadow", "etc/ssl/certs/", "etc/ssl/private/", "ws/", "ws/state/")
	g := places{}
	g.show(dir+"/etc", helper.ReadOnly, false)
	g.show(dir+"/ws", helper.Writable, true)
	g.cover(dir + "/etc/shadow")
	g.cover(dir + "/etc/ssl/private")
	rules, err := g.rules("/the/temp")
	if err != nil {
		t.Fatal(err)
	}
	var below []string
	for _, r := range append(rules.read, rules.write...) {
		if rel, ok := strings.CutPrefix(r, dir); ok {
			below = append(below, rel)
		}
	}
	if diff := cmp.Diff([]string{"/etc/passwd", "/etc/ssl/certs", "/ws"}, below); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// Out of a folder that is written nothing can be taken.
	g.cover(dir + "/ws/state")
	if _, err := g.rules("/the/temp"); err == nil || !strings.Contains(err.Error(), "/ws/state: it is in a folder that commands may write") {
		t.Errorf("got %v", err)
	}
}

func TestThePolicyOfAHome(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "home/ws/", "home/.gitconfig", "home/.npmrc", "home/.cargo/bin/", "home/.cargo/registry/", "home/.cargo/git/", "home/.cargo/credentials.toml",
		"home/.ssh/", "home/go/bin/", "home/go/pkg/mod/", "home/.config/git/credentials", "home/.config/git/ignore", "home/tools/bin/", "home/ws/.venv/bin/", "run/")
	home := dir + "/home"
	env := map[string]string{"HOME": home, "PATH": home + "/tools/bin:" + home + ":relative:" + home + "/ws/.venv/bin", "GOPATH": "/"}
	p, err := For(home+"/ws", Options{StateDir: home + "/.local/state/pawl", RuntimeDir: dir + "/run", Getenv: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range shown(p.places(), home) {
		// Folders of toolchains that this machine has are made; they differ.
		for _, name := range []string{".cargo", ".config", ".gitconfig", ".npmrc", ".ssh", "go", "tools", "ws", ".local/state"} {
			if path := strings.Fields(line)[1]; path == name || strings.HasPrefix(path, name+"/") {
				got = append(got, line)
			}
		}
	}
	want := []string{"ro .cargo/bin", "rw .cargo/git", "rw .cargo/registry", "ro .config/git", "none .config/git/credentials", "ro .gitconfig", "ro tools/bin", "rw ws"}
	if diff := cmp.Diff(want, got); diff != "" {
		// $GOPATH is "/": that opens nothing, and ~/go is not where it leads.
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// H40, H41: a workspace that holds what decides about commands is none.
func TestAWorkspaceWithTheHomeOrWithPawlsOwnFoldersIsRefused(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "home/ws/", "home/ws/cfg/pawl/", "linked -> home/ws/cfg", "else/")
	ws := dir + "/home/ws"
	for name, c := range map[string]struct {
		workspace, home string
		o               Options
		want            string
	}{
		"the home":                         {dir + "/home", dir + "/home", Options{StateDir: dir + "/else"}, "your home folder"},
		"above the home":                   {dir, dir + "/home", Options{StateDir: "/nowhere"}, "your home folder"},
		"the configuration in it":          {ws, "", Options{StateDir: dir + "/else", ConfigDir: ws + "/cfg/pawl"}, "configuration folder"},
		"the configuration, not there yet": {ws, "", Options{StateDir: dir + "/else", ConfigDir: ws + "/.config/pawl"}, "configuration folder"},
		"the configuration behind a link":  {ws, "", Options{StateDir: dir + "/else", ConfigDir: dir + "/linked/new/pawl"}, "configuration folder"},
		"the state in it":                  {ws, "", Options{StateDir: ws + "/state"}, "state folder"},
		"in the state":                     {ws, "", Options{StateDir: dir + "/home"}, "state folder"},
		"a folder of the system":           {"/etc", dir + "/home", Options{StateDir: dir + "/else"}, "a folder of the system"},
		"below one":                        {"/usr/share", dir + "/home", Options{StateDir: dir + "/else"}, "a folder of the system"},
		"what cron runs":                   {"/var/spool", dir + "/home", Options{StateDir: dir + "/else"}, "a folder of the system"},
		"the folders of homes":             {"/home", dir + "/else", Options{StateDir: dir + "/else"}, "a folder of the system"},
		"keys":                             {dir + "/home/ws", dir + "/home", Options{StateDir: dir + "/else"}, "keys and passwords"},
		"the sockets in it":                {ws, "", Options{StateDir: dir + "/else", RuntimeDir: ws + "/run"}, "runtime folder"},
	} {
		if name == "keys" {
			if err := os.MkdirAll(dir+"/home/.ssh/ws", 0o755); err != nil {
				t.Fatal(err)
			}
			c.workspace = dir + "/home/.ssh/ws"
		}
		c.o.Getenv = func(name string) string { return map[string]string{"HOME": c.home}[name] }
		if _, err := For(c.workspace, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := For(ws, Options{StateDir: dir + "/else", ConfigDir: dir + "/home/.config/pawl", Getenv: onlyPath}); err != nil {
		t.Error(err)
	}
}

func TestTheRootIsNoWorkspace(t *testing.T) {
	t.Parallel()
	if _, err := For("/", Options{StateDir: t.TempDir(), Getenv: os.Getenv}); err == nil || !strings.Contains(err.Error(), "refusing to use /") {
		t.Errorf("got %v", err)
	}
}

func TestASettingThatRunsSomethingIsNotHarmless(t *testing.T) {
	t.Parallel()
	git := findGit(safeFolders(os.Getenv("PATH")))
	if git == "" {
		t.Skip("needs git")
	}
	harmless := func(text string) bool {
		settings, err := git.parseConfig([]byte(text))
		return err == nil && harmful(settings, "/w/.git", "/w") == ""
	}
	for text, want := range map[string]bool{
		"":                              true,
		"[core]\n\tbare = false\n; x\n": true,
		"[remote \"origin\"]\n\turl = https://x.org/y\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n": true,
		"[core]\n\tfsmonitor = evil\n":              false,
		"[CORE]\n\tFSMonitor = evil\n":              false,
		"[core] fsmonitor = evil\n":                 false,
		"[alias]\n\tst = !evil\n":                   false,
		"[include]\n\tpath = evil\n":                false,
		"[remote \"o\"]\n\turl = ext::sh -c evil":   false,
		"[remote \"o\"]\n\turl = --upload-pack=x":   false,
		"[core]\n\tbare = fa\\\nlse\n":              true,  // git reads "false"
		"[core]fsmonitor=\"evil; true\" ;]\n":       false, // leaf 2A.2
		"[core]\n\tfsmonitor = \"true #\\nevil\"\n": false, // H13
		"[core \"x\"]\n\tbare = true\n\tpager=x\n":  false,
		"[filter \"x\"]\n\tclean = evil\n":          false,
	} {
		if got := harmless(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestTheReportSaysWhatIsMissingAndWhatToDo(t *testing.T) {
	t.Parallel()
	whole := proc.Abilities{Isolation: proc.Namespace, Tree: true, Network: true, Landlock: 7, Filter: true}
	for name, c := range map[string]struct {
		a        proc.Abilities
		confines bool
		missing  []string
	}{
		"everything":               {whole, true, []string{"set quotas"}},
		"no namespaces":            {proc.Abilities{Isolation: proc.Sweeping, Landlock: 7, Filter: true}, true, []string{"kernel.unprivileged_userns_clone", "put back after each command", "no sockets at all"}},
		"an old kernel's Landlock": {proc.Abilities{Isolation: proc.Sweeping, Landlock: 4, Filter: true}, true, []string{"can signal every process", "Linux 6.12"}},
		"no filter":                {proc.Abilities{Isolation: proc.Sweeping, Landlock: 7}, false, []string{"Nothing closes the network", "seccomp"}},
		"no Landlock":              {proc.Abilities{Isolation: proc.Sweeping, Filter: true}, false, []string{"Nothing bounds what files", "lsm="}},
		"namespaces alone":         {proc.Abilities{Isolation: proc.Namespace, Tree: true, Network: true}, true, []string{"They are open as to the person"}},
		"macOS":                    {proc.Abilities{Isolation: proc.Group, Profile: true}, true, []string{"Experimental"}},
		"elsewhere":                {proc.Abilities{Isolation: proc.NoCommands}, false, []string{"WSL"}},
	} {
		r := reportOf(c.a, "plan9")
		if r.Confines() != c.confines {
			t.Errorf("%s: confines is %v", name, r.Confines())
		}
		var missing strings.Builder
		for _, p := range r.Parts {
			if !p.InForce && p.Missing == "" || p.InForce && p.By == "" {
				t.Errorf("%s: %q says neither what holds it nor what is missing", name, p.Name)
			}
			missing.WriteString(p.Missing + "\n")
		}
		for _, want := range c.missing {
			if !strings.Contains(missing.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, missing.String())
			}
		}
	}
}

func TestTheProfileOfMacOS(t *testing.T) {
	t.Parallel()
	g := places{
		"/usr":         {path: "/usr", source: "/usr", kind: helper.ReadOnly},
		"/Users/a":     {path: "/Users/a", kind: helper.Link},
		"/w":           {path: "/w", source: "/w", kind: helper.Writable},
		`/w/a "b"`:     {path: `/w/a "b"`, kind: helper.Empty},
		"/tmp":         {path: "/tmp", source: "/state/tmp", kind: helper.Writable},
		"/usr/shadow":  {path: "/usr/shadow", kind: helper.NoFile},
		"/dev":         {path: "/dev", kind: helper.Devices},
		"/opt/nothing": {path: "/opt/nothing", source: "/opt/nothing", kind: helper.ReadOnly},
	}
	got := profile(g, []string{"/w/.git", "/w/.git/config", "/w/.pawl"}, "/state/tmp", false)
	_, rules, _ := strings.Cut(got, "(allow file-read* (subpath \"/dev\"))\n")
	want := `(allow file-read* (subpath "/opt/nothing"))
(allow file-read* (subpath "/usr"))
(deny file-read* file-write* (subpath "/usr/shadow"))
(allow file-read* file-write* (subpath "/w"))
(deny file-read* file-write* (subpath "/w/a \"b\""))
(allow file-read* file-write* (subpath "/state/tmp"))
(deny file-write* (subpath "/w/.git/config"))
(deny file-write* (subpath "/w/.pawl"))
`
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !strings.HasPrefix(got, "(version 1)\n(deny default)\n") || strings.Contains(got, "network") {
		t.Errorf("the network is not closed:\n%s", got)
	}
	if open := profile(g, nil, "/state/tmp", true); !strings.Contains(open, "(allow network*)") {
		t.Errorf("the network is not open:\n%s", open)
	}
}

func TestAFurtherFolderIsOneThatBoundsWhatCommandsChange(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "home/ws/sub/", "home/lib/.git/hooks/", "home/.ssh/keys/", "home/.config/pawl/", "state/x/", "file", "linked -> home/.ssh", "good -> home/lib", "run/")
	home := dir + "/home"
	o := Options{StateDir: dir + "/state", ConfigDir: home + "/.config/pawl", RuntimeDir: dir + "/run", Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	for folder, want := range map[string]string{
		"/": "the root", dir: "home folder", home: "home folder", dir + "/nowhere": "not there", dir + "/file": "not a folder",
		dir + "/state": "pawl's own", dir + "/state/x": "pawl's own", home + "/.config": "pawl's own", home + "/.config/pawl": "pawl's own", dir + "/run": "pawl's own",
		home + "/.ssh": "keys and passwords", home + "/.ssh/keys": "keys and passwords", dir + "/linked": "keys and passwords",
		home + "/lib/.git/hooks": "repository's own", "/etc": "the system", "/usr": "the system", "/usr/share": "the system", "/var": "the system", "/proc": "the system", "/dev": "the system",
	} {
		if _, err := CheckFolder(folder, home+"/ws", o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", folder, err, want)
		}
	}
	if _, err := CheckFolder(home, home+"/ws", Options{StateDir: o.StateDir, Getenv: onlyPath}); err == nil || !strings.Contains(err.Error(), "the workspace is in it") {
		t.Errorf("above the workspace: %v", err)
	}
	for folder, want := range map[string]string{home + "/lib": home + "/lib", dir + "/good": home + "/lib", home + "/ws/sub": home + "/ws/sub"} {
		if got, err := CheckFolder(folder, home+"/ws", o); err != nil || got != want {
			t.Errorf("%s: %q, %v", folder, got, err)
		}
	}
	o.Folders = []string{home + "/lib", home + "/ws/sub", dir + "/good"}
	p, err := For(home+"/ws", o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if want := []string{home + "/lib"}; !slices.Equal(p.Folders, want) {
		t.Errorf("%q, want %q: one in the workspace is part of it", p.Folders, want)
	}
}
