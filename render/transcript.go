package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/run"
	"pawl/view"
)

// A Transcript is a run on a terminal: lines that are finished, and a live part below them that
// is drawn again and again.
type Transcript struct {
	Style
	// Answers says that the answer is shown. Otherwise a text that could be the answer is
	// not finished before it is known whether it is.
	Answers bool
	// Streams says that there is a live part: a text is finished line by line as it
	// streams. Otherwise it is finished as a whole.
	Streams bool
	// Echo says that all messages of the person are shown. Otherwise the first prompt and
	// answers to questions are not, because the person has typed them just now.
	Echo bool
	// Present says that the person sees everything as it happens: the account of a turn that
	// was interrupted, and messages to the model about it, are left out.
	Present bool
	// Interrupt says how the person interrupts, at the end of the live part. Empty: the live
	// part has no last line with the time.
	Interrupt string
	// Began is when the person began to wait; the last line of the live part counts from it.
	Began time.Time

	children map[run.ID]*child
	last     run.ID     // the child run of the last finished line; empty: it is of this run
	inner    bool       // it is a child run, in the lines of another: no line stands apart
	above    printed    // the line that was returned last by Above
	next     printed    // what the lines that are being made end with
	tasks    []todoItem // the list of tasks, as the last call has set it

	view        *view.Projection
	ready       []func(width int) []string // what is finished and was not returned by Above
	texts       map[string]*streamedText   // by item, while they stream
	thought     map[string]bool            // thinking that was shown before it was final
	retryAt     time.Time                  // of a failed request
	retry       retry                      // the failure that is in the live part
	unusable    int                        // answers in a row that are no action, in controller mode
	text        string                     // the last finished text of the agent
	mode        string                     // that was chosen last, which is told with what comes next
	turns       int                        // prompts
	interrupted bool                       // the turn was
	took        time.Duration              // of the turns that have ended
	files       []view.File                // changed in them
}

// A printed is what a finished line is, for the line after it.
type printed int

const (
	something printed = iota
	blank             // it stands apart already
	ofPerson          // the end of what the person has said
	thought           // what the model has thought, and says something then
)

// A retry is a request that has failed and is sent again.
type retry struct {
	why      string // it has failed the last time
	attempts int    // that have failed; 0: none
}

// A streamedText is a text of which the lines that have ended are finished.
type streamedText struct {
	Markdown
	printed string // what is finished of the text
	rows    int    // lines that are
}

// NewTranscript returns a transcript that continues from the state of a projection. The
// transcript is the projection's only user from then on.
func NewTranscript(s Style, p *view.Projection) *Transcript {
	return &Transcript{Style: s, view: p, texts: map[string]*streamedText{}, thought: map[string]bool{}}
}

// A child is a run that a call has started.
type child struct {
	*Transcript
	title string   // of the call
	held  []string // finished lines that are not printed yet, because another child run works too
}

// finished returns the lines of the child run that are finished.
func (c *child) finished(width int) []string {
	lines := append(c.held, c.Above(width-childIndent)...)
	c.held = nil
	return lines
}

// Child returns the transcript of the child run that a call has started, whose updates come from the
// child's own log. What finishes in it is part of what finishes here, indented below the title of
// the call.
func (t *Transcript) Child(c *view.Call) *Transcript {
	if known := t.children[c.Child]; known != nil {
		return known.Transcript
	}
	if t.children == nil {
		t.children = map[run.ID]*child{}
	}
	sub := NewTranscript(t.Style, &view.Projection{})
	sub.Streams, sub.inner = t.Streams, true
	t.children[c.Child] = &child{Transcript: sub, title: CallTitle(c.Tool, c.Subject)}
	return sub
}

// fromChildren returns the lines that have finished in the child run that works. Of several that work at
// the same time they are held until they end, so that the lines of each stand together.
func (t *Transcript) fromChildren(width int) []string {
	several := len(t.children) > 1
	for _, c := range t.children {
		several = several || len(c.held) > 0
	}
	if several {
		for _, c := range t.children {
			c.held = c.finished(width)
		}
		return nil
	}
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(t.children)) {
		c := t.children[id]
		finished := c.finished(width)
		if len(finished) == 0 {
			continue
		}
		if t.last != id { // which of several it is
			t.last = id
			lines = append(lines, t.callLine(GlyphActive, Faint, c.title, "", width))
		}
		lines = append(lines, t.indented(finished)...)
	}
	return lines
}

