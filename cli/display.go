package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"pawl/run"
	"pawl/view"
)

// A display shows a run on a terminal. What is finished is printed once and becomes part
// of what the terminal scrolls back to; below it stands a live part, which is erased and
// drawn again: the words that stream, the calls that run, a clock. It changes no mode of
// the terminal, so nothing has to be restored after a kill.
//
// Updates are taken in at once and drawn by a goroutine of its own, at most every
// [frameTime]: a slow terminal delays no one who calls update.
type display struct {
	style
	w       io.Writer
	size    func() (width, height int)
	now     func() time.Time
	answers bool // the answer is to be shown here, because standard output is this terminal
	screen  bool // w is a terminal that can be drawn on
	live    bool // there is a live part

	dirty chan struct{} // something is to be drawn
	quit  chan struct{} // closed by close
	done  chan struct{} // closed when the goroutine has ended
	once  sync.Once

	// drawing is held while something is written, and guards what is drawn. It is taken
	// before mu.
	drawing sync.Mutex
	drawn   []string // the lines of the live part on the screen
	width   int      // of the terminal when they were drawn

	mu      sync.Mutex
	view    *view.Projection
	above   bytes.Buffer // finished lines that were not written yet
	paused  bool         // a prompt is on the screen: nothing is drawn
	texts   map[string]*liveText
	began   time.Time
	thought map[string]bool // thinking that was printed before it was final
	retryAt time.Time       // of a failed request
	text    string          // the last text of the agent that was printed
	asked   bool            // questions of the agent were asked at a prompt
	turns   int             // prompts that were seen
	took    time.Duration   // of the turns that have ended
	files   []view.File     // changed in them
}

// A liveText is a text of which the lines that have ended were printed.
type liveText struct {
	markdown
	printed string // what was printed of the text
	rows    int    // lines that were printed
}

// frameTime is the least time between two drawings of the live part.
const frameTime = time.Second / 15

// newDisplay returns a display that continues from a state. The caller must call close.
func newDisplay(w io.Writer, size func() (int, int), s style, p *view.Projection) *display {
	return &display{style: s, w: w, size: size, now: time.Now, view: p, texts: map[string]*liveText{}, thought: map[string]bool{},
		dirty: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}), began: time.Now()}
}

// start begins to draw.
func (d *display) start() {
	go func() {
		defer close(d.done)
		defer func() {
			if r := recover(); r != nil {
				d.erase()
				panic(r)
			}
		}()
		clock := time.NewTicker(time.Second)
		defer clock.Stop()
		for {
			select {
			case <-d.quit:
				return
			case <-d.dirty:
			case <-clock.C:
			}
			d.draw()
			select {
			case <-d.quit:
				return
			case <-time.After(frameTime):
			}
		}
	}()
}

// close ends the display: what is finished is printed, and the live part is gone. What is
// written later is printed by the next close.
func (d *display) close() {
	d.once.Do(func() {
		close(d.quit)
		<-d.done
		d.mu.Lock()
		d.live, d.paused = false, false
		d.mu.Unlock()
	})
	d.draw()
}

// erase removes the live part, whatever else is under way, before the process leaves.
func (d *display) erase() {
	if !d.drawing.TryLock() {
		return // a write is under way, maybe to a terminal that takes nothing
	}
	defer d.drawing.Unlock()
	width, _ := d.size()
	d.w.Write(d.up(width)) // the process leaves: there is no one to tell of an error
	d.drawn = nil
}

// forget is called when the process was stopped and runs again: what was drawn is not where
// it was.
func (d *display) forget() {
	d.drawing.Lock()
	d.drawn = nil
	d.drawing.Unlock()
	d.changed()
}

func (d *display) changed() {
	select {
	case d.dirty <- struct{}{}:
	default:
	}
}

// update takes in what is new of the run.
func (d *display) update(u view.Update) {
	d.mu.Lock()
	for _, item := range d.view.Update(u) {
		d.take(item)
	}
	d.mu.Unlock()
	d.changed()
}

// Write prints lines above the live part.
func (d *display) Write(p []byte) (int, error) {
	d.mu.Lock()
	d.above.Write(p)
	d.mu.Unlock()
	d.changed()
	return len(p), nil
}

