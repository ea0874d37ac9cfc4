// Package archive is the form in which runs and tasks move from one store to another: written, read and checked.
//
// An archive is a text. Each line is a JSON object with one key, which says what the line is:
//
//	archive     the first line: the version of the form, the pawl that wrote it, what is not moved
//	unit        begins what moves together: a task with its runs, or a conversation, named by its root run
//	task_event  an event of the task, with the hash that it has in a store without a key
//	file        a file that is attached to the task
//	run         a run, parents first; then each event as it is stored, with its hash, what its inbox has, each submission,
//	            and each stored output
//	part        of the file or output before it: a file as it is, an output in zstd frames of at most 1 MiB of it (base64)
//	end         the last line: how many lines are before it, and the SHA-256 of their bytes
//
// So it can be written to a pipe, nothing has to be known of its size before, and other programs can read it.
package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"reflect"
	"time"

	"pawl/internal/text"
	"pawl/output"
	"pawl/run"
	"pawl/store"
	"pawl/task"
)

// version is that of the form. It rises with a change that an older pawl must not overlook.
const version = 1

// maxLine bounds a line, in bytes. The longest are events with what a model has answered, or with pictures.
const maxLine = 64 << 20

// PartSize is how many bytes of a file a part has.
const PartSize = 1 << 20

// A Line is a line of an archive: one of its fields is not nil.
type Line struct {
	Archive    *Header           `json:"archive,omitempty"`
	Unit       *Unit             `json:"unit,omitempty"`
	TaskEvent  *TaskEvent        `json:"task_event,omitempty"`
	File       *task.Attachment  `json:"file,omitempty"`
	Run        *store.Moved      `json:"run,omitempty"`
	Event      *store.Record     `json:"event,omitempty"`
	Inbox      *store.MovedRow   `json:"inbox,omitempty"`
	Submission *store.Submission `json:"submission,omitempty"`
	Output     *Output           `json:"output,omitempty"`
	Part       []byte            `json:"part,omitempty"`
	End        *End              `json:"end,omitempty"`
}

// A Header begins an archive.
type Header struct {
	Version  int      `json:"version"`
	Pawl     string   `json:"pawl"`
	Written  string   `json:"written"` // the time, for people
	NotMoved []string `json:"not_moved"`
}

// NotMoved is what an archive does not have, because it is about one machine.
var NotMoved = []string{
	"the workspace and copies of it", "the journal of edits, so edits are not undone elsewhere",
	"conversations that the programs of external agents keep", "rules that were stored for one run",
}

// A Unit begins what moves together: one of its fields is not empty.
type Unit struct {
	Task task.ID `json:"task,omitempty"`
	Run  run.ID  `json:"run,omitempty"`
}

// A TaskEvent is an event of a task.
type TaskEvent struct {
	store.TaskEvent
	Hash []byte `json:"hash"`
}

// An Output is what is known of a stored output, but for what follows from its content.
type Output struct {
	Call       run.CallID `json:"call"`
	Tool       string     `json:"tool"`
	Message    string     `json:"message,omitempty"`
	Created    time.Time  `json:"created"`
	Success    bool       `json:"success"`
	Inline     bool       `json:"inline,omitempty"`
	Bytes      int64      `json:"bytes"`
	Characters int64      `json:"characters"`
	Lines      int64      `json:"lines"`
}

// OutputOf returns an output as it is in an archive.
func OutputOf(m output.Meta) *Output {
	return &Output{m.ID, m.Tool, m.Message, m.Created, m.Success, m.Inline, m.Text.Bytes, m.Text.Characters, m.Text.Lines}
}

// Meta returns what is known of the output of a run.
func (o Output) Meta(of store.Moved) output.Meta {
	m := output.Meta{ID: o.Call, Run: of.Run, Conversation: of.Root, Tool: o.Tool, Message: o.Message, Created: o.Created, Success: o.Success, Inline: o.Inline}
	m.Text.Bytes, m.Text.Characters, m.Text.Lines = o.Bytes, o.Characters, o.Lines
	return m
}

// An End ends an archive.
type End struct {
	Lines  int64  `json:"lines"`
	SHA256 string `json:"sha256"`
}

// A Writer writes an archive.
type Writer struct {
	out *bufio.Writer
	end End
	sum hash.Hash
}

// NewWriter begins an archive that this version of pawl writes now.
func NewWriter(out io.Writer, pawl string, now time.Time) (*Writer, error) {
	w := &Writer{out: bufio.NewWriterSize(out, 64<<10), sum: sha256.New()}
	return w, w.Put(Line{Archive: &Header{version, pawl, now.UTC().Format(time.RFC3339), NotMoved}})
}

// Put writes a line.
func (w *Writer) Put(l Line) error {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false) // code is full of < and &
	if err := e.Encode(l); err != nil {
		return err
	}
	if buf.Len() > maxLine {
		return fmt.Errorf("an event of %s is larger than what an archive can have, %s", text.Size(int64(buf.Len())), text.Size(maxLine))
	}
	w.end.Lines++
	w.sum.Write(buf.Bytes())
	_, err := w.out.Write(buf.Bytes())
	return err
}

// Close ends the archive. Without it what was written is not one.
func (w *Writer) Close() error {
	w.end.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	return errors.Join(w.Put(Line{End: &w.end}), w.out.Flush())
}

// A reader reads the lines of an archive, which may be anything.
type reader struct {
	in     *bufio.Reader
	began  int64 // where the last line begins
	at     int64 // where the next line begins
	lines  int64
	sum    hash.Hash // of the lines before the last that was read
	last   []byte
	buffer []byte
}

func newReader(in io.Reader, at int64) *reader {
	return &reader{in: bufio.NewReaderSize(in, 64<<10), at: at, sum: sha256.New()}
}

// ErrCut says that an archive has no end.
var ErrCut = errors.New("the archive was cut: it has no last line")

// next returns the next line, which is valid until the one after it is read.
func (r *reader) next() (l Line, err error) {
	r.sum.Write(r.last)
	r.began, r.buffer = r.at, r.buffer[:0]
	r.lines++
	for more := true; more; {
		part, err := r.in.ReadSlice('\n')
		r.buffer = append(r.buffer, part...)
		switch {
		case len(r.buffer) > maxLine:
			return l, r.wrong("is longer than %s", text.Size(maxLine))
		case err == io.EOF && r.lines == 1:
			return l, errNone
		case err == io.EOF:
			return l, ErrCut
		case err == nil:
			more = false
		case err != bufio.ErrBufferFull:
			return l, err
		}
	}
	r.last = r.buffer
	err = json.Unmarshal(r.buffer, &l)
	known := 0
	for _, field := range reflect.ValueOf(l).Fields() {
		if !field.IsNil() {
			known++
		}
	}
	switch {
	case r.lines == 1 && l.Archive == nil:
		return l, errNone
	case err != nil:
		return l, r.wrong("is not one of an archive: %v", err)
	case known != 1:
		return l, r.wrong("is not one that this pawl knows")
	}
	r.at += int64(len(r.buffer))
	return l, nil
}

var errNone = errors.New("this is not an archive: `pawl runs export --format archive` writes one")

func (r *reader) wrong(format string, args ...any) error {
	return fmt.Errorf("line %d of the archive "+format, append([]any{r.lines}, args...)...)
}
