//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/proc/proctest"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/changes"
	"pawl/tool/journal"
	"pawl/tool/tooltest"
)

// A story is a run whose commands are undone.
type story struct {
	env    tool.Env
	events []run.Event
}

func newStory(t *testing.T, files map[string]string) *story {
	t.Helper()
	env := tooltest.NewEnv(t, files)
	env.Run = "r_1"
	t.Cleanup(env.Session.Close)
	return &story{env: env}
}

// shell runs a command as a call, and returns its id.
func (s *story) shell(t *testing.T, command string) run.CallID {
	t.Helper()
	return s.call(t, tool.Shell(), map[string]any{"command": command})
}

func (s *story) call(t *testing.T, tl tool.Tool, args map[string]any) run.CallID {
	t.Helper()
	id := run.CallID(fmt.Sprint("c_", len(s.events)+1))
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tl.Run(t.Context(), s.env.ForCall(), tool.Call{Run: s.env.Run, ID: id, Args: raw, Sandbox: run.Unconfined})
	if err != nil {
		t.Fatal(err)
	}
	s.settled(run.CallSettled{Call: id, Change: r.Change, Files: r.Files})
	return id
}

func (s *story) settled(p run.CallSettled) {
	s.events = append(s.events, run.Event{Seq: int64(len(s.events) + 1), Payload: p})
}

// undo undoes what was done after an event.
func (s *story) undo(t *testing.T, after int) (tool.UndoReport, changes.Changed) {
	t.Helper()
	changed := changes.By(s.env.StateDir, s.env.Run, s.events, int64(after), true)
	report, err := tool.Undo(s.env, changed.Files)
	if err != nil {
		t.Fatal(err)
	}
	report.Skipped = append(report.Skipped, changed.Left...)
	return report, changed
}

