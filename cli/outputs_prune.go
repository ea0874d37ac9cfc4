package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl/internal/text"
	"pawl/output"
	"pawl/run"
	"pawl/store"
)

func outputsPruneCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove old outputs; never those of a run that is under way or waits for an answer",
		Long: `Removes stored outputs of this folder that are older than --older-than, and then the oldest until
what is left takes --max-size at most. Without the flags the settings outputs_max_age and
outputs_max_size count, which pawl run applies too when it ends. What a run may still refer to
stays: its turn is open, or it waits for an answer.`,
		Example: "  pawl outputs prune --max-size 5GB --older-than 30d --dry-run\n  pawl outputs prune",
		Args:    cobra.NoArgs,
	}
	flags := cmd.Flags()
	size := flags.String("max-size", "", "keep at most this `size` on disk, as 5GB; -1: no limit")
	age := flags.String("older-than", "", "remove what is older than this `age`, as 30d or 12h; -1: nothing for its age")
	dry := flags.Bool("dry-run", false, "say what would be removed, and remove nothing")
	asJSON := flags.Bool("json", false, "one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		workspace, err := inv.workspace()
		if err != nil {
			return err
		}
		s, err := inv.readSettings(cmd.Flags(), workspace)
		if err != nil {
			return err
		}
		quota := s.outputQuota()
		if *size != "" {
			if quota.Bytes, err = readLimit(*size, readSize); err != nil {
				return usage("--max-size: %w", err)
			}
		}
		if *age != "" {
			if quota.Age, err = readLimit(*age, readAge); err != nil {
				return usage("--older-than: %w", err)
			}
		}
		p, err := inv.open()
		if err != nil && p.state != "" && outputsOf(p).ReleaseReserve() { // on a full disk
			p, err = inv.open()
		}
		if err != nil {
			return err
		}
		defer p.store.Close() // nothing was written
		pruned, err := outputsOf(p).Prune(quota, liveOutputs(cmd.Context(), p.store), *dry)
		if *asJSON {
			return errors.Join(inv.encode(prunedForm(pruned, *dry)), err)
		}
		inv.printPruned(pruned, *dry)
		return err
	}
	return cmd
}

// liveOutputs returns what says of an output whether a run may still refer to it: its
// own, or the one at the root of its tree. A run that is not known any more refers to
// nothing; one that cannot be read may.
func liveOutputs(ctx context.Context, s store.Store) func(output.Meta) bool {
	known := map[run.ID]bool{}
	live := func(id run.ID) bool {
		l, ok := known[id]
		if !ok {
			sum, err := s.Run(ctx, id)
			l = err == nil && (sum.End == "" || sum.End == run.Asked) || err != nil && !errors.Is(err, store.ErrNotFound)
			known[id] = l
		}
		return l
	}
	return func(m output.Meta) bool { return live(m.Run) || live(m.Conversation) }
}

func (inv *invocation) printPruned(p output.Pruned, dry bool) {
	verb := "removed"
	if dry {
		verb = "would be removed"
	}
	for _, m := range p.Removed {
		fmt.Fprintf(inv.Stdout, "%s/%s  %s  %s  %s\n", visible(string(m.Run)), visible(string(m.ID)), stamp(m.Created), oneLine(m.Tool, 64), text.Size(m.Stored))
	}
	fmt.Fprintf(inv.Stdout, "%s %s, %s; %s are left\n", plural(len(p.Removed), "output"), verb, text.Size(p.Freed), text.Size(p.Kept))
	if p.Over > 0 {
		inv.hint(fmt.Sprintf("what is left is %s over the limit: it belongs to runs that are under way or wait for an answer", text.Size(p.Over)))
	}
}

// prunedForm is what was removed as JSON.
func prunedForm(p output.Pruned, dry bool) any {
	type removed struct {
		ID      run.CallID `json:"id"`
		Run     run.ID     `json:"run"`
		Created time.Time  `json:"created"`
		Tool    string     `json:"tool"`
		Stored  int64      `json:"stored_bytes"` // on disk
	}
	all := []removed{}
	for _, m := range p.Removed {
		all = append(all, removed{m.ID, m.Run, m.Created, m.Tool, m.Stored})
	}
	return map[string]any{"removed": all, "freed_bytes": p.Freed, "kept_bytes": p.Kept, "over_bytes": p.Over, "dry_run": dry}
}

// tidyOutputs applies the settings after a run. What goes wrong is no failure of the run.
func (inv *invocation) tidyOutputs(p place, s settings) {
	quota := s.outputQuota()
	if !outputsOf(p).Exceeds(quota) {
		return
	}
	pruned, err := outputsOf(p).Prune(quota, liveOutputs(context.Background(), p.store), false)
	if err != nil {
		inv.log().Warn("outputs were not pruned", "error", err)
	}
	if n := len(pruned.Removed); n > 0 {
		inv.hint(fmt.Sprintf("%s of earlier runs removed, %s: outputs_max_size is %s, outputs_max_age %s",
			plural(n, "stored output"), text.Size(pruned.Freed), s.get("outputs_max_size"), s.get("outputs_max_age")))
	}
}

// outputQuota returns how much may be stored of a workspace's outputs.
func (s settings) outputQuota() output.Quota {
	// The checks have seen that the values can be read.
	bytes, _ := readLimit(s.get("outputs_max_size"), readSize)
	age, _ := readLimit(s.get("outputs_max_age"), readAge)
	return output.Quota{Bytes: bytes, Age: age}
}

// readLimit reads a limit: -1 is none, which is 0.
func readLimit[T int64 | time.Duration](text string, read func(string) (T, error)) (T, error) {
	if text == "-1" {
		return 0, nil
	}
	n, err := read(text)
	if err != nil {
		return 0, fmt.Errorf("%w; -1 is no limit", err)
	}
	return n, nil
}

// readSize reads a size as people write it: 5GB, 500 MB, 10GiB, or bytes.
func readSize(size string) (int64, error) {
	number := strings.TrimRight(size, "kKmMgGtTiIbB ")
	unit := strings.ToLower(strings.TrimSpace(size[len(number):]))
	factor, ok := map[string]float64{
		"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok || !(n > 0) || n*factor > 1<<62 {
		return 0, fmt.Errorf("%q is no size: write it with its unit, as 5GB or 500MB", size)
	}
	return int64(n * factor), nil
}

// readAge reads a duration, days too.
func readAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 100_000 {
			return time.Duration(n * float64(24*time.Hour)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("%q is no age: write it with its unit, as 30d or 12h", text)
}

func storedSize(s string) error { _, err := readLimit(s, readSize); return err }
func storedAge(s string) error  { _, err := readLimit(s, readAge); return err }
