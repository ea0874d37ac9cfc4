package api

import (
	"encoding/json"
	"testing"
)

// What the decoder of bodies accepts has one meaning: each name of an object once. It never
// panics, and takes nothing that the standard decoder refuses.
func FuzzABodyHasOneMeaning(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `[1,2`, `{"a":1} {}`, `nul`, "\xff", `{"\u0061":1,"a":2}`, `"x"`, ``, ` `, ` 1 `, `[[[[]]]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		err := checkJSON(body)
		if err == nil && len(body) > 0 && !json.Valid(body) {
			t.Fatalf("%q is accepted and is not JSON", body)
		}
		var v any
		if err == nil && json.Unmarshal(body, &v) == nil {
			again, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if err := checkJSON(again); err != nil {
				t.Fatalf("%q is accepted, and what it means is not: %v", body, err)
			}
		}
		name, arguments, err := toolCall(body)
		if err == nil && (name == "" || !json.Valid(arguments)) {
			t.Fatalf("%q is a call of %q with %q", body, name, arguments)
		}
	})
}
