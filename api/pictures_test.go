package api_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// shopReplies are those of a model in a day of a small shop: some tasks wait for the person, others are done.
const shopReplies = `
{"when":{"first":"Plan this task","contains":"Rename the flag"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["May the old name stay as an alias?"]}}]}
{"when":{"first":"Plan this task"},"repeat":true,"text":"I have looked at the code.","calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Repair it where it is wrong, and let a test say so.","requirements":["the public API stays as it is"],"acceptanceCriteria":["go test ./... passes"],"plan":["write a test that fails","repair the code","run all tests"]}}]}
{"when":{"first":"Carry out this task","contains":"Fix the totals"},"text":"The loop in **total.go** begins at 1, so the first item is not counted. I repair that, and run the tests.","calls":[{"tool":"read","args":{"path":"cart/total.go"}},{"tool":"edit","args":{"path":"cart/total.go","edits":[{"old":"i := 1","new":"i := 0"}]}},{"tool":"shell","args":{"command":"go test ./cart/... -count=1 && touch checked","sandbox":"write"}}],"usage":{"input":18000,"output":420}}
{"when":{"first":"Carry out this task","contains":"Speed up the search"},"calls":[{"tool":"write","args":{"path":"search/index.go","content":"package search\n\n// An Index finds the documents with a word.\ntype Index map[string][]int\n\n// Add adds a document.\nfunc (x Index) Add(id int, words []string) {\n\tfor _, w := range words {\n\t\tx[w] = append(x[w], id)\n\t}\n}\n"}},{"tool":"edit","args":{"path":"search/search.go","edits":[{"old":"\tvar found []int\n\tfor id, text := range all {\n\t\tif strings.Contains(text, word) {\n\t\t\tfound = append(found, id)\n\t\t}\n\t}\n\treturn found\n","new":"\treturn index[strings.ToLower(word)]\n"}]}},{"tool":"completion-report","args":{"status":"complete","summary":"The search looks words up in an index: 80 ms before, 0.2 ms now."}}],"usage":{"input":9000,"output":900}}
{"when":{"first":"Carry out this task","contains":"Is the slice"},"text":"I make the slice once.","calls":[{"tool":"edit","args":{"path":"search/index.go","edits":[{"old":"\tfor _, w := range words {\n\t\tx[w]","new":"\tfor _, w := range slices.Compact(words) {\n\t\tx[w]"}]}},{"tool":"completion-report","args":{"status":"complete","summary":"A document is added once for each word.","comments":[{"id":"c1","became":"changed","answer":"A word that stands twice in a document was added twice; now it is once."},{"id":"c2","became":"answered","answer":"Case is folded when the words are split, in package text."}]}}]}
{"when":{"first":"Carry out this task","contains":"Drop support"},"calls":[{"tool":"completion-report","args":{"status":"failed","summary":"Two customers still call the old API: see the log of the gateway."}}]}
`

// shop is a folder with tasks as people have them, and the ids of the tasks by their titles.
func shop(t *testing.T) (*served, map[string]string) {
	t.Helper()
	s := serve(t, shopReplies)
	for name, content := range map[string]string{
		"cart/total.go":    "package cart\n\n// Total returns what all items cost together, in cents.\nfunc Total(items []int) (sum int) {\n\tfor i := 1; i < len(items); i++ {\n\t\tsum += items[i]\n\t}\n\treturn sum\n}\n",
		"search/search.go": "package search\n\nimport \"strings\"\n\n// Find returns the documents that have a word.\nfunc Find(all []string, word string) []int {\n\tvar found []int\n\tfor id, text := range all {\n\t\tif strings.Contains(text, word) {\n\t\t\tfound = append(found, id)\n\t\t}\n\t}\n\treturn found\n}\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(s.dir, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600))
	}
	s.repository()
	s.env["PAWL_MODE"] = "accept-edits"
	s.start()
	s.drive()
	ids := map[string]string{}
	for _, c := range []struct{ title, more, until string }{
		{"Translate the emails", `"labels":["later"]`, ""}, {"Rename the config keys", `"labels":["later","api"]`, ""},
		{"Rename the flag --all to --every", `"labels":["cli"]`, "awaiting_input"}, {"Write down how releases are made", `"labels":["docs"]`, "planned"},
		{"Drop support for the old API", `"labels":["api"]`, "failed"}, {"Speed up the search", `"labels":["performance"],"isolation":"clone"`, "completed"},
		{"Fix the totals of the cart", `"labels":["bug"],"priority":1,"isolation":"clone"`, "permission"},
	} {
		id := s.do("POST", "/tasks", fmt.Sprintf(`{"description":%q,%s}`, c.title, c.more)).is(201).text("id")
		ids[c.title] = id
		if c.until == "" {
			continue
		}
		s.do("POST", "/tasks/"+id+"/plan", "").is(200)
		if c.until == "awaiting_input" || c.until == "planned" {
			s.wait(id, c.until)
			continue
		}
		s.wait(id, "planned")
		s.do("POST", "/tasks/"+id+"/start", "").is(200)
		if c.until == "permission" {
			s.until(id, c.until, func(v value) bool { return len(v.items("permissions")) == 1 })
		} else {
			s.wait(id, c.until)
		}
	}
	id := ids["Speed up the search"]
	s.do("POST", "/tasks/"+id+"/reviews", `{"tree":"`+s.do("GET", "/tasks/"+id+"/diff", "").is(200).text("tree")+`","comments":[
		{"file":"search/index.go","line":9,"quoted":"\t\tx[w] = append(x[w], id)","text":"Is the slice longer than it has to be, when a word stands twice?"},{"file":"search/search.go","line":7,"quoted":"\treturn index[strings.ToLower(word)]","text":"Who folds the case of what is added?"}]}`).is(201)
	s.until(id, "answered", func(v value) bool {
		return strings.HasPrefix(v.text("report.summary"), "A document") && v.text("status.name") == "completed"
	})
	return s, ids
}

// picture returns what is in sight, as WebP.
func (b browser) picture() []byte {
	b.t.Helper()
	var picture []byte
	quality := int64(75)
	b.do(chromedp.Action[chromedp.Void](func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		shot, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		if err == nil {
			picture = shot.Data
		}
		return chromedp.Void{}, err
	}))
	return picture
}

// The pictures of the README are of the board as it is: UPDATE=1 makes them anew.
func TestThePicturesOfTheReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	must(t, err)
	update := os.Getenv("UPDATE") != ""
	var b browser
	var ids map[string]string
	if update {
		var s *served
		s, ids = shop(t)
		b = s.browse(1280)
	}
	for _, p := range []struct{ name, address, words string }{
		{"board", "", "things need you"}, {"task", "Fix the totals of the cart", "Allow once"}, {"review", "Speed up the search", "answered"},
	} {
		file := filepath.Join("..", "docs", "pictures", p.name+".webp")
		if update {
			address := "#/"
			if p.address != "" {
				address = "#/tasks/" + ids[p.address] + map[bool]string{true: "/review"}[p.name == "review"]
			}
			b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = %q", address)))
			b.sees(p.words)
			b.until(`document.fonts.status === "loaded" && document.getAnimations().every((a) => a.playState === "finished")`)
			must(t, os.MkdirAll(filepath.Dir(file), 0o755))
			must(t, os.WriteFile(file, b.picture(), 0o644))
		}
		info, err := os.Stat(file)
		if err != nil || info.Size() > 60<<10 || !strings.Contains(string(readme), "docs/pictures/"+p.name+".webp") {
			t.Errorf("the picture %s: %v; it is to be of 60 KB at most, and in the README", p.name, err)
		}
	}
}
