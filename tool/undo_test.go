package tool_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
	"pawl/tool"
	"pawl/tool/changes"
	"pawl/tool/journal"
	"pawl/tool/tooltest"
)

func TestAfterAKillTheFileSaysWhatBecameOfTheCall(t *testing.T) {
	t.Parallel()
	for _, file := range []struct{ name, before string }{{"f", "before\n"}, {"made/new", ""}} {
		for _, kill := range []tool.Kill{tool.KilledAfterBlobs, tool.KilledAfterJournal, tool.KilledInTemp, tool.KilledBeforeRename, tool.KilledAfterRename} {
			t.Run(fmt.Sprintf("%s killed at %d", file.name, kill), func(t *testing.T) {
				t.Parallel()
				env := tooltest.NewEnv(t, map[string]string{"f": "before\n"})
				c := tool.Call{Run: env.Run, ID: "c_9", Args: tooltest.Args(map[string]any{"path": file.name, "content": "after\n"})}
				if err := tool.ChangeAndDie(env, c, file.name, []byte("after\n"), kill); err != nil {
					t.Fatal(err)
				}
				env.Session = &tool.Session{} // of the next process
				r, known := tool.Write().(tool.Reconciler).Reconcile(env, c)
				if !known {
					t.Fatal("nobody knows what became of it")
				}
				want := file.before
				if kill == tool.KilledAfterRename {
					want = "after\n"
					if r.IsError || r.Change != run.Changed || len(r.Files) != 1 || r.Files[0].After != tooltest.HashFile(t, env, file.name) {
						t.Errorf("it was done, and the result is %+v", r)
					}
				} else if r.IsError != true || r.Change != run.NoChange || r.Files != nil || !strings.Contains(run.PlainText(r.Content), "nothing was changed") {
					t.Errorf("it was not done, and the result is %+v", r)
				}
				if got, _ := os.ReadFile(filepath.Join(env.Workspace, file.name)); string(got) != want {
					t.Errorf("%s is %q, want %q", file.name, got, want)
				}
				err := filepath.WalkDir(env.Workspace, func(path string, _ fs.DirEntry, err error) error {
					if strings.Contains(path, ".pawl-") {
						t.Errorf("%s is left behind", path)
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				if kill == tool.KilledAfterRename {
					report, err := tool.Undo(env, r.Files)
					if err != nil || len(report.Skipped) > 0 || len(report.Changes) != 1 {
						t.Errorf("undo: %+v, %v", report, err)
					}
				}
			})
		}
	}
}

func TestAfterAKillNobodyKnowsWhenTheFileIsNeither(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"f": "before\n"})
	c := tool.Call{Run: env.Run, ID: "c_9"}
	if err := tool.ChangeAndDie(env, c, "f", []byte("after\n"), tool.KilledAfterRename); err != nil {
		t.Fatal(err)
	}
	tooltest.WriteFile(t, env, "f", "a person's\n")
	if r, known := tool.Edit().(tool.Reconciler).Reconcile(env, c); known {
		t.Errorf("the file is neither as before nor as after, and the result is %+v", r)
	}
	// Neither does anybody when the journal is gone.
	if err := os.RemoveAll(env.StateDir); err != nil {
		t.Fatal(err)
	}
	if r, known := tool.Edit().(tool.Reconciler).Reconcile(env, c); known {
		t.Errorf("the journal is gone, and the result is %+v", r)
	}
}

// A chain over three files: one edited twice, one made, one changed by a person
// in the meantime.
func TestUndoTakesAChainBackAndLeavesAPersonsWorkAlone(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"a": "a1\n", "b": "b1\n"})
	chmod(t, env, "a", 0o755)
	var made []run.FileChange
	do := func(tl tool.Tool, args map[string]any) {
		t.Helper()
		r := call(t, env, tl, args)
		if r.IsError {
			t.Fatal(run.PlainText(r.Content))
		}
		made = append(made, r.Files...)
	}
	edit := func(path, from, to string) {
		t.Helper()
		do(tool.Edit(), map[string]any{"path": path, "edits": []any{map[string]any{"old": from, "new": to}}})
	}
	edit("a", "a1", "a2")
	edit("b", "b1", "b2")
	do(tool.Write(), map[string]any{"path": "d/new", "content": "n1\n"})
	edit("a", "a2", "a3")
	edit("d/new", "n1", "n2")
	chmod(t, env, "d/new", 0o700)
	tooltest.WriteFile(t, env, "b", "a person's\n")

	report, err := tool.Undo(env, made)
	if err != nil {
		t.Fatal(err)
	}
	holds("a", "a1\n")(t, env, tool.Result{})
	hasMode(t, env, "a", 0o755)
	holds("b", "a person's\n")(t, env, tool.Result{})
	if _, err := os.Lstat(filepath.Join(env.Workspace, "d/new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file that was made is still there: %v", err)
	}
	want := []changes.Skipped{{Change: made[1], Reason: "b was changed after this"}}
	if diff := cmp.Diff(want, report.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}

	// Done again after a kill in between, it has nothing left to do.
	again, err := tool.Undo(env, made)
	if err != nil || len(again.Changes) != 0 || len(again.Skipped) != len(made) {
		t.Errorf("undo again: %+v, %v", again, err)
	}

	// And it can be undone itself.
	back, err := tool.Undo(env, report.Changes)
	if err != nil || len(back.Skipped) != 0 {
		t.Fatalf("undo of the undo: %+v, %v", back, err)
	}
	holds("a", "a3\n")(t, env, tool.Result{})
	holds("d/new", "n2\n")(t, env, tool.Result{})
	hasMode(t, env, "d/new", 0o700)
}

