package api_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"pawl/api"
)

// late keeps back the first answer to what the page asks from now on with a text in its address or its body. letGo waits
// until it is there, and until the page has drawn what it makes of it.
func (b browser) late(text string) (letGo func()) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{
		const real = window.fetch, free = new Promise((done) => { window.letGo = done; });
		window.held = false;
		window.fetch = async (address, of) => {
			const answer = await real(address, of);
			if (window.held || !(address + " " + of?.body).includes(%q)) return answer;
			window.held = true;
			const body = await answer.text();
			await free;
			setTimeout(() => requestAnimationFrame(() => setTimeout(() => { window.drawn = true; })), 50);
			return new Response(body, answer);
		};
	}`, text)))
	return func() {
		b.t.Helper()
		b.until("window.held")
		b.do(chromedp.Evaluate[chromedp.Void]("window.letGo()"))
		b.until("window.drawn")
	}
}

// A list of the tasks that comes late neither hides a task that was added after it was made, nor brings back one that was
// removed.
func TestALateListHidesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, boardReplies)
	s.drive()
	old := s.add("The old one")
	s.add("One that stays")
	b := s.browse(1000)
	b.sees("The old one")
	letGo := b.late("/tasks?")
	b.do(chromedp.Evaluate[chromedp.Void](`new BroadcastChannel("/events").postMessage([{ type: "position" }, ""])`))
	b.until("window.held")
	s.add("The new one")
	s.do("DELETE", "/tasks/"+old, "").is(200)
	b.sees("The new one")
	b.until(`!document.body.innerText.includes("The old one")`)
	letGo()
	b.sees("One that stays")
	b.sees("The new one")
	b.until(`!document.body.innerText.includes("The old one")`)
}

// What a task waited for before does not come back over what it waits for now.
func TestALateQuestionIsNotShown(t *testing.T) {
	t.Parallel()
	s := serve(t, `
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Two.","requirements":[],"acceptanceCriteria":["both ran"],"plan":["two"]}}]}
{"when":{"first":"Carry out this task","contains":"the first"},"calls":[{"tool":"shell","args":{"command":"touch two; echo the second","sandbox":"none"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"touch one; echo the first","sandbox":"none"}}]}
`)
	s.drive()
	b := s.browse(1000)
	b.sees("Nothing needs you")
	letGo := b.late("/approvals")
	id := s.asking("two commands")
	b.until("window.held")
	first := s.do("GET", "/tasks/"+id+"/approvals", "").is(200)
	s.do("POST", "/tasks/"+id+"/runs/"+first.text("items.0.run")+"/calls/"+first.text("items.0.call")+"/decision",
		fmt.Sprintf(`{"answer":"allow","digest":%q}`, first.text("items.0.digest"))).is(200)
	b.sees("touch two")
	letGo()
	if text := b.value("document.body.innerText").(string); !strings.Contains(text, "touch two") || strings.Contains(text, "touch one") {
		t.Errorf("what was asked before is shown again:\n%s", text)
	}
}

// On the page of the API the answer to what was sent last stands alone: a stream that was asked for before has ended.
func TestAStreamDoesNotGoOnInTheNextAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	b := s.browse(1000)
	b.sees("No task yet")
	b.do(chromedp.Navigate(s.url + api.Prefix + "/docs"))
	const events = `[...document.querySelectorAll("details:has(summary)")].find((d) => d.querySelector("summary > code")?.textContent === "/events" && !d.querySelector("details"))`
	b.until("Boolean(" + events + ")")
	shown := func(text string) string {
		return events + `.querySelector("pre").textContent.split(` + strconv.Quote(text) + `).length - 1`
	}
	for range 2 {
		b.do(chromedp.Evaluate[chromedp.Void](events + `.open = true; ` + events + `.querySelector("form button").click()`))
		b.until(shown("position") + " === 1")
	}
	s.add("The first")
	s.add("The second")
	b.until(shown("The second") + " > 0")
	if n := b.value(shown("task_created")); n != 2. {
		t.Errorf("of two tasks there are %v events:\n%s", n, b.value(events+`.querySelector("pre").textContent`))
	}
}
