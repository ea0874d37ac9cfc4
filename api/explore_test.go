package api_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Several tasks are added at once from a list, with what all of them have; they are found by words, labels, agent and
// status, and dragged where they may go, and nowhere else.
func TestTasksFromAListAreFoundAndDragged(t *testing.T) {
	t.Parallel()
	s := serve(t, boardReplies)
	b := s.browse(1400)
	b.sees("No task yet")
	b.press("n")
	b.write("what has to be done", "- Write the list\n2. Count the items\n\nthird thing")
	b.click("each line is a task of its own")
	b.click("More")
	b.write("Labels", "bug, docs")
	b.write("Costs at most", "2.5")
	b.until(`document.querySelectorAll("dialog option[value=developer]").length === 1`)
	b.value(`document.querySelector("dialog [aria-label=agent]").value = "developer"; document.querySelector("dialog [aria-label^=what\\ happens]").value = ""`)
	b.click("Add")
	b.sees("Added 3 tasks.")
	b.sees("Backlog 3")
	for _, v := range s.do("GET", "/tasks", "").is(200).items("items") {
		v := s.do("GET", fmt.Sprint("/tasks/", v.(map[string]any)["id"]), "").is(200)
		if v.text("agent") != "developer" || v.text("labels.1") != "docs" || v.at("budget.cost") != 2.5 || strings.ContainsAny(v.text("title"), "-2.") {
			t.Errorf("the task is %v", v.v)
		}
	}
	search := func(words string, want int) {
		t.Helper()
		b.value(fmt.Sprintf(`(() => { const e = document.querySelector("#nav input"); e.value = %q; e.dispatchEvent(new Event("input")) })()`, words))
		b.until(fmt.Sprintf(`document.querySelectorAll(".card").length === %d`, want))
	}
	search("label:bug count", 1)
	search("label:none", 0)
	search("pending agent:", 3)
	search("", 3)

	drop := func(column string) {
		b.value(fmt.Sprintf(`document.querySelector(%q).dispatchEvent(new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true }))`, ".column[data-name="+column+"]"))
	}
	b.value(`(globalThis.held = new DataTransfer(), [...document.querySelectorAll(".card")].find((c) => c.textContent.startsWith("Write the list")).dispatchEvent(new DragEvent("dragstart", { dataTransfer: held, bubbles: true })))`)
	b.until(`[...document.querySelectorAll(".takes")].map((c) => c.dataset.name).join() === "Planning,Failed"`)
	drop("Done")
	b.sees("The task cannot go to Done")
	drop("Planning")
	b.sees("Planning 1")
	s.drive()
	b.sees("Which list?")
	if n := b.value(`document.querySelectorAll(".column[data-name=Backlog] .card").length`); n != 2. {
		t.Errorf("%v tasks are left", n)
	}
	// The plan is for the agent that was chosen, and the keyboard shows where it is.
	b.click("Answer")
	b.write("answer to: Which list?", "The short one.")
	b.click("Send")
	b.sees("Ready 1")
	id := s.do("GET", "/tasks?status=planned", "").is(200).text("items.0.id")
	if a := s.do("GET", "/tasks/"+id, "").is(200).text("plan.assignedAgent"); a != "developer" {
		t.Errorf("the plan is for %q", a)
	}
	b.press("j")
	b.until(`document.activeElement.matches(".card .title") && getComputedStyle(document.activeElement.closest(".card")).outlineStyle === "solid"`)
	s.do("POST", "/tasks", `{"description":"x","agent":"nobody"}`).problem(422, "INVALID_INPUT")
}