// childIndent is how many columns the lines of a child run are indented.
const childIndent = 4

func (s Style) indented(lines []string) []string {
	all := make([]string, len(lines))
	for i, l := range lines {
		all[i] = strings.TrimRight("  "+s.Paint(Faint, s.Glyph(GlyphGutter))+" "+l, " ")
	}
	return all
}

// Update takes in what is new of the run, and returns the items that it adds or changes, as
// [view.Projection.Update] does.
func (t *Transcript) Update(u view.Update) []view.Item {
	items := t.view.Update(u)
	for _, i := range items {
		t.take(i)
	}
	return items
}

// Above returns the lines that have finished since it was called last, each of at most width
// columns unless it has a long word, which can be copied whole.
func (t *Transcript) Above(width int) []string {
	lines := t.fromChildren(width)
	if len(lines) > 0 {
		t.above = something
	}
	own := len(lines)
	for _, ready := range append(t.ready, t.streamed) {
		t.next = something
		more := ready(width)
		if len(more) > 0 && more[0] == "" && t.above == blank {
			more = more[1:]
		}
		if lines = append(lines, more...); len(more) > 0 {
			if t.above = t.next; more[len(more)-1] == "" {
				t.above = blank
			}
		}
	}
	clear(t.ready)
	t.ready = t.ready[:0]
	if len(lines) > own {
		t.last = ""
	}
	return lines
}

// apart returns the lines of a message with a blank line before them, if they do not stand apart already.
func (t *Transcript) apart(lines []string) []string {
	if len(lines) == 0 || t.inner || t.above == blank {
		return lines
	}
	return append([]string{""}, lines...)
}

// InBlock reports whether the last finished line is inside of code or a table of a text that streams:
// other lines wait for its end.
func (t *Transcript) InBlock() bool {
	for _, s := range t.texts {
		if s.rows > 0 && (s.fence != "" || s.table != nil) {
			return true
		}
	}
	return false
}

// Print adds lines of other origin, safe to print, to those that are finished.
func (t *Transcript) Print(lines ...string) {
	t.later(func(int) []string { return lines })
}

// Text returns the agent's text that was finished last.
func (t *Transcript) Text() string { return t.text }

// later adds lines to those that are finished.
func (t *Transcript) later(lines func(width int) []string) { t.ready = append(t.ready, lines) }

// take takes in an item.
func (t *Transcript) take(i view.Item) {
	t.retryAt = time.Time{}
	if r := t.retry; r.attempts > 0 && (i.Kind != view.KindNote || i.Note.Kind != view.NoteFailed) {
		t.retry = retry{}
		t.note(GlyphRetry, Warning, fmt.Sprintf("%s; requested again %s", r.why, text.Plural(int64(r.attempts), "time")))
	}
	if n := t.unusable; n > 0 && (i.Kind != view.KindNote || i.Note.Kind != view.NoteUnusable) {
		t.unusable = 0
		if i.Kind != view.KindEnd { // which says it
			t.note(GlyphRetry, Warning, fmt.Sprintf("%s; asked again %s", unusableWords, text.Plural(int64(n), "time")))
		}
	}
	if words := t.mode; words != "" && i.Final && !changesMode(i) {
		t.mode = ""
		t.mention(words)
	}
	switch {
	case i.Gone:
		if s := t.texts[i.ID]; s != nil && s.rows > 0 {
			t.Print(t.Paint(Faint, "  the answer was cut off; it is requested again"))
		}
		delete(t.texts, i.ID)
	case i.Kind == view.KindText || i.Kind == view.KindAccount:
		t.takeText(i)
	case !i.Final:
	case i.Kind == view.KindThinking:
		if !t.thought[i.ID] {
			t.later(func(width int) []string {
				t.next = thought
				return t.apart(t.thinking(i.Text, width))
			})
		}
		delete(t.thought, i.ID)
	case i.Kind == view.KindMessage:
		t.takeMessage(i)
	case i.Kind == view.KindCall:
		c := t.children[i.Call.Child]
		delete(t.children, i.Call.Child)
		call := i.Call
		if t.Present && t.interrupted && (call.Outcome == run.NotRun || call.Outcome == run.Refused) {
			silent := *call
			silent.Outcome, call = run.Cut, &silent // why is in the note above
		}
		call = t.named(call)
		before := t.tasks
		if items, ok := todoItems(call); ok {
			t.tasks = items
		}
		t.later(func(width int) []string {
			var lines []string
			if c != nil { // nothing follows in it
				if lines = t.indented(c.finished(width)); len(lines) > 0 && t.last != i.Call.Child {
					lines = append([]string{t.callLine(GlyphActive, Faint, c.title, "", width)}, lines...)
				}
			}
			lines = append(lines, t.callLines(call, before, width)...)
			if t.above == ofPerson {
				return t.apart(lines)
			}
			return lines
		})
	case i.Kind == view.KindNote:
		t.takeNote(i)
	case i.Kind == view.KindEnd:
		t.interrupted = false
		t.took += i.End.Duration
		t.count(i.End.Files)
	}
}