// prompt prints lines and leaves the cursor after the last of them. Nothing is drawn until
// resume.
func (d *display) prompt(lines []string, ask string) {
	d.mu.Lock()
	for _, l := range lines {
		d.above.WriteString(l + "\n")
	}
	live := d.live
	d.live = false
	d.mu.Unlock()
	d.draw()
	d.mu.Lock()
	d.live, d.paused = live, true
	d.mu.Unlock()
	d.drawing.Lock()
	fmt.Fprint(d.w, ask) // an error comes again with the next write
	d.drawing.Unlock()
}

// resume ends a prompt. newline says that the cursor is still in its line.
func (d *display) resume(newline bool) {
	d.mu.Lock()
	d.paused = false
	if newline {
		rest := d.above.String()
		d.above.Reset()
		d.above.WriteString("\n" + rest)
	}
	d.mu.Unlock()
	d.changed()
}

// draw writes what is finished and draws the live part below it.
func (d *display) draw() {
	d.drawing.Lock()
	defer d.drawing.Unlock()
	width, height := d.size()
	d.mu.Lock()
	if d.paused {
		d.mu.Unlock()
		return
	}
	var lines []string
	d.printStreamed(width)
	if d.live {
		lines = d.lines(width, height)
	}
	above := bytes.Clone(d.above.Bytes())
	d.above.Reset()
	d.mu.Unlock()
	switch {
	case !d.screen:
		d.w.Write(above) // see below
		return
	case len(above) == 0 && width == d.width && slices.Equal(lines, d.drawn),
		len(above) == 0 && len(lines) == 0 && len(d.drawn) == 0:
		return
	}
	var out bytes.Buffer
	out.WriteString("\x1b[?2026h") // the terminal shows all of it at once
	out.Write(d.up(width))
	out.Write(bytes.ReplaceAll(above, []byte("\n"), []byte("\r\n")))
	for _, l := range lines {
		out.WriteString(l + "\r\n")
	}
	out.WriteString("\x1b[?2026l")
	d.drawn, d.width = lines, width
	d.w.Write(out.Bytes()) // the progress is lost with the terminal, and the run continues
}

// up returns what moves to the first line of the live part and erases from there. A
// terminal that has become narrower has broken its lines into more rows.
func (d *display) up(width int) []byte {
	if len(d.drawn) == 0 {
		return nil
	}
	rows := 0
	for _, l := range d.drawn {
		rows += 1 + strings.Count(ansi.Hardwrap(l, width, true), "\n")
	}
	return fmt.Appendf(nil, "\r\x1b[%dA\x1b[J", rows)
}

// terminalFile returns w if it is a terminal.
func terminalFile(w any) (*os.File, bool) {
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// Sizes that are used where the terminal does not say its own, or says nonsense.
const (
	usualWidth, usualHeight = 80, 24
	leastWidth              = 20
)

// sizeOf returns a function that returns the size of a terminal.
func sizeOf(f *os.File) func() (width, height int) {
	return func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return usualWidth, usualHeight
		}
		return max(width, leastWidth), height
	}
}

// take takes in an item. d.mu is held.
func (d *display) take(i view.Item) {
	d.retryAt = time.Time{}
	switch {
	case i.Gone:
		if t := d.texts[i.ID]; t != nil && t.rows > 0 {
			d.put(d.paint(faint, "  the answer was cut off; it is requested again"))
		}
		delete(d.texts, i.ID)
	case i.Kind == view.KindText || i.Kind == view.KindAccount:
		d.takeText(i)
	case !i.Final:
	case i.Kind == view.KindThinking:
		d.think(i)
		delete(d.thought, i.ID)
	case i.Kind == view.KindMessage:
		d.takeMessage(i)
	case i.Kind == view.KindCall:
		d.takeCall(i)
	case i.Kind == view.KindNote:
		d.takeNote(i)
	case i.Kind == view.KindEnd:
		d.took += i.End.Duration
		d.count(i.End.Files)
	}
}

// count counts files that were changed in a turn: of one that was changed in several, the
// lines add up. d.mu is held.
func (d *display) count(files []view.File) {
	for _, f := range files {
		i := slices.IndexFunc(d.files, func(o view.File) bool { return o.Path == f.Path })
		if i < 0 {
			d.files = append(d.files, f)
			continue
		}
		o := &d.files[i]
		o.Added, o.Removed, o.Counted = o.Added+f.Added, o.Removed+f.Removed, o.Counted && f.Counted
	}
}

