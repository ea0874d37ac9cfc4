package tool

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pawl/run"
	"pawl/submission"
)

//go:embed help.md
var helpText string

const helpSchema = `{"type":"object","properties":{` +
	`"name":{"type":"string","description":"Of the tool; default: list all"}},"additionalProperties":false}`

// Help returns the tool that explains the tools of its run.
func Help() Tool {
	spec := NewSpec("tool_help", helpText, helpSchema)
	spec.Unstored, spec.Always, spec.ForAgents = true, true, true
	return &builtin{spec, func() arguments { return &helpArgs{} }}
}

type helpArgs struct {
	Name string `json:"name"`
}

func (a *helpArgs) inspect(Env) (Intent, error) {
	return Intent{Class: run.Reads, Title: cmp.Or(strings.TrimSpace(a.Name), "list the tools")}, nil
}

func (a *helpArgs) run(_ context.Context, env Env, _ Call) (Result, error) {
	var specs []Spec
	if env.Specs != nil {
		specs = env.Specs()
	}
	name := strings.TrimSpace(a.Name)
	if name == "" {
		return TextResult(HelpList(specs)), nil
	}
	text, err := HelpOf(specs, name)
	if err != nil {
		return failed(err), nil
	}
	return TextResult(text), nil
}

// HelpList returns a line for each tool: its name and the first sentence about it.
func HelpList(specs []Spec) string {
	var b strings.Builder
	for _, s := range specs {
		first, _, _ := strings.Cut(s.Description, "\n")
		first, _, _ = strings.Cut(first, ". ")
		fmt.Fprintf(&b, "%s: %s.\n", s.Name, strings.TrimSuffix(first, "."))
	}
	return b.String()
}

// HelpOf returns the help of a tool, whose name may be that on wires: what a model is told of
// it, and its arguments one by one. The error is for a model too: which tools there are.
func HelpOf(specs []Spec, name string) (string, error) {
	i := slices.IndexFunc(specs, func(s Spec) bool { return s.Name == name })
	if i < 0 {
		i = slices.IndexFunc(specs, func(s Spec) bool { return wireName(s.Name) == wireName(name) })
	}
	if i < 0 {
		var names []string
		for _, s := range specs {
			names = append(names, s.Name)
		}
		return "", unknown(name, names)
	}
	s := specs[i]
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", s.Name, s.Description)
	if examples := submission.Examples(run.Output{Tool: s.Name, Schema: string(s.Schema)}); submission.Reserved(s.Name) {
		b.WriteString("\n" + examples)
		return b.String(), nil
	}
	if args := argumentHelp(s.Schema); args != "" {
		b.WriteString("\nArguments:\n" + args)
	} else {
		b.WriteString("\nIt takes no arguments.\n")
	}
	return b.String(), nil
}

func wireName(name string) string { return strings.NewReplacer("-", "_", ".", "_").Replace(name) }

// argumentHelp returns a line for each field of a schema, those of objects in it indented.
func argumentHelp(schema json.RawMessage) string {
	var b strings.Builder
	writeFields(&b, schema, "  ", 0)
	return b.String()
}

// maxHelpDepth bounds how deep arguments are explained.
const maxHelpDepth = 6

func writeFields(b *strings.Builder, schema json.RawMessage, indent string, depth int) {
	type field struct {
		Type        any               `json:"type"`
		Description string            `json:"description"`
		Enum        []json.RawMessage `json:"enum"`
		Items       json.RawMessage   `json:"items"`
	}
	for name, raw := range submission.Fields(schema) {
		var f field
		if json.Unmarshal(raw.Schema, &f) != nil {
			f = field{} // true and false are schemas too
		}
		kind := "any"
		switch t := f.Type.(type) {
		case string:
			kind = t
		case []any:
			var all []string
			for _, one := range t {
				all = append(all, fmt.Sprint(one))
			}
			kind = strings.Join(all, " or ")
		}
		if !raw.Required {
			kind += ", optional"
		}
		fmt.Fprintf(b, "%s%s (%s)", indent, name, kind)
		if f.Description != "" {
			b.WriteString(": " + f.Description)
		}
		if len(f.Enum) > 0 {
			var all []string
			for _, v := range f.Enum {
				all = append(all, string(v))
			}
			b.WriteString("; one of " + strings.Join(all, ", "))
		}
		b.WriteByte('\n')
		if depth < maxHelpDepth {
			writeFields(b, raw.Schema, indent+"  ", depth+1)
			writeFields(b, f.Items, indent+"  ", depth+1)
		}
	}
}
