package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"pawl/permission"
	"pawl/render"
	"pawl/run"
	"pawl/tui/editor"
	"pawl/view"
)

// cursorAfter returns what stands before the terminal's cursor in its row; "hidden" if it is not seen.
func (c *scene) cursorAfter() string {
	c.Helper()
	if c.terminal.Hidden {
		return "hidden"
	}
	row, col := c.terminal.Cursor()
	lines := strings.Split(c.terminal.Text(), "\n")
	return ansi.Cut(lines[row]+strings.Repeat(" ", 200), 0, col)
}

// An input method shows what is being composed, and its window, at the terminal's cursor.
func TestForAnInputMethodTheCursorIsWhereTextIsEdited(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, composes bool) *scene {
		c := newScene(t, 100, 50, render.Style{})
		c.composes = composes
		c.begin("直して")
		return c
	}
	at := func(c *scene, want string) {
		c.Helper()
		if got := c.cursorAfter(); got != want {
			c.Errorf("the cursor stands after %q, not after %q:\n%s", got, want, c.terminal.Text())
		}
	}
	t.Run("while text streams", func(t *testing.T) {
		t.Parallel()
		c := start(t, false) // the prompt says it
		c.live(view.Update{Delta: &view.Delta{Text: "one\ntwo"}})
		at(c, "› ")
		c.presses("日", "日")
		c.presses("本", "本")
		at(c, "› 日本")
		c.live(view.Update{Delta: &view.Delta{Text: " three\nfour"}})
		at(c, "› 日本")
		c.presses("left", "")
		at(c, "› 日")
	})
	t.Run("in a search", func(t *testing.T) {
		t.Parallel()
		c := start(t, true)
		c.input.editor.History, _ = editor.NewHistory(10, editor.Storage{})
		c.presses("ctrl+r", "")
		c.presses("本", "本")
		if got := c.cursorAfter(); !strings.HasSuffix(got, "本") {
			t.Errorf("the cursor stands after %q", got)
		}
	})
	t.Run("in a list", func(t *testing.T) {
		t.Parallel()
		c := start(t, true)
		c.take(picked{picker: newPicker("Choose", []entry{{text: "日本"}, {text: "other"}})})
		at(c, " Choose ")
		c.presses("日", "日")
		at(c, " Choose · search: 日")
	})
	t.Run("in a rule", func(t *testing.T) {
		t.Parallel()
		c := start(t, true)
		c.says("I look.", call("c_1", "shell", `{"command":"make"}`))
		c.asks(map[run.CallID]permission.Request{"c_1": {Command: "make"}}, call("c_1", "shell", `{"command":"make"}`))
		at(c, "hidden") // a key answers
		c.chooses("a")
		c.passes(standing)
		c.chooses("4")
		c.presses("ctrl+u", "")
		for _, r := range "shell(作" {
			c.presses(string(r), string(r))
		}
		at(c, "    shell(作")
		c.presses("left", "")
		at(c, "    shell(")
	})
	t.Run("in a secret", func(t *testing.T) {
		t.Parallel()
		c := start(t, true)
		c.pane = &secret{provider: "anthropic"}
		c.presses("k", "k")
		at(c, "   *")
	})
}

func TestWhoWritesWithAnInputMethodIsKnownByLocale(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{
		"LANG=ja_JP.UTF-8": true, "LANG=zh_CN.UTF-8": true, "LANG=ko": true, "LC_CTYPE=zh_TW.UTF-8 LANG=en_US.UTF-8": true,
		"LC_ALL=C.UTF-8 LANG=ja_JP.UTF-8": false, "LANG=en_US.UTF-8": false, "": false, "LANG=zhx_YY": false,
	} {
		getenv := func(name string) string {
			for v := range strings.FieldsSeq(env) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := composesIn(getenv); got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
}

func TestWhoHasWrittenWithAnInputMethodBeforeIsKnownByTheHistory(t *testing.T) {
	t.Parallel()
	var e editor.Editor
	e.History, _ = editor.NewHistory(10, editor.Storage{})
	for _, step := range []struct {
		text string
		want bool
	}{{"plain", false}, {"直して", true}} {
		e.SetText(step.text)
		if _, err := e.Take(); err != nil {
			t.Fatal(err)
		}
		if got := e.History.Typed(isComposed); got != step.want {
			t.Errorf("after %q: %v", step.text, got)
		}
	}
}
