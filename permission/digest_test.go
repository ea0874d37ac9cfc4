package permission_test

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
	digest := permission.Digest(base, args, files)
	if len(digest) != 64 {
		t.Errorf("the digest is %q", digest)
	}
	same := map[string]string{
		"order of keys":  permission.Digest(base, json.RawMessage(`{"deep":{"y":null,"x":[1,2]},"n":1.0,"path":"\u0061"}`), files),
		"the folder":     permission.Digest(with(base, func(r *permission.Request) { r.Dir = "/work/" }), args, files),
		"what is judged": permission.Digest(with(base, func(r *permission.Request) { r.Outside, r.Sandboxed = true, true }), args, files),
	}
	for name, got := range same {
		if got != digest {
			t.Errorf("%s makes another digest", name)
		}
	}
	other := map[string]string{
		"the tool":           permission.Digest(with(base, func(r *permission.Request) { r.Tool = "write" }), args, files),
		"the folder":         permission.Digest(with(base, func(r *permission.Request) { r.Dir = "/work/x" }), args, files),
		"the sandbox":        permission.Digest(with(base, func(r *permission.Request) { r.Sandbox = run.Unconfined }), args, files),
		"where it leads":     permission.Digest(with(base, func(r *permission.Request) { r.Resolved = []string{"c"} }), args, files),
		"the cut of paths":   permission.Digest(with(base, func(r *permission.Request) { r.Paths = []string{"a b"} }), args, files),
		"the command":        permission.Digest(with(base, func(r *permission.Request) { r.Command = "x" }), args, files),
		"a number":           permission.Digest(base, json.RawMessage(`{"path": "a", "n": 1, "deep": {"x": [1, 2], "y": null}}`), files),
		"a value":            permission.Digest(base, json.RawMessage(`{"path": "b", "n": 1.0, "deep": {"x": [1, 2], "y": null}}`), files),
		"what is no JSON":    permission.Digest(base, json.RawMessage(`{"path"`), files),
		"a file":             permission.Digest(base, args, map[string]string{"a": "1", "b": "3"}),
		"one file less":      permission.Digest(base, args, map[string]string{"a": "1"}),
		"names and contents": permission.Digest(base, args, map[string]string{"a": "12", "b": ""}),
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
