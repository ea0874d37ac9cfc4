package secret

import (
	"strings"
	"testing"
)

func TestValuesAreHiddenWhereverAStreamIsCut(t *testing.T) {
	t.Parallel()
	v := New(map[string]string{"KEY": "sk-abcabcabd", "LONG": "sk-abcabcabd-more", "URL": "p@ss\nword"})
	for text, want := range map[string]string{
		"":                                "",
		"nothing":                         "nothing",
		"sk-abcabcabd":                    "[hidden: KEY]",
		"sk-abcabcabcabd.":                "sk-abcabcabcabd.",
		"sk-absk-abcabcabd":               "sk-ab[hidden: KEY]",
		"a=sk-abcabcabd-more, sk-abcabca": "a=[hidden: LONG], sk-abcabca",
		"p@ss\nwordp@ss\nwor":             "[hidden: URL]p@ss\nwor",
		"sk-abcabcabdsk-abcabcabd":        "[hidden: KEY][hidden: KEY]",
	} {
		if got := v.Hide(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
		for size := 1; size <= len(text); size++ {
			if got := inPieces(t, v, text, size); got != want {
				t.Errorf("%q in pieces of %d is written as %q, want %q", text, size, got, want)
			}
		}
	}
}

// inPieces returns what is written of a text that comes in pieces of so many bytes.
func inPieces(t *testing.T, v *Values, text string, size int) string {
	t.Helper()
	var b strings.Builder
	w := v.Writer(&b)
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		if _, err := w.Write([]byte(rest[:n])); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWithoutSecretsNothingIsHidden(t *testing.T) {
	t.Parallel()
	var v *Values
	if v = New(nil); v.Hide("sk-1") != "sk-1" || v.Mark([]byte("[hidden: KEY]")) != "" {
		t.Error("something is hidden")
	}
	if got := inPieces(t, v, "sk-1", 4); got != "sk-1" {
		t.Errorf("it is written as %q", got)
	}
}

func TestAMarkIsFound(t *testing.T) {
	t.Parallel()
	v := New(map[string]string{"KEY": "sk-abcabcabd"})
	if v.Mark([]byte("x [hidden: KEY] y")) != "[hidden: KEY]" || v.Mark([]byte("[hidden: OTHER]")) != "" {
		t.Error("the mark of a secret is not told from others")
	}
}

func FuzzAStreamHidesWhatTheWholeDoes(f *testing.F) {
	f.Add("aab", "xaaaab", 2)
	f.Fuzz(func(t *testing.T, value, text string, size int) {
		if value == "" || size < 1 || strings.Contains("[hidden: A]", value) || strings.ContainsAny(value, "[]") {
			return
		}
		v := New(map[string]string{"A": value})
		if got := inPieces(t, v, text, size); got != v.Hide(text) {
			t.Errorf("%q without %q in pieces of %d is %q, and whole %q", text, value, size, got, v.Hide(text))
		}
	})
}
