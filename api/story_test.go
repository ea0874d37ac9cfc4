package api_test

import (
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/run"
	"pawl/tasklog"
)

const storyReplies = `
{"when":{"first":"Plan this task","contains":"2. Folders too?\nNo."},"calls":[{"tool":"planner-output","args":{"tool":"planner-output","type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["list","count"]}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Hidden ones?","Folders too?"]}}]}
{"when":{"first":"Carry out this task","contains":"Be quick."},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three.","output":"3"}}]}
{"when":{"first":"Carry out this task"},"text":"I count.","calls":[{"tool":"shell","args":{"command":"touch counted"}}]}
`

// The whole life of a task, with a server that is stopped in the middle and another that
// continues.
func TestATaskIsPlannedAskedEditedStartedAllowedAndCompletedOverHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, storyReplies)
	stop := s.drive()
	id := s.add("Count the files.")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	asked := s.wait(id, "awaiting_input")
	if asked.text("questions.1.question") != "Folders too?" {
		t.Errorf("the questions are %+v", asked.at("questions"))
	}
	s.do("POST", "/tasks/"+id+"/answers", `{"answers":["Yes."]}`).problem(422, "INVALID_INPUT")
	s.do("POST", "/tasks/"+id+"/answers", `{"answers":["Yes.","No."]}`).is(200)
	s.wait(id, "planned")
	s.do("PATCH", "/tasks/"+id, `{"plan":{"summary":"Count well.","plan":["count"],"steps":[]}}`).problem(422, "INVALID_INPUT")
	if v := s.do("PATCH", "/tasks/"+id, `{"plan":{"summary":"Count well.","plan":["count"],"assignedAgent":"developer"}}`).is(200); v.text("plan.summary") != "Count well." {
		t.Errorf("the plan is %+v", v.at("plan"))
	}
	if v := s.do("PATCH", "/tasks/"+id, `{"plan":{"summary":"Count better.","plan":["count"]}}`).is(200); v.text("plan.assignedAgent") != "developer" {
		t.Errorf("a plan without an agent has replaced the agent: %+v", v.at("plan"))
	}
	s.do("POST", "/tasks/"+id+"/start", "").is(200)
	s.do("PATCH", "/tasks/"+id, `{"plan":{"summary":"x","plan":["y"]}}`).problem(409, "INVALID_TRANSITION")
	s.until(id, "waiting for approval", func(v value) bool { return len(v.items("permissions")) == 1 })
	stop()
	s.start()
	s.drive()
	var calls value
	for deadline := time.Now().Add(patience); ; runtime.Gosched() { // the run is being taken up again
		if calls = s.do("GET", "/tasks/"+id+"/approvals", "").is(200); len(calls.items("items")) > 0 || time.Now().After(deadline) {
			break
		}
	}
	if len(calls.items("items")) != 1 || !strings.Contains(calls.text("items.0.title"), "touch counted") {
		t.Fatalf("the approvals are %+v of %+v", calls.v, s.do("GET", "/tasks/"+id, "").Body)
	}
	call := fmt.Sprintf("/tasks/%s/runs/%s/calls/%s/decision", id, calls.text("items.0.run"), calls.text("items.0.call"))
	digest := calls.text("items.0.digest")
	s.do("POST", call, `{"answer":"allow"}`).problem(422, "INVALID_INPUT")
	s.do("POST", call, `{"answer":"allow","digest":"`+strings.Repeat("0", 64)+`"}`).problem(409, "CALL_CHANGED")
	s.do("POST", call, `{"answer":"allow","digest":"`+digest+`","rule":"shell(touch *)"}`).problem(422, "INVALID_INPUT")
	s.do("POST", "/tasks/"+id+"/messages", `{"text":"Be quick."}`).is(201)
	s.until(id, "told", func(v value) bool { return v.text("messages.0.state") == "delivered" })
	s.do("DELETE", "/tasks/"+id+"/messages/"+s.do("GET", "/tasks/"+id+"/messages", "").is(200).text("items.0.id"), "").problem(422, "INVALID_INPUT")
	if d := s.do("POST", call, `{"answer":"allow","digest":"`+digest+`"}`).is(200); d.at("taken") != true {
		t.Errorf("the decision is %+v", d.v)
	}
	s.do("POST", call, `{"answer":"no","digest":"`+digest+`"}`).problem(409, "ALREADY_DECIDED")
	done := s.wait(id, "completed")
	if done.text("report.output") != "3" {
		t.Errorf("the report is %+v", done.at("report"))
	}
	if _, err := os.Stat(filepath.Join(s.dir, "counted")); err != nil {
		t.Error(err)
	}
	before := s.do("GET", "/tasks/"+id, "").Body
	again := s.do("POST", "/tasks/"+id+"/tools", `{"tool":"completion_report","status":"complete","summary":"Three.","output":"3"}`).problem(409, "output_already_submitted")
	if again.text("error") != "Completion report already submitted" || again.at("same_payload") != true || again.text("accepted_at") == "" {
		t.Errorf("submitted again: %+v", again.v)
	}
	if after := s.do("GET", "/tasks/"+id, "").Body; after != before {
		t.Errorf("a second submission has changed the task from %s to %s", before, after)
	}
	reports := 0
	for _, item := range s.do("GET", "/tasks/"+id+"/history?limit=500", "").is(200).items("items") {
		switch e := (value{t, item}); e.text("type") {
		case "completion_report_submitted":
			reports++
		case "agent_prompted":
			model := e.text("data.model")
			if want := fmt.Sprintf("run %s was told assignment %v, with %s", e.text("run"), e.at("data.number"), model); model == "" || e.text("words") != want {
				t.Errorf("the history says %q, want %q", e.text("words"), want)
			}
		}
	}
	if reports != 1 {
		t.Errorf("there are %d reports in the history", reports)
	}
	s.do("POST", "/tasks/"+id+"/reopen", "").is(200)
}

