package board_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/app"
	"pawl/board"
	"pawl/store"
	"pawl/task"
)

// git makes the place a repository with a commit, and runs git in it.
func (p *place) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes the place a repository.
func (p *place) repository() {
	p.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		p.t.Skip("needs git")
	}
	p.write("a.txt", "one\n")
	p.git("init", "--quiet", "--initial-branch=main")
	p.git("config", "user.name", "Anna")
	p.git("config", "user.email", "anna@example.org")
	p.git("add", ".")
	p.git("commit", "--quiet", "-m", "first")
}

func (p *place) write(name, content string) {
	p.t.Helper()
	ok(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o600))
}

func (p *place) isolated(ws *app.Workspace, description string) task.ID {
	p.t.Helper()
	s, err := board.Of(ws).Add(p.t.Context(), "anna", task.Created{Description: description, Isolation: task.Clone})
	ok(p.t, err)
	id := s.Created.Task
	_, err = board.Of(ws).Plan(p.t.Context(), id, "anna")
	ok(p.t, err)
	return id
}

const done = `{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}` + "\n"

func TestTwoTasksWorkInCopiesOfOneRepositoryAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+`
{"when":{"first":"write left"},"calls":[{"tool":"write","args":{"path":"left.txt","content":"left\n"}}]}
{"when":{"first":"write right"},"calls":[{"tool":"handoff","args":{"agent":"writer","prompt":"right words"}}]}
{"when":{"first":"right words"},"calls":[{"tool":"write","args":{"path":"right.txt","content":"right\n"}}]}
{"when":{"first":"right words"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Written."}}]}
`+done)
	p.env["PAWL_MODE"] = "accept-edits"
	p.repository()
	p.write("mine.txt", "not committed\n")
	before := p.git("rev-parse", "HEAD")
	ws := p.open()
	p.drives(ws, board.Options{})
	left, right := p.isolated(ws, "write left"), p.isolated(ws, "write right")
	for _, id := range []task.ID{left, right} {
		wait(t, ws, id, task.Planned)
		_, err := board.Of(ws).Start(t.Context(), id, "anna", "")
		ok(t, err)
	}
	for id, file := range map[task.ID]string{left: "left.txt", right: "right.txt"} {
		s := wait(t, ws, id, task.Completed)
		if s.Copy == nil || s.Copy.UncommittedCount != 1 || s.Copy.Uncommitted[0] != "mine.txt" || s.Copy.Branch != "pawl/"+string(id) || s.Copy.From != "main" {
			t.Fatalf("the card says of the copy: %+v", s.Copy)
		}
		d, err := board.Of(ws).Diff(t.Context(), id, "")
		ok(t, err)
		if len(d.Files) != 1 || d.Files[0].Name != file || d.Files[0].Added != 1 {
			t.Errorf("the diff of %s: %+v", id, d.Files)
		}
		m, err := board.Of(ws).Merge(t.Context(), id, "anna", "")
		ok(t, err)
		if s, err = board.Of(ws).Load(t.Context(), id); err != nil || s.Copy.Merged != m.Commit {
			t.Errorf("%+v, %v", s.Copy, err)
		}
	}
	if p.git("rev-parse", "HEAD") != before || p.git("status", "--porcelain") != "?? mine.txt" {
		t.Errorf("the person's tree was changed: %s", p.git("status", "--porcelain"))
	}
	p.git("merge", "--quiet", "pawl/"+string(left))
	p.git("merge", "--quiet", "-m", "both", "pawl/"+string(right))
	for _, file := range []string{"left.txt", "right.txt"} {
		if _, err := os.Stat(filepath.Join(p.dir, file)); err != nil {
			t.Error(err)
		}
	}
}

