package worker

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"pawl/run"
	"pawl/tool/journal"
)

// checkTail compares the log with the results and edits on disk. A stored result or edit
// of a call that is not in the log means that the end of the log was lost: continuing
// would repeat its calls.
func (r *Runner) checkTail(s run.State) error {
	last := s.NextCall() - 1
	newest := newestCall(journal.In(r.w.StateDir).RunDir(r.id))
	if r.w.Outputs != nil {
		newest = max(newest, newestCall(r.w.Outputs.RunDir(s.Created.Conversation(), r.id)))
	}
	if newest <= last {
		return nil
	}
	return fmt.Errorf("run %s: the log ends after call c_%d, but results or edits of calls up to c_%d are on disk: "+
		"the end of the log was lost, and continuing would repeat those calls; check the files, then continue in a copy: pawl runs fork %s",
		r.id, last, newest, r.id)
}

// newestCall returns the highest call number among the names of files in dir; 0 if none.
func newestCall(dir string) int {
	entries, _ := os.ReadDir(dir) // without it nothing was stored
	newest := 0
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "c_")); err == nil && strings.HasPrefix(name, "c_") {
			newest = max(newest, n)
		}
	}
	return newest
}
