package run

import (
	"strings"
	"testing"
)

func TestWhatAnAccountSaysOfACall(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"path":"a.go"}`:                     "a.go",
		`{"count":3,"path":"a.go","b":"c"}`:   "a.go",
		`{"output_mode":"count","path":"a"}`:  "a",
		`{"note":"  ","path":"a"}`:            "a",
		`{"command":"go\n\ttest  ./..."}`:     "go test ./...",
		`{"count":3}`:                         "",
		`{}`:                                  "",
		`["path","a.go"]`:                     "",
		`"a.go"`:                              "",
		``:                                    "",
		`{"count":3,"pa`:                      "",
		`{"count":`:                           "",
		`{1:"a.go"}`:                          "",
		`{"a" "a.go"}`:                        "",
		`{"path":"` + repeat("x", 80) + `"}`:  repeat("x", 80),
		`{"path":"` + repeat("x", 81) + `"}`:  repeat("x", 80) + "…",
		`{"path":"` + repeat("ä", 41) + `"}`:  repeat("ä", 40) + "…",
		`{"path":"x` + repeat("ä", 41) + `"}`: "x" + repeat("ä", 39) + "…", // no half letter
		`{"path":"a` + repeat(" ", maxSubject-12) + `"}`: "a",
		`{"path":"a` + repeat(" ", maxSubject-11) + `"}`: "",
	} {
		if got := subject(arguments); got != want {
			t.Errorf("%.40s is about %q, want %q", arguments, got, want)
		}
	}
	for _, c := range []struct {
		line Line
		want string
	}{
		{Line{}, "a call without a name"},
		{Line{Tool: "read", Subject: "a.go", Outcome: OK}, "read a.go"},
		{Line{Tool: "read", Outcome: OK, Found: "package a"}, "read: package a"},
		{Line{Tool: "read", Outcome: Refused, Failed: true}, "read: refused"},
		{Line{Tool: "read", Outcome: Refused, Failed: true, Found: "a person said no"}, "read: refused: a person said no"},
		{Line{Tool: "read", Outcome: Invalid, Failed: true, Found: "no such tool"}, "read: could not run: no such tool"},
		{Line{Tool: "shell", Outcome: Cut, Failed: true, Found: "[for the model]"}, "shell: stopped while it ran"},
		{Line{Tool: "shell", Outcome: Unknown, Failed: true}, "shell: outcome unknown"},
		{Line{Tool: "shell", Outcome: OK, ExitCode: new(0), Found: "ok"}, "shell: ok"},
		{Line{Tool: "shell", Outcome: OK, Failed: true, ExitCode: new(128), Found: "no [exit code 128]"}, "shell: failed with exit code 128: no"},
		{Line{Tool: "shell", Outcome: OK, Failed: true, ExitCode: new(137)}, "shell: failed with exit code 137 (signal 9)"},
		{Line{Tool: "shell", Outcome: OK, Failed: true, ExitCode: new(193)}, "shell: failed with exit code 193"},
		{Line{Tool: "read", Call: "c_3", Outcome: OK, Delivery: "stored", Found: "x"}, "read: stored as c_3"},
	} {
		if got := c.line.words(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.line, got, c.want)
		}
	}
}

// Of a text of any length its beginning is looked at, sixteen times as much as is shown.
func TestALineIsMadeOfTheBeginningOfAText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"one\n two":               "one two",
		repeat("x", 11):           repeat("x", 10) + "…",
		repeat(" ", 159) + "x":    "x",
		repeat(" ", 160) + "x":    "",
		repeat(" ", 159) + "ä":    "", // no half letter
		repeat(" ", 158) + "äxyz": "ä",
	} {
		if got := singleLine(text, 10); got != want {
			t.Errorf("of %q is shown %q, want %q", text, got, want)
		}
	}
}

// The account keeps of a call the beginnings of its arguments and of what it found.
func TestTheAccountKeepsTheBeginningOfWhatWasFound(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.prompt("go")
	f := calls("read")
	f.Parts[0].Call.Arguments = `{"path":"` + repeat("p", 200) + `"}`
	d.end("request/1.1/step/1", f)
	settled := settledOK("c_1")
	settled.Content = []Part{Text(repeat("x", 161))}
	d.end("perform/c_1/1", settled)
	l := d.r.State.Turn.Account[0]
	if l.Found != repeat("x", 160)+"…" || l.Args != `{"path":"`+repeat("p", 71)+"…" || l.Subject != repeat("p", 80)+"…" {
		t.Errorf("%+v", l)
	}
}

func repeat(s string, n int) string { return strings.Repeat(s, n) }

func TestTheAccountNamesAtMostSomeFiles(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{maxAccount: "", maxAccount + 1: ", and 1 more", maxAccount + 20: ", and 20 more"} {
		var turn Turn
		l := Line{Call: "c_1", Tool: "edit", Outcome: OK}
		for i := range n {
			l.Files = append(l.Files, "f"+itoa(i))
		}
		turn.Account = []Line{l}
		_, files, _ := strings.Cut(turn.deterministicAccount(), "Files changed: ")
		if !strings.HasSuffix(files, "f"+itoa(maxAccount-1)+want) {
			t.Errorf("of %d files the account names %s", n, files)
		}
	}
}

func TestTheNamesOfChildRuns(t *testing.T) {
	t.Parallel()
	if got := ChildID("r1", "c_12"); got != "r1-c12" {
		t.Errorf("the run of c_12 is %s", got)
	}
	call := func(id CallID, class Class) *CallState { return &CallState{Call: Call{ID: id}, Class: class} }
	question, submission := call("c_3", Resumable), call("c_4", Resumable)
	question.Question, submission.Submits = true, true
	s := State{Messages: []Message{{ID: "m_1"}, {ID: "m_2"}}}
	s.Turn.Calls = []*CallState{call("c_1", Resumable), call("c_2", Reads), question, submission, call("c_5", Resumable)}
	for id, want := range map[CallID]string{"c_1": "agent_1_m_2", "c_5": "agent_2_m_2"} {
		if got := s.AgentID(id); got != want {
			t.Errorf("the agent of %s is %s, want %s", id, got, want)
		}
	}
	if got := (State{}).AgentID("c_1"); got != "agent_1_" {
		t.Errorf("before any message: %s", got)
	}
}

func TestWhatAFaceShowsOfAPersonsMessage(t *testing.T) {
	t.Parallel()
	attached := func(name, text string) Part { return Part{Type: TextPart, Text: text, Attached: name} }
	for want, parts := range map[string][]Part{
		"":                                    nil,
		"look":                                {Text("look")},
		"look\n[attached: a.go]\nclosely":     {Text("look"), attached("a.go", "package a"), attached("a.go", "the rest"), Text("closely")},
		"[attached: a.go]\n[attached: b.png]": {attached("a.go", "package a"), {Type: ImagePart, Attached: "b.png"}},
		"a\nb":                                {Text("a"), {Type: ThinkingPart, Text: "hm"}, Text("b")},
	} {
		if got := ShownText(parts); got != want {
			t.Errorf("%q is shown as %q", want, got)
		}
	}
}

func TestAmountsOfMoney(t *testing.T) {
	t.Parallel()
	for amount, want := range map[float64]string{0.004: "$0.004", 0.01: "$0.01", 1: "$1.00", 12.345: "$12.35", 0: "$0"} {
		if got := dollars(amount); got != want {
			t.Errorf("%v is %s, want %s", amount, got, want)
		}
	}
}
