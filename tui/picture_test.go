//go:build linux || darwin

package tui_test

import (
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestPicture draws the picture of the README from a real screen:
//
//	PAWL_PICTURE=$PWD/docs/terminal.svg go test -run TestPicture ./tui
func TestPicture(t *testing.T) {
	file := os.Getenv("PAWL_PICTURE")
	if file == "" {
		t.Skip("PAWL_PICTURE names no file to draw to")
	}
	w := open(t, `{"text": "I'll look at the tests first.", "calls": [{"tool": "read", "args": {"path": "cart/cart.go"}}, {"tool": "shell", "args": {"command": "grep -n Total cart/*.go"}}, {"tool": "todo", "args": {"items": [{"text": "find the bug", "status": "done"}, {"text": "repair it", "status": "active"}, {"text": "run all tests", "status": "pending"}]}}]}
{"text": "`+"`Total`"+` starts its loop at 1 and **skips the first item**.", "calls": [{"tool": "edit", "args": {"path": "cart/cart.go", "edits": [{"old": "for i := 1; i < len(items); i++ {", "new": "for i := range items {"}]}}]}
{"calls": [{"tool": "shell", "args": {"command": "go test ./... && git commit -am 'cart: count every item'"}}]}
{"text": "Done."}`, 84, 36, "PAWL_MODE=accept-edits")
	cart := filepath.Join(w.dir, "cart")
	if err := os.MkdirAll(cart, 0o755); err != nil {
		t.Fatal(err)
	}
	code := "package cart\n\nfunc Total(items []int) int {\n\tsum := 0\n\tfor i := 1; i < len(items); i++ {\n\t\tsum += items[i]\n\t}\n\treturn sum\n}\n"
	if err := os.WriteFile(filepath.Join(cart, "cart.go"), []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	w.sees("enter: send")
	w.says("the tests of package cart fail; find out why and repair it")
	w.sees("Allow this time")
	w.until("dialog that takes keys", func() bool { return !strings.Contains(w.text(), "stop typing") })
	screen := strings.NewReplacer(w.dir, "~/shop", filepath.Join(w.home, "script.jsonl"), "script.jsonl", "pawl devel", "pawl 0.1").Replace(w.tmux("capture-pane", "-p", "-e"))
	if err := os.WriteFile(file, []byte(svg(screen)), 0o644); err != nil {
		t.Fatal(err)
	}
	w.presses("Escape")
	w.sees("say what to do differently")
	w.leaves()
}

// Sizes of a cell, in pixels.
const cellWidth, cellHeight = 8.4, 18.0

// svg returns a screen, as tmux captures it with its styles, as a picture. It follows the
// reader's choice of light or dark.
func svg(screen string) string {
	lines := strings.Split(screen, "\n")
	for len(lines) > 0 && strings.TrimSpace(ansi.Strip(lines[len(lines)-1])) == "" {
		lines = lines[:len(lines)-1]
	}
	columns := 0
	for _, l := range lines {
		columns = max(columns, ansi.StringWidth(l))
	}
	width, height := float64(columns+4)*cellWidth, float64(len(lines)+2)*cellHeight
	out := &strings.Builder{}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 %.0f %.0f" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">
<style>
rect{fill:#fdfdfc} text{fill:#24292f;white-space:pre} .b{font-weight:bold} .i{font-style:italic} .u{text-decoration:underline} .d{fill:#6e7781}
.c31{fill:#c02020} .c32{fill:#1a7f37} .c33{fill:#9a6700} .c36{fill:#0b6e8a}
@media(prefers-color-scheme:dark){rect{fill:#15181c} text{fill:#d8dde3} .d{fill:#8b949e} .c31{fill:#ff7b72} .c32{fill:#56d364} .c33{fill:#e3b341} .c36{fill:#56c4dd}}
</style>
<rect width="100%%" height="100%%" rx="8"/>
`, width, height)
	style := map[string]bool{} // classes; tmux carries styles over line ends
	for row, line := range lines {
		y := float64(row+2)*cellHeight - 4
		column := 0
		var run strings.Builder
		start := 0
		flush := func() {
			if text := strings.TrimLeft(run.String(), " "); text != "" {
				start += run.Len() - len(text)
				classes := slices.Sorted(maps.Keys(style))
				fmt.Fprintf(out, `<text x="%.1f" y="%.1f" class="%s" textLength="%.1f">%s</text>`+"\n",
					float64(start+2)*cellWidth, y, strings.Join(classes, " "), float64(column-start)*cellWidth, html.EscapeString(text))
			}
			run.Reset()
			start = column
		}
		var state byte
		for line != "" {
			seq, cells, n, next := ansi.DecodeSequence(line, state, nil)
			state, line = next, line[n:]
			if cells > 0 {
				run.WriteString(seq)
				column += cells
				continue
			}
			if codes, ok := strings.CutPrefix(seq, "\x1b["); ok && strings.HasSuffix(codes, "m") {
				flush()
				apply(style, strings.Split(strings.TrimSuffix(codes, "m"), ";"))
			}
		}
		flush()
	}
	fmt.Fprintln(out, "</svg>")
	return out.String()
}

// apply changes styles by the codes of SGR.
func apply(style map[string]bool, codes []string) {
	for _, c := range codes {
		switch c {
		case "", "0":
			clear(style)
		case "1":
			style["b"] = true
		case "2":
			style["d"] = true
		case "3":
			style["i"] = true
		case "4":
			style["u"] = true
		case "22":
			delete(style, "b")
			delete(style, "d")
		case "31", "32", "33", "36", "39":
			for _, old := range []string{"c31", "c32", "c33", "c36"} {
				delete(style, old)
			}
			if c != "39" {
				style["c"+c] = true
			}
		}
	}
}
