package output

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/run"
)

// A Store keeps outputs in a folder: a folder for each conversation, in it one for each
// run, in it a file for each call. It may be used by several goroutines and processes at
// once: an output appears by a rename and never changes.
type Store struct {
	dir string
	now func() time.Time
}

const (
	fileEnding = ".zst"
	tmpFolder  = ".writing" // no conversation has a name with a dot in front
)

// NewStore returns the store in a folder, which is made when the first output is.
func NewStore(dir string) *Store { return &Store{dir: dir, now: time.Now} }

// A Key names a call within its conversation. Calls are numbered within their run.
type Key struct {
	Conversation run.ID // id of the root run
	Run          run.ID
	Call         run.CallID
}

// Create begins an output. Tool and message say where it comes from.
func (s *Store) Create(key Key, tool, message string) (*Writer, error) {
	if key.Conversation == "" || key.Run == "" || key.Call == "" {
		return nil, fmt.Errorf("output: a key needs conversation, run and call, got %+v", key)
	}
	folder := filepath.Join(s.dir, tmpFolder)
	if err := s.makeFolder(folder); err != nil {
		return nil, err
	}
	tmp, err := os.CreateTemp(folder, "*"+fileEnding)
	if err != nil {
		return nil, fmt.Errorf("store the output of call %s: %w", key.Call, err)
	}
	return &Writer{store: s, tmp: tmp, meta: Meta{ID: key.Call, Run: key.Run, Conversation: key.Conversation, Tool: tool, Message: message}}, nil
}

// makeFolder makes a folder and those above it, and makes that last.
func (s *Store) makeFolder(dir string) error {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || filepath.Dir(d) == d {
			break
		}
		missing = append(missing, d)
	}
	if len(missing) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a folder for outputs: %w", err)
	}
	for _, d := range missing {
		if err := syncFolder(filepath.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) file(conversation, owner run.ID, call run.CallID) string {
	return filepath.Join(s.dir, fileName(string(conversation)), fileName(string(owner)), fileName(string(call))+fileEnding)
}

// fileName returns an id as the name of a file on every system: letters of one case,
// digits, _ and - as they are, and everything else, so that different ids stay
// different, as its bytes in hexadecimal.
func fileName(id string) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		if c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

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

// An Output is a stored output that is open.
type Output struct {
	Meta
	*Document
	frames *frameReader
}

// Close closes the file.
func (o *Output) Close() error { return o.frames.close() }

func openFile(name string) (_ *Output, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			if !errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	at, metaAt, end, err := readParts(f, info.Size())
	if err != nil {
		return nil, err
	}
	o := &Output{}
	b, err := readSkippable(f, metaAt, end)
	if err == nil {
		err = json.Unmarshal(b, &o.Meta)
	}
	if err != nil {
		return nil, err
	}
	o.Meta.Stored = info.Size()
	var index fileIndex
	if b, err = readSkippable(f, at, metaAt); err == nil {
		err = json.Unmarshal(b, &index)
	}
	if err != nil {
		return nil, err
	}
	o.frames = &frameReader{f: f, frames: index.Frames, end: index.End, size: o.Text.Bytes, latest: -1}
	o.Document = &Document{
		Name: string(o.ID), format: o.Meta.Format, problem: o.Problem, raw: o.frames, size: o.Text.Bytes, text: &o.Meta.Text,
		frames: index.Frames, analysis: index.Parsed,
	}
	return o, nil
}

func readMeta(name string) (Meta, error) {
	f, err := os.Open(name)
	if err != nil {
		return Meta{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Meta{}, err
	}
	_, at, end, err := readParts(f, info.Size())
	if err != nil {
		return Meta{}, err
	}
	b, err := readSkippable(f, at, end)
	if err != nil {
		return Meta{}, err
	}
	m := Meta{Stored: info.Size()}
	return m, json.Unmarshal(b, &m)
}
