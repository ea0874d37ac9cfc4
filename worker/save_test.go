package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
)

// What a call has changed is saved for other machines before its result is recorded: a machine that is lost in between has
// lost that call alone, of which nobody says that it was done.
func TestAFolderIsSavedBeforeAResultIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"calls":[{"tool":"read","args":{"do":"ok"}}]}
{"calls":[{"tool":"edit","args":{"do":"ok"}}]}
{"calls":[{"tool":"edit","args":{"do":"ok2"}}]}
{"calls":[{"tool":"edit","args":{"do":"ok3"}}]}
{"text":"Done."}`)
	var saves []string
	r.w.Save = func(_ context.Context, folder string) error {
		saves = append(saves, fmt.Sprint(folder, " ", len(logged[run.CallSettled](t, r))))
		if len(saves) < 3 {
			return errors.New("the repository cannot be reached")
		}
		return nil
	}
	d, err := r.w.Create(t.Context(), run.Created{Run: "r", Workspace: r.dir}, r.watch)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Run(t.Context(), prompt("go")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/w 1", "/w 2", "/w 3"}, saves); diff != "" {
		t.Errorf("saved with so many results recorded (-want +got):\n%s", diff)
	}
	told := 0
	for _, v := range r.views {
		if strings.Contains(v.Notice, "this machine alone: the repository cannot be reached") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("it was said %d times that the folder is not saved, want once: %+v", told, r.views)
	}
}

// So is what the commands of an external agent change, of which pawl sees the results.
func TestAFolderIsSavedBeforeAResultOfAnAgentIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := external(t, func(_ context.Context, yield func(run.Payload) bool) {
			yield(names("conv-7"))
			yield(run.Observed{Parts: []run.Part{run.Text("I change it.")}})
			yield(run.Observed{Parts: []run.Part{{Type: run.ResultPart, Result: &run.Result{Call: "c_1", Content: []run.Part{run.Text("ok")}}}}})
			yield(replies("Done."))
		})
		var saves []string
		r.w.Save = func(context.Context, string) error {
			saves = append(saves, fmt.Sprint(len(logged[run.Observed](t, r))))
			return nil
		}
		if _, err := r.createExternal(run.Config{Model: "agent/fast"}).Run(t.Context(), prompt("Change it.")); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(len(logged[run.Observed](t, r))); !slices.Equal(saves, []string{"2"}) || got != "3" {
			t.Errorf("of %s observations %v were recorded when the folder was saved", got, saves)
		}
	})
}
