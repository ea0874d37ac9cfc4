package api_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/api"
)

// get sends a request for what is not below the prefix of the operations.
func (s *served) get(path string, change ...header) answer {
	s.t.Helper()
	outside := func(r *http.Request) { r.URL.Path = strings.TrimPrefix(r.URL.Path, api.Prefix) }
	return s.do("GET", path, "", append(change, outside)...)
}

func TestTheFiguresOfTheServerAreThoseOfItsRuns(t *testing.T) {
	t.Parallel()
	s := serve(t, askReply)
	s.get("/metrics", without("Authorization")).problem(401, "UNAUTHORIZED")
	id := s.run("Try it.")
	stream := s.follow("/runs/"+id+"/events", 0)
	call := stream.waits(t)
	before := s.get("/metrics")
	for _, line := range []string{`pawl_runs{state="waiting"} 1`, `pawl_turns_total{end="completed"} 0`, `pawl_event_streams 1`} {
		if !strings.Contains(before.Body, line+"\n") {
			t.Errorf("there is no line %s in\n%s", line, before.Body)
		}
	}
	s.do("POST", "/runs/"+id+"/approvals/c_1", `{"answer":"allow","digest":"`+call.text("calls.0.digest")+`"}`).is(200)
	stream.until(t, "turn_ended")
	s.add("A task.")
	after := s.get("/metrics")
	if !strings.HasPrefix(after.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("the type is %s", after.Header.Get("Content-Type"))
	}
	for _, line := range []string{`pawl_runs{state="ended"} 1`, `pawl_turns_total{end="completed"} 1`, `pawl_turn_steps_sum 2`,
		`pawl_decisions_total{answer="allow",tool="shell",source="person"} 1`, `pawl_tasks{status="pending"} 1`, `pawl_build_info{version="devel"} 1`} {
		if !strings.Contains(after.Body, line+"\n") {
			t.Errorf("there is no line %s in\n%s", line, after.Body)
		}
	}
}

func TestHealthSaysWhoDrivesAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := serve(t, planReply)
	s.get("/healthz", without("Authorization")).problem(401, "UNAUTHORIZED")
	if h := s.get("/healthz").is(200); h.at("ok") != true || h.at("disk_full") != false || h.at("board_pid") != nil {
		t.Errorf("healthy: %+v", h.v)
	}
	id := s.add("Count.")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.drive()
	s.wait(id, "planned")
	if h := s.get("/healthz").is(200); h.at("board_pid") != float64(os.Getpid()) {
		t.Errorf("with a driver: %+v", h.v)
	}
	must(t, os.RemoveAll(s.ws.State)) // as a disk that is gone
	if h := s.get("/healthz").is(503); h.at("ok") != false || h.text("problem") == "" {
		t.Errorf("without its folder: %+v", h.v)
	}
}

func TestTheOutputsOfARunAreAsked(t *testing.T) {
	t.Parallel()
	var users []string
	for i := range 3000 {
		users = append(users, fmt.Sprintf(`{"id":%d,"city":"%s"}`, i, []string{"Rome", "Oslo"}[i%2]))
	}
	s := serve(t, `{"when":{"first":"Read"},"calls":[{"tool":"read","args":{"path":"big.json"}}]}
{"when":{"first":"Read"},"text":"It is long."}
`)
	must(t, os.WriteFile(filepath.Join(s.dir, "big.json"), []byte(`{"users":[`+strings.Join(users, ",")+`]}`), 0o600))
	id := s.do("POST", "/runs", `{"prompt":"Read it."}`).is(201).text("run")
	s.ended(id, "completed")
	list := s.do("GET", "/runs/"+id+"/outputs", "").is(200)
	if list.text("items.0.id") != "c_1" || list.text("items.0.tool") != "read" || list.text("items.0.run") != id {
		t.Fatalf("the outputs are %+v", list.v)
	}
	if none := s.do("GET", "/runs/"+id+"/outputs?tool=shell", "").is(200); len(none.items("items")) != 0 {
		t.Errorf("outputs of another tool: %+v", none.v)
	}
	path := "/runs/" + id + "/outputs/c_1/"
	ask := func(name, args string) value {
		t.Helper()
		v := s.do("POST", path+name, args).is(200)
		if v.text("run") != id {
			t.Errorf("%s: the answer is of run %q", name, v.text("run"))
		}
		return v
	}
	if v := ask("search", `{"pattern":"Oslo","limit":2}`); v.at("total") == nil {
		t.Errorf("search: %+v", v.v)
	}
	ask("stats", `{}`)
	ask("stats", ``)
	ask("read", `{"limit":2}`)
	for name, args := range map[string]string{"search": `{"pattern":"("}`, "extract": `{"paths":["$["]}`, "count": `{"counts":[{"path":"$.users","count_type":"many"}]}`,
		"sample": `{"size":-1}`, "aggregate": `{"op":"sum","paht":"$"}`, "stats": `{"id":"c_2"}`, "read": `{"limit":"two"}`} {
		if a := s.do("POST", path+name, args); a.Status != 422 {
			t.Errorf("%s %s: status %d: %s", name, args, a.Status, a.Body)
		}
	}
	if a := s.do("POST", path+"read", `{"limit":1,"limit":2}`); a.Status != 400 {
		t.Errorf("a name that occurs twice: %d", a.Status)
	}
	s.do("POST", "/runs/"+id+"/outputs/c_9/stats", `{}`).problem(404, "NOT_FOUND")
	s.do("POST", "/runs/nowhere/outputs/c_1/stats", `{}`).problem(404, "NOT_FOUND")
}

