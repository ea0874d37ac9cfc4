package run

import "testing"

func TestACallSucceedsWithoutAnErrorAndWithExitCode0(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		isError bool
		code    *int
		want    bool
	}{{false, nil, true}, {false, new(0), true}, {false, new(3), false}, {true, nil, false}, {true, new(0), false}} {
		if got := Succeeded(c.isError, c.code); got != c.want {
			t.Errorf("error %t, exit code %v: %t, want %t", c.isError, c.code, got, c.want)
		}
	}
}