// named returns a call without its id if it is one of a child run: there are calls of this run with the
// same ids.
func (t *Transcript) named(c *view.Call) *view.Call {
	if t.inner {
		inner := *c
		inner.ID, c = "", &inner
	}
	return c
}

// count counts files that were changed in a turn: of one that was changed in several, the
// lines add up.
func (t *Transcript) count(files []view.File) {
	for _, f := range files {
		i := slices.IndexFunc(t.files, func(o view.File) bool { return o.Path == f.Path })
		if i < 0 {
			t.files = append(t.files, f)
			continue
		}
		o := &t.files[i]
		o.Added, o.Removed, o.Counted = o.Added+f.Added, o.Removed+f.Removed, o.Counted && f.Counted
	}
}

// thinking returns what the model has thought, as one line.
func (s Style) thinking(thought string, width int) []string {
	thought = view.OneLine(strings.TrimSpace(thought), 4*view.MaxLine)
	if thought == "" {
		return nil
	}
	return []string{s.Paint(Faint, s.Clip("  thought: "+thought, width))}
}

// takeText takes in a text of the agent. One that could be the answer is finished when it is
// known whether it is, unless the answer is shown.
func (t *Transcript) takeText(i view.Item) {
	s := t.texts[i.ID]
	if s == nil {
		s = &streamedText{Markdown: Markdown{Style: t.Style}}
		t.texts[i.ID] = s
	}
	if !i.Final {
		return // Above returns what is complete
	}
	delete(t.texts, i.ID)
	if i.Kind == view.KindAccount && t.Present && t.interrupted {
		return
	}
	if !t.Answers && (i.Answer || i.Kind == view.KindAccount) {
		return // it is the result
	}
	t.text = i.Text
	whole := strings.Trim(i.Text, "\n")
	if !strings.HasPrefix(whole+"\n", s.printed) { // it differs from what has streamed
		s = &streamedText{Markdown: Markdown{Style: t.Style}}
	}
	t.later(func(width int) []string {
		begins := s.rows == 0
		lines := s.lines(whole[min(len(s.printed), len(whole)):], width)
		return t.begun(begins, append(lines, s.margins(s.End(width-2, false))...))
	})
}

// begun returns lines of a text, which stand apart if the text begins with them, but not from what the
// model has thought before.
func (t *Transcript) begun(begins bool, lines []string) []string {
	if !begins || t.above == thought {
		return lines
	}
	return t.apart(lines)
}

// lines returns the next lines of a text.
func (t *streamedText) lines(source string, width int) []string {
	if source == "" {
		return nil
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(source, "\n"), "\n") {
		lines = append(lines, t.margins(t.Line(visible.Escape(line), width-2, false))...)
	}
	return lines
}

// margins puts the margin before the next lines of a text.
func (t *streamedText) margins(lines []string) []string {
	for i, l := range lines {
		lines[i] = t.margin(t.rows == 0, l)
		t.rows++
	}
	return lines
}

// margin puts the glyph of the agent's words before the first line of them, and indents the
// others.
func (s Style) margin(first bool, line string) string {
	switch {
	case first:
		return s.Paint(Bold, s.Glyph(GlyphWords)) + " " + line
	case line == "":
		return ""
	}
	return "  " + line
}

