package console

import (
	"fmt"
	"strings"

	"pawl/cli/command"
	"pawl/run"
	"pawl/view"
)

// A child is a run that a call has started, of the run that is shown or of another child, while the
// call runs.
type child struct {
	calls []*view.Call // that lead to it; the last one has started it
	view  view.Projection
	lines Progress
}

// childrenOf notes the runs that calls have started since, and forgets those whose calls have ended.
// calls lead from the run that is shown to the one that the items are of.
func (p *Printer) childrenOf(items []view.Item, calls ...*view.Call) {
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

// ShowChild takes in what is new of a child run.
func (p *Printer) ShowChild(id run.ID, u view.Update) {
	c := p.children[id]
	switch {
	case c == nil: // unreachable: a call starts it
	case p.Display != nil:
		p.childrenOf(p.Display.update(u, c.calls...), c.calls...)
	default:
		items := c.view.Update(u)
		label := strings.Repeat("    ", len(c.calls))
		if p.others(c) {
			label += "[" + c.path() + "] "
		}
		for _, item := range items {
			if line := c.lines.Line(item); line != "" {
				fmt.Fprintln(p.Stderr, command.Prefixed(strings.TrimPrefix(line, "  "), label))
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
func (p *Printer) others(c *child) bool {
	for _, o := range p.children {
		if n := min(len(o.calls), len(c.calls)) - 1; o.calls[n].Child != c.calls[n].Child {
			return true
		}
	}
	return false
}
