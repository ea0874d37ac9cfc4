package plugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/instructions"
)

// treeOf returns a tree of files and their contents.
func treeOf(files map[string]string) (t Tree) {
	for name, content := range files {
		t.Files = append(t.Files, File{Name: name, Content: []byte(content)})
	}
	t.sort()
	return t
}

func storeOf(t *testing.T) Store {
	dir := t.TempDir()
	return Store{Dir: filepath.Join(dir, "plugins"), Data: filepath.Join(dir, "data"), Path: os.Getenv("PATH")}
}

func TestSourcesAreWhatAPersonTypes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{"here", "own/er"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const commit = "0123456789012345678901234567890123456789"
	for typed, want := range map[string]Source{
		"here": {Folder: filepath.Join(dir, "here")}, "./own/er": {Folder: filepath.Join(dir, "own/er")}, dir: {Folder: dir},
		"review@team-tools":                   {Marketplace: "team-tools", Entry: "review"},
		"acme/tools":                          {URL: "https://github.com/acme/tools"},
		"acme/tools@v1":                       {URL: "https://github.com/acme/tools", Ref: "v1"},
		"acme/tools#feature/x":                {URL: "https://github.com/acme/tools", Ref: "feature/x"},
		"https://h.example/a/b.git@" + commit: {URL: "https://h.example/a/b.git", Ref: commit},
		"https://h.example:8443/a":            {URL: "https://h.example:8443/a"},
		"ssh://git@h.example/a@v2":            {URL: "ssh://git@h.example/a", Ref: "v2"},
		"git@h.example:a/b.git@v2":            {URL: "git@h.example:a/b.git", Ref: "v2"},
		"file:///srv/a.git":                   {URL: "file:///srv/a.git"},
	} {
		if got, err := ParseSource(typed, dir); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", typed, got, err, want)
		}
	}
	for typed, why := range map[string]string{
		"own/er": "is it the folder", "./gone": "there is no folder", "": "the source is empty", "git://h/x": "by https, ssh or file alone",
		"ext::sh -c x": "there is no folder", "https://me:pw@h/x": "name or password", "https://-oProxyCommand=x/y": "not a git address",
		"ssh://-oProxyCommand=x/y": "not a git address", "acme/tools@-x": "not the name of a branch", "acme/tools@a..b": "not the name of a branch",
		"https://h/\x1b[2J": "not an address", "-x@h.example:y": "there is no folder",
	} {
		if typed == "" {
			continue // it is the folder itself
		}
		if got, err := ParseSource(typed, dir); err == nil || !strings.Contains(err.Error(), why) || strings.ContainsAny(err.Error(), "\x1b") || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %+v, %v; want %s", typed, got, err, why)
		}
	}
}

const skill = "---\nname: notes\ndescription: Notes\n---\nx\n"