// tree returns what is in a workspace: kinds, modes and contents, without .git.
func (s *story) tree(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(s.env.Workspace, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content := ""
		switch info.Mode().Type() {
		case 0:
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = fmt.Sprintf("%d bytes %.200q", len(b), b)
		case fs.ModeSymlink:
			content, _ = os.Readlink(path)
		}
		rel, _ := filepath.Rel(s.env.Workspace, path)
		if rel != "." {
			all = append(all, fmt.Sprintf("%s %v %s", rel, info.Mode(), content))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s *story) git(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", s.env.Workspace, "-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func (s *story) wantTree(t *testing.T, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, s.tree(t)); diff != "" {
		t.Errorf("the tree (-want +got):\n%s", diff)
	}
}

func (s *story) write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.env.Workspace, path), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantSkipped(t *testing.T, r tool.UndoReport, want ...string) {
	t.Helper()
	var got []string
	for _, s := range r.Skipped {
		got = append(got, s.Reason)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

var everyKind = map[string]string{
	"src/a.txt": "a\n", "src/deep/b.txt": "b\n", "top": "top\n", "empty.txt": "",
	"with\nnewline": "n\n", "-dash": "d\n", "src/run.sh": "#!/bin/sh\n", ".gitignore": "dist\n*.log\n", "dist/made": "made\n",
}

// commands are what agents run, each with a workspace in git and one without.
var undoable = map[string]string{
	"a folder is removed":      "rm -rf src",
	"all is removed":           "rm -rf -- * || true",
	"edited in place":          "sed -i s/a/b/ src/a.txt top",
	"written in place":         "echo more >>src/a.txt; : >top",
	"renamed":                  "mv src lib; mv top lib/",
	"made":                     "mkdir -p new/deep && echo x >new/deep/x && ln -s x new/deep/l",
	"generated":                "for i in $(seq 200); do mkdir -p gen/$((i % 7)); echo $i >gen/$((i % 7))/f$i; done",
	"modes":                    "chmod 755 top; chmod 600 src/a.txt; chmod 700 src",
	"a file becomes a folder":  "rm top; mkdir top; echo x >top/x",
	"a folder becomes a file":  "rm -r src/deep; echo x >src/deep",
	"a file becomes a link":    "ln -sf src/a.txt top",
	"a link is changed":        "ln -sfn src/deep link",
	"a link becomes a file":    "rm link; echo x >link",
	"a link is written to":     "echo more >link",
	"hard links":               "ln top hard; echo more >>hard",
	"names that are difficult": "mv -- -dash '--x'; rm 'with\nnewline'; printf x >'a b\t\"c'",
	"changed and changed back": "cp top x; echo y >top; mv x top",
	"git checkout":             "git checkout -- . ",
	"git clean":                "git clean -fdq",
	"git stash":                "git -c user.name=A -c user.email=a@b stash -u -q",
	"a commit and a reset":     "git add -A; git -c user.name=A -c user.email=a@b commit -qm x; git reset -q --hard HEAD~; true",
	"empty folders":            "mkdir -p e/f; rmdir none",
	"with a mapping":           "dd if=/dev/urandom of=src/big bs=1k count=300 2>/dev/null; cp src/big top",
}

func TestWhatCommandsChangeIsUndone(t *testing.T) {
	t.Parallel()
	for name, command := range undoable {
		for _, repository := range []bool{true, false} {
			if !repository && strings.HasPrefix(command, "git ") {
				continue
			}
			t.Run(fmt.Sprintf("%s, git %v", name, repository), func(t *testing.T) {
				t.Parallel()
				s := newStory(t, everyKind)
				chmod(t, s.env, "src/run.sh", 0o755)
				if err := errors.Join(os.Symlink("top", filepath.Join(s.env.Workspace, "link")), os.Mkdir(filepath.Join(s.env.Workspace, "none"), 0o755)); err != nil {
					t.Fatal(err)
				}
				if repository {
					s.git(t, "init", "-q")
					s.git(t, "add", "-A")
					s.git(t, "commit", "-qm", "x")
				}
				s.write(t, "src/a.txt", "a, dirty\n")
				s.write(t, "untracked", "u\n")
				want := s.tree(t)
				s.shell(t, command)
				changed := s.tree(t)
				report, _ := s.undo(t, 0)
				wantSkipped(t, report)
				if strings.Contains(command, "rm -rf -- *") { // what is ignored is not covered
					want = slices.DeleteFunc(want, func(line string) bool { return strings.HasPrefix(line, "dist") })
				}
				s.wantTree(t, want)

				// And the undo is undone.
				back, err := tool.Undo(s.env, report.Changes)
				if err != nil || len(back.Skipped) > 0 {
					t.Fatalf("%+v, %v", back, err)
				}
				s.wantTree(t, changed)
			})
		}
	}
}

func TestUndoGoesByStepOverEditsAndCommands(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"f": "1\n", "g": "1\n"})
	trees := [][]string{s.tree(t)}
	for i, do := range []func(){
		func() { s.shell(t, "echo 2 >f; mkdir d; echo x >d/x") },
		func() {
			s.call(t, tool.Read(), map[string]any{"path": "f"})
			s.events = s.events[:len(s.events)-1]
			s.call(t, tool.Edit(), map[string]any{"path": "f", "edits": []any{map[string]any{"old": "2", "new": "3"}}})
		},
		func() { s.shell(t, "sed -i s/3/4/ f; rm g") },
		func() { s.call(t, tool.Write(), map[string]any{"path": "g", "content": "new\n"}) },
		func() { s.shell(t, "mv g d/g; chmod 700 f") },
	} {
		do()
		if len(s.events) != i+1 {
			t.Fatal(s.events)
		}
		trees = append(trees, s.tree(t))
	}
	for step := len(s.events) - 1; step >= 0; step-- {
		report, _ := s.undo(t, step)
		wantSkipped(t, report)
		s.wantTree(t, trees[step])
		s.events = s.events[:step]
	}
}

func TestWhatThereWasOrCameByAnotherHandStays(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"f": "1\n", "g": "1\n", ".gitignore": "hidden*\n", "hidden": "mine\n", "hidden-dir/x": "mine\n"})
	// The clock of files counts in ticks: what was made in the tick of a command is taken for the command's.
	s.shell(t, "sleep 0.1; echo 2 >f; mkdir d; echo made >d/made; echo 2 >g")
	s.write(t, "g", "a person's\n")
	s.write(t, "d/mine", "a person's\n")
	s.shell(t, "echo 3 >>f; mv hidden seen; mv hidden-dir d/shown")
	s.write(t, "late", "a person's\n")
	report, _ := s.undo(t, 0)
	wantSkipped(t, report, "d is not empty: something in it was not made by the run, or was changed since",
		"d/shown is not empty: something in it was not made by the run, or was changed since",
		"d/shown/x was there before under a name that is not covered",
		"g was changed after this", "seen was there before under a name that is not covered")
	for path, want := range map[string]string{"f": "1\n", "g": "a person's\n", "d/mine": "a person's\n", "late": "a person's\n", "seen": "mine\n"} {
		holds(path, want)(t, s.env, tool.Result{})
	}
	if _, err := os.Lstat(filepath.Join(s.env.Workspace, "d/made")); err == nil {
		t.Error("what the run has made is still there")
	}
}

