package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/cli/command"
	"pawl/run"
)

// A givenRig runs pawl with standard input in a folder of its own, with a model that counts
// what is on it.
type givenRig struct {
	t    *testing.T
	home string
	env  map[string]string
}

func newGivenRig(t *testing.T, replies string) *givenRig {
	home := t.TempDir()
	model := filepath.Join(home, "model.jsonl")
	if err := os.WriteFile(model, []byte(replies), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &givenRig{t, home, map[string]string{"HOME": home, "PAWL_STATE_DIR": filepath.Join(home, "state"), "PAWL_MODEL": "script/" + model}}
}

func (g *givenRig) pawl(stdin io.Reader, args ...string) (stdout, stderr string, code int) {
	g.t.Helper()
	var out, errs bytes.Buffer
	code = Main(append([]string{"-C", filepath.Join(g.home, "work")}, args...), command.Process{
		Stdin: stdin, Stdout: &out, Stderr: &errs, Exit: func(int) {},
		Env: func(name string) (string, bool) { v, ok := g.env[name]; return v, ok },
	})
	return out.String(), errs.String(), code
}

// prompt returns the parts of the last run's first prompt.
func (g *givenRig) prompt() []run.Part {
	g.t.Helper()
	out, errs, code := g.pawl(strings.NewReader(""), "runs", "log", "last", "--json")
	for line := range strings.Lines(out) {
		var e struct {
			Type string       `json:"type"`
			Data run.Prompted `json:"data"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type == "prompted" {
			return e.Data.Parts
		}
	}
	g.t.Fatalf("no prompt: exit code %d, %s %s", code, out, errs)
	return nil
}

func TestALargeStandardInputIsStoredAndAsked(t *testing.T) {
	t.Parallel()
	g := newGivenRig(t, `{"calls":[{"tool":"tool_outputs.count","args":{"id":"stdin","counts":[{"path":"$.users"}]}}]}
{"text":"There are: {{last_result}}"}
{"text":"again: {{prompt}}"}
`)
	var users []string
	for i := range 40_000 {
		users = append(users, fmt.Sprintf(`{"name":"user %d","mail":"u%d@example.com"}`, i, i))
	}
	in := `{"users":[` + strings.Join(users, ",") + `]}`
	out, errs, code := g.pawl(strings.NewReader(in), "run", "-p", "how many users?")
	if code != command.ExitDone || !strings.Contains(out, "40000") {
		t.Fatalf("exit code %d, %s %s", code, out, errs)
	}
	parts := g.prompt()
	if text := run.PlainText(parts); len(parts) != 2 || len(text) > 5000 || !strings.Contains(text, `"output_ref":{"id":"stdin"`) || !strings.Contains(text, "$.users[*].name") {
		t.Errorf("%d parts: %.3000s", len(parts), text)
	}
	if out, _, _ := g.pawl(strings.NewReader(""), "outputs", "show", "stdin"); strings.TrimSpace(out) != in {
		t.Errorf("%d bytes are stored, of %d", len(out), len(in))
	}
	// A second one of the same run is another output.
	if out, errs, code := g.pawl(strings.NewReader(in+" "), "run", "--continue", "-p", "and these?"); code != command.ExitDone || !strings.Contains(out, `"id":"stdin_2"`) {
		t.Errorf("exit code %d, %.500s %s", code, out, errs)
	}
}

func TestAStandardInputThatIsNoTextIsDescribed(t *testing.T) {
	t.Parallel()
	g := newGivenRig(t, `{"text":"ok","repeat":true}`)
	binary := make([]byte, 3000)
	source := rand.New(rand.NewPCG(1, 2))
	for i := range binary {
		binary[i] = byte(source.UintN(256))
	}
	if _, errs, code := g.pawl(bytes.NewReader(binary), "run", "-p", "what is it?"); code != command.ExitDone {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	if text := run.PlainText(g.prompt()); !strings.Contains(text, `"format":"binary"`) || strings.Contains(text, "\uFFFD") {
		t.Errorf("%.2000s", text)
	}
	// Alone it is a task too, and a picture is seen.
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2500, 10))); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := g.pawl(&picture, "run"); code != command.ExitDone {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	parts := g.prompt()
	if len(parts) != 2 || parts[1].Type != run.ImagePart || parts[1].Image.MediaType != "image/png" {
		t.Errorf("%+v", parts)
	}
}

func TestAStandardInputWithoutEndIsRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	g := newGivenRig(t, `{"text":"ok","repeat":true}`)
	in := io.LimitReader(endless{}, command.MaxStdin+5)
	if _, errs, code := g.pawl(in, "run", "-p", "what is it?"); code != command.ExitUsage || !strings.Contains(errs, "save it as a file in the workspace") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if out, errs, _ := g.pawl(strings.NewReader(""), "runs", "list"); out != "" {
		t.Errorf("a run was made: %s %s", out, errs)
	}
	// What fails in the middle is no task either.
	failing := io.MultiReader(strings.NewReader(strings.Repeat("x", 2*command.MaxWords)), brokenPipe{})
	if _, errs, code := g.pawl(failing, "run", "-p", "what is it?"); code != command.ExitFailed || !strings.Contains(errs, "the pipe broke") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

type brokenPipe struct{}

func (brokenPipe) Read([]byte) (int, error) { return 0, errors.New("the pipe broke") }
