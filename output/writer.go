package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pawl/internal/atomicfile"
)

// A Writer takes an output as it arrives, compresses it and analyzes it on the way. Its
// memory does not depend on the output's size. It is not safe for concurrent use. Every
// Writer ends with Commit or Abort; until Commit has returned, the output is not found,
// and after a crash it never is.
type Writer struct {
	// Mode and Limits say how the result is going to be delivered; see [Meta.Inline].
	// With zero Limits it is not inline.
	Mode   Mode
	Limits Limits

	store *Store
	meta  Meta
	tmp   *os.File // nil until something is written to it
	done  bool
	err   error // of writing; Commit returns it

	restored *textFigures // of an output that was stored elsewhere

	text   textReader
	frames []frame
	at     int64  // in tmp
	packed []byte // scratch
	parsed *analysis

	// block is being filled, to become a frame. Once there is more than one, each full one
	// is analyzed by a goroutine while it is compressed here; free are those it is done with.
	block    []byte
	blocks   chan []byte
	free     chan []byte
	analyzed chan struct{}
}

// Write adds to the output.
func (w *Writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, errors.New("output: write after the end")
	}
	n := 0
	for n < len(p) && w.err == nil {
		k := min(len(p)-n, frameSize-len(w.block))
		w.block = append(w.block, p[n:n+k]...)
		n += k
		if len(w.block) == frameSize {
			w.err = w.flush()
		}
	}
	return n, w.err
}

// flush hands the full block on.
func (w *Writer) flush() error {
	if w.blocks == nil {
		w.blocks, w.free, w.analyzed = make(chan []byte, 1), make(chan []byte, 4), make(chan struct{})
		for range 2 {
			w.free <- make([]byte, 0, frameSize)
		}
		r := &blockReader{from: w.blocks, free: w.free}
		head := bytes.Clone(w.block[:min(len(w.block), detected)])
		go func() {
			defer close(w.analyzed)
			w.analyze(r, head, false)
			_, _ = io.Copy(io.Discard, r) // what the analysis did not read
		}()
	}
	b := w.block
	w.blocks <- b
	err := w.compress(b)
	w.block = (<-w.free)[:0]
	return err
}

// blockReader reads the blocks that come to be analyzed.
type blockReader struct {
	from  <-chan []byte
	free  chan<- []byte
	block []byte
	left  []byte
}

