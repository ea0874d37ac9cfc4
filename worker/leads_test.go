package worker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/permission"
	"pawl/run"
	"pawl/tool"
)

// A job of the model's can swap a folder for a link at any moment; the worst one is
// right after the rules have looked.
func TestWhatIsSwappedAfterTheDecisionIsNotOpened(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, call, to string }{
		{"write", `{"tool":"write","args":{"path":"d/new","content":"x"}}`, "guarded"},
		{"edit", `{"tool":"edit","args":{"path":"d/file","edits":[{"old":"secret","new":"x"}]}}`, "guarded"},
		{"read", `{"tool":"read","args":{"path":"d/file"}}`, "guarded"},
		{"search", `{"tool":"search","args":{"pattern":"secret","path":"d"}}`, "guarded"},
		{"list", `{"tool":"list","args":{"path":"d"}}`, "guarded"},
		{"outside", `{"tool":"read","args":{"path":"d/file"}}`, "../outside"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			at := func(name string) string { return filepath.Join(dir, "w", name) }
			for _, name := range []string{"d", "guarded", "../outside"} {
				if err := os.MkdirAll(at(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(at(name), "file"), []byte("secret of "+name), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			r := newRig(t, `{"calls":[`+c.call+`]}`+"\n"+`{"text":"Done."}`)
			r.w.Tools, r.w.StateDir = tool.NewRegistry(tool.Builtin()...), t.TempDir()
			r.w.Authorizer = authorizer(func(q permission.Request) permission.Decision {
				if err := os.Rename(at("d"), at("was")); err != nil {
					t.Error(err)
				}
				if err := os.Symlink(c.to, at("d")); err != nil {
					t.Error(err)
				}
				return permission.Decision{Verdict: permission.Allow}
			})
			d, err := r.w.Create(context.Background(), run.Created{Run: "r", Workspace: filepath.Join(dir, "w")}, r.watch)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if _, err := d.Run(context.Background(), prompt("go")); err != nil {
				t.Fatal(err)
			}
			settled := false
			for e, err := range r.mem.Events(context.Background(), "r", 0) {
				if err != nil {
					t.Fatal(err)
				}
				f, ok := e.Payload.(run.CallSettled)
				if !ok {
					continue
				}
				settled = true
				if text := run.PlainText(f.Content); f.Outcome != run.Failed || strings.Contains(text, "secret") || !strings.Contains(text, "by now") && !strings.Contains(text, "outside the workspace") {
					t.Errorf("%s: %s", f.Outcome, text)
				}
			}
			if !settled {
				t.Error("the call was not settled")
			}
			for _, name := range []string{"guarded", "../outside"} {
				entries, err := os.ReadDir(at(name))
				content, _ := os.ReadFile(filepath.Join(at(name), "file"))
				if err != nil || len(entries) != 1 || string(content) != "secret of "+name {
					t.Errorf("%s was touched: %v, %q, %v", name, entries, content, err)
				}
			}
		})
	}
}
