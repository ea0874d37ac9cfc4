package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/run"
	"pawl/view"
)

const (
	maxLineWidth = 100 // columns of a call's line: times stay near what they are of
	foldedDiff   = 12  // lines of a diff
	foldedError  = 10  // lines of what a failed call has printed
	foldedTail   = 3   // lines of what a running call prints
	foldedTodo   = 15  // items of a list of tasks
	foldedPrompt = 30  // lines of what the person says
	foldedChild  = 6   // lines of a child run that works
)

// verbs are what calls of pawl's tools do, in a word.
var verbs = map[string]string{
	"shell": "Run", "read": "Read", "edit": "Edit", "write": "Write", "list": "List", "glob": "Find", "search": "Search", "fetch": "Fetch",
	"todo": "Tasks", "ask": "Ask", "submit_result": "Submit the result", "planner-output": "Submit the plan", "completion-report": "Submit the report", "shell_output": "Output of", "shell_stop": "Stop",
}

// CallTitle says in one line what a call does: a verb and its object.
func CallTitle(tool, subject string) string {
	verb, ok := verbs[tool]
	if !ok {
		verb = view.OneLine(tool, 64)
	}
	return strings.TrimRight(verb+" "+subject, " ")
}

// callLine returns the line of a call: what it is at the left, how it came out at the right.
func (s Style) callLine(g Glyph, p Paint, title, right string, width int) string {
	if s.Words { // what comes after the title is not read across a gap
		if right != "" {
			title += s.Dot() + right
		}
		return s.Glyph(g) + " " + title
	}
	width = min(width, maxLineWidth)
	room := width - 3
	if right != "" {
		room -= Cells(right) + 2
	}
	if room < 12 && right != "" { // no room for both
		room, right = width-3, ""
	}
	title = s.Clip(title, room)
	verb, object, _ := strings.Cut(title, " ")
	line := s.Paint(p, s.Glyph(g)) + " " + s.Paint(Bold, verb)
	if object != "" {
		line += " " + s.Paint(Accent, object)
	}
	if right != "" {
		line += strings.Repeat(" ", max(2, width-1-2-Cells(title)-Cells(right))) + s.Paint(Faint, right)
	}
	return line
}

// Took says how long something took, shortly: 340ms, 4.2s, 3m12s.
func Took(t time.Duration) string {
	switch {
	case t < time.Second:
		return fmt.Sprintf("%dms", t.Milliseconds())
	case t < time.Minute:
		return fmt.Sprintf("%.1fs", t.Truncate(100*time.Millisecond).Seconds())
	}
	return strings.TrimSuffix(t.Truncate(time.Second).String(), "0s")
}

// Clock says how long something takes, in whole seconds.
func Clock(t time.Duration) string { return max(0, t).Truncate(time.Second).String() }

// CallLines returns a call that has settled, with what is important of its result: what it
// changed, why it was refused, the end of what it has printed if it failed. It is empty for a
// call that says nothing of its own, such as a question that was answered.
func (s Style) CallLines(c *view.Call, width int) []string {
	if c.Outcome == run.Answered || c.Submits && !c.IsError {
		return nil // the person has answered; the result says it
	}
	g, p := GlyphDone, Good
	switch {
	case c.Outcome == run.Refused:
		g, p = GlyphRefused, Warning
	case c.Outcome == run.Cut || c.Outcome == run.NotRun || c.Outcome == run.Unknown:
		g, p = GlyphStopped, Faint
	case c.IsError || c.Exited && c.ExitCode != 0:
		g, p = GlyphFailed, Bad
	}
	var right []string
	for _, f := range c.Files {
		if f.Counted {
			right = append(right, s.lineCounts(f.Added, f.Removed))
		}
	}
	if words := c.OutcomeWords(); words != string(run.OK) {
		right = append(right, strings.Replace(words, "exit code", "exit", 1))
	}
	stored, shaped := envelopeOf(c)
	switch words := "stored as " + visible.Escape(string(c.ID)); {
	case shaped:
		right = append(right, words)
	case c.Delivery != "" && c.Delivery != "inline" && c.Size > 0:
		right = append(right, text.Size(c.Size)+" "+words)
	}
	if c.Duration >= 100*time.Millisecond {
		right = append(right, Took(c.Duration))
	}
	items, list := todoItems(c)
	title := CallTitle(c.Tool, c.Subject)
	if list {
		title = "Tasks"
	}
	lines := []string{s.callLine(g, p, title, strings.Join(right, s.Dot()), width)}
	switch {
	case c.Outcome == run.Refused || c.Outcome == run.NotRun:
		lines = append(lines, Hang("  ", s.Wrap([]Span{{Text: c.Reason(), Paint: Faint}}, width-2, false))...)
	case c.Outcome == run.Cut: // the person has stopped it
	case c.IsError || c.Exited && c.ExitCode != 0:
		result := c.Result
		if shaped {
			result = strings.Join(stored.Metadata.Last, "\n")
			lines = append(lines, s.storedLines(stored, c.Size, width)...)
		}
		lines = append(lines, s.lastLines(result, foldedError, width)...)
	case shaped:
		lines = append(lines, s.storedLines(stored, c.Size, width)...)
	case list:
		lines = append(lines, s.todo(items, width)...)
	case c.Child != "" && c.Result != "":
		lines = append(lines, "  "+s.Paint(Faint, s.Glyph(GlyphEnd)+" "+s.Clip(view.OneLine(c.Result, 4*view.MaxLine), width-5)))
	case len(c.Files) > 0:
		lines = append(lines, s.diff(changeOf(c), foldedDiff, width)...)
	}
	return lines
}

