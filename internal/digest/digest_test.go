package digest

import "testing"

func TestADigestIsTheSameEverywhereAndTheBordersBetweenPartsCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{nil, "e3b0c44298fc1c14"},
		{[]string{"ab", "c"}, "629c2f14f654f026"},
		{[]string{"a", "bc"}, "aa795aa4bbb61179"},
	} {
		if got := Of(c.parts...); got != c.want {
			t.Errorf("%q: %s, want %s", c.parts, got, c.want)
		}
	}
}
