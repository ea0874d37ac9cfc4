package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"text/tabwriter"
	"time"

	"pawl/config"
	"pawl/internal/stable"
	"pawl/run"
	"pawl/view"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/report"
)

func statsCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show how turns ended, what was decided, and what it cost",
		Long: `Summarizes the runs of this folder: how turns ended, what was decided and by which rule,
what was refused, interrupts, steps, reminders, models, tokens and cost. Events that a
fork has copied are counted once, in the run where they happened.`,
		Example: "  pawl stats\n  pawl stats --since 7d\n  pawl stats --all --json",
		Args:    cobra.NoArgs,
	}
	all := cmd.Flags().Bool("all", false, "summarize the runs of all folders")
	since := cmd.Flags().String("since", "", "only what happened after this `time`: 36h or 7d (ago), or a day such as 2026-11-20")
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		after, err := config.ParseSince(*since, time.Now())
		if err != nil {
			return command.Usage("--since: %w", err)
		}
		stats, incomplete, err := stats(cmd.Context(), inv, after, *all)
		if err != nil {
			return err
		}
		for _, err := range incomplete {
			inv.Notice(fmt.Sprintf("not all of a run is counted: %v", err))
		}
		if *asJSON {
			return inv.Encode(stats)
		}
		if stats.Runs == 0 {
			fmt.Fprintln(inv.Stderr, "no runs in this folder in that time; --all includes all folders")
			return nil
		}
		return printStats(inv.Stdout, stats)
	}
	return cmd
}

func stats(ctx context.Context, inv *command.Invocation, after time.Time, all bool) (report.Stats, []error, error) {
	if all {
		return report.CountAll(ctx, inv.Env, after)
	}
	ws, err := inv.OpenRuns(nil)
	if err != nil {
		return report.Stats{}, nil, err
	}
	defer ws.Close() // nothing was written
	return report.Count(ctx, ws, after)
}

// printStats writes the figures for people.
func printStats(w io.Writer, s report.Stats) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(what string, format string, args ...any) {
		fmt.Fprintf(out, "%s\t%s\n", what, command.OneLine(fmt.Sprintf(format, args...), 2*command.MaxTitle))
	}
	line("runs", "%d", s.Runs)
	line("turns", "%d: %s", s.Turns, counted(inWords(s.Ends)))
	line("steps per turn", "mean %.1f, p95 %d", s.StepsPerTurn.Mean, s.StepsPerTurn.P95)
	line("steps per run", "mean %.1f, p95 %d", s.StepsPerRun.Mean, s.StepsPerRun.P95)
	line("calls", "%d: %s", s.Calls, counted(s.Outcomes))
	line("decisions", "%s", counted(s.Answers))
	for _, d := range s.Decisions {
		by := d.Source
		if d.Rule != "" {
			by = d.Rule + " (" + d.Source + ")"
		}
		line("", "%d × %s %s by %s", d.Count, d.Tool, d.Answer, by)
	}
	line("interrupts", "%s", counted(s.Interrupts))
	line("reminders", "%d", s.Reminders)
	line("nudges", "%d", s.Nudges)
	line("loops", "%d", s.Loops)
	for _, m := range s.Models {
		u, cost := m.Usage, "cost unknown"
		if u.Cost != nil {
			cost = fmt.Sprintf("$%.4f", *u.Cost)
		}
		line(m.Model, "%s, %d input tokens (%d cached), %d output tokens, %s",
			command.Plural(m.Requests, "answer"), u.Input+u.CacheRead+u.CacheWrite, u.CacheRead, u.Output, cost)
	}
	line("cost", "%s", costWords(s))
	return out.Flush()
}

func costWords(s report.Stats) string {
	text := fmt.Sprintf("$%.4f", s.Cost)
	switch {
	case s.Unpriced > 0 && s.Cost == 0:
		return fmt.Sprintf("unknown, for %s without a known price", command.Plural(s.Unpriced, "answer"))
	case s.Unpriced > 0:
		text += fmt.Sprintf(", and %s without a known price", command.Plural(s.Unpriced, "answer"))
	}
	return text
}

// inWords names the ends of turns as the list of runs does.
func inWords(ends map[string]int) map[string]int {
	named := map[string]int{}
	for end, n := range ends {
		named[view.EndWords(run.End(end))] += n
	}
	return named
}

// counted lists what was counted, the most frequent first.
func counted(counts map[string]int) string {
	if len(counts) == 0 {
		return "none"
	}
	var texts []string
	for _, what := range stable.Sorted(maps.Keys(counts), func(x, y string) int { return cmp.Or(counts[y]-counts[x], strings.Compare(x, y)) }) {
		texts = append(texts, fmt.Sprintf("%d %s", counts[what], what))
	}
	return strings.Join(texts, ", ")
}
