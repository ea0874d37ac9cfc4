package api_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"pawl/board"
	"pawl/external"
	"pawl/run"
)

// A card says what its agent waits for before it begins, and how much memory an agent takes. No event tells when that
// changes: the board asks while something is at work and the page is in sight, and else asks nothing.
func TestACardSaysWhatItsAgentWaitsForAndTakes(t *testing.T) {
	t.Parallel()
	s := serve(t, `
{"repeat":true,"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Look.","requirements":[],"acceptanceCriteria":["seen"],"plan":["look"]}}]}
{"repeat":true,"when":{"first":"Carry out this task","contains":"go on"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Seen.","output":""}}]}
{"repeat":true,"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"cat gate"}}]}
`)
	gate := filepath.Join(s.dir, "gate")
	must(t, syscall.Mkfifo(gate, 0o600))
	s.driveWith(board.Options{Runs: 1})
	b := s.browse(1400)
	b.sees("No task yet")
	// The clock of the board begun below is in the test's hand.
	b.do(chromedp.Evaluate[chromedp.Void](`
		const real = setInterval; window.setInterval = (f, ms) => ms === 30000 ? (window.tick = f, 0) : real(f, ms);
		const asks = fetch; window.asked = 0; window.fetch = (to, ...more) => { if (String(to).includes("status=")) asked++; return asks(to, ...more); }`))
	b.open("#/usage")
	b.sees("How turns ended")
	b.open("#/")
	b.sees("No task yet")
	tick := func() { b.do(chromedp.Evaluate[chromedp.Void]("tick()")) }
	tick()
	if n := b.value("asked"); n != 0. {
		t.Errorf("with nothing at work it asked %v times", n)
	}

	first := s.do("POST", "/tasks", `{"description":"First","start":true}`).is(201).text("id")
	s.until(first, "at work", func(v value) bool { return v.text("status.name") == "active" })
	opened, err := os.OpenFile(gate, os.O_WRONLY, 0) // returns when the command reads
	must(t, err)
	second := s.do("POST", "/tasks", `{"description":"Second","start":true}`).is(201).text("id")
	v := s.until(second, "queued", func(v value) bool { return v.at("queued") != nil })
	card := func(id string) string {
		return fmt.Sprintf(`(document.querySelector(".card:has([href='#/tasks/%s'])")?.innerText || "")`, id)
	}
	b.until(card(second) + `.includes("queued: ` + v.text("queued") + `")`)
	b.until(`document.getElementById("working").textContent === "1 working"`)

	// A process of an external agent, as the kernel shows it.
	state, id := external.State(s.ws.State), s.do("GET", "/tasks/"+first, "").is(200).text("runs.1.run")
	must(t, os.MkdirAll(external.Folder(state, run.ID(id)), 0o700))
	agent := exec.Command("cat")
	agent.Env = append(os.Environ(), "PAWL_EXTERNAL_AGENT="+state+":"+id)
	hold, err := agent.StdinPipe()
	must(t, err)
	must(t, agent.Start())
	s.until(first, "with memory", func(v value) bool { return v.at("memory_bytes") != nil })
	tick()
	b.until(`/\d [KM]B/.test(` + card(first) + `)`)
	b.open("#/tasks/" + second)
	b.sees("queued: " + v.text("queued"))

	b.open("#/")
	b.until(card(first) + ` !== ""`)
	b.do(chromedp.Evaluate[chromedp.Void](`Object.defineProperty(document, "hidden", { value: true }); asked = 0; tick()`))
	if n := b.value("asked"); n != 0. {
		t.Errorf("out of sight it asked %v times", n)
	}
	must(t, hold.Close())
	must(t, agent.Wait())
	_, err = opened.WriteString("go on\n")
	must(t, err)
	must(t, opened.Close())
	s.wait(first, "completed")
	opened, err = os.OpenFile(gate, os.O_WRONLY, 0)
	must(t, err)
	b.until(`/begins|cat gate/.test(` + card(second) + `)`)
	_, err = opened.WriteString("go on\n")
	must(t, err)
	must(t, opened.Close())
	s.wait(second, "completed")
}
