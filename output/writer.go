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
	"sync/atomic"
)

// A Writer takes an output as it arrives, compresses it and reads what is in it on the
// way. Its memory does not depend on the output's size. It is not safe for concurrent
// use. Every Writer ends with Commit or Abort; until Commit has returned, nobody finds
// the output, and after a crash nobody ever does.
type Writer struct {
	// NoSync: Commit does not wait for the disk, because the result is durable elsewhere.
	// A loss of power may take this copy.
	NoSync bool
	// Mode and Limits say how the result is going to be delivered; see [Meta.Inline].
	// With zero Limits it is not inline.
	Mode   Mode
	Limits Limits

	store *Store
	meta  Meta
	tmp   *os.File
	done  bool
	err   error // that writing met; Commit gives it

	block *block // that is being filled

	// Once there is more than a block, two goroutines take each full one: one
	// compresses and writes, one analyzes. (Most outputs are smaller, and are done by
	// Commit.)
	toCompress chan *block
	toAnalyze  chan *block
	free       chan *block
	compressed chan error
	analyzed   chan struct{}
	writeErr   atomic.Pointer[error]

	// Owned by whoever compresses.
	text   textReader
	frames []frame
	at     int64
	packed []byte

	// Owned by whoever analyzes.
	parsed *analysis
}

// A block is as much as goes into one frame.
type block struct {
	data  []byte
	users atomic.Int32
}

// blocksInFlight bounds a writer's memory: one that is filled, two that wait, and one
// at each of the two goroutines.
const blocksInFlight = 5

// Write adds to the output.
func (w *Writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, errors.New("output: write after the end")
	}
	if w.err != nil {
		return 0, w.err
	}
	n := 0
	for n < len(p) {
		if w.block == nil {
			w.block = w.newBlock()
		}
		if cap(w.block.data) < frameSize { // small outputs need no whole frame
			need := min(len(w.block.data)+len(p)-n, frameSize)
			if need > cap(w.block.data) {
				w.block.data = append(make([]byte, 0, min(max(2*need, 4096), frameSize)), w.block.data...)
			}
		}
		k := min(len(p)-n, frameSize-len(w.block.data))
		w.block.data = append(w.block.data, p[n:n+k]...)
		n += k
		if len(w.block.data) == frameSize {
			w.hand(w.block)
			w.block = nil
			if failed := w.writeErr.Load(); failed != nil {
				w.err = *failed
				return n, w.err
			}
		}
	}
	return n, nil
}

func (w *Writer) newBlock() *block {
	if w.free == nil {
		return &block{}
	}
	b := <-w.free
	if b == nil {
		b = &block{data: make([]byte, 0, frameSize)}
	}
	b.data = b.data[:0]
	return b
}

// hand gives a full block to the goroutines, which it starts at the first one.
func (w *Writer) hand(b *block) {
	if w.toCompress == nil {
		toCompress, toAnalyze := make(chan *block, 1), make(chan *block, 1)
		w.toCompress, w.toAnalyze = toCompress, toAnalyze
		w.free = make(chan *block, blocksInFlight)
		for range blocksInFlight - 1 {
			w.free <- nil // to be made when it is needed
		}
		w.compressed, w.analyzed = make(chan error, 1), make(chan struct{})
		go func() {
			var err error
			for b := range toCompress {
				if err == nil {
					if err = w.compress(b.data); err != nil {
						w.writeErr.Store(&err)
					}
				}
				w.release(b)
			}
			w.compressed <- err
		}()
		head := bytes.Clone(b.data[:min(len(b.data), 64<<10)])
		go func() {
			defer close(w.analyzed)
			r := &blockReader{w: w, from: toAnalyze}
			w.analyze(r, head, false)
			_, _ = io.Copy(io.Discard, r) // what it did not want to see
		}()
	}
	b.users.Store(2)
	w.toCompress <- b
	w.toAnalyze <- b
}

func (w *Writer) release(b *block) {
	if b.users.Add(-1) == 0 {
		w.free <- b
	}
}

// blockReader reads the blocks that come to be analyzed.
type blockReader struct {
	w    *Writer
	from <-chan *block
	b    *block
	left []byte
}