func TestAWorkerThatNeverReportsIsRemindedTwiceAndFailed(t *testing.T) {
	t.Parallel()
	s := serve(t, planReply+`{"when":{"first":"Carry out this task"},"text":"All is well.","repeat":true}`+"\n")
	s.drive()
	id := s.add("Count the files.")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "planned")
	s.do("POST", "/tasks/"+id+"/start", "").is(200)
	failed := s.wait(id, "failed")
	if says := failed.text("status.detail"); !strings.Contains(says, "developer ended without calling completion-report, after 2 reminders") {
		t.Errorf("it says %q", says)
	}
	if failed.at("runs.1.reminders") != 2. {
		t.Errorf("the run is %+v", failed.at("runs.1"))
	}
	s.do("POST", "/tasks/"+id+"/retry", "").is(200)
}

// An agent without MCP hands in with the token of its run. That reaches nothing else, and of
// fifty callers at once one is accepted.
func TestTheTokenOfARunReachesTheToolsOfThatRunAlone(t *testing.T) {
	t.Parallel()
	s := serve(t, planReply)
	stop := s.drive()
	id, other := s.add("Count the files."), s.add("Something else.")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "planned")
	stop()
	started := s.do("POST", "/tasks/"+id+"/start", "").is(200)
	planner := started.text("runs.0.run")
	finish := s.worksOutside(run.ID(started.text("runs.1.run")))
	minted := s.do("POST", "/tasks/"+id+"/run-token", "").is(201)
	as := with("Authorization", "Bearer "+minted.text("token"))
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/tasks", ""}, {"POST", "/tasks", `{"description":"x"}`}, {"GET", "/tasks/" + id, ""}, {"GET", "/tasks/" + id + "/events", ""},
		{"POST", "/tasks/" + id + "/complete", ""}, {"POST", "/tasks/" + id + "/answers", `{"answers":[]}`}, {"POST", "/tasks/" + id + "/grants", `{"add":["shell"]}`},
		{"POST", "/tasks/" + id + "/run-token", ""}, {"POST", "/login-links", ""}, {"GET", "/openapi.json", ""},
		{"POST", "/tasks/" + id + "/runs/" + minted.text("run") + "/calls/c_1/decision", `{"answer":"allow","digest":"000000000000"}`},
		{"GET", "/tasks/" + other + "/tools", ""}, {"GET", "/tasks/" + id + "/tools?run=" + planner, ""},
		{"POST", "/tasks/" + other + "/tools", `{"tool":"completion-report","status":"complete","summary":"x"}`},
		{"POST", "/tasks/" + id + "/tools?run=" + planner, `{"tool":"planner-output","type":"error","error":"x"}`},
	} {
		if a := s.do(c.method, c.path, c.body, as); a.Status != 403 {
			t.Errorf("%s %s: %s", c.method, c.path, a.Body)
		}
	}
	last := minted.text("token")
	flipped := last[:len(last)-1] + string("01"[strings.IndexByte("10", last[len(last)-1])&1])
	if flipped == last {
		flipped = last[:len(last)-1] + "2"
	}
	s.do("GET", "/tasks/"+id+"/tools", "", with("Authorization", "Bearer "+flipped)).problem(401, "UNAUTHORIZED")

	if help := s.do("GET", "/tasks/"+id+"/tools/completion_report", "", as).is(200); help.text("name") != "completion-report" || !strings.Contains(help.text("help"), "blockedReason") {
		t.Errorf("the help is %+v", help.v)
	}
	s.do("GET", "/tasks/"+id+"/tools/planner-output", "", as).problem(404, "NOT_FOUND")
	s.do("POST", "/tasks/"+id+"/tools", `{"tool":"planner-output","type":"error","error":"x"}`, as).problem(403, "tool_not_granted")
	s.do("POST", "/tasks/"+id+"/tools", `{"tool":"fly"}`, as).problem(403, "tool_not_granted")
	s.do("POST", "/tasks/"+id+"/tools", `{"tool":"completion-report","tool":"x"}`, as).problem(400, "INVALID_JSON")
	s.do("POST", "/tasks/"+id+"/tools", `[]`, as).problem(422, "INVALID_INPUT")
	s.do("POST", "/tasks/"+id+"/tools", `{"tool":"completion-report","status":"blocked","summary":"x"}`, as).problem(422, "INVALID_INPUT")

	wrong := s.do("POST", "/tasks/"+id+"/tools", `{"tool":"completion-report","status":"complete","summary":7}`, as).problem(422, "INVALID_INPUT")
	if wrong.text("errors.0.field") != "summary" || !strings.Contains(wrong.text("errors.0.message"), "string") || strings.Contains(wrong.text("error"), "Go ") {
		t.Errorf("a summary that is a number: %+v", wrong.v)
	}

	s.do("POST", "/tasks/"+id+"/tools", `{"tool":"completion-report","status":"complete","summary":7}`, as).problem(422, "INVALID_INPUT")
	var refused []string
	for _, item := range s.do("GET", "/tasks/"+id+"/history?limit=500", "").is(200).items("items") {
		if e := (value{t, item}); e.text("type") == "tool_executed" && e.text("data.call") == "" && e.text("data.detail") != "" {
			refused = append(refused, e.text("data.tool")+" "+e.text("data.outcome"))
		}
	}
	// The same one again is one entry.
	if want := []string{"planner-output refused", "completion-report invalid", "completion-report invalid"}; !slices.Equal(refused, want) {
		t.Errorf("the history has the refused results %q, want %q", refused, want)
	}

	const report = `{"tool":"completion_report","status":"complete","summary":"Three.","blockedReason":""}`
	var callers sync.WaitGroup
	var mu sync.Mutex
	count := map[int]int{}
	var key string
	for i := range 50 {
		callers.Go(func() {
			k := fmt.Sprintf("caller-%d", i)
			a := s.do("POST", "/tasks/"+id+"/tools", report, as, with("Idempotency-Key", k))
			mu.Lock()
			defer mu.Unlock()
			if count[a.Status]++; a.Status == 200 {
				key = k
			}
		})
	}
	callers.Wait()
	if count[200] != 1 || count[409] != 49 {
		t.Errorf("the callers got %v", count)
	}
	s.wait(id, "completed")
	finish()
	for range 2 {
		if v := s.do("POST", "/tasks/"+id+"/tools", report, as, with("Idempotency-Key", key)).is(200); v.text("accepted_at") == "" || v.at("duplicate") != true {
			t.Errorf("a lost answer: %+v", v.v)
		}
		s.start() // as another process does
	}
	if again := s.do("POST", "/tasks/"+id+"/tools", report, as).problem(409, "output_already_submitted"); again.at("same_payload") != true {
		t.Errorf("the same result by another request: %+v", again.v)
	}
	s.do("GET", "/tasks/"+id+"/tools", "", as).problem(401, "TOKEN_EXPIRED")
}

