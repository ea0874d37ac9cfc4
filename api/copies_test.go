package api_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs git in the folder.
func (s *served) git(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes the folder a repository with a commit.
func (s *served) repository() {
	s.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		s.t.Skip("needs git")
	}
	must(s.t, os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("one\n"), 0o600))
	s.git("init", "--quiet", "--initial-branch=main")
	s.git("config", "user.name", "Anna")
	s.git("config", "user.email", "anna@example.org")
	s.git("add", ".")
	s.git("commit", "--quiet", "-m", "first")
}

const copyReplies = planReply + `
{"when":{"first":"Carry out this task","system":"the agent writer"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Both lines are there."}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"write","args":{"path":"b.txt","content":"two\n"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"blocked","summary":"Started.","blockedReason":"Someone else has to look."}}]}
`

// A task works in a copy, another agent carries on in it, and a person looks at what was
// changed, merges it and removes the copy.
func TestWhatATaskChangedInItsCopyIsShownMergedAndDiscarded(t *testing.T) {
	t.Parallel()
	s := serve(t, copyReplies)
	s.repository()
	s.env["PAWL_MODE"] = "accept-edits"
	s.start()
	s.drive()
	created := s.do("POST", "/tasks", `{"description":"Write the second line.","isolation":"clone"}`).is(201)
	id := created.text("id")
	path := "/tasks/" + id
	if created.text("isolation") != "clone" {
		t.Errorf("created %+v", created.v)
	}
	s.do("GET", path+"/diff", "").problem(409, "NO_COPY")
	s.do("GET", path+"/merge", "").problem(409, "NO_COPY")
	s.do("POST", path+"/merge", "").problem(409, "NO_COPY")
	s.do("POST", path+"/discard", "").problem(409, "NO_COPY")
	s.do("POST", path+"/handoff", `{"agent":"writer"}`).problem(409, "INVALID_TRANSITION")
	s.do("POST", path+"/plan", "").is(200)
	s.wait(id, "planned")
	s.do("POST", path+"/start", "").is(200)
	if waits := s.wait(id, "waiting"); waits.text("copy.branch") != "pawl/"+id {
		t.Fatalf("the copy is %+v", waits.at("copy"))
	}

	diff := s.do("GET", path+"/diff", "").is(200)
	if diff.text("files.0.name") != "b.txt" || diff.at("files.0.added") != 1. || diff.at("commits") != 0. || !strings.Contains(diff.text("patch"), "+two") || diff.text("base") != s.git("rev-parse", "HEAD") {
		t.Errorf("the diff is %+v", diff.v)
	}
	s.do("PATCH", path, `{"isolation":""}`).problem(409, "INVALID_TRANSITION")
	s.do("POST", path+"/discard", "").problem(409, "INVALID_TRANSITION")
	for body, field := range map[string]string{`{"agent":"nowhere"}`: "agent", `{}`: "", `{"agent":"writer","promt":"x"}`: "promt"} {
		if p := s.do("POST", path+"/handoff", body).problem(422, "INVALID_INPUT"); field != "" && p.text("errors.0.field") != field {
			t.Errorf("a handoff %s: %+v", body, p.v)
		}
	}
	s.do("POST", path+"/handoff", `{"agent":"task-validator"}`).problem(422, "INVALID_INPUT")
	s.do("POST", path+"/handoff", `{"agent":"writer","prompt":"Look at b.txt."}`).is(200)
	done := s.until(id, "completed", func(v value) bool {
		return v.text("status.name") == "completed" && v.text("report.summary") == "Both lines are there."
	})
	if done.text("runs.2.agent") != "writer" || !strings.Contains(done.text("runs.2.assignments.0.input"), "Look at b.txt.") {
		t.Errorf("the runs are %+v", done.at("runs"))
	}

	s.git("branch", "pawl/"+id)
	s.git("commit", "--quiet", "--allow-empty", "-m", "mine")
	s.git("branch", "--force", "pawl/"+id)
	if p := s.do("POST", path+"/merge", "").problem(409, "GIT"); !strings.Contains(p.text("error"), "git branch -m pawl/"+id) {
		t.Errorf("a branch with other commits: %+v", p.v)
	}
	s.git("branch", "--delete", "--force", "pawl/"+id)
	if met := s.do("GET", path+"/merge", "").is(200); met.text("into") != "main" || met.at("known") != true || met.at("unchanged") != false || len(met.items("conflicts"))+len(met.items("uncommitted")) > 0 {
		t.Errorf("a merge would meet %+v", met.v)
	}
	if p := s.do("POST", path+"/merge", `{"tree":"`+strings.Repeat("1", 40)+`"}`).problem(409, "GIT"); !strings.Contains(p.text("error"), "was changed since") {
		t.Errorf("a merge of what is not there any more: %+v", p.v)
	}
	s.do("POST", path+"/merge", `{"tree":"HEAD"}`).problem(422, "INVALID_INPUT")
	tree := s.do("GET", path+"/diff", "").is(200).text("tree")
	if met := s.do("GET", path+"/merge", "").is(200); met.text("tree") != tree {
		t.Errorf("a merge would be of %s, and what is shown is %s", met.text("tree"), tree)
	}
	merged := s.do("POST", path+"/merge", `{"tree":"`+tree+`"}`).is(200)
	if merged.text("branch") != "pawl/"+id || merged.text("into") != "main" || merged.at("unchanged") != false || merged.at("contained") != false || merged.at("known") != true ||
		len(merged.items("conflicts")) != 0 || merged.text("commit") != s.git("rev-parse", "pawl/"+id) {
		t.Errorf("merged %+v", merged.v)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "b.txt")); err == nil {
		t.Error("merge has changed the files of the repository")
	}
	s.git("merge", "--quiet", "-m", "both", "pawl/"+id)
	if again := s.do("POST", path+"/merge", "").is(200); again.at("contained") != true {
		t.Errorf("merged again: %+v", again.v)
	}
	if discarded := s.do("POST", path+"/discard", "").is(200); discarded.at("copy") != nil {
		t.Errorf("discarded: %+v", discarded.v)
	}
	s.do("GET", path+"/diff", "").problem(409, "NO_COPY")
	if edited := s.do("PATCH", path, `{"isolation":""}`).is(200); edited.at("isolation") != nil {
		t.Errorf("edited: %+v", edited.v)
	}
}

