package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"pawl/app"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/run"
	"pawl/view"
)

// MaxCompared bounds the file that the change of an approval is compared with, in bytes.
const MaxCompared = 1 << 20

// ApprovalLines returns what a person has to see of a call before it is allowed: the whole
// command, or the change of a file, what no rule covers, and whether it leaves the sandbox. The
// call is one of n that wait. fold bounds the lines of a change; 0: all of it. before reads a
// file of the workspace of at most [MaxCompared] bytes; one that does not exist is empty.
func (s Style) ApprovalLines(a app.Approval, n, fold, width int, before func(path string) (string, error)) []string {
	title := CallTitle(a.Call.Tool, view.Subject(a.Call.Tool, a.Call.Arguments))
	if a.Call.Tool == "shell" {
		title = "Run this command?"
	}
	head := s.Paint(Warning, s.Glyph(GlyphQuestion)) + " " + s.Paint(Bold, title)
	if n > 1 {
		head += s.Paint(Faint, fmt.Sprintf("  (%d more)", n-1))
	}
	lines := []string{head}
	change, known := ProposedChange(a.Call, before)
	switch {
	case known:
		if fold == 0 {
			fold = len(change)
		}
		lines = append(lines, s.diff(change, fold, width)...)
	case a.Preview.Request.Command != "":
		lines = append(lines, s.whole(a.Preview.Request.Command, width)...)
	default:
		lines = append(lines, s.whole(WholeCall(a.Call), width)...)
	}
	for _, p := range a.Explain.Parts {
		if p.Verdict != permission.Allow {
			lines = append(lines, Hang("  ", s.Wrap([]Span{{Text: view.OneLine(p.Reason, 8*view.MaxLine), Paint: Faint}}, width-2, false))...)
		}
	}
	switch a.Preview.Request.Sandbox {
	case run.Unconfined:
		lines = append(lines, "  "+s.Paint(Bad, "runs outside the sandbox, with your own authority"))
	case run.WithNetwork:
		lines = append(lines, "  "+s.Paint(Warning, "runs with the network open"))
	}
	return lines
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
	var args struct{ Command, URL string }
	_ = json.Unmarshal([]byte(c.Arguments), &args) // arguments that are not JSON are shown as they are
	for _, text := range []string{args.Command, args.URL} {
		if text != "" {
			return c.Tool + " " + text
		}
	}
	return c.Tool + " " + c.Arguments
}

// StoredWords says which rules an answer to an approval would store: Always or Never.
func StoredWords(a app.Approval, answer run.Answer) string {
	rules, err := a.Rules(answer, permission.ForWorkspace, nil)
	if err != nil {
		return "(no rule can be stored: " + view.OneLine(a.Proposal.Reason, 2*view.MaxLine) + ")"
	}
	var words []string
	for _, r := range rules {
		word := visible.Escape(r.String())
		if r.Sandbox != run.Confined {
			word += " (sandbox: " + string(r.Sandbox) + ")"
		}
		words = append(words, word)
	}
	end := ", in this workspace"
	if answer == run.Always && a.Proposal.Exact {
		end = ", exactly this, in this workspace"
	}
	return strings.Join(words, ", ") + end
}

// ProposedChange returns what a call of edit or write would change, as the lines of a diff. before reads a file
// of the workspace, see [Style.ApprovalLines].
func ProposedChange(c run.Call, before func(path string) (string, error)) (diff string, ok bool) {
	var args struct {
		Path    string
		Content *string
		Edits   []struct{ Old, New string }
	}
	if json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return "", false
	}
	switch {
	case c.Tool == "edit" && len(args.Edits) > 0:
		if old, err := before(args.Path); err == nil {
			changed, found := old, true
			for _, e := range args.Edits {
				found = found && strings.Count(changed, e.Old) == 1
				changed = strings.Replace(changed, e.Old, e.New, 1)
			}
			if found {
				d, _, _ := text.Diff(old, changed, MaxCompared)
				return d, true
			}
		}
		var all []string // where they are in the file is not known
		for _, e := range args.Edits {
			d, _, _ := text.Diff(e.Old, e.New, MaxCompared)
			for line := range strings.SplitSeq(d, "\n") {
				if !strings.HasPrefix(line, "@@ ") {
					all = append(all, line)
				}
			}
		}
		return strings.Join(all, "\n"), true
	case c.Tool == "write" && args.Content != nil:
		old, err := before(args.Path)
		if err != nil {
			return "", false
		}
		d, _, _ := text.Diff(old, *args.Content, MaxCompared)
		return d, true
	}
	return "", false
}

// QuestionLines returns what the agent asks, with the answers that it offers.
func (s Style) QuestionLines(q app.Question, width int) []string {
	var lines []string
	for i, line := range strings.Split(strings.TrimSpace(q.Text), "\n") {
		mark := "  "
		if i == 0 {
			mark = s.Paint(Warning, s.Glyph(GlyphQuestion)) + " "
		}
		lines = append(lines, Hang(mark, s.Wrap([]Span{{Text: printable(line), Paint: Bold}}, width-2, false))...)
	}
	for i, o := range q.Options {
		lines = append(lines, Hang(fmt.Sprintf("  %d  ", i+1), s.Wrap([]Span{{Text: view.OneLine(o, 4*view.MaxLine), Paint: Plain}}, width-5, false))...)
	}
	return lines
}