func TestAPluginIsReadInEachOfItsForms(t *testing.T) {
	t.Parallel()
	names := func(p Plugin) (all []string) {
		for _, s := range p.Skills {
			all = append(all, "skill "+s.Name)
		}
		for _, c := range p.Commands {
			all = append(all, "command "+c.Name)
		}
		for _, f := range p.Agents {
			all = append(all, "agent "+f.Name)
		}
		return append(all, p.Runs()...)
	}
	const hooks = `{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}`
	for name, c := range map[string]struct {
		files map[string]string
		want  string
		not   string // problems, and what is not used
	}{
		"without a manifest": {map[string]string{"commands/a/b.md": "x", "agents/c.md": "x", "agents/README.md": "x", "skills/notes/SKILL.md": skill, "skills/notes/more/SKILL.md": skill},
			"skill p:notes, command p:a:b, agent agents/c.md", ""},
		"one skill": {map[string]string{"SKILL.md": skill}, "skill p:notes", ""},
		"paths": {map[string]string{manifestFile: `{"name":"q","commands":["./extra/","./one.md","./extra/x.md"],"skills":"./more","agents":"./who.md"}`,
			"commands/no.md": "x", "extra/x.md": "x", "one.md": "x", "skills/notes/SKILL.md": skill, "more/two/SKILL.md": strings.ReplaceAll(skill, "notes", "two"), "who.md": "x", "agents/no.md": "x"},
			"skill q:two, skill q:notes, command q:x, command q:one, agent who.md", ""},
		"hooks inline and in two files": {map[string]string{manifestFile: `{"hooks":[` + hooks + `,"./h.json"]}`, "h.json": `{"hooks":` + hooks + `}`, "hooks/hooks.json": `{"hooks":` + hooks + `}`},
			"hook Stop: x, hook Stop: x, hook Stop: x", ""},
		"the usual file named again": {map[string]string{manifestFile: `{"hooks":"./hooks/hooks.json"}`, "hooks/hooks.json": `{"hooks":` + hooks + `}`}, "hook Stop: x", ""},
		"servers": {map[string]string{manifestFile: `{"mcpServers":{"a":{"command":"${CLAUDE_PLUGIN_ROOT}/a","args":["${CLAUDE_PLUGIN_DATA}"],"env":{"X":"${CLAUDE_PROJECT_DIR}"}}}}`, ".mcp.json": `{"_comment":"c","b":{"url":"https://h/x","headers":{"X":"${TOKEN} ${OTHER:-none}"}}}`},
			"server plugin_p_a: ${CLAUDE_PLUGIN_ROOT}/a /data/p, server plugin_p_b: https://h/x (is given OTHER, TOKEN)", ""},
		"what there is not here": {map[string]string{manifestFile: `{"outputStyles":"./s","frobs":1,"monitors":[]}`, "commands/a.md": "x", "bin/x": "x", ".lsp.json": "{}"},
			"command p:a", `"frobs" (not known here), monitors (monitors), outputStyles (output styles), .lsp.json (language servers), bin/ (programs for PATH)`},
		"wrong in part": {map[string]string{manifestFile: `{"commands":["./gone","../up","/etc",7,"./a.md"],"hooks":"./a.md","mcpServers":"./none.json"}`, "a.md": "x", "skills/bad/SKILL.md": "no front"},
			"command p:a", `commands: there is no "./gone" in it, commands: the path "../up" leads out of it, commands: the path "/etc" leads out of it, commands: 7: it is not a path, ` +
				`the skill skills/bad/SKILL.md: it has no description, without which nobody knows when to use it, a.md: it is not a JSON object with hooks: invalid character 'x' looking for beginning of value, ` +
				`mcpServers: there is no "./none.json" in it, mcpServers: "none.json" is no file`},
	} {
		p, err := parse(treeOf(c.files), "p", "/in", "/data")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(names(p), ", "); got != c.want {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
		if got := strings.Join(append(p.Problems, p.Unused...), ", "); got != c.not {
			t.Errorf("%s: %s; want %s", name, got, c.not)
		}
	}
}

func TestWhatAPluginBringsIsNotGivenMore(t *testing.T) {
	t.Parallel()
	p, err := parse(treeOf(map[string]string{
		"commands/a.md":         "---\nallowed-tools: Bash(rm:*)\n---\nIn ${CLAUDE_PLUGIN_ROOT} and ${CLAUDE_PLUGIN_DATA}",
		"skills/notes/SKILL.md": strings.Replace(skill, "name:", "allowed-tools: Bash\nname:", 1),
		"hooks/hooks.json":      `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","sandbox":"none"},{"type":"command","command":"y","args":["${CLAUDE_PLUGIN_ROOT}/z"]}]}]}}`,
		".mcp.json":             `{"mcpServers":{"a":{"command":"x"}}}`}), "p", "/in", "/data")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []instructions.Command{p.Commands[0], p.Skills[0].Command} {
		if c.Tools != nil || !c.Repository {
			t.Errorf("%s has tools %v", c.Name, c.Tools)
		}
	}
	if text := p.Commands[0].Pieces("", nil)[0].Text; text != "In /in/p and /data/p" {
		t.Errorf("the command says %s", text)
	}
	if len(p.Hooks) != 1 || p.Hooks[0].Own || p.Hooks[0].Sandbox != "" || p.Hooks[0].Args[0] != "/in/p/z" {
		t.Errorf("hooks: %+v", p.Hooks)
	}
	if d := p.Servers[0]; d.Unconfined || d.Plugin != "p" || d.Env["CLAUDE_PLUGIN_DATA"] != "/data/p" {
		t.Errorf("server: %+v", d)
	}
	p, err = parse(treeOf(map[string]string{".mcp.json": `{"mcpServers":{"a":{"command":"x","sandbox":false}}}`}), "p", "/in", "/data")
	if err == nil || len(p.Servers) > 0 || !strings.Contains(err.Error(), `server "a": "sandbox" is no key`) {
		t.Errorf("a server that wants to leave the sandbox: %+v, %v", p.Servers, err)
	}
}

func TestLinksAndTheRepositoryItselfAreNoFilesOfAPlugin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{".git/config": "x", "a/.git/config": "x", "a/x": "y"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link": "/etc/passwd", "a/dir": "/etc", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := readFolder(dir)
	if err != nil || len(tree.Files) != 1 || tree.Files[0].Name != "a/x" || len(tree.Left) != 3 {
		t.Errorf("%+v, %v", tree, err)
	}
}

// git calls git in a folder as a person does.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNothingOfAConfigurationOrARepositoryRunsWhenAPluginIsFetched(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	home, repo, other, s := t.TempDir(), t.TempDir(), t.TempDir(), storeOf(t)
	ran := filepath.Join(t.TempDir(), "ran")
	trap := "touch " + ran
	write(t, home, map[string]string{".gitconfig": "[filter \"evil\"]\nsmudge = " + trap + "\nclean = cat\n[core]\nhooksPath = " + home + "/hooks\nfsmonitor = " + trap +
		"\n[init]\ntemplateDir = " + home + "/template\n[url \"ext::sh -c '" + trap + "'\"]\ninsteadOf = file://\n",
		"hooks/post-checkout": "#!/bin/sh\n" + trap, "hooks/reference-transaction": "#!/bin/sh\n" + trap, "template/hooks/reference-transaction": "#!/bin/sh\n" + trap})
	write(t, other, map[string]string{"x": "x"})
	git(t, other, "init", "-q", ".")
	git(t, other, "add", ".")
	git(t, other, "commit", "-q", "-m", "one")
	write(t, repo, map[string]string{".gitattributes": "* filter=evil\n", "skills/notes/SKILL.md": skill, "commands/big.md": "version https://git-lfs.github.com/spec/v1\n"})
	git(t, repo, "init", "-q", ".")
	git(t, repo, "submodule", "--quiet", "add", "file://"+other, "sub")
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-q", "-m", "one")
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", "/nowhere")
	p, err := s.Get(t.Context(), Source{URL: "file://" + repo})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("something of the configuration has run")
	}
	if len(p.Skills) != 1 || len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0], "sub: it is a link or a submodule") {
		t.Errorf("%v, %v", p.Skills, p.Problems)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, temporary+"*")); left != nil {
		t.Errorf("%s is left", left)
	}
}