func TestFilesAreAttachedAndDownloaded(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	id := s.add("Look at the file.")
	raw := with("Content-Type", "application/octet-stream")
	v := s.do("POST", "/tasks/"+id+"/attachments?name=..%2F..%2Fodd+name.html", "<script>alert(1)</script>", raw).is(201)
	if v.text("attachments.0.name") != "odd_name.html" {
		t.Errorf("attached %+v", v.at("attachments"))
	}
	got := s.do("GET", "/tasks/"+id+"/attachments/"+v.text("attachments.0.id"), "")
	if got.Status != 200 || got.Body != "<script>alert(1)</script>" || got.Header.Get("Content-Type") != "application/octet-stream" ||
		got.Header.Get("Content-Disposition") != "attachment; filename=odd_name.html" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("downloaded %+v", got)
	}
	var body strings.Builder
	f := multipart.NewWriter(&body)
	must(t, f.WriteField("note", "x"))
	part, err := f.CreateFormFile("file", "a b.txt")
	must(t, err)
	_, err = io.WriteString(part, "words")
	must(t, err)
	must(t, f.Close())
	if v := s.do("POST", "/tasks/"+id+"/attachments", body.String(), with("Content-Type", f.FormDataContentType())).is(201); v.text("attachments.1.name") != "a_b.txt" || v.at("attachments.1.size") != 5. {
		t.Errorf("attached %+v", v.at("attachments"))
	}
	s.do("POST", "/tasks/"+id+"/attachments?name=big", strings.Repeat("x", tasklog.MaxAttachment), raw).is(201)
	s.do("POST", "/tasks/"+id+"/attachments?name=big", strings.Repeat("x", tasklog.MaxAttachment+1), raw).problem(413, "FILE_TOO_LARGE")
	s.do("POST", "/tasks/"+id+"/attachments?name=big", strings.Repeat("x", 11<<20), raw).problem(413, "FILE_TOO_LARGE")
	s.do("POST", "/tasks/"+id+"/attachments", "x", raw).problem(422, "INVALID_INPUT")
	s.do("POST", "/tasks/"+id+"/attachments", "x", with("Content-Type", "multipart/form-data; boundary=b")).problem(422, "INVALID_INPUT")
	for _, path := range []string{"f-nowhere", "..%2F..%2Fserve-token", "..%2f", "%2e%2e"} { // sec042
		if a := s.do("GET", "/tasks/"+id+"/attachments/"+path, ""); a.Status != http.StatusNotFound {
			t.Errorf("sec042: %s: status %d: %s", path, a.Status, a.Body)
		}
	}
	if v := s.do("DELETE", "/tasks/"+id+"/attachments/"+v.text("attachments.0.id"), "").is(200); len(v.items("attachments")) != 2 {
		t.Errorf("left are %+v", v.at("attachments"))
	}
}

