package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/run"
)

// Open returns the output of a call. It is to be closed. The error is a
// [*NotFoundError] if there is none.
func (s *Store) Open(key Key) (*Output, error) {
	o, err := openFile(s.file(key.Conversation, key.Run, key.Call))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.notFound(key.Conversation, key.Run, string(key.Call))
	}
	return o, err
}

// Find returns the output that a model means by id: that of the run, else the only one
// of the conversation with this id, else what Ref of another run's output names. An
// empty id is the run's newest output, or the conversation's if the run has none.
func (s *Store) Find(conversation, owner run.ID, id string) (*Output, error) {
	if id = strings.TrimSpace(id); id != "" {
		o, err := openFile(s.file(conversation, owner, run.CallID(id)))
		if !errors.Is(err, fs.ErrNotExist) {
			return o, err
		}
	}
	all, err := s.conversation(conversation)
	if err != nil {
		return nil, err
	}
	var matches []Meta
	newest := func(of run.ID) {
		for _, m := range all {
			if (of == "" || m.Run == of) && (len(matches) == 0 || newer(m, matches[0])) {
				matches = []Meta{m}
			}
		}
	}
	if id == "" {
		if newest(owner); len(matches) == 0 {
			newest("")
		}
	} else {
		for _, m := range all {
			if m.Ref(owner) == id || string(m.ID) == id {
				matches = append(matches, m)
			}
		}
	}
	if len(matches) != 1 {
		err := s.notFound(conversation, owner, id)
		if missing := (*NotFoundError)(nil); errors.As(err, &missing) {
			missing.Several = len(matches) > 1
		}
		return nil, err
	}
	m := matches[0]
	return openFile(s.file(m.Conversation, m.Run, m.ID))
}

// Ref returns the id by which a run names the output: that of the call, and for one of
// another run of the conversation run/call, because calls are numbered within their run.
func (m *Meta) Ref(owner run.ID) string {
	if m.Run == owner {
		return string(m.ID)
	}
	return string(m.Run) + "/" + string(m.ID)
}

func newer(a, b Meta) bool {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c > 0
	}
	return compareIDs(string(a.ID), string(b.ID)) > 0
}

// compareIDs compares as c_2 < c_10.
func compareIDs(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// conversation returns what is known of the outputs of a conversation, in no order.
func (s *Store) conversation(id run.ID) ([]Meta, error) {
	return s.in(filepath.Join(s.dir, fileName(string(id))))
}

// in returns what is known of the outputs in the folder of a conversation. Those that
// are gone by now, or are damaged, are left out.
func (s *Store) in(folder string) ([]Meta, error) {
	var all []Meta
	runs, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, r := range runs {
		files, err := os.ReadDir(filepath.Join(folder, r.Name()))
		if err != nil {
			continue // not a folder, or gone
		}
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), fileEnding) {
				continue
			}
			if m, err := readMeta(filepath.Join(folder, r.Name(), f.Name())); err == nil {
				all = append(all, m)
			}
		}
	}
	return all, nil
}

// A NotFoundError says that there is no such output, and which there are.
type NotFoundError struct {
	ID    string   // empty for the newest
	Known []string // some of the ids there are, newest first
	Total int
	// Several says that several runs of the conversation have an output of this id.
	Several bool
}

func (e *NotFoundError) Error() string {
	what := "no output is stored in this conversation yet"
	if e.ID != "" {
		what = fmt.Sprintf("there is no stored output %q in this conversation", e.ID)
	}
	if e.Several {
		what = fmt.Sprintf("several runs of this conversation have an output %q: say which by run/call", e.ID)
	}
	switch {
	case len(e.Known) == 0 && e.ID != "":
		return what + ", nor any other"
	case len(e.Known) == 0:
		return what
	case e.Total > len(e.Known):
		return fmt.Sprintf("%s; the newest of %d are %s: see tool_outputs.list", what, e.Total, strings.Join(e.Known, ", "))
	}
	return fmt.Sprintf("%s; there are %s", what, strings.Join(e.Known, ", "))
}

// notFound makes the error. It says nothing of other conversations.
func (s *Store) notFound(conversation, owner run.ID, id string) error {
	all, err := s.conversation(conversation)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b Meta) int {
		if newer(a, b) {
			return -1
		}
		return 1
	})
	e := &NotFoundError{ID: id, Total: len(all)}
	for _, m := range all[:min(len(all), 8)] {
		e.Known = append(e.Known, fmt.Sprintf("%s (%s, %s)", m.Ref(owner), m.Tool, byteSize(m.Text.Bytes)))
	}
	return e
}