// A task that names a revision works in a copy of it.
func TestATaskWorksInACopyOfItsRevision(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+"\n"+done)
	p.repository()
	p.git("checkout", "--quiet", "-b", "release-2")
	p.git("commit", "--quiet", "--allow-empty", "-m", "release")
	release := p.git("rev-parse", "HEAD")
	p.git("checkout", "--quiet", "main")
	ws := p.open()
	p.drives(ws, board.Options{})
	for _, revision := range []string{"-x", "a..b", "main~1", "a b", "@{u}", "a:b"} {
		if _, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "x", Revision: revision}); !errors.As(err, new(*task.InputError)) {
			t.Errorf("the revision %q: %v", revision, err)
		}
	}
	s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "repair it", Revision: "release-2", Start: true})
	ok(t, err)
	if s = wait(t, ws, s.Created.Task, task.Completed); s.Copy == nil || s.Copy.Base != release || s.Copy.From != "release-2" {
		t.Errorf("its copy is %+v", s.Copy)
	}
}

func TestACopyIsKeptUntilItIsDiscardedOrItsTaskRemoved(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+`
{"when":{"first":"write it","system":"the agent writer"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}
{"when":{"first":"write it"},"calls":[{"tool":"write","args":{"path":"b.txt","content":"two\n"}}]}
{"when":{"first":"write it"},"calls":[{"tool":"completion-report","args":{"status":"failed","summary":"No."}}]}
`)
	p.env["PAWL_MODE"] = "accept-edits"
	p.repository()
	ws := p.open()
	p.drives(ws, board.Options{})
	id := p.isolated(ws, "write it")
	wait(t, ws, id, task.Planned)
	_, err := board.Of(ws).Start(t.Context(), id, "anna", "")
	ok(t, err)
	s := wait(t, ws, id, task.Failed)
	where := s.Copy.Dir
	// A retry continues in the copy, with what is there.
	_, err = board.Of(ws).Do(t.Context(), id, "anna", task.Move{On: task.OnRetry})
	ok(t, err)
	_, err = board.Of(ws).Start(t.Context(), id, "anna", "writer")
	ok(t, err)
	s = wait(t, ws, id, task.Completed)
	if content, err := os.ReadFile(filepath.Join(where, "b.txt")); err != nil || string(content) != "two\n" || s.Copy.Dir != where {
		t.Errorf("%q, %v, %+v", content, err, s.Copy)
	}
	s, err = board.Of(ws).Discard(t.Context(), id, "anna")
	ok(t, err)
	gone := func() {
		t.Helper()
		if _, err := os.Stat(where); !os.IsNotExist(err) {
			t.Errorf("the copy: %v", err)
		}
		if refs := p.git("for-each-ref", "refs/pawl"); refs != "" {
			t.Errorf("kept in the person's repository: %s", refs)
		}
	}
	if gone(); s.Copy != nil {
		t.Errorf("%+v", s.Copy)
	}
	// After that the next start makes another one.
	_, err = board.Of(ws).Do(t.Context(), id, "anna", task.Move{On: task.OnReopen})
	ok(t, err)
	_, err = board.Of(ws).Start(t.Context(), id, "anna", "writer")
	ok(t, err)
	s = wait(t, ws, id, task.Completed)
	if _, err := os.Stat(filepath.Join(s.Copy.Dir, "b.txt")); !os.IsNotExist(err) {
		t.Errorf("the new copy has what was discarded: %v", err)
	}
	_, err = board.Of(ws).Remove(t.Context(), id)
	ok(t, err)
	gone()
	if _, err := board.Of(ws).Load(t.Context(), id); err == nil || !strings.Contains(err.Error(), store.ErrNoTask.Error()) {
		t.Errorf("%v", err)
	}
}