func TestUndoSkipsWhatAShellCommandChangedInTheMiddle(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"f": "1\n"})
	var changes []run.FileChange
	for i, from := range []string{"1", "2"} {
		if i == 1 {
			tooltest.WriteFile(t, env, "f", "2\nformatted\n") // between the edits
			call(t, env, tool.Read(), map[string]any{"path": "f"})
		}
		r := call(t, env, tool.Edit(), map[string]any{"path": "f", "edits": []any{map[string]any{"old": from, "new": string(from[0] + 1)}}})
		if r.IsError {
			t.Fatal(run.PlainText(r.Content))
		}
		changes = append(changes, r.Files...)
	}
	report, err := tool.Undo(env, changes)
	if err != nil {
		t.Fatal(err)
	}
	holds("f", "2\nformatted\n")(t, env, tool.Result{})
	if len(report.Skipped) != 1 || report.Skipped[0].Change != changes[0] {
		t.Errorf("skipped: %+v", report.Skipped)
	}
}

func TestUndoIsWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"a": "a1\n"})
	r := call(t, env, tool.Edit(), map[string]any{"path": "a", "edits": []any{map[string]any{"old": "a1", "new": "a2"}}})
	changes := r.Files
	r = call(t, env, tool.Write(), map[string]any{"path": "b", "content": "b1\n"})
	changes = append(changes, r.Files...)

	// Without its blob a cannot be put back: it is skipped, and the rest is done.
	blobs, err := filepath.Glob(filepath.Join(env.StateDir, "blobs", changes[0].Before+"*"))
	if err != nil || len(blobs) != 1 {
		t.Fatal(blobs, err)
	}
	if err := os.WriteFile(blobs[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := tool.Undo(env, changes)
	if err != nil || len(report.Skipped) != 1 || !strings.Contains(report.Skipped[0].Reason, "is damaged") {
		t.Errorf("%+v, %v", report, err)
	}
	holds("a", "a2\n")(t, env, tool.Result{})

	// Whatever fails half way, what was done before it is taken back.
	env = tooltest.NewEnv(t, map[string]string{"a": "a1\n", "z": "z1\n"})
	changes = nil
	for _, f := range []string{"a", "z"} {
		r := call(t, env, tool.Edit(), map[string]any{"path": f, "edits": []any{map[string]any{"old": "1", "new": "2"}}})
		changes = append(changes, r.Files...)
	}
	made := call(t, env, tool.Write(), map[string]any{"path": "made", "content": "m\n"})
	changes = append(append(changes[:1:1], made.Files...), changes[1])
	err = tool.UndoDisturbed(env, changes, func() { tooltest.WriteFile(t, env, "z", "a person's, just now\n") })
	if err == nil || !strings.Contains(err.Error(), "z was changed by another process just now, and was not touched") {
		t.Errorf("%v", err)
	}
	holds("a", "a2\n")(t, env, tool.Result{})
	holds("made", "m\n")(t, env, tool.Result{})
	holds("z", "a person's, just now\n")(t, env, tool.Result{})

	// A journal that cannot be written stops it before anything is touched.
	env = tooltest.NewEnv(t, map[string]string{"a": "a1\n", "z": "z1\n"})
	changes = nil
	for _, f := range []string{"a", "z"} {
		r := call(t, env, tool.Edit(), map[string]any{"path": f, "edits": []any{map[string]any{"old": "1", "new": "2"}}})
		changes = append(changes, r.Files...)
	}
	if err := os.RemoveAll(filepath.Join(env.StateDir, "journal")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(env.StateDir, "journal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if report, err := tool.Undo(env, changes); err == nil || !strings.Contains(err.Error(), "cannot be journaled") || len(report.Changes) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	holds("a", "a2\n")(t, env, tool.Result{})
	holds("z", "z2\n")(t, env, tool.Result{})
}

func TestUndoSaysWhatIsInTheWayAndLeavesIt(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, nil)
	made := call(t, env, tool.Write(), map[string]any{"path": "d/x", "content": "new\n"}).Files
	path := filepath.Join(env.Workspace, "d/x")
	for want, put := range map[string]func() error{
		"d/x cannot be restored: it is a named pipe, not a file": func() error { return syscall.Mkfifo(path, 0o600) },
		"d/x was changed after this":                             func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := errors.Join(os.Remove(path), put()); err != nil {
			t.Fatal(err)
		}
		report, err := tool.Undo(env, made)
		if err != nil || len(report.Changes) > 0 || len(report.Skipped) != 1 || report.Skipped[0].Reason != want {
			t.Errorf("want %q, got %+v, %v", want, report, err)
		}
	}
}

func TestKeptContentsAreForThisUserAlone(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"f": "x\n"})
	call(t, env, tool.Edit(), map[string]any{"path": "f", "edits": []any{map[string]any{"old": "x", "new": "y"}}})
	n := 0
	err := filepath.WalkDir(env.StateDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == env.StateDir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		n++
		return nil
	})
	if err != nil || n < 5 { // two folders, a run's folder, a blob, an entry
		t.Errorf("%d entries, %v", n, err)
	}
}

