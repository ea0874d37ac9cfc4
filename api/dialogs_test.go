package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// asks serves a folder in which the worker of each task asks to run a command.
func asks(t *testing.T, command string) *served {
	t.Helper()
	s := serve(t, fmt.Sprintf(`
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Run it.","requirements":[],"acceptanceCriteria":["it ran"],"plan":["run it"]}}]}
{"when":{"first":"Carry out this task","contains":"was run"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"It ran.","output":""}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":%q}}]}
`, command+"; echo was run"))
	s.drive()
	return s
}

// asking adds a task whose worker asks.
func (s *served) asking(description string) (id string) {
	s.t.Helper()
	id = s.do("POST", "/tasks", fmt.Sprintf(`{"description":%q,"start":true}`, description)).is(201).text("id")
	s.until(id, "waiting for approval", func(v value) bool { return len(v.items("permissions")) == 1 })
	return id
}

// open goes to a page of the board.
func (b browser) open(page string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = %q", page)))
}

// enabled is a JavaScript expression of how many buttons in sight with a text can be pressed.
func enabled(text string) string { return seen("button:enabled", text) + ".length" }

// A call whose end has not been in sight is not allowed, by a click or by a key, and no rule is made of it.
func TestACallIsReadToItsEndBeforeItIsAllowedOnTheBoard(t *testing.T) {
	t.Parallel()
	s := asks(t, strings.Repeat("true\n", 100)+"touch made")
	id := s.asking("run it")
	b := s.browse(1400)
	b.open("#/tasks/" + id)
	b.until(enabled("No") + " === 1 && " + enabled("Stop and say") + " === 1")
	b.sees("scroll to its end")
	for _, text := range []string{"Allow once", "Always", "Never"} {
		if b.value(enabled(text)) != 0. {
			t.Errorf("%s can be pressed before the end of the command was shown", text)
		}
	}
	b.value(`document.querySelector(".dialog").focus()`)
	b.press("y")
	b.sees("Not all of the call was shown")
	b.value(`document.querySelector(".whole").scrollTo(0, 1e6)`)
	b.click("Allow once")
	b.sees("Report: complete")
}

// What cannot be seen, or turns other text around, is shown as what it is.
func TestADialogOfTheBoardShowsWhatIsHidden(t *testing.T) {
	t.Parallel()
	s := asks(t, "echo \u202egnp.sh; touch \u200bmade")
	id := s.asking("run it")
	b := s.browse(1400)
	b.open("#/tasks/" + id)
	b.until(enabled("Allow once") + " === 1")
	if got, want := b.value(`document.querySelector(".whole").textContent`), `echo \u202egnp.sh; touch \u200bmade; echo was run`; got != want {
		t.Errorf("the dialog shows %q, want %q", got, want)
	}
}

// A click that was meant for one dialog is none on another that has moved to its place, because the first was answered
// elsewhere.
func TestADialogThatHasMovedUnderThePointerTakesNoClick(t *testing.T) {
	t.Parallel()
	s := asks(t, "touch made")
	ids := []string{s.asking("the first"), s.asking("the second")}
	b := s.browse(1400)
	b.click("Look")
	b.click("Look")
	b.until(enabled("Allow once") + " === 2")
	b.value(`(() => {
		const spot = document.querySelector(".dialog .act").getBoundingClientRect();
		new MutationObserver((_, o) => {
			if (document.querySelectorAll(".dialog").length > 1) return;
			o.disconnect();
			document.elementFromPoint(spot.x + 5, spot.y + 5).dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }));
		}).observe(document.querySelector(".needs"), { childList: true });
	})()`)
	first := strings.Fields(b.value(`document.querySelector(".needs > li").dataset.key`).(string))[0]
	call := s.do("GET", "/tasks/"+first+"/approvals", "").is(200)
	s.do("POST", "/tasks/"+first+"/runs/"+call.text("items.0.run")+"/calls/"+call.text("items.0.call")+"/decision", fmt.Sprintf(`{"answer":"no","digest":%q}`, call.text("items.0.digest"))).is(200)
	b.sees("this has just moved")
	for _, id := range ids {
		if id != first && len(s.do("GET", "/tasks/"+id, "").is(200).items("permissions")) != 1 {
			t.Error("a click for another dialog has decided")
		}
	}
	b.do(chromedp.Evaluate[chromedp.Void](`(async () => { const e = document.querySelector(".dialog .act"); while (document.querySelector(".dialog")) { e.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 })); await new Promise((f) => { setTimeout(f, 100) }) } })(); 0`))
	b.sees("Allowed once")
}

// The files that wait for trust are shown, all of them to their ends, before they can be trusted.
func TestFilesAreTrustedOnTheBoardWhenTheyWereShown(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	s.repository()
	must(t, os.Mkdir(filepath.Join(s.dir, ".pawl"), 0o700))
	must(t, os.WriteFile(filepath.Join(s.dir, ".pawl", "config.toml"), []byte(strings.Repeat("# a comment\n", 150)+"model = \"evil/model\"\n"), 0o600))
	b := s.browse(1400)
	b.open("#/trust")
	b.sees("evil/model")
	b.sees("scroll to its end")
	if b.value(enabled("Trust these files")) != 0. {
		t.Error("what was not shown can be trusted")
	}
	b.value(`document.querySelector("pre").scrollTo(0, 1e6)`)
	b.click("Trust these files")
	b.sees("Everything that the folder brings is trusted")
}

// An answer that a page sends is for the question that the page shows: when that was answered elsewhere and the agent
// asks something else by now, nothing is answered.
func TestAnAnswerOnTheBoardIsForItsQuestionAlone(t *testing.T) {
	t.Parallel()
	s := serve(t, `
{"when":{"first":"Plan this task","contains":"Which list?\nThe short one."},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Remove all the others?"]}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Which list?"]}}]}
`)
	s.drive()
	id := s.add("Write the list")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "awaiting_input")
	b := s.browse(1400)
	b.click("Answer")
	b.write("answer to: Which list?", "Yes, the long one")
	b.value(`window.requestAnimationFrame = ((soon) => (f) => String(f).includes("due = false") ? 0 : soon(f))(requestAnimationFrame); 0`) // the page is behind
	s.do("POST", "/tasks/"+id+"/answers", `{"answers":["The short one."]}`).is(200)
	s.until(id, "asking again", func(v value) bool { return v.text("status.name") == "awaiting_input" && len(v.items("questions")) == 2 })
	b.click("Send")
	b.sees("it asks something else by now")
	if v := s.do("GET", "/tasks/"+id, "").is(200); v.text("status.name") != "awaiting_input" {
		t.Errorf("the task is %s", v.text("status.name"))
	}
}
