package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"path/filepath"
	"slices"

	"pawl/internal/text"
	"pawl/output"
	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/tasklog"
)

// A Found is a unit of an archive.
type Found struct {
	Unit
	Runs    []Run
	Task    store.TaskAppend // of a task
	Card    task.State       // of it
	Hash    []byte           // of its last event in a store without a key
	Bytes   int64            // of outputs and files
	Outputs int
	// Wrong is why nothing of the unit can be imported; nil: nothing is wrong with it.
	Wrong error

	file     io.ReaderAt
	from, to int64
}

// A Run is a run of an archive.
type Run struct {
	store.Moved
	Summary store.Summary
}

// Scan reads a whole archive and checks it: that it is complete, that the logs have the hashes that they had, and that
// each event follows from those before it. The error says what is wrong with all of it; what is wrong with a unit is in that.
// The archive may be anything: of a log that is not one, nothing reaches a store.
func Scan(ctx context.Context, file io.ReaderAt, size int64) (units []*Found, head Header, err error) {
	s := &scanner{reader: newReader(io.NewSectionReader(file, 0, size), 0), file: file, size: size, seen: map[string]bool{}}
	for {
		l, err := s.next()
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return nil, head, err
		case s.lines == 1:
			if head = *l.Archive; head.Version != version {
				return nil, head, fmt.Errorf("the archive was written by pawl %.40q in version %d of the form, and this one knows version %d: import it with that pawl", head.Pawl, head.Version, version)
			}
		case l.Archive != nil:
			return nil, head, s.wrong("begins another archive")
		case l.End != nil:
			s.endUnit()
			switch {
			case l.End.Lines != s.lines-1 || l.End.SHA256 != hex.EncodeToString(s.sum.Sum(nil)):
				return nil, head, errors.New("the archive was changed or damaged after it was written: its check sum is wrong")
			case s.at != size:
				return nil, head, errors.New("there is something after the last line of the archive")
			}
			return s.units, head, nil
		case l.Unit != nil:
			s.endUnit()
			s.unit = &Found{Unit: *l.Unit, file: file, from: s.at}
			s.units = append(s.units, s.unit)
			s.wrongIf(s.begin())
		case s.unit == nil:
			return nil, head, s.wrong("belongs to nothing")
		case s.unit.Wrong == nil:
			s.wrongIf(s.line(l))
		}
	}
}

type scanner struct {
	*reader
	file  io.ReaderAt
	size  int64
	units []*Found
	unit  *Found            // the last of units
	seen  map[string]bool   // runs and tasks
	files []task.Attachment // of the task
	state run.State         // of the last run of the unit
	hash  []byte            // of the last event that was read
	rest  *content
}

// content is what the parts that come have to be.
type content struct {
	what string
	left int64
	file *task.Attachment // nil: an output
	sum  hash.Hash
}

func (s *scanner) wrongIf(err error) {
	if err != nil && s.unit.Wrong == nil {
		s.unit.Wrong = err
	}
}

func (s *scanner) begin() error {
	u := s.unit.Unit
	if u.Task == "" {
		return store.CheckID(u.Run)
	}
	if store.CheckTaskID(string(u.Task)) != nil {
		return fmt.Errorf("%.100q is not the id of a task", u.Task)
	}
	return s.first("task " + string(u.Task))
}

// first returns an error if something is in the archive twice.
func (s *scanner) first(what string) error {
	if s.seen[what] {
		return fmt.Errorf("%s is in the archive twice", what)
	}
	s.seen[what] = true
	return nil
}

// line takes the next line of the unit into account. The error says why the unit cannot be imported.
func (s *scanner) line(l Line) (err error) {
	u := s.unit
	if l.Part != nil {
		return s.part(l.Part)
	}
	if err := s.endContent(); err != nil {
		return err
	}
	inTask := u.Unit.Task != "" && len(u.Runs) == 0
	switch {
	case l.TaskEvent != nil && inTask:
		e := l.TaskEvent.TaskEvent
		if u.Hash = store.TaskHash(u.Hash, string(u.Unit.Task), e); !bytes.Equal(u.Hash, l.TaskEvent.Hash) {
			return fmt.Errorf("task %s: event %d does not have the content its hash was made of", u.Unit.Task, e.Seq)
		}
		u.Task.Events = append(u.Task.Events, e)
		return nil
	case l.File != nil && inTask:
		if err := checkFile(*l.File); err != nil {
			return err
		}
		s.files = append(s.files, *l.File)
		s.rest = &content{fmt.Sprintf("the file %.100q", l.File.Name), l.File.Size, l.File, sha256.New()}
		u.Bytes += max(0, l.File.Size)
		return s.first("file " + l.File.ID + " of task " + string(u.Unit.Task))
	case l.Run != nil:
		return s.run(*l.Run)
	}
	if len(u.Runs) == 0 {
		return fmt.Errorf("line %d of the archive is not in its place", s.lines)
	}
	r := &u.Runs[len(u.Runs)-1]
	id := r.Run
	switch {
	case l.Event != nil:
		return s.event(r, *l.Event)
	case l.Inbox != nil:
		r.Inbox = append(r.Inbox, *l.Inbox)
		return s.first("request " + l.Inbox.Key + " to run " + string(id))
	case l.Submission != nil:
		sub := *l.Submission
		if sub.Run != id || sub.Task != string(u.Unit.Task) {
			return fmt.Errorf("run %s has a submission of another run or task", id)
		}
		r.Submissions = append(r.Submissions, sub)
		return s.first(fmt.Sprintf("submission %d with %s of run %s", sub.Assignment, sub.Tool, id))
	case l.Output != nil:
		s.rest = &content{what: fmt.Sprintf("output %.100q of run %s", l.Output.Call, id), left: l.Output.Bytes}
		u.Outputs++
		u.Bytes += max(0, l.Output.Bytes)
		return s.first(s.rest.what)
	}
	return fmt.Errorf("line %d of the archive is not in its place", s.lines)
}

