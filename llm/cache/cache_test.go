package cache_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pawl/llm"
	"pawl/llm/cache"
	"pawl/llm/llmtest"
	"pawl/llm/script"
	"pawl/run"
)

func provider(t *testing.T, dir, lines string) llm.Provider {
	t.Helper()
	return cache.New(script.New(llmtest.Parse(t, lines), time.Hour), "here", dir, nil)
}

func hello() run.Message {
	return run.Message{ID: "m_1", Role: run.User, Parts: []run.Part{run.Text("Hello.")}}
}

const reply = `{"thinking":"Hm.","text":"Hello yourself.","calls":[{"id":"x","tool":"list","args":{}}],"usage":{"input":7,"output":3}}`

func TestTheSameRequestIsAnsweredFromTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := provider(t, dir, reply)
	asked := llmtest.Listen(t.Context(), t, first, llmtest.Request(t, first, hello()))
	if asked.Err != nil || asked.Answer.Cached {
		t.Fatalf("%+v", asked)
	}
	// Another process, whose provider has nothing to say any more.
	second := provider(t, dir, `{"error":{"status":500}}`)
	again := llmtest.Listen(t.Context(), t, second, llmtest.Request(t, second, hello()))
	if again.Err != nil || !again.Answer.Cached {
		t.Fatalf("it was asked again: %+v", again)
	}
	if diff := cmp.Diff(asked, again, cmpopts.IgnoreFields(llm.Answer{}, "Cached"), cmpopts.IgnoreFields(llmtest.Heard{}, "Begun", "Input", "Usage")); diff != "" {
		t.Errorf("the kept answer is another (-asked +kept):\n%s", diff)
	}
}

func TestWhateverDiffersIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*llm.Request){
		"the model":          func(r *llm.Request) { r.Model = "another" },
		"the system prompt":  func(r *llm.Request) { r.System += " " },
		"a tool":             func(r *llm.Request) { r.Tools = r.Tools[1:] },
		"whether calls":      func(r *llm.Request) { r.NoCalls = true },
		"the form of output": func(r *llm.Request) { r.Output = json.RawMessage("{}") },
		"the limit":          func(r *llm.Request) { r.MaxTokens++ },
		"the effort":         func(r *llm.Request) { r.Effort.Level = "high" },
		"a budget":           func(r *llm.Request) { r.Effort.Budget = 2048 },
		"the words":          func(r *llm.Request) { r.Messages = append(r.Messages, r.Messages[0]) },
		"whose words":        func(r *llm.Request) { r.Messages[0].Role = run.Assistant },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, t.TempDir(), `{"text":"One."}`+"\n"+`{"text":"Two.","repeat":true}`)
			r := llmtest.Request(t, p, hello())
			llmtest.Listen(t.Context(), t, p, r)
			change(&r)
			if h := llmtest.Listen(t.Context(), t, p, r); h.Err == nil && h.Answer.Cached {
				t.Error("it was taken for the same request")
			}
		})
	}
	t.Run("the address", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		one := cache.New(script.New(llmtest.Parse(t, reply), time.Hour), "here", dir, nil)
		two := cache.New(script.New(llmtest.Parse(t, reply), time.Hour), "there", dir, nil)
		llmtest.Listen(t.Context(), t, one, llmtest.Request(t, one, hello()))
		if h := llmtest.Listen(t.Context(), t, two, llmtest.Request(t, two, hello())); h.Answer.Cached {
			t.Error("it was taken for the same request")
		}
	})
}

func TestOnlyWholeAnswersAreKept(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{`{"error":{"status":529}}`, `{"text":"half of it","cut":"text"}`} {
		dir := t.TempDir()
		p := provider(t, dir, lines)
		if h := llmtest.Listen(t.Context(), t, p, llmtest.Request(t, p, hello())); h.Err == nil {
			t.Fatal("no error")
		}
		if files, _ := os.ReadDir(dir); len(files) != 0 {
			t.Errorf("%s was kept", lines)
		}
	}
}

func TestADamagedFileIsAskedForAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := provider(t, dir, `{"text":"One."}`+"\n"+`{"text":"Two.","repeat":true}`)
	llmtest.Listen(t.Context(), t, p, llmtest.Request(t, p, hello()))
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte(`{"Parts":[{"Ty`), 0o600); err != nil {
		t.Fatal(err)
	}
	if h := llmtest.Listen(t.Context(), t, p, llmtest.Request(t, p, hello())); h.Err != nil || h.Answer.Cached {
		t.Errorf("%+v", h)
	}
	if h := llmtest.Listen(t.Context(), t, p, llmtest.Request(t, p, hello())); h.Err != nil || !h.Answer.Cached {
		t.Errorf("what was asked again is not kept: %+v", h)
	}
}
