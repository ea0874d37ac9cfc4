package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"pawl/internal/atomicfile"
)

const (
	wholeEnding = ".zst"
	deltaEnding = ".delta"
	// basePrefix begins the name of a file with the hash of the content that contents of
	// the same path are stored as differences to. It only saves space: it is not synced,
	// and may be missing or out of date.
	basePrefix = "base-"
)

// MaxFile bounds a content that is kept: the tools that change files hold it in memory, several times over.
const MaxFile = 32 << 20

const (
	// minDelta is the size from which a content may be stored as a difference. Compressed,
	// a smaller one takes a few blocks of a disk at most.
	minDelta = 64 << 10
	// maxContent bounds what is decompressed; a larger content is damaged.
	maxContent = 64 << 20
)

func (j Journal) blobs() string { return filepath.Join(j.dir, "blobs") }

// trash has contents that a sweep is about to remove. Until then they can be read.
func (j Journal) trash() string { return filepath.Join(j.blobs(), ".trash") }

// Keep stores the content of a path for a command that may change it; see [Journal.RecordCommand].
func (j Journal) Keep(path string, content []byte) error {
	return j.store(path, content, atomicfile.NoSync)
}

// store stores the content of a path under its hash unless it is stored already.
func (j Journal) store(path string, content []byte, sync atomicfile.Sync) error {
	hash := Hash(content)
	if j.stored(hash) && (!bool(sync) || j.synced(hash)) {
		return nil
	}
	baseFile := filepath.Join(j.blobs(), basePrefix+Hash([]byte(path))[:32])
	if len(content) >= minDelta {
		if delta := j.delta(baseFile, content); delta != nil {
			return atomicfile.Write(filepath.Join(j.blobs(), hash+deltaEnding), delta, sync)
		}
	}
	whole, err := compress(content)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(j.blobs(), hash+wholeEnding), whole, sync); err != nil {
		return err
	}
	if len(content) >= minDelta {
		_ = atomicfile.Write(baseFile, []byte(hash), atomicfile.NoSync) // see basePrefix
	}
	return nil
}

// delta returns content, compressed, as a difference to the content that baseFile names;
// nil if that would not save much, or there is no such content.
func (j Journal) delta(baseFile string, content []byte) []byte {
	name, err := atomicfile.Read(baseFile)
	if err != nil {
		return nil
	}
	base := string(name)
	whole, err := os.Stat(filepath.Join(j.blobs(), fileName(base)+wholeEnding))
	if err != nil {
		return nil
	}
	from, err := j.Content(base)
	if err != nil {
		return nil
	}
	delta, err := compress(encodeDelta(base, from, content))
	// Differences to one content grow with the distance to it. At this share the sum of
	// all is about smallest.
	const share = 16
	if err != nil || int64(len(delta)) > max(4<<10, whole.Size()/share) {
		return nil
	}
	return delta
}

// stored reports whether a content is there, and will not be removed by a sweep that has
// already begun.
func (j Journal) stored(hash string) bool {
	name := filepath.Join(j.blobs(), fileName(hash))
	for _, file := range []string{name + wholeEnding, name} { // without an ending: stored by an earlier pawl
		if info, err := os.Lstat(file); err == nil && (info.Size() > 0 || file == name) { // see Keep: a loss of power empties it
			return true
		}
	}
	base, err := baseOf(name + deltaEnding)
	if err != nil {
		return false
	}
	_, err = os.Lstat(filepath.Join(j.blobs(), fileName(base)+wholeEnding))
	return err == nil
}

// synced makes what was stored for a command durable. It reports false if that cannot be.
func (j Journal) synced(hash string) bool {
	name := filepath.Join(j.blobs(), fileName(hash))
	files := []string{name + wholeEnding, name + deltaEnding}
	if base, err := baseOf(files[1]); err == nil {
		files = append(files, filepath.Join(j.blobs(), fileName(base)+wholeEnding))
	}
	for _, file := range files {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return false
		}
	}
	return atomicfile.SyncDir(j.blobs()) == nil
}

// Content returns a stored content by its hash. An error is a sentence about "its content",
// for a person.
func (j Journal) Content(hash string) ([]byte, error) {
	content, err := j.read(hash)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("its content of then (SHA-256 %.8s) is no longer stored: %w", hash, fs.ErrNotExist)
	case errors.Is(err, errDamaged):
		return nil, fmt.Errorf("its content of then (SHA-256 %.8s) is damaged in %s", hash, j.blobs())
	case err != nil:
		return nil, fmt.Errorf("its content of then (SHA-256 %.8s) cannot be read: %w", hash, err)
	}
	return content, nil
}

var errDamaged = errors.New("the stored content is damaged")

func (j Journal) read(hash string) (content []byte, err error) {
	name := fileName(hash)
	b, err := j.readFile(name + wholeEnding)
	if err == nil {
		content, err = decompress(b)
	} else if errors.Is(err, fs.ErrNotExist) {
		content, err = j.readFile(name) // stored by an earlier pawl, which did not compress
	}
	if errors.Is(err, fs.ErrNotExist) {
		content, err = j.readDelta(name + deltaEnding)
	}
	if err == nil && Hash(content) != hash {
		err = errDamaged
	}
	return content, err
}

func (j Journal) readDelta(name string) ([]byte, error) {
	b, err := j.readFile(name)
	if err != nil {
		return nil, err
	}
	if b, err = decompress(b); err != nil {
		return nil, err
	}
	base, delta, err := splitDelta(b)
	if err != nil {
		return nil, err
	}
	if b, err = j.readFile(fileName(base) + wholeEnding); err != nil {
		return nil, err
	}
	if b, err = decompress(b); err != nil {
		return nil, err
	}
	return applyDelta(b, delta)
}

// readFile reads a file of the blobs folder. A sweep may move it away and back meanwhile.
func (j Journal) readFile(name string) (b []byte, err error) {
	for _, dir := range []string{j.blobs(), j.trash(), j.blobs()} {
		if b, err = atomicfile.Read(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	return nil, err
}

// baseOf returns the base of a content that is stored as a difference in file.
func baseOf(file string) (base string, err error) {
	b, err := atomicfile.Read(file)
	if err == nil {
		b, err = decompress(b)
	}
	if err == nil {
		base, _, err = splitDelta(b)
	}
	return base, err
}

// hashOf returns the hash that the name of a file in the blobs folder begins with; "" if
// the file is not a content.
func hashOf(name string) string {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, basePrefix) {
		return ""
	}
	hash, _, _ := strings.Cut(name, ".")
	return hash
}

// The encoder and the decoder are large; they are created on first use and shared, as
// their documentation allows for EncodeAll and DecodeAll.
var (
	encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	})
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxContent))
	})
)

func compress(p []byte) ([]byte, error) {
	e, err := encoder()
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(p, nil), nil
}

func decompress(p []byte) ([]byte, error) {
	d, err := decoder()
	if err != nil {
		return nil, err
	}
	b, err := d.DecodeAll(p, []byte{}) // not nil: an empty content is not a missing one
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return b, nil
}
