package config

import (
	"strings"
	"testing"
)

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

func TestKeysOfOtherAgentsAreAnsweredWithOurs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"approval_policy = \"never\"": `use on_ask = "deny"`, "[permissions]\nallow = []": "use allow, ask and deny", "max_turns = 3": "use max_steps",
		"max_step = 3": `did you mean "max_steps"?`,
	} {
		if _, err := parseFile("f", []byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for key := range foreignKeys {
		for _, k := range keys {
			if k.Name == key {
				t.Errorf("%s is a key of pawl: it is not foreign", key)
			}
		}
	}
}