func (r *blockReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.b != nil {
			r.w.release(r.b)
			r.b = nil
		}
		b, ok := <-r.from
		if !ok {
			return 0, io.EOF
		}
		r.b, r.left = b, b.data
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// compress writes one frame.
func (w *Writer) compress(p []byte) error {
	w.frames = append(w.frames, frame{At: w.at, Lines: w.text.figures.Lines, Chars: w.text.figures.Characters})
	w.text.add(p)
	var err error
	if w.packed, err = compress(w.packed[:0], p); err != nil {
		return err
	}
	return w.write(w.packed)
}

func (w *Writer) write(p []byte) error {
	n, err := w.tmp.Write(p)
	w.at += int64(n)
	return err
}

// analyze finds out what the output is and, if it can be seen as JSON, what is in it.
func (w *Writer) analyze(r io.Reader, head []byte, complete bool) {
	w.meta.Format = detect(head, complete)
	switch {
	case w.meta.Format == Binary:
		w.meta.MediaType = mediaType(head)
	case w.meta.Format == CSV:
		a, err := analyze(context.Background(), newCSV(r), &builder{})
		if err != nil {
			w.meta.Format, w.meta.Problem = Text, err.Error()
			return
		}
		w.parsed = a
	case w.meta.Format == YAML && complete:
		text, err := io.ReadAll(r)
		if err == nil {
			text, err = yamlJSON(text)
		}
		if err == nil {
			w.parsed, err = analyze(context.Background(), bytes.NewReader(text), &builder{})
		}
		if err != nil {
			w.meta.Format, w.parsed = Text, nil // many texts look a little like YAML
		}
	case w.meta.Format != YAML && looksJSON(head):
		a, err := analyze(context.Background(), r, &builder{marked: true})
		switch {
		case err == nil && a.Lines:
			w.meta.Format, w.parsed = JSONLines, a
		case err == nil:
			w.meta.Format, w.parsed = JSON, a
		default:
			w.meta.Problem = a.problem(err)
		}
	}
}

// Commit ends the output. When it returns without an error, the output can be found and,
// but for NoSync, is on the disk for good; with one, there is none. An output of the
// same call that was there before is replaced.
func (w *Writer) Commit(success bool) (_ *Output, err error) {
	if w.done {
		return nil, errors.New("output: commit after the end")
	}
	w.meta.Success = success
	defer func() {
		w.Abort()
		if err != nil {
			err = fmt.Errorf("store the output of call %s: %w", w.meta.ID, err)
		}
	}()
	if err := w.finish(); err != nil {
		return nil, err
	}
	if err := w.writeIndex(); err != nil {
		return nil, err
	}
	if !w.NoSync {
		if err := w.tmp.Sync(); err != nil {
			return nil, err
		}
	}
	if err := w.tmp.Close(); err != nil {
		return nil, err
	}
	name := w.store.file(w.meta.Conversation, w.meta.Run, w.meta.ID)
	if err := w.publish(name); err != nil {
		return nil, err
	}
	if !w.NoSync {
		if err := syncFolder(filepath.Dir(name)); err != nil {
			_ = os.Remove(name) // it might be gone after a crash, so it never was
			return nil, err
		}
	}
	return openFile(name)
}

// publish gives the finished file its name.
func (w *Writer) publish(name string) error {
	const attempts = 3 // Prune may take the empty folder away in between
	var err error
	for range attempts {
		if err = w.store.makeFolder(filepath.Dir(name)); err != nil {
			return err
		}
		if err = os.Rename(w.tmp.Name(), name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// finish does what is left to do with the bytes.
func (w *Writer) finish() error {
	last := w.block
	w.block = nil
	if w.toCompress == nil { // all of it is here
		var p []byte
		if last != nil {
			p = last.data
		}
		w.analyze(bytes.NewReader(p), p, true)
		if len(p) == 0 {
			return w.err
		}
		return errors.Join(w.err, w.compress(p))
	}
	if last != nil && len(last.data) > 0 {
		w.hand(last)
	}
	return errors.Join(w.err, w.stop())
}

// stop ends the goroutines and waits for them.
func (w *Writer) stop() error {
	if w.toCompress == nil {
		return nil
	}
	close(w.toCompress)
	close(w.toAnalyze)
	w.toCompress, w.toAnalyze = nil, nil
	err := <-w.compressed
	<-w.analyzed
	return err
}

// writeIndex writes what stands behind the frames.
func (w *Writer) writeIndex() error {
	w.meta.Text = w.text.finish()
	if w.meta.Format != Binary {
		w.meta.Inline, _ = w.Limits.inline(w.Mode, w.meta.Characters())
	}
	if w.parsed != nil {
		w.meta.Skeleton = w.parsed.skel
		w.meta.Summary = summarize(w.parsed.Shape, w.parsed.skel)
	}
	if w.meta.Format == Binary {
		w.meta.Text.First, w.meta.Text.Last = nil, nil
	}
	parts := make([][]byte, 2)
	for i, v := range []any{fileIndex{Frames: w.frames, End: w.at, Parsed: w.parsed}, w.meta} {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if parts[i], err = inSkippable(b); err != nil {
			return err
		}
	}
	return w.write(append(append(parts[0], parts[1]...), trailer(len(parts[0]), len(parts[1]))...))
}

// Abort ends the output and leaves nothing of it. After Commit it does nothing.
func (w *Writer) Abort() {
	if w.done {
		return
	}
	w.done = true
	_ = w.stop()
	_ = w.tmp.Close()
	_ = os.Remove(w.tmp.Name()) // after a commit it is not there any more
}
