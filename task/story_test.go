package task

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pawl/internal/golden"
	"pawl/run"
)

// A deed is what somebody does in a story.
type deed struct {
	by string
	a  Action
}

// stories are lives of tasks, told in testdata: what is done, the events that follow, where
// the task stands then, what it owes, and what a person may do.
var stories = map[string]struct {
	of   Created
	then []deed
}{
	"plan": {
		Created{Description: "\n  Count the files.  \nAll of them.", Labels: []string{"count"}, Priority: 2, DependsOn: []ID{"t0"},
			Budget: Budget{Cost: 9, Tokens: 900}},
		[]deed{
			{"anna", AttachmentAdded{Attachment{ID: "a1", Name: "list.txt", Type: "text/plain", Size: 12}}},
			{"anna", AttachmentAdded{Attachment{ID: "a1", Name: "again.txt"}}},
			{"anna", AttachmentAdded{Attachment{ID: "a2", Name: "more.bin", Type: "application/octet-stream", Size: 3}}},
			{"anna", AttachmentRemoved{"a2"}},
			{"anna", AttachmentRemoved{"a2"}},
			{"anna", Edited{}},
			{"anna", Edited{Plan: &aPlan.Plan}},
			{"anna", Edited{Description: new("Count all files."), Labels: &[]string{"a", "b"}, Priority: new(3), DependsOn: &[]ID{"t2"},
				Budget: &Budget{Tokens: 100}, Isolation: new(Clone)}},
			{"anna", Start{Run: "w", Agent: "developer"}},
			{"anna", SubmitAnswers{Answers: []string{"Yes."}}},
			{"anna", Move{On: OnRetry}},
			{"anna", Move{On: OnReopen}},
			{"anna", Move{On: OnPause}},
			{"anna", Resume{}},
			{"anna", Say{ID: "m0", Text: "Never mind."}},
			{"anna", MessageWithdrawn{"m0"}},
			{"anna", Say{ID: "m1", Text: "Not the hidden ones."}},
			{"anna", StartPlanning{"p", "task-validator"}},
			{"anna", StartPlanning{"p2", "task-validator"}},
			{"anna", Edited{Description: new("Something else.")}},
			{"", Note{"other", AgentPrompted{1, 1, "m"}}},
			{"", Note{"p", AgentPrompted{2, 1, "m"}}},
			{"", Note{"p", AgentPrompted{1, 1, "m"}}},
			{"", Note{"p", AgentPrompted{1, 1, "m"}}},
			{"", Note{"p", OutputReminderSent{PlannerOutputTool, 1}}},
			{"task-validator", submit("p", 1, PlannerOutput{Type: OutputPlan})},
			{"task-validator", submit("p", 1, someAsked)},
			{"anna", SubmitAnswers{Answers: []string{"Yes.", " "}}},
			{"anna", SubmitAnswers{Answers: []string{"Yes.", "No."}}}, // while the planner is still ending
			{"", ended("p", run.Completed)},
			{"", ended("p", run.Completed)}, // as another driver says it
			{"anna", SubmitAnswers{Answers: []string{" Yes. ", "No."}}},
			{"", Note{"p", AgentPrompted{2, 2, "m"}}},
			{"task-validator", submit("p", 2, aRefusal)},
			{"", ended("p", run.Completed)},
			{"anna", Move{On: OnRetry}},
			{"anna", Move{On: OnCancel}},
		},
	},
	"work": {
		Created{},
		[]deed{
			{"anna", StartPlanning{"p", "task-validator"}},
			{"", Note{"p", AgentPrompted{1, 1, "m"}}},
			{"task-validator", submit("p", 1, PlannerOutput{Type: OutputPlan, Plan: Plan{Summary: "Count.", Requirements: []string{"all"},
				AcceptanceCriteria: []string{"a number"}, Steps: []string{"list", "count"}}})},
			{"", ended("p", run.Completed)},
			{"anna", Start{Run: "w", Agent: "developer", Unfinished: []ID{"t0", "t2"}}},
			{"anna", Start{Run: "w", Agent: "developer"}},
			{"anna", Start{Run: "w2", Agent: "developer"}},
			{"", Note{"w", AgentPrompted{1, 1, "m"}}},
			{"", Note{"c", AgentHandoffStarted{Parent: "nobody", Call: "c_1", Agent: "helper"}}},
			{"", Note{"c", AgentHandoffStarted{Parent: "w", Call: "c_1", Agent: "helper", Model: "m", Input: "Look."}}},
			{"", Note{"c", PermissionRequested{Call: "c_9", Tool: "shell", Arguments: "rm x"}}},
			{"", Note{"w", PermissionRequested{Call: "c_9", Tool: "write"}}},
			{"", Note{"w", PermissionRequested{Call: "c_9", Tool: "write"}}}, // as another driver says it
			{"", Note{"w", PermissionRequested{Call: "c_8", Tool: "edit"}}},
			{"", Note{"w", PermissionDecided{Call: "c_8", Answer: run.Deny}}},
			{"", Note{"w", PermissionRequested{Call: "c_7", Tool: "read"}}},
			{"", Note{"w", ToolExecuted{Call: "c_7", Tool: "read", Outcome: run.Cut}}},
			{"", Note{"w", AgentHandoffCompleted{}}},
			{"", Note{"c", AgentHandoffCompleted{End: run.Ended{End: run.Completed}, Output: "Looked.", Usage: run.Usage{Input: 5}}}},
			{"", Note{"w", PermissionDecided{Call: "c_1"}}}, // was not asked
			{"", Note{"w", PermissionDecided{Call: "c_9"}}},
			{"", Note{"w", Interrupted{Cause: run.ByPerson}}},
			{"", Note{"w", CopyDiscarded{}}},
			{"", End{Run: "c", Begun: true}},
			{"helper", submit("c", 1, aReport)},
			{"developer", submit("w", 1, aPlan)},
			{"ben", Say{ID: "", Text: "Hurry."}},
			{"ben", Say{ID: "m1", Text: "Hurry."}},
			{"ben", Say{ID: "m1", Text: "Slow down."}},
			{"ben", Say{ID: "m2", Text: "Slow down."}},
			{"ben", MessageWithdrawn{"m2"}},
			{"ben", MessageWithdrawn{"m2"}},
			{"", Note{"p", MessageDelivered{ID: "m1"}}},
			{"", Note{"w", MessageDelivered{ID: "m1"}}},
			{"", Note{"w", MessageDelivered{ID: "m1"}}},
			{"ben", MessageWithdrawn{"m1"}},
			{"", MessageReturned{ID: "m1"}},
			{"", MessageReturned{ID: "m1"}},
			{"developer", submit("w", 1, itsBlocked)},
			{"anna", CopyDiscarded{}},
			{"", ended("w", run.Completed)},
			{"anna", CopyMerged{"pawl/t1", "def"}},
			{"anna", CopyMade{Dir: "/copies/t1", Branch: "pawl/t1", Base: "abc", Notes: []string{"no submodules"}}},
			{"anna", CopyMade{Dir: "/copies/other"}},
			{"anna", HandOn{Run: "w2", Agent: "reviewer", Words: "\x00"}},
			{"anna", HandOn{Run: "w2", Agent: "reviewer"}},
			{"", Note{"w2", AgentPrompted{1, 1, "m"}}},
			{"", ended("w2", run.LoopStopped)},
			{"anna", Resume{Words: "Try the other way."}},
			{"anna", CopyMerged{"pawl/t1", "def"}},
			{"anna", CopyMerged{"pawl/t1", "def"}},
			{"anna", CopyDiscarded{}},
			{"", Note{"w2", AgentPrompted{2, 2, "m"}}},
			{"reviewer", submit("w2", 2, itsFailed)},
			{"", ended("w2", run.Completed)},
			{"anna", Move{On: OnRetry}},
			{"anna", Start{Run: "w3", Agent: "developer"}},
			{"", End{Run: "w3", End: run.Ended{End: run.EndFailed, Detail: "no such model"}}},
			{"anna", Say{ID: "m3", Text: "With another model."}},
			{"", Note{"w3", AgentPrompted{2, 1, "m"}}},
			{"developer", submit("w3", 2, aReport)},
			{"", ended("w3", run.Completed)},
			{"anna", Move{On: OnCancel}},
			{"anna", Move{On: OnReopen}},
			{"anna", CopyDiscarded{}},
			{"anna", Move{On: OnCancel, Why: "We can do without."}},
			{"anna", Move{On: OnFail}},
		},
	},
	"cancelled at once": {
		Created{},
		[]deed{
			{"anna", Move{On: OnCancel, Why: strings.Repeat("x", MaxText+1)}},
			{"anna", Say{ID: "m1", Text: "Go on."}}, // there is no agent to go on
		},
	},
	"nothing was handed in": {
		Created{},
		[]deed{
			{"anna", StartPlanning{"p", "task-validator"}},
			{"", Note{"p", AgentPrompted{1, 1, "m"}}},
			{"", ended("p", run.Completed)}, // it is reminded
			{"", Note{"p", OutputReminderSent{PlannerOutputTool, 1}}},
			{"", ended("p", run.Completed)},
			{"", Note{"p", OutputReminderSent{PlannerOutputTool, 2}}},
			{"", ended("p", run.Completed)},
			{"anna", Say{ID: "m1", Text: "Use the tool.", Anew: "p2"}},
			{"", Note{"p2", AgentPrompted{1, 1, "m"}}},
			{"", ended("p2", run.EndRefused)},
			{"anna", Move{On: OnRetry}},
			{"anna", Say{ID: "m2", Text: "Once more."}},
			{"anna", StartPlanning{"p3", "task-validator"}},
			{"", Note{"p3", AgentPrompted{1, 1, "m"}}},
			{"anna", Move{On: OnPause}},
			{"anna", HandOn{Run: "w", Agent: "developer"}},
			{"", ended("p3", run.EndInterrupted)},
			{"anna", Resume{}},
			{"", Note{"p3", AgentPrompted{2, 2, "m"}}},
			{"", asked("p3")},
			{"anna", Resume{Words: " "}},
			{"anna", Resume{Words: "\x00"}},
			{"anna", Resume{Words: "a", Budget: &Budget{Cost: 3}}},
			{"anna", Move{On: OnComplete}},
			{"anna", Move{On: OnPause}},
			{"anna", Move{On: OnComplete}},
		},
	},
}

