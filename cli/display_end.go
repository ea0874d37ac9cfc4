package cli

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"pawl/app"
	"pawl/internal/text"
	"pawl/run"
	"pawl/view"
)

// maxEndFiles is how many files and refused calls the end of a turn names.
const maxEndFiles = 8

// display returns what draws on standard error; nil if that is no terminal, or one that
// can only print. Where colours are forced without a terminal, nothing is drawn again.
func (inv *invocation) display(output string, p *view.Projection) *display {
	f, ok := terminalFile(inv.Stderr)
	_, stdoutToo := terminalFile(inv.Stdout)
	s := styleOf(inv.Env)
	var d *display
	switch term, _ := inv.Env("TERM"); {
	case ok && term != "dumb" && !(stdoutToo && output == "stream-json"): // whose lines would stand in the live part
		d = newDisplay(f, sizeOf(f), s, p)
		d.screen, d.live = true, true
	case !ok && forcesColor(inv.Env):
		d = newDisplay(inv.Stderr, func() (int, int) { return usualWidth, usualHeight }, s, p)
	default:
		return nil
	}
	d.answers = stdoutToo && output == "text"
	return d
}

// showing makes p what everything of inv is printed with, until the function that it returns
// is called.
func (inv *invocation) showing(p *printer) func() {
	stderr := inv.Stderr
	if p.display == nil {
		return p.close
	}
	inv.Stderr = p.stderr
	erase := p.display.erase
	inv.leaving.Store(&erase)
	continued := make(chan os.Signal, 1)
	notifyContinued(continued)
	go func() {
		for range continued {
			p.display.forget()
		}
	}()
	return func() {
		p.close()
		inv.leaving.Store(nil)
		signal.Stop(continued)
		close(continued)
		inv.Stderr = stderr
	}
}

// showed reports whether the answer was printed as it came. With jobs it is followed by a
// list of them, which the summary has.
func (d *display) showed(answer string, jobs bool) bool {
	text := strings.TrimSpace(d.text)
	answer = strings.TrimSpace(answer)
	return d.answers && text != "" && (answer == text || jobs && strings.HasPrefix(answer, text))
}

// summary prints the end of a turn.
func (d *display) summary(s run.State, r result, denials []app.Denial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	width, _ := d.size()
	if r.Question != nil && !d.asked {
		d.put(d.questionLines(*r.Question, width)...)
	}
	d.put("")
	p := warning
	switch s.Turn.End.End {
	case run.Completed:
		p = good
	case run.EndFailed, run.LoopStopped:
		p = bad
	}
	head := []span{{ended(s), p}}
	add := func(text string) { head = append(head, span{d.dot() + text, plain}) }
	add(plural(r.Steps, "step"))
	if d.took >= time.Second {
		add(clock(d.took))
	}
	add(shortCount(s.Turn.Usage.Total()) + " tokens")
	add(view.Money(s.Turn.Usage))
	d.put(d.wrap(head, width, false)...)
	if len(d.files) > 0 {
		d.put(plural(len(d.files), "file") + " changed:")
		for i, f := range d.files {
			if i == maxEndFiles {
				d.put(fmt.Sprintf("  and %d more", len(d.files)-i))
				break
			}
			line := "  " + d.paint(accent, d.clip(view.OneLine(f.Path, 4*maxTitle), width-16))
			if f.Counted {
				line += "  " + d.paint(good, fmt.Sprintf("+%d", f.Added)) + " " + d.paint(bad, fmt.Sprintf("%s%d", d.glyph(glyphMinus), f.Removed))
			}
			d.put(line)
		}
	}
	d.put(d.denied(denials, width)...)
	for _, j := range s.Turn.End.Jobs {
		d.put(d.paint(warning, d.clip("was still running: "+j.ID+": "+view.OneLine(j.Command, 4*maxTitle), width)))
	}
	if text := next(s); text != "" {
		d.put(d.wrap([]span{{visible(text), faint}}, width, false)...)
	}
	if len(d.files) > 0 {
		d.put(d.paint(faint, "put the files back with `pawl runs undo "+string(s.Created.Run)+"`"))
	}
}

// denied lists the calls that were refused, each with the flag that would allow it.
func (d *display) denied(denials []app.Denial, width int) []string {
	if len(denials) == 0 {
		return nil
	}
	lines := []string{d.paint(warning, plural(len(denials), "call")+" refused:")}
	said := map[string]bool{}
	for _, n := range denials {
		title := callTitle(n.Tool, view.Subject(n.Tool, string(n.Input)))
		if said[title] {
			continue
		}
		if len(said) == maxEndFiles {
			return append(lines, "  "+d.glyph(glyphCut))
		}
		said[title] = true
		line := []span{{title, plain}}
		if n.Flag != "" {
			line = append(line, span{d.dot() + "allow with ", faint}, span{visible(n.Flag), accent})
		}
		lines = append(lines, hang("  "+d.paint(warning, d.glyph(glyphRefused))+" ", d.wrap(line, width-4, false))...)
	}
	return lines
}

// questionLines returns what the agent asks, with the answers that it offers.
func (s style) questionLines(q app.Question, width int) []string {
	var lines []string
	for i, line := range strings.Split(strings.TrimSpace(visible(q.Text)), "\n") {
		mark := "  "
		if i == 0 {
			mark = s.paint(warning, s.glyph(glyphQuestion)) + " "
		}
		lines = append(lines, hang(mark, s.wrap([]span{{line, bold}}, width-2, false))...)
	}
	for i, o := range q.Options {
		lines = append(lines, hang(fmt.Sprintf("  %d  ", i+1), s.wrap([]span{{view.OneLine(o, 4*maxTitle), plain}}, width-5, false))...)
	}
	return lines
}

// shortCount writes a number as people compare them: 853, 14.2k, 1.3M.
func shortCount(n int64) string {
	switch {
	case n < 1000:
		return text.Commas(n)
	case n < 999_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
