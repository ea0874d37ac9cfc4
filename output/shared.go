package output

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"pawl/run"
)

// Shared keeps the files of outputs where several machines find them, such as a database. A [Store] that has one keeps
// nothing in its folder but what is being stored.
type Shared interface {
	// PutOutput stores what file has, of size bytes, as the output of a call, in place of one that was there. When it returns
	// nil, it is durable and found; with an error there is none, or the one that was there. It is an error if this process had
	// the lease of the run and has it no more. head is what Outputs gives of it.
	PutOutput(ctx context.Context, conversation, owner run.ID, call run.CallID, created time.Time, head []byte, file io.ReaderAt, size int64) error
	// OpenOutput returns what PutOutput was given, to be read in any order; [fs.ErrNotExist] if there is none.
	OpenOutput(ctx context.Context, conversation, owner run.ID, call run.CallID) (file io.ReaderAt, size int64, err error)
	// Outputs calls found with each output of a run; of a conversation, if owner is empty; of all, if both are.
	Outputs(ctx context.Context, conversation, owner run.ID, found func(head []byte, size int64)) error
	// RemoveOutputs removes the output of a call; if call is empty, those of a run.
	RemoveOutputs(ctx context.Context, conversation, owner run.ID, call run.CallID) error
	// TotalOfOutputs returns how many bytes all of them have, and when the oldest was created.
	TotalOfOutputs(ctx context.Context) (size int64, oldest time.Time, err error)
}

// In returns the store with its outputs in a shared one; nil: they are in its folder.
func (s *Store) In(shared Shared) *Store {
	there := *s
	there.shared = shared
	return &there
}

// share stores the finished file of a writer, and opens it from there.
func (w *Writer) share() (*Output, error) {
	m := w.meta
	head, err := json.Marshal(m)
	if err == nil {
		err = w.store.shared.PutOutput(context.Background(), m.Conversation, m.Run, m.ID, m.Created, head, w.tmp, w.at)
	}
	if err != nil {
		return nil, err
	}
	_ = w.tmp.Close()
	_ = os.Remove(w.tmp.Name()) // or sweep does
	return w.store.openStored(m.Conversation, m.Run, m.ID)
}

// openStored opens the file of an output; [fs.ErrNotExist] if there is none.
func (s *Store) openStored(conversation, owner run.ID, call run.CallID) (*Output, error) {
	if s.shared == nil {
		return openFile(s.file(conversation, owner, call))
	}
	f, size, err := s.shared.OpenOutput(context.Background(), conversation, owner, call)
	if err != nil {
		return nil, err
	}
	o, err := openOutput(f, size)
	if err != nil {
		return nil, fmt.Errorf("output %s of run %s: %w", call, owner, err)
	}
	o.Stored = size
	return o, nil
}

// sharedMetas returns what is known of the outputs as [Shared].Outputs selects them. Those that are damaged are left out.
func (s *Store) sharedMetas(conversation, owner run.ID) (all []Meta, err error) {
	err = s.shared.Outputs(context.Background(), conversation, owner, func(head []byte, size int64) {
		m := Meta{}
		if json.Unmarshal(head, &m) == nil {
			m.Stored = size
			all = append(all, m)
		}
	})
	return all, err
}

// sharedRuns returns the runs that have outputs, with what these occupy.
func (s *Store) sharedRuns() ([]RemovedRun, error) {
	all, err := s.sharedMetas("", "")
	var runs []RemovedRun
	at := map[run.ID]int{}
	for _, m := range all {
		i, known := at[m.Run]
		if !known {
			i = len(runs)
			at[m.Run] = i
			runs = append(runs, RemovedRun{Conversation: m.Conversation, Run: m.Run})
		}
		runs[i].Freed += m.Stored
	}
	return runs, err
}

// sharedUsage returns what outputs, as [Shared].Outputs selects them, occupy; those that cannot be looked at, nothing.
func (s *Store) sharedUsage(conversation, owner run.ID) (size int64) {
	_ = s.shared.Outputs(context.Background(), conversation, owner, func(_ []byte, n int64) { size += n })
	return size
}

// sharedExceeds is Exceeds.
func (s *Store) sharedExceeds(quota Quota) bool {
	size, oldest, err := s.shared.TotalOfOutputs(context.Background())
	return err == nil && size > 0 && (quota.Bytes > 0 && size > quota.Bytes ||
		quota.Age > 0 && s.now().Sub(oldest) > quota.Age)
}
