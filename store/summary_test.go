package store

import (
	"strings"
	"testing"
)

// A title of eighty characters, whatever their bytes, stays as it is; what has one more ends with an ellipsis.
func TestATitleIsTheFirstLineThatSaysSomething(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", maxTitle)
	for text, want := range map[string]string{
		"": "", " \n\t\n": "", "\n  fix it \nand more": "fix it", "a\xffb": "a\uFFFDb",
		long: long, long + "x": long[:len(long)-len("ü")] + "…", " " + long + " ": long,
	} {
		if got := title(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
