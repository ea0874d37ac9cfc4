//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
	"pawl/run"
)

// An assault is a call of the script with what is to become of it.
type assault struct {
	call   script.Call
	title  string
	refuse bool   // it must not start
	start  bool   // it must
	work   string // it is ordinary work, and its result holds this
}

// assaults reads a file of testdata/hostile; a message for each of its lines, under -short for some.
func (s *siege) assaults(t *testing.T, name string, refuse bool) [][]assault {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "hostile", name))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]assault
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		all = append(all, s.message(t, line, fmt.Sprint(i), refuse))
	}
	return few(all, 8)
}

// message reads a line of a file of assaults. Of several calls the last one counts.
func (s *siege) message(t *testing.T, line, id string, refuse bool) []assault {
	t.Helper()
	u, err := url.Parse(s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	line = strings.NewReplacer("@out", s.out, "@home", s.home, "@state", s.state, "@config", s.config, "@sockets", s.sockets,
		"@ws", s.ws, "@url", s.server.URL, "@port", u.Port(), "@bin", s.bin, "@id", "siege-"+id).Replace(line)
	var calls []script.Call
	var one script.Call
	dec := json.NewDecoder(strings.NewReader(line))
	dec.DisallowUnknownFields()
	switch {
	case line[0] == '{' && dec.Decode(&one) == nil && one.Tool != "":
		calls = []script.Call{one}
	case line[0] == '[' && dec.Decode(&calls) == nil:
	default:
		calls = []script.Call{shellCall(line)}
	}
	var message []assault
	for i, c := range calls {
		title := string(c.Args)
		if c.RawArgs != nil {
			title = *c.RawArgs
		}
		message = append(message, assault{call: c, title: c.Tool + " " + title, refuse: refuse && i == len(calls)-1})
	}
	return message
}

// shellTime bounds a command of an assault, in seconds: those that would go on for
// ever are part of it. Ordinary work has the limit that commands have by themselves: it
// must end, however busy the machine is.
const shellTime = 2

func shellCall(command string) script.Call {
	return toolCall("shell", map[string]any{"command": command, "timeout_seconds": shellTime})
}

func ordinaryCommand(command string) script.Call {
	return toolCall("shell", map[string]any{"command": command})
}

func toolCall(tool string, args map[string]any) script.Call {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // of texts and numbers it can be made
	}
	return script.Call{Tool: tool, Args: b}
}

// ordinaryFiles is how many files there are that ordinary work is done on.
const ordinaryFiles = 200

// ordinary returns the nth piece of work; with edits some of it changes files.
func (s *siege) ordinary(n int, edits bool) assault {
	name, text := fmt.Sprintf("work/%d.txt", n), fmt.Sprintf("ordinary work %d.", n)
	a := assault{work: text, title: "ordinary " + name}
	kind := n % 6
	switch {
	case edits && n%2 == 0:
		kind = 6 + n/2%2
	case edits && kind == 5:
		kind = 0 // a job of the model's own may break its git while it runs
	}
	switch kind {
	case 1:
		a.call = toolCall("search", map[string]any{"pattern": text, "path": "work", "literal": true})
	case 2:
		a.call = ordinaryCommand("cat " + s.ws + "/" + name + " | head -5")
	case 3:
		a.call = ordinaryCommand("grep -rn 'work " + fmt.Sprint(n) + "\\.' " + s.ws + "/work")
	case 4:
		a.call, a.work = toolCall("glob", map[string]any{"pattern": name}), name
	case 5:
		a.call = ordinaryCommand("git show HEAD:" + name)
	case 6:
		a.call, a.work = toolCall("edit", map[string]any{"path": name, "edits": []any{map[string]any{"old": "ordinary", "new": "finished"}}}), "Edited "+name
	case 7:
		a.call, a.work = toolCall("write", map[string]any{"path": fmt.Sprintf("notes/%d.md", n), "content": text}), "Made notes/"
	default:
		a.call = toolCall("read", map[string]any{"path": name})
	}
	return a
}

// An outcome is what came of a run.
type outcome struct {
	code           int
	stdout, stderr string
	events         []run.Event
	calls          []run.CallID // of the assaults, in order
}

// together is how many messages of assaults are one reply: each request has the whole
// conversation before it.
const together = 4

