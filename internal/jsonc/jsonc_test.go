package jsonc

import (
	"encoding/json"
	"testing"
)

func TestJSONIsReadAsOtherAgentsReadIt(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"\ufeff{\"a\": 1, // one\n}":                  `{"a":1}`,
		`{"a": "x // y /* z", /* , */ "b": [1, 2,],}`: `{"a":"x // y /* z","b":[1,2]}`,
		`{"a": "\\", "b": "\",}"}`:                    `{"a":"\\","b":"\",}"}`,
		"// all\n[]":                                  `[]`,
		`{"u": "https://x/*y*/z"/**/,"b":2} // end`:   `{"b":2,"u":"https://x/*y*/z"}`,
		"[1 // no end":                                "",
		"[1 /* no end":                                "",
		`["no end`:                                    "",
		`["no end\`:                                   "",
		"":                                            "",
		"/":                                           "",
	} {
		var v any
		if err := json.Unmarshal(Strict([]byte(given)), &v); err != nil {
			if want != "" {
				t.Errorf("%s: %v", given, err)
			}
			continue
		}
		if got, _ := json.Marshal(v); string(got) != want {
			t.Errorf("%s is %s, want %s", given, got, want)
		}
	}
}