// streamed returns the lines of the streaming texts that have ended.
func (t *Transcript) streamed(width int) []string {
	if !t.Answers || !t.Streams {
		return nil
	}
	var lines []string
	open := t.view.Open()
	for at, i := range open {
		s := t.texts[i.ID]
		if s == nil || i.Kind != view.KindText && i.Kind != view.KindAccount {
			continue
		}
		source := strings.TrimLeft(i.Text, "\n")
		if !strings.HasPrefix(source, s.printed) {
			continue // the finished text repairs it
		}
		rest := source[len(s.printed):]
		if n := strings.LastIndexByte(rest, '\n') + 1; n > 0 && strings.TrimSpace(rest[:n]) != "" {
			n = len(strings.TrimRight(rest[:n], "\n")) + 1 // blank lines at the end wait for what follows
			for _, before := range open[:at] {
				if before.Kind == view.KindThinking && !t.thought[before.ID] { // no more of it follows
					words := t.thinking(before.Text, width)
					t.thought[before.ID] = words != nil
					if lines = append(lines, t.apart(words)...); words != nil {
						t.above = thought
					}
				}
			}
			begins := s.rows == 0
			lines = append(lines, t.begun(begins, s.lines(rest[:n], width))...)
			t.above = something
			s.printed = source[:len(s.printed)+n]
		}
	}
	return lines
}

func (t *Transcript) takeMessage(i view.Item) {
	t.turns++
	m := i.Message
	first := t.turns == 1 && (m.Kind == view.Prompt || m.Kind == view.Continue || m.Kind == view.Answer)
	if m.State != view.Delivered || i.Text == "" || !t.Echo && (first || m.Kind == view.Answer) {
		return
	}
	t.later(func(width int) []string {
		var lines []string
		all := strings.Split(strings.TrimSpace(i.Text), "\n")
		for n, l := range all {
			if n == foldedPrompt {
				lines = append(lines, t.Paint(Faint, fmt.Sprintf("%s %s more lines", t.Glyph(GlyphCut), text.Commas(int64(len(all)-n)))))
				break
			}
			lines = append(lines, t.Wrap([]Span{{Text: printable(l), Paint: Bold}}, width-2, false)...)
		}
		mark := t.Paint(Accent, t.Glyph(GlyphSaid)) + " "
		if t.Words {
			lines = Hang(mark, lines)
		} else {
			for i := range lines { // a bar at its side is found again in what the terminal scrolls back to
				lines[i] = mark + lines[i]
			}
		}
		t.next = ofPerson
		return t.apart(lines)
	})
}

// unusableWords say that an answer in controller mode is no action.
const unusableWords = "the model did not answer with an action"

// note finishes the lines of a note, with a glyph at the left.
func (t *Transcript) note(g Glyph, p Paint, words string) {
	t.later(func(width int) []string {
		return Hang(t.Paint(p, t.Glyph(g))+" ", t.Wrap([]Span{{Text: words, Paint: p}}, width-2, false))
	})
}

func (t *Transcript) takeNote(i view.Item) {
	n, words := i.Note, printable(strings.ReplaceAll(i.Text, "\n", " "))
	switch {
	case n.Kind == view.NoteFailed && n.Wait == 0, n.Tell == run.TellRepeated: // the end, or the call, says it
	case n.Kind == view.NoteFailed && t.Present: // while it is retried there is a line in the live part
		t.retryAt, t.retry = i.At.Add(n.Wait), retry{view.OneLine(view.ErrorWords(n.Error, n.Detail), 2*view.MaxLine), n.Attempt}
	case n.Kind == view.NoteFailed:
		t.retryAt = i.At.Add(n.Wait)
		t.note(GlyphRetry, Warning, fmt.Sprintf("%s (attempt %d)", words, n.Attempt))
	case t.Present && changesMode(i):
		t.mode = words
	case n.Kind == view.NoteUnusable:
		t.unusable++ // the same: what comes next says how often it was asked
	case n.Kind == view.NoteInterrupted:
		t.interrupted = true
		t.later(func(width int) []string { return t.Wrap([]Span{{Text: words, Paint: Warning}}, width, false) })
	default:
		t.mention(words)
	}
}

