package plainjson

import "testing"

func TestSignsOfHTMLStandAsTheyAre(t *testing.T) {
	t.Parallel()
	got, err := Marshal(map[string]any{"a": "x < y && z > 1", "b": []int{1}})
	if want := `{"a":"x < y && z > 1","b":[1]}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function is JSON")
	}
}
