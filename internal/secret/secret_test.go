package secret

import (
	"io"
	"slices"
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
			for name, to := range writers(v) {
				if got := inPieces(t, to, text, size); got != want {
					t.Errorf("%s: %q in pieces of %d is written as %q, want %q", name, text, size, got, want)
				}
			}
		}
	}
}

func writers(v *Values) map[string]func(io.Writer) *Writer {
	return map[string]func(io.Writer) *Writer{"Writer": v.Writer, "Steady": v.Steady}
}

// inPieces returns what is written of a text that comes in pieces of so many bytes.
func inPieces(t *testing.T, to func(io.Writer) *Writer, text string, size int) string {
	t.Helper()
	var b strings.Builder
	w := to(&b)
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
	for name, to := range writers(v) {
		if got := inPieces(t, to, "sk-1", 4); got != "sk-1" {
			t.Errorf("%s: it is written as %q", name, got)
		}
	}
}

// Who may choose a text and sees in which pieces it comes learns no beginning of a value.
func TestAPieceOfASteadyStreamSaysNothingOfAValue(t *testing.T) {
	t.Parallel()
	v := New(map[string]string{"KEY": "sk-abcabcabd", "LONG": "sk-abcabcabd-more"})
	pieces := func(text string) (sizes []int) {
		w := v.Steady(writing(func(p []byte) { sizes = append(sizes, len(p)) }))
		for i := 0; i < len(text); i += 7 {
			w.Write([]byte(text[i:min(i+7, len(text))]))
		}
		w.Flush()
		return sizes
	}
	other := pieces(strings.Repeat("x", 60))
	for n := range len("sk-abcabcabd") {
		guess := strings.Repeat("x", 60-n) + "sk-abcabcabd"[:n]
		if got := pieces(guess); !slices.Equal(got, other) {
			t.Errorf("%q comes in pieces of %d bytes, another in %d", guess, got, other)
		}
	}
}

type writing func([]byte)

func (w writing) Write(p []byte) (int, error) { w(p); return len(p), nil }

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
		for name, to := range writers(v) {
			if got := inPieces(t, to, text, size); got != v.Hide(text) {
				t.Errorf("%s: %q without %q in pieces of %d is %q, and whole %q", name, text, value, size, got, v.Hide(text))
			}
		}
	})
}
