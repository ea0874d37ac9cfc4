package tui

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A program runs a model: it hands it messages, performs its effects and draws its frames. A
// frame is drawn in a goroutine of its own, one at a time: a key is taken in while the terminal
// is slow to read, or is stopped with ctrl+s.
type program struct {
	model   *model
	backend *backend
	draw    func(frame) error // on the terminal

	now func() time.Time

	mail   mailbox[message]
	tasks  mailbox[effect] // ordered ones
	input  <-chan message  // of the terminal
	frames chan frame      // to be drawn
	shown  shown           // of the frame that is drawn or was drawn last
	asks   bool            // the same
	drawn  chan error      // that a frame was; the answer to each of frames
	draws  bool            // a frame is being drawn
	done   sync.WaitGroup
}

// frameTime is the least time between two frames: what is drawn more often is not seen.
const frameTime = 16 * time.Millisecond

// keyTime is the same after a key: what a person has typed does not wait for what streams.
const keyTime = 2 * time.Millisecond

// tickTime is how often clocks and the signs of what runs are drawn again while something
// runs. At rest nothing is drawn.
const tickTime = 250 * time.Millisecond

func newProgram(m *model, b *backend, draw func(frame) error) *program {
	p := &program{model: m, backend: b, draw: draw, now: time.Now, frames: make(chan frame, 1), drawn: make(chan error, 1)}
	p.mail.more, p.tasks.more = make(chan struct{}, 1), make(chan struct{}, 1)
	b.post = p.mail.put
	return p
}

// run hands the first message to the model, and takes others from the terminal and from effects
// until the model has left. It then waits for the effects that are under way.
func (p *program) run(ctx context.Context, first message, input <-chan message) error {
	ctx, cancel := context.WithCancel(ctx)
	defer p.done.Wait()
	defer cancel()
	p.input = input
	p.done.Go(func() {
		for {
			select {
			case <-p.tasks.more:
			case <-ctx.Done():
				return
			}
			for _, e := range p.tasks.take() {
				if ctx.Err() == nil {
					p.perform(ctx, e)
				}
			}
		}
	})
	p.done.Go(func() {
		for f := range p.frames {
			p.drawn <- p.drawFrame(f)
		}
	})
	defer close(p.frames)
	clock := time.NewTicker(tickTime)
	defer clock.Stop()
	next := time.NewTimer(0)
	defer next.Stop()
	var last time.Time // when a frame was drawn
	leaves := false    // that frame is the last
	p.take(ctx, first)
	least := frameTime
	for owed := true; ; { // a frame
		var due, ticks <-chan time.Time
		if owed && !p.draws {
			next.Reset(max(0, least-time.Since(last)))
			due = next.C
		}
		if p.model.animates() {
			ticks = clock.C
		}
		select {
		case m, ok := <-input:
			if !ok {
				return errors.New("the terminal is gone")
			}
			p.take(ctx, m)
			owed, least = true, keyTime
		case <-p.mail.more:
			front := p.model.front()
			for _, m := range p.mail.take() {
				p.take(ctx, m)
			}
			owed = true
			if now := p.model.front(); now != nil && now != front { // the person is asked, and does not wait for it
				least = 0
			}
		case <-ticks:
			p.take(ctx, tick{})
			owed = true
		case <-due:
			leaves = p.model.left
			p.draws, owed, least = true, false, frameTime
			f := p.model.frame()
			p.shown, p.asks = f.shown, f.asks
			p.frames <- f
		case err := <-p.drawn:
			if p.draws = false; err != nil || leaves {
				return err
			}
			last = time.Now()
			if p.shown.guard != nil {
				p.take(ctx, p.shown)
				owed = owed || p.model.takesKeys() != p.asks
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// drawFrame draws a frame. A panic is handed to the model, which panics where the terminal is given back.
func (p *program) drawFrame(f frame) error {
	defer p.backend.guard()
	return p.draw(f)
}

// take hands a message to the model and begins the effects that it wants.
func (p *program) take(ctx context.Context, m message) {
	for _, e := range p.model.update(m, p.now()) {
		switch {
		case e.ordered:
			p.tasks.put(e)
			continue
		case e.exclusive:
			p.exclusive(ctx, e)
			continue
		}
		p.done.Go(func() { p.perform(ctx, e) })
	}
}

// exclusive performs an effect that has the terminal.
func (p *program) exclusive(ctx context.Context, e effect) {
	if p.draws {
		if err := <-p.drawn; err != nil {
			p.mail.put(failed{err})
		}
		p.draws = false
	}
	if t := p.backend.terminal; t != nil {
		if err := t.pause(); err != nil {
			p.mail.put(failed{err})
			return
		}
		defer func() {
			if err := t.resume(); err != nil {
				p.mail.put(failed{err})
			}
		}()
	}
	p.whileOthersWait(ctx, e)
	p.take(ctx, resumed{})
}

// whileOthersWait performs an effect that has the terminal. Other messages than keys still come: they are taken in
// afterwards, and that the program is to end ends the effect.
func (p *program) whileOthersWait(ctx context.Context, e effect) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.perform(ctx, e)
	}()
	for input := p.input; ; {
		select {
		case <-ended:
			return
		case m, ok := <-input:
			if !ok {
				input = nil // the loop finds it out too
				cancel()
				continue
			}
			if _, ends := m.(stopped); ends {
				cancel()
			}
			p.mail.put(m)
		}
	}
}

func (p *program) perform(ctx context.Context, e effect) {
	defer p.backend.guard()
	if err := e.do(ctx, p.backend); err != nil && ctx.Err() == nil {
		p.mail.put(failed{err})
	}
}

// A mailbox holds what goes to one reader, without bound: whoever puts something in never waits.
type mailbox[T any] struct {
	mu   sync.Mutex
	all  []T
	more chan struct{}
}

func (b *mailbox[T]) put(m T) {
	b.mu.Lock()
	b.all = append(b.all, m)
	b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default:
	}
}

func (b *mailbox[T]) take() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.all
	b.all = nil
	return all
}
