package worker

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"pawl/run"
	"pawl/tool"
)

// checkTail compares the log with what is stored beside it. A result or an edit of a
// call that the log does not have shows that the log's end was lost: continuing would
// make its calls again.
func (d *Runner) checkTail(s run.State) error {
	last := s.NextCall() - 1
	newest := newestCall(tool.JournalDir(d.w.StateDir, d.id))
	if d.w.Outputs != nil {
		newest = max(newest, newestCall(d.w.Outputs.RunDir(s.Created.Conversation(), d.id)))
	}
	if newest <= last {
		return nil
	}
	return fmt.Errorf("run %s: the log ends after call c_%d, but results or edits of calls up to c_%d are on disk: "+
		"the end of the log was lost, and continuing would repeat those calls; look at the files, then continue in a copy: pawl runs fork %s",
		d.id, last, newest, d.id)
}

// newestCall returns the highest number of a call that a file in dir is named for; 0
// if there is none.
func newestCall(dir string) int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0 // nothing was stored
	}
	newest := 0
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "c_")); err == nil && strings.HasPrefix(name, "c_") {
			newest = max(newest, n)
		}
	}
	return newest
}
