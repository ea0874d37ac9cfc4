package app

import (
	"context"
	"fmt"

	"pawl/internal/text"
)

// Tidy applies the limits of what is stored, as a face does after it has driven a run, and
// returns what a person should know of what was removed, a sentence each. What goes wrong
// is in the log for diagnostics: it is no failure of the run.
func (w *Workspace) Tidy() []string {
	c, err := w.Config()
	if err != nil {
		return nil // no run was driven with it
	}
	quota := c.OutputQuota()
	if !w.outputs().Exceeds(quota) {
		return nil
	}
	pruned, err := w.PruneOutputs(context.Background(), quota, false)
	if err != nil {
		w.logger().Warn("outputs were not pruned", "error", err)
	}
	if n := len(pruned.Removed); n > 0 {
		return []string{fmt.Sprintf("%s of earlier runs removed, %s: outputs_max_size is %s, outputs_max_age %s",
			text.Plural(int64(n), "stored output"), text.Size(pruned.Freed), c.Get("outputs_max_size"), c.Get("outputs_max_age"))}
	}
	return nil
}
