package console

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"pawl/internal/screen"
	"pawl/render"
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
	w      io.Writer
	size   func() (width, height int)
	now    func() time.Time
	screen *screen.Screen // nil: w is no terminal, and nothing is drawn again

	dirty chan struct{} // something is to be drawn
	quit  chan struct{} // closed by close
	done  chan struct{} // closed when the goroutine has ended
	once  sync.Once

	// drawing is held while something is written, and guards what is drawn. It is taken
	// before mu.
	drawing sync.Mutex

	mu      sync.Mutex
	shown   *render.Transcript
	line    []byte // the beginning of a line that was written, without its end
	paused  bool   // a prompt is on the screen: nothing is drawn
	newline bool   // the cursor is still in the line of a prompt
	asked   bool   // questions of the agent were asked at a prompt
}

// frameTime is the least time between two drawings of the live part.
const frameTime = time.Second / 15

// newDisplay returns a display of a transcript, which the display uses alone from then on. The
// caller must call close.
func newDisplay(w io.Writer, size func() (int, int), t *render.Transcript) *display {
	t.Interrupt, t.Began = "ctrl+c interrupts", time.Now()
	return &display{w: w, size: size, now: time.Now, shown: t, dirty: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
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
		d.shown.Streams, d.paused = false, false
		if len(d.line) > 0 {
			d.shown.Print(string(d.line))
			d.line = nil
		}
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
	if d.screen != nil {
		width, _ := d.size()
		_ = d.screen.Erase(width) // the process leaves: there is no one to tell of an error
	}
}

// forget is called when the process was stopped and runs again: what was drawn is not where
// it was.
func (d *display) forget() {
	d.drawing.Lock()
	if d.screen != nil {
		d.screen.Forget()
	}
	d.drawing.Unlock()
	d.changed()
}

func (d *display) changed() {
	select {
	case d.dirty <- struct{}{}:
	default:
	}
}

// update takes in what is new of the run, or of the child run that these calls lead to, and
// returns the items that changed.
func (d *display) update(u view.Update, calls ...*view.Call) []view.Item {
	d.mu.Lock()
	t := d.shown
	for _, c := range calls {
		t = t.Child(c)
	}
	items := t.Update(u)
	d.mu.Unlock()
	d.changed()
	return items
}

// Write prints lines above the live part.
func (d *display) Write(p []byte) (int, error) {
	d.mu.Lock()
	d.line = append(d.line, p...)
	if n := bytes.LastIndexByte(d.line, '\n'); n >= 0 {
		d.shown.Print(strings.Split(string(d.line[:n]), "\n")...)
		d.line = d.line[n+1:]
	}
	d.mu.Unlock()
	d.changed()
	return len(p), nil
}

// prompt prints lines and leaves the cursor after the last of them. Nothing is drawn until
// resume, or the next prompt.
func (d *display) prompt(lines []string, ask string) {
	d.mu.Lock()
	d.shown.Print(lines...)
	live := d.shown.Streams
	d.shown.Streams, d.paused = false, false
	d.mu.Unlock()
	d.draw()
	d.mu.Lock()
	d.shown.Streams, d.paused = live, true
	d.mu.Unlock()
	d.drawing.Lock()
	fmt.Fprint(d.w, ask) // an error comes again with the next write
	d.drawing.Unlock()
}

// resume ends a prompt. newline says that the cursor is still in its line.
func (d *display) resume(newline bool) {
	d.mu.Lock()
	d.paused, d.newline = false, d.newline || newline
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
	above := d.shown.Above(width)
	if d.newline {
		above, d.newline = append([]string{""}, above...), false
	}
	if d.shown.Streams {
		lines = d.shown.Live(width, height, d.now())
	}
	d.mu.Unlock()
	// An error is not reported: the progress is lost with the terminal, and the run continues.
	if d.screen == nil {
		for _, l := range above {
			fmt.Fprintln(d.w, l)
		}
		return
	}
	_ = d.screen.Draw(screen.Frame{Width: width, Height: height, Above: above, Live: lines, Cursor: screen.Cursor{Row: len(lines)}, Now: d.now()})
}