func TestJSONOutputsAreAskedByPath(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"when":{"first":"Print"},"calls":[{"tool":"shell","args":{"command":"cat big.json"}}]}
{"when":{"first":"Print"},"text":"It is long."}
`)
	must(t, os.WriteFile(filepath.Join(s.dir, "big.json"), []byte(`{"users":[`+strings.Repeat(`{"city":"Rome","age":2},`, 3000)+`{"city":"Oslo","age":40}]}`), 0o600))
	id := s.do("POST", "/runs", `{"prompt":"Print it."}`).is(201).text("run")
	s.ended(id, "completed")
	path := "/runs/" + id + "/outputs/c_1/"
	if v := s.do("POST", path+"count", `{"counts":[{"name":"users","path":"$.users"}]}`).is(200); v.at("counts.users") != 3001. {
		t.Errorf("counted %+v", v.v)
	}
	if v := s.do("POST", path+"extract", `{"paths":"$.users[3000].city"}`).is(200); !strings.Contains(fmt.Sprint(v.at("extracted")), "Oslo") {
		t.Errorf("extracted %+v", v.v)
	}
	if v := s.do("POST", path+"sample", `{"path":"$.users","size":2,"strategy":"last"}`).is(200); v.at("total_items") != 3001. {
		t.Errorf("sampled %+v", v.v)
	}
	if v := s.do("POST", path+"aggregate", `{"path":"$.users","value_path":"@.age","group_by":"@.city","op":"sum"}`).is(200); !strings.Contains(fmt.Sprint(v.v), "6000") {
		t.Errorf("aggregated %+v", v.v)
	}
}

func TestAgentsAreWrittenChangedAndRemoved(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"text":"Hello.","repeat":true}`)
	s.do("GET", "/workers", "").problem(404, "NOT_FOUND")
	list := s.do("GET", "/agents", "").is(200)
	names := fmt.Sprint(list.v)
	for _, name := range []string{"developer", "reviewer", "task-validator"} {
		if !strings.Contains(names, name) {
			t.Errorf("there is no agent %s in %s", name, names)
		}
	}
	s.do("GET", "/agents/nobody", "").problem(404, "NOT_FOUND")
	made := s.do("POST", "/agents", `{"name":"auditor","description":"Looks for risks.","instructions":"Look.","tools":["read","search"],"deny":["shell"]}`).is(201)
	if made.at("valid") != true || fmt.Sprint(made.at("tools")) != "[read search]" || made.text("instructions") != "Look." || fmt.Sprint(made.at("permissions.deny")) != "[shell]" {
		t.Errorf("made %+v", made.v)
	}
	s.do("POST", "/agents", `{"name":"auditor","instructions":"Look again."}`).problem(409, "EXISTS")
	for _, body := range []string{`{"name":"Not A Name","instructions":"x"}`, `{"name":"empty"}`, `{"name":"x","instructions":"x","deny":["shell("]}`, `{"name":"x","instructions":"x","tolls":[]}`} {
		if a := s.do("POST", "/agents", body); a.Status != 422 {
			t.Errorf("%s: status %d: %s", body, a.Status, a.Body)
		}
	}
	if edited := s.do("PATCH", "/agents/auditor", `{"model":"nobody/nothing"}`).is(200); edited.at("valid") != false || edited.text("why") == "" {
		t.Errorf("with a model that is not there: %+v", edited.v)
	}
	if edited := s.do("PATCH", "/agents/auditor", `{"model":"","tools":["*"]}`).is(200); edited.at("valid") != true || edited.at("tools") != nil {
		t.Errorf("edited %+v", edited.v)
	}
	if id := s.do("POST", "/runs", `{"prompt":"Look.","agent":"auditor"}`).is(201).text("run"); id == "" {
		t.Error("no run")
	}
	s.do("DELETE", "/agents/auditor", "").is(200)
	s.do("GET", "/agents/auditor", "").problem(404, "NOT_FOUND")
	s.do("DELETE", "/agents/developer", "").problem(409, "BUILT_IN")
	replaced := s.do("PATCH", "/agents/writer", `{"description":"Mine."}`).is(200)
	if replaced.text("source") != "user" || replaced.text("description") != "Mine." {
		t.Errorf("replaced %+v", replaced.v)
	}
}

