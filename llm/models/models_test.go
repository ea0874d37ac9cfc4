package models

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/llm/anthropic"
	"pawl/llm/chat"
	"pawl/llm/gemini"
	"pawl/llm/responses"
	"pawl/llm/script"
	"pawl/run"
)

// today is a day before every announced change of price.
var today = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func load(t *testing.T, content string) (*Table, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "models.toml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(file)
}

func mustLoad(t *testing.T, content string) *Table {
	t.Helper()
	table, err := load(t, content)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestTheBuiltInTableIsWhole(t *testing.T) {
	t.Parallel()
	table, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"anthropic", "openai", "openai-chat", "gemini", "openrouter", "groq", "deepseek", "mistral", "xai",
		"together", "huggingface", "ollama", "lmstudio", "llamacpp", "vllm", "azure", "script"} {
		if _, ok := table.Provider(name); !ok {
			t.Errorf("there is no provider %s", name)
		}
	}
	for _, p := range table.Providers() {
		if p.NeedsKey() && p.KeysAt == "" {
			t.Errorf("%s needs a key and does not say where to get one", p.Name)
		}
		if p.Dialect != "" && chat.Find(p.Dialect, "").Name == "" {
			t.Errorf("%s: package chat knows no dialect %q", p.Name, p.Dialect)
		}
		if p.Default != "" {
			if m, ok := table.Lookup(p.Name + "/" + p.Default); !ok || m.Price == nil || m.Window == 0 {
				t.Errorf("%s: of its default model %s price or window are unknown", p.Name, p.Default)
			}
		}
	}
	for _, m := range table.Models() {
		if m.Window == 0 {
			t.Errorf("%s has no window", m.Name)
		}
		if p := m.Price; p != nil && (p.Output < p.Input || p.CacheRead > p.Input) {
			t.Errorf("%s: %+v cannot be: was something mixed up?", m.Name, *p)
		}
		if m.Long != nil && (m.Long.Input <= m.Price.Input || m.Long.Above >= m.Window) {
			t.Errorf("%s: the long price %+v cannot be", m.Name, *m.Long)
		}
	}
}

func TestTheWiresAreThoseThatThereAre(t *testing.T) {
	t.Parallel()
	want := []string{anthropic.Wire, responses.Wire, chat.Wire, gemini.Wire, script.Wire}
	if diff := cmp.Diff(want, wires); diff != "" {
		t.Errorf("(-packages +table)\n%s", diff)
	}
}

func TestAnEditionIsItsModelAndASizeIsNot(t *testing.T) {
	t.Parallel()
	table := mustLoad(t, "")
	for name, want := range map[string]string{
		"anthropic/claude-sonnet-4-5":          "anthropic/claude-sonnet-4-5",
		"anthropic/claude-sonnet-4-5-20250929": "anthropic/claude-sonnet-4-5",
		"anthropic/claude-sonnet-4-5@20250929": "anthropic/claude-sonnet-4-5",
		"anthropic/claude-sonnet-4-0":          "anthropic/claude-sonnet-4",
		"anthropic/claude-opus-5-latest":       "anthropic/claude-opus-5",
		"openai/gpt-6.1-sol-2026-09-29":        "openai/gpt-6.1-sol",
		"gemini/gemini-3.1-pro-preview":        "gemini/gemini-3.1-pro",
		"gemini/gemini-2.5-pro-preview-06-05":  "gemini/gemini-2.5-pro",
		"gemini/gemini-2.5-flash-001":          "gemini/gemini-2.5-flash",
		"deepseek/deepseek-v4-pro-0813":        "deepseek/deepseek-v4-pro",

		"anthropic/claude-sonnet-4-9":     "", // not an edition of 4
		"gemini/gemini-2.5-flash-lite":    "",
		"openai/gpt-6.1-sol-pro":          "",
		"openai/gpt-5.5-mini-2026-01-01":  "",
		"openrouter/claude-sonnet-4-5":    "",
		"claude-sonnet-4-5":               "",
		"anthropic/":                      "",
		"anthropic/-latest":               "",
		"openai-chat/gpt-6.1-sol-2026":    "",
		"anthropic/claude-next-9-2027010": "",
	} {
		if m, ok := table.Lookup(name); m.Name != want || ok != (want != "") {
			t.Errorf("%s is %q, want %q", name, m.Name, want)
		}
	}
}

