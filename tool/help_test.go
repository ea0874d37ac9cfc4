package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pawl/internal/golden"
	"pawl/submission"
	"pawl/tool"
)

func TestTheHelpOfATool(t *testing.T) {
	t.Parallel()
	specs := tool.NewRegistry(append(tool.Builtin(), tool.Help())...).Specs()
	for _, k := range submission.Kinds {
		o, _ := k.Output()
		s, err := tool.NewSubmission(o.Tool, json.RawMessage(o.Schema))
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, s.Spec())
	}
	all := tool.HelpList(specs)
	for _, name := range []string{"edit", "tool_help", "planner_output", "completion-report"} {
		text, err := tool.HelpOf(specs, name)
		if err != nil {
			t.Fatal(err)
		}
		all += "\n----\n" + text
	}
	golden.Compare(t, "help.golden", []byte(all))
	if _, err := tool.HelpOf(specs, "tool_halp"); err == nil || !strings.Contains(err.Error(), `there is no tool "tool_halp"; did you mean tool_help?`) {
		t.Errorf("%v", err)
	}
}

func TestAnAgentIsToldOfItsOwnTools(t *testing.T) {
	t.Parallel()
	env := tool.Env{Specs: func() []tool.Spec { return []tool.Spec{tool.Read().Spec()} }}
	for args, want := range map[string]string{`{}`: "read: ", `{"name":"read"}`: "Arguments:\n  path (string)", `{"name":"write"}`: `there is no tool "write"; there are read`} {
		res, err := tool.Help().Run(t.Context(), env, tool.Call{Args: json.RawMessage(args)})
		if err != nil || !strings.Contains(res.Content[0].Text, want) {
			t.Errorf("%s: %+v, %v", args, res, err)
		}
	}
}
