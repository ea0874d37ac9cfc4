//go:build unix

package cli

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/permission/cases"
)

func TestAHostileModelWithNobodyThereGainsNothingAndTheWorkFlows(t *testing.T) {
	t.Parallel()
	s := besiege(t)
	if err := syscall.Mkfifo(filepath.Join(s.ws, "pipe"), 0o600); err != nil {
		t.Logf("there is no named pipe in it: %v", err)
	}
	before := s.whole(t)
	assaults, r := s.run(t, slices.Concat(s.assaults(t, "refused.txt", true), s.assaults(t, "unseen.txt", false)), false)
	r.judge(t, assaults)
	s.stands(t, secretOutside, secretWithin, secretKey)
	if diff := cmp.Diff(before, s.whole(t)); diff != "" {
		t.Errorf("the workspace has changed (-before +now):\n%s", diff)
	}
	// What people look at explains each refusal, too.
	_, log, _ := s.pawl(t, "", "runs", "log", "last")
	for line := range strings.Lines(log) {
		if strings.Contains(line, " call_refused ") && !strings.Contains(line, "refused by ") {
			t.Errorf("the log does not say who refused: %s", line)
		}
	}
}

func TestWhatIsAllowedToRunGainsNothingFromInsideTheSandbox(t *testing.T) {
	t.Parallel()
	const far, evil = "http://example.org", "evil.test" // no test reaches for them
	for _, c := range []struct {
		name  string
		args  []string
		calls func(t *testing.T, s *siege) [][]assault
	}{
		{"with the rules that a person gives", []string{"--allow", "shell(./check *)", "--allow", "edit", "--allow", "write"}, func(t *testing.T, s *siege) [][]assault {
			return slices.Concat(asChecks(s.assaults(t, "contained.txt", false)), raced())
		}},
		{"in mode accept-edits", []string{"--mode", "accept-edits", "--allow", "shell(./check *)"}, func(t *testing.T, s *siege) [][]assault {
			return slices.Concat(s.aims(slices.Concat(s.assaults(t, "refused.txt", false), s.assaults(t, "unseen.txt", false))), asChecks(s.assaults(t, "contained.txt", false)), raced())
		}},
		{"with rules that allow everything", []string{"--allow", "shell(*)", "--allow", "shell(git *)", "--allow", "fetch", "--allow", "read", "--allow", "edit", "--allow", "write"}, func(t *testing.T, s *siege) [][]assault {
			return slices.Concat(s.aims(slices.Concat(s.assaults(t, "refused.txt", false), s.assaults(t, "unseen.txt", false)), far, evil), s.assaults(t, "contained.txt", false), raced())
		}},
		{"in mode bypass", []string{"--mode", "bypass"}, func(t *testing.T, s *siege) [][]assault {
			// What bypass lets a model have is left out: .pawl, any address, the network,
			// and, but for root, no sandbox.
			not := []string{"fetch ", ".pawl", ".mcp.json", `"network"`, far}
			if os.Geteuid() != 0 {
				not = append(not, `"sandbox"`)
			}
			outside := s.aims(s.assaults(t, "refused.txt", false), not...)
			return slices.Concat(outside, s.assaults(t, "contained.txt", false))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			needsTree(t)
			s := besiege(t)
			assaults, r := s.run(t, c.calls(t, s), true, c.args...)
			r.judge(t, assaults)
			s.stands(t, secretOutside, secretKey)
		})
	}
}

// shellCorpus is kept beside the repository: published bypasses, advisories and tests of
// other agents, as commands, rules and the decision; see package permission.
const shellCorpus = "../../shared/cases/shell/cases.json"

// In a sandbox these run: they show no more than the value of a variable, or put
// commands together that are all covered. Without one they ask.
var calmInASandbox = []string{"sh051", "sh052", "sh054", "sh055", "sh056", "sh109", "echo {a,b}"}

func TestTheCorpusOfCommandsComesOutThroughTheBinaryAsItDoesInThePackage(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(shellCorpus)
	if err != nil {
		t.Skipf("the corpus of shell commands is not here; it belongs at %s", shellCorpus)
	}
	var file struct{ Cases []cases.Case }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	sets := map[string][]cases.Case{}
	for _, c := range file.Cases {
		if len(c.Rule.Ask) > 0 {
			continue // no flag makes a rule that asks
		}
		rules, err := json.Marshal(c.Rule)
		if err != nil {
			t.Fatal(err)
		}
		sets[string(rules)] = append(sets[string(rules)], c)
	}
	for _, rules := range few(slices.Sorted(maps.Keys(sets)), 10) {
		cases := sets[rules]
		t.Run(cases[0].ID, func(t *testing.T) {
			t.Parallel()
			needsTree(t)
			s := besiege(t)
			for _, name := range []string{".env", "server.key", "secrets"} { // greps go through everything
				if err := os.RemoveAll(filepath.Join(s.ws, name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("/etc", filepath.Join(s.ws, "link-to-etc")); err != nil {
				t.Fatal(err)
			}
			var assaults [][]assault
			for _, c := range cases {
				calm := slices.Contains(calmInASandbox, c.ID)
				assaults = append(assaults, []assault{{call: shellCall(c.Command), title: c.ID + " " + c.Command + ": " + c.Why, refuse: c.Expected != permission.Allow && !calm, start: c.Expected == permission.Allow}})
			}
			flat, r := s.run(t, assaults, false, ruleFlags(cases[0].Rule)...)
			r.judge(t, flat)
			s.stands(t, secretOutside, secretWithin, secretKey)
			if _, err := os.Lstat(filepath.Join(s.ws, "FLAG")); err == nil {
				t.Errorf("a command of these has made its FLAG, under the rules %s", rules)
			}
		})
	}
}

// ruleFlags returns the rules of a case as flags.
func ruleFlags(rules cases.Rules) (flags []string) {
	for flag, texts := range map[string][]string{"--allow": rules.Allow, "--deny": rules.Deny} {
		for _, text := range texts {
			if tool, _, ok := strings.Cut(text, "("); !ok || !slices.Contains([]string{"read", "write", "edit", "fetch"}, tool) {
				text = "shell(" + text + ")"
			}
			flags = append(flags, flag, text)
		}
	}
	return flags
}

// attackFile is package permission's own list of what no wildcard covers.
const attackFile = "../permission/testdata/attacks.txt"

func TestUnderRulesWithWildcardsForEveryProgramNoAttackRuns(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(attackFile)
	if err != nil {
		t.Fatal(err)
	}
	s := besiege(t)
	before := s.whole(t)
	var flags []string
	var assaults [][]assault
	unescape := strings.NewReplacer("<LF>", "\n", "<ZW>", "\u200b")
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if pattern, ok := strings.CutPrefix(line, "allow: "); ok {
			flags = append(flags, "--allow", "shell("+pattern+")")
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		command := unescape.Replace(line)
		assaults = append(assaults, []assault{{call: shellCall(command), title: command, refuse: !slices.Contains(calmInASandbox, command)}})
	}
	flat, r := s.run(t, few(assaults, 10), false, flags...)
	r.judge(t, flat)
	s.stands(t, secretOutside, secretWithin, secretKey)
	if diff := cmp.Diff(before, s.whole(t)); diff != "" {
		t.Errorf("the workspace has changed (-before +now):\n%s", diff)
	}
}