func TestStoriesOfTasks(t *testing.T) {
	t.Parallel()
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newCard(t, story.of)
			var b strings.Builder
			k.tell(&b, 0)
			for _, d := range story.then {
				fmt.Fprintf(&b, "\n> %s%s %s\n", d.by, strings.TrimPrefix(fmt.Sprintf("%T", d.a), "task"), asJSON(t, d.a))
				from := len(k.log)
				if err := k.try(d.by, d.a); err != nil {
					fmt.Fprintf(&b, "refused: %v\n", err)
					continue
				}
				k.tell(&b, from)
			}
			golden.Compare(t, strings.ReplaceAll(name, " ", "_")+".golden", []byte(b.String()))
			var again State
			for _, e := range k.log {
				next, err := again.Apply(e)
				if err != nil {
					t.Fatal(err)
				}
				again = next
			}
			if got, want := asJSON(t, again), asJSON(t, k.s); got != want {
				t.Errorf("the log leads to\n%s\nand not to\n%s", got, want)
			}
		})
	}
}

// tell writes the events after the first ones, and where the task stands if there are any.
func (k *card) tell(b *strings.Builder, from int) {
	if from == len(k.log) {
		b.WriteString("nothing follows\n")
		return
	}
	for _, e := range k.log[from:] {
		typ, _, data, err := Encode(e.Payload)
		if err != nil {
			k.t.Fatal(err)
		}
		fmt.Fprintf(b, "%d %s %s by %q: %s\n", e.Seq, typ, e.Run, e.By, data)
	}
	fmt.Fprintf(b, "= %s may %s\nnext: %s\n", asJSON(k.t, k.s.Summary()), k.s.May(), k.s.Advice())
	if len(k.s.Permissions) > 0 {
		fmt.Fprintf(b, "asks %s\n", asJSON(k.t, k.s.Permissions))
	}
	for _, c := range k.s.Next() {
		start, _ := c.(StartRun)
		input := start.Input
		if start.Input = ""; input != "" {
			c = start
		}
		fmt.Fprintf(b, "owes %s %s\n", c.key(), asJSON(k.t, c))
		for line := range strings.Lines(input) {
			fmt.Fprintf(b, "  | %s\n", strings.TrimRight(line, "\n"))
		}
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// What a person may do in each status is what its buttons and the help of errors are made of.
func TestWhatAPersonMayDo(t *testing.T) {
	t.Parallel()
	for status, want := range map[StatusName]string{
		Pending: "plan cancel", Planning: "pause cancel", AwaitingInput: "answers cancel", Planned: "start cancel",
		Active:  "pause handoff complete fail cancel",
		Waiting: "answers resume handoff complete fail cancel",
		Failed:  "retry say", Completed: "reopen say",
	} {
		var got []string
		for _, on := range mayIn(status) {
			got = append(got, string(on))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("a task that is %s: %s, want %s", status, got, want)
		}
		if Final(status) != slices.Contains([]StatusName{"completed", "failed"}, status) {
			t.Errorf("%s is final: %t", status, Final(status))
		}
	}
	if got := len(StatusNames()); got != 8 {
		t.Errorf("%d statuses", got)
	}
}

func TestWhatATaskMayBe(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxText)
	many := slices.Repeat([]string{"a"}, 50)
	for _, c := range []struct {
		of   Created
		want string // empty: it may
	}{
		{Created{Task: "a-z_09", Description: long, Labels: many, Isolation: Clone}, ""},
		{Created{Task: ID(strings.Repeat("a", 60)), Description: "x", Labels: []string{strings.Repeat("l", 100)}}, ""},
		{Created{Task: ID(strings.Repeat("a", 61)), Description: "x"}, "not a task id"},
		{Created{Task: "", Description: "x"}, `task: "" is not a task id: 1 to 60 of a-z, 0-9, _ and -`},
		{Created{Task: "A", Description: "x"}, "not a task id"},
		{Created{Task: "a.b", Description: "x"}, "not a task id"},
		{Created{Task: "a{", Description: "x"}, "not a task id"},
		{Created{Task: "a:", Description: "x"}, "not a task id"},
		{Created{Task: "..", Description: "x"}, "not a task id"},
		{Created{Task: "a", Description: " \n"}, "description: the text of the task is missing"},
		{Created{Task: "a", Description: long + "x"}, "description: it has 262145 bytes, more than 262144: attach a file instead"},
		{Created{Task: "a", Description: "x\x00"}, "description: it has a NUL character, so it is not a text"},
		{Created{Task: "a", Description: "x", Labels: append(many, "a")}, "labels: there are 51, more than 50"},
		{Created{Task: "a", Description: "x", Labels: []string{""}}, "is not a label"},
		{Created{Task: "a", Description: "x", Labels: []string{" a"}}, "is not a label"},
		{Created{Task: "a", Description: "x", Labels: []string{"a,b"}}, `labels: "a,b" is not a label`},
		{Created{Task: "a", Description: "x", Labels: []string{"a\nb"}}, "is not a label"},
		{Created{Task: "a", Description: "x", Labels: []string{strings.Repeat("l", 101)}}, "longer than 100 bytes"},
		{Created{Task: "a", Description: "x", Budget: Budget{Cost: -0.01}}, "budget: it must not be negative"},
		{Created{Task: "a", Description: "x", Budget: Budget{Cost: 1e9}}, "budget: "},
		{Created{Task: "a", Description: "x", Budget: Budget{Tokens: -1}}, "budget: it must not be negative"},
		{Created{Task: "a", Description: "x", DependsOn: []ID{"b", "c", "b"}}, "depends_on: task b is named twice"},
		{Created{Task: "a", Description: "x", DependsOn: []ID{"a"}}, "depends_on: a task cannot depend on itself"},
		{Created{Task: "a", Description: "x", DependsOn: []ID{"B"}}, "not a task id"},
		{Created{Task: "a", Description: "x", Isolation: "vm"}, `isolation: "vm" is not a kind of isolation`},
	} {
		_, err := State{}.Do("anna", c.of)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("a task %.60q: %v, want %q", asJSON(t, c.of), err, c.want)
		}
	}
	k := newCard(t, Created{})
	for _, c := range []struct {
		edit Edited
		want string
	}{
		{Edited{Description: new(" ")}, "description: it is empty"},
		{Edited{Description: new(long + "x")}, "description: it has 262145 bytes"},
		{Edited{Labels: &[]string{""}}, "is not a label"},
		{Edited{Budget: &Budget{Cost: -1}}, "negative"},
		{Edited{DependsOn: &[]ID{"t1"}}, "on itself"},
		{Edited{Isolation: new(Isolation("vm"))}, "not a kind of isolation"},
	} {
		if err := k.try("anna", c.edit); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %q", asJSON(t, c.edit), err, c.want)
		}
	}
	k.planned()
	for _, c := range []struct {
		plan Plan
		want string
	}{
		{Plan{Steps: []string{"x"}}, "summary: a plan needs a summary"},
		{Plan{Summary: "x", Steps: []string{"\x00"}}, "plan: it has a NUL character"},
		{Plan{Summary: "x", AssignedAgent: "\x00"}, "plan: it has a NUL"},
		{Plan{Summary: "x", Requirements: []string{long + "x"}}, "plan: it has 262145 bytes"},
		{Plan{Summary: "x", AcceptanceCriteria: []string{"\x00"}}, "plan: it has a NUL"},
		{Plan{Summary: "x\x00"}, "plan: it has a NUL"},
	} {
		if err := k.try("anna", Edited{Plan: &c.plan}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %q", asJSON(t, c.plan), err, c.want)
		}
	}
	for i := range 100 {
		k.must("anna", AttachmentAdded{Attachment{ID: fmt.Sprint(i), Name: "x"}})
	}
	if err := k.try("anna", AttachmentAdded{Attachment{ID: "x", Name: "x"}}); err == nil || !strings.Contains(err.Error(), "has 100 files, which is the most") {
		t.Errorf("a file too many: %v", err)
	}
}