func TestGrantsChangeWhileARunWorks(t *testing.T) {
	t.Parallel()
	s := serve(t, planReply+`{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"touch counted"}}]}`+"\n")
	s.drive()
	id := s.add("Count the files.")
	s.do("POST", "/tasks/"+id+"/grants", `{"add":["list"]}`).problem(404, "NOT_FOUND")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "planned")
	s.do("POST", "/tasks/"+id+"/start", "").is(200)
	s.until(id, "waiting for approval", func(v value) bool { return len(v.items("permissions")) == 1 })
	names := func(v value) (names []string) {
		for _, item := range v.items("items") {
			names = append(names, (value{t, item}).text("name"))
		}
		return names
	}
	before := names(s.do("GET", "/tasks/"+id+"/tools", "").is(200))
	after := names(s.do("POST", "/tasks/"+id+"/grants", `{"remove":["shell"]}`).is(200))
	if len(after) != len(before)-1 || strings.Contains(strings.Join(after, " "), "shell ") {
		t.Errorf("the tools were %v and are %v", before, after)
	}
	s.do("POST", "/tasks/"+id+"/grants", `{"add":["fly"]}`).problem(422, "INVALID_INPUT")
	calls := s.do("GET", "/tasks/"+id+"/approvals", "").is(200)
	if len(calls.items("items")) > 0 { // else the run has refused the call already
		s.do("POST", fmt.Sprintf("/tasks/%s/runs/%s/calls/%s/decision", id, calls.text("items.0.run"), calls.text("items.0.call")), `{"answer":"allow","digest":"`+calls.text("items.0.digest")+`"}`)
	}
	s.wait(id, "failed") // the model has nothing more to say
	if _, err := os.Stat(filepath.Join(s.dir, "counted")); err == nil {
		t.Error("a call has run whose tool is not granted any more")
	}
}

