package api_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestEveryOperationIsInTheDocument(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	text, err := os.ReadFile("../docs/api.md")
	must(t, err)
	paths, _ := s.do("GET", "/openapi.json", "").is(200).at("paths").(map[string]any)
	for path, item := range paths {
		for method, op := range item.(map[string]any) {
			if row := "| `" + strings.ToUpper(method) + " " + path + "` | " + (value{t, op}).text("operationId") + " |"; !strings.Contains(string(text), row) {
				t.Errorf("docs/api.md has no row %q", row)
			}
		}
	}
}

// Every code that a response can have is in the table of errors.
func TestEveryCodeIsInTheDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/api.md")
	must(t, err)
	files, err := filepath.Glob("*.go")
	must(t, err)
	code := regexp.MustCompile(`(?:Code: |of\([^,]*, |forbidden\(|p\.Code(?:, p\.Message)? = |code\w+ += )"([A-Z_]+)"`)
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		must(t, err)
		for _, m := range code.FindAllStringSubmatch(string(source), -1) {
			if found++; !strings.Contains(string(text), "`"+m[1]+"`") {
				t.Errorf("docs/api.md does not have the code %s of %s", m[1], name)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d codes were found in the sources", found)
	}
}

// What docs/api.md says a person can type works as it stands, against a server with a
// scripted model.
func TestTheExampleOfTheDocumentWorks(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s", program)
		}
	}
	text, err := os.ReadFile("../docs/api.md")
	must(t, err)
	_, block, ok := strings.Cut(string(text), "```sh\n")
	block, _, ok2 := strings.Cut(block, "```")
	if !ok || !ok2 {
		t.Fatal("docs/api.md has no example")
	}
	s := serve(t, `
{"when":{"first":"Plan this task","contains":"In the basket"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Sum.","requirements":[],"acceptanceCriteria":[],"plan":["look"]}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Where are they wrong?"]}}]}
{"when":{"first":"Carry out this task","contains":"Leave the public API"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"The sum is right."}}],"repeat":true}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"touch repaired"}}]}
`)
	s.drive()
	block = strings.ReplaceAll(block, "http://127.0.0.1:7295", s.url)
	block = strings.ReplaceAll(block, "$(pawl serve token)", token)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", block)
	cmd.WaitDelay = time.Second // a curl that is left holds the output open
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Where are they wrong?") || !strings.Contains(string(out), `"summary": "The sum is right."`) {
		t.Errorf("%v\n%s", err, out)
	}
}