func TestTheTitleOfATask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ description, want string }{
		{"Count.", "Count."},
		{"\n \n  Count.  \nAll.", "Count."},
		{" \n", ""},
		{strings.Repeat("ä", 80), strings.Repeat("ä", 80)},
		{strings.Repeat("ä", 81), strings.Repeat("ä", 79) + "…"},
		{"a\xffb", "a\uFFFDb"},
	} {
		if got := (State{Description: c.description}).Title(); got != c.want {
			t.Errorf("%q is called %q, want %q", c.description, got, c.want)
		}
	}
}

// A log that a program has written wrongly is not a task.
func TestEventsThatCannotFollow(t *testing.T) {
	t.Parallel()
	created := Event{Payload: Created{Task: "t1", Description: "x"}}
	planning := []Event{created, {Run: "p", Payload: PlanningStarted{Assigned{Agent: "a", Number: 1}}},
		{Run: "p", Payload: StatusChanged{From: Pending, To: Planning, Trigger: OnPlan, Run: "p", Agent: "a"}}}
	handed := append(slices.Clip(planning), Event{Run: "p", Payload: PlannerOutputSubmitted{Submission: Submission{Assignment: 1}}})
	asking := append(slices.Clip(planning), Event{Run: "p", Payload: PermissionRequested{Call: "c_1"}})
	for _, c := range []struct {
		after []Event
		e     Event
		want  string
	}{
		{nil, Event{}, "an event without a payload"},
		{nil, Event{Payload: Edited{}}, "task.Edited where the task has 0 events"},
		{nil, Event{Payload: Created{Task: "T", Description: "x"}}, "is not a task id"},
		{nil, Event{Seq: 2, Payload: created.Payload}, "event 2 after 0"},
		{planning, created, "task.Created where the task has 3 events"},
		{planning, Event{Seq: 3, Payload: Edited{}}, "event 3 after 3"},
		{planning, Event{Payload: StatusChanged{From: Active, To: Completed, Trigger: OnComplete}}, "a change from active while the task is planning"},
		{planning, Event{Payload: StatusChanged{From: Planning, To: Completed, Trigger: OnDone}}, "report_complete does not lead from planning to completed"},
		{planning, Event{Payload: StatusChanged{From: Planning, To: "done", Trigger: OnDone}}, `status "done" does not exist`},
		{planning, Event{Payload: StatusChanged{From: Planning, To: Waiting, Trigger: OnPause}}, "status waiting without a run and its agent"},
		{planning, Event{Payload: StatusChanged{From: Planning, To: Waiting, Trigger: OnPause, Run: "p", Kind: Planner, Reason: "x"}}, "status waiting without a run and its agent"},
		{planning, Event{Payload: StatusChanged{From: Planning, To: Planned, Trigger: OnPlanned, Run: "p", Agent: "a"}}, "status planned with a run"},
		{planning, Event{Payload: StatusChanged{From: Planning, To: Waiting, Trigger: OnPause, Run: "p", Agent: "a", Reason: "x"}}, "without the kind of its agent and a reason"},
		{planning, Event{Payload: StatusChanged{From: Planning, To: Waiting, Trigger: OnPause, Run: "p", Agent: "a", Kind: Planner}}, "without the kind of its agent and a reason"},
		{planning, Event{Payload: StatusChanged{From: Planning, To: Failed, Trigger: OnCancel}}, "status failed without a reason"},
		{planning[:2], Event{Payload: StatusChanged{From: Pending, To: Planning, Trigger: OnPlan, Run: "q", Agent: "a"}}, "run q, which has no open assignment"},
		{planning[:2], Event{Payload: StatusChanged{From: Pending, To: Planning, Trigger: OnPlan, Run: "p", Agent: "b"}}, "run p, which has no open assignment"},
		{planning, Event{Payload: PlanningStarted{Assigned{Agent: "a", Number: 1}}}, "an assignment without a run and its agent"},
		{planning, Event{Run: "q", Payload: PlanningStarted{Assigned{Number: 1}}}, "an assignment without a run and its agent"},
		{planning, Event{Run: "q", Payload: PlanningStarted{Assigned{Agent: "a", Number: 2}}}, "assignment 2 of run q is not the next"},
		{planning, Event{Run: "p", Payload: PlanningStarted{Assigned{Agent: "a", Number: 3}}}, "assignment 3 of run p is not the next"},
		{planning, Event{Run: "p", Payload: PlanningStarted{Assigned{Agent: "a", Number: 2}}}, "run p, which is not at rest or of another agent"},
		{planning, Event{Run: "q", Payload: AgentStarted{Assigned{Agent: "a", Number: 1, Messages: []string{"m9"}}}}, `message "m9" is not one that can be delivered`},
		{planning, Event{Run: "q", Payload: AgentPrompted{Number: 1}}, "assignment 1 of run q was said already, or is not asked"},
		{planning, Event{Run: "p", Payload: AgentPrompted{Number: 2}}, "assignment 2 of run p was said already, or is not asked"},
		{handed, Event{Run: "p", Payload: PlannerOutputSubmitted{Submission: Submission{Assignment: 1}}}, "run p has handed in already"},
		{planning, Event{Run: "q", Payload: PlannerOutputSubmitted{}}, "run q hands in and is not at work as a planner"},
		{planning, Event{Run: "p", Payload: CompletionReportSubmitted{}}, "run p hands in and is not at work as a worker"},
		{planning, Event{Run: "p", Payload: QuestionAsked{}}, "run p asks nothing, or is not at work"},
		{asking, Event{Run: "p", Payload: PermissionRequested{Call: "c_1"}}, "call c_1 of run p waits already"},
		{planning, Event{Payload: AnswersSubmitted{}}, "0 answers to 0 questions"},
		{planning, Event{Payload: AnswersSubmitted{Answers: []string{"x"}}}, "1 answers to 0 questions"},
		{planning, Event{Run: "q", Payload: AgentCompleted{}}, "the end of run q, which is not one of the task's"},
		{planning, Event{Run: "p", Payload: AgentHandoffCompleted{}}, "the end of run p, which is not a child run of the task"},
		{planning, Event{Run: "p", Payload: AgentHandoffStarted{Parent: "p"}}, "run p has another parent"},
		{planning, Event{Run: "q", Payload: OutputReminderSent{}}, "a reminder of run q, which is not one of the task's"},
		{planning, Event{Payload: MessageQueued{ID: "", Text: "x"}}, `message "" is empty or there already`},
		{planning, Event{Payload: MessageQueued{ID: "m", Text: ""}}, `message "m" is empty or there already`},
		{planning, Event{Payload: MessageDelivered{ID: "m"}}, `message "m" is not one that can be delivered`},
		{planning, Event{Payload: AttachmentAdded{Attachment{ID: "a"}}}, "is there already, or has no name"},
		{planning, Event{Payload: AttachmentRemoved{"a"}}, `there is no attachment "a"`},
		{planning, Event{Payload: CopyMade{Dir: "/c", Branch: "b"}}, "a copy without a folder, a branch or a commit"},
		{planning, Event{Payload: CopyMade{Dir: "/c", Base: "b"}}, "a copy without a folder, a branch or a commit"},
		{planning, Event{Payload: CopyMade{Branch: "/c", Base: "b"}}, "a copy without a folder, a branch or a commit"},
		{planning, Event{Payload: CopyMerged{}}, "a merge without a copy"},
		{planning, Event{Payload: CopyDiscarded{}}, "a copy is discarded and there is none"},
	} {
		var s State
		for _, e := range c.after {
			next, err := s.Apply(e)
			if err != nil {
				t.Fatal(err)
			}
			s = next
		}
		before := asJSON(t, s)
		after, err := s.Apply(c.e)
		if err == nil || !strings.HasPrefix(err.Error(), "task: event out of order: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %s", c.e.Payload, err, c.want)
		}
		if asJSON(t, after) != before {
			t.Errorf("%T was refused and has changed the task", c.e.Payload)
		}
	}
}

