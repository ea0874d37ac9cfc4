package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"pawl/approval"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/permission/network"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// ApprovalLines returns what a person has to see of a call before it is allowed: its head and its
// body. fold bounds the lines of a change; 0: all of it.
func (s Style) ApprovalLines(a approval.Approval, n, fold, width int) []string {
	return append(s.ApprovalHead(a, n, width), s.ApprovalBody(a, fold, width)...)
}

// ApprovalHead returns what must be seen of a call however long it is: its title, whether it leaves the
// sandbox, the folder it runs in, and what no rule covers. The call is one of n that wait.
func (s Style) ApprovalHead(a approval.Approval, n, width int) []string {
	tool, arguments := view.Use(a.Call.Tool, a.Call.Arguments)
	title := CallTitle(tool, view.Subject(tool, arguments))
	var args struct {
		Path string
		File string `json:"file_path"`
	}
	switch {
	case tool == "shell", tool == "Bash":
		title = "Run this command?"
	case json.Unmarshal([]byte(arguments), &args) == nil && args.Path+args.File != "":
		title = CallTitle(tool, visible.Escape(cmp.Or(args.Path, args.File))) // with its end, which a subject may lack
	}
	heading := []Span{{Text: title, Paint: Bold}}
	if n > 1 {
		heading = append(heading, Span{Text: fmt.Sprintf("  (%d more)", n-1), Paint: Faint})
	}
	lines := Hang(s.Paint(Warning, s.Glyph(GlyphQuestion))+" ", s.Wrap(heading, width-2, true))
	say := func(p Paint, text string) {
		lines = append(lines, Hang("  ", s.Wrap([]Span{{Text: text, Paint: p}}, width-2, false))...)
	}
	if a.Agent != "" {
		say(Faint, "asked by the sub-agent "+visible.Escape(a.Agent))
	}
	lines = append(lines, s.LiftedLines(a, width)...)
	if dir := a.Dir(); dir != "" {
		say(Faint, "in "+visible.Escape(dir))
	}
	var uncovered []string // parts of a command of which there is no more to say
	for _, p := range a.Explanation.Parts {
		switch part := "`" + p.Text + "`"; {
		case p.Verdict == permission.Allow:
		case p.Reason == "no rule covers "+part:
			uncovered = append(uncovered, view.OneLine(part, 8*view.MaxLine))
		default:
			say(Faint, view.OneLine(p.Reason, 8*view.MaxLine))
		}
	}
	if len(uncovered) > 0 {
		say(Faint, "no rule covers "+strings.Join(uncovered, ", "))
	}
	return lines
}

// Lifts says what of the sandbox the call would lift; empty: it would run in it.
func Lifts(a approval.Approval) string {
	switch hosts := a.Request.Sandbox.Hosts(); {
	case a.Request.Sandbox == run.Unconfined:
		return "runs outside the sandbox, with your own authority"
	case a.Request.Sandbox == run.WithNetwork:
		return "runs with the network open"
	case hosts != nil:
		return "runs with the network, limited to " + network.Limit(hosts)
	}
	return ""
}

// LiftedLines returns what [Lifts] says, as lines.
func (s Style) LiftedLines(a approval.Approval, width int) []string {
	words, paint := Lifts(a), Warning
	if words == "" {
		return nil
	}
	if a.Request.Sandbox == run.Unconfined {
		paint = Bad
	}
	return Hang("  ", s.Wrap([]Span{{Text: words, Paint: paint}}, width-2, false))
}

// ApprovalBody returns the whole command, or the change of a file. Long lines are broken and not cut.
func (s Style) ApprovalBody(a approval.Approval, fold, width int) []string {
	switch {
	case a.Change != "":
		return s.wholeDiff(a.Change, fold, width)
	case a.Request.Command != "":
		return s.whole(a.Request.Command, width)
	}
	return s.whole(WholeCall(a.Call), width)
}

// whole returns text with all its characters, in lines of at most width columns.
func (s Style) whole(text string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(visible.Escape(text), "\n") {
		for _, piece := range broken(strings.ReplaceAll(line, "\t", "    "), max(1, width-4)) {
			lines = append(lines, "    "+s.Paint(Accent, piece))
		}
	}
	return lines
}

// WholeCall returns a call uncut: an approval must not depend on what was not shown.
func WholeCall(c run.Call) string {
	tool, arguments := view.Use(c.Tool, c.Arguments)
	var args struct{ Command, URL string }
	_ = json.Unmarshal([]byte(arguments), &args) // arguments that are not JSON are shown as they are
	for _, text := range []string{args.Command, args.URL} {
		if text != "" && (tool == c.Tool || tool == "Bash" || tool == "WebFetch") { // of others it may not be all
			return tool + " " + text
		}
	}
	return tool + " " + arguments
}

// QuestionLines returns what the agent asks, with the answers that it offers.
func (s Style) QuestionLines(q runlog.Question, width int) []string {
	var lines []string
	for i, line := range strings.Split(strings.TrimSpace(q.Text), "\n") {
		mark := "  "
		if i == 0 {
			mark = s.Paint(Warning, s.Glyph(GlyphQuestion)) + " "
		}
		lines = append(lines, Hang(mark, s.Wrap([]Span{{Text: printable(line), Paint: Bold}}, width-2, false))...)
	}
	if q.Agent != "" {
		lines = append(lines, Hang("  ", s.Wrap([]Span{{Text: "asked by the sub-agent " + visible.Escape(q.Agent), Paint: Faint}}, width-2, false))...)
	}
	for i, o := range q.Options {
		lines = append(lines, Hang(fmt.Sprintf("  %d  ", i+1), s.Wrap([]Span{{Text: view.OneLine(o, 4*view.MaxLine), Paint: Plain}}, width-5, false))...)
	}
	return lines
}
