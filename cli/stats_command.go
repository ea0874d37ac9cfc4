package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"pawl/store"
)

func statsCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count how turns ended, what was decided and by whom, steps, models, tokens, cost",
		Long: `Counts over the runs of this folder, or of all folders: how turns ended, what was decided and by
which rule, what was refused, who interrupted, steps in a turn and a run, reminders, models, tokens,
cost. What a fork has copied is counted where it happened.`,
		Example: "  pawl stats\n  pawl stats --since 7d\n  pawl stats --all --json",
		Args:    cobra.NoArgs,
	}
	all := cmd.Flags().Bool("all", false, "over the runs of all folders")
	since := cmd.Flags().String("since", "", "what happened after this `time`: 36h, 7d, or a day as 2026-11-20")
	asJSON := cmd.Flags().Bool("json", false, "one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		after, err := sinceWhen(*since, time.Now())
		if err != nil {
			return usage("--since: %w", err)
		}
		t := newTally(after)
		if *all {
			err = inv.everywhere(func(s store.Store) error { return t.store(cmd.Context(), s) })
		} else {
			var p place
			if p, err = inv.openForReading(); err == nil {
				err = errors.Join(t.store(cmd.Context(), p.store), p.store.Close())
			} else if errors.Is(err, store.ErrNoRuns) {
				err = nil
			}
		}
		if err != nil {
			return err
		}
		for _, err := range t.incomplete {
			fmt.Fprintf(inv.Stderr, "pawl: not all of a run is counted: %v\n", err)
		}
		if *asJSON {
			out := json.NewEncoder(inv.Stdout)
			out.SetEscapeHTML(false)
			return out.Encode(t.stats())
		}
		if t.runs == 0 {
			fmt.Fprintln(inv.Stderr, "nothing to count: there is no run here in that time; --all counts those of all folders")
			return nil
		}
		return t.stats().print(inv.Stdout)
	}
	return cmd
}

// sinceWhen reads a point in time: a duration before now, days too, or a day.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return day, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 36h, 7d, or a day as 2026-11-20", text)
}

// everywhere calls do with the store of every workspace there is.
func (inv *invocation) everywhere(do func(store.Store) error) error {
	dirs, err := filepath.Glob(filepath.Join(inv.stateDir(), "workspaces", "*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "pawl.db")); err != nil {
			continue // no run was ever begun there
		}
		s, err := store.Open(dir, store.Options{Version: version(), ReadOnly: true})
		if errors.Is(err, store.ErrNoRuns) {
			continue
		} else if err == nil {
			err = errors.Join(do(s), s.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// store counts the runs of a store.
func (t *tally) store(ctx context.Context, s store.Store) error {
	runs, err := s.Runs(ctx, 0)
	if err != nil {
		return err
	}
	for _, sum := range runs {
		if sum.Updated.Before(t.after) {
			continue
		}
		r := t.begin()
		for e, err := range s.Events(ctx, sum.ID, 0) {
			if errors.Is(err, store.ErrCorrupt) || errors.As(err, new(*store.UnreadableError)) {
				t.incomplete = append(t.incomplete, err) // what is before that counts
				break
			} else if err != nil {
				return err
			}
			r.event(e)
		}
		r.end()
	}
	return nil
}

// print writes the figures for people.
func (s stats) print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(what string, format string, args ...any) {
		fmt.Fprintf(out, "%s\t%s\n", what, oneLine(fmt.Sprintf(format, args...), 2*maxTitle))
	}
	line("runs", "%d", s.Runs)
	line("turns", "%d: %s", s.Turns, counted(s.Ends))
	line("steps in a turn", "%.1f on average, %d in 95 of 100", s.StepsPerTurn.Mean, s.StepsPerTurn.P95)
	line("steps in a run", "%.1f on average, %d in 95 of 100", s.StepsPerRun.Mean, s.StepsPerRun.P95)
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
		line(m.Model, "%s, %d tokens read (%d of them cached), %d written, %s",
			plural(m.Requests, "answer"), u.Input+u.CacheRead+u.CacheWrite, u.CacheRead, u.Output, cost)
	}
	line("cost", "%s", costWords(s))
	return out.Flush()
}

func costWords(s stats) string {
	text := fmt.Sprintf("$%.4f", s.Cost)
	if s.Unpriced > 0 {
		text += fmt.Sprintf(", and %s without a known price", plural(s.Unpriced, "answer"))
	}
	return text
}
