package policy

import (
	"testing"
	"time"
)

// Of a file that changed a moment ago the signature is not believed.
func TestASignatureIsBelievedOnceTheFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) int64 { return now.Add(-ago).UnixNano() }
	for name, c := range map[string]struct {
		sig  signature
		want bool
	}{
		"not there":                      {signature{}, true},
		"long ago":                       {signature{found: true, modified: at(time.Hour), change: at(time.Hour)}, true},
		"just now":                       {signature{found: true, modified: at(time.Second), change: at(time.Second)}, false},
		"its time set back just now":     {signature{found: true, modified: at(time.Hour), change: at(time.Second)}, false},
		"from a clock that is too early": {signature{found: true, modified: at(-time.Hour), change: at(-time.Hour)}, false},
	} {
		if got := c.sig.settled(now); got != c.want {
			t.Errorf("%s: believed: %t, want %t", name, got, c.want)
		}
	}
}
