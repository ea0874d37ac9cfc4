package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/controller"
	"pawl/schema"
)

func controllerCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:     "controller",
		Short:   "Show and test the protocol for models without tool calling",
		Example: "  pawl controller schema --provider openai\n  pawl controller parse < answer.txt",
	})
	cmd.AddCommand(controllerSchemaCommand(inv), controllerParseCommand(inv), controllerPromptCommand(inv))
	return cmd
}

// adaptations are what the object becomes at each kind of provider.
var adaptations = map[string]schema.Target{
	"anthropic": schema.AnthropicOutput, "openai": schema.OpenAIStrict, "compatible": schema.OpenAI, "gemini": schema.Gemini,
}

func controllerSchemaCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the object, or a provider's form of it",
		Args:  cobra.NoArgs,
	}
	provider := cmd.Flags().String("provider", "", "as this `provider` gets it: "+command.SchemaProviders+", or one of pawl models")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *provider == "" {
			_, err := fmt.Fprintln(inv.Stdout, strings.TrimSpace(controller.Schema))
			return err
		}
		target, ok := adaptations[*provider]
		if !ok {
			target, ok = adaptation(inv, *provider)
		}
		if !ok {
			return command.Usage("--provider: %w", command.OneOf(command.SchemaProviders)(*provider))
		}
		s, err := schema.Adapt(target, json.RawMessage(controller.Schema))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(inv.Stdout, "%s\n", s.Schema)
		return err
	}
	return cmd
}

// adaptation returns what the object becomes at a provider by its name.
func adaptation(inv *command.Invocation, name string) (schema.Target, bool) {
	ws, err := inv.OpenPlain(nil)
	if err != nil {
		return "", false
	}
	defer ws.Close() // nothing was written
	ps, err := ws.Models()
	if err != nil {
		return "", false
	}
	p, _, err := ps.Find(name + "/any")
	if err != nil || p.Wire == "script" {
		return "", false
	}
	switch p.Wire {
	case "anthropic", "gemini":
		return adaptations[p.Wire], true
	case "responses":
		return adaptations["openai"], true
	}
	return adaptations["compatible"], true
}

func controllerPromptCommand(inv *command.Invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "prompt",
		Short: "Print the rules that the model is given, without the tools",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(inv.Stdout, controller.Prompt)
			return err
		},
	}
}

// A parsedAction is an answer as pawl controller parse prints it.
type parsedAction struct {
	Kind        controller.Kind   `json:"kind"`
	NextStep    bool              `json:"next_step"`
	Description string            `json:"description,omitempty"`
	Thinking    json.RawMessage   `json:"thinking,omitempty"`
	Calls       []parsedCall      `json:"calls,omitempty"`
	Message     string            `json:"message,omitempty"`
	Reason      string            `json:"reason,omitempty"`
	Question    string            `json:"question,omitempty"`
	Context     string            `json:"context,omitempty"`
	ResumeTo    controller.Resume `json:"resume_to,omitempty"`
	// How it was read.
	Flat       bool     `json:"flat"`
	Normalized []string `json:"normalized,omitempty"`
	Unknown    []string `json:"unknown,omitempty"`
	Unused     []string `json:"unused,omitempty"`
}

type parsedCall struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// maxAnswer bounds what is read: more than any model says at once.
const maxAnswer = 8 << 20 // bytes

func controllerParseCommand(inv *command.Invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "parse",
		Short: "Parse an answer on standard input and print its action as JSON",
		Long: `Reads one answer of a model from standard input and prints its action as one JSON object. If
it has none, prints the message that the model would get to standard error and exits with
code 1.`,
		Example: `  echo '{"action":"complete","message":"Done."}' | pawl controller parse`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			answer, err := io.ReadAll(io.LimitReader(inv.Stdin, maxAnswer))
			if err != nil {
				return fmt.Errorf("standard input cannot be read: %w", err)
			}
			action, report, err := controller.Parse(string(answer))
			if err != nil {
				return err
			}
			return inv.Encode(parsedForm(action, report))
		},
	}
}

func parsedForm(action controller.Action, report controller.Report) parsedAction {
	about := action.About()
	p := parsedAction{
		Kind: action.Kind(), NextStep: about.NextStep, Description: about.Description, Thinking: about.Thinking,
		Flat: report.Flat(), Normalized: report.Normalized, Unknown: report.Unknown, Unused: report.Unused,
	}
	switch act := action.(type) {
	case controller.UseTools:
		for _, c := range act.Calls {
			p.Calls = append(p.Calls, parsedCall{c.Tool, json.RawMessage(c.Args)})
		}
	case controller.Respond:
		p.Message = act.Message
	case controller.Complete:
		p.Message = act.Message
	case controller.AskUser:
		p.Question, p.Context, p.ResumeTo = act.Question, act.Context, act.Resume
	case controller.GuardrailStop:
		p.Reason, p.Message = act.Reason, act.Message
	}
	return p
}