func (r *blockReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.block != nil {
			r.free <- r.block
		}
		if r.block = <-r.from; r.block == nil {
			return 0, io.EOF
		}
		r.left = r.block
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// compress writes one frame.
func (w *Writer) compress(p []byte) (err error) {
	w.frames = append(w.frames, frame{At: w.at, Lines: w.text.figures.Lines, Chars: w.text.figures.Characters})
	w.text.add(p)
	if w.packed, err = compress(w.packed[:0], p); err != nil {
		return err
	}
	return w.write(w.packed)
}

func (w *Writer) write(p []byte) error {
	if w.tmp == nil {
		if err := w.create(); err != nil {
			return err
		}
	}
	n, err := w.tmp.Write(p)
	w.at += int64(n)
	return err
}

// create makes the file. Of an output of less than a frame that is part of Commit, which
// the call that wrote it need not wait for.
func (w *Writer) create() (err error) {
	folder := filepath.Join(w.store.dir, tmpFolder)
	if err = atomicfile.MkdirAll(folder, atomicfile.Durable); err != nil {
		return fmt.Errorf("make a folder for outputs: %w", err)
	}
	w.tmp, err = os.CreateTemp(folder, "*"+fileEnding)
	return err
}

// analyze finds out what the output is and, if it can be seen as JSON, what is in it.
func (w *Writer) analyze(r io.Reader, head []byte, complete bool) {
	var err error
	switch w.meta.Format = detect(head, complete); {
	case w.meta.Format == Binary:
		w.meta.MediaType = mediaType(head)
	case w.meta.Format == CSV:
		if w.parsed, err = analyze(context.Background(), newCSV(r)); err != nil {
			w.meta.Format, w.meta.Problem, w.parsed = Text, err.Error(), nil
		}
	case w.meta.Format == YAML && complete:
		converted, err := yamlJSON(head)
		if err == nil {
			w.parsed, err = analyze(context.Background(), bytes.NewReader(converted))
		}
		if err != nil { // many texts look a little like YAML
			w.meta.Format, w.parsed = Text, nil
		}
	case w.meta.Format != YAML && looksJSON(head):
		a, err := analyze(context.Background(), r)
		switch {
		case err != nil:
			w.meta.Problem = a.problem(err)
		case a.Lines:
			w.meta.Format, w.parsed = JSONLines, a
		default:
			w.meta.Format, w.parsed = JSON, a
		}
	}
}

// Commit ends the output. When it returns without an error, the output can be found and
// is durable; with an error there is none. An output of the same call that
// was there before is replaced.
func (w *Writer) Commit(success bool) (*Output, error) {
	if w.done {
		return nil, errors.New("output: commit after the end")
	}
	w.meta.Success = success
	o, err := w.publish()
	if err != nil {
		w.Abort()
		return nil, fmt.Errorf("store the output of call %s: %w", w.meta.ID, err)
	}
	w.done = true
	w.store.account(o.Stored, w.meta.Created)
	return o, nil
}

// finish writes what is left to write.
func (w *Writer) finish() error {
	if w.blocks == nil { // all of it is here
		w.analyze(bytes.NewReader(w.block), w.block, true)
	}
	if len(w.block) > 0 && w.err == nil {
		if w.blocks != nil {
			w.blocks <- w.block
		}
		w.err = w.compress(w.block)
	}
	w.stop()
	if w.err != nil {
		return w.err
	}
	w.describe()
	if w.restored != nil {
		if err := w.checkRestored(); err != nil {
			return err
		}
	} else if w.meta.Format != Binary {
		w.meta.Inline, _ = w.Limits.inline(w.Mode, w.meta.Characters())
	}
	var end []byte
	var sizes [2]int
	for i, v := range []any{fileIndex{Frames: w.frames, End: w.at, Parsed: w.parsed}, w.meta} {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if b, err = inSkippable(b); err != nil {
			return err
		}
		end, sizes[i] = append(end, b...), len(b)
	}
	return w.write(append(end, trailer(sizes[0], sizes[1])...))
}

// describe puts into the meta what the text and its analysis say.
func (w *Writer) describe() {
	w.meta.Text = w.text.finish()
	if w.meta.Format == Binary {
		w.meta.Text.First, w.meta.Text.Last = nil, nil
	}
	if w.parsed != nil {
		w.meta.Skeleton = w.parsed.skel
		w.meta.Summary = summarize(w.parsed.Shape, w.parsed.skel)
	}
}

// publish finishes the file and gives it its name. The file stays open, so that nothing
// can go wrong after that.
func (w *Writer) publish() (*Output, error) {
	if err := w.finish(); err != nil {
		return nil, err
	}
	if w.store.shared != nil {
		return w.share()
	}
	if err := w.tmp.Sync(); err != nil {
		return nil, err
	}
	o, err := openLocal(w.tmp)
	if err != nil {
		return nil, err
	}
	name := w.store.file(w.meta.Conversation, w.meta.Run, w.meta.ID)
	const attempts = 3 // Prune may remove the empty folder in between
	for range attempts {
		if err = atomicfile.MkdirAll(filepath.Dir(name), atomicfile.Durable); err != nil {
			return nil, err
		}
		if err = os.Rename(w.tmp.Name(), name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err == nil {
		if err = atomicfile.SyncDir(filepath.Dir(name)); err != nil {
			_ = os.Remove(name) // it might be gone after a crash
		}
	}
	return o, err
}

// stop ends the goroutine and waits for it.
func (w *Writer) stop() {
	if w.blocks != nil {
		close(w.blocks)
		<-w.analyzed
		w.blocks = nil
	}
}

// Abort ends the output and leaves nothing of it. After Commit it does nothing.
func (w *Writer) Abort() {
	if w.done {
		return
	}
	w.done = true
	w.stop()
	if w.tmp != nil {
		_ = w.tmp.Close()
		_ = os.Remove(w.tmp.Name())
	}
}

// ErrTooLarge says that what was to be stored is larger than it may be.
var ErrTooLarge = errors.New("it is too large")