func TestUndoFollowsNoLink(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"d/f": "1\n", "e/f": "1\n"})
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.shell(t, "echo 2 >d/f; echo 2 >e/f; echo 2 >e/g")
	for _, dir := range []string{"d", "e"} { // what was changed is reached by the same name, elsewhere
		if err := errors.Join(os.Rename(filepath.Join(s.env.Workspace, dir), filepath.Join(outside, dir)),
			os.Symlink(map[string]string{"d": outside, "e": filepath.Join(outside, "e")}[dir], filepath.Join(s.env.Workspace, dir))); err != nil {
			t.Fatal(err)
		}
	}
	report, _ := s.undo(t, 0)
	wantSkipped(t, report, "d/f leads elsewhere now: d became a link", "e/f leads elsewhere now: e became a link", "e/g leads elsewhere now: e became a link")
	for _, f := range []string{"f", "d/f", "e/f", "e/g"} {
		if b, err := os.ReadFile(filepath.Join(outside, f)); err != nil || string(b) != "2\n" {
			t.Errorf("%s is %q, %v", f, b, err)
		}
	}
}

// Filters, line endings, hooks, monitors, borrowed objects, and what is no file.
func TestARepositoryHasNoSayInWhatIsKept(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"a.txt": "one\r\ntwo\r\n", "id.c": "$Id$\n", "secret": "x\n"})
	ran := filepath.Join(t.TempDir(), "ran")
	for i := range 40 { // more than fewFiles, so git is asked
		s.write(t, fmt.Sprintf("f%d.txt", i), fmt.Sprintf("%d\r\n", i))
	}
	s.git(t, "init", "-q")
	s.git(t, "add", "-A")
	s.git(t, "commit", "-qm", "x")
	s.write(t, ".gitattributes", "* text=auto eol=crlf ident filter=evil working-tree-encoding=UTF-16\n")
	evil := "touch " + ran
	for key, value := range map[string]string{"filter.evil.clean": evil, "filter.evil.smudge": evil, "filter.evil.process": evil, "core.fsmonitor": evil, "core.sshCommand": evil,
		"core.alternateRefsCommand": evil, "remote.origin.promisor": "true", "remote.origin.url": "ext::" + evil, "extensions.partialClone": "origin", "core.hooksPath": "hooks"} {
		s.git(t, "config", key, value)
	}
	for _, hook := range []string{"post-checkout", "pre-commit", "fsmonitor-watchman", "post-index-change"} {
		proctest.Program(t, filepath.Join(s.env.Workspace, ".git/hooks", hook), "#!/bin/sh\n"+evil+"\n")
	}
	if err := errors.Join(os.WriteFile(filepath.Join(s.env.Workspace, ".git/objects/info/alternates"), []byte("/dev/zero\n"+filepath.Join(s.env.Workspace, "fifo")+"\n"), 0o644),
		syscall.Mkfifo(filepath.Join(s.env.Workspace, "fifo"), 0o644), os.Symlink("/etc", filepath.Join(s.env.Workspace, "etc")),
		os.Symlink("loop", filepath.Join(s.env.Workspace, "loop"))); err != nil {
		t.Fatal(err)
	}
	want := s.tree(t)
	s.shell(t, "for f in *.txt *.c; do echo x >$f; done; rm etc loop; mkfifo other; truncate -s 40M large")
	report, _ := s.undo(t, 0)
	wantSkipped(t, report, "large is larger than 33.6 MB")
	if err := errors.Join(os.Remove(filepath.Join(s.env.Workspace, "other")), os.Remove(filepath.Join(s.env.Workspace, "large"))); err != nil {
		t.Fatal(err)
	}
	s.wantTree(t, want)
	if _, err := os.Lstat(ran); err == nil {
		t.Error("a program of the repository's was run")
	}
}

