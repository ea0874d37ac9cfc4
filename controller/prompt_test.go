package controller_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pawl/controller"
	"pawl/internal/golden"
)

var someTools = []controller.Tool{
	{Name: "search", Description: "Find <lines> that match.\nFast.", Schema: json.RawMessage("{\n  \"type\": \"object\",\n  \"properties\": {\"pattern\": {\"type\": \"string\"}}\n}")},
	{Name: "read", Description: "Read a file", Schema: json.RawMessage(`{"type":"object"}`)},
	{Name: "odd", Description: "Its schema is broken", Schema: json.RawMessage(`{"type":`)},
	{Name: "bare", Description: "It has none"},
}

func TestTheSystemPromptIsTheOneThatAPersonHasRead(t *testing.T) {
	t.Parallel()
	golden.Compare(t, "system.md", []byte(controller.System(someTools)))
}

// released has the SHA-256 of the prompt by version. An entry is never changed: whoever
// changes the prompt raises the version and adds one.
var released = map[int]string{
	1: "3e95755cc6d97db2ea72c2b093a1a3da6d9e08efe9f061ee75dcbdaabf31f9d8",
}

func TestAChangeOfThePromptRaisesItsVersion(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte(controller.Prompt))
	if got := hex.EncodeToString(sum[:]); got != released[controller.PromptVersion] {
		t.Errorf("prompt.md of version %d has changed: raise PromptVersion and the number in its heading, and add %s here", controller.PromptVersion, got)
	}
	if heading := fmt.Sprintf("# How to answer (controller protocol, version %d)\n", controller.PromptVersion); !strings.HasPrefix(controller.Prompt, heading) {
		t.Errorf("the prompt does not begin with %q", heading)
	}
}

func TestThePromptDemandsWhatTheParserForgives(t *testing.T) {
	t.Parallel()
	for _, sentence := range []string{
		"If action is next_step, include a mandatory top-level 'thinking' object",
		"Use the 'thinking' field to reason before any action. Do not output a separate think step.",
		"One action per answer.",
		"Never invent ids.",
		"Finish with `complete`",
		"For stored outputs prefer stats, extract and count over read",
		"[Tool executions]",
		"[Limits left in this turn]",
	} {
		if !strings.Contains(controller.Prompt, sentence) {
			t.Errorf("the prompt does not say %q", sentence)
		}
	}
}

func TestThePromptHasAFlatExampleOfEachActionThatTheParserTakesAsItIs(t *testing.T) {
	t.Parallel()
	examples := map[string]int{}
	for line := range strings.Lines(controller.Prompt) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		action, report := parse(t, strings.TrimSpace(line))
		if !report.Flat() || report.Unknown != nil || report.Unused != nil || report.Inferred != "" {
			t.Errorf("%s: %+v", line, report)
		}
		if note := action.About(); note.NextStep && note.Thinking == nil {
			t.Errorf("a step without thinking: %s", line)
		}
		name := string(action.Kind())
		if action.About().NextStep {
			name = "next_step " + name
		}
		if use, ok := action.(controller.UseTools); ok && len(use.Calls) > 1 {
			name += " several"
		}
		examples[name]++
	}
	for _, name := range []string{"next_step tool", "next_step tool several", "next_step respond", "next_step ask_user", "complete", "guardrail_stop", "ask_user"} {
		if examples[name] != 1 {
			t.Errorf("%d examples of %s", examples[name], name)
		}
	}
	// What an error shows is what the prompt shows.
	for _, answer := range []string{`{}`, `{"action":"next_step","type":"tool"}`, `{"action":"next_step","type":"respond"}`, `{"action":"next_step","type":"ask_user"}`} {
		for line := range strings.Lines(refused(t, answer).Feedback()) {
			if strings.HasPrefix(line, "{") && !strings.Contains(controller.Prompt, line) {
				t.Errorf("the prompt does not have the example %s", line)
			}
		}
	}
}

func TestTheBeginningOfRequestsStaysTheSame(t *testing.T) {
	t.Parallel()
	system := controller.System(someTools)
	turned := []controller.Tool{someTools[3], someTools[1], someTools[0], someTools[2]}
	if controller.System(turned) != system {
		t.Error("the order in which tools are given changes the prompt")
	}
	if !strings.HasPrefix(system, controller.Prompt) || !strings.HasPrefix(controller.System(nil), controller.Prompt) {
		t.Error("the rules do not come first")
	}
	if someTools[0].Name != "search" {
		t.Error("the caller's tools were sorted")
	}
}

func TestTheToolsStandInThePromptAsJSON(t *testing.T) {
	t.Parallel()
	_, list, ok := strings.Cut(controller.System(someTools), "## Tools\n")
	if !ok {
		t.Fatal("no tools")
	}
	var tools []struct {
		Tool, Description string
		Args              map[string]any
	}
	if err := json.Unmarshal([]byte(list[strings.Index(list, "["):]), &tools); err != nil {
		t.Fatal(err)
	}
	if len(tools) != 4 || tools[3].Tool != "search" || tools[3].Args["properties"] == nil || tools[3].Description != someTools[0].Description || tools[1].Args != nil {
		t.Errorf("%+v", tools)
	}
}

func TestTheLimitsSayWhatIsLeftAndOnlyWhatIsLimited(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		left controller.Left
		want string
	}{
		{controller.Left{Steps: 12, Calls: 40, Tokens: 90_000, Wall: 80*time.Minute + 300*time.Millisecond, Cost: 4.205}, "[Limits left in this turn] 12 steps, 40 calls, 90000 tokens, 1h20m0s, 4.21 US dollars.\n"},
		{controller.Left{Steps: 1, Calls: -1, Tokens: -1, Wall: -1, Cost: -1}, "[Limits left in this turn] 1 steps.\n"},
		{controller.Left{Steps: 0, Calls: -1, Tokens: -1, Wall: 0, Cost: -1}, "[Limits left in this turn] 0 steps, 0s.\n"},
		{controller.Left{Steps: -1, Calls: -1, Tokens: -1, Wall: -1, Cost: -1}, ""},
	} {
		if got := controller.Limits(c.left); got != c.want {
			t.Errorf("%+v\n got %q\nwant %q", c.left, got, c.want)
		}
	}
}
