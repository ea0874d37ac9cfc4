package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pawl/internal/text"
	visibility "pawl/internal/visible"
	"pawl/run"
)

// visible makes text safe to print.
func visible(text string) string { return visibility.Text(text) }

// oneLine returns text on one line of at most n characters, cut with a mark.
func oneLine(s string, n int) string { return text.OneLine(visible(s), n) }

// cameOut says how a call came out. A command that says no is no error of the
// call, but who watches wants to see it: its tool tells in the last line.
func cameOut(tool string, o run.Outcome, text string) string {
	last := text[strings.LastIndexByte(text, '\n')+1:]
	code, ok := strings.CutPrefix(last, "[exit code ")
	code, closed := strings.CutSuffix(code, "]")
	if tool == "shell" && o == run.OK && ok && closed && len(code) < 20 {
		return "exit code " + visible(code)
	}
	return outcomes[o]
}

// prefixed puts prefix before every line of text.
func prefixed(text, prefix string) string {
	return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix)
}

// callTitle says in a line what a call does: the command of a shell, the path of a
// tool on files, else its arguments.
func callTitle(tool, arguments string) string {
	tool = oneLine(tool, 64) // a model may name anything
	var args map[string]any
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return oneLine(tool+" "+arguments, maxTitle)
	}
	for _, key := range []string{"command", "question", "path", "pattern", "id"} {
		if s, ok := args[key].(string); ok && s != "" {
			return oneLine(tool+" "+s, maxTitle)
		}
	}
	if len(args) == 0 {
		return tool
	}
	return oneLine(tool+" "+arguments, maxTitle)
}

// maxTitle is the length of a call's line in characters.
const maxTitle = 100

// outcomes are how calls come out, for people.
var outcomes = map[run.Outcome]string{
	run.OK: "ok", run.Failed: "error", run.Invalid: "invalid", run.NotRun: "not run", run.Cut: "stopped",
	run.Unknown: "outcome unknown", run.Refused: "refused", run.Answered: "answered",
}

// endWords are how turns end, for people.
var endWords = map[run.End]string{
	run.Completed: "completed", run.Asked: "waits for an answer", run.EndInterrupted: "interrupted",
	run.LimitReached: "a limit was reached", run.GuardrailStopped: "stopped by a guardrail",
	run.LoopStopped: "stopped in a loop", run.EndRefused: "refused", run.EndFailed: "failed",
}

// money returns what usage cost, for people.
func money(u run.Usage) string {
	if !u.Priced {
		return "cost unknown"
	}
	return fmt.Sprintf("$%.4f", u.Cost)
}

// plural returns "1 step", "2 steps".
func plural(n int, word string) string {
	return text.Plural(int64(n), word)
}

// stamp is a point in time for people, in their own zone.
func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// shellWord quotes s for a command line that is shown to be copied.
func shellWord(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=@%+", r))
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