func TestNoCopyOfASecretIsKeptForACommand(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{".env": "token=tok-1234567890abcdef\n", "f": "1\n"})
	s.shell(t, "echo 2 >f; rm .env")
	report, _ := s.undo(t, 0)
	wantSkipped(t, report, ".env may hold secrets by its name, so no copy of it was kept")
	holds("f", "1\n")(t, s.env, tool.Result{})
	if _, err := journal.In(s.env.StateDir).Content(journal.Hash([]byte("token=tok-1234567890abcdef\n"))); err == nil {
		t.Error("the secret was kept")
	}
}

func TestWhatIsNotCoveredIsNamed(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"f": "1\n", ".gitignore": "*.log\n", "x.log": "1\n", "sub/.git/HEAD": "ref: refs/heads/x\n", "sub/f": "1\n", "node_modules/p/f": "1\n"})
	s.shell(t, "echo 2 >f; echo 2 >x.log; echo 2 >y.log; echo 2 >sub/g; rm -r node_modules; mkfifo pipe")
	report, changed := s.undo(t, 0)
	wantSkipped(t, report)
	holds("f", "1\n")(t, s.env, tool.Result{})
	want := []string{
		"commands changed node_modules (it holds packages), pipe (it is no file, folder or link), sub (it is a repository of its own), x.log (git ignores it), y.log (git ignores it), which undo does not cover",
		"not covered: what commands changed in .git (commits, branches, stashes, what is staged), in files that git ignores, and outside the workspace",
	}
	if diff := cmp.Diff(want, changed.Uncovered); diff != "" {
		t.Errorf("not covered (-want +got):\n%s", diff)
	}
}

func TestNamesThatAreNotUTF8AreNotCovered(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"f": "1\n"})
	s.shell(t, `mkdir $'d\377'; mv f $'d\377/f'; echo 2 >f`)
	_, changed := s.undo(t, 0)
	holds("f", "1\n")(t, s.env, tool.Result{})
	want := `commands changed d` + "\uFFFD" + ` (its name is not valid UTF-8), which undo does not cover`
	if !slices.Contains(changed.Uncovered, want) {
		t.Errorf("not covered is %q, want %q", changed.Uncovered, want)
	}
}

// A folder that nobody may write to comes back with what is in it, for who is not root, too.
func TestAProtectedFolderComesBackWhole(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"d/e/f": "1\n"})
	chmod(t, s.env, "d/e", 0o500)
	chmod(t, s.env, "d", 0o500)
	t.Cleanup(func() { chmod(t, s.env, "d", 0o700); chmod(t, s.env, "d/e", 0o700) })
	s.shell(t, "chmod -R u+w d; rm -r d")
	report, _ := s.undo(t, 0)
	wantSkipped(t, report)
	holds("d/e/f", "1\n")(t, s.env, tool.Result{})
	hasMode(t, s.env, "d", 0o500)
	hasMode(t, s.env, "d/e", 0o500)
}

func TestWhatChangesWhileOnlyAJobRunsIsNamed(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"f": "1\n", "g": "1\n", "stop": ""})
	s.call(t, tool.Shell(), map[string]any{"command": "echo job >f; touch started; while [ -e stop ]; do sleep 0.01; done", "background": true})
	for _, err := os.Lstat(filepath.Join(s.env.Workspace, "started")); err != nil; _, err = os.Lstat(filepath.Join(s.env.Workspace, "started")) {
		time.Sleep(time.Millisecond)
	}
	s.write(t, "mine", "a person's\n")
	s.shell(t, "echo 2 >g; rm stop")
	s.env.Session.Close() // the job has ended
	report, _ := s.undo(t, 0)
	holds("g", "1\n")(t, s.env, tool.Result{})
	holds("mine", "a person's\n")(t, s.env, tool.Result{})
	holds("f", "job\n")(t, s.env, tool.Result{})
	const nobody = " was changed while a background command ran, and nobody knows by whom"
	wantSkipped(t, report, "f"+nobody, "mine"+nobody, "started"+nobody)
}

