package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pawl/internal/visible"
	"pawl/provider"
	"pawl/render"
)

// welcome lets a person without a model choose how to get one.
func (m *model) welcome() []effect {
	if err := m.model.err; err != nil && !errors.Is(err, provider.ErrNoModel) { // one is named, and this is wrong with it
		m.fail(err)
	}
	demo := m.CommandLine != nil
	return []effect{later(func(ctx context.Context, b *backend) error {
		ps, err := b.ws.Models()
		if err != nil {
			return err
		}
		entries := []entry{{text: "Paste an API key", more: "Anthropic, OpenAI, Gemini, OpenRouter and others", do: func(m *model) []effect { return m.login("") }}}
		for _, s := range ps.Around(ctx) {
			for i, name := range s.Models {
				if i == maxLocalModels {
					break
				}
				full := s.Name + "/" + name
				entries = append(entries, entry{text: visible.Escape(full), more: "a server on this machine", do: func(m *model) []effect { return m.setModel(full) }})
			}
		}
		if demo {
			entries = append(entries, entry{text: "Just look", more: "a scripted demo, offline, one minute", do: func(m *model) []effect {
				m.say("the demo runs in a folder of its own")
				return pawl("demo")(m, "")
			}})
		}
		b.post(picked{newPicker("pawl needs a model. What is here:", entries), true})
		return nil
	})}
}

// maxLocalModels is how many models of a server on this machine are offered.
const maxLocalModels = 6

// login lets the person choose a provider and paste its key.
func (m *model) login(string) []effect {
	return []effect{later(func(ctx context.Context, b *backend) error {
		ps, err := b.ws.Models()
		if err != nil {
			return err
		}
		var entries []entry
		for _, p := range ps.Providers() {
			if !p.NeedsKey() {
				continue
			}
			more := "keys at " + p.KeysAt
			if s := ps.Site(p); s.Key != "" {
				more = "has a key: " + s.KeyFrom
			}
			entries = append(entries, entry{text: visible.Escape(p.Name), more: visible.Escape(more), do: func(m *model) []effect {
				m.pane = &secret{provider: p.Name, at: p.KeysAt}
				return nil
			}})
		}
		p := newPicker("Which provider?", entries)
		p.noPaste = "choose the provider first, then paste its key"
		b.post(picked{picker: p})
		return nil
	})}
}

// A secret is a key that the person types or pastes. It is not shown.
type secret struct {
	provider, at string
	text         string
	typed        bool      // not pasted
	told         time.Time // when the person was told that Enter stores what they have typed; zero: not yet
}

func (s *secret) key(m *model, name, text string) ([]effect, bool) {
	switch name {
	case "esc", "ctrl+c":
		m.pane = nil
	case "backspace":
		s.text = s.text[:max(0, len(s.text)-1)]
	case "ctrl+u":
		s.text = ""
	case "enter":
		if s.typed && (!stood(m, s.told) || m.repeats) {
			if m.hint = "this was typed: enter again stores it as the key of " + visible.Escape(s.provider); s.told.IsZero() {
				s.told = m.now
			}
			return nil, true
		}
		m.pane = nil
		provider, key := s.provider, s.text
		return []effect{inOrder(func(ctx context.Context, b *backend) error {
			ps, err := b.ws.Models()
			if err != nil {
				return err
			}
			path, err := ps.StoreKey(provider, key)
			if err != nil {
				return err
			}
			b.post(notice{fmt.Sprintf("the %s key is stored in %s, readable only by you", provider, path)})
			if p, ok := ps.Provider(provider); ok && p.Default != "" {
				b.post(modelChosen{provider + "/" + p.Default})
			}
			return nil
		})}, true
	default:
		if ofTerminal(name) {
			return nil, false
		}
		s.text += text
		s.typed, s.told = s.typed || text != "", time.Time{}
	}
	return nil, true
}

func (s *secret) editing() (row, col int) { return 1, 3 + min(len(s.text), 40) }

func (s *secret) lines(m *model, width, _ int) []string {
	dots := strings.Repeat("*", min(len(s.text), 40))
	return append([]string{
		m.Clip(" "+m.Paint(render.Bold, "Paste your "+visible.Escape(s.provider)+" API key"), width),
		m.Clip("   "+dots+m.Paint(render.Faint, fmt.Sprintf(" %d characters", len(s.text))), width),
	}, m.keyLines(" ", width, "get one at "+visible.Escape(s.at), "enter: store", "esc: cancel")...)
}
