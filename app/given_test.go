package app

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/config"
	"pawl/run"
)

func TestWhatIsMentioned(t *testing.T) {
	t.Parallel()
	for words, want := range map[string][]string{
		"look at @a.go":               {"a.go"},
		"@a.go, and @b.go.":           {"a.go,|a.go", "b.go.|b.go"},
		"(see @src/a.go)":             {"src/a.go)|src/a.go"},
		"is it @a.go?!":               {"a.go?!|a.go?|a.go"},
		`@"a file.txt" and @'b'`:      {"a file.txt"},
		"write to me@example.com":     nil,
		"@":                           nil,
		"a @ b":                       nil,
		"@types/node":                 {"types/node"},
		"first\n@a.go\tsecond":        {"a.go"},
		"@größe.txt…":                 {"größe.txt…|größe.txt"},
		"`@a.go` and [@b.go](@c.go).": {"a.go", "b.go](@c.go).|b.go](@c.go)|b.go](@c.go", "c.go).|c.go)|c.go"},
	} {
		var got []string
		for _, candidates := range mentioned(words) {
			got = append(got, strings.Join(candidates, "|"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", words, diff)
		}
	}
}

// mentionRig is a workspace with files to mention.
func mentionRig(t *testing.T, allow ...string) *Workspace {
	t.Helper()
	outside := t.TempDir()
	dir, home := t.TempDir(), t.TempDir()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3000, 20))); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"a.go": "package a\n", "src/b.go": "package b\n", ".env": "KEY=secret\n", "big.log": strings.Repeat("a line of a log\n", 20_000),
		"shot.png": picture.String(), "program": "\x7fELF\x00\x01", "with space.txt": "yes\n", outside + "/o.txt": "outside\n",
	} {
		at := name
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, name)
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link.go": "a.go", "away": outside, "innocent.txt": ".env"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": home, "PAWL_STATE_DIR": filepath.Join(home, "state")}
	w, err := Open(Options{Dir: dir, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Given: map[string][]string{"allow": allow}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func TestAMentionAttachesWhatTheAgentCouldRead(t *testing.T) {
	t.Parallel()
	w := mentionRig(t)
	for words, want := range map[string]struct {
		attached string // names
		text     string // in the content; empty: there is none
		note     string // part of the only one; empty: none
	}{
		"see @a.go.":                  {attached: "a.go", text: "package a"},
		"@a.go and again @./a.go":     {attached: "a.go", text: "package a"},
		"@link.go":                    {attached: "link.go", text: "package a"},
		"@src":                        {attached: "src", text: "b.go"},
		`@"with space.txt"`:           {attached: "with space.txt", text: "yes"},
		"@big.log":                    {attached: "big.log", text: "continue with offset"},
		"ask @types/node or a@b.com":  {},
		"@missing.go":                 {note: "there is no such file"},
		"@.env":                       {note: "@.env is not attached: .env may hold secrets"},
		"@innocent.txt":               {note: "@innocent.txt is not attached: .env may hold secrets"},
		"@away/o.txt":                 {note: "outside the workspace"},
		"@/etc/passwd":                {note: "outside the workspace"},
		"@../" + filepath.Base(w.Dir): {attached: "../" + filepath.Base(w.Dir), text: "a.go"},
		"@program":                    {note: "ELF"},
	} {
		a, err := w.mentions(t.Context(), words)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, p := range a.Parts {
			names[p.Attached] = true
		}
		if want.attached != "" != (len(a.Parts) > 0) || want.attached != "" && (len(names) != 1 || !names[want.attached]) {
			t.Errorf("%s: attached %v, want %q", words, names, want.attached)
		}
		if text := run.PlainText(a.Parts); !strings.Contains(text, want.text) || strings.Contains(text, "secret") || len(text) > 40_000 {
			t.Errorf("%s: %q, want %q", words, text[:min(len(text), 500)], want.text)
		}
		if notes := strings.Join(a.Notes, "\n"); len(a.Notes) > 1 || (notes == "") != (want.note == "") || !strings.Contains(notes, want.note) {
			t.Errorf("%s: notes %q, want %q", words, notes, want.note)
		}
	}
}

func TestASecretIsAttachedWhereARuleNamesIt(t *testing.T) {
	t.Parallel()
	a, err := mentionRig(t, "read(.env)").mentions(t.Context(), "use @.env")
	if err != nil || len(a.Notes) > 0 || !strings.Contains(run.PlainText(a.Parts), "KEY=secret") {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestMentionsAreBoundedTogether(t *testing.T) {
	t.Parallel()
	w := mentionRig(t)
	words := ""
	for i := range 30 {
		name := "f" + strings.Repeat("x", i) + ".log"
		if err := os.WriteFile(filepath.Join(w.Dir, name), []byte(strings.Repeat("a line of a log\n", 5000)), 0o644); err != nil {
			t.Fatal(err)
		}
		words += " @" + name
	}
	a, err := w.mentions(t.Context(), words)
	if err != nil || len(run.PlainText(a.Parts)) > maxMentioned+40_000 || len(a.Notes) < 20 {
		t.Errorf("%d parts with %d bytes, %d notes, %v", len(a.Parts), len(run.PlainText(a.Parts)), len(a.Notes), err)
	}
}

func TestAPictureIsAttachedAsItCanBeShown(t *testing.T) {
	t.Parallel()
	w := mentionRig(t)
	a, err := w.mentions(t.Context(), "what is wrong on @shot.png?")
	if err != nil || len(a.Parts) != 2 || a.Parts[1].Type != run.ImagePart {
		t.Fatalf("%+v, %v", a, err)
	}
	elsewhere := filepath.Join(t.TempDir(), "there.png")
	content, err := os.ReadFile(filepath.Join(w.Dir, "shot.png"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(elsewhere, content, 0o600); err != nil {
		t.Fatal(err)
	}
	parts, err := w.Picture(t.Context(), elsewhere)
	if err != nil || len(parts) != 2 || parts[1].Type != run.ImagePart {
		t.Fatalf("%+v, %v", parts, err)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(parts[1].Image.Data))
	if err != nil || c.Width > 2000 {
		t.Errorf("it is %d pixels wide, %v", c.Width, err)
	}
	for file, want := range map[string]string{"a.go": "not a picture", "src": "not a file", "missing": "no such file", "program": "not a picture"} {
		if _, err := w.Picture(t.Context(), filepath.Join(w.Dir, file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		} else if _, ok := err.(*config.Error); !ok {
			t.Errorf("%s: %T", file, err)
		}
	}
}
