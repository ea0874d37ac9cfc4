package config

import "testing"

func TestNumbersOfAFileAreReadAsTomlWritesThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"max_tokens = 1e8": "100000000", "max_tokens = 5_000": "5000", "max_cost = 0.00001": "0.00001", "compact_at = 0.8": "0.8",
	} {
		values, err := parseFile("f", []byte(text), nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for name, got := range values {
			if len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is %q, want %q", text, name, got, want)
			}
		}
	}
}
