package tool_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

func TestList(t *testing.T) {
	t.Parallel()
	crowd := map[string]string{}
	for i := range 300 {
		crowd[fmt.Sprintf("d/%03d", i)] = ""
	}
	tooltest.Run(t, tool.List(),
		tooltest.Case{Name: "a tree, folders first, ignored ones counted", Args: ``,
			Files: map[string]string{"z.txt": "12345", "src/main.go": strings.Repeat("x", 1500), "src/pkg/a.go": "", "src/pkg/b.go": "", "node_modules/x/y": "", ".gitignore": "node_modules/\n*.log\n", "a.log": "", ".git/config": ""},
			Setup: func(t *testing.T, env tool.Env) { link(t, env, "z.txt", "l") },
			Check: text(".:\nsrc/\n  pkg/  2 entries\n  main.go  1.5 kB\n.gitignore  20 B\nl -> z.txt\nz.txt  5 B\n[2 entries are not shown: ignored by .gitignore or .ignore]\n")},
		tooltest.Case{Name: "an ignored folder that is named is shown", Args: `{"path":"build","depth":1}`, Files: map[string]string{"build/out": "x", ".gitignore": "build\n"},
			Check: text("build:\nout  1 B\n")},
		tooltest.Case{Name: "one folder does not take all the room", Args: ``, Files: crowd, Want: []string{"d/\n", "  199  0 B\n  [100 more: list this folder alone or use glob]"}},
		tooltest.Case{Name: "an empty folder", Args: `{"path":"."}`, Check: text(". is empty.")},
		tooltest.Case{Name: "a file", Args: `{"path":"f"}`, Files: map[string]string{"f": ""}, Wrong: true, Want: []string{"is a file, not a folder"}},
		tooltest.Case{Name: "a missing folder", Args: `{"path":"scr"}`, Files: map[string]string{"src/f": ""}, Wrong: true, Want: []string{"Did you mean src?"}},
		tooltest.Case{Name: "too deep", Args: `{"depth":11}`, Wrong: true, Want: []string{"depth is 11: it may be from 1 to 10"}},
	)
}

func TestGlob(t *testing.T) {
	t.Parallel()
	tree := map[string]string{"a.go": "", "x/b.go": "", "x/y/c.go": "", "x/y/c.ts": "", "vendor/d.go": "", ".gitignore": "vendor\n", ".github/ci.yml": ""}
	many := map[string]string{}
	for i := range 250 {
		many[fmt.Sprintf("f%d", i)] = ""
	}
	tooltest.Run(t, tool.Glob(),
		tooltest.Case{Name: "newest first", Args: `{"pattern":"*.go"}`, Files: tree,
			Setup: func(t *testing.T, env tool.Env) {
				for i, name := range []string{"x/b.go", "a.go", "x/y/c.go"} {
					at := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
					if err := os.Chtimes(filepath.Join(env.Workspace, name), at, at); err != nil {
						t.Fatal(err)
					}
				}
			},
			Check: text("x/y/c.go\na.go\nx/b.go\n")},
		tooltest.Case{Name: "a slash anchors", Args: `{"pattern":"x/*.go"}`, Files: tree, Check: text("x/b.go\n")},
		tooltest.Case{Name: "a leading slash anchors", Args: `{"pattern":"/*.go"}`, Files: tree, Check: text("a.go\n")},
		tooltest.Case{Name: "braces and stars", Args: `{"pattern":"y/**/c.{ts,js}","path":"x"}`, Files: tree, Check: text("x/y/c.ts\n")},
		tooltest.Case{Name: "hidden files are found", Args: `{"pattern":"**/*.yml"}`, Files: tree, Check: text(".github/ci.yml\n")},
		tooltest.Case{Name: "ignored ones when they are named", Args: `{"pattern":"*.go","path":"vendor"}`, Files: tree, Check: text("vendor/d.go\n")},
		tooltest.Case{Name: "nothing", Args: `{"pattern":"*.rs"}`, Files: tree, Want: []string{"No file matches *.rs."}},
		tooltest.Case{Name: "many", Args: `{"pattern":"f*"}`, Files: many, Want: []string{"[50 more, changed longer ago: make the pattern narrower]"}},
		tooltest.Case{Name: "upwards", Args: `{"pattern":"../*"}`, Wrong: true, Want: []string{"leads upwards"}},
		tooltest.Case{Name: "no pattern", Args: `{"pattern":"[a"}`, Wrong: true, Want: []string{"is not one"}},
	)
}

