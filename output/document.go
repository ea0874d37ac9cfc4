package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"pawl/output/jsonpath"
)

// A Document is an output, or any other file, that can be asked. It may be used by
// several goroutines at once.
//
// Questions see JSON Lines as one array of all values, CSV as an array of objects and
// YAML as the same in JSON. What an index knows is answered from it; what it can find
// the place of is read from there; everything else is read from front to back, in
// memory that does not grow with the document.
type Document struct {
	Name    string // for errors
	format  Format
	problem string
	raw     io.ReaderAt
	size    int64
	text    *textFigures // nil: not known
	frames  []frame      // to find lines and characters; nil: not known

	analysis *analysis // nil: not known

	view viewOnce
}

// viewOnce is what questions see of a document, made when the first one is asked.
type viewOnce struct {
	sync.Once
	err    error
	at     io.ReaderAt // nil: only from front to back, by reopen
	size   int64
	reopen func() (io.ReadCloser, error)
	data   []byte // all of it, if it is in memory
}

// WrittenIn returns the format of the document.
func (d *Document) WrittenIn() Format { return d.format }

// File returns a file as a document without an index, and what closes it.
func File(name string) (*Document, io.Closer, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder", name)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	d, err := NewDocument(name, f, info.Size())
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return d, f, nil
}

// NewDocument returns what is in r as a document without an index. Its format is
// guessed from its beginning.
func NewDocument(name string, r io.ReaderAt, size int64) (*Document, error) {
	const looked = 1 << 20
	head := make([]byte, min(size, looked))
	if n, err := r.ReadAt(head, 0); n < len(head) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	complete := int64(len(head)) == size
	d := &Document{Name: name, raw: r, size: size, format: detect(head, complete)}
	if d.format == Binary || d.format == CSV || d.format == YAML || !looksJSON(head) {
		return d, nil
	}
	a, err := analyze(context.Background(), bytes.NewReader(head), &builder{sample: true})
	switch goesOn := errors.Is(err, io.ErrUnexpectedEOF) && !complete; {
	case err != nil && !goesOn:
		d.problem = a.problem(err)
	case a.Lines:
		d.format = JSONLines
	case opensJSON(head) || err == nil:
		d.format = JSON
	}
	return d, nil
}

// NotJSONError is for a question that only JSON can be asked.
type NotJSONError struct {
	Name    string
	Format  Format
	Problem string // where it stops being JSON, if it looks like it
}

func (e *NotJSONError) Error() string {
	what := fmt.Sprintf("%s is not JSON (it is %s)", e.Name, e.Format)
	if e.Format == Empty {
		what = e.Name + " is empty"
	}
	if e.Problem != "" {
		what = fmt.Sprintf("%s is not JSON throughout: %s", e.Name, e.Problem)
	}
	return what + ": use read or search"
}

// prepare makes the view.
func (d *Document) prepare() error {
	v := &d.view
	v.Do(func() {
		switch d.format {
		case JSON:
			v.at, v.size = d.raw, d.size
		case JSONLines:
			var l *linesAsArray
			if l, v.err = newLinesAsArray(d.raw, d.size); v.err == nil {
				v.at, v.size = l, l.length()
			}
		case CSV:
			v.reopen = func() (io.ReadCloser, error) {
				return io.NopCloser(newCSV(io.NewSectionReader(d.raw, 0, d.size))), nil
			}
		case YAML:
			text := make([]byte, min(d.size, maxYAML+1))
			if n, err := d.raw.ReadAt(text, 0); n < len(text) {
				v.err = err
				return
			}
			if d.size > maxYAML {
				v.err = fmt.Errorf("this YAML has %s, and only %s are read as JSON: use read or search", byteSize(d.size), byteSize(maxYAML))
				return
			}
			if text, v.err = yamlJSON(text); v.err == nil {
				v.at, v.size = bytes.NewReader(text), int64(len(text))
			}
		default:
			v.err = &NotJSONError{d.Name, d.format, d.problem}
		}
	})
	return v.err
}

// reader returns the view from front to back.
func (d *Document) reader() (io.ReadCloser, error) {
	if d.view.at != nil {
		return io.NopCloser(io.NewSectionReader(d.view.at, 0, d.view.size)), nil
	}
	return d.view.reopen()
}

func (d *Document) source() jsonpath.Source {
	switch {
	case d.view.data != nil:
		return jsonpath.Bytes(d.view.data)
	case d.view.at != nil:
		return jsonpath.ReaderAt(d.view.at, d.view.size)
	}
	return jsonpath.Reopen(d.view.reopen)
}

// shape returns the shape of the document if the index has it, else nil.
func (d *Document) shape() *shape {
	if d.analysis == nil {
		return nil
	}
	return d.analysis.Shape
}

// A node is what a path selects.
type node struct {
	path string // normalized
	raw  []byte // as written, valid until the next; nil if it is larger than was asked for
	kind kind
	size int64
	from int64 // offset in the view
}

// memory is how much a question may hold for one purpose, in bytes. Several purposes
// come together in a question, and all of it is to stay below 64 MiB.
const memory = 8 << 20

// query is how each is to go about it.
type query struct {
	path  *jsonpath.Path
	where *jsonpath.Filter
	// most is up to which size nodes come with their text.
	most int64
	// places asks for node.path.
	places bool
	// enough, once it is true, says that only the number of nodes is of interest.
	enough *bool
}

func (q *query) quiet() bool { return q.enough != nil && *q.enough }

// each calls found for what a path selects until it returns false. It goes to where the
// index knows it to be, if it does.
//
// The order is that of RFC 9535 but for paths with a descendant segment (..), which are
// in the order of the document: the order of the RFC would need a reading of its own
// for each level.
func (d *Document) each(ctx context.Context, q query, found func(node) bool) error {
	if done, err := d.jump(ctx, q, found); done || err != nil {
		return err
	}
	return d.scan(ctx, q, found)
}

func (d *Document) scan(ctx context.Context, q query, found func(node) bool) error {
	opt := jsonpath.Options{Limit: memory, Where: q.where, NoRaw: d.view.at != nil}
	if _, _, simple := stepsOf(q.path); !simple && strings.Contains(q.path.String(), "..") {
		opt.Order = jsonpath.DocumentOrder
	}
	var buf []byte
	var failed error
	err := q.path.Stream(ctx, d.source(), opt, func(m jsonpath.Match) bool {
		n := node{size: m.Size, from: m.Offset, raw: m.Raw}
		if q.quiet() {
			return found(n)
		}
		if d.view.at != nil {
			want := m.Size
			if m.Size > q.most {
				want = 1 // to see what it is
			}
			buf = grow(buf, want)
			if _, failed = d.view.at.ReadAt(buf, m.Offset); failed != nil && failed != io.EOF {
				return false
			}
			failed = nil
			n.raw = buf
		}
		n.kind = kindOf(n.raw[0])
		if m.Size > q.most {
			n.raw = nil
		}
		if q.places {
			n.path = string(m.Path())
		}
		return found(n)
	})
	if failed != nil {
		return failed
	}
	return err
}

func grow(b []byte, n int64) []byte {
	if int64(cap(b)) < n {
		return make([]byte, n)
	}
	return b[:n]
}