// A large result is explored where a person can touch it: its shape, a path with what it selects as a table, a sample,
// a count, and counts by a key as bars.
func TestAnOutputIsExploredOnTheBoard(t *testing.T) {
	t.Parallel()
	s := serve(t, `
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Look.","requirements":[],"acceptanceCriteria":["it is seen"],"plan":["look"]}}]}
{"when":{"first":"Carry out this task","contains":"output"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Seen.","output":""}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"cat data.json"}}]}
`)
	type item struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	}
	var items []item
	for i := range 2000 {
		items = append(items, item{fmt.Sprintf("<b>%d</b>", i), []string{"open", "closed", "closed"}[i%3]})
	}
	data, err := json.Marshal(map[string]any{"items": items})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(s.dir, "data.json"), data, 0o600))
	s.drive()
	id := s.do("POST", "/tasks", `{"description":"look","start":true}`).is(201).text("id")
	s.wait(id, "completed")
	b := s.browse(1000)
	b.open("#/tasks/" + id)
	b.click("● shell cat data.json")
	letGo := b.late(`"paths":["$"]`)
	b.click("look into the whole result")
	b.click("$.items[*]")
	b.until(`document.querySelector(".result tbody tr")?.innerText === "<b>0</b>\topen" && document.querySelectorAll(".result th").length === 2`)
	letGo() // what was asked before comes after it
	if n := b.value(`document.querySelectorAll(".result th").length`); n != 2. {
		t.Errorf("the answer to an earlier question replaces that to the last: %v columns", n)
	}
	b.click("Count")
	b.sees("2,000 selected")
	b.click("Sample")
	b.until(`document.querySelectorAll(".result tbody tr").length === 10`)
	b.write("group by", "$.status")
	b.click("Count by")
	b.until(`[...document.querySelectorAll(".result .bars tr")].map((r) => r.innerText.trim() + "=" + r.querySelector("meter").value).sort().join(" ").replace(/\s+/g, " ") === "closed 1,333=1333 open 667=667"`)
	if n := b.value(`document.querySelectorAll(".result b").length`); n != 0. {
		t.Error("a value became markup")
	}
	if c := b.value(`document.querySelector(".outputs > p.quiet code").textContent`).(string); !strings.HasPrefix(c, "pawl outputs aggregate ") {
		t.Errorf("the command is %q", c)
	}
}

// Diffs are read as git writes them, names with escapes too, and shown with the words marked that differ, white space
// left out where that is wanted, in one column or two. Ten thousand lines are shown at once.
func TestDiffsAreShown(t *testing.T) {
	t.Parallel()
	b := serve(t, "").browse(1400)
	b.sees("No task yet")
	show := func(diff string, how string) string {
		t.Helper()
		v, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf(`import("/diff.js").then(({ parse, hunks }) => parse(%q).map((f) => f.name + " " + f.note + " +" + f.added + " -" + f.removed + "\n" + [...hunks(f, %s).querySelectorAll("tr")].map((r) =>
			[...r.querySelectorAll(".code")].map((c) => c.className.replace("code", "").trim() + ":" + c.innerHTML.replace(/<span.*?<\/span>/g, "")).join(" | ")).filter(Boolean).join("\n")).join("\n"))`, diff, how), chromedp.EvalAwaitPromise))
		must(t, err)
		return v
	}
	const diff = "diff --git \"a/a\\033[31m\\303\\244.go\" \"b/a\\033[31m\\303\\244.go\"\n--- \"a/a\\033[31m\\303\\244.go\"\n+++ \"b/a\\033[31m\\303\\244.go\"\n@@ -1,3 +1,3 @@\n same\n-call(old, 1)\n-\tindent\n+call(<new>, 1)\n+  indent\n"
	for how, want := range map[string]string{
		"{blank: true}":             "a\x1b[31mä.go  +2 -2\n:same\nremoved:call(<del>old</del>, 1)\nremoved:<del>\t</del>indent\nadded:call(<ins>&lt;new&gt;</ins>, 1)\nadded:<ins>  </ins>indent",
		"{side: true}":              "a\x1b[31mä.go  +2 -2\n:same | :same\nremoved:call(<del>old</del>, 1) | added:call(<ins>&lt;new&gt;</ins>, 1)\n:\tindent | :  indent",
		"{side: true, blank: true}": "a\x1b[31mä.go  +2 -2\n:same | :same\nremoved:call(<del>old</del>, 1) | added:call(<ins>&lt;new&gt;</ins>, 1)\nremoved:<del>\t</del>indent | added:<ins>  </ins>indent",
	} {
		if got := show(diff, how); got != want {
			t.Errorf("%s: got\n%q\nwant\n%q", how, got, want)
		}
	}
	many := "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,5000 +1,5000 @@\n" + strings.Repeat("-old line\n+new line\n", 5000)
	if got := strings.Count(show(many, "{}"), "\n"); got != 10000 {
		t.Errorf("%d lines are shown", got)
	}
	ansi, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`Promise.all([import("/ansi.js"), import("/dom.js")]).then(([{ ansi }, { h }]) => h("p", null, ansi("\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b]8;;javascript:alert(1)\x1b\\link\x1b[2J\x1b[?1049h <b>\u202e")).innerHTML)`, chromedp.EvalAwaitPromise))
	must(t, err)
	if want := `<span class="a-s1 a-f1">red</span> link &lt;b&gt;`; ansi != want {
		t.Errorf("the output is %q, want %q", ansi, want)
	}
}