// The process is killed before, while and after a command runs; a person goes on.
func TestAfterAKillUndoKnowsWhatTheCommandChanged(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"f": "1\n", "g": "1\n", "h": "1\n", "d/x": "1\n"})
	j := journal.In(s.env.StateDir)
	s.shell(t, "true") // what was there is known
	killed := tool.BeginAndDie(t.Context(), &s.env, "c_2")
	s.write(t, "f", "2\n")
	if err := errors.Join(os.RemoveAll(filepath.Join(s.env.Workspace, "d")), os.WriteFile(filepath.Join(s.env.Workspace, "new"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	killed()
	// It was last known to be alive a minute ago; g is a person's. So is what changed now, as far as anybody knows.
	s.settled(run.CallSettled{Call: "c_2", Outcome: run.Unknown, Change: run.MayChange})
	if err := tool.DiedAt(s.env, "c_2", time.Now()); err != nil {
		t.Fatal(err)
	}
	report, _ := s.undo(t, 0)
	wantSkipped(t, report)
	for path, want := range map[string]string{"f": "1\n", "g": "1\n", "d/x": "1\n"} {
		holds(path, want)(t, s.env, tool.Result{})
	}
	if e, err := j.Entry(s.env.Run, "c_2"); err != nil || e.Command == nil || e.Command.Ended.IsZero() || len(e.Command.Files) != 4 {
		t.Errorf("the entry is %+v, %v", e.Command, err)
	}

	// The next one was killed long before.
	killed = tool.BeginAndDie(t.Context(), &s.env, "c_3")
	s.write(t, "g", "a person's\n")
	s.write(t, "late", "a person's\n")
	killed()
	s.settled(run.CallSettled{Call: "c_3", Outcome: run.Unknown, Change: run.MayChange})
	if err := tool.DiedAt(s.env, "c_3", time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	report, _ = s.undo(t, 2)
	const nobody = " was changed after pawl last saw the command run, and it is not known by whom"
	wantSkipped(t, report, "g"+nobody, "late"+nobody)
	holds("g", "a person's\n")(t, s.env, tool.Result{})
}

// If nothing can be stored the command runs, and undo says what it does not know.
func TestACommandRunsWhoseChangesCannotBeKept(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"f": "1\n"})
	if err := errors.Join(os.MkdirAll(s.env.StateDir, 0o700), os.WriteFile(filepath.Join(s.env.StateDir, "blobs"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.shell(t, "echo 2 >f; echo x >new")
	holds("f", "2\n")(t, s.env, tool.Result{})
	if err := os.Remove(filepath.Join(s.env.StateDir, "blobs")); err != nil {
		t.Fatal(err)
	}
	report, _ := s.undo(t, 0)
	if len(report.Skipped) != 1 || !strings.HasPrefix(report.Skipped[0].Reason, "f could not be kept: ") {
		t.Errorf("skipped: %+v", report.Skipped)
	}
	s = newStory(t, map[string]string{"f": "1\n"})
	if err := errors.Join(os.MkdirAll(s.env.StateDir, 0o700), os.WriteFile(filepath.Join(s.env.StateDir, "journal"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.shell(t, "echo 2 >f")
	holds("f", "2\n")(t, s.env, tool.Result{})
	if _, changed := s.undo(t, 0); !slices.Contains(changed.Uncovered, "what c_1 changed is not known") {
		t.Errorf("not covered: %q", changed.Uncovered)
	}
}

// Random commands, of several runs one after the other, in this process and the next: undo gives the tree that was there.
func TestUndoOfRandomCommandsGivesTheTreeThatWasThere(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 0))
			name := func() string {
				dir := []string{"", "a/", "a/b/", "c/"}[r.IntN(4)]
				return dir + string(rune('p'+r.IntN(5)))
			}
			s := newStory(t, map[string]string{"a/b/q": "q\n", "p": "p\n", "c/r": "r\n", "a/s": "s\n"})
			if seed%2 == 0 {
				s.git(t, "init", "-q")
				s.git(t, "add", "-A")
				s.git(t, "commit", "-qm", "x")
			}
			want := s.tree(t)
			var commands []string
			for range 12 {
				var parts []string
				for range 1 + r.IntN(4) {
					a, b := name(), name()
					parts = append(parts, []string{"echo " + a + " >>" + a, "rm -rf " + a, "mkdir -p " + a, "mv " + a + " " + b, "cp -r " + a + " " + b, "ln -sfn " + b + " " + a,
						"chmod 7" + fmt.Sprint(r.IntN(8)) + "0 " + a, "ln -f " + a + " " + b, "rm -rf a", "mkdir -p a/b c", "mv a c/", "touch " + a, "truncate -s 0 " + a}[r.IntN(13)])
				}
				command := "{ " + strings.Join(parts, "; ") + "; } 2>/dev/null; true"
				commands = append(commands, command)
				s.shell(t, command)
				if r.IntN(4) == 0 { // the next process
					s.env.Session.Close()
					s.env.Session = &tool.Session{}
				}
			}
			t.Cleanup(s.env.Session.Close)
			report, _ := s.undo(t, 0)
			if diff := cmp.Diff(want, s.tree(t)); diff != "" || len(report.Skipped) > 0 {
				t.Errorf("skipped %+v, the tree (-want +got):\n%s\n%s", report.Skipped, diff, strings.Join(commands, "\n"))
			}
		})
	}
}

// Another command of the run looks while one is at work: how things are then is neither its beginning nor its end.
func TestWhatIsSeenWhileACommandRunsIsNotWhatItLeaves(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"p": "p\n", "q": "q\n", ".gitignore": "hidden*\n", "hidden": "mine\n"})
	want := slices.DeleteFunc(s.tree(t), func(line string) bool { return strings.HasPrefix(line, "hidden") })
	raw := json.RawMessage(`{"command":"mkdir a b; chmod 0 b; echo x >.env; truncate -s 40M large p; rm q; mkdir q; mv hidden seen; touch ready; until [ -e go ]; do sleep 0.01; done; ` +
		`rmdir a b q; rm .env large ready go; echo 2 >p; echo 3 >.env; mv .env q; echo more >>seen"}`)
	s.shell(t, "sleep 0.1") // the clock of files counts in ticks
	done := make(chan tool.Result)
	go func() {
		r, _ := tool.Shell().Run(t.Context(), s.env.ForCall(), tool.Call{Run: s.env.Run, ID: "c_long", Args: raw, Sandbox: run.Unconfined})
		done <- r
	}()
	s.shell(t, "until [ -e ready ]; do sleep 0.01; done") // its end looks
	s.shell(t, "touch go")
	if r := <-done; r.IsError {
		t.Fatalf("%+v", r)
	}
	s.settled(run.CallSettled{Call: "c_long", Change: run.MayChange})
	report, _ := s.undo(t, 0)
	wantSkipped(t, report, "seen was there before under a name that is not covered")
	holds("seen", "mine\nmore\n")(t, s.env, tool.Result{})
	if err := os.Remove(filepath.Join(s.env.Workspace, "seen")); err != nil {
		t.Fatal(err)
	}
	s.wantTree(t, want)
}

