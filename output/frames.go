package output

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A stored output is one file, so that it is there whole or not at all:
//
//	frame … frame   zstd, each of frameSize bytes of the output (the last of fewer)
//	index           a zstd frame inside of a skippable frame: fileIndex
//	meta            the same: Meta
//	trailer         a skippable frame of fixed size: how long the two before it are
//
// Skippable frames are part of the format (RFC 8878 section 3.1.2, read 2026-11-20), so
// zstd -d gives the output of any such file. Frames end with a checksum of their own.

const (
	// frameSize is how much has to be decompressed to read one byte. At 1 MiB that is
	// one to two milliseconds, and larger frames compress hardly better.
	frameSize = 1 << 20

	// skippable is the magic number of the first kind of skippable frames.
	skippable = 0x184D2A50

	// trailerMagic begins a trailer's content; its last digit is the version of all this.
	trailerMagic = "pawlout1"
	trailerSize  = 8 + len(trailerMagic) + 2*8
)

// A frame is where the frames of a file begin, and what of the text is before them.
type frame struct {
	At    int64 `json:"at"`    // in the file
	Lines int64 `json:"lines"` // line breaks before it
	Chars int64 `json:"chars"` // characters before it
}

// fileIndex is what questions need and lists do not.
type fileIndex struct {
	Frames []frame   `json:"frames"`
	End    int64     `json:"end"`                // of the last frame, in the file
	Parsed *analysis `json:"analysis,omitempty"` // of what is JSON
}

// An encoder is large; it is made when first used and shared, as its documentation
// allows for EncodeAll. The fastest level stores about twice as fast as the default
// level and makes JSON about a tenth larger.
var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(frameSize),
		zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(true))
})

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	const most = 64 << 20 // of an index; a larger one is damaged
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(most))
})

func compress(dst, p []byte) ([]byte, error) {
	e, err := encoder()
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(p, dst), nil
}

// inSkippable returns p compressed in a skippable frame.
func inSkippable(p []byte) ([]byte, error) {
	b, err := compress(make([]byte, 8, 8+len(p)/4), p)
	if err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint32(b, skippable)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-8))
	return b, nil
}

func trailer(index, meta int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, skippable)
	b = binary.LittleEndian.AppendUint32(b, uint32(trailerSize-8))
	b = append(b, trailerMagic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(index))
	return binary.LittleEndian.AppendUint64(b, uint64(meta))
}

// errDamaged is for a file that is not what was written.
var errDamaged = errors.New("the stored output is damaged")

// readParts returns where the index and the meta of a file begin, and where the meta ends.
func readParts(f io.ReaderAt, size int64) (index, meta, end int64, err error) {
	end = size - int64(trailerSize)
	if end < 0 {
		return 0, 0, 0, errDamaged
	}
	b := make([]byte, trailerSize)
	if _, err := f.ReadAt(b, end); err != nil {
		return 0, 0, 0, err
	}
	if string(b[8:8+len(trailerMagic)]) != trailerMagic {
		return 0, 0, 0, errDamaged
	}
	n := b[8+len(trailerMagic):]
	metaSize, indexSize := int64(binary.LittleEndian.Uint64(n[8:])), int64(binary.LittleEndian.Uint64(n))
	if metaSize < 8 || indexSize < 8 || metaSize > end || indexSize > end-metaSize {
		return 0, 0, 0, errDamaged
	}
	meta = end - metaSize
	return meta - indexSize, meta, end, nil
}