func TestAPriceIsKnownOrSaidToBeUnknown(t *testing.T) {
	t.Parallel()
	table := mustLoad(t, "")
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	million := run.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 1e6}
	small := run.Usage{Input: 50_000, Output: 1_000, CacheRead: 50_000}
	for _, c := range []struct {
		name  string
		usage run.Usage
		at    time.Time
		want  float64
	}{
		{"anthropic/claude-sonnet-4-5", million, today, 3 + 15 + 0.30 + 3.75},
		{"anthropic/claude-sonnet-4-5-20250929", million, today, 3 + 15 + 0.30 + 3.75},
		{"anthropic/claude-haiku-5-5", million, today, 0.50 + 2.50 + 0.05 + 0.625}, // a long prompt
		{"anthropic/claude-haiku-5-5", small, today, 0.05*0.10 + 0.001*0.50 + 0.05*0.01},
		{"openai/gpt-6.1-sol", small, today, 0.05*2 + 0.001*10 + 0.05*0.10},
		{"openai/gpt-6.1-sol", million, today, 4 + 15 + 0.20 + 5},
		{"gemini/gemini-4-argon", small, december.Add(-time.Second), 0.05*2 + 0.001*10 + 0.05*0.10},
		{"gemini/gemini-4-argon", small, december, 0.05*4 + 0.001*20 + 0.05*0.20},
	} {
		if got := table.Price(c.name, c.usage, c.at); !got.Priced || got.Cost < c.want-1e-9 || got.Cost > c.want+1e-9 {
			t.Errorf("%s: %v (priced: %t), want %v", c.name, got.Cost, got.Priced, c.want)
		}
	}
	for _, name := range []string{"anthropic/claude-next-9", "script/claude-sonnet-4-5", "claude-sonnet-4-5", "gemini/gemini-4-hydrogen"} {
		if got := table.Price(name, million, today); got.Priced || got.Cost != 0 {
			t.Errorf("%s has a price: %v", name, got.Cost)
		}
	}
}