// lineCounts says how many lines were added and removed.
func (s Style) lineCounts(added, removed int) string {
	return fmt.Sprintf("+%d %s%d", added, s.Glyph(GlyphMinus), removed)
}

// more says how many lines were left out.
func (s Style) more(n int) []string {
	if n <= 0 {
		return nil
	}
	return []string{"    " + s.Paint(Faint, s.Glyph(GlyphCut)+" "+text.Plural(int64(n), "more line"))}
}

// printable returns a line of a file or of a command, safe to print and without tabs.
func printable(line string) string {
	return strings.ReplaceAll(strings.TrimRight(visible.Escape(line), "\r"), "\t", "    ")
}

// lastLines returns the end of what a call has printed.
func (s Style) lastLines(result string, n, width int) []string {
	var all []string
	for line := range strings.SplitSeq(strings.TrimSpace(result), "\n") {
		if strings.TrimSpace(line) != "" {
			all = append(all, line)
		}
	}
	if len(all) > 0 && strings.HasPrefix(all[len(all)-1], "[exit code ") {
		all = all[:len(all)-1]
	}
	var lines []string
	if cut := len(all) - n; cut > 0 {
		lines = append(lines, "  "+s.Paint(Faint, s.Glyph(GlyphGutter)+" "+s.Glyph(GlyphCut)+" "+text.Plural(int64(cut), "line")+" before"))
		all = all[cut:]
	}
	for _, line := range all {
		lines = append(lines, "  "+s.Paint(Faint, s.Glyph(GlyphGutter))+" "+s.Clip(printable(line), width-5))
	}
	return lines
}

// A todoItem is an item of a list of tasks, as pawl's and other agents' tools have it.
type todoItem struct{ Text, Content, Step, Status string }

// todoItems returns the list of tasks that a call sets.
func todoItems(c *view.Call) ([]todoItem, bool) {
	var args map[string]json.RawMessage
	if c.IsError || json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return nil, false
	}
	for _, name := range []string{"items", "todos", "plan"} {
		var items []todoItem
		if json.Unmarshal(args[name], &items) == nil && len(items) > 0 && items[0].Status != "" {
			return items, true
		}
	}
	return nil, false
}

// todo returns a list of tasks as a checklist.
func (s Style) todo(items []todoItem, width int) []string {
	var lines []string
	for i, item := range items {
		if i == foldedTodo {
			return append(lines, s.more(len(items)-i)...)
		}
		mark, p := GlyphOpen, Plain
		switch item.Status {
		case "done", "completed":
			mark, p = GlyphChecked, Faint
		case "active", "in_progress":
			mark, p = GlyphActive, Bold
		}
		markPaint := map[Glyph]Paint{GlyphChecked: Good, GlyphActive: Warning}[mark]
		line := view.OneLine(item.Text+item.Content+item.Step, 2*view.MaxLine)
		lines = append(lines, "    "+s.Paint(markPaint, s.Glyph(mark))+" "+s.Paint(p, s.Clip(line, width-9)))
	}
	return lines
}