func TestAnAddressThatHangsIsLetGo(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := make(chan error, 1)
	go func() { // a server that takes what it is sent and says nothing
		c, err := l.Accept()
		if err != nil {
			return
		}
		cancel(errors.New("enough"))
		b := make([]byte, 1<<12)
		for err == nil {
			_, err = c.Read(b)
		}
		gone <- err
	}()
	_, err = storeOf(t).Get(ctx, Source{URL: fmt.Sprintf("https://%s/x", l.Addr())})
	if err == nil || !strings.Contains(err.Error(), "cannot be fetched") {
		t.Error(err)
	}
	if ctx.Err() != nil { // else git has no helper for https
		<-gone // what it has started is gone too
		if !strings.Contains(err.Error(), "enough") {
			t.Error(err)
		}
	}
}

func TestAQuestionForAPasswordSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"fatal: could not read Username for 'https://h': terminal prompts disabled\n", "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository."} {
		if got := gitSaid(said); !strings.Contains(got, "asks who you are") {
			t.Error(got)
		}
	}
	if got := gitSaid("warning: x\nfatal: \x1b[2Jno\n"); got != `\u001b[2Jno` {
		t.Error(got)
	}
}

// version returns a version of a plugin.
func version(t *testing.T, s Store, n int) Plugin {
	files := map[string]string{"skills/notes/SKILL.md": skill}
	for i := range 5 {
		files[fmt.Sprintf("data/%d", i)] = fmt.Sprint(n)
	}
	tree := treeOf(files)
	p, err := parse(tree, "p", s.content(tree.digest()), s.Data)
	if err != nil {
		t.Fatal(err)
	}
	p.Source.Folder = fmt.Sprintf("/v%d", n)
	return p
}

