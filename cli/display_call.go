package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pawl/internal/text"
	"pawl/run"
	"pawl/view"
)

const (
	maxLineWidth = 100 // columns of a call's line: times stay near what they are of
	foldedDiff   = 12  // lines of a diff
	foldedError  = 10  // lines of what a failed call has printed
	foldedTail   = 3   // lines of what a running call prints
	foldedTodo   = 15  // items of a list of tasks
)

// verbs are what calls of pawl's tools do, in a word.
var verbs = map[string]string{
	"shell": "Run", "read": "Read", "edit": "Edit", "write": "Write", "list": "List", "glob": "Find", "search": "Search", "fetch": "Fetch",
	"todo": "Tasks", "ask": "Ask", "submit_result": "Submit the result", "planner-output": "Submit the plan", "completion-report": "Submit the report", "shell_output": "Output of", "shell_stop": "Stop",
}

// callTitle says in one line what a call does: a verb and its object.
func callTitle(tool, subject string) string {
	verb, ok := verbs[tool]
	if !ok {
		verb = view.OneLine(tool, 64)
	}
	return strings.TrimRight(verb+" "+subject, " ")
}

// callLine returns the line of a call: what it is at the left, how it came out at the right.
func (d *display) callLine(g glyph, p paint, title, right string, width int) string {
	width = min(width, maxLineWidth)
	room := width - 3
	if right != "" {
		room -= cells(right) + 2
	}
	if room < 12 && right != "" { // no room for both
		room, right = width-3, ""
	}
	title = d.clip(title, room)
	verb, object, _ := strings.Cut(title, " ")
	line := d.paint(p, d.glyph(g)) + " " + d.paint(bold, verb)
	if object != "" {
		line += " " + d.paint(accent, object)
	}
	if right != "" {
		line += strings.Repeat(" ", max(2, width-1-2-cells(title)-cells(right))) + d.paint(faint, right)
	}
	return line
}

// took says how long something took, shortly: 340ms, 4.2s, 3m12s.
func took(t time.Duration) string {
	switch {
	case t < time.Second:
		return fmt.Sprintf("%dms", t.Milliseconds())
	case t < time.Minute:
		return fmt.Sprintf("%.1fs", t.Truncate(100*time.Millisecond).Seconds())
	}
	return strings.TrimSuffix(t.Truncate(time.Second).String(), "0s")
}

// clock says how long something takes, in whole seconds.
func clock(t time.Duration) string { return max(0, t).Truncate(time.Second).String() }

// takeCall prints a call that has settled. d.mu is held.
func (d *display) takeCall(i view.Item) {
	c := i.Call
	if c.Outcome == run.Answered || c.Submits && !c.IsError {
		return // the person has answered; the result says it
	}
	width, _ := d.size()
	g, p := glyphDone, good
	switch {
	case c.Outcome == run.Refused:
		g, p = glyphRefused, warning
	case c.Outcome == run.Cut || c.Outcome == run.NotRun || c.Outcome == run.Unknown:
		g, p = glyphRefused, faint
	case c.IsError || c.Exited && c.ExitCode != 0:
		g, p = glyphFailed, bad
	}
	var right []string
	for _, f := range c.Files {
		if f.Counted {
			right = append(right, d.lineCounts(f.Added, f.Removed))
		}
	}
	if words := c.OutcomeWords(); words != string(run.OK) {
		right = append(right, strings.Replace(words, "exit code", "exit", 1))
	}
	if c.Delivery != "" && c.Delivery != "inline" && c.Size > 0 {
		right = append(right, text.Size(c.Size)+" stored as "+visible(string(c.ID)))
	}
	if c.Duration >= 100*time.Millisecond {
		right = append(right, took(c.Duration))
	}
	items, list := todoItems(c)
	title := callTitle(c.Tool, c.Subject)
	if list {
		title = "Tasks"
	}
	d.put(d.callLine(g, p, title, strings.Join(right, d.dot()), width))
	switch {
	case c.Outcome == run.Refused || c.Outcome == run.NotRun:
		d.put(hang("  ", d.wrap([]span{{c.Reason(), faint}}, width-2, false))...)
	case c.Outcome == run.Cut: // the person has stopped it
	case c.IsError || c.Exited && c.ExitCode != 0:
		d.put(d.lastLines(c.Result, foldedError, width)...)
	case list:
		d.put(d.todo(items, width)...)
	case len(c.Files) > 0:
		d.put(d.diff(changeOf(c), foldedDiff, width)...)
	}
}

// lineCounts says how many lines were added and removed.
func (d *display) lineCounts(added, removed int) string {
	return fmt.Sprintf("+%d %s%d", added, d.glyph(glyphMinus), removed)
}

// changeOf returns the difference that a call has made: the one in the result of an edit, or
// the content of a new file.
func changeOf(c *view.Call) string {
	first, diff, _ := strings.Cut(c.Result, "\n")
	if strings.HasPrefix(diff, "@@ ") {
		return diff
	}
	var args struct{ Content string }
	if strings.HasPrefix(first, "Made ") && json.Unmarshal([]byte(c.Arguments), &args) == nil && args.Content != "" {
		return "+" + strings.ReplaceAll(strings.TrimSuffix(args.Content, "\n"), "\n", "\n+")
	}
	return ""
}

