package cli

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"pawl/run"
	"pawl/view"
)

// A children shows the runs that the calls of a run have started, below these calls, and the runs
// that they have started. It is locked while something is shown. The zero value shows none.
type children struct {
	sync.Mutex
	follow func(_ context.Context, _ run.ID, after int64) iter.Seq[view.Update] // nil: children are not shown
	works  map[run.ID]*followed
}

// A followed is a child run that is shown while its call runs.
type followed struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when the end of its turn was shown
}

// lastLines is how long the end of a call waits for the last lines of the child run that it has
// started: they are in the log before the call ends.
const lastLines = time.Second

// see follows the runs that calls have started since, and leaves those whose calls have ended.
// calls lead from the run to the one that the items are of.
func (c *children) see(p *printer, items []view.Item, calls ...*view.Call) {
	for _, i := range items {
		if c.follow == nil || i.Kind != view.KindCall || i.Call.Child == "" {
			continue
		}
		f := c.works[i.Call.Child]
		switch {
		case f != nil && i.Final:
			f.cancel()
			delete(c.works, i.Call.Child)
		case f == nil && !i.Final && i.Call.State == view.Running:
			ctx, cancel := context.WithCancel(context.Background())
			f = &followed{cancel, make(chan struct{})}
			if c.works == nil {
				c.works = map[run.ID]*followed{}
			}
			c.works[i.Call.Child] = f
			call := *i.Call
			updates := c.follow(ctx, call.Child, 0) // taken here: the end of the run may come before show
			go c.show(ctx, p, f, updates, append(calls[:len(calls):len(calls)], &call))
		}
	}
}

// show shows a child run until ctx is done.
func (c *children) show(ctx context.Context, p *printer, f *followed, updates iter.Seq[view.Update], calls []*view.Call) {
	var own view.Projection
	var lines progress
	indent := strings.Repeat("    ", len(calls))
	for u := range updates {
		c.Lock()
		switch {
		case ctx.Err() != nil: // its call has ended
		case p.display != nil:
			c.see(p, p.display.update(u, calls...), calls...)
		default:
			items := own.Update(u)
			for _, item := range items {
				if line := lines.line(item); line != "" {
					label := indent
					if len(c.works) > len(calls) { // several work at the same time
						label += "[" + string(calls[len(calls)-1].ID) + "] "
					}
					fmt.Fprintln(p.stderr, prefixed(strings.TrimPrefix(line, "  "), label))
				}
			}
			c.see(p, items, calls...)
		}
		c.Unlock()
		if u.Event != nil {
			if _, ended := u.Event.Payload.(run.Ended); ended {
				f.close()
			}
		}
	}
}

func (f *followed) close() {
	select {
	case <-f.ended: // a turn before it
	default:
		close(f.ended)
	}
}

// await waits until the last lines of the child runs were shown whose calls have ended.
func (c *children) await(items []view.Item) {
	for _, i := range items {
		f := (*followed)(nil)
		if i.Kind == view.KindCall && i.Final {
			f = c.works[i.Call.Child]
		}
		if f == nil {
			continue
		}
		c.Unlock()
		select {
		case <-f.ended:
		case <-time.After(lastLines):
		}
		c.Lock()
	}
}

// end stops following.
func (c *children) end() {
	c.Lock()
	defer c.Unlock()
	for _, f := range c.works {
		f.cancel()
	}
	c.follow, c.works = nil, nil
}
