package api_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"pawl/api"
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

// The change of a file is shown as one, with what is there now, and not as the arguments of the call.
func TestADialogOfTheBoardShowsTheChangeOfAFile(t *testing.T) {
	t.Parallel()
	s := serve(t, `
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Write it.","requirements":[],"acceptanceCriteria":["it is there"],"plan":["write it"]}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"write","args":{"path":"notes.txt","content":"one\n\"two\"\n"}}]}
`)
	if err := os.WriteFile(filepath.Join(s.dir, "notes.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.drive()
	id := s.asking("write it")
	b := s.browse(1400)
	b.open("#/tasks/" + id)
	b.until(enabled("Allow once") + " === 1")
	if got, want := b.value(`document.querySelector(".whole").textContent`), "write notes.txt\n\n@@ -1 +1,2 @@\n one\n+\"two\""; got != want {
		t.Errorf("the dialog shows %q, want %q", got, want)
	}
}

// A run that was resumed without words is shown whole: a message may have no text.
func TestATranscriptGoesOnAfterAResumeWithoutWords(t *testing.T) {
	t.Parallel()
	s := serve(t, `
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Run it.","requirements":[],"acceptanceCriteria":["it ran"],"plan":["run it"]}}]}
{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"shell","args":{"command":"touch made"}}]}
`)
	s.drive()
	id := s.asking("run it")
	s.do("POST", "/tasks/"+id+"/pause", `{}`).is(200)
	s.until(id, "paused", func(v value) bool { return v.text("status.name") == "waiting" && v.at("runs.1.ended") == true })
	s.do("POST", "/tasks/"+id+"/resume", `{}`).is(200)
	s.until(id, "asking again", func(v value) bool { return len(v.items("permissions")) == 1 })
	b := s.browse(1400)
	b.open("#/tasks/" + id)
	b.until(enabled("Allow once") + " === 1")
	b.sees("continued")
	b.sees("not run")
	b.sees("asks for permission")
}

// A click that was meant for one dialog is none on another that has moved to its place, because the first was answered
// elsewhere.
func TestADialogThatHasMovedUnderThePointerTakesNoClick(t *testing.T) {
	t.Parallel()
	s := asks(t, "touch made")
	ids := []string{s.asking("the first"), s.asking("the second")}
	b := s.browse(1400)
	b.click("Look")
	b.until(enabled("Allow once") + " === 1") // it is drawn, and the next to look at is the other
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

// What a person types in a dialog is not lost when somebody else answers first: it stands in the line of the task. A
// dialog beside it stays as it is.
func TestWordsInADialogThatGoesAreKept(t *testing.T) {
	t.Parallel()
	s := asks(t, "touch made")
	id := s.asking("the first")
	b := s.browse(1400)
	b.open("#/tasks/" + id)
	b.click("Stop and say")
	b.write("what it should do instead", "Do it by hand.")
	call := s.do("GET", "/tasks/"+id+"/approvals", "").is(200)
	s.do("POST", "/tasks/"+id+"/runs/"+call.text("items.0.run")+"/calls/"+call.text("items.0.call")+"/decision", fmt.Sprintf(`{"answer":"no","digest":%q}`, call.text("items.0.digest"))).is(200)
	b.sees("Your words were not sent")
	if got := b.value(`document.querySelector(".say textarea").value`); got != "Do it by hand." {
		t.Errorf("the line of the task has %q", got)
	}
	b.open("#/")
	b.sees("Backlog")
	b.open("#/tasks/" + id)
	b.until(`document.querySelector(".say textarea")?.value === "Do it by hand."`)
	b.click("Say")
	b.until(`document.querySelector(".say textarea").value === "" && localStorage.getItem("pawl-words-` + id + `") === null`)
}

// hold presses Enter where the focus is and holds it down, as a person does who waits for something.
func (b browser) hold() {
	b.t.Helper()
	for i := range 8 {
		again := i > 0
		b.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, target, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "keyDown", Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13, AutoRepeat: &again})
			return chromedp.Void{}, err
		})
	}
}