// readPart reads what stands as JSON in the skippable frame between two offsets.
func readPart(f io.ReaderAt, from, to int64, v any) error {
	b := make([]byte, to-from)
	if _, err := f.ReadAt(b, from); err != nil {
		return err
	}
	b, err := decompress(nil, b[8:])
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

func decompress(dst, p []byte) ([]byte, error) {
	d, err := decoder()
	if err != nil {
		return nil, err
	}
	b, err := d.DecodeAll(p, dst)
	if err != nil {
		return nil, fmt.Errorf("%w (%v)", errDamaged, err)
	}
	return b, nil
}

// frameReader reads any part of an output that is stored in frames. It keeps the last
// few and, when it is read from front to back, has the next one ready. It is safe for
// concurrent use.
type frameReader struct {
	f      io.ReaderAt // and, if it is a file of this machine, an io.Closer
	frames []frame
	end    int64 // of the last frame in the file
	size   int64 // of the output

	mu     sync.Mutex
	last   []*loaded // the last used one last
	spare  [][]byte  // of frames that are no longer kept
	latest int       // the frame that was read last
	ahead  sync.WaitGroup
}

// loaded is a frame that is, or can be, decompressed.
type loaded struct {
	n     int
	data  func() ([]byte, error) // called by all that use it, before they stop
	users int                    // under the lock of the reader
}

// keptFrames is one that is read, one that is read ahead, and two to go back to.
const keptFrames = 4

func (r *frameReader) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= r.size {
			return n, io.EOF
		}
		copied, err := r.read(p[n:], int(at/frameSize), at%frameSize)
		if err != nil {
			return n, err
		}
		n += copied
	}
	return n, nil
}

// read copies what fits into p of frame n, from a place within it on.
func (r *frameReader) read(p []byte, n int, within int64) (int, error) {
	r.mu.Lock()
	l := r.kept(n)
	if n == r.latest+1 && n+1 < len(r.frames) {
		next := r.kept(n + 1)
		r.ahead.Go(func() {
			_, _ = next.data()
			r.done(next)
		})
	}
	r.latest = n
	r.mu.Unlock()
	data, err := l.data()
	defer r.done(l)
	if err == nil && within >= int64(len(data)) {
		err = errDamaged
	}
	if err != nil {
		return 0, err
	}
	return copy(p, data[within:]), nil
}

// done says that a frame is no longer used by who got it from kept.
func (r *frameReader) done(l *loaded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.users--
}

// kept returns frame n, which becomes the one that was used last, for one more user.
func (r *frameReader) kept(n int) *loaded {
	i := slices.IndexFunc(r.last, func(l *loaded) bool { return l.n == n })
	l := &loaded{n: n, data: sync.OnceValues(func() ([]byte, error) { return r.load(n) })}
	if i >= 0 {
		l = r.last[i]
		r.last = slices.Delete(r.last, i, i+1)
	} else if len(r.last) == keptFrames {
		if old := r.last[0]; old.users == 0 {
			if data, err := old.data(); err == nil {
				r.spare = append(r.spare, data[:0])
			}
		}
		r.last = slices.Delete(r.last, 0, 1)
	}
	l.users++
	r.last = append(r.last, l)
	return l
}

// load reads and decompresses a frame.
func (r *frameReader) load(n int) ([]byte, error) {
	b, err := r.packed(n)
	if err != nil {
		return nil, err
	}
	size := min(frameSize, r.size-int64(n)*frameSize)
	data, err := decompress(r.buffer(size), b)
	if err == nil && int64(len(data)) != size {
		err = errDamaged
	}
	return data, err
}

// packed reads a frame.
func (r *frameReader) packed(n int) ([]byte, error) {
	if n >= len(r.frames) {
		return nil, errDamaged
	}
	from, to := r.frames[n].At, r.end
	if n+1 < len(r.frames) {
		to = r.frames[n+1].At
	}
	if to < from || to-from > 2*frameSize {
		return nil, errDamaged
	}
	b := make([]byte, to-from)
	_, err := r.f.ReadAt(b, from)
	return b, err
}

// buffer returns an empty slice with room for size bytes.
func (r *frameReader) buffer(size int64) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := len(r.spare) - 1; i >= 0 && int64(cap(r.spare[i])) >= size {
		b := r.spare[i]
		r.spare = r.spare[:i]
		return b
	}
	return make([]byte, 0, size)
}

// close waits for what is read ahead.
func (r *frameReader) close() error {
	r.ahead.Wait()
	if c, ok := r.f.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
