package archive_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"pawl/archive"
	"pawl/run"
	"pawl/store"
)

// lines returns those of an archive but for the last, of a run with an output and a task without events.
func lines(t testing.TB) string {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Append(t.Context(), "r", 0, []run.Event{{At: time.Unix(1, 0), Payload: run.Created{Run: "r", Workspace: "/w"}}}); err != nil {
		t.Fatal(err)
	}
	u, err := st.Unit(t.Context(), "", "r")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, "devel", time.Unix(1, 0))
	put := func(l archive.Line) {
		if err == nil {
			err = w.Put(l)
		}
	}
	put(archive.Line{Unit: &archive.Unit{Run: "r"}})
	put(archive.Line{Run: &u.Runs[0]})
	for r := range u.Runs[0].Events {
		put(archive.Line{Event: &r})
	}
	put(archive.Line{Inbox: &store.MovedRow{Key: "k", Kind: "say"}})
	put(archive.Line{Output: &archive.Output{Call: "c_1", Bytes: 1}})
	put(archive.Line{Part: []byte("x")})
	put(archive.Line{Unit: &archive.Unit{Task: "t-1"}})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	all, _, _ := strings.Cut(out.String(), `{"end"`)
	return all
}

// Whatever an archive has, reading it ends, and what nothing is wrong with can be read again as it was checked.
func FuzzScan(f *testing.F) {
	all := lines(f)
	f.Add(all)
	f.Add(strings.Replace(all, `"run":"r"`, `"run":"s"`, 1))
	f.Add(strings.Replace(all, `{"part":"eA=="}`, `{"part":"KLUv/QQACQAAeJ+Cbgw="}`, 1))
	f.Add(all + `{"task_event":{"seq":1,"at":"2026-11-20T12:00:00Z","type":"x","version":1,"data":"{}","hash":"AA=="}}` + "\n")
	f.Fuzz(func(t *testing.T, all string) {
		ended := fmt.Sprintf("%s{\"end\":{\"lines\":%d,\"sha256\":\"%x\"}}\n", all, strings.Count(all, "\n"), sha256.Sum256([]byte(all)))
		units, _, err := archive.Scan(t.Context(), strings.NewReader(ended), int64(len(ended)))
		if err != nil {
			return
		}
		for _, u := range units {
			if u.Wrong != nil {
				continue
			}
			for _, err := range u.Lines() {
				if err != nil {
					t.Error(err)
				}
			}
			for _, r := range u.Runs {
				n := int64(0)
				for _, err := range r.Events {
					if n++; err != nil {
						t.Error(err)
					}
				}
				if n != r.Seq {
					t.Errorf("run %s has %d events, not %d", r.Run, n, r.Seq)
				}
			}
		}
	})
}
