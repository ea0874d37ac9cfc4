package judge

import (
	"encoding/json"
	"testing"

	"pawl/permission"
	"pawl/run"
)

func TestADigestIsOfWhatWasDecidedOn(t *testing.T) {
	t.Parallel()
	base := permission.Request{Tool: "edit", Class: run.Writes, Paths: []string{"a", "b"}, Workspace: "/work"}
	args := json.RawMessage(`{"path": "a", "n": 1.0, "deep": {"x": [1, 2], "y": null}}`)
	files := map[string]string{"a": "1", "b": "2"}
	digest := digestOf(base, args, files)
	if len(digest) != 64 {
		t.Errorf("the digest is %q", digest)
	}
	same := map[string]string{
		"order of keys":  digestOf(base, json.RawMessage(`{"deep":{"y":null,"x":[1,2]},"n":1.0,"path":"\u0061"}`), files),
		"the folder":     digestOf(with(base, func(r *permission.Request) { r.Dir = "/work/" }), args, files),
		"what is judged": digestOf(with(base, func(r *permission.Request) { r.Outside, r.Sandboxed = true, true }), args, files),
	}
	for name, got := range same {
		if got != digest {
			t.Errorf("%s makes another digest", name)
		}
	}
	other := map[string]string{
		"the tool":           digestOf(with(base, func(r *permission.Request) { r.Tool = "write" }), args, files),
		"the folder":         digestOf(with(base, func(r *permission.Request) { r.Dir = "/work/x" }), args, files),
		"the sandbox":        digestOf(with(base, func(r *permission.Request) { r.Sandbox = run.Unconfined }), args, files),
		"where it leads":     digestOf(with(base, func(r *permission.Request) { r.Resolved = []string{"c"} }), args, files),
		"the cut of paths":   digestOf(with(base, func(r *permission.Request) { r.Paths = []string{"a b"} }), args, files),
		"the command":        digestOf(with(base, func(r *permission.Request) { r.Command = "x" }), args, files),
		"a number":           digestOf(base, json.RawMessage(`{"path": "a", "n": 1, "deep": {"x": [1, 2], "y": null}}`), files),
		"a value":            digestOf(base, json.RawMessage(`{"path": "b", "n": 1.0, "deep": {"x": [1, 2], "y": null}}`), files),
		"what is no JSON":    digestOf(base, json.RawMessage(`{"path"`), files),
		"a file":             digestOf(base, args, map[string]string{"a": "1", "b": "3"}),
		"one file less":      digestOf(base, args, map[string]string{"a": "1"}),
		"names and contents": digestOf(base, args, map[string]string{"a": "12", "b": ""}),
	}
	seen := map[string]string{digest: "none"}
	for name, got := range other {
		if was, ok := seen[got]; ok {
			t.Errorf("%s makes no difference to %s", name, was)
		}
		seen[got] = name
	}
}

func with(r permission.Request, change func(*permission.Request)) permission.Request {
	change(&r)
	return r
}