func (s *scanner) run(m store.Moved) error {
	u := s.unit
	if err := store.CheckID(m.Run); err != nil {
		return err
	}
	if err := s.endRun(); err != nil {
		return err
	}
	root := m.Run == m.Root || slices.ContainsFunc(u.Runs, func(r Run) bool { return r.Run == m.Root && r.Root == m.Root })
	if u.Unit.Task == "" && m.Root != u.Unit.Run || !root {
		return fmt.Errorf("run %s is of another conversation, %.100q", m.Run, m.Root)
	}
	m.Events = records(s.file, s.at, s.size)
	u.Runs = append(u.Runs, Run{Moved: m, Summary: store.Summary{ID: m.Run, Root: m.Root}})
	u.Task.Runs = append(u.Task.Runs, m.Run)
	s.state, s.hash = run.State{}, nil
	return s.first("run " + string(m.Run))
}

func (s *scanner) event(r *Run, rec store.Record) error {
	e, err := rec.Event(r.Run, s.hash)
	if err != nil {
		return err
	}
	if s.state, err = s.state.Apply(e); err != nil {
		return fmt.Errorf("run %s: event %d does not follow from those before it: %w", r.Run, rec.Seq, err)
	}
	c := s.state.Created
	if rec.Seq == 1 && (c.Run != r.Run || c.Conversation() != r.Root || (c.Parent == "") != (r.Run == r.Root) ||
		c.Parent != "" && !slices.ContainsFunc(s.unit.Runs, func(other Run) bool { return other.Run == c.Parent && other.Root == r.Root })) {
		return fmt.Errorf("run %s: its log is that of another run, or its parent is not in the archive", r.Run)
	}
	s.hash = rec.Hash
	r.Summary.Add(e)
	return nil
}

// part takes a part of an output or file into account.
func (s *scanner) part(data []byte) error {
	if s.rest == nil {
		return fmt.Errorf("line %d of the archive is not in its place", s.lines)
	}
	if s.rest.file == nil {
		b, err := output.UnpackPart(data)
		if err != nil {
			return fmt.Errorf("%s: %w", s.rest.what, err)
		}
		data = b
	} else {
		s.rest.sum.Write(data)
	}
	s.rest.left -= int64(len(data))
	return nil
}

func (s *scanner) endContent() error {
	c := s.rest
	s.rest = nil
	if c != nil && (c.left != 0 || c.file != nil && hex.EncodeToString(c.sum.Sum(nil)) != c.file.SHA256) {
		return fmt.Errorf("%s: %w", c.what, output.ErrDiffers)
	}
	return nil
}

// endRun checks what comes before another run, or the end of the unit.
func (s *scanner) endRun() (err error) {
	u := s.unit
	if n := len(u.Runs); n > 0 {
		if r := u.Runs[n-1]; s.state.Seq != r.Seq || !bytes.Equal(s.hash, r.Hash) || s.state.Seq == 0 {
			return fmt.Errorf("run %s has %d events in the archive, and not the %d that it is said to have", r.Run, s.state.Seq, r.Seq)
		}
		return nil
	}
	if u.Unit.Task == "" {
		return nil
	}
	if u.Card, u.Task, err = tasklog.Import(u.Unit.Task, u.Task.Events); err != nil {
		return err
	}
	if !slices.Equal(s.files, u.Card.Attachments) {
		return fmt.Errorf("task %s: the files in the archive are not those that are attached to it", u.Unit.Task)
	}
	return nil
}

func (s *scanner) endUnit() {
	if s.unit == nil {
		return
	}
	if s.unit.Wrong == nil {
		s.wrongIf(s.endContent())
		s.wrongIf(s.endRun())
	}
	s.unit.to, s.files, s.rest = s.began, nil, nil
	if s.unit.Unit.Task == "" && len(s.unit.Runs) == 0 {
		s.wrongIf(fmt.Errorf("run %s has no events in the archive", s.unit.Unit.Run))
	}
}

// checkFile returns an error for an attachment that is too large, or whose names are more than the names of a folder and of a
// file in it.
func checkFile(a task.Attachment) error {
	if a.Size > tasklog.MaxAttachment {
		return fmt.Errorf("the file %.100q is larger than %s", a.Name, text.Size(tasklog.MaxAttachment))
	}
	for _, name := range []string{a.ID, a.Name} {
		if name == "" || name == "." || name == ".." || len(name) > 255 || filepath.Base(name) != name || filepath.VolumeName(name) != "" {
			return fmt.Errorf("%.100q is not the name of a file", name)
		}
	}
	return nil
}

// Lines yields the lines of the unit. [Scan] has checked them.
func (u *Found) Lines() iter.Seq2[Line, error] { return lines(u.file, u.from, u.to) }

// lines yields the lines between two places of a file, each of which is valid until the next one is read.
func lines(file io.ReaderAt, from, to int64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		r := newReader(io.NewSectionReader(file, from, to-from), from)
		r.lines = 1 // the first is before it
		for r.at < to {
			l, err := r.next()
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// records yields the events that come from a place of a file on.
func records(file io.ReaderAt, from, size int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for l, err := range lines(file, from, size) {
			switch {
			case err != nil:
				yield(store.Record{}, err)
				return
			case l.Event == nil || !yield(*l.Event, nil):
				return
			}
		}
	}
}

// Name names the unit.
func (u *Found) Name() string {
	if u.Unit.Task != "" {
		return "task " + string(u.Unit.Task)
	}
	return "run " + string(u.Unit.Run)
}