// An interrupt does not wait until it is known what a command has changed: undo looks at that.
func TestAnInterruptDoesNotWaitForWhatACommandHasChanged(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"f": "1\n"})
	s.shell(t, "true")
	ctx, cancel := context.WithCancel(t.Context())
	raw := json.RawMessage(`{"command":"rm f; for i in $(seq 100); do echo $i >new$i; done; echo ready; sleep 600"}`)
	shown := func(text string) {
		if strings.Contains(text, "ready") {
			cancel()
		}
	}
	r, err := tool.Shell().Run(ctx, s.env.ForCall(), tool.Call{Run: s.env.Run, ID: "c_2", Args: raw, Sandbox: run.Unconfined, Progress: shown})
	if err != nil || !r.IsError || r.Change != run.MayChange {
		t.Fatalf("%+v, %v", r, err)
	}
	s.settled(run.CallSettled{Call: "c_2", Change: r.Change, Files: r.Files})
	s.env.Session.Close() // which waits for nobody either
	s.env.Session = &tool.Session{}
	report, _ := s.undo(t, 0)
	wantSkipped(t, report)
	left, err := filepath.Glob(filepath.Join(s.env.Workspace, "new*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	holds("f", "1\n")(t, s.env, tool.Result{})
}

// What a command has changed is undone before anybody has continued its run: the log has no end of the call then.
func TestUndoAfterAKillNeedsNoResume(t *testing.T) {
	t.Parallel()
	s := newStory(t, map[string]string{"f": "1\n"})
	s.shell(t, "true")
	killed := tool.BeginAndDie(t.Context(), &s.env, "c_2")
	s.write(t, "f", "2\n")
	killed()
	s.events = append(s.events, run.Event{Seq: 2, Payload: run.CallStarted{Call: "c_2", Attempt: 1}})
	if err := tool.DiedAt(s.env, "c_2", time.Now()); err != nil {
		t.Fatal(err)
	}
	report, _ := s.undo(t, 0)
	wantSkipped(t, report)
	holds("f", "1\n")(t, s.env, tool.Result{})
}