// mention tells of something in passing.
func (t *Transcript) mention(words string) {
	t.later(func(width int) []string {
		return Hang("  ", t.Wrap([]Span{{Text: words, Paint: Faint}}, width-2, false))
	})
}

// changesMode reports whether an item says that another permission mode was chosen, and nothing else.
func changesMode(i view.Item) bool {
	return i.Kind == view.KindNote && i.Note.Kind == view.NoteConfigured && view.ChangeWords(i.Note.Change) == view.ChangeWords(run.ConfigChange{Mode: i.Note.Change.Mode})
}

// Live returns the live part: the texts that stream, the calls that run, what waits. No line
// is as wide as the terminal, and there are at most height-2 lines.
func (t *Transcript) Live(width, height int, now time.Time) []string {
	var lines []string
	above := t.above
	defer func() { t.above = above }()
	for _, i := range t.view.Open() {
		switch {
		case i.Kind == view.KindText || i.Kind == view.KindAccount:
			if s := t.texts[i.ID]; s != nil {
				lines = append(lines, t.begun(s.rows == 0, s.growing(strings.TrimLeft(i.Text, "\n"), width, max(3, height/3)))...)
			}
		case i.Kind == view.KindThinking && !t.thought[i.ID]:
			all := strings.Split(strings.TrimSpace(i.Text), "\n")
			lines = append(lines, t.apart([]string{t.Paint(Faint, t.Clip("  thinking: "+view.OneLine(all[len(all)-1], 4*view.MaxLine), width-1))})...)
			t.above = thought
			continue
		case i.Kind == view.KindNote && i.Text != "":
			lines = append(lines, t.Paint(Warning, t.Clip("  "+view.OneLine(i.Text, 4*view.MaxLine), width-1)))
		case i.Kind == view.KindMessage && i.Message.State == view.Pending:
			lines = append(lines, t.pendingMessage(i, width-1))
		case i.Kind == view.KindCall:
			call := t.openCall(t.named(i.Call), width, min(foldedTail, max(1, height/4)), now)
			if t.above == ofPerson {
				call = t.apart(call)
			}
			lines = append(lines, call...)
			if c := t.children[i.Call.Child]; c != nil && i.Call.State == view.Running {
				live := append(slices.Clone(c.held), c.Live(width-childIndent, foldedChild+2, now)...)
				for _, l := range t.indented(live[max(0, len(live)-foldedChild):]) {
					lines = append(lines, t.Clip(l, width-1))
				}
			}
		}
		if len(lines) > 0 {
			t.above = something
		}
	}
	if t.Interrupt != "" && countDone(t.tasks) < len(t.tasks) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, t.todo(t.tasks, width-1)...)
	}
	if t.retry.attempts > 0 {
		words := t.Glyph(GlyphRetry) + " " + fmt.Sprintf("attempt %d failed", t.retry.attempts)
		if wait := t.Waits(now); wait != "" {
			words += t.Dot() + wait
		}
		words += t.Dot() + t.retry.why
		lines = append(lines, t.Paint(Warning, t.Clip(words, width-1)))
	}
	if t.unusable > 0 {
		lines = append(lines, t.Paint(Warning, t.Clip(t.Glyph(GlyphRetry)+" "+unusableWords+t.Dot()+"asked again", width-1)))
	}
	if t.Interrupt != "" {
		status := Clock(now.Sub(t.Began))
		if wait := t.Waits(now); wait != "" {
			status += t.Dot() + wait
		} else if words := t.Dot() + "waiting for the model"; len(lines) == 0 && Cells(status+words+t.Dot()+t.Interrupt)+3 <= width { // the key matters more
			status += words
		}
		status += t.Dot() + t.Interrupt
		lines = append(lines, t.Paint(Faint, t.Clip("  "+status, width-1)))
	}
	return lines[max(0, len(lines)-max(1, height-2)):]
}

func deliveredWhen(m *view.Message) string {
	if m.Kind == view.Queued || m.AtEnd {
		return "when the agent is done"
	}
	return "with the next results"
}