func TestSearch(t *testing.T) {
	t.Parallel()
	tree := map[string]string{
		"a.go": "package a\n\nfunc Alpha() {}\n", "b/b.go": "package b\n// alpha\nfunc beta() {}\n", "b/c.txt": "Alpha\r\nomega\r\n",
		"ignored/x.go": "func Alpha()\n", ".gitignore": "ignored/\n", ".hidden/h.go": "func Alpha()\n", "bin": "Alpha\x00Alpha\n",
	}
	long := strings.Repeat("y", 5000) + "needle" + strings.Repeat("z", 5000) + "\n"
	tooltest.Run(t, tool.Search(),
		tooltest.Case{Name: "lines by file", Args: `{"pattern":"Alpha"}`, Files: tree,
			Check: text("a.go\n  3: func Alpha() {}\nb/c.txt\n  1: Alpha\n[1 binary file was not searched]\n")},
		tooltest.Case{Name: "ends of lines are ends, CRLF too", Args: `{"pattern":"^(Alpha|omega)$"}`, Files: tree,
			Check: text("b/c.txt\n  1: Alpha\n  2: omega\n[1 binary file was not searched]\n")},
		tooltest.Case{Name: "case ignored, with a glob", Args: `{"pattern":"alpha","ignore_case":true,"glob":"*.go"}`, Files: tree,
			Check: text("a.go\n  3: func Alpha() {}\nb/b.go\n  2: // alpha\n")},
		tooltest.Case{Name: "lines around", Args: `{"pattern":"alpha","context":1}`, Files: tree,
			Check: text("b/b.go\n  1- package b\n  2: // alpha\n  3- func beta() {}\n[1 binary file was not searched]\n")},
		tooltest.Case{Name: "groups of lines are apart", Args: `{"pattern":"x","context":1}`, Files: map[string]string{"f": "x\n1\n2\n3\nx\n4\nx\n"},
			Check: text("f\n  1: x\n  2- 1\n  --\n  4- 3\n  5: x\n  6- 4\n  7: x\n")},
		tooltest.Case{Name: "names only", Args: `{"pattern":"package","files_only":true}`, Files: tree, Check: text("a.go\nb/b.go\n[1 binary file was not searched]\n")},
		tooltest.Case{Name: "plain text", Args: `{"pattern":"Alpha()","literal":true,"glob":"*.go"}`, Files: tree, Check: text("a.go\n  3: func Alpha() {}\n")},
		tooltest.Case{Name: "a named file, ignored though it is", Args: `{"pattern":"Alpha","path":"ignored/x.go"}`, Files: tree, Check: text("ignored/x.go\n  1: func Alpha()\n")},
		tooltest.Case{Name: "a named folder, ignored though it is", Args: `{"pattern":"Alpha","path":"ignored"}`, Files: tree, Check: text("ignored/x.go\n  1: func Alpha()\n")},
		tooltest.Case{Name: "hidden ones when asked", Args: `{"pattern":"Alpha","glob":".hidden/**"}`, Files: tree, Check: text(".hidden/h.go\n  1: func Alpha()\n")},
		tooltest.Case{Name: "the rest is counted", Args: `{"pattern":"x","limit":2}`, Files: map[string]string{"f": "x\nx\nx\n", "g": "x\n"},
			Check: text("f\n  1: x\n  2: x\n[2 of 4 matches in 2 files; raise limit or narrow the search]\n")},
		tooltest.Case{Name: "long lines are shown around the match", Args: `{"pattern":"needle"}`, Files: map[string]string{"f": long},
			Want: []string{"f\n  1: …yyy", "yneedlez", "z…\n"}},
		tooltest.Case{Name: "a result stays bounded", Args: `{"pattern":"y","limit":1000}`, Files: map[string]string{"f": strings.Repeat(strings.Repeat("y", 390)+"\n", 2000)},
			Want: []string{"of 2,000 matches in 1 file; raise limit or narrow the search]"}},
		tooltest.Case{Name: "too many are not counted to the end", Args: `{"pattern":"y"}`, Files: map[string]string{"f": strings.Repeat("y\n", 20_000)},
			Want: []string{"[100 of at least 20,000 matches in 1 file; raise"}},
		tooltest.Case{Name: "a match is within a line", Args: `{"pattern":"a\\sb"}`, Files: map[string]string{"f": "a\nb\n"}, Want: []string{`Nothing matches "a\\sb", in 1 file searched.`}},
		tooltest.Case{Name: "the text begins at each line", Args: `{"pattern":"\\Ab"}`, Files: map[string]string{"f": "a\nb\n"}, Check: text("f\n  2: b\n")},
		tooltest.Case{Name: "nothing to search", Args: `{"pattern":"a","glob":"*.rs"}`, Files: tree, Want: []string{"in 0 files searched. Hidden files"}},
		tooltest.Case{Name: "a wrong expression", Args: `{"pattern":"a("}`, Wrong: true, Want: []string{"not a valid RE2 regular expression: missing closing ): `a(`. For plain text set literal."}},
		tooltest.Case{Name: "an empty expression", Args: `{"pattern":""}`, Wrong: true, Want: []string{"empty"}},
		tooltest.Case{Name: "a line break", Args: `{"pattern":"a\nb"}`, Wrong: true, Want: []string{"within one line"}},
		tooltest.Case{Name: "a binary file", Args: `{"pattern":"a","path":"bin"}`, Files: tree, Wrong: true, Want: []string{"bin is a binary file"}},
		tooltest.Case{Name: "a missing file", Args: `{"pattern":"a","path":"a.goo"}`, Files: tree, Wrong: true, Want: []string{"Did you mean a.go?"}},
		tooltest.Case{Name: "named pipes are passed by", Args: `{"pattern":"x"}`, Files: map[string]string{"f": "x\n"}, Check: text("f\n  1: x\n"),
			Setup: func(t *testing.T, env tool.Env) {
				if err := syscall.Mkfifo(filepath.Join(env.Workspace, "p"), 0o666); err != nil {
					t.Fatal(err)
				}
			}},
	)
}

