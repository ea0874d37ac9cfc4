package digest

import "testing"

func TestTheBordersBetweenPartsCount(t *testing.T) {
	t.Parallel()
	if a, b := Of("ab", "c"), Of("a", "bc"); a == b || len(a) != 16 {
		t.Errorf("%q and %q", a, b)
	}
	if Of("a", "b") != Of("a", "b") {
		t.Error("equal parts have two digests")
	}
}