// diff returns the changed lines of a unified diff, at most n of them.
func (d *display) diff(diff string, n, width int) []string {
	var lines []string
	total := 0
	for line := range strings.SplitSeq(diff, "\n") {
		if line == "" || line[0] == '@' {
			continue
		}
		if total++; total > n {
			continue
		}
		p := faint
		switch line[0] {
		case '+':
			p = good
		case '-':
			p = bad
		}
		lines = append(lines, "    "+d.paint(p, d.clip(printable(line), width-5)))
	}
	return append(lines, d.more(total-n)...)
}

// more says how many lines were left out.
func (d *display) more(n int) []string {
	if n <= 0 {
		return nil
	}
	return []string{"    " + d.paint(faint, d.glyph(glyphCut)+" "+plural(n, "more line"))}
}

// printable returns a line of a file or of a command, safe to print and without tabs.
func printable(line string) string {
	return strings.ReplaceAll(strings.TrimRight(visible(line), "\r"), "\t", "    ")
}

// lastLines returns the end of what a call has printed.
func (d *display) lastLines(result string, n, width int) []string {
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
		lines = append(lines, "  "+d.paint(faint, d.glyph(glyphGutter)+" "+d.glyph(glyphCut)+" "+plural(cut, "line")+" before"))
		all = all[cut:]
	}
	for _, line := range all {
		lines = append(lines, "  "+d.paint(faint, d.glyph(glyphGutter))+" "+d.clip(printable(line), width-5))
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
func (d *display) todo(items []todoItem, width int) []string {
	var lines []string
	for i, item := range items {
		if i == foldedTodo {
			return append(lines, d.more(len(items)-i)...)
		}
		mark, p := glyphOpen, plain
		switch item.Status {
		case "done", "completed":
			mark, p = glyphChecked, faint
		case "active", "in_progress":
			mark, p = glyphActive, bold
		}
		markPaint := map[glyph]paint{glyphChecked: good, glyphActive: warning}[mark]
		line := view.OneLine(item.Text+item.Content+item.Step, 2*maxTitle)
		lines = append(lines, "    "+d.paint(markPaint, d.glyph(mark))+" "+d.paint(p, d.clip(line, width-9)))
	}
	return lines
}

// lines returns the live part: no line takes a whole row, and all leave room for a line
// above. d.mu is held.
func (d *display) lines(width, height int) []string {
	var lines []string
	for _, i := range d.view.Open() {
		switch {
		case i.Kind == view.KindText || i.Kind == view.KindAccount:
			if t := d.texts[i.ID]; t != nil {
				lines = append(lines, d.growing(t, strings.TrimLeft(i.Text, "\n"), width, max(3, height/3))...)
			}
		case i.Kind == view.KindThinking && !d.thought[i.ID]:
			all := strings.Split(strings.TrimSpace(i.Text), "\n")
			lines = append(lines, d.paint(faint, d.clip("  thinking: "+view.OneLine(all[len(all)-1], 4*maxTitle), width-1)))
		case i.Kind == view.KindNote && i.Text != "":
			lines = append(lines, d.paint(warning, d.clip("  "+view.OneLine(i.Text, 4*maxTitle), width-1)))
		case i.Kind == view.KindMessage && i.Message.State == view.Pending:
			lines = append(lines, d.paint(faint, d.clip(d.glyph(glyphPerson)+" "+view.OneLine(i.Text, 4*maxTitle), width-1)))
		case i.Kind == view.KindCall && i.Call.State == view.Running:
			c := i.Call
			lines = append(lines, d.callLine(glyphRunning, warning, callTitle(c.Tool, c.Subject), clock(d.now().Sub(c.Started)), width-1))
			if c.Tail != "" {
				all := strings.Split(strings.TrimRight(c.Tail, "\n"), "\n")
				lines = append(lines, d.lastLines(strings.Join(all[max(0, len(all)-foldedTail):], "\n"), foldedTail, width-1)...)
			}
		case i.Kind == view.KindCall && i.Call.State == view.Streaming:
			c := i.Call
			lines = append(lines, d.callLine(glyphPending, faint, callTitle(c.Tool, c.Subject), text.Size(int64(len(c.Arguments))), width-1))
		case i.Kind == view.KindCall && i.Call.State != view.Waiting:
			lines = append(lines, d.callLine(glyphPending, faint, callTitle(i.Call.Tool, i.Call.Subject), "", width-1))
		}
	}
	status := clock(d.now().Sub(d.began))
	if wait := d.retryAt.Sub(d.now()); !d.retryAt.IsZero() && wait > 0 {
		status += d.dot() + "retrying in " + clock(wait+time.Second-1)
	} else if len(lines) == 0 {
		status += d.dot() + "waiting for the model"
	}
	status += d.dot() + "ctrl+c interrupts"
	lines = append(lines, d.paint(faint, d.clip("  "+status, width-1)))
	return lines[max(0, len(lines)-max(1, height-2)):]
}

// growing returns the end of a text that streams: what was not printed of it.
func (d *display) growing(t *liveText, text string, width, n int) []string {
	if !strings.HasPrefix(text, t.printed) {
		return nil
	}
	peek := *t // a copy: what stays is decided when the lines have ended
	var lines []string
	rest := text[len(t.printed):]
	if cut := len(rest) - maxGrowing; cut > 0 {
		rest = strings.ToValidUTF8(rest[cut:], "")
	}
	all := strings.Split(rest, "\n")
	for i, line := range all {
		for _, l := range peek.line(visible(line), width-3, i == len(all)-1) {
			lines = append(lines, d.clip(d.margin(peek.rows == 0, l), width-1))
			peek.rows++
		}
	}
	return lines[max(0, len(lines)-n):]
}

// maxGrowing bounds what is rendered of a text that streams, in bytes: the end of it.
const maxGrowing = 4096
