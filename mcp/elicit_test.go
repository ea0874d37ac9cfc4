package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pawl/tool"
)

// A person answers what servers ask with lines, in this order.
type person struct {
	lines []string
	asked []string // the questions, with their options
}

func (p *person) ask(_ context.Context, question string, options ...string) (string, error) {
	p.asked = append(p.asked, question+"\n"+strings.Join(options, "|"))
	if len(p.lines) == 0 {
		return "", errors.New("the person has left")
	}
	line := p.lines[0]
	p.lines = p.lines[1:]
	return line, nil
}

const aForm = `{"mode":"form","message":"Where to?","requestedSchema":{"type":"object","properties":{
	"name":{"type":"string","title":"Your name","minLength":2},
	"mail":{"type":"string","format":"email"},
	"nights":{"type":"integer","minimum":1,"maximum":9,"default":2},
	"price":{"type":"number"},
	"smoker":{"type":"boolean"},
	"room":{"type":"string","enum":["s","d"],"enumNames":["single","double"]},
	"board":{"type":"string","oneOf":[{"const":"hb","title":"Half board"},{"const":"fb","title":"Full board"}]},
	"extras":{"type":"array","items":{"type":"string","enum":["spa","bike","boat"]}}},
	"required":["name","room"]}}`

func TestAServerAsksThePerson(t *testing.T) {
	t.Parallel()
	for _, played := range []string{"good", "old"} { // of revision 2026-07-28, and of one before
		t.Run(played, func(t *testing.T) {
			t.Parallel()
			asksThePerson(t, played)
		})
	}
}

func asksThePerson(t *testing.T, played string) {
	s := play(t, Options{}, local(t, "good", played))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, args string
		lines      []string
		want       string
		asked      []string // parts of the questions, in order
	}{
		{"each field", aForm, []string{"A", "Ada", "double", "Half board", "spa, boat", "ada", "ada@example.org", "12", "3", "1.5", "yes"},
			`accept {"board":"hb","extras":["spa","boat"],"mail":"ada@example.org","name":"Ada","nights":3,"price":1.5,"room":"d","smoker":true}`,
			[]string{"The server good asks: Where to?\n\n1 of 8: Your name\ntext; \"decline\" tells", "That does not fit: ", "2 of 8: room\ntext\nsingle|double|decline",
				"Half board|Full board|leave out|decline", "several, with commas", "text (email)", "That does not fit: ", `a whole number; "leave out" gives 2`, "That does not fit: "}},
		{"only what is required", aForm, []string{"Ada", "s", "leave out", "leave out", "leave out", "leave out", "leave out", "leave out"},
			`accept {"name":"Ada","nights":2,"room":"s"}`, nil},
		{"all at once", aForm, []string{`{"name":"Ada","room":"x"}`, `{"name":"Ada","room":"s"}`}, `accept {"name":"Ada","nights":2,"room":"s"}`, []string{"1 of 8", "That does not fit: room"}},
		{"what is required is not left out", aForm, []string{"leave out", `"leave out"`, "decline"}, "decline null", []string{"1 of 8", "An answer is needed.", "2 of 8"}},
		{"declined", aForm, []string{"Decline"}, "decline null", nil},
		{"no field", `{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}`, []string{"accept"}, "accept null", []string{"Sure?\naccept|decline"}},
		{"a page", `{"mode":"url","message":"Pay","url":"https://a.example@pay.example/x","elicitationId":"1"}`, []string{"what?", "opened"}, "accept null",
			[]string{"open a page of pay.example in a browser, and to say here", "https://a.example@pay.example/x\nopened|decline"}},
		{"a page of a host that looks like another", `{"mode":"url","message":"Pay","url":"https://p\u0430y.example","elicitationId":"1"}`, []string{"decline"}, "decline null",
			[]string{"The name of the host has letters that may look like others."}},
		{"a page that is not opened", `{"mode":"url","message":"Pay","url":"https://pay.example","elicitationId":"1"}`, []string{"decline"}, "decline null", nil},
		{"codes of a terminal", `{"message":"a\u001b[2Jb","requestedSchema":{"type":"object","properties":{}}}`, []string{"decline"}, "decline null", []string{`a\u001b[2Jb`}},
	} {
		p := &person{lines: c.lines}
		if _, said := s.call(t.Context(), "mcp__good__asks", c.args, tool.Call{Ask: p.ask}); said != c.want || len(p.lines) > 0 {
			t.Errorf("%s: the server has %q, want %q; not asked for: %q", c.what, said, c.want, p.lines)
		}
		for i, part := range c.asked {
			if i >= len(p.asked) || !strings.Contains(p.asked[i], part) {
				t.Errorf("%s: question %d has no %q:\n%s", c.what, i+1, part, strings.Join(p.asked, "\n--\n"))
			}
		}
	}
	if _, said := s.call(t.Context(), "mcp__good__asks", `{"mode":"url","message":"x","url":"javascript:alert(1)","elicitationId":"1"}`, tool.Call{Ask: (&person{}).ask}); !strings.Contains(said, "is no address of a web page") {
		t.Errorf("an address that is none came as %q", said)
	}
	if _, said := s.call(t.Context(), "mcp__good__asks", aForm, tool.Call{}); !strings.HasPrefix(said, "decline null\n[the server asked the person, and nobody is there to answer, so it was declined: Where to?]") {
		t.Errorf("without a person the model reads %q", said)
	}
	s.mu.Lock()
	told := strings.Join(s.told, "\n")
	s.mu.Unlock()
	if told != "the server good asked, and nobody is there to answer, so it was declined: Where to?" {
		t.Errorf("without a person it is told %q", told)
	}
	p := &person{lines: []string{"opened"}}
	if _, said := s.call(t.Context(), "mcp__good__opens", `{}`, tool.Call{Ask: p.ask}); said != "you have opened it" || !strings.Contains(strings.Join(p.asked, ""), "login.example") {
		t.Errorf("a page that has to be opened first: %q, asked %q", said, p.asked)
	}
	if _, said := s.call(t.Context(), "mcp__good__samples", `{}`, tool.Call{}); played == "old" && !strings.Contains(said, "pawl does not send prompts of servers to the model") {
		t.Errorf("a prompt of a server came to %q", said)
	}
}
