package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"pawl/internal/text"
	"pawl/output/jsonpath"
)

// A Document is an output, or any other file, that can be asked. It may be used by
// several goroutines at once.
//
// Questions see JSON Lines as one array of all values, CSV as an array of objects and
// YAML as the same in JSON. What the index of a stored output has is answered from it;
// everything else is read from front to back, in memory that does not grow with the
// document.
type Document struct {
	Name    string // for errors
	format  Format
	problem string // why it is not JSON, if it looks like it
	raw     io.ReaderAt
	size    int64
	text    *textFigures // nil: not known
	frames  []frame      // to find lines and characters; nil: not known

	analysis *analysis // nil: not known

	once sync.Once
	view jsonpath.Source // what questions see, made when the first one is asked
	yaml []byte          // the view of YAML
	err  error           // why there is no view
}

// File returns a file as a document without an index. The caller closes the file.
func File(name string, f *os.File) (*Document, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return newDocument(name, f, info.Size())
}

// newDocument returns what is in r as a document without an index. Its format is guessed
// from its beginning.
func newDocument(name string, r io.ReaderAt, size int64) (*Document, error) {
	const looked = 1 << 20
	head := make([]byte, min(size, looked))
	if n, err := r.ReadAt(head, 0); n < len(head) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	complete := int64(len(head)) == size
	d := &Document{Name: name, raw: r, size: size, format: detectNamed(name, head, complete)}
	if d.format == Binary || d.format == CSV || d.format == YAML || !looksJSON(head) {
		return d, nil
	}
	a, err := analyze(context.Background(), bytes.NewReader(head))
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

// A notJSONError is for a question that only JSON can be asked.
type notJSONError struct{ *Document }

func (e notJSONError) Error() string {
	what := fmt.Sprintf("%s is not JSON (it is %s)", e.Name, e.format)
	switch e.format {
	case Empty:
		return e.Name + " is empty"
	case Binary:
		return e.Name + " is binary, and cannot be read or searched"
	}
	if e.problem != "" {
		what = fmt.Sprintf("%s is not JSON throughout: %s", e.Name, e.problem)
	}
	return what + ": use read or search"
}

// source returns the document as questions see it.
func (d *Document) source() (jsonpath.Source, error) {
	d.once.Do(func() {
		switch d.format {
		case JSON:
			d.view = jsonpath.ReaderAt(d.raw, d.size)
		case JSONLines:
			var l *linesAsArray
			if l, d.err = newLinesAsArray(d.raw, d.size); d.err == nil {
				d.view = jsonpath.ReaderAt(l, l.length())
			}
		case CSV:
			d.view = jsonpath.Reopen(func() (io.ReadCloser, error) { return io.NopCloser(newCSV(d.Reader())), nil })
		case YAML:
			if d.size > maxYAML {
				d.err = errYAMLSize(d.size)
				return
			}
			if d.yaml, d.err = d.all(); d.err == nil {
				d.yaml, d.err = yamlJSON(d.yaml)
			}
			d.view = jsonpath.Bytes(d.yaml)
		default:
			d.err = notJSONError{d}
		}
	})
	return d.view, d.err
}

// Reader returns the document as it was written.
func (d *Document) Reader() io.Reader { return io.NewSectionReader(d.raw, 0, d.size) }

// all returns the document as it was written.
func (d *Document) all() ([]byte, error) {
	b := make([]byte, d.size)
	if n, err := d.raw.ReadAt(b, 0); n < len(b) {
		return nil, err
	}
	return b, nil
}

// shape returns the shape of the document if the index has it, else nil.
func (d *Document) shape() *shape {
	if d.analysis == nil {
		return nil
	}
	return d.analysis.Shape
}

// memory is how much a question may hold for one purpose, in bytes. Several purposes
// come together in a question, and all of it is to stay below 64 MiB.
const memory = 8 << 20

// each calls found for what a path selects until it returns false.
func (d *Document) each(ctx context.Context, p *jsonpath.Path, opt jsonpath.Options, found func(jsonpath.Match) bool) error {
	src, err := d.source()
	if err != nil {
		return err
	}
	opt.Limit = memory
	return p.Stream(ctx, src, opt, found)
}

// count returns how many nodes a path selects.
func (d *Document) count(ctx context.Context, p *jsonpath.Path, where *jsonpath.Filter) (int64, error) {
	src, err := d.source()
	if err != nil {
		return 0, err
	}
	return p.Count(ctx, src, jsonpath.Options{Limit: memory, Where: where})
}

// Values calls found for each value that a path selects, however large, with its
// normalized path, until it returns an error. What found does not read is passed over.
func (d *Document) Values(ctx context.Context, path string, found func(path string, size int64, value io.Reader) error) error {
	p, err := d.parse(path)
	if err != nil {
		return d.explain("extract", err)
	}
	var failed error
	err = d.each(ctx, p, jsonpath.Options{MaxRaw: smallValue}, func(m jsonpath.Match) bool {
		failed = d.open(m, func(r io.Reader) error { return found(string(m.Path()), m.Size, r) })
		return failed == nil
	})
	return errors.Join(failed, d.explain("extract", err))
}

// smallValue is up to how many bytes a value is held in memory where it can also be read
// again.
const smallValue = 64 << 10

// open calls use with what is written of a match, which is read again if it has no Raw.
func (d *Document) open(m jsonpath.Match, use func(io.Reader) error) error {
	if m.Raw != nil {
		return use(bytes.NewReader(m.Raw))
	}
	r, err := d.view.Section(m.Offset, m.Size)
	if err != nil {
		return err
	}
	return errors.Join(use(r), r.Close())
}

// explain says which output a question was about when an error came.
func (d *Document) explain(tool string, err error) error {
	if err == nil {
		return nil
	}
	var limit *jsonpath.LimitError
	switch {
	case errors.As(err, &limit):
		return fmt.Errorf("tool_outputs.%s of %s: this would have to hold more than %s at once, for %s at byte %d: ask for a smaller part, or without a filter over such large values",
			tool, d.Name, text.Size(limit.Limit), limit.Why, limit.Offset)
	case isNotJSON(err):
		return fmt.Errorf("tool_outputs.%s of %s: %w: use read or search to look at it", tool, d.Name, err)
	}
	return fmt.Errorf("tool_outputs.%s of %s: %w", tool, d.Name, err)
}