// A comment stands at its line when lines have moved; attempts that several agents have made stand side by side.
func TestCommentsMoveWithTheirLinesAndAttemptsStandSideBySide(t *testing.T) {
	t.Parallel()
	s := serve(t, `
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Write it.","requirements":[],"acceptanceCriteria":["it is there"],"plan":["write it"]}}]}
{"when":{"first":"Carry out this task","contains":"\"text\":\"And the end?\""},"calls":[{"tool":"write","args":{"path":"new.txt","content":"a\nb\none\ntwo\nend\n"}},{"tool":"completion-report","args":{"status":"complete","summary":"It has an end.","output":"","comments":[{"id":"c1","became":"changed","answer":"Below it."}]}}]}
{"when":{"first":"Carry out this task","contains":"worked on before"},"calls":[{"tool":"write","args":{"path":"new.txt","content":"one\ntwo\n"}},{"tool":"completion-report","args":{"status":"complete","summary":"The second one did it.","output":""}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"failed","summary":"The first one did not.","output":""}}]}
`)
	s.repository()
	s.env["PAWL_MODE"] = "accept-edits"
	s.start()
	s.drive()
	id := s.do("POST", "/tasks", `{"description":"write it","isolation":"clone","start":true}`).is(201).text("id")
	s.wait(id, "failed")
	s.do("POST", "/tasks/"+id+"/retry", "").is(200)
	s.do("POST", "/tasks/"+id+"/start", "").is(200)
	s.wait(id, "completed")
	b := s.browse(1400)
	b.open("#/tasks/" + id + "/review")
	b.click("Attempts · 2")
	b.until(`[...document.querySelectorAll(".past tbody tr")].find((r) => r.textContent.startsWith("edited"))?.cells[2].innerText.includes("new.txt")`)
	b.until(`document.querySelector('tr[data-new="2"] button') !== null`)
	b.value(`document.querySelector('tr[data-new="2"] button').click()`)
	b.write("comment on line 2", "And the end?")
	b.click("Keep")
	b.click("Send to the agent")
	b.sees("● changed Below it.")
	b.value(`(() => { const from = document.querySelector(".how select"); from.value = ""; from.dispatchEvent(new Event("change")) })()`)
	b.until(`document.querySelector('tr[data-new="4"] + .comments')?.innerText.includes("And the end?")`)
}

// While a run streams, what stands there does not move: what comes is below it. What is beside the run stays where it is; in a
// window so narrow that it stands below, it moves when it is in sight.
func TestNothingMovesWhileARunStreams(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("A sentence of some length that the model says, so that lines are broken.\n\n", 30)
	s := serve(t, fmt.Sprintf(`
{"when":{"first":"Plan this task"},"repeat":true,"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Say it.","requirements":[],"acceptanceCriteria":["it is said"],"plan":["say it"]}}]}
{"when":{"first":"Carry out this task","contains":"printed"},"repeat":true,"text":%[1]q,"calls":[{"tool":"shell","args":{"command":"touch made"}}]}
{"when":{"first":"Carry out this task"},"repeat":true,"text":%[1]q,"calls":[{"tool":"shell","args":{"command":"echo printed"}}]}
`, words))
	s.drive()
	for _, width := range []int64{1400, 1000, 360} {
		nothingMoves(s, s.browse(width))
	}
}

func nothingMoves(s *served, b browser) {
	t := s.t
	t.Helper()
	id := s.add("say it")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "planned")
	b.open("#/tasks/" + id)
	b.sees("Planned")
	s.do("POST", "/tasks/"+id+"/start", "").is(200)
	b.sees("Active")
	b.until(`document.querySelector(".items li") !== null && document.querySelector(".task .state.active") !== null`) // the page has what it has while an agent works
	b.value(`(globalThis.moved = [], new PerformanceObserver((l) => { for (const e of l.getEntries()) for (const { node } of e.sources) if (node?.parentElement?.closest(".items, header, .task, nav") && !node.closest(".stand") && !(innerWidth < 1200 && node.closest(".rail"))) moved.push((node?.className || node?.nodeName) + " " + e.value + " of " + innerWidth) }).observe({ type: "layout-shift" }), 0)`)
	b.sees("touch made")
	b.until(enabled("Allow once") + " === 1")
	if moved := b.value("moved.join(', ')"); moved != "" {
		t.Errorf("there moved: %s", moved)
	}
}