func TestACopyThatCannotBeMadeIsARefusalOfTheStart(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	s := serve(t, planReply)
	s.drive()
	id := s.add("Write the second line.")
	s.do("PATCH", "/tasks/"+id, `{"isolation":"container"}`).problem(422, "INVALID_INPUT")
	s.do("POST", "/tasks", `{"description":"x","isolation":"container"}`).problem(422, "INVALID_INPUT")
	s.do("PATCH", "/tasks/"+id, `{"isolation":"clone"}`).is(200)
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "planned")
	if p := s.do("POST", "/tasks/"+id+"/start", "").problem(422, "INVALID_INPUT"); p.text("errors.0.field") != "isolation" || !strings.Contains(p.text("error"), "not in a git repository") {
		t.Errorf("%+v", p.v)
	}
	s.do("POST", "/tasks/"+id+"/start", `{"agent":"nowhere"}`).problem(422, "INVALID_INPUT")
	if state := s.wait(id, "planned"); state.at("copy") != nil {
		t.Errorf("the copy is %+v", state.at("copy"))
	}
}

const reviewReplies = planReply + `
{"when":{"first":"Carry out this task","contains":"is it needed"},"calls":[{"tool":"write","args":{"path":"b.txt","content":"one\ntwo\n"}},{"tool":"completion-report","args":{"status":"complete","summary":"Changed.","comments":[{"id":"c2","became":"changed","answer":"It is two now."},{"id":"c3","became":"answered","answer":"Yes."}]}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"write","args":{"path":"b.txt","content":"one\n"}},{"tool":"completion-report","args":{"status":"complete","summary":"Written."}}]}
`