// A call of a task that no process drives is answered in the same way through its task and
// through its run: the answer counts when the task is driven again, which the run alone is not.
func TestAnAnswerToATaskThatIsNotDrivenCountsWhenItIs(t *testing.T) {
	t.Parallel()
	for _, through := range []string{"/tasks/%s/runs/%s/calls/%s/decision", "/runs/%[2]s/approvals/%[3]s"} {
		t.Run(strings.SplitN(through, "/", 3)[1], func(t *testing.T) {
			t.Parallel()
			s := serve(t, planReply+`
{"when":{"first":"Carry out this task","contains":"made-2"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three."}}]}
{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"shell","args":{"command":"touch counted && echo made-$((1+1))"}}]}
`)
			stop := s.drive()
			id := s.add("Count the files.")
			s.do("POST", "/tasks/"+id+"/plan", "").is(200)
			s.wait(id, "planned")
			s.do("POST", "/tasks/"+id+"/start", "").is(200)
			var call value
			asked := func() bool {
				call = s.do("GET", "/tasks/"+id+"/approvals", "").is(200)
				return len(call.items("items")) == 1
			}
			deadline := time.Now().Add(patience) // only what never comes fails
			for {
				for !asked() && time.Now().Before(deadline) {
					runtime.Gosched()
				}
				stop()
				if asked() || time.Now().After(deadline) {
					break
				}
				stop = s.drive() // it was stopped before it had come to rest, so its turn was ended: it asks again
			}
			if !asked() {
				t.Fatal("the call never waited for a person")
			}
			ofRun := s.do("GET", "/runs/"+call.text("items.0.run")+"/approvals", "").is(200)
			if call.text("items.0.digest") == "" || ofRun.text("items.0.digest") != call.text("items.0.digest") || ofRun.text("items.0.title") != call.text("items.0.title") {
				t.Errorf("of the task %+v, of the run %+v", call.v, ofRun.v)
			}
			s.do("POST", "/runs/"+call.text("items.0.run")+"/continue", "").problem(409, "TASK_RUN")
			path := fmt.Sprintf(through, id, call.text("items.0.run"), call.text("items.0.call"))
			if d := s.do("POST", path, `{"answer":"allow","digest":`+quoted(call.text("items.0.digest"))+`}`).is(200); d.at("taken") != false {
				t.Errorf("the decision is %+v", d.v)
			}
			s.drive()
			s.wait(id, "completed")
			if _, err := os.Stat(filepath.Join(s.dir, "counted")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAWorkersQuestionIsAnsweredAndFinishedWorkIsContinuedOverHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, planReply+`
{"when":{"first":"Carry out this task","contains":"Rename it."},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Renamed."}}]}
{"when":{"first":"Carry out this task","contains":"Carry out"},"calls":[{"tool":"ask","args":{"question":"Which one?","options":["a","b"]}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"It is b."}}]}
`)
	s.drive()
	id := s.add("Choose one.")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "planned")
	s.do("POST", "/tasks/"+id+"/start", "").is(200)
	asked := s.wait(id, "waiting")
	if asked.text("questions.0.question") != "Which one?" || asked.text("questions.0.options.1") != "b" || asked.text("waits_for") != "answers" {
		t.Errorf("it asks %+v", asked.v)
	}
	s.do("POST", "/tasks/"+id+"/answers", `{"answers":["b"]}`).is(200)
	if done := s.wait(id, "completed"); done.text("questions.0.answer") != "b" || done.text("report.summary") != "It is b." {
		t.Errorf("answered: %+v", done.v)
	}
	key := with("Idempotency-Key", "rename")
	s.do("POST", "/tasks/"+id+"/messages", `{"text":"Rename it."}`, key).is(201)
	done := s.until(id, "renamed", func(v value) bool { return v.text("report.summary") == "Renamed." })
	if len(done.items("runs")) != 2 {
		t.Errorf("the runs are %+v", done.at("runs"))
	}
	s.do("POST", "/tasks/"+id+"/messages", `{"text":"Rename it."}`, key).is(201)
}
