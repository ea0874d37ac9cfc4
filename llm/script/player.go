package script

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"strings"
	"sync"

	"pawl/run"
)

// A Conversation is what a request sends, as far as a script looks at it.
type Conversation struct {
	System   string
	Tools    bool // tools are offered
	Messages []Message
}

// A Message is one side's words and results.
type Message struct {
	Role    run.Role
	Words   string
	Results []string
	Blocks  int // texts and calls
}

func (c Conversation) lastResult() string {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if n := len(c.Messages[i].Results); n > 0 {
			return c.Messages[i].Results[n-1]
		}
	}
	return ""
}

func (c Conversation) lastWords() string {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if m := c.Messages[i]; m.Role == run.User && m.Words != "" {
			return m.Words
		}
	}
	return ""
}

// A view is what "when" looks at, at some point of a conversation.
type view struct {
	system        string
	tools         bool
	first, newest string // of the user's messages
	any           bool
}

func (v *view) add(m Message) {
	if m.Role != run.User {
		return
	}
	if !v.any {
		v.any, v.first = true, m.Words
	}
	v.newest = m.Words
	if len(m.Results) > 0 {
		v.newest += "\n" + strings.Join(m.Results, "\n")
	}
}

func (w *When) matches(v view) bool {
	return strings.Contains(v.system, w.System) && strings.Contains(v.first, w.First) &&
		strings.Contains(v.newest, w.Contains) && (w.Tools == nil || *w.Tools == v.tools)
}

// A Player finds the reply to a conversation. It is safe for concurrent use.
type Player struct {
	script Script
	rules  []int // replies with "when"
	turns  []int // those without

	mu    sync.Mutex
	count int            // replies given
	given map[string]int // place in a conversation -> replies without a trace given there
}

// NewPlayer returns a player of s.
func NewPlayer(s Script) *Player {
	p := &Player{script: s, given: map[string]int{}}
	for i, r := range s {
		if r.When != nil {
			p.rules = append(p.rules, i)
		} else {
			p.turns = append(p.turns, i)
		}
	}
	return p
}

// Next returns the reply to c, its placeholders replaced, and its place in the
// script. An error says that the script has none.
func (p *Player) Next(c Conversation) (Reply, int, error) {
	at := p.replay(c)
	place := at.place(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	given := p.given[place]
	for i := range at.candidates() {
		r := p.script[i]
		if (r.traceless() || r.Interruptible()) && !r.Repeat {
			if times := max(r.Times, 1); given >= times {
				given -= times
				continue
			}
			p.given[place]++
		}
		p.count++
		return r.filled(c, p.count), i, nil
	}
	return Reply{}, 0, fmt.Errorf("the script has ended: none of its %d replies is left for this request (add one, or one with \"repeat\")", len(p.script))
}

// A position is how far a conversation has come in a script.
type position struct {
	player  *Player
	view    view
	used    []bool // by reply
	turn    int    // all turns before this one are used
	answers int
}

// replay goes through a conversation again, message by message, and returns where
// it stands. Messages that were joined because a pause stood between them have
// used up a reply each.
func (p *Player) replay(c Conversation) *position {
	at := &position{player: p, used: make([]bool, len(p.script))}
	// Whether tools were on offer earlier is not known any more; they mostly are.
	at.view = view{system: c.System, tools: true}
	for _, m := range c.Messages {
		if m.Role != run.Assistant {
			at.view.add(m)
			continue
		}
		at.answers++
		for blocks := m.Blocks; ; {
			r, ok := at.answered(m)
			if !ok {
				break
			}
			blocks -= r.blocks()
			if r.StopReason() != run.StopPause || blocks <= 0 {
				break
			}
		}
	}
	at.view.tools = c.Tools
	return at
}

// candidates yields the replies that are not used up, in the order in which they
// come; one may be used up meanwhile.
func (at *position) candidates() iter.Seq[int] {
	p := at.player
	return func(yield func(int) bool) {
		for _, i := range p.rules {
			if !at.used[i] && p.script[i].When.matches(at.view) && !yield(i) {
				return
			}
		}
		for at.turn < len(p.turns) && at.used[p.turns[at.turn]] {
			at.turn++
		}
		for _, i := range p.turns[at.turn:] {
			if !at.used[i] && !yield(i) {
				return
			}
		}
	}
}

// answered returns the reply that m was, and marks it and those before it, which
// left no trace, as used.
func (at *position) answered(m Message) (Reply, bool) {
	said := strings.TrimSpace(m.Words)
	for i := range at.candidates() {
		r := at.player.script[i]
		at.used[i] = !r.Repeat
		if r.traceless() || r.Interruptible() && (said == "" || !strings.HasPrefix(said, r.Text) && !strings.HasPrefix(r.Text, said)) {
			continue
		}
		return r, true
	}
	return Reply{}, false
}

// place names a place in a conversation: a nudge or a repeated request does not
// change it, an answer does.
func (at *position) place(c Conversation) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d", c.System, at.view.first, at.answers)
	for _, used := range at.used {
		if used {
			h.Write([]byte{1})
		} else {
			h.Write([]byte{0})
		}
	}
	return string(h.Sum(nil))
}