// Whatever the buffers' borders fall on, the answer is that of looking at each
// line.
func TestSearchInALargeFileFindsWhatALineByLineLookFinds(t *testing.T) {
	t.Parallel()
	var content, want strings.Builder
	n := 0
	for i := 1; content.Len() < 3<<20; i++ {
		line := strings.Repeat("filler ", i%23)
		if i%1777 == 0 || i%1777 == 3 {
			line += "needle"
			fmt.Fprintf(&want, "  %d: %s\n", i, line)
			n++
		}
		content.WriteString(line + "\n")
	}
	env := tooltest.NewEnv(t, map[string]string{"f": content.String()})
	r := call(t, env, tool.Search(), map[string]any{"pattern": "needle$", "limit": 1000})
	text("f\n"+want.String())(t, env, r)
	r = call(t, env, tool.Search(), map[string]any{"pattern": "needle$", "limit": 1000, "context": 2})
	if got := strings.Count(run.PlainText(r.Content), ": "); got != n {
		t.Errorf("with lines around there are %d matches, want %d", got, n)
	}
	var lines = strings.Split(content.String(), "\n")
	for line := range strings.Lines(run.PlainText(r.Content)) {
		var i int
		if _, err := fmt.Sscanf(line, "  %d", &i); err == nil && strings.TrimRight(line, "\n")[len(fmt.Sprintf("  %d: ", i)):] != lines[i-1] {
			t.Fatalf("line %d is shown as %q, and is %q", i, line, lines[i-1])
		}
	}
}

func TestASearchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("d%d/f", i)] = strings.Repeat("some text\n", 1000)
	}
	env := tooltest.NewEnv(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	go cancel() // at any point of it
	r, err := tool.Search().Run(ctx, env, tool.Call{Run: env.Run, ID: "c_1", Args: tooltest.Args(map[string]any{"pattern": "absent|text no"})})
	if err != nil {
		t.Fatal(err)
	}
	if got := run.PlainText(r.Content); !r.IsError && !strings.Contains(got, "Nothing matches") || r.IsError && !strings.Contains(got, "stopped") {
		t.Errorf("got %v %q", r.IsError, got)
	}
}

