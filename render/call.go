package render

import (
	"fmt"
	"strings"
	"time"

	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/run"
	"pawl/view"
)

const (
	maxLineWidth  = 100 // columns of a call's line: times stay near what they are of
	leastTitle    = 12  // columns of a call's title beside how it came out
	foldedDiff    = 12  // lines of a diff
	foldedTail    = 3   // lines of what a running call prints
	foldedRunning = 3   // lines of a command that runs
	foldedTodo    = 15  // items of a list of tasks
	foldedPrompt  = 30  // lines of what the person says
	foldedChild   = 6   // lines of a child run that works
)

// verbs are what calls of pawl's tools do, in a word.
var verbs = map[string]string{
	"shell": "Run", "read": "Read", "edit": "Edit", "write": "Write", "list": "List", "glob": "Find", "search": "Search", "fetch": "Fetch",
	"memory": "Remember", "todo": "Tasks", "ask": "Ask", "submit_result": "Submit the result", "planner-output": "Submit the plan", "completion-report": "Submit the report", "shell_output": "Output of", "shell_stop": "Stop",
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
		room = max(leastTitle, room-Cells(right)-2)
	}
	title = s.Clip(title, room)
	verb, object, _ := strings.Cut(title, " ")
	line := s.Paint(p, s.Glyph(g)) + " " + s.Paint(Bold, verb)
	if object != "" {
		line += " " + s.Paint(Accent, object)
	}
	return s.toTheRight(line, right, width)
}

// toTheRight puts right at the end of a line that has room for it.
func (s Style) toTheRight(line, right string, width int) string {
	if right == "" {
		return line
	}
	return line + strings.Repeat(" ", max(2, min(width, maxLineWidth)-1-Cells(line)-Cells(right))) + s.Paint(Faint, right)
}

// callHead returns what a call does: one line, or a command below itself in at most rows lines. How it
// came out is at the right of the first line, on a narrow terminal of a line of its own.
func (s Style) callHead(g Glyph, p Paint, c *view.Call, right string, width, rows int) []string {
	title, command := CallTitle(c.Tool, c.Subject), Command(c)
	if command == "" || s.Words {
		if room := min(width, maxLineWidth) - 3 - Cells(right) - 2; room < leastTitle && Cells(title) > room && right != "" {
			return []string{s.callLine(g, p, title, "", width), s.toTheRight("", s.Clip(right, width-3), width)}
		}
		return []string{s.callLine(g, p, title, right, width)}
	}
	verb, _, _ := strings.Cut(title, " ")
	indent := Cells(s.Glyph(g)) + 1 + Cells(verb) + 1
	room := min(width, maxLineWidth) - 1 - indent
	beside := room - Cells(right) - 2
	own := right != "" && beside < leastCommand && Cells(command) > beside
	if right != "" && !own {
		room = beside
	}
	lines := s.commandLines(command, rows, max(1, room))
	lines[0] = s.Paint(p, s.Glyph(g)) + " " + s.Paint(Bold, verb) + " " + lines[0]
	for i := range lines[1:] {
		lines[i+1] = strings.Repeat(" ", indent) + lines[i+1]
	}
	if own {
		return append(lines, s.toTheRight("", s.Clip(right, width-3), width))
	}
	lines[0] = s.toTheRight(lines[0], right, width)
	return lines
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

// settledHead returns what a settled call does and how it came out.
func (s Style) settledHead(c *view.Call, width int) []string {
	g, p := GlyphDone, Good
	switch {
	case c.Outcome == run.Refused:
		g, p = GlyphRefused, Warning
	case c.Outcome == run.Cut || c.Outcome == run.NotRun || c.Outcome == run.Unknown:
		g, p = GlyphStopped, Faint
	case c.Failed():
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
	items, list := todoItems(c)
	if list {
		right = append(right, doneWords(items))
	}
	switch _, shaped := envelopeOf(c); {
	case shaped: // the line below has its size
		right = append(right, "stored")
	case c.Delivery != "" && c.Delivery != "inline" && c.Size > 0:
		right = append(right, text.Size(c.Size)+" stored")
	}
	if c.Duration >= 100*time.Millisecond {
		right = append(right, Took(c.Duration))
	}
	if c.ID != "" && !c.Observed {
		right = append(right, visible.Escape(string(c.ID)))
	}
	head := *c
	if list {
		head.Tool, head.Subject, head.Arguments = "todo", "", ""
	}
	return s.callHead(g, p, &head, strings.Join(right, s.Dot()), width, foldedCommand)
}

// callLines returns a call that has settled, with what is important of its result: what it
// changed, why it was refused, the first and the last lines that a command has printed, how a list of
// tasks differs from the one before. It is empty for a call that says nothing of its own, such as a
// question that was answered.
func (s Style) callLines(c *view.Call, before []todoItem, width int) []string {
	if c.Outcome == run.Answered || c.Submits && !c.IsError {
		return nil // the person has answered; the result says it
	}
	lines := s.settledHead(c, width)
	items, list := todoItems(c)
	stored, shaped := envelopeOf(c)
	printed := func() []string { return s.gutter(excerptOfCall(c).lines(s), width) }
	switch {
	case c.Outcome == run.Refused || c.Outcome == run.NotRun:
		lines = append(lines, Hang("  ", s.Wrap([]Span{{Text: c.Reason(), Paint: Faint}}, width-2, false))...)
	case c.Outcome == run.Cut: // the person has stopped it
	case c.Failed():
		if shaped {
			lines = append(lines, s.storedLines(stored, c.Size, width)...)
		}
		lines = append(lines, printed()...)
	case shaped:
		lines = append(lines, s.storedLines(stored, c.Size, width)...)
		if prints(c) {
			lines = append(lines, printed()...)
		}
	case list:
		lines = append(lines, s.todo(changedItems(before, items), width)...)
	case prints(c):
		lines = append(lines, printed()...)
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