func TestWhatADiskRefusesIsSaidInWords(t *testing.T) {
	t.Parallel()
	for errno, want := range map[syscall.Errno]string{
		syscall.ENOSPC: "the disk is full: free some space and try again",
		syscall.EROFS:  "the file system is read-only",
		syscall.EIO:    "the disk has an error (input/output error)",
		syscall.EACCES: "permission denied: this user may not",
		syscall.EBUSY:  "device or resource busy",
	} {
		err := tool.InWords(fmt.Errorf("writing: %w", &fs.PathError{Op: "write", Path: "/x", Err: errno}))
		if err.Error() != want || !errors.Is(err, errno) {
			t.Errorf("%v is said as %q, want %q", errno, err, want)
		}
	}
}

// Whatever is edited, undo restores every byte, and untouched bytes stay.
func FuzzEditAndUndoRestoreEveryByte(f *testing.F) {
	f.Add("a\r\nb\nc", "b", "x\ny", "c", "", false)
	f.Add("\ufeffone\r\ntwo\r\n", "one\ntwo\n", "1", "1", "2\n", true)
	f.Add("aaaa\n", "aa", "b", "b", "aa\r\n", true)
	f.Add("x", "x", "", "", "", false)
	env := tooltest.NewEnv(f, nil)
	f.Fuzz(func(t *testing.T, content, old1, new1, old2, new2 string, all bool) {
		edits := []tool.Replacement{{Old: old1, New: new1, All: all}, {Old: old2, New: new2, All: all}}
		if after, err := tool.ReplaceAll([]byte(content), edits[:1]); err == nil {
			if strings.HasPrefix(content, "\ufeff") && !strings.HasPrefix(string(after), "\ufeff") {
				t.Fatalf("the byte order mark is gone: %q became %q", content, after)
			}
			bare := strings.ReplaceAll(content, "\r\n", "")
			if bare != content && !strings.ContainsAny(bare+old1+new1, "\r") && !strings.Contains(bare, "\n") &&
				strings.Contains(strings.ReplaceAll(string(after), "\r\n", ""), "\n") {
				t.Fatalf("a file of \\r\\n alone got a \\n: %q became %q", content, after)
			}
		}
		tooltest.WriteFile(t, env, "f", content)
		before := tooltest.HashFile(t, env, "f")
		env.Session = nil
		r, err := tool.Edit().Run(t.Context(), env, tool.Call{Run: "r_1", ID: "c_1", Args: tooltest.Args(map[string]any{"path": "f", "edits": edits})})
		if err != nil {
			t.Fatal(err)
		}
		if r.IsError {
			if tooltest.HashFile(t, env, "f") != before {
				t.Fatalf("a failed edit changed the file: %s", run.PlainText(r.Content))
			}
			return
		}
		if r.Files[0].Before != before || r.Files[0].After != tooltest.HashFile(t, env, "f") {
			t.Fatalf("the change is reported as %+v", r.Files)
		}
		if report, err := tool.Undo(env, r.Files); err != nil || len(report.Skipped) > 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		if got := tooltest.HashFile(t, env, "f"); got != before {
			t.Fatalf("undo made %s of %s", got, before)
		}
	})
}

