package worker

import (
	"strings"
	"testing"
	"testing/synctest"

	"pawl/permission"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/outputs"
)

func TestACallOfAToolThatIsNotGrantedIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok"}},{"tool":"read","args":{"do":"ok code"}}]}
{"text":"Done."}`)
		r.w.Tools = tool.NewRegistry(append(outputs.All(), r.read, r.edit)...)
		c := run.Created{Agent: "reviewer", Config: run.Config{Model: "m/m", Mode: string(permission.Bypass), Tools: run.Grant("read")}}
		d := r.createWith(c)
		s := r.run(d, prompt("go"))
		got := strings.Join(results(s), "\n")
		if !strings.Contains(got, "c_1 true not granted: the agent reviewer does not have the tool edit. Granted: read, tool_outputs.aggregate") ||
			!strings.Contains(got, "c_2 false code") {
			t.Errorf("the results are\n%s", got)
		}
		m, err := d.session(s.Config)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range m.offered {
			if spec.Name == "edit" {
				t.Error("the model is offered the tool that is not granted")
			}
		}
	})
}

// A grant that is taken back while a call waits for a person holds for that call.
func TestGrantsAreCheckedAgainWhenACallStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok"}}]}
{"calls":[{"tool":"edit","args":{"do":"ok again"}}]}
{"text":"Done."}`)
		r.w.OnAsk = AskWait
		r.w.Authorizer = authorizer(func(permission.Request) permission.Decision {
			return permission.Decision{Verdict: permission.Ask, Source: "default", Reason: "no rule allows it"}
		})
		d := r.create()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || !s.Turn.Open() {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		none := run.Grant("read")
		s = r.run(d, run.Configured{Change: run.ConfigChange{Tools: &none}},
			run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow, Source: byPerson}})
		got := strings.Join(results(s), "\n")
		for _, call := range []string{"c_1", "c_2"} {
			if !strings.Contains(got, call+" true not granted: this run does not have the tool edit. Granted: read") {
				t.Errorf("the results are\n%s", got)
			}
		}
		if changes := logged[run.Configured](t, r); len(changes) != 1 {
			t.Errorf("%d changes are in the log", len(changes))
		}
	})
}