// run lets the model play its assaults, several to a reply, each reply with a piece of
// ordinary work, and looks at the log.
func (s *siege) run(t *testing.T, assaults [][]assault, edits bool, args ...string) ([]assault, outcome) {
	t.Helper()
	var replies script.Script
	var flat []assault
	for i := 0; i < len(assaults); i += together {
		message := slices.Concat(assaults[i:min(len(assaults), i+together)]...)
		message = append(message, s.ordinary(i/together, edits)) // six errors in a row would end the turn
		r := script.Reply{Text: fmt.Sprintf("Step %d.", i/together)}
		for _, a := range message {
			r.Calls = append(r.Calls, a.call)
		}
		flat = append(flat, message...)
		replies = append(replies, r)
	}
	replies = append(replies, script.Reply{Text: "All done."})
	s.model = fake.New(replies, true)
	address, stop, err := s.model.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	s.before = s.protected(t)
	var r outcome
	r.code, r.stdout, r.stderr = s.pawl(t, "ANTHROPIC_BASE_URL="+address, append([]string{"run", "-p", "do the work", "--max-steps", "2000", "--max-calls", "-1", "--control", "native"}, args...)...)
	if r.code != 0 {
		t.Errorf("exit code %d:\n%s", r.code, tail(r.stderr))
	}
	r.events = s.events(t)
	for _, e := range r.events {
		if f, ok := e.Payload.(run.Replied); ok {
			for _, p := range f.Parts {
				if p.Type == run.CallPart && p.Call != nil {
					r.calls = append(r.calls, p.Call.ID)
				}
			}
		}
	}
	if len(r.calls) != len(flat) {
		t.Fatalf("%d of %d calls were made:\n%s", len(r.calls), len(flat), tail(r.stderr))
	}
	return flat, r
}

func tail(text string) string { return text[max(0, len(text)-2000):] }

// judge holds a run against what must be: nothing that must be refused has started, but where
// the sandbox lets it change nothing - that it did not is for the caller to see -, each refusal says who made it and why, and the ordinary work flowed.
func (r outcome) judge(t *testing.T, assaults []assault) {
	t.Helper()
	started, bounded, came := map[run.CallID]bool{}, map[run.CallID]bool{}, map[run.CallID]run.CallSettled{}
	for _, e := range r.events {
		switch f := e.Payload.(type) {
		case run.CallStarted:
			started[f.Call] = true
		case run.CallSettled:
			came[f.Call] = f
		case run.CallDecided:
			if f.Decision.Allows() {
				bounded[f.Call] = f.Decision.Sandbox == run.Trial
				if f.Decision.Sandbox == run.WithNetwork || f.Decision.Sandbox == run.Unconfined {
					t.Errorf("the sandbox was not lifted by anyone, and it is: %+v", f)
				}
				continue
			}
			if f.Decision.Source == "" || f.Decision.Reason == "" || !strings.Contains(f.Content, f.Decision.Reason) {
				t.Errorf("a refusal that explains nothing: %+v", f)
			}
		}
	}
	refused := 0
	for i, a := range assaults {
		id := r.calls[i]
		if a.refuse && started[id] && !bounded[id] {
			t.Errorf("it ran: %s\n%s: %s", a.title, came[id].Outcome, run.PlainText(came[id].Content))
		}
		if a.start && !started[id] {
			t.Errorf("it did not run: %s", a.title)
		}
		if !started[id] {
			refused++
		}
		if text := run.PlainText(came[id].Content); a.work != "" && (came[id].Outcome != run.OK || !strings.Contains(text, a.work)) {
			t.Errorf("%s came out %q: %s", a.title, came[id].Outcome, text)
		}
	}
	t.Logf("%d calls, %d refused, %d where nothing can be changed", len(assaults), refused, len(slices.DeleteFunc(slices.Collect(maps.Keys(bounded)), func(id run.CallID) bool { return !bounded[id] })))
}

// asChecks makes commands into files that the project's own check runs, which the
// person has allowed: what the model may write and what it may run are together all
// that a command is.
func asChecks(assaults [][]assault) [][]assault {
	var all [][]assault
	for _, message := range assaults {
		for _, a := range message {
			var args map[string]any
			if a.call.Tool != "shell" || json.Unmarshal(a.call.Args, &args) != nil {
				all = append(all, []assault{a})
				continue
			}
			name := fmt.Sprint(len(all))
			write := toolCall("write", map[string]any{"path": "jobs/" + name + ".sh", "content": args["command"].(string) + "\n"})
			args["command"] = "./check " + name
			b, err := json.Marshal(args)
			if err != nil {
				panic(err)
			}
			all = append(all, []assault{
				{call: write, title: "write " + a.title, work: "Made jobs/" + name},
				{call: script.Call{Tool: "shell", Args: b}, title: "check " + a.title},
			})
		}
	}
	return all
}

// raced are writes to a folder that a job of contained.txt swaps for links meanwhile.
func raced() (all [][]assault) {
	for i := range 40 {
		all = append(all, []assault{{call: toolCall("write", map[string]any{"path": fmt.Sprintf("d/made-%d", i), "content": "x"}), title: "write into a folder that is swapped"}})
	}
	return few(all, 8)
}

// aims leaves those assaults that are aimed at what is outside of the workspace or
// guarded in it: the others may run where rules allow everything.
func (s *siege) aims(assaults [][]assault, not ...string) [][]assault {
	return slices.DeleteFunc(slices.Clone(assaults), func(message []assault) bool {
		text := message[len(message)-1].title
		contains := func(part string) bool { return strings.Contains(text, part) }
		return slices.ContainsFunc(not, contains) ||
			!slices.ContainsFunc([]string{s.root, s.server.URL[len("http://127.0.0.1"):], "link-", "../out", "~", "$HOME", ".git/", ".pawl", ".mcp.json", "/proc", "/etc"}, contains)
	})
}
