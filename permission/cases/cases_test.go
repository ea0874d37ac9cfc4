package cases_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pawl/permission/cases"
)

func TestCasesAreReportedThatDiffer(t *testing.T) {
	t.Parallel()
	const file = `{"note": "x", "cases": [
		{"id": "a", "command": "ls", "rule": {"default": "ask"}, "expected": "allow"},
		{"id": "b", "command": "make", "rule": {"allow": ["make"]}, "expected": "ask", "why": "it differs"},
		{"id": "c", "command": "make", "rule": {}, "expected": "allow"},
		{"id": "d", "command": "make", "rule": {"deny": ["make *"]}, "expected": "ask"},
		{"id": "e", "command": "make", "rule": {"default": "deny"}, "expected": "deny"},
		{"id": "f", "command": "frob x", "rule": {"default": "allow"}, "expected": "allow"},
		{"id": "g", "command": "cat /etc/hosts", "rule": {"allow": ["read(/etc/hosts)"]}, "expected": "allow"}
	]}`
	report, err := cases.Run(strings.NewReader(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, d := range report.Differences {
		ids = append(ids, d.ID)
	}
	if !slices.Equal(ids, []string{"b", "c"}) {
		t.Errorf("%v differ, want b and c:\n%s", ids, report)
	}
	text := report.String()
	if !strings.Contains(text, `"got":"allow"`) || !strings.HasSuffix(text, "2 of 7 cases differ\n") {
		t.Errorf("the report reads:\n%s", text)
	}
	report, err = cases.Run(strings.NewReader(` [{"command": "ls", "expected": "allow"}, {"command": "ls", "expected": "deny"}]`), nil)
	if err != nil || report.Cases != 2 || len(report.Differences) != 1 {
		t.Errorf("of a bare list: %v, %v", report, err)
	}
	for _, bad := range []string{"", "{", "{}", `{"cases":[{"command":"ls","expected":"maybe"}]}`, `{"cases":[{"command":"ls","expected":"ask","rule":{"allow":["a '"]}}]}`} {
		if _, err := cases.Run(strings.NewReader(bad), nil); err == nil {
			t.Errorf("%q is taken for a file of cases", bad)
		}
	}
}

// A path of a case is judged by where it leads; where that is not known it asks.
func TestTheFilesOfCasesAreResolved(t *testing.T) {
	t.Parallel()
	const file = `{"cases": [
		{"id": "in the workspace", "command": "cat a", "rule": {}, "expected": "allow"},
		{"id": "out of it", "command": "cat out", "rule": {}, "expected": "ask"},
		{"id": "to a secret", "command": "cat secret", "rule": {}, "expected": "ask"},
		{"id": "to what is denied", "command": "cat secret", "rule": {"deny": ["read(.env)"]}, "expected": "deny"},
		{"id": "not known", "command": "cat unknown", "rule": {}, "expected": "ask"},
		{"id": "a rule covers it, and it is not known", "command": "touch unknown", "rule": {"allow": ["touch *"]}, "expected": "ask"},
		{"id": "by its spelling", "command": "cat ../a /a", "rule": {}, "expected": "ask"}
	]}`
	report, err := cases.Run(strings.NewReader(file), func(path string) (string, error) {
		switch path {
		case "out":
			return "/etc/hosts", nil
		case "secret":
			return ".env", nil
		case "unknown":
			return "", errors.New("it cannot be read")
		case "../a", "/a":
			t.Errorf("%s is outside by its spelling and was looked for", path)
		}
		return path, nil
	})
	if err != nil || len(report.Differences) > 0 {
		t.Errorf("%v\n%s", err, report)
	}
}

// Cases that cannot be read do not count as none.
func TestCasesThatCannotBeReadAreNotNone(t *testing.T) {
	t.Parallel()
	report, err := cases.Run(iotest.ErrReader(errors.New("the disk is broken")), nil)
	if report.Cases > 0 || err == nil || err.Error() != "read the cases: the disk is broken" {
		t.Errorf("%v, %v", report, err)
	}
}