// A review has its effect once, the agent says what became of each comment, and the person sees what was changed since.
func TestAReviewIsSentAsOneMessageAndAnsweredCommentByComment(t *testing.T) {
	t.Parallel()
	s := serve(t, reviewReplies)
	s.repository()
	s.env["PAWL_MODE"] = "accept-edits"
	s.start()
	s.drive()
	id := s.do("POST", "/tasks", `{"description":"Write the list.","isolation":"clone"}`).is(201).text("id")
	path := "/tasks/" + id
	s.do("POST", path+"/reviews", `{"comments":[{"file":"b.txt","text":"x"}]}`).is(201) // for the agent that is to come
	if v := s.do("GET", path+"/reviews", "").is(200); v.text("items.0.state") != "queued" || v.at("items.0.comments.0.became") != nil {
		t.Errorf("the review is %+v", v.v)
	}
	s.do("DELETE", path+"/messages/"+s.do("GET", path+"/reviews", "").is(200).text("items.0.id"), "").is(200)
	s.do("POST", path+"/plan", "").is(200)
	s.wait(id, "planned")
	s.do("POST", path+"/start", "").is(200)
	s.wait(id, "completed")
	tree := s.do("GET", path+"/diff", "").is(200).text("tree")
	review := `{"text":"Two things.","tree":"` + tree + `","comments":[{"file":"b.txt","line":1,"quoted":"one","text":"Why one?"},{"file":"b.txt","text":"And is it needed?"}]}`
	for _, bad := range []string{`{"comments":[]}`, `{"comments":[{"file":"b.txt","text":" "}]}`, `{"comments":[{"text":"x"}]}`, `{"comments":[{"file":"b","text":"x","side":"left"}]}`, `{"comments":[{"file":"b","text":"x","became":"open"}]}`, `{"tree":"HEAD","comments":[{"file":"b","text":"x"}]}`} {
		s.do("POST", path+"/reviews", bad).problem(422, "INVALID_INPUT")
	}
	key := with("Idempotency-Key", "one")
	s.do("POST", path+"/reviews", review, key).is(201)
	s.do("POST", path+"/reviews", review, key).is(201)
	done := s.until(id, "answered", func(v value) bool {
		return v.text("report.summary") == "Changed." && v.text("status.name") == "completed"
	})
	if n := len(done.items("messages")); n != 2 {
		t.Errorf("there are %d messages", n)
	}
	got := s.do("GET", path+"/reviews", "").is(200)
	for at, want := range map[string]any{"items.1.tree": tree, "items.1.comments.0.id": "c2", "items.1.comments.0.side": "new", "items.1.comments.0.became": "changed",
		"items.1.comments.0.answer": "It is two now.", "items.1.comments.1.became": "answered", "items.1.comments.1.side": nil, "items.0.comments.0.became": nil} {
		if v := got.at(at); v != want {
			t.Errorf("%s is %v, not %v", at, v, want)
		}
	}
	if since := s.do("GET", path+"/diff?since="+tree, "").is(200); since.at("files.0.added") != 1. || strings.Contains(since.text("patch"), "+one") {
		t.Errorf("since then: %+v", since.v)
	}
	s.do("GET", path+"/diff?since="+strings.Repeat("1", 40), "").problem(409, "GIT")
	s.do("GET", path+"/diff?since=HEAD", "").problem(422, "INVALID_INPUT")
}

// What a person merges on the board is what they saw: what was changed since is shown first. What cannot be known of a
// merge is said with its reason.
func TestAMergeIsOfWhatWasShown(t *testing.T) {
	t.Parallel()
	s := serve(t, reviewReplies)
	s.repository()
	s.env["PAWL_MODE"] = "accept-edits"
	s.start()
	s.drive()
	id := s.do("POST", "/tasks", `{"description":"Write the list.","isolation":"clone","start":true}`).is(201).text("id")
	dir := s.wait(id, "completed").text("copy.dir")
	b := s.browse(1400)
	b.open("#/tasks/" + id + "/review")
	b.sees("No conflicts with main.")
	must(t, os.WriteFile(filepath.Join(dir, "late.txt"), []byte("late\n"), 0o600))
	b.click("Merge")
	b.sees("was changed since")
	b.sees("late.txt")
	if branches := s.git("branch", "--list", "pawl/*"); branches != "" {
		t.Errorf("the repository has %s", branches)
	}
	index := filepath.Join(s.dir, ".git", "index")
	must(t, os.Rename(index, index+".kept"))
	must(t, os.WriteFile(index, []byte("damaged"), 0o600))
	b.open("#/")
	b.sees("1 thing needs you")
	b.open("#/tasks/" + id + "/review")
	b.sees("What a merge would meet is not known: ")
	must(t, os.Rename(index+".kept", index))
	b.click("Merge")
	b.sees("The branch is in your repository")
	if got := s.git("show", "pawl/"+id+":late.txt"); got != "late" {
		t.Errorf("the branch has %q", got)
	}
}