func TestWhatAPersonIsToldOfTheEndOfATurn(t *testing.T) {
	t.Parallel()
	for end, want := range map[run.End]string{
		run.Asked: "asks a question", run.EndInterrupted: "was interrupted", run.LimitReached: "reached a limit",
		run.LoopStopped: "went round in circles and was stopped", run.GuardrailStopped: "was stopped by a guardrail of the provider",
		run.EndRefused: "got no answer: the provider refused", run.EndFailed: "failed", "new": "ended new",
	} {
		if got := onExit(Worker, "developer", true, run.Ended{End: end}, false, 0, "").Detail; got != "developer "+want {
			t.Errorf("%s is told as %q", end, got)
		}
		if got := onExit(Worker, "developer", true, run.Ended{End: end, Detail: "so it was"}, false, 0, "").Detail; got != "developer "+want+": so it was" {
			t.Errorf("%s is told as %q", end, got)
		}
	}
	x := onExit(Worker, "developer", true, run.Ended{End: run.Completed}, false, 2, "")
	if want := "developer ended without calling completion-report, after 2 reminders"; x.Detail != want {
		t.Errorf("it is told as %q", x.Detail)
	}
	x = onExit(Worker, "developer", true, run.Ended{End: run.Completed}, false, 2, strings.Repeat("x", 501))
	if want := strings.Repeat("x", 499) + "…"; !strings.Contains(x.Detail, want) {
		t.Errorf("it is told as %q", x.Detail)
	}
}