func TestAKilledUpdateLeavesTheOldOrTheNew(t *testing.T) {
	if dir := os.Getenv("PLUGIN_TEST_UPDATES"); dir != "" { // the process that is killed
		s := Store{Dir: dir}
		all, _, err := s.All()
		if err != nil {
			t.Fatal(err)
		}
		old := ""
		if len(all) > 0 {
			old = all[0].Digest
		}
		for n := os.Getpid() * 1000; ; n++ {
			p := version(t, s, n)
			if err := s.Put(p, old); err != nil {
				t.Fatal(err)
			}
			old = p.Digest
			fmt.Println("put")
		}
	}
	s := storeOf(t)
	for kill := range 12 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAKilledUpdateLeavesTheOldOrTheNew$")
		cmd.Env = append(os.Environ(), "PLUGIN_TEST_UPDATES="+s.Dir)
		out, err := cmd.StdoutPipe()
		if err = errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n <= kill%4 && lines.Scan(); n++ {
			if lines.Text() != "put" {
				t.Error(lines.Text())
			}
		}
		_ = cmd.Process.Kill() // in the middle of the next
		_ = cmd.Wait()
		all, problems, err := s.All()
		if err != nil || len(problems) > 0 || len(all) != 1 {
			t.Fatalf("after kill %d: %v, %v, %v", kill, all, problems, err)
		}
		if n := string(all[0].Tree.file("data/4")); all[0].Source.Folder != "/v"+n {
			t.Fatalf("after kill %d it comes from %s and is of %s", kill, all[0].Source, n)
		}
	}
}

func TestFilesThatChangedAreNotThoseThatWereTrusted(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(dir string) error{
		"content": func(dir string) error { return os.WriteFile(filepath.Join(dir, "data/1"), []byte("x"), 0o600) },
		"more":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) },
		"less":    func(dir string) error { return os.Remove(filepath.Join(dir, "data/1")) },
		"mode":    func(dir string) error { return os.Chmod(filepath.Join(dir, "data/1"), 0o700) },
		"link": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "data/1")), os.Symlink("2", filepath.Join(dir, "data/1")))
		},
		"gone": os.RemoveAll,
	} {
		s := storeOf(t)
		if err := s.Put(version(t, s, 1), ""); err != nil {
			t.Fatal(err)
		}
		all, _, err := s.All()
		if err != nil || all[0].Check() != nil {
			t.Fatal(err, all[0].Check())
		}
		if err := change(all[0].Dir); err != nil {
			t.Fatal(err)
		}
		if err := all[0].Check(); err == nil {
			t.Errorf("%s: it is what was trusted", what)
		}
		if _, problems, _ := s.All(); len(problems) != 1 {
			t.Errorf("%s: %v", what, problems)
		}
		if err := s.Put(version(t, s, 1), all[0].Digest); err != nil || all[0].Check() != nil {
			t.Errorf("%s: it is not put back: %v, %v", what, err, all[0].Check())
		}
	}
}

func TestWhatCannotBeStoredChangesNothing(t *testing.T) {
	t.Parallel()
	s := storeOf(t)
	both := [2]Plugin{version(t, s, 0), version(t, s, 1)}
	if err := s.Put(both[0], ""); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "content", both[1].Digest[:16]), nil, 0o600); err != nil { // in the way
		t.Fatal(err)
	}
	both[1].Tree.Files = append(both[1].Tree.Files, File{Name: "data/1/x"}) // and data/1 is a file
	err := s.Put(both[1], both[0].Digest)
	if err == nil || !strings.Contains(err.Error(), "cannot be stored, and nothing is changed") {
		t.Error(err)
	}
	all, problems, err := s.All()
	if err != nil || problems != nil || len(all) != 1 || all[0].Digest != both[0].Digest {
		t.Errorf("%v, %v, %v", all, problems, err)
	}
	if err := s.Put(both[1], both[1].Digest); err == nil || !strings.Contains(err.Error(), "changed or removed meanwhile") {
		t.Error(err)
	}
}
