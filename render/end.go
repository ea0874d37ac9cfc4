package render

import (
	"fmt"
	"time"

	"pawl/approval"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// maxEndFiles is how many files and refused calls the end of a turn names.
const maxEndFiles = 8

// An End is how a turn came out.
type End struct {
	Words    string           // how it ended, on one line
	Next     string           // what the person can do next; may be empty
	Undo     string           // the command that puts changed files back
	Question *runlog.Question // that waits for an answer; nil: none, or the person was asked
	Denials  []approval.Denial
	State    run.State
}

// Tally returns how long the turns took that have ended since it was called last, and the files that
// were changed in them.
func (t *Transcript) Tally() (took time.Duration, files []view.File) {
	took, files = t.took, t.files
	t.took, t.files = 0, nil
	return took, files
}

// PrintEnd finishes the lines of the end of a turn: how it ended, what it took, the files that were
// changed and the calls that were refused. Time and files are those of all turns that have
// ended since it was called last.
func (t *Transcript) PrintEnd(e End) {
	if e.Undo != "" {
		e.Undo = "undo: " + e.Undo
	}
	took, files := t.Tally()
	t.later(func(width int) []string { return t.endLines(e, took, files, width) })
}

func (s Style) endLines(e End, took time.Duration, files []view.File, width int) []string {
	var lines []string
	if e.Question != nil {
		lines = append(lines, s.QuestionLines(*e.Question, width)...)
	}
	lines = append(lines, "")
	turn := e.State.Turn
	p := Warning
	switch turn.End.End {
	case run.Completed:
		p = Good
	case run.EndFailed, run.LoopStopped:
		p = Bad
	}
	head := []Span{{Text: e.Words, Paint: p}}
	add := func(text string) { head = append(head, Span{Text: s.Dot() + text}) }
	add(text.Plural(int64(turn.Steps), "step"))
	if took >= time.Second {
		add(Clock(took))
	}
	if turn.Usage.Total() > 0 {
		add(ShortCount(turn.Usage.Total()) + " tokens")
		add(view.Money(turn.Usage))
	}
	lines = append(lines, s.Wrap(head, width, false)...)
	lines = append(lines, s.changedFiles(files, width)...)
	lines = append(lines, s.denied(e.Denials, width)...)
	for _, j := range turn.End.Jobs {
		lines = append(lines, s.Paint(Warning, s.Clip("was still running: "+j.ID+": "+view.OneLine(j.Command, 4*view.MaxLine), width)))
	}
	if e.Next != "" {
		lines = append(lines, s.Wrap([]Span{{Text: printable(e.Next), Paint: Faint}}, width, false)...)
	}
	if len(files) > 0 && e.Undo != "" {
		lines = append(lines, s.Wrap([]Span{{Text: e.Undo, Paint: Faint}}, width, false)...)
	}
	return lines
}

// changedFiles lists files that were changed.
func (s Style) changedFiles(files []view.File, width int) []string {
	if len(files) == 0 {
		return nil
	}
	lines := []string{text.Plural(int64(len(files)), "file") + " changed:"}
	for i, f := range files {
		if i == maxEndFiles {
			return append(lines, fmt.Sprintf("  and %d more", len(files)-i))
		}
		line := "  " + s.Paint(Accent, s.Clip(view.OneLine(f.Path, 4*view.MaxLine), width-16))
		if f.Counted {
			line += "  " + s.Paint(Good, fmt.Sprintf("+%d", f.Added)) + " " + s.Paint(Bad, fmt.Sprintf("%s%d", s.Glyph(GlyphMinus), f.Removed))
		}
		lines = append(lines, line)
	}
	return lines
}

// denied lists the calls that were refused, each with the flag or the command that would allow it.
func (s Style) denied(denials []approval.Denial, width int) []string {
	if len(denials) == 0 {
		return nil
	}
	lines := []string{s.Paint(Warning, text.Plural(int64(len(denials)), "call")+" refused:")}
	said := map[string]bool{}
	for _, n := range denials {
		title := CallTitle(n.Tool, view.Subject(n.Tool, string(n.Input)))
		if said[title] {
			continue
		}
		if len(said) == maxEndFiles {
			return append(lines, "  "+s.Glyph(GlyphCut))
		}
		said[title] = true
		line := []Span{{Text: title, Paint: Plain}}
		for _, way := range [][2]string{{"allow with ", n.Flag}, {"store a rule with ", n.Add}, {"remove the rule with ", n.Remove}} {
			if way[1] != "" {
				line = append(line, Span{Text: s.Dot() + way[0], Paint: Faint}, Span{Text: oneLine.Replace(visible.Escape(way[1])), Paint: Accent})
			}
		}
		lines = append(lines, Hang("  "+s.Paint(Warning, s.Glyph(GlyphRefused))+" ", s.Wrap(line, width-4, false))...)
	}
	return lines
}

// ShortCount writes a number as people compare them: 853, 14.2k, 1.3M.
func ShortCount(n int64) string {
	switch {
	case n < 1000:
		return text.Commas(n)
	case n < 999_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