func TestTheCodesOfErrors(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	if err := k.try("anna", Move{On: OnRetry}); err.(*TransitionError).Code() != "INVALID_TRANSITION" {
		t.Errorf("%v", err)
	}
	if err := k.try("anna", Edited{}); err.(*InputError).Code() != "INVALID_INPUT" || err.(*InputError).Fields["edit"] == "" {
		t.Errorf("%v", err)
	}
	k.completed()
	second := k.try("developer", submit("w", 1, aReport)).(*SubmissionError)
	if second.Code() != "output_already_submitted" || second.Error() != "Completion report already submitted" {
		t.Errorf("%v", second)
	}
}

func TestEveryEventIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	n := 0
	for name, zero := range EventTypes() {
		n++
		typ, version, data, err := Encode(zero)
		if err != nil || typ != name {
			t.Fatalf("%s is written as %s: %v", name, typ, err)
		}
		again, known, err := Decode(typ, version, data)
		if err != nil || !known || asJSON(t, again) != asJSON(t, zero) || fmt.Sprintf("%T", again) != fmt.Sprintf("%T", zero) {
			t.Errorf("%s is read as %T %s: %v", name, again, asJSON(t, again), err)
		}
	}
	if n != len(kinds) {
		t.Errorf("%d of %d types of events", n, len(kinds))
	}
	for range EventTypes() {
		break
	}
	if _, known, err := Decode("task_created", 1, []byte("{")); !known || err == nil {
		t.Errorf("half an event: %v", err)
	}
	if _, _, _, err := Encode(nil); err == nil || err.Error() != "encode task event: <nil> has no name on disk" {
		t.Errorf("nothing was written: %v", err)
	}
}
