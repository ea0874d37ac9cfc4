package cli

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/render"
	"pawl/report"
)

func doctorCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the configuration and the providers, and say what is missing",
		Long: `Checks the configuration, the state folder and the sandbox, asks each configured provider
which models it has (for at most 5 s), and says what is missing. Keys are never shown.

Exit codes: 0 a model can be used, 1 none can, or the state folder cannot be used.`,
		Example: "  pawl doctor\n  pawl doctor --offline --json",
		Args:    cobra.NoArgs,
	}
	asJSON := command.JSONFlag(cmd)
	offline := cmd.Flags().Bool("offline", false, "ask no provider")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkVariables(inv); err != nil {
			inv.Notice(err.Error())
		}
		report := report.Doctor(cmd.Context(), inv.Options(nil), *offline)
		if *asJSON {
			if err := inv.Encode(report); err != nil {
				return err
			}
		} else if err := printReport(inv, report); err != nil {
			return err
		}
		if !report.Usable {
			return command.Exit{Code: command.ExitFailed}
		}
		return nil
	}
	return cmd
}

// longestCheck is the longest name of a check that what is said of it stands beside, in columns.
const longestCheck = 24

// brokenAt breaks text that stands at a column into lines that fit the terminal, if standard output
// is shown on one with room for it. The lines after the first are indented.
func brokenAt(inv *command.Invocation, text string, column int) string {
	const least = 24
	width := inv.TableWidth() - column
	if width < least {
		return text
	}
	lines := render.Style{}.Wrap([]render.Span{{Text: text}}, width, false)
	return strings.Join(lines, "\n"+strings.Repeat(" ", column))
}

func printReport(inv *command.Invocation, r report.Report) error {
	var out strings.Builder
	fmt.Fprintf(&out, "pawl %s, %s, %s/%s\n", r.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	topic, states, names := "", 0, 0 // the widest of the topic
	for i, c := range r.Checks {
		if c.Topic != topic {
			topic, states, names = c.Topic, 0, 0
			fmt.Fprintf(&out, "\n%s\n", topic)
			for _, o := range r.Checks[i:] {
				if o.Topic != topic {
					break
				}
				states = max(states, len(o.State))
				if n := command.ColumnsOf(command.Visible(o.Name)); n <= longestCheck {
					names = max(names, n)
				}
			}
		}
		name, detail := command.Visible(c.Name), command.Visible(strings.ReplaceAll(c.Detail, "\n", " "))
		column, apart := 2+states+2+names+2, "  " // where details begin
		if pad := names - command.ColumnsOf(name); pad >= 0 {
			apart += strings.Repeat(" ", pad)
			detail = brokenAt(inv, detail, column)
		} else { // the name has a line of its own
			below := 2 + states + 2 + 2
			apart = "\n" + strings.Repeat(" ", below)
			detail = brokenAt(inv, detail, below)
		}
		fmt.Fprintf(&out, "  %-*s  %s%s%s\n", states, c.State, name, apart, detail)
		if c.Next != "" {
			fmt.Fprintf(&out, "%*s→ %s\n", column, "", brokenAt(inv, command.Visible(c.Next), column+2))
		}
	}
	last := "Ready: pawl run \"…\""
	if slices.ContainsFunc(r.Checks, func(c report.Check) bool { return c.Name == "model" && c.State != report.Good }) {
		last = "Ready when a model is named: --model PROVIDER/NAME"
	}
	if !r.Usable {
		last = "Not ready:"
		for _, c := range r.Checks {
			if c.State == report.Bad {
				last += "\n  " + command.Visible(c.Name) + ": " + command.Visible(strings.ReplaceAll(c.Detail, "\n", " "))
				if c.Next != "" {
					last += "\n  → " + command.Visible(c.Next)
				}
			}
		}
	}
	fmt.Fprintf(&out, "\n%s\n", last)
	_, err := io.WriteString(inv.Stdout, out.String())
	return err
}
