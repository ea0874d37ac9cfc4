package worker

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pawl/request"
	"pawl/run"
	"pawl/sandbox"
)

// Another process adds a folder to a run, again and again, while its calls start and end.
func TestACallRunsInTheSandboxItWasJudgedInWhileFoldersAreAdded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		replies := ""
		for i := range 20 {
			replies += fmt.Sprintf(`{"calls":[{"tool":"read","args":{"do":"ok %d"}}]}`+"\n", i)
		}
		r := newRig(t, replies+`{"text":"Done."}`)
		var used []string
		r.w.Dirs = func(_ string, dirs []string) (*sandbox.Policy, []string, string) {
			used = dirs
			return nil, dirs, ""
		}
		added := 0
		d := r.create()
		defer d.Close()
		r.read.runs = func() {
			added++
			put(t, r, fmt.Sprint("dirs", added), request.Configure{Change: run.ConfigChange{AddDirs: []string{fmt.Sprintf("/more/%d", added)}}})
			d.Wake()
		}
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.Completed || len(s.Config.Dirs) != added {
			t.Errorf("%+v, %v, folders %q", s.Turn.End, err, s.Config.Dirs)
		}
		if !slices.Equal(used, s.Config.Dirs) {
			t.Errorf("the tools may use %q, not %q", used, s.Config.Dirs)
		}
	})
}