func TestATaskIsNotStartedWhereThereCanBeNoCopy(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan)
	ws := p.open()
	p.drives(ws, board.Options{})
	id := p.isolated(ws, "write it")
	wait(t, ws, id, task.Planned)
	_, err := board.Of(ws).Start(t.Context(), id, "anna", "")
	if err == nil || !strings.Contains(err.Error(), "not in a git repository") {
		t.Errorf("%v", err)
	}
	if s := wait(t, ws, id, task.Planned); s.Copy != nil || len(s.Chain) != 1 {
		t.Errorf("%+v", s)
	}
	for what, err := range map[string]error{
		"diff":    second(board.Of(ws).Diff(t.Context(), id, "")),
		"merge":   second(board.Of(ws).Merge(t.Context(), id, "anna", "")),
		"discard": second(board.Of(ws).Discard(t.Context(), id, "anna")),
	} {
		if err == nil || !strings.Contains(err.Error(), "has no copy") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestATaskIsHandedOnWhileItsAgentWorks(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+`
{"when":{"first":"carry on","system":"the agent writer"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Written."}}]}
{"when":{"first":"carry on"},"calls":[{"tool":"shell","args":{"command":"touch waits"}}]}
`)
	ws := p.open()
	p.drives(ws, board.Options{})
	id := add(t, ws, "carry on")
	_, err := board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	wait(t, ws, id, task.Planned)
	_, err = board.Of(ws).Start(t.Context(), id, "anna", "")
	ok(t, err)
	s := until(t, ws, id, "waiting for a permission", func(s task.State) bool { return s.WaitsFor() == "permission" })
	if _, err := board.Of(ws).HandOn(t.Context(), id, "anna", "nobody", ""); err == nil || !strings.Contains(err.Error(), "no agent") {
		t.Errorf("%v", err)
	}
	_, err = board.Of(ws).HandOn(t.Context(), id, "anna", "writer", "Only write.")
	ok(t, err)
	first := s.Chain[1].ID
	s = wait(t, ws, id, task.Completed)
	if s.Chain[1].End.End != "interrupted" || s.Chain[2].Agent != "writer" || s.Report.Summary != "Written." || len(s.Permissions) > 0 {
		t.Errorf("%+v", s)
	}
	// The run belongs to the task: no one continues it by hand.
	_, err = ws.Resume(t.Context(), string(first), app.Task{})
	if err == nil || !strings.Contains(err.Error(), "belongs to task "+string(id)) || !strings.Contains(err.Error(), "pawl task say "+string(id)) {
		t.Errorf("%v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestAnAgentWithIsolationWorksInACopy, and a command that it runs is confined to it and
// commits there.
func TestAnAgentWithIsolationWorksInACopy(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+`
{"when":{"first":"commit it"},"calls":[{"tool":"shell","args":{"command":"echo two > c.txt && git add c.txt && git commit -qm second && pwd"}}]}
`+done)
	p.repository()
	agents := filepath.Join(p.env["HOME"], ".config", "pawl", "agents")
	ok(t, os.MkdirAll(agents, 0o700))
	ok(t, os.WriteFile(filepath.Join(agents, "apart.md"), []byte("---\ndescription: Works apart.\nisolation: clone\npermissions: {mode: accept-edits, allow: [shell(echo *), shell(git *), shell(pwd)]}\n---\nWork.\n"), 0o600))
	ws := p.open()
	p.drives(ws, board.Options{})
	id := add(t, ws, "commit it")
	_, err := board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	wait(t, ws, id, task.Planned)
	_, err = board.Of(ws).Start(t.Context(), id, "anna", "apart")
	ok(t, err)
	s := wait(t, ws, id, task.Completed)
	d, err := board.Of(ws).Diff(t.Context(), id, "")
	ok(t, err)
	if s.Copy == nil || d.Commits != 1 || len(d.Files) != 1 {
		events, _, _ := ws.Load(t.Context(), s.Chain[1].ID)
		t.Errorf("%+v %+v\n%+v", s.Copy, d, events)
	}
}

// In the copy a worker edits unasked; in the folder itself it asks, and so does a command that is no edit.
func TestWhatOnlyChangesTheCopyRunsUnasked(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+`
{"when":{"first":"Carry out this task"},"calls":[{"tool":"write","args":{"path":"b.txt","content":"two\n"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"go generate ./...","sandbox":"write"}}]}
`)
	p.repository()
	ws := p.open()
	p.drives(ws, board.Options{})
	id := p.isolated(ws, "Edit it.")
	wait(t, ws, id, task.Planned)
	_, err := board.Of(ws).Start(t.Context(), id, "anna", "")
	ok(t, err)
	s := until(t, ws, id, "waiting for a permission", func(s task.State) bool { return s.WaitsFor() == "permission" })
	if s.Permissions[0].Tool != "shell" {
		t.Errorf("it asks about %+v", s.Permissions)
	}
	if b, err := os.ReadFile(filepath.Join(s.Copy.Dir, "b.txt")); string(b) != "two\n" || err != nil {
		t.Errorf("the copy has %q, %v", b, err)
	}
}
