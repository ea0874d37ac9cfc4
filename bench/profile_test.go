package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"html"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDrawTheTurn draws turn.svg from what perf sampled of a run of many turns; see README.md.
func TestDrawTheTurn(t *testing.T) {
	name := os.Getenv("PAWL_BENCH_STACKS")
	if name == "" {
		t.Skip("this draws a profile: PAWL_BENCH_STACKS has to name the output of perf script")
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	root := &part{}
	lines := bufio.NewScanner(f)
	var process string
	var stack []string // leaf first
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "":
			root.add(process, stack)
			stack = nil
		case line[0] != ' ' && line[0] != '\t':
			process = strings.Fields(line)[0]
		default:
			if fields := strings.Fields(line); len(fields) > 1 {
				stack = append(stack, fields[1])
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if root.samples == 0 {
		t.Fatalf("%s has no samples of pawl", name)
	}
	if err := os.WriteFile("turn.svg", root.picture(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A part is a function with what it called.
type part struct {
	samples int
	below   map[string]*part
}

// add counts a sample. Of a stack those functions count that say something in a picture:
// pawl's own, and the first of each other part that they call.
func (p *part) add(process string, stack []string) {
	top := map[string]string{"exe": "helper: builds the tree once, starts commands", "bash": "bash: the command itself"}[process]
	if strings.HasPrefix(process, "pawl") {
		top = "pawl"
	}
	if top == "" { // what started the run and cleaned up
		return
	}
	path := []string{top}
	if top == "pawl" {
		for _, frame := range slices.Backward(stack) {
			frame, _, _ = strings.Cut(frame, "+0x")
			name := ""
			switch {
			case strings.HasPrefix(frame, "pawl/"):
				name = frame[strings.LastIndex(frame[:strings.IndexByte(frame, '.')], "/")+1:]
			case strings.HasPrefix(frame, "runtime.gcBg"), frame == "runtime.gcAssistAlloc":
				name = "garbage collection"
			case frame == "runtime.mcall", frame == "runtime.mstart.abi0", frame == "runtime.rt0_go.abi0":
				name = "scheduler"
			case strings.HasPrefix(frame, "modernc.org/sqlite"):
				name = "SQLite"
			case strings.HasPrefix(frame, "net/http."):
				name = "net/http"
			case frame == "__x64_sys_fsync", frame == "__x64_sys_pwrite64", frame == "__x64_sys_newfstatat", frame == "__x64_sys_futex", frame == "asm_exc_page_fault":
				name = strings.TrimPrefix(strings.TrimPrefix(frame, "__x64_sys_"), "asm_exc_")
			}
			if name != "" && name != path[len(path)-1] {
				path = append(path, name)
			}
		}
	}
	p.samples++
	for _, name := range path {
		if p.below == nil {
			p.below = map[string]*part{}
		}
		if p.below[name] == nil {
			p.below[name] = &part{}
		}
		p = p.below[name]
		p.samples++
	}
}

// picture draws the parts below each other, as wide as the processor time they took.
func (p *part) picture() []byte {
	const width, row, deepest, narrowest = 1200, 18, 14, 4
	colors := map[string]string{"garbage collection": "#c9b6d6", "scheduler": "#d8d8d8", "SQLite": "#9fc5e8", "net/http": "#b6d7a8"}
	var parts bytes.Buffer
	depth := 0
	var draw func(p *part, x float64, level int)
	draw = func(above *part, x float64, level int) {
		names := slices.Collect(maps.Keys(above.below))
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(above.below[b].samples-above.below[a].samples, strings.Compare(a, b))
		})
		for _, name := range names {
			c := above.below[name]
			w := width * float64(c.samples) / float64(p.samples)
			if w < narrowest || level > deepest {
				continue
			}
			depth = max(depth, level)
			label := fmt.Sprintf("%s %.1f %%", name, 100*float64(c.samples)/float64(p.samples))
			shown := []rune(label)
			shown = shown[:min(len(shown), int(w/6.2))]
			fmt.Fprintf(&parts, "<g><title>%s</title><rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\" stroke=\"#fff\"/><text x=\"%.1f\" y=\"%d\">%s</text></g>\n",
				html.EscapeString(label), x, level*row, w, row, cmp.Or(colors[name], "#f6d7a7"), x+3, level*row+13, html.EscapeString(string(shown)))
			draw(c, x, level+1)
			x += w
		}
	}
	draw(p, 0, 0)
	return fmt.Appendf(nil, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"monospace\" font-size=\"10\">\n%s</svg>\n",
		width, (depth+1)*row, &parts)
}