func TestAnUnknownModelHasSafeDefaults(t *testing.T) {
	t.Parallel()
	table := mustLoad(t, "")
	for name, want := range map[string]int64{
		"anthropic/claude-opus-5-5": 1_000_000, "anthropic/claude-next-9": 200_000, "openai/gpt-9": 0, "script/x": 0, "nobody/x": 0,
	} {
		if got := table.Window(name); got != want {
			t.Errorf("window of %s: %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]bool{
		"anthropic/claude-opus-5-5": true, "anthropic/claude-opus-4": false, "anthropic/claude-next-9": false,
		"openai/gpt-9": false, "ollama/qwen3:8b": true, "nobody/x": false,
	} {
		if got := table.Structured(name); got != want {
			t.Errorf("%s answers by schema: %t, want %t", name, got, want)
		}
	}
}

func TestTheUsersFileOverridesKeyByKeyAndAdds(t *testing.T) {
	t.Parallel()
	before := mustLoad(t, "")
	table := mustLoad(t, `
[providers.anthropic]
base_url = "https://gateway.example/anthropic"

[providers.house]
wire = "chat"
base_url = "https://llm.example/v1"
key_env = ["HOUSE_KEY"]

[models."anthropic/claude-sonnet-5-5"]
window = 500_000

[models."anthropic/claude-haiku-5-5"]
price = { input = 1, output = 2 }

[models."house/big"]
window = 64_000
price = { input = 1, cache_read = 0.5, output = 2 }
long = { above = 10_000, input = 2, output = 4 }
later = { from = 2026-12-24, input = 3, output = 6 }
control = "controller"
images = false
`)
	p, _ := table.Provider("anthropic")
	if p.BaseURL != "https://gateway.example/anthropic" || p.Wire != "anthropic" || len(p.KeyEnv) != 1 || filepath.Base(p.Source) != "models.toml" {
		t.Errorf("anthropic is %+v", p)
	}
	if p, _ := before.Provider("anthropic"); p.BaseURL != "https://api.anthropic.com" || p.Source != "" {
		t.Errorf("the built-in table has changed: %+v", p)
	}
	if p, ok := table.Provider("house"); !ok || !p.NeedsKey() {
		t.Errorf("house is %+v", p)
	}
	if m, _ := table.Lookup("anthropic/claude-sonnet-5-5"); m.Window != 500_000 || m.Price.Output != 10 {
		t.Errorf("window and price are %d, %+v", m.Window, m.Price)
	}
	// A price replaces all prices: what belonged to the old one would be mixed in.
	if m, _ := table.Lookup("anthropic/claude-haiku-5-5"); m.Long != nil || *m.Price != (Price{1, 1, 1, 2}) {
		t.Errorf("%+v, long %+v", m.Price, m.Long)
	}
	no := false
	want := Model{
		Name: "house/big", Window: 64_000, Price: &Price{1, 0.5, 1, 2}, Long: &Long{10_000, Price{2, 2, 2, 4}},
		Later:   &Later{time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC), Price{3, 3, 3, 6}},
		Control: "controller", Images: &no,
	}
	got, _ := table.Lookup("house/big")
	got.Source = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhatIsWrongWithTheFileIsSaidWithItsLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ content, want string }{
		{"[providers.x\n", "line 1:"},
		{"\n[models.\"anthropic/x\"]\nwidow = 3\n", `line 3: there is no key "models.anthropic/x.widow"`},
		{"[models.\"anthropic/x\"]\nwindow = \"big\"\n", "line 2: models.anthropic/x.window has a value of the wrong type"},
		{"key = \"secret\"\n", `line 1: there is no key "key"`},
		{"\n[providers.x]\nwire = \"morse\"\n", `line 2: providers "x": wire must be one of`},
		{"[providers.x]\nwire = \"chat\"\n", "base_url is missing"},
		{"[providers.openai]\nat_once = 0\n", "at_once must be 1 or more"},
		{"[models.\"claude\"]\nwindow = 3\n", "line 1: models \"claude\": the name must be provider/name"},
		{"[models.\"anthropc/claude\"]\nwindow = 3\n", "with a known provider"},
		{"[models.\"anthropic/x\"]\nprice = { input = 3 }\n", "price requires input and output"},
		{"[models.\"anthropic/x\"]\nprice = { input = 3, output = -1 }\n", "-1 is not a price"},
		{"[models.\"anthropic/x\"]\nprice = { input = nan, output = 1 }\n", "NaN is not a price"},
		{"[models.\"anthropic/x\"]\nlong = { above = 3, input = 3, output = 3 }\n", "require a price"},
		{"[models.\"anthropic/claude-opus-5\"]\nlong = { input = 3, output = 3 }\n", "long requires above"},
		{"[models.\"anthropic/claude-opus-5\"]\nlater = { input = 3, output = 3 }\n", "later requires from"},
		{"[models.\"anthropic/x\"]\ncontrol = \"remote\"\n", "control must be native or controller"},
		{"[models.\"anthropic/x\"]\nwindow = -1\n", "cannot be below 0"},
	} {
		_, err := load(t, c.content)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "models.toml") {
			t.Errorf("%q\n got %v\nwant %s", c.content, err, c.want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.toml")); err != nil {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("a folder was read as a file")
	}
}

// docs/models.md is the reference: every provider with its variables, every key.
func TestTheGuideNamesEveryProviderAndEveryKey(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, p := range mustLoad(t, "").Providers() {
		_, row, found := strings.Cut(string(content), "\n| `"+p.Name+"` | ")
		row, _, _ = strings.Cut(row, "\n")
		if !found {
			t.Errorf("docs/models.md: the table under Providers has no row | `%s` | wire | key | address |", p.Name)
		}
		words = append(words, p.Name)
		for _, variable := range slices.Concat(p.KeyEnv, p.BaseURLEnv) {
			if found && !strings.Contains(row, "`"+variable+"`") {
				t.Errorf("docs/models.md: the row of %s does not name %s", p.Name, variable)
			}
			words = append(words, variable)
		}
	}
	for _, form := range []any{providerForm{}, modelForm{}, priceForm{}, longForm{}, laterForm{}} {
		for field := range reflect.TypeOf(form).Fields() {
			if key := field.Tag.Get("toml"); key != "" {
				words = append(words, key)
			}
		}
	}
	for _, word := range words {
		if !strings.Contains(string(content), "`"+word+"`") {
			t.Errorf("docs/models.md does not name %s", word)
		}
	}
	if len(words) < 70 {
		t.Errorf("only %d words: this test does not find them any more", len(words))
	}
}

func BenchmarkParsingTheBuiltInTable(b *testing.B) {
	for b.Loop() {
		t := &Table{providers: map[string]Provider{}, models: map[string]Model{}}
		if err := t.read(builtIn, ""); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAnEffortIsWhatTheModelHas(t *testing.T) {
	t.Parallel()
	table := mustLoad(t, "[providers.house]\nwire = \"chat\"\nbase_url = \"http://127.0.0.1:1\"\n[models.\"house/big\"]\neffort = [\"high\", \"max\"]\n")
	for _, c := range []struct {
		model, level string
		want         llm.Effort
		note         string // part of it
	}{
		{"anthropic/claude-opus-5-5", "", llm.Effort{}, ""},
		{"anthropic/claude-opus-5-5", "xhigh", llm.Effort{Level: "xhigh"}, ""},
		{"anthropic/claude-opus-5-5", "none", llm.Effort{Level: "low"}, "has no effort none: low is used, of low, medium, high, xhigh, max"},
		{"anthropic/claude-opus-5", "none", llm.Effort{Level: "none"}, ""},
		{"anthropic/claude-opus-4-6", "xhigh", llm.Effort{Level: "high", Adaptive: true}, "high is used"},
		{"anthropic/claude-opus-4-8", "none", llm.Effort{Level: "none"}, ""},
		{"anthropic/claude-haiku-4-5-20251001", "medium", llm.Effort{Budget: 8192}, ""},
		{"anthropic/claude-haiku-4-5", "none", llm.Effort{Level: "none"}, ""},
		{"anthropic/claude-haiku-4-5", "max", llm.Effort{Budget: 24_000}, ""},
		{"anthropic/claude-3-5-haiku", "high", llm.Effort{}, "does not think"},
		{"anthropic/claude-haiku-5-5", "high", llm.Effort{}, "are not known"},
		{"openai/gpt-5.5", "max", llm.Effort{Level: "xhigh"}, "xhigh is used"},
		{"openai/gpt-5.5", "none", llm.Effort{Level: "none"}, ""},
		{"gemini/gemini-3.8-flash", "xhigh", llm.Effort{Level: "high"}, "high is used"},
		{"gemini/gemini-3.5-flash", "none", llm.Effort{Level: "minimal"}, "minimal is used"},
		{"gemini/gemini-2.5-pro", "none", llm.Effort{Budget: 128}, "cannot answer without thinking"},
		{"gemini/gemini-2.5-flash", "none", llm.Effort{Level: "none"}, ""},
		{"house/big", "low", llm.Effort{Level: "high"}, "high is used, of high, max"},
		{"openrouter/somebody/new", "high", llm.Effort{}, "models.toml"},
		{"openai/gpt-5.5", "ultra", llm.Effort{}, "the levels are none, low"},
	} {
		got, note := table.Effort(c.model, c.level)
		if got != c.want || (note == "") != (c.note == "") || !strings.Contains(note, c.note) {
			t.Errorf("%s at %q: %+v %q, want %+v %q", c.model, c.level, got, note, c.want, c.note)
		}
	}
	for content, want := range map[string]string{
		`effort = ["high", "low"]`:                                   "least first",
		`effort = ["much"]`:                                          "least first",
		`thinking_budget = { min = 9, max = 3, off = true }`:         "min and max",
		"effort = [\"low\"]\nthinking_budget = { min = 1, max = 2 }": "exclude",
	} {
		if _, err := load(t, "[models.\"openai/x\"]\n"+content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", content, err, want)
		}
	}
}
