package tui

import (
	"context"
	"fmt"
	"slices"

	"pawl/render"
	"pawl/report"
	"pawl/run"
	"pawl/view"
)

// A viewer shows all that is known of one call after another. It is drawn above the input and goes
// without a trace: what the agent writes meanwhile is not interrupted.
type viewer struct {
	calls  []view.Item // of the conversation, the oldest first
	at     int         // the call that is shown
	top    int         // the first line of it that is seen
	length int         // of its lines
}

// viewCalls shows the calls of the conversation, from the one with an id on; "": the last.
func (m *model) viewCalls(which string) []effect {
	if m.id == "" {
		m.hint = "no call has been made yet"
		return nil
	}
	id := m.id
	return []effect{later(func(ctx context.Context, b *backend) error {
		events, _, err := b.ws.Load(ctx, id)
		var calls []view.Item
		var p view.Projection
		for i := range events {
			for _, item := range p.Update(report.WithDiff(b.ws, view.Update{Event: &events[i]})) {
				if item.Kind == view.KindCall && item.Final {
					calls = append(calls, item)
				}
			}
		}
		calls = append(calls, slices.DeleteFunc(p.Open(), func(i view.Item) bool { return i.Kind != view.KindCall })...)
		b.post(viewed{calls, which})
		return err
	})}
}

// view opens a viewer.
func (m *model) view(v viewed) {
	at := len(v.calls) - 1
	if v.which != "" {
		at = slices.IndexFunc(v.calls, func(i view.Item) bool { return i.Call.ID == run.CallID(v.which) })
	}
	switch {
	case len(v.calls) == 0:
		m.hint = "no call has been made yet"
	case at < 0:
		m.hint = "there is no call " + oneLine(v.which) + "; the id of each stands at its right"
	case m.pane == nil:
		m.put(&viewer{calls: v.calls, at: at})
	}
}

func (v *viewer) key(m *model, name, text string) ([]effect, bool) {
	page := max(1, m.height/2)
	show := func(at int) {
		if at >= 0 && at < len(v.calls) {
			m.pane = &viewer{calls: v.calls, at: at} // another: a screen reader reads it
		}
	}
	switch name {
	case "esc", "ctrl+c":
		m.pane = nil
	case "ctrl+o", "left":
		show(v.at - 1)
	case "right":
		show(v.at + 1)
	case "up":
		v.top--
	case "down":
		v.top++
	case "pgup":
		v.top -= page
	case "pgdown":
		v.top += page
	case "home":
		v.top = 0
	case "end":
		v.top = v.length
	case "enter":
		m.pane = nil
		m.flush()
		m.print("")
		m.print(m.Details(v.calls[v.at], m.width, maxDetails)...)
	default:
		if text != "" { // it is meant for the input
			m.pane = nil
		}
		return nil, false
	}
	return nil, true
}

func (v *viewer) lines(m *model, width, height int) []string {
	all := m.Details(v.calls[v.at], width-1, maxDetails)
	v.length = len(all)
	keys := m.keyLines(" ", width, "ctrl+o: the call before", "left, right", "up, down", "enter: print it", "esc: close")
	room := max(1, height-1-len(keys))
	v.top = max(0, min(v.top, len(all)-room))
	seen := all[v.top:min(len(all), v.top+room)]
	head := fmt.Sprintf(" call %d of %d", v.at+1, len(v.calls))
	if len(seen) < len(all) {
		head += fmt.Sprintf("%slines %d to %d of %d", m.Dot(), v.top+1, v.top+len(seen), len(all))
	}
	lines := []string{m.Paint(render.Faint, m.Clip(head, width))}
	for _, l := range seen {
		lines = append(lines, m.Clip(l, width))
	}
	return append(lines, keys...)
}
