package script

import (
	"crypto/sha256"
	"fmt"
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

// upTo returns c as it was when message n was asked for. Whether tools were on
// offer is not known any more; they mostly are.
func (c Conversation) upTo(n int) Conversation {
	c.Messages, c.Tools = c.Messages[:n], true
	return c
}

func (w *When) matches(c Conversation) bool {
	var first, newest Message
	for _, m := range c.Messages {
		if m.Role == run.User {
			if first.Role == "" {
				first = m
			}
			newest = m
		}
	}
	return strings.Contains(c.System, w.System) && strings.Contains(first.Words, w.First) &&
		strings.Contains(newest.Words+"\n"+strings.Join(newest.Results, "\n"), w.Contains) &&
		(w.Tools == nil || *w.Tools == c.Tools)
}

// A Player finds the reply to a conversation. It is safe for concurrent use.
type Player struct {
	script Script

	mu    sync.Mutex
	given map[string]int // place in a conversation -> replies without a trace given there
}

// NewPlayer returns a player of s.
func NewPlayer(s Script) *Player { return &Player{script: s, given: map[string]int{}} }

// Next returns the reply to c, its placeholders replaced, and its place in the
// script. An error says that the script has none.
func (p *Player) Next(c Conversation) (Reply, int, error) {
	used := p.used(c)
	place := place(c, used)
	p.mu.Lock()
	defer p.mu.Unlock()
	given := p.given[place]
	for _, i := range p.candidates(c, used) {
		r := p.script[i]
		if (r.traceless() || r.interruptible()) && !r.Repeat {
			if times := max(r.Times, 1); given >= times {
				given -= times
				continue
			}
			p.given[place]++
		}
		return r.filled(c), i, nil
	}
	return Reply{}, 0, fmt.Errorf("the script has ended: none of its %d replies is left for this request (add one, or one with \"repeat\")", len(p.script))
}

// candidates returns the replies for c that are not used up, in the order in
// which they come.
func (p *Player) candidates(c Conversation, used []bool) []int {
	var rules, rest []int
	for i, r := range p.script {
		switch {
		case used[i]:
		case r.When == nil:
			rest = append(rest, i)
		case r.When.matches(c):
			rules = append(rules, i)
		}
	}
	return append(rules, rest...)
}

// used returns which replies the conversation has used up: it is gone through
// again, message by message. Messages that were joined because a pause stood
// between them have used one each.
func (p *Player) used(c Conversation) []bool {
	used := make([]bool, len(p.script))
	for n, m := range c.Messages {
		if m.Role != run.Assistant {
			continue
		}
		for blocks := m.Blocks; ; {
			i, ok := p.answered(c.upTo(n), m, used)
			if !ok {
				break
			}
			blocks -= p.script[i].blocks()
			if p.script[i].stop() != run.StopPause || blocks <= 0 {
				break
			}
		}
	}
	return used
}

// answered returns the reply that m was, and marks it and those before it, which
// left no trace, as used.
func (p *Player) answered(before Conversation, m Message, used []bool) (int, bool) {
	for _, i := range p.candidates(before, used) {
		r := p.script[i]
		used[i] = !r.Repeat
		said := strings.TrimSpace(m.Words)
		if r.traceless() || r.interruptible() && (said == "" || !strings.HasPrefix(said, r.Text) && !strings.HasPrefix(r.Text, said)) {
			continue
		}
		return i, true
	}
	return 0, false
}

// place names a place in a conversation: a nudge or a repeated request does not
// change it, an answer does.
func place(c Conversation, used []bool) string {
	first := ""
	if len(c.Messages) > 0 {
		first = c.Messages[0].Words
	}
	answers := 0
	for _, m := range c.Messages {
		if m.Role == run.Assistant {
			answers++
		}
	}
	return fmt.Sprintf("%x %d %v", sha256.Sum256([]byte(c.System+"\x00"+first)), answers, used)
}
