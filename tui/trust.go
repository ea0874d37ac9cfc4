package tui

import (
	"context"
	"fmt"
	"strings"

	"pawl/internal/text"
	"pawl/policy"
	"pawl/render"
)

// maxTrustLines is how many lines of a file are shown that waits for trust, as `pawl trust` does.
const maxTrustLines = 200

// trust shows what of the workspace's configuration is not trusted, and lets the person trust
// the bytes that were shown.
func (m *model) trust(string) []effect {
	if m.works() || m.awaits {
		m.hint = "interrupt it first, with esc"
		return nil
	}
	style, width, asPerson := m.Style, m.width, m.AsPerson
	return []effect{later(func(_ context.Context, b *backend) error {
		if asPerson != nil {
			if err := asPerson("trust its workspace"); err != nil {
				return err
			}
		}
		if err := b.ws.Recover(); err != nil {
			return err
		}
		p, err := b.ws.Trust()
		if err != nil {
			return err
		}
		changes, err := p.Pending()
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			b.findCommands()
			b.post(notice{"nothing in this folder waits for your review"})
			return p.Check()
		}
		var lines []string
		whole := true
		for _, c := range changes {
			shown, all := c.Show(maxTrustLines)
			whole = whole && all
			lines = append(lines, "", "  "+style.Paint(render.Bold, c.Kind()+": "+policy.Visible(c.File)))
			lines = append(lines, wrapped(style, shown, width)...)
		}
		b.post(printed{lines})
		switch some := policy.Trustable(changes); {
		case !whole:
			b.post(notice{"not all of it was shown, so nothing can be trusted here: use `pawl trust --full` in a shell"})
		case len(some) == 0:
			b.post(notice{"none of this can be trusted as it is: repair or remove it"})
		default:
			files := text.Plural(int64(len(some)), "file")
			b.post(picked{picker: newDurable("Trust "+files+" as shown?", []entry{
				{text: "No", more: "nothing changes; deny and ask rules of this folder count anyway", do: func(*model) []effect { return nil }},
				{text: "Yes", more: "commands, rules and agents in them count from now on", do: func(*model) []effect {
					return []effect{inOrder(func(_ context.Context, b *backend) error { return b.trust(p, some) })}
				}},
			})})
		}
		return nil
	})}
}

// trust records that the person trusts the changes that were shown.
func (b *backend) trust(p *policy.Policy, changes []policy.Change) error {
	if err := p.Trust(changes); err != nil {
		return err
	}
	b.findCommands() // before the notice, so that they can be used when it appears
	b.post(notice{"trusted: " + text.Plural(int64(len(changes)), "file") + "; take it back with `pawl trust --revoke`"})
	for _, c := range changes {
		if strings.HasSuffix(c.File, ".toml") {
			b.post(notice{fmt.Sprintf("the settings in %s count when pawl starts again", policy.Visible(c.File))})
		}
	}
	for _, note := range p.Notes() {
		b.post(notice{note})
	}
	return p.Check()
}