func TestRulesAreAddedExplainedAndRemoved(t *testing.T) {
	t.Parallel()
	s := serve(t, askReply)
	ask := s.do("POST", "/permissions/explain", `{"call":"touch made.txt"}`).is(200)
	if ask.text("decision.verdict") != "ask" {
		t.Errorf("explained %+v", ask.v)
	}
	added := s.do("POST", "/permissions", `{"rule":"shell(touch *)","why":"It is safe."}`).is(201)
	if added.at("changed") != true || added.text("rule.scope") != "workspace" || added.text("rule.why") != "It is safe." {
		t.Errorf("added %+v", added.v)
	}
	if again := s.do("POST", "/permissions", `{"rule":"shell(touch *)"}`).is(201); again.at("changed") != false {
		t.Errorf("added again: %+v", again.v)
	}
	if now := s.do("POST", "/permissions/explain", `{"call":"touch made.txt"}`).is(200); now.text("decision.verdict") != "allow" {
		t.Errorf("explained with the rule: %+v", now.v)
	}
	s.ended(s.run("Try it."), "completed") // nobody was asked
	for _, body := range []string{`{"rule":"sehll(touch *)"}`, `{"rule":"shell(touch *)","scope":"run"}`, `{"rule":"shell(touch *)","effect":"perhaps"}`, `{}`} {
		if a := s.do("POST", "/permissions", body); a.Status != 422 {
			t.Errorf("%s: status %d: %s", body, a.Status, a.Body)
		}
	}
	if list := s.do("GET", "/permissions", "").is(200); !strings.Contains(fmt.Sprint(list.v), "shell(touch *)") {
		t.Errorf("the rules are %+v", list.v)
	}
	s.do("DELETE", "/permissions?rule=shell(touch%20*)", "").is(200)
	s.do("DELETE", "/permissions?rule=shell(touch%20*)", "").problem(404, "NOT_FOUND")
}

// A file is trusted as it was shown, and no other.
func TestFilesOfTheWorkspaceAreTrustedAsTheyWereShown(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	must(t, os.Mkdir(filepath.Join(s.dir, ".pawl"), 0o700))
	file := filepath.Join(s.dir, ".pawl", "permissions.json")
	must(t, os.WriteFile(file, []byte(`{"rules":[{"effect":"allow","tool":"shell","pattern":"make *"}]}`), 0o600))
	wait := s.do("GET", "/trust", "").is(200)
	if wait.at("trusted") != false || !strings.Contains(wait.text("items.0.shown"), "make") {
		t.Fatalf("what waits is %+v", wait.v)
	}
	trust := `{"files":[{"file":"` + wait.text("items.0.file") + `","sha256":"` + wait.text("items.0.sha256") + `"}]}`
	must(t, os.WriteFile(file, []byte(`{"rules":[{"effect":"allow","tool":"shell"}]}`), 0o600))
	s.do("POST", "/trust", trust).problem(409, "FILE_CHANGED")
	must(t, os.WriteFile(file, []byte(`{"rules":[{"effect":"allow","tool":"shell","pattern":"make *"}]}`), 0o600))
	if now := s.do("POST", "/trust", trust).is(200); now.at("trusted") != true {
		t.Errorf("trusted: %+v", now.v)
	}
	s.do("POST", "/trust", trust).problem(404, "NOT_FOUND")
	if all := s.do("GET", "/trust/records", "").is(200); all.text("items.0.workspace") != s.ws.Dir {
		t.Errorf("what is trusted is %+v", all.v)
	}
	if was := s.do("DELETE", "/trust", "").is(200); was.at("changed") != true {
		t.Errorf("revoked: %+v", was.v)
	}
}

func TestTheServerSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	if w := s.do("GET", "/workspaces", "").is(200); w.text("items.0.workspace") != s.ws.Dir || len(w.items("items")) != 1 {
		t.Errorf("the workspaces are %+v", w.v)
	}
	tools := s.do("GET", "/tools?limit=500", "").is(200)
	if !strings.Contains(fmt.Sprint(tools.v), "tool_outputs.stats") {
		t.Errorf("the tools are %+v", tools.v)
	}
	if help := s.do("GET", "/tools/completion_report", "").is(200); help.text("name") != "completion-report" || help.text("help") == "" {
		t.Errorf("the help is %+v", help.v)
	}
	s.do("GET", "/tools/nothing", "").problem(404, "NOT_FOUND")
	models := s.do("GET", "/models", "").is(200)
	if len(models.items("providers")) == 0 || len(models.items("models")) == 0 {
		t.Errorf("the models are %+v", models.v)
	}
	providers := s.do("GET", "/providers?limit=500", "").is(200)
	missing := slices.ContainsFunc(providers.items("items"), func(p any) bool { return p.(map[string]any)["missing"] != nil })
	if !missing {
		t.Errorf("no provider says what is missing: %+v", providers.v)
	}
	s.do("GET", "/providers/nobody/models", "").problem(404, "NOT_FOUND")
	config := s.do("GET", "/config", "").is(200)
	if !strings.HasPrefix(config.text("values.model.0.source"), "environment") {
		t.Errorf("the settings are %+v", config.v)
	}
	if usage := s.do("GET", "/usage?since=7d", "").is(200); usage.at("runs") != 0. {
		t.Errorf("the usage is %+v", usage.v)
	}
	s.do("GET", "/usage?since=never", "").problem(422, "INVALID_INPUT")
	if v := s.do("GET", "/version", "").is(200); v.text("go") == "" {
		t.Errorf("the version is %+v", v.v)
	}
}

// The token of a run reaches none of what a person reaches: it can neither decide nor make
// rules nor see other runs.
func TestTheTokenOfARunReachesNothingOfAPersons(t *testing.T) {
	t.Parallel()
	s := serve(t, askReply)
	id := s.run("Try it.")
	s.follow("/runs/"+id+"/events", 0).waits(t)
	doc := s.do("GET", "/openapi.json", "").is(200)
	paths, _ := doc.at("paths").(map[string]any)
	asRun := with("Authorization", "Bearer "+s.api.RunToken("x", 1))
	tried := 0
	for path, item := range paths {
		if strings.HasPrefix(path, "/tasks/") || strings.HasPrefix(path, "/sessions") { // which need no token
			continue
		}
		for method, op := range item.(map[string]any) {
			if allowed := fmt.Sprint(op.(map[string]any)["security"]); strings.Contains(allowed, "run") {
				t.Errorf("%s %s can be reached with the token of a run: %s", method, path, allowed)
			}
			tried++
			path := strings.NewReplacer("{run}", id, "{call}", "c_1", "{agent}", "developer", "{output}", "c_1", "{message}", "m", "{tool}", "shell", "{provider}", "openai").Replace(path)
			if a := s.do(strings.ToUpper(method), path, "", asRun); a.Status != 401 && a.Status != 403 {
				t.Errorf("%s %s: status %d", method, path, a.Status)
			}
		}
	}
	if tried < 40 {
		t.Errorf("%d operations were tried", tried)
	}
}
