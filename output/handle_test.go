package output

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestHandlesBecomeWhatTheyStandFor(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	put(t, s, "root", "root", "c_1", "shell", shop)
	put(t, s, "root", "root", "c_2", "shell", "two\nlines \"quoted\" <é>")
	put(t, s, "else", "else", "c_3", "shell", "1")
	put(t, s, "root", "root", "c_4", "shell", "\x00\x01")
	open := func(id string) (*Output, error) { return s.Find(Scope{Conversation: "root", Run: "root"}, id) }
	for args, want := range map[string]string{
		`{"a":  1, "b": "x"}`: `{"a":  1, "b": "x"}`,
		`{"who": {"$output": "c_1", "path": "$.users[0].id"}, "n": 1.50}`:                `{"who": 1, "n": 1.50}`,
		`[{"$output": "c_1", "path": "$.users[*].tags"}, {"$output":"c_2"}]`:             `[[["a", "b"],[],["c"]], "two\nlines \"quoted\" <é>"]`,
		`{"deep": [{"x": {"path": "$.meta", "$output": "c_1"}}, 2]}`:                     `{"deep": [{"x": {"total": 3, "next": null}}, 2]}`,
		`{"same": {"$output":"c_2"}, "again": {"$output":"c_2"}}`:                        `{"same": "two\nlines \"quoted\" <é>", "again": "two\nlines \"quoted\" <é>"}`,
		`{"not": {"$output": "c_1", "other": 1}, "nor": {"$output": 5}, "s": "$output"}`: `{"not": {"$output": "c_1", "other": 1}, "nor": {"$output": 5}, "s": "$output"}`,
		`{"text": "{\"$output\": \"c_1\"}"}`:                                             `{"text": "{\"$output\": \"c_1\"}"}`,
		`{"a": {"\u0024output": "c_1", "path": "$.meta.next"}}`:                          `{"a": null}`,
		`{"$output": "c_9`: `{"$output": "c_9`,
	} {
		got, used, err := Resolve(t.Context(), json.RawMessage(args), nil, open)
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s %v\nwant %s", args, got, err, want)
		}
		for _, h := range used {
			if h.Size == 0 || h.At == "" {
				t.Errorf("%s: %+v", args, h)
			}
		}
	}
	_, used, _ := Resolve(t.Context(), json.RawMessage(`{"a b": [0, {"$output": "c_1", "path": "$.meta.total"}]}`), nil, open)
	same(t, "used", used, []Handle{{ID: "c_1", Path: "$.meta.total", At: "$['a b'][1]", Size: 1}})
	for args, want := range map[string]string{
		`{"x": {"$output": "c_3"}}`:                     `the handle at $['x']: there is no stored output "c_3"`,
		`{"x": {"$output": "c_1", "path": "$.user"}}`:   `nothing is at $.user of output c_1: $ is an object with users, meta`,
		`{"x": {"$output": "c_1", "path": "$.users["}}`: "column 9",
		`{"x": {"$output": "c_2", "path": "$.a"}}`:      "c_2 is not JSON",
		`{"x": {"$output": "c_4"}}`:                     "binary",
	} {
		if _, _, err := Resolve(t.Context(), json.RawMessage(args), nil, open); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestAHandleCarriesFortyMegabytesAndRefusesMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds with the race detector")
	}
	s := newStore(t)
	big := `["` + strings.Repeat("0123456789", 4_000_000) + `"]`
	o := put(t, s, "root", "root", "c_1", "shell", big)
	open := func(id string) (*Output, error) { return s.Find(Scope{Conversation: "root", Run: "root"}, id) }
	got, used, err := Resolve(t.Context(), json.RawMessage(`{"data": {"$output": "c_1"}}`), nil, open)
	if err != nil || string(got) != `{"data": `+big+`}` || used[0].Size != o.Bytes() {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_, _, err = Resolve(t.Context(), json.RawMessage(`[{"$output": "c_1"}, {"$output": "c_1"}]`), nil, open)
	if err == nil || !strings.Contains(err.Error(), "the handle at $[1]: it stands for 40.0 MB, and arguments may have 27.1 MB in all") {
		t.Error(err)
	}
}

func TestAParameterThatWantsAStringGetsTheJSONText(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	put(t, s, "root", "root", "c_1", "shell", shop)
	put(t, s, "root", "root", "c_2", "shell", "{\"a\": 1}\n{\"a\": 2}\n")
	open := func(id string) (*Output, error) { return s.Find(Scope{Conversation: "root", Run: "root"}, id) }
	const schema = `{"type":"object","properties":{"content":{"type":"string"},"paths":{"type":["array","string"]},"any":{},"n":{"type":"integer"},
		"edits":{"type":"array","items":{"type":"object","properties":{"new":{"anyOf":[{"type":"string"},{"type":"null"}]}}}},"r":{"$ref":"#/$defs/text"}},
		"additionalProperties":{"type":"string"},"$defs":{"text":{"type":"string"}}}`
	for args, want := range map[string]string{
		`{"content": {"$output": "c_1"}}`:                                                                    `{"content": ` + mustJSON(shop) + `}`,
		`{"content": {"$output": "c_2"}}`:                                                                    `{"content": "{\"a\": 1}\n{\"a\": 2}\n"}`,
		`{"content": {"$output": "c_1", "path": "$.meta"}}`:                                                  `{"content": "{\"total\": 3, \"next\": null}"}`,
		`{"content": {"$output": "c_1", "path": "$.meta.total"}}`:                                            `{"content": "3"}`,
		`{"content": {"$output": "c_1", "path": "$.users[0].tags[0]"}}`:                                      `{"content": "a"}`,
		`{"paths": {"$output": "c_1", "path": "$.users[0].tags"}}`:                                           `{"paths": ["a", "b"]}`,
		`{"any": {"$output": "c_1", "path": "$.meta.total"}}`:                                                `{"any": 3}`,
		`{"n": {"$output": "c_1", "path": "$.meta.total"}}`:                                                  `{"n": 3}`,
		`{"edits": [{"new": {"$output": "c_1", "path": "$.users[*].id"}}]}`:                                  `{"edits": [{"new": "[1,2,3]"}]}`,
		`{"edits": [{"new": {"$output": "c_1", "path": "$.meta.next"}}]}`:                                    `{"edits": [{"new": null}]}`,
		`{"r": {"$output": "c_1", "path": "$.meta.total"}, "x": {"$output": "c_1", "path": "$.meta.total"}}`: `{"r": "3", "x": "3"}`,
	} {
		got, _, err := Resolve(t.Context(), json.RawMessage(args), json.RawMessage(schema), open)
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s %v\nwant %s", args, got, err, want)
		}
	}
}
