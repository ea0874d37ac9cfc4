package wire

import (
	"encoding/json"
	"testing"
)

func TestCountsOfTokensAreNeverNegativeNorOverflow(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]Tokens{
		"12": 12, "-3": 0, "1e3": 1000, "2.9": 2, `"41"`: 41, "null": 0, `"many"`: 0, "{}": 0, "true": 0,
		"9223372036854775807": maxTokens, "1e400": maxTokens, "-1e400": 0,
	} {
		var u struct{ N Tokens }
		if err := json.Unmarshal([]byte(`{"N":`+written+`}`), &u); err != nil || u.N != want {
			t.Errorf("%s: %d, %v; want %d", written, u.N, err, want)
		}
	}
}
