//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pawl/external"
	"pawl/external/externaltest"
)

// `pawl agents test` with each real program, and with a model that pawl drives itself: one that does what it is told, one that submits nothing, and one
// whose login is refused.
func TestRealAgentsAreTested(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile("Remember the word ([a-z0-9]+)\\. First run the command `(touch [a-z0-9-]+)`")
	for _, kind := range append(agentKinds, "developer") { // and one of pawl's own
		k, _, _ := external.Split(kind)
		again := false
		submit := func(r externaltest.Request) externaltest.Reply {
			task := words.FindStringSubmatch(r.Words)
			switch n := len(r.Results); {
			case len(task) == 0 || strings.Contains(r.Words, "Count from"):
				return externaltest.Reply{Text: "1 2 3"}
			case n == 0:
				if kind == "developer" {
					return externaltest.Reply{Tool: "shell", Args: fmt.Sprintf(`{"command":%q}`, task[2])}
				}
				return agentShell(kind, task[2])
			case n == 1, !again && strings.Contains(r.Words, "once more, from memory"):
				again = n > 1
				return externaltest.Reply{Tool: k.ToolName("test_report"), Args: fmt.Sprintf(`{"word":%q}`, task[1])}
			}
			return externaltest.Reply{Text: "Done."}
		}
		for name, c := range map[string]struct {
			answer func(externaltest.Request) externaltest.Reply
			want   string
		}{
			"good":   {submit, "runs ok, logged in ok, submission ok, permission ok, resume ok"},
			"silent": {func(externaltest.Request) externaltest.Reply { return externaltest.Reply{Text: "No."} }, "runs ok, logged in ok, submission failed, permission not tried, resume failed"},
			"refused": {func(externaltest.Request) externaltest.Reply { return externaltest.Reply{Status: 401, Text: "bad key"} },
				"runs ok, logged in failed, submission not tried, permission not tried, resume not tried, stop not tried"},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				program, agent := kind, agentModels[kind]
				if kind == "developer" {
					program, agent = "claude-code", kind
				}
				s := newAgentSite(t, program, c.answer)
				s.env = append(s.env, "PAWL_MODEL=anthropic/claude-sonnet-4-5")
				out := s.pawl(t, "agents", "test", agent, "--json")
				line := out[max(0, strings.Index(out, "{")):]
				var form agentTestForm
				if err := json.Unmarshal([]byte(strings.SplitN(line, "\n", 2)[0]), &form); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				var got []string
				for _, p := range form.Items {
					got = append(got, p.What+" "+p.State)
				}
				if all := strings.Join(got, ", "); !strings.HasPrefix(all, c.want) || len(got) != 6 || strings.HasSuffix(all, "stop failed") {
					t.Errorf("it said %s, want %s\n%s", all, c.want, out)
				}
			})
		}
	}
}