func TestAnUndoThatWasKilledLeavesNothingBehindForTheNext(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"d/f": "after\n"})
	c := tool.Call{Run: env.Run, ID: "undo-killed"}
	if err := tool.ChangeAndDie(env, c, "d/f", []byte("before\n"), tool.KilledBeforeRename); err != nil {
		t.Fatal(err)
	}
	left := func() []string {
		names, err := filepath.Glob(filepath.Join(env.Workspace, "d", ".pawl-*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if len(left()) != 1 {
		t.Fatalf("the kill left %v, want one temporary file", left())
	}
	if _, err := tool.Undo(env, nil); err != nil {
		t.Fatal(err)
	}
	if names := left(); len(names) > 0 {
		t.Errorf("after the next undo there is still %v", names)
	}
}

// A journal that came from elsewhere, or was changed, names files that are a person's.
func TestAJournalRemovesNoFileThatIsNotTemporary(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"f": "a\n", "d/f": "b\n", "d/keep": "c\n", ".pawl-notes/f": "d\n"})
	for i, temp := range []string{"f", "keep", "../f", ".pawl-x/../keep", "../.pawl-notes/f"} {
		call := fmt.Sprintf("undo-%d", i)
		if _, err := journal.In(env.StateDir).Record(env.Run, call, journal.Entry{Path: "d/f", Temp: temp}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tool.Undo(env, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "d/f", "d/keep", ".pawl-notes/f"} {
		if _, err := os.Stat(filepath.Join(env.Workspace, name)); err != nil {
			t.Error(err)
		}
	}
}
