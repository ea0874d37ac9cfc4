package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pawl/internal/inside"
	"pawl/run"
)

// A mark records the last event of a log. It is kept outside of the database, in the run's
// lock file, because SQLite cannot detect that a log was longer: a damaged or lost -wal
// file silently undoes all transactions from that point.
//
// A mark is written after COMMIT has synced the transaction and before Append returns,
// and is not synced itself. So it is never ahead of what is durable; a process killed
// between the two leaves a mark one append old, and a loss of power an older or a torn
// one. A torn mark is ignored. So a log that ends before its mark has lost its end.
type mark struct {
	run   run.ID // the run, named by the file
	store uint32 // id of the database: marks of another one are ignored
	used  int64  // head.used at that append
	seq   int64  // of the last event
	hash  []byte // of the last event
}

// A lock file is a mark of markSize bytes and, from ownerAt, the JSON of an [Owner].
// write.lock is the same: the mark of the last append to any run, and who holds it.
const (
	markSize = 8 + 1 + 19 + 1 + 19 + 1 + 64 + 1 + 8 + 1
	ownerAt  = 256
)

func (m mark) write(file *os.File) error {
	text := fmt.Appendf(nil, "%08x %019d %019d %x ", m.store, m.used, m.seq, m.hash)
	_, err := file.WriteAt(fmt.Appendf(text, "%08x\n", crc32.ChecksumIEEE(text)), 0)
	return err
}

// readMark reads a mark of the store; false if there is none, or a torn one.
func readMark(file *os.File, store uint32) (m mark, ok bool) {
	var text [markSize]byte
	if _, err := file.ReadAt(text[:], 0); err != nil {
		return m, false
	}
	const sum = markSize - 9
	f := strings.Fields(string(text[:]))
	if len(f) != 5 || f[0] != fmt.Sprintf("%08x", store) || f[4] != fmt.Sprintf("%08x", crc32.ChecksumIEEE(text[:sum])) {
		return m, false
	}
	used, err1 := strconv.ParseInt(f[1], 10, 64)
	seq, err2 := strconv.ParseInt(f[2], 10, 64)
	hash, err3 := hex.DecodeString(f[3])
	return mark{"", store, used, seq, hash}, err1 == nil && err2 == nil && err3 == nil
}

// markAt reads the mark of the store in the file at path.
func markAt(path string, store uint32) (mark, bool) {
	file, err := openLockFile(path, os.O_RDONLY)
	if err != nil {
		return mark{}, false
	}
	defer file.Close() // it was only read
	return readMark(file, store)
}

func lockPath(dir string, id run.ID) string { return filepath.Join(dir, "locks", string(id)+".lock") }

// compare sets the head's damage from its mark. The mark must have been read before the
// head, so that an append in between cannot make the log look short.
func (h *head) compare(m mark, ok bool) {
	switch h.mark = m; {
	case !ok || h.Damage != "": // a changed summary does not say where the log ends
	case m.seq > h.Seq:
		h.bad, h.what = h.Seq+1, lostEnd(h.Seq, m.seq)
	case m.seq == h.Seq && !bytes.Equal(m.hash, h.hash):
		h.bad, h.what = h.Seq, changedEnd
	}
	if h.bad > 0 {
		h.Damage = fmt.Sprintf("event %d %s", h.bad, h.what)
	}
}

// What can be wrong with an event.
const (
	changedEvent = "does not have the content its hash was made of"
	changedEnd   = "is not the one that was appended"
)

func lostEnd(seq, written int64) string {
	return fmt.Sprintf("is missing: the log ends at event %d, but %d were written", seq, written)
}

// setMarks writes the marks of the committed transaction. Errors are ignored: the log does
// not depend on marks.
func (w *writer) setMarks() {
	for _, m := range w.marks {
		setMark(w.dir, m)
		m.write(w.lock.file)
	}
}

func setMark(dir string, m mark) {
	if file, err := openLockFile(lockPath(dir, m.run), os.O_RDWR|os.O_CREATE); err == nil {
		m.write(file)
		file.Close()
	}
}

// clearMark removes the mark of a run, before the run is removed. Errors are ignored, as in
// setMarks.
func clearMark(dir string, id run.ID) {
	if file, err := openLockFile(lockPath(dir, id), os.O_RDWR); err == nil {
		file.WriteAt(make([]byte, markSize), 0)
		file.Close()
	}
}

// marked returns the runs that have a lock file.
func (s *fileStore) marked() (ids []run.ID, err error) {
	path := filepath.Join(s.dir, "locks")
	dir, err := inside.OpenFile(s.dir, path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fileError(path, err)
	}
	defer dir.Close() // it was only read
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, ".lock"); ok {
			ids = append(ids, run.ID(id))
		}
	}
	return ids, fileError(path, err)
}

// lost returns the runs that have a mark and are not in the database.
func (s *fileStore) lost(ctx context.Context) (lost []*head, err error) {
	marked, err := s.marked()
	if err != nil {
		return nil, err
	}
	ids, err := s.ids(ctx, `SELECT id FROM runs`)
	known := make(map[run.ID]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	for _, id := range marked {
		if known[id] {
			continue
		}
		h, err := s.head(id) // again: it may have been created since
		if err == nil && h.Seq == 0 {
			lost = append(lost, &h)
		} else if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	return lost, err
}