// A click that is one too many, and Enter that is held down, press nothing that has come up meanwhile.
func TestWhatHasJustComeUpOnTheBoardIsNotPressed(t *testing.T) {
	t.Parallel()
	s := asks(t, "touch made")
	id := s.add("run it")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "planned")
	b := s.browse(1400)
	b.open("#/tasks/" + id)
	b.until(enabled("Start") + " === 1")
	b.value(`window.ready = 0; new MutationObserver(() => { ready += document.querySelectorAll(".actions :enabled:is(button)").length }).observe(document.querySelector(".actions"), { childList: true }); 0`)
	b.click("Start")
	b.sees("asks for permission")
	if n := b.value("ready"); n != 0. {
		t.Errorf("%v buttons could be pressed in the moment in which they came up", n)
	}
	b.until(enabled("Give up") + " === 1")
	b.value(seen("button", "Give up") + `[0].focus()`)
	b.hold()
	b.until(`document.querySelectorAll("dialog[open]").length === 1`)
	if v := s.do("GET", "/tasks/"+id, "").is(200); v.text("status.name") != "active" {
		t.Errorf("the task is %s", v.text("status.name"))
	}
	b.click("Back")

	for _, rule := range []string{"shell(a)", "shell(b)"} {
		s.do("POST", "/permissions", fmt.Sprintf(`{"rule":%q,"effect":"deny","scope":"workspace"}`, rule)).is(201)
	}
	b.open("#/rules")
	b.sees("shell(b)")
	b.value(`(() => {
		const press = (detail) => document.querySelector(".list button").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail }));
		new MutationObserver((_, o) => { o.disconnect(); press(2); }).observe(document.querySelector(".list").closest(".page > div"), { childList: true });
		press(1);
	})()`)
	b.sees("Removed.")
	b.sees("What would happen")
	if n := len(s.do("GET", "/permissions", "").is(200).items("items")); n < 1 {
		t.Error("the second click of a double click has removed a rule")
	}
}

// A page has no button for what the role of its user does not allow, and says so where somebody is asked.
func TestAPageHasWhatARoleMayDo(t *testing.T) {
	t.Parallel()
	s := asks(t, "touch made")
	id := s.asking("A task.")
	tokens := api.SetUsers(s.api, api.See, api.Answer)
	buttons := func(b browser) string {
		return fmt.Sprint(b.value(`[...document.querySelectorAll("button, .say:not([hidden]) textarea, input[type=file]")].filter((e) => e.checkVisibility()).map((e) => e.textContent || e.ariaLabel).join(", ")`))
	}
	see := s.browse(1400)
	see.do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.url+"/#code="+tokens[0]))
	see.click("Look")
	see.sees("somebody else has to answer")
	if got := buttons(see); got != "Find, Close" {
		t.Errorf("a board for one who sees has %s", got)
	}
	see.do(chromedp.KeyEvent("n"), chromedp.Evaluate[chromedp.Void](`location.hash = "#/tasks/`+id+`"`))
	see.sees("somebody else has to answer")
	if got := buttons(see); got != "Find, task-validator, developer ●" {
		t.Errorf("a task for one who sees has %s", got)
	}
	see.do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/settings"`))
	see.sees("none of them needs you")
	see.until(`[...document.querySelectorAll("button:disabled")]` + ".length === 1")
	for path, body := range map[string]string{"/push-subscriptions": `{"endpoint":"https://push.example.org/x","keys":{"p256dh":"","auth":""}}`, "/tasks/" + id + "/pause": ""} {
		s.do("POST", path, body, with("Authorization", "Bearer "+tokens[0])).problem(403, "FORBIDDEN_ROLE")
	}

	answers := s.browse(1400)
	answers.do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.url+"/#code="+tokens[1]))
	answers.click("Look")
	answers.until(seen("button", "Allow once") + ".length === 1")
	if got := buttons(answers); got != "Find, Close, No, Allow once, Always…, Never…, Stop and say…" {
		t.Errorf("a board for one who answers has %s", got)
	}
	answers.click("Always…")
	if n := answers.value(`document.querySelectorAll("select[aria-label='where the rule holds'] option").length`); n != 1. {
		t.Errorf("one who answers stores rules in %v places", n)
	}
	answers.do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/tasks/` + id + `"`))
	answers.until(seen("button", "Pause") + ".length === 1")
	if got := buttons(answers); got != "Find, Pause, task-validator, developer ●, No, Allow once, Always…, Never…, Stop and say…, say something to the agent, Say" {
		t.Errorf("a task for one who answers has %s", got)
	}
}
