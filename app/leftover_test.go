package app

import (
	"slices"
	"testing"
	"time"

	"pawl/run"
)

// A server continues what servers have left where it is, and with a shared repository what they have left on its machine.
func TestWhatAServerHasLeftIsFoundWhereItCanBeContinued(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HOME": t.TempDir()}
	ws, err := Open(Options{Dir: t.TempDir(), Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	st, err := ws.writing()
	if err != nil {
		t.Fatal(err)
	}
	for id, in := range map[run.ID]string{"here": ws.Dir, "there": ws.Dir, "driven": ws.Dir, "rested": ws.Dir, "folder": t.TempDir(), "empty": ""} {
		if in != "" {
			err = st.Append(t.Context(), id, 0, []run.Event{{At: time.Now(), Payload: run.Created{Run: id, Workspace: in, Config: run.Config{Model: "m"}}}})
		}
		if err == nil {
			err = ws.SetServed(t.Context(), id, true)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lease, err := st.Own(t.Context(), "driven", "")
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	if err := st.SetServed(t.Context(), "there", "another-machine"); err != nil {
		t.Fatal(err)
	}
	if err := ws.SetServed(t.Context(), "rested", false); err != nil {
		t.Fatal(err)
	}
	for repository, want := range map[string][]run.ID{"": {"here", "there"}, "/srv/shared.git": {"here"}} {
		env["PAWL_REPOSITORY"] = repository
		left, err := ws.LeftRuns(t.Context())
		if slices.Sort(left); !slices.Equal(left, want) || err != nil {
			t.Errorf("with the repository %q it finds %v, %v; want %v", repository, left, err, want)
		}
	}
	if _, err := st.Remove(t.Context(), "here"); err != nil {
		t.Fatal(err)
	}
	if served, err := st.Served(t.Context()); len(served) != 3 || served["empty"] != "" || served["here"] != "" || err != nil {
		t.Errorf("noted are %v, %v", served, err)
	}
}
