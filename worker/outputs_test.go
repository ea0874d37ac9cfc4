package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/llm"
	"pawl/output"
	"pawl/permission"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/outputs"
)

// A printer is a tool whose result is its argument, many times.
type printer struct{}

func (printer) Spec() tool.Spec {
	return tool.Spec{Name: "print", Description: "Prints.", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"times":{"type":"integer"},"stream":{"type":"boolean"}},"required":["text"],"additionalProperties":false}`)}
}

type printArgs struct {
	Text   string
	Times  int
	Stream bool
}

func (printer) Inspect(_ tool.Env, args json.RawMessage) (tool.Intent, error) {
	var a printArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return tool.Intent{}, err
	}
	return tool.Intent{Class: run.Reads, Title: a.Text, Command: a.Text}, nil
}

func (printer) Run(_ context.Context, _ tool.Env, c tool.Call) (tool.Result, error) {
	var a printArgs
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return tool.Result{}, err
	}
	if !a.Stream || c.Output == nil {
		return tool.TextResult(strings.Repeat(a.Text, max(1, a.Times))), nil
	}
	for range a.Times {
		if _, err := c.Output.Write([]byte(a.Text)); err != nil {
			break // whoever made Output knows why
		}
	}
	return tool.Result{Content: []run.Part{run.Text("[exit code 3]")}, Written: true}, nil
}

// storing makes a rig whose results are stored in a folder.
func storing(t *testing.T, replies string) (*rig, string) {
	t.Helper()
	r := newRig(t, replies)
	dir := storeOutputs(t, r)
	r.w.Tools = tool.NewRegistry(append(outputs.All(), printer{})...)
	return r, dir
}

// storeOutputs lets the rig's worker store results in a folder.
func storeOutputs(t *testing.T, r *rig) string {
	dir := t.TempDir()
	r.w.Outputs = output.NewStore(dir).With(Logs(r.w.Store))
	return dir
}

func turn(t *testing.T, r *rig) run.State {
	t.Helper()
	d := r.create()
	defer d.Close()
	s, err := d.Run(t.Context(), prompt("go"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatIsTooLargeForTheContextIsStoredAndAsked(t *testing.T) {
	t.Parallel()
	r, _ := storing(t, `
{"calls":[{"tool":"print","args":{"text":"[1,2,3,{\"name\":\"ann\"}]"}}]}
{"calls":[{"tool":"print","args":{"text":"line\n","times":100000,"stream":true}}]}
{"calls":[{"tool":"tool_outputs.count","args":{"id":"c_1","counts":[{"path":"$"}]}},{"tool":"tool_outputs_search","args":{"id":"","pattern":"^line$","limit":1}},{"tool":"tool_outputs_extract","args":{"id":"c_9"}}]}
{"text":"Done."}`)
	s := turn(t, r)
	got := results(s)
	if len(got) != 5 {
		t.Fatalf("results %q", got)
	}
	if got[0] != `c_1 false [1,2,3,{"name":"ann"}]` {
		t.Errorf("a small result is %q", got[0])
	}
	if !strings.HasPrefix(got[1], `c_2 false {"persisted":true,"output_ref":{"id":"c_2","storage":"app_data"},"size_chars":500000`) || !strings.HasSuffix(got[1], "[exit code 3]") || len(got[1]) > 2600 ||
		!strings.Contains(got[1], "tool_outputs.read — load full output into context") {
		t.Errorf("a large result is %q", got[1])
	}
	if !strings.Contains(got[2], `"counts":{"$":4}`) {
		t.Errorf("the small one is counted as %q", got[2])
	}
	if !strings.Contains(got[3], `"id":"c_2"`) {
		t.Errorf("without an id the newest is meant: %q", got[3])
	}
	if !strings.HasPrefix(got[4], "c_5 true") || !strings.Contains(got[4], "c_2") {
		t.Errorf("an output that is not there is answered by %q, which should name those that are", got[4])
	}
	var deliveries []string
	for _, l := range s.Turn.Account {
		deliveries = append(deliveries, l.Delivery)
	}
	if !slices.Equal(deliveries, []string{"inline", "stored", "", "", ""}) {
		t.Errorf("deliveries %q: answers of these tools are never stored", deliveries)
	}
}

func TestACallSaysHowItsResultIsDelivered(t *testing.T) {
	t.Parallel()
	r, _ := storing(t, `
{"calls":[{"tool":"print","args":{"text":"small","output_mode":"persist"}},{"tool":"print","args":{"text":"0123456789","times":5000,"output_mode":"inline"}},{"tool":"print","args":{"text":"0123456789","times":7000,"output_mode":"inline"}},{"tool":"print","args":{"text":"x","output_mode":"loud"}}]}
{"text":"Done."}`)
	got := results(turn(t, r))
	for i, want := range []string{`{"persisted":true`, "0123456789012", `"forced_persist":true,"forced_reason":"inline_size_exceeds_hard_limit"`, "output_mode must be one of auto, inline, persist"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("result %d is %.300q, want %q in it", i+1, got[i], want)
		}
	}
}

func TestAnArgumentByHandleIsWhatRulesAndToolsSee(t *testing.T) {
	t.Parallel()
	r, _ := storing(t, `
{"calls":[{"tool":"print","args":{"text":"{\"users\":[{\"id\":\"u7\"}]}"}}]}
{"calls":[{"tool":"print","args":{"text":{"$output":"c_1","path":"$.users[0].id"}}},{"tool":"print","args":{"text":{"$output":"c_1","path":"$.users"}}},{"tool":"print","args":{"text":{"$output":"c_8"}}}]}
{"text":"Done."}`)
	var seen []string
	r.w.Authorizer = authorizer(func(q permission.Request) permission.Decision {
		seen = append(seen, q.Command)
		return permission.Decision{Verdict: permission.Allow}
	})
	got := results(turn(t, r))
	if !slices.Contains(seen, "u7") {
		t.Errorf("the rules saw %q, want what the handle stands for", seen)
	}
	if got[1] != "c_2 false u7" {
		t.Errorf("the tool gave %q", got[1])
	}
	if got[2] != `c_3 false [{"id":"u7"}]` {
		t.Errorf("a handle that stands for a list, for a string: %q", got[2])
	}
	if !strings.HasPrefix(got[3], "c_4 true") || !strings.Contains(got[3], "c_1") {
		t.Errorf("a handle of nothing is answered by %q", got[3])
	}
}

func TestAResultThatCannotBeStoredIsAnError(t *testing.T) {
	t.Parallel()
	r, dir := storing(t, `
{"calls":[{"tool":"print","args":{"text":"small"}},{"tool":"print","args":{"text":"line\n","times":100000,"stream":true}}]}
{"text":"Done."}`)
	if err := os.WriteFile(filepath.Join(dir, "in the way"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.w.Outputs = output.NewStore(filepath.Join(dir, "in the way")).With(Logs(r.w.Store))
	got := results(turn(t, r))
	if got[0] != "c_1 false small" {
		t.Errorf("a small result is %q", got[0])
	}
	if o, err := r.w.Outputs.Find(output.Scope{Conversation: "r", Run: "r"}, "c_1"); err != nil || o.Bytes() != 5 || o.Tool != "print" || o.Message != "m_2" {
		t.Errorf("a small one is in the log: %+v, %v", o, err)
	}
	if !strings.HasPrefix(got[1], "c_2 true") || !strings.Contains(got[1], "could not be stored") {
		t.Errorf("a large one is %q", got[1])
	}
}

func TestTheSameLargeResultIsTheSameToTheGuard(t *testing.T) {
	t.Parallel()
	r, _ := storing(t, strings.Repeat(`{"calls":[{"tool":"print","args":{"text":"line\n","times":100000,"stream":true}}]}`+"\n", 8)+`{"text":"Done."}`)
	if s := turn(t, r); s.Turn.End.End != run.LoopStopped {
		t.Errorf("ended %+v: each envelope has another id, and the result is the same", s.Turn.End)
	}
}

func TestTheModeIsAddedToEverySchemaWithProperties(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                                     `{"type":"object","properties":{` + modeSchema + `,"a":{"type":"string"}}}`,
		`{"type":"object","properties":{}}`:                                                          `{"type":"object","properties":{` + modeSchema + `}}`,
		`{"$defs":{"x":{"properties":{"y":{}}}},"type":"object", "properties" : { "a":{"const":1}}}`: `{"$defs":{"x":{"properties":{"y":{}}}},"type":"object", "properties" : {` + modeSchema + `, "a":{"const":1}}}`,
		`{"type":"object"}`: `{"type":"object"}`,
		`oops`:              `oops`,
	} {
		if got := string(withMode(json.RawMessage(schema))); got != want {
			t.Errorf("%s becomes %s, want %s", schema, got, want)
		}
	}
}

func TestWhatIsHandedInHasNoModeOfDelivery(t *testing.T) {
	t.Parallel()
	r, _ := storing(t, `{"calls":[{"tool":"submit_result","args":{"n":3}}]}`)
	d := r.createAsked(countSchema)
	defer d.Close()
	sp, err := d.session(d.State().Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sp.offered {
		if has := strings.Contains(string(s.Schema), modeArgument); has != (s.Name == "print") {
			t.Errorf("%s is offered with %s", s.Name, s.Schema)
		}
	}
}

// A small result is in the event that settles its call, and no file: what is durable of the
// call is durable of its output.
func TestTheNextProcessAsksForASmallResult(t *testing.T) {
	t.Parallel()
	r, dir := storing(t, `
{"calls":[{"tool":"print","args":{"text":"[1,2,3]"}}]}
{"text":"Printed."}
{"calls":[{"tool":"tool_outputs.count","args":{"id":"c_1","counts":[{"path":"$"}]}}]}
{"text":"Done."}`)
	turn(t, r)
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("there are files: %v, %v", files, err)
	}
	d, err := r.w.Open(t.Context(), "r", r.watch)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s, err := d.Run(t.Context(), prompt("How many?"))
	if err != nil {
		t.Fatal(err)
	}
	if got := results(s); len(got) != 2 || !strings.Contains(got[1], `"counts":{"$":3}`) {
		t.Errorf("results %q", got)
	}
}

func TestAResultWithAWarningIsStoredNowhere(t *testing.T) {
	t.Parallel()
	r, dir := storing(t, `
{"calls":[{"tool":"print","args":{"text":"small","output_mode":"persist"}}]}
{"text":"Done."}`)
	if err := os.WriteFile(filepath.Join(dir, "in the way"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.w.Outputs = output.NewStore(filepath.Join(dir, "in the way"))
	s := turn(t, r)
	if l := s.Turn.Account[0]; l.Failed || l.Delivery != "" {
		t.Errorf("%+v: compaction would tell the model to ask for an output that is not there", l)
	}
}

// What a tool says beside a result that is small was lost where it made the result too large to be inline: the warnings of the
// sandbox about a hundred files that a command had made.
func TestWhatIsSaidBesideAStoredResultIsStoredWithIt(t *testing.T) {
	t.Parallel()
	r, _ := storing(t, `
{"calls":[{"tool":"noting","args":{}},{"tool":"noting","args":{"output_mode":"persist"}}]}
{"calls":[{"tool":"tool_outputs_search","args":{"id":"c_1","pattern":"^said 9999$"}},{"tool":"tool_outputs_search","args":{"id":"c_2","pattern":"^printed$"}}]}
{"text":"Done."}`)
	r.w.Tools = tool.NewRegistry(append(outputs.All(), noting{})...)
	got := results(turn(t, r))
	for i, want := range []string{`"persisted":true`, `"persisted":true`, "said 9999", "printed"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("result %d is %.300q, want %q in it", i+1, got[i], want)
		}
	}
}

// A noting is a tool that prints a word while it runs and has much to say beside it.
type noting struct{}

func (noting) Spec() tool.Spec {
	return tool.Spec{Name: "noting", Description: "Prints.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
}

func (noting) Inspect(tool.Env, json.RawMessage) (tool.Intent, error) {
	return tool.Intent{Class: run.Reads, Title: "noting"}, nil
}

func (noting) Run(_ context.Context, _ tool.Env, c tool.Call) (tool.Result, error) {
	if _, err := io.WriteString(c.Output, "printed\n"); err != nil {
		return tool.Result{}, err
	}
	text := "printed\n"
	for i := range 10_000 {
		text += fmt.Sprintf("said %d\n", i)
	}
	return tool.TextResult(text), nil
}

// A camera is a tool whose result is words and a picture.
type camera struct{}

func (camera) Spec() tool.Spec {
	return tool.Spec{Name: "camera", Description: "Takes a picture.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
}

func (camera) Inspect(tool.Env, json.RawMessage) (tool.Intent, error) {
	return tool.Intent{Class: run.Reads, Title: "camera"}, nil
}

func (camera) Run(context.Context, tool.Env, tool.Call) (tool.Result, error) {
	picture := run.Part{Type: run.ImagePart, Image: &run.Image{MediaType: "image/png", Data: []byte("\x89PNG")}}
	return tool.Result{Content: []run.Part{run.Text("a cat"), picture}}, nil
}

func TestAPictureIsShownAndNotStored(t *testing.T) {
	t.Parallel()
	for _, control := range []string{run.Native, run.Controller} {
		t.Run(control, func(t *testing.T) {
			t.Parallel()
			reply := `{"calls":[{"tool":"camera"}]}` + "\n" + `{"text":"A cat."}`
			if control == run.Controller {
				reply = object(t, `{"action":"next_step","tool":"camera"}`) + object(t, `{"action":"complete","message":"A cat."}`)
			}
			r, _ := storing(t, reply)
			r.w.Tools = r.w.Tools.With(camera{})
			inner, _, _ := r.w.Provider("")
			seen := &[]llm.Request{}
			r.w.Provider = func(string) (llm.Provider, string, error) { return recorder{inner, seen}, "m", nil }
			s := r.run(r.createWith(run.Created{Config: run.Config{Control: control}}), prompt("go"))
			if s.Answer() != "A cat." {
				t.Fatalf("ended %+v with %q", s.Turn.End, s.Answer())
			}
			p := logged[run.CallSettled](t, r)
			if len(p) != 1 || p[0].Delivery != "" || len(p[0].Content) != 2 || p[0].Content[1].Image == nil {
				t.Errorf("settled %+v", p)
			}
			if _, err := r.w.Outputs.Find(output.Scope{Conversation: "r", Run: "r"}, "c_1"); err == nil {
				t.Error("it is stored")
			}
			if control == run.Controller {
				shown := strings.Join(words(t, (*seen)[1]), "\n")
				if !strings.Contains(shown, "A picture of c_1:") || !strings.Contains(shown, "a cat") {
					t.Errorf("shown %q", shown)
				}
			}
		})
	}
}

// Where results are not stored no tool has an argument that says how, and it is wrong like any other that
// a tool does not have.
func TestWhereNothingIsStoredNoCallSaysHow(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"calls":[{"tool":"read","args":{"do":"ok","output_mode":"inline"}}]}
{"text":"Done."}`)
	got := results(turn(t, r))
	if len(got) != 1 || !strings.HasPrefix(got[0], "c_1 true ") || !strings.Contains(got[0], "output_mode") {
		t.Errorf("results %q", got)
	}
	if ran := r.read.Ran(); len(ran) > 0 {
		t.Errorf("it ran with %q", ran)
	}
}

