package app_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/agent"
	"pawl/app"
	"pawl/config"
	"pawl/run"
	"pawl/submission"
	"pawl/task"
)

// agent writes an agent's file into the user's folder.
func (p *place) agent(name, content string) {
	p.t.Helper()
	dir := filepath.Join(p.env["HOME"], ".config", "pawl", "agents")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

// as starts a run of an agent, prompts it, and returns the state in which it comes to rest.
func (p *place) as(ws *app.Workspace, t app.Task, words string) run.State {
	p.t.Helper()
	s, err := ws.Start(p.t.Context(), t)
	ok(p.t, err)
	defer s.Close()
	ok(p.t, s.Prompt(p.t.Context(), run.Text(words)))
	return rest(p.t, s)
}

// resultsOf returns the text of the results of all calls in the context of a run.
func resultsOf(s run.State) string {
	var all []string
	for _, m := range s.Messages {
		for _, part := range m.Parts {
			if part.Result != nil {
				all = append(all, run.PlainText(part.Result.Content))
			}
		}
	}
	return strings.Join(all, "\n")
}

func TestARunOfAnAgentHasItsConfiguration(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
{"calls":[{"tool":"shell","args":{"command":"touch made"}},{"tool":"shell","args":{"command":"rm -f made"}},{"tool":"write","args":{"path":"a","content":"x"}}]}
{"text":"Done."}`)
	p.agent("builder.md", "---\ntools: [shell, agent]\npermissions: {allow: [shell(touch *)], deny: [shell(rm *)]}\nlimits: {steps: 7, cost: 2}\n---\nYou build.")
	p.env["PAWL_MAX_STEPS"] = "9"
	ws := p.open(map[string][]string{"max_cost": {"3"}})
	s := p.as(ws, app.Task{Agent: "builder"}, "go")
	if s.Turn.End.End != run.Completed || s.Created.Agent != "builder" || s.Config.Limits.Steps != 7 || s.Config.Limits.Cost != 3 || s.Config.Tools != run.Grant("shell", "agent") {
		t.Errorf("ended %+v with %+v", s.Turn.End, s.Config)
	}
	for _, want := range []string{"# Your role: the agent builder\n\nYou build.", "Agents that you can start:\n- developer: "} {
		if !strings.Contains(s.Created.System, want) {
			t.Errorf("the system prompt has no %q:\n%s", want, s.Created.System)
		}
	}
	if strings.Contains(s.Created.System, "task-validator") || strings.Contains(s.Created.System, "- builder") {
		t.Errorf("it is told of agents that it cannot start:\n%s", s.Created.System)
	}
	got := resultsOf(s)
	for _, want := range []string{"Not allowed: rm -f made was not run", "(agent builder)", "not granted: the agent builder does not have the tool write."} {
		if !strings.Contains(got, want) {
			t.Errorf("the results have no %q:\n%s", want, got)
		}
	}
	if _, err := os.Stat(filepath.Join(p.dir, "made")); err != nil {
		t.Errorf("what the agent's rule allows was not run: %v", err)
	}
}

func TestAnAgentThatCannotRunStartsNoRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"text":"never asked"}`)
	p.agent("broken.md", "---\ntools: [reed]\n---\n")
	ws := p.open(nil)
	for name, want := range map[string]string{
		"broken": `the agent broken cannot run: there is no tool "reed"; did you mean "read"?`, "nobody": `there is no agent "nobody"; there are broken, developer, `,
	} {
		_, err := ws.Start(t.Context(), app.Task{Agent: name})
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.As(err, new(*config.Error)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if runs, err := ws.Runs(t.Context(), 0); len(runs) != 0 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

func TestWorkIsHandedToAnAgentWhichReports(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
{"when":{"first":"Count the files."},"text":"There are two."}
{"when":{"first":"Count the files."},"calls":[{"tool":"completion_report","args":{"tool":"completion-report","status":"blocked","summary":"No folder."}}]}
{"when":{"first":"Count the files."},"calls":[{"tool":"handoff","args":{"agent":"lead","prompt":"Help."}},{"tool":"write","args":{"path":"a","content":"x"}},{"tool":"list","args":{}}]}
{"when":{"first":"Count the files."},"calls":[{"tool":"completion_report","args":{"status":"complete","summary":"Counted.","output":"2"}}]}
{"calls":[{"tool":"handoff","args":{"agent":"task-validator","prompt":"Plan."}},{"tool":"handoff","args":{"agent":"researchr","prompt":"x"}},{"tool":"handoff","args":{"agent":"counter","prompt":"Count the files."}}]}
{"text":"{{last_result}}"}`)
	p.agent("lead.md", "---\npermissions: {mode: plan, deny: [list]}\n---\nYou lead.")
	p.agent("counter.md", "---\ntools: [list, handoff, write]\npermissions: {mode: accept-edits}\nlimits: {steps: 30}\n---\nYou count.")
	ws := p.open(nil)
	s := p.as(ws, app.Task{Agent: "lead"}, "go")
	if s.Turn.End.End != run.Completed || s.Answer() != `{"status":"complete","summary":"Counted.","output":"2"}` {
		t.Fatalf("ended %+v with %s\n%s", s.Turn.End, s.Answer(), resultsOf(s))
	}
	got := resultsOf(s)
	for _, want := range []string{"task-validator is an internal agent", `there is no agent "researchr"; did you mean "researcher"?`} {
		if !strings.Contains(got, want) {
			t.Errorf("the results have no %q:\n%s", want, got)
		}
	}
	_, child, err := ws.Load(context.Background(), run.ChildID(s.Created.Run, "c_3"))
	ok(t, err)
	if child.Created.Agent != "counter" || child.Config.Mode != "plan" || child.Config.Limits.Steps != 30 || child.Config.Tools != run.Grant("list", "handoff", "write") ||
		!strings.Contains(child.Created.System, "You count.") || !strings.Contains(child.Created.System, "You MUST call the completion-report tool") {
		t.Errorf("the child is %+v", child.Created)
	}
	report := resultsOf(child)
	for _, want := range []string{"blockedReason: missing", "lead is already at work in this chain of agents (lead → counter)", "plan mode: only reading is allowed", "(agent lead)"} {
		if !strings.Contains(report, want) {
			t.Errorf("the results of the child have no %q:\n%s", want, report)
		}
	}
}

func TestAHelperIsLikeTheRunThatStartsIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
{"when":{"first":"Look."},"calls":[{"tool":"tool_help","args":{"name":"list"}}]}
{"when":{"first":"Look."},"text":"Seen."}
{"calls":[{"tool":"agent","args":{"prompt":"Look."}}]}
{"text":"{{last_result}}"}`)
	ws := p.open(nil)
	s := p.as(ws, app.Task{Agent: agent.Developer}, "go")
	if s.Answer() != "Seen." {
		t.Fatalf("ended %+v with %s\n%s", s.Turn.End, s.Answer(), resultsOf(s))
	}
	_, child, err := ws.Load(context.Background(), run.ChildID(s.Created.Run, "c_1"))
	ok(t, err)
	if child.Created.Agent != "" || child.Config.Model != s.Config.Model || child.Config.Output != (run.Output{}) || strings.Contains(child.Created.System, "Your role") {
		t.Errorf("the helper is %+v", child.Created)
	}
}

func TestARunWithoutAnAgentStartsOthersAndNamesThem(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
{"when":{"first":"Look left."},"text":"Left seen."}
{"when":{"first":"Look right."},"calls":[{"tool":"completion_report","args":{"status":"complete","summary":"Right seen."}}]}
{"calls":[{"tool":"list","args":{}}, {"tool":"agent","args":{"prompt":"Look left."}},{"tool":"handoff","args":{"agent":"researcher","prompt":"Look right."}}]}
{"text":"Done."}`)
	ws := p.open(nil)
	s := p.as(ws, app.Task{}, "go")
	if !strings.Contains(s.Created.System, "- researcher: ") {
		t.Errorf("the run is not told which agents there are:\n%s", s.Created.System)
	}
	for call, want := range map[run.CallID]string{"c_2": "agent_1_m_2", "c_3": "agent_2_m_2"} {
		_, child, err := ws.Load(context.Background(), run.ChildID(s.Created.Run, call))
		ok(t, err)
		if child.Created.AgentID != want || child.Turn.End.End != run.Completed {
			t.Errorf("the child of %s is %q and ended %+v, want %q", call, child.Created.AgentID, child.Turn.End, want)
		}
	}
}

func TestAPlannerOwesItsPlanWhoeverItsProviderIs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
{"text":"{\"type\":\"error\",\"error\":\"not by answer\"}"}
{"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Which one?"]}}]}`)
	ws := p.open(nil)
	o, _ := submission.Planner.Output()
	s := p.as(ws, app.Task{Agent: agent.Validator, Output: o}, "Plan it.")
	out, err := task.ParseOutput(task.Planner, s.Submission().Value)
	if o, ok := out.(task.PlannerOutput); err != nil || !ok || len(o.Questions) != 1 || s.Turn.End.End != run.Completed {
		t.Errorf("ended %+v with %q, %v", s.Turn.End, s.Submission().Value, err)
	}
}

func TestGrantsChangeWhileARunWorks(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
{"calls":[{"tool":"ask","args":{"question":"Go on?"}}]}
{"calls":[{"tool":"list","args":{}}]}
{"text":"Stopped."}
{"calls":[{"tool":"list","args":{}}]}
{"text":"Done."}`)
	ws := p.open(nil)
	s := p.start(ws)
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	rest(t, s)
	ok(t, grant(t, ws, s, nil, []string{"list"}))
	ok(t, s.Prompt(t.Context(), run.Text("yes")))
	if got := resultsOf(rest(t, s)); !strings.Contains(got, "not granted: this run does not have the tool list. Granted: agent, ask, edit, fetch, glob, handoff, read,") {
		t.Errorf("%s", got)
	}
	ok(t, grant(t, ws, s, []string{"list"}, nil))
	ok(t, s.Prompt(t.Context(), run.Text("again")))
	if state := rest(t, s); state.Answer() != "Done." || strings.Count(resultsOf(state), "not granted") != 1 {
		t.Errorf("ended %+v\n%s", state.Turn.End, resultsOf(state))
	}
	ok(t, grant(t, ws, s, nil, []string{"handoff"}))
	if tools := s.State().Config.Tools; !tools.Has("agent") || tools.Has("handoff") {
		t.Errorf("handoff was revoked, and the run has %q", tools)
	}
	if err := grant(t, ws, s, []string{"lst"}, nil); err == nil || !strings.Contains(err.Error(), `there is no tool "lst"; did you mean "list"?`) {
		t.Errorf("%v", err)
	}
}

// grant changes the tools that the run of a session may call.
func grant(t *testing.T, ws *app.Workspace, s *app.Session, add, remove []string) error {
	to, err := ws.Grants(s.State(), add, remove)
	if err != nil {
		return err
	}
	return s.Configure(t.Context(), run.ConfigChange{Tools: &to})
}
