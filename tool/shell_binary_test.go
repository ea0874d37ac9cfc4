package tool_test

import (
	"bytes"
	"strings"
	"testing"

	"pawl/output"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

// What a command prints that is not text is stored byte for byte, and the model gets a
// description of it.
func TestABinaryResultIsStoredAsItIsAndNotShown(t *testing.T) {
	t.Parallel()
	gzip := "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03K\x04\x00C\xbe\xb7\xe8\x01\x00\x00\x00"
	for _, c := range []struct {
		name, command, stored string
		binary                bool
	}{
		{"gzip", `printf '\x1f\x8b\x08\0\0\0\0\0\0\x03K\x04\0C\xbe\xb7\xe8\x01\0\0\0'`, gzip, true},
		{"control bytes", `printf '\x7fELF\x02\x01\x01\0\0\0'`, "\x7fELF\x02\x01\x01\x00\x00\x00", true},
		{"names that end with zero bytes", `printf 'a.txt\0b.txt\0'`, "", false},
		{"colours", `printf '\033[31mred\033[0m\n'`, "", false},
	} {
		env := shellEnv(t)
		store := output.NewStore(t.TempDir())
		w, err := store.Create(output.Key{Conversation: "r", Run: "r", Call: "c_1"}, "shell", "m_1")
		if err != nil {
			t.Fatal(err)
		}
		var kept bytes.Buffer
		r, err := tool.Shell().Run(t.Context(), env, tool.Call{Run: env.Run, ID: "c_1", Output: &kept, Args: tooltest.Args(map[string]any{"command": c.command})})
		if err != nil || r.Written != c.binary {
			t.Fatalf("%s: Written %t, %v", c.name, r.Written, err)
		}
		if !c.binary {
			w.Abort()
			continue
		}
		if text := run.PlainText(r.Content); text != "" || kept.String() != c.stored {
			t.Errorf("%s: the model gets %q, stored is %q", c.name, text, kept.String())
		}
		if _, err := w.Write(kept.Bytes()); err != nil {
			t.Fatal(err)
		}
		o, err := w.Commit(true)
		if err != nil {
			t.Fatal(err)
		}
		parts, delivery := output.Deliver(output.Result{Output: o}, output.Auto, output.DefaultLimits)
		if says := run.PlainText(parts); delivery != output.Stored || !strings.Contains(says, `"format":"binary"`) || strings.Contains(says, "ELF") {
			t.Errorf("%s is delivered as %s: %s", c.name, delivery, says)
		}
		o.Close()
	}
}