func TestIgnoreRulesAreGitsOwn(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs git to compare with")
	}
	files := map[string]string{
		".gitignore": "*.log\n!keep.log\n/top\nbuild/\ndoc/*.txt\na/**/z\ndeep/**\n!deep/in\n# comment\n\\#hash\n\\!bang\nsp\\ \ntrail   \n" +
			"{x,y}\n[ab].c\nq?.c\n**/any/here\nfoo**bar\nbroken[\n/mid/dle\n*.tmp/\n",
		"sub/.gitignore": "!*.log\n/only\nnested/\n",
	}
	for _, f := range []string{"a.log", "keep.log", "top", "sub/top", "build/x", "sub/build/x", "sub/f/build", "doc/a.txt", "doc/s/a.txt", "x/doc/a.txt",
		"a/z", "a/b/z", "a/b/c/z", "deep/in", "deep/out", "#hash", "!bang", "sp ", "trail", "{x,y}", "a.c", "c.c", "q1.c", "q.c", "v/any/here", "any/here",
		"fooxbar", "foo/bar", "broken[", "mid/dle", "x2/mid/dle", "sub/a.log", "sub/only", "sub/x/only", "sub/nested/f", "sub/x/nested/f", "f.tmp", "d.tmp/f", "deep/in2/x"} {
		files[f] = "text\n"
	}
	env := tooltest.NewEnv(t, files)
	for _, args := range [][]string{{"init", "-q"}, {"-c", "core.excludesFile=", "ls-files", "-coz", "--exclude-standard"}} {
		cmd := exec.Command(git, args...)
		cmd.Dir = env.Workspace
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("git %v: %v", args, err)
		}
		if args[0] == "init" {
			if err := os.WriteFile(filepath.Join(env.Workspace, ".git/info/exclude"), []byte("c.c\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want := map[string]bool{}
		for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			want[name] = true
		}
		r := call(t, env, tool.Glob(), map[string]any{"pattern": "**"})
		got := map[string]bool{}
		for name := range strings.Lines(run.PlainText(r.Content)) {
			got[strings.TrimSuffix(name, "\n")] = true
		}
		for name := range files {
			if got[name] != want[name] {
				t.Errorf("%q: shown %v, git shows %v", name, got[name], want[name])
			}
		}
	}
	// A workspace inside the repository minds the rules above it.
	inner := env
	inner.Workspace = filepath.Join(env.Workspace, "doc")
	r := call(t, inner, tool.Glob(), map[string]any{"pattern": "**"})
	text("s/a.txt\n")(t, inner, r)
}

func TestTodo(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tool.Todo(),
		tooltest.Case{Name: "the list comes back compactly", Args: `{"items":[{"text":"read","status":"done"},{"text":"write\n it","status":"active"},{"text":"test","status":"pending"}]}`,
			Check: text("[x] read\n[>] write it\n[ ] test\n1 of 3 done")},
		tooltest.Case{Name: "an empty list", Args: `{"items":[]}`, Check: text("nothing")},
		tooltest.Case{Name: "an empty item", Args: `{"items":[{"text":" ","status":"done"}]}`, Wrong: true, Want: []string{"items[0].text is empty"}},
		tooltest.Case{Name: "an essay", Args: `{"items":[{"text":"` + strings.Repeat("x", 301) + `","status":"done"}]}`, Wrong: true, Want: []string{"more than 300 characters"}},
	)
}

func TestAskIsAQuestionAndNeverRuns(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tool.Ask(),
		tooltest.Case{Name: "a question", Args: `{"question":"Which one?","options":["a","b"]}`},
		tooltest.Case{Name: "no question", Args: `{"question":" "}`, Wrong: true},
	)
	intent, err := tool.Ask().Inspect(tool.Env{}, tooltest.Args(map[string]any{"question": "Which\none?"}))
	if err != nil || !intent.Question || intent.Class != run.Resumable || intent.Title != "Which one?" {
		t.Errorf("%+v, %v", intent, err)
	}
	if _, err := tool.Ask().Run(t.Context(), tool.Env{}, tool.Call{}); err == nil {
		t.Error("ask ran")
	}
}

func FuzzEverythingThatMatchesHasTheNeedle(f *testing.F) {
	for _, s := range [][2]string{{"(?mi)search", "SEARCH"}, {"(?mi)kiss", "\u212aIſS"}, {`[a-z]+zz(qq|r)*$`, "azz"}, {`(?m)(ab){2,3}\w`, "ababx"}, {"a\ufffdb", "a\xffb"}, {"(?i:ab)c", "ABc"}, {"a|b", "b"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, expr, hay string) {
		re, err := regexp.Compile(expr)
		if err != nil {
			return
		}
		if re.MatchString(hay) && !tool.NeedleIn(expr, []byte(hay)) {
			t.Fatalf("%q matches %q and has no needle there", expr, hay)
		}
	})
}