// think prints what the model has thought, as one line. d.mu is held.
func (d *display) think(i view.Item) {
	text := view.OneLine(strings.TrimSpace(i.Text), 4*maxTitle)
	if d.thought[i.ID] || text == "" {
		return
	}
	d.thought[i.ID] = true
	width, _ := d.size()
	d.put(d.paint(faint, d.clip("  thought: "+text, width)))
}

// put prints lines. d.mu is held.
func (d *display) put(lines ...string) {
	for _, l := range lines {
		d.above.WriteString(l + "\n")
	}
}

// takeText takes in a text of the agent. One that could be the answer is printed when it is
// known whether it is, unless it is shown here in any case.
func (d *display) takeText(i view.Item) {
	t := d.texts[i.ID]
	if t == nil {
		t = &liveText{markdown: markdown{style: d.style}}
		d.texts[i.ID] = t
	}
	if !i.Final {
		return // draw prints what is complete
	}
	delete(d.texts, i.ID)
	if !d.answers && (i.Answer || i.Kind == view.KindAccount) {
		return // it is the result, on standard output
	}
	d.text = i.Text
	width, _ := d.size()
	text := strings.Trim(i.Text, "\n")
	if !strings.HasPrefix(text, t.printed) { // it has come out otherwise than it streamed
		t = &liveText{markdown: markdown{style: d.style}}
	}
	d.printText(t, text[len(t.printed):], width)
}

// printText prints lines of a text. d.mu is held.
func (d *display) printText(t *liveText, lines string, width int) {
	if lines == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(lines, "\n"), "\n") {
		for _, l := range t.line(visible(line), width-2, false) {
			d.put(d.margin(t.rows == 0, l))
			t.rows++
		}
	}
}

// margin puts a line of the agent's words behind their glyph.
func (d *display) margin(first bool, line string) string {
	switch {
	case first:
		return d.paint(bold, d.glyph(glyphWords)) + " " + line
	case line == "":
		return ""
	}
	return "  " + line
}

// printStreamed prints the lines of the streaming texts that have ended. d.mu is held.
func (d *display) printStreamed(width int) {
	if !d.answers || !d.live {
		return
	}
	open := d.view.Open()
	for at, i := range open {
		t := d.texts[i.ID]
		if t == nil || i.Kind != view.KindText && i.Kind != view.KindAccount {
			continue
		}
		text := strings.TrimLeft(i.Text, "\n")
		if !strings.HasPrefix(text, t.printed) {
			continue // the finished text repairs it
		}
		rest := text[len(t.printed):]
		if n := strings.LastIndexByte(rest, '\n') + 1; n > 0 && strings.TrimSpace(rest[:n]) != "" {
			n = len(strings.TrimRight(rest[:n], "\n")) + 1 // blank lines at the end wait for what follows
			for _, before := range open[:at] {
				if before.Kind == view.KindThinking {
					d.think(before) // no more of it follows
				}
			}
			d.printText(t, rest[:n], width)
			t.printed = text[:len(t.printed)+n]
		}
	}
}

func (d *display) takeMessage(i view.Item) {
	d.turns++
	first := d.turns == 1 && (i.Message.Kind == view.Prompt || i.Message.Kind == view.Continue || i.Message.Kind == view.Answer)
	if first || i.Message.State != view.Delivered || i.Message.Kind == view.Answer || i.Text == "" {
		return // the person has typed it just now
	}
	width, _ := d.size()
	lines := d.wrap([]span{{visible(strings.ReplaceAll(i.Text, "\n", " ")), bold}}, width-2, false)
	d.put(hang(d.paint(accent, d.glyph(glyphPerson))+" ", lines)...)
}

func (d *display) takeNote(i view.Item) {
	width, _ := d.size()
	n := i.Note
	switch {
	case n.Kind == view.NoteFailed && n.Wait == 0, n.Tell == run.TellRepeated: // the end, or the call, says it
	case n.Kind == view.NoteFailed:
		d.retryAt = d.now().Add(n.Wait)
		text := fmt.Sprintf("%s (attempt %d)", visible(i.Text), n.Attempt)
		d.put(hang(d.paint(warning, d.glyph(glyphRetry))+" ", d.wrap([]span{{text, warning}}, width-2, false))...)
	case n.Kind == view.NoteInterrupted:
		d.put(d.paint(warning, visible(i.Text)))
	default:
		d.put(hang("  ", d.wrap([]span{{strings.ReplaceAll(visible(i.Text), "\n", " "), faint}}, width-2, false))...)
	}
}
