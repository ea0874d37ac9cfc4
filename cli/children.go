package cli

import (
	"fmt"
	"strings"

	"pawl/run"
	"pawl/view"
)

// A child is a run that a call has started, of the run that is shown or of another child, while the
// call runs.
type child struct {
	calls []*view.Call // that lead to it; the last one has started it
	view  view.Projection
	lines progress
}

// childrenOf notes the runs that calls have started since, and forgets those whose calls have ended.
// calls lead from the run that is shown to the one that the items are of.
func (p *printer) childrenOf(items []view.Item, calls ...*view.Call) {
	for _, i := range items {
		switch {
		case i.Kind != view.KindCall || i.Call.Child == "":
		case i.Final:
			delete(p.children, i.Call.Child)
		case i.Call.State == view.Running && p.children[i.Call.Child] == nil:
			if p.children == nil {
				p.children = map[run.ID]*child{}
			}
			p.children[i.Call.Child] = &child{calls: append(calls[:len(calls):len(calls)], i.Call)}
		}
	}
}

// showChild takes in what is new of a child run.
func (p *printer) showChild(id run.ID, u view.Update) {
	c := p.children[id]
	switch {
	case c == nil: // unreachable: a call starts it
	case p.display != nil:
		p.childrenOf(p.display.update(u, c.calls...), c.calls...)
	default:
		items := c.view.Update(u)
		label := strings.Repeat("    ", len(c.calls))
		if p.others(c) {
			label += "[" + c.path() + "] "
		}
		for _, item := range items {
			if line := c.lines.line(item); line != "" {
				fmt.Fprintln(p.stderr, prefixed(strings.TrimPrefix(line, "  "), label))
			}
		}
		p.childrenOf(items, c.calls...)
	}
}

// path names the calls that lead to the child.
func (c *child) path() string {
	var ids []string
	for _, call := range c.calls {
		ids = append(ids, string(call.ID))
	}
	return strings.Join(ids, "/")
}

// others reports whether a run works at the same time that is neither above nor below c.
func (p *printer) others(c *child) bool {
	for _, o := range p.children {
		if n := min(len(o.calls), len(c.calls)) - 1; o.calls[n].Child != c.calls[n].Child {
			return true
		}
	}
	return false
}
