package run

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// typesOf returns the names of the types of payloads, sorted, each once.
func typesOf(payloads []Payload) []string {
	var names []string
	for _, p := range payloads {
		if p != nil {
			names = append(names, reflect.TypeOf(p).Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// The simulation and the tests over all payloads have them from [moments]. A type that is new in event.go has to stand there.
func TestTheVocabularyIsWhole(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "apply" {
			declared = append(declared, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	slices.Sort(declared)
	if d := cmp.Diff(declared, typesOf(vocabulary())); d != "" {
		t.Errorf("the types of event.go (-) and those of the payloads of moments in refusals_test.go (+), where each stands with what is taken and what is refused:\n%s", d)
	}
}

// byDriver has the payloads that only the process which drives a run appends: after the death of one, none of them comes
// before the next has appended [Resumed].
var byDriver = []Payload{
	Created{}, Prompted{}, // no turn is open before them
	Said{}, Withdrawn{}, Interrupted{}, // requests of others wait in the inbox for that process
	RequestStarted{}, RequestFailed{}, Replied{}, Observed{}, Told{}, Submitted{}, Compacted{}, Synthesized{}, Ended{}, // what it does, and what comes of it
	CallReceived{}, CallInspected{}, CallDecided{}, ApprovalInvalidated{}, CallStarted{}, CallDetached{}, CallAsked{}, CallAnswered{}, CallSettled{},
	Resumed{}, HookStarted{}, HookSettled{},
}

// A run loses none of its time limit while no process drives it, whatever is recorded then. A type of event that is neither in
// byDriver nor left out of the time in [State.transition] fails here.
func TestTimeInWhichNoProcessDrivesARunIsNotCounted(t *testing.T) {
	t.Parallel()
	driver := typesOf(byDriver)
	tried := map[string]bool{}
	moments, payloads := moments()
	for _, m := range moments {
		s := after(t, State{At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}, m.payloads...)
		if !s.Turn.Open() || s.Turn.waitsForPerson() {
			continue // time does not count anyhow
		}
		want, left := s.Driven(s.At), s.Deadline().Sub(s.At)
		for _, p := range payloads {
			name := ""
			if p != nil {
				name = reflect.TypeOf(p).Name()
			}
			between, err := s.Apply(Event{At: s.At.Add(9 * time.Hour), Payload: p}) // the process has died
			if err != nil || slices.Contains(driver, name) {
				continue
			}
			tried[name] = true
			next := between.Recover()
			after, err := between.Apply(Event{At: between.At.Add(time.Hour), Payload: next[0]})
			if err != nil {
				t.Fatalf("%s, killed, then %s: %v", m.name, name, err)
			}
			if got, rest := after.Driven(after.At), after.Deadline().Sub(after.At); got != want || rest != left {
				t.Errorf("%s, killed, then %s: driven for %v and %v left, want %v and %v. A type that is recorded while no process drives the run stands beside Configured in transition (apply.go), every other in byDriver", m.name, name, got, rest, want, left)
			}
		}
	}
	for _, name := range typesOf(vocabulary()) {
		if !slices.Contains(driver, name) && !tried[name] {
			t.Errorf("%s follows in no moment in which time counts: add one to moments (refusals_test.go); if only the process that drives a run appends it, add it to byDriver", name)
		}
	}
}

// A change while a process drives the turn is no pause.
func TestTimeInWhichARunIsConfiguredIsCounted(t *testing.T) {
	t.Parallel()
	s := replayed(t, Created{Run: "r"}, Prompted{Parts: []Part{Text("work")}}, RequestStarted{Purpose: ForStep, Attempt: 1},
		time.Minute, Configured{}, Replied{Parts: []Part{Text("done")}, Stop: StopEndTurn})
	if got := s.Driven(s.At); got != time.Minute+3*time.Second {
		t.Errorf("driven for %v with a change in between, want 1m3s", got)
	}
}
