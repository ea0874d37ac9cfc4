package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/board"
	"pawl/task"
)

// unconfigured is a place where nothing names a model and no server on this machine answers.
func unconfigured(t *testing.T) *place {
	p := newPlace(t, "")
	delete(p.env, "PAWL_MODEL")
	for _, name := range []string{"OLLAMA_HOST", "LM_STUDIO_API_BASE", "LLAMACPP_BASE_URL"} {
		p.env[name] = "http://127.0.0.1:1"
	}
	p.env["PATH"] = t.TempDir()
	return p
}

func (p *place) put(dir, name string, mode os.FileMode) {
	p.t.Helper()
	file := filepath.Join(dir, name)
	ok(p.t, os.MkdirAll(filepath.Dir(file), 0o700))
	ok(p.t, os.WriteFile(file, []byte("{}"), mode))
}

func TestAnExternalAgentThatIsLoggedInIsChosenWhenNothingElseThereIs(t *testing.T) {
	t.Parallel()
	p := unconfigured(t)
	p.put(p.env["PATH"], "claude", 0o700)
	p.put(p.env["PATH"], "codex", 0o700)
	if model, err := p.open(nil).Model(t.Context()); err == nil || !strings.Contains(err.Error(), "no model is configured") {
		t.Errorf("where no one is logged in: %q, %v", model, err)
	}
	p.env["CODEX_HOME"] = t.TempDir()
	p.put(p.env["CODEX_HOME"], "auth.json", 0o600)
	if model, err := p.open(nil).Model(t.Context()); model != "codex/default" || err != nil {
		t.Errorf("%q, %v", model, err)
	}
	p.env["ANTHROPIC_API_KEY"] = "k"
	if model, err := p.open(nil).Model(t.Context()); !strings.HasPrefix(model, "anthropic/") || err != nil {
		t.Errorf("with a key: %q, %v", model, err)
	}
}

func TestATaskIsNotPlannedWithoutAModel(t *testing.T) {
	t.Parallel()
	p := unconfigured(t)
	ws := p.open(nil)
	s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "count"})
	ok(t, err)
	id := s.Created.Task
	if _, err := board.Of(ws).Plan(t.Context(), id, "anna"); err == nil || !strings.Contains(err.Error(), "no model is configured") {
		t.Errorf("%v", err)
	}
	if s, err = board.Of(ws).Load(t.Context(), id); err != nil || s.Status.Name != task.Pending || s.Seq != 1 {
		t.Errorf("it is %s after %d events, %v", s.Status.Name, s.Seq, err)
	}
	// What another process drives has the settings of that process.
	p.env["PAWL_MODEL"] = "script/none.jsonl"
	if _, err := board.Of(p.open(nil)).Plan(t.Context(), id, "anna"); err == nil || !strings.Contains(err.Error(), "none.jsonl") {
		t.Errorf("with a script that is not there: %v", err)
	}
}