// A tool whose result cannot be stored is told so with each byte that it prints, and it is tried once.
func TestAResultThatCannotBeStoredIsToldToItsTool(t *testing.T) {
	t.Parallel()
	full, tried := errors.New("no space left on device"), 0
	k := &resultWriter{create: func() (*output.Writer, error) { tried++; return nil, full }}
	for range 2 {
		if n, err := k.Write([]byte("line\n")); n != 0 || !errors.Is(err, full) {
			t.Errorf("%d bytes were written, %v", n, err)
		}
	}
	k.abort()
	if tried != 1 {
		t.Errorf("an output was made %d times", tried)
	}
}

// The log says of each result where it is: inline, stored, or, of one without text, nowhere; and the
// model gets it once.
func TestWhereAResultIs(t *testing.T) {
	t.Parallel()
	r, _ := storing(t, `{"text":"Done."}`)
	d := r.create()
	defer d.Close()
	for i, c := range []struct {
		text     string
		mode     output.Mode
		delivery output.Delivery
		size     int64
	}{{"", output.Auto, "", 0}, {"", output.Persist, "", 0}, {"x", output.Auto, output.Inlined, 1}, {"three", output.Persist, output.Stored, 5}} {
		id := run.CallID(fmt.Sprintf("c_%d", i+1))
		k := d.resultWriterOf(id, "print", "m_2")
		fact := d.deliver(k, run.CallState{Call: run.Call{ID: id, Tool: "print"}}, c.mode, tool.TextResult(c.text))
		if fact.Delivery != string(c.delivery) || fact.Size != c.size || fact.Outcome != run.OK {
			t.Errorf("%q, %s: it is delivered %q with %d bytes, %s", c.text, c.mode, fact.Delivery, fact.Size, fact.Outcome)
		}
		if n := len(fact.Content); n != 1 && c.text != "" {
			t.Errorf("%q, %s: it is delivered in %d parts: %v", c.text, c.mode, n, fact.Content)
		}
	}
}
