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

	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/run"
)

// A Scope says which outputs a run may ask: those of its conversation, and those that it
// has in its context from other runs.
type Scope struct {
	Conversation run.ID // id of the root run
	Run          run.ID // whose calls are named without a prefix
	// Also lists runs of other conversations, such as the original of a fork. Their calls
	// are named without a prefix too, and an id is looked for in them last, in order.
	Also []Past
}

// A Past is a part of a run that another run has in its context.
type Past struct {
	Conversation run.ID
	Run          run.ID
	Has          func(run.CallID) bool // whether a call is part of it; nil: all are
}

// runs returns the run of the scope and those in Also.
func (s Scope) runs() []Past {
	return append([]Past{{Conversation: s.Conversation, Run: s.Run}}, s.Also...)
}

// Ref returns the id by which the run of the scope names an output: that of the call, and
// for one of another run of the conversation run/call, because calls are numbered within
// their run.
func (s Scope) Ref(m *Meta) string {
	for _, p := range s.runs() {
		if m.Run == p.Run && m.Conversation == p.Conversation {
			return string(m.ID)
		}
	}
	return string(m.Run) + "/" + string(m.ID)
}

// Open returns the output of a call. The caller closes it. The error is a
// [*NotFoundError] if there is none.
func (s *Store) Open(key Key) (*Output, error) {
	o, err := s.open(key.Conversation, key.Run, key.Call)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.notFound(Scope{Conversation: key.Conversation, Run: key.Run}, string(key.Call), false)
	}
	return o, err
}

// Find returns the output that an id means in a scope: that of the run, else that of a run
// in Also, else the only one of the conversation with this id or [Scope.Ref]. The empty id
// means the newest output of the run that was delivered as an envelope, else the newest of
// the run, else the newest of the scope by the same rule.
func (s *Store) Find(scope Scope, id string) (*Output, error) {
	id = strings.TrimSpace(id)
	if id != "" {
		for _, p := range scope.runs() {
			if p.Has != nil && !p.Has(run.CallID(id)) {
				continue
			}
			if o, err := s.open(p.Conversation, p.Run, run.CallID(id)); !errors.Is(err, fs.ErrNotExist) {
				return o, err
			}
		}
	}
	all, err := s.in(scope)
	if err != nil {
		return nil, err
	}
	var matches []Meta
	for _, m := range all {
		if id != "" && (string(m.ID) == id || scope.Ref(&m) == id) {
			matches = append(matches, m)
		}
	}
	if id == "" && len(all) > 0 {
		matches = []Meta{slices.MaxFunc(all, func(a, b Meta) int {
			return cmp.Or(trueLast(a.Run == scope.Run, b.Run == scope.Run), trueLast(!a.Inline, !b.Inline), compareAge(a, b))
		})}
	}
	if len(matches) != 1 {
		return nil, s.notFound(scope, id, len(matches) > 1)
	}
	m := matches[0]
	return s.open(m.Conversation, m.Run, m.ID)
}

func trueLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// compareAge compares by the time of creation, then by id as c_2 < c_10.
func compareAge(a, b Meta) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Run, b.Run))
}

// in returns what is known of the outputs in a scope, in no order; those in logs are not described.
func (s *Store) in(scope Scope) ([]Meta, error) {
	all, err := s.metas(scope.Conversation, "")
	if err == nil && s.logs != nil {
		var runs []run.ID
		runs, err = s.logs.RunsOf(scope.Conversation)
		for _, id := range runs {
			all = s.addLogged(all, scope.Conversation, id, nil)
		}
	}
	for _, p := range scope.Also {
		if err == nil {
			var past []Meta
			past, err = s.metas(p.Conversation, p.Run)
			for _, m := range past {
				known := slices.ContainsFunc(all, func(o Meta) bool { return o.Conversation == m.Conversation && o.Run == m.Run && o.ID == m.ID })
				if !known && (p.Has == nil || p.Has(m.ID)) {
					all = append(all, m)
				}
			}
			all = s.addLogged(all, p.Conversation, p.Run, p.Has)
		}
	}
	return all, err
}

// metas returns what is known of the stored outputs of a run; if owner is empty, of a conversation.
func (s *Store) metas(conversation, owner run.ID) ([]Meta, error) {
	switch {
	case s.shared != nil:
		return s.sharedMetas(conversation, owner)
	case owner != "":
		return readMetas(s.RunDir(conversation, owner))
	}
	return s.below(filepath.Join(s.dir, fileName(string(conversation))))
}

// below returns what is known of the outputs in the folder of a conversation.
func (s *Store) below(folder string) ([]Meta, error) {
	var all []Meta
	runs, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, r := range runs {
		if !r.IsDir() {
			continue
		}
		metas, err := readMetas(filepath.Join(folder, r.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, metas...)
	}
	return all, nil
}

// readMetas returns what is known of the outputs in the folder of a run. Those that are
// gone by now, or are damaged, are left out.
func readMetas(folder string) ([]Meta, error) {
	files, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Meta
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), fileEnding) {
			continue
		}
		if m, err := readMeta(filepath.Join(folder, f.Name())); err == nil {
			all = append(all, m)
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
		what = fmt.Sprintf("several runs of this conversation have an output %q: name one as run/call", e.ID)
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

// notFound makes the error. It says nothing of what is outside of the scope.
func (s *Store) notFound(scope Scope, id string, several bool) error {
	all, err := s.in(scope)
	if err != nil {
		return err
	}
	stable.Sort(all, func(a, b Meta) int { return compareAge(b, a) })
	e := &NotFoundError{ID: id, Total: len(all), Several: several}
	for _, m := range all[:min(len(all), 8)] {
		e.Known = append(e.Known, fmt.Sprintf("%s (%s, %s)", scope.Ref(&m), m.Tool, text.Size(m.Text.Bytes)))
	}
	return e
}
