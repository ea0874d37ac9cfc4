package editor

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/golden"
	"pawl/tui/keys"
)

func TestTheBestMatchComesFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query      string
		candidates string
		want       string
	}{
		{"", "b a", "b a"},
		{"xyz", "a b", ""},
		{"cart", "docs/chart.md cart/total.go internal/cart_test.go cart/cart.go", "cart/cart.go internal/cart_test.go cart/total.go docs/chart.md"},
		{"main", "cmd/pawl/main.go domain/x.go m/a/i/n.go main.go", "main.go cmd/pawl/main.go domain/x.go m/a/i/n.go"},
		{"edgo", "tui/editor/editor.go edge.go", "edge.go tui/editor/editor.go"},
		{"CART", "Cart.tsx cart", "cart Cart.tsx"},
		{"cli/run", "cli/run.go run/cli.go internal/cli/xrun.go", "cli/run.go internal/cli/xrun.go"},
		{"fb", "fooBar foobar fxb", "fooBar fxb foobar"},
		{"co", "/continue /compact /cost /context /clear-output", "/cost /compact /context /continue /clear-output"},
		{"tests", "a/latest/s tests/ src/tests/", "tests/ src/tests/ a/latest/s"},
		{"ü", "Über uber", "Über"},
		{"漢字", "漢か字 漢字", "漢字 漢か字"},
		{"aa", "a", ""},
	} {
		candidates := strings.Fields(c.candidates)
		var got []string
		for _, i := range Match(c.query, candidates) {
			got = append(got, candidates[i])
		}
		if diff := cmp.Diff(strings.Fields(c.want), got); diff != "" && len(got)+len(c.want) > 0 {
			t.Errorf("%q (-want +got)\n%s", c.query, diff)
		}
	}
}

// Whatever matches has the characters of the query in their order, and the reverse.
func TestMatchIsASubsequence(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteString([]string{"a", "b", "A", "/", ".", "é", "漢", "\xff"}[r.IntN(8)])
		}
		return b.String()
	}
	for range 20_000 {
		query, text := word(4), word(10)
		rest := strings.ToLower(text)
		want := true
		for _, c := range strings.ToLower(query) {
			_, after, ok := strings.Cut(rest, string(c))
			want, rest = want && ok, after
		}
		if got := len(Match(query, []string{text})) == 1; got != want {
			t.Fatalf("%q in %q: %t, want %t", query, text, got, want)
		}
	}
}

func commands() *Menu {
	return NewMenu([]Item{{"/help", "what can be done here", 1}, {"/continue", "go on with a run", 2}, {"/model", "another model", 3}, {"/cost", "", 4}, {"/compact", "shorten the context", 5}})
}

func TestAMenuIsFilteredAndMoved(t *testing.T) {
	t.Parallel()
	m := commands()
	type step struct{ filter, key, want string }
	for _, s := range []step{{"", "", "/help"}, {"", "down", "/continue"}, {"", "up", "/help"}, {"", "up", "/compact"}, {"", "down", "/help"},
		{"co", "", "/cost"}, {"co", "ctrl+n", "/compact"}, {"con", "", "/continue"}, {"con", "down", "/continue"}, {"x", "", ""}, {"", "pgdown", "/continue"}} {
		m.Filter(s.filter)
		if s.key != "" && !m.Key(keys.Key{Name: s.key}) {
			t.Errorf("%+v: the key means nothing", s)
		}
		it, ok := m.Selected()
		if it.Text != s.want || ok != (s.want != "") {
			t.Errorf("%+v: %q is selected", s, it.Text)
		}
	}
	m.View(40, 2)
	m.Key(keys.Key{Name: "down"})
	m.Key(keys.Key{Name: "pgdown"})
	if it, _ := m.Selected(); it.Text != "/compact" {
		t.Errorf("%q is selected", it.Text)
	}
	if m.Key(keys.Key{Name: "a", Text: "a"}) || m.Key(keys.Key{Name: "enter"}) {
		t.Error("a key that selects nothing means something")
	}
	m.Filter("x")
	if lines, selected := m.View(40, 5); len(lines) > 0 || selected != -1 || m.Key(keys.Key{Name: "down"}) || m.Len() != 0 {
		t.Errorf("an empty menu shows %q", lines)
	}
	var zero Menu
	if lines, _ := zero.View(40, 5); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
}

// What an item has beyond its text is found by words, before what only has the characters.
func TestAMenuSearchesMoreThanItShows(t *testing.T) {
	t.Parallel()
	m := NewMenu([]Item{{"cold carts", "", 1}, {"the shop", "", 2}, {"other", "", 3}})
	texts := func() (all []string) {
		for _, n := range m.order {
			all = append(all, m.items[n].Text)
		}
		return all
	}
	m.Filter("Total cart")
	if got := texts(); len(got) > 0 {
		t.Errorf("%q", got)
	}
	m.Also([]string{"", "Repair the CART: its total is wrong", "nothing"})
	if got := texts(); !slices.Equal(got, []string{"the shop"}) {
		t.Errorf("%q", got)
	}
	m.Filter("cart")
	if got := texts(); !slices.Equal(got, []string{"cold carts", "the shop"}) {
		t.Errorf("%q", got)
	}
	m.Filter("cts")
	if got := texts(); !slices.Equal(got, []string{"cold carts"}) {
		t.Errorf("%q", got)
	}
	m.Filter("")
	if m.Len() != 3 {
		t.Errorf("%d items", m.Len())
	}
}

func TestMenuFrames(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	for _, width := range []int{16, 40, 80} {
		m := commands()
		m.items = append(m.items, Item{"/a-very-long-command-that-is-longer-than-half", "its description is there too, and it is cut at the edge of the terminal", nil},
			Item{"unsafe \x1b[31m\n\u202e", "漢字\tの説明は長くて切られるかもしれませんが、大丈夫です", nil}, Item{"👨‍👩‍👧 family", "wide", nil}, Item{"src/a/long/path/to/a/file/that/is/deep/down/in/some/folder/and/further/file.go", "", nil})
		m.match()
		for _, moves := range []int{0, 4, 4} {
			for range moves {
				m.Key(keys.Key{Name: "down"})
			}
			lines, selected := m.View(width, 5)
			fmt.Fprintf(&b, "== %d columns, %d of %d\n", width, m.selected+1, m.Len())
			for i, line := range lines {
				mark := "  "
				if i == selected {
					mark = "> "
				}
				if cells(line) > width {
					t.Errorf("%q takes %d columns of %d", line, cells(line), width)
				}
				b.WriteString(mark + line + "\n")
			}
		}
	}
	golden.Compare(t, "menu.frame", b.Bytes())
}

func BenchmarkMatch(b *testing.B) {
	var candidates []string
	for i := range 50_000 {
		candidates = append(candidates, fmt.Sprintf("internal/package%d/sub/directory_%d/file_name_%d.go", i%97, i%13, i))
	}
	for _, query := range []string{"f", "fn1", "filego", "internal/pack", "zzz"} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				Match(query, candidates)
			}
		})
	}
}