// pendingMessage returns a message of the person that was not delivered yet, with when it will be.
func (s Style) pendingMessage(i view.Item, width int) string {
	when := deliveredWhen(i.Message)
	words := view.OneLine(i.Text, 4*view.MaxLine)
	if room := width - 4 - Cells(when); room >= 12 {
		words = s.Clip(words, room) + "  " + when
	}
	return s.Paint(Faint, s.Clip(s.Glyph(GlyphPerson)+" "+words, width))
}

// Waits says how long it takes until a failed request is sent again; empty if none is.
func (t *Transcript) Waits(now time.Time) string {
	if wait := t.retryAt.Sub(now); !t.retryAt.IsZero() && wait > 0 {
		return "retrying in " + Clock(wait+time.Second-1)
	}
	return ""
}

// openCall returns a call that has not settled, with at most n lines of what it prints.
func (s Style) openCall(c *view.Call, width, n int, now time.Time) []string {
	title := CallTitle(c.Tool, c.Subject)
	switch c.State {
	case view.Running:
		right := Clock(now.Sub(c.Started))
		if c.ID != "" && !c.Observed {
			right += s.Dot() + visible.Escape(string(c.ID))
		}
		lines := s.callHead(GlyphRunning, Warning, c, right, width-1, foldedRunning)
		tail := slices.DeleteFunc(strings.Split(c.Tail, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
		tail = tail[max(0, len(tail)-n):]
		for i := range tail {
			tail[i] = printable(tail[i])
		}
		return append(lines, s.gutter(tail, width-1)...)
	case view.Streaming:
		return []string{s.callLine(GlyphPending, Faint, title, text.Size(int64(len(c.Arguments))), width-1)}
	case view.Waiting:
		return nil // the person is asked
	}
	return []string{s.callLine(GlyphPending, Faint, title, "", width-1)}
}

// growing returns the end of a text that streams: what is not finished of it, at most n lines.
func (t *streamedText) growing(source string, width, n int) []string {
	if !strings.HasPrefix(source, t.printed) {
		return nil
	}
	peek := *t // a copy: what stays is decided when the lines have ended
	var lines []string
	rest := source[len(t.printed):]
	if cut := len(rest) - maxGrowing; cut > 0 {
		rest = strings.ToValidUTF8(rest[cut:], "")
	}
	all := strings.Split(rest, "\n")
	for i, line := range all {
		lines = append(lines, peek.margins(peek.Line(visible.Escape(line), width-3, i == len(all)-1))...)
	}
	lines = append(lines, peek.margins(peek.End(width-3, true))...)
	lines = lines[max(0, len(lines)-n):]
	for i := range lines {
		lines[i] = t.Clip(lines[i], width-1)
	}
	return lines
}

// maxGrowing bounds what is rendered of a text that streams, in bytes: the end of it.
const maxGrowing = 4096

// States returns what is under way, each state as one line that stays the same as long as it lasts:
// for a screen reader, in place of the live part.
func (t *Transcript) States() []string {
	var lines []string
	for _, i := range t.view.Open() {
		switch {
		case i.Kind == view.KindThinking && !t.thought[i.ID]:
			lines = append(lines, "thinking")
		case i.Kind == view.KindNote && i.Text != "":
			lines = append(lines, view.OneLine(i.Text, 4*view.MaxLine))
		case i.Kind == view.KindMessage && i.Message.State == view.Pending:
			lines = append(lines, "delivered "+deliveredWhen(i.Message)+": "+view.OneLine(i.Text, 4*view.MaxLine))
		case i.Kind == view.KindCall && i.Call.State == view.Running:
			lines = append(lines, t.Glyph(GlyphRunning)+" "+CallTitle(i.Call.Tool, i.Call.Subject))
			if c := t.children[i.Call.Child]; c != nil {
				for _, l := range c.States() {
					lines = append(lines, "child run, "+l)
				}
			}
		}
	}
	if t.retry.attempts > 0 {
		lines = append(lines, fmt.Sprintf("%s %s, attempt %d failed", t.Glyph(GlyphRetry), t.retry.why, t.retry.attempts))
	}
	if t.unusable > 0 {
		lines = append(lines, fmt.Sprintf("%s %s, asked again %s", t.Glyph(GlyphRetry), unusableWords, text.Plural(int64(t.unusable), "time")))
	}
	return lines
}
