package pawl_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// securityCases is kept beside the repository: attacks on agents that were published,
// each with an id and what is to come of it.
const securityCases = "../shared/cases/security/cases.json"

// What has no test because there is nothing to test. An entry goes when its part of
// pawl comes.
var (
	areasToCome = map[string]string{
		"mcp": "pawl speaks to no MCP servers yet",
	}
	casesToCome = map[string]string{
		"sec026": "pawl registers no URL handler and takes no deep links",
	}
)

// A case is tested if a test or a story names its id, for whoever asks what became of
// it to find.
func TestEverySecurityCaseHasATest(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(securityCases)
	if err != nil {
		t.Skipf("the list of security cases is not here; it belongs at %s", securityCases)
	}
	var list struct {
		Cases []struct{ ID, Area, Case string }
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Cases) == 0 {
		t.Fatalf("%s lists no cases", securityCases)
	}
	tested := testedCases(t)
	for _, c := range list.Cases {
		why := areasToCome[c.Area]
		if why == "" {
			why = casesToCome[c.ID]
		}
		switch where := tested[c.ID]; {
		case where == "" && why == "":
			t.Errorf("%s (%s: %s): no test names it", c.ID, c.Area, c.Case)
		case where != "" && casesToCome[c.ID] != "":
			t.Errorf("%s is tested in %s and excused here: %s", c.ID, where, why)
		}
	}
}

// testedCases returns the ids of cases that tests name, each with a file that does.
func testedCases(t *testing.T) map[string]string {
	t.Helper()
	id := regexp.MustCompile(`\bsec\d{3}\b`)
	found := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case name == "security_cases_test.go", !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, ".txtar"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, id := range id.FindAllString(string(text), -1) {
			found[id] = name
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
