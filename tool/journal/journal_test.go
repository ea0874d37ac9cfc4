package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/diskuse"
	"pawl/run"
)

// random returns bytes that cannot be compressed, the same for each seed.
func random(seed uint64, size int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func record(t *testing.T, j Journal, id run.ID, call, path string, before []byte) Entry {
	t.Helper()
	e, err := j.Record(id, call, Entry{Path: path, After: "later", Mode: "0640"}, before)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func wantContent(t *testing.T, j Journal, want []byte) {
	t.Helper()
	got, err := j.Content(Hash(want))
	if err != nil || string(got) != string(want) {
		t.Errorf("a content of %d bytes: got %d bytes, error %v", len(want), len(got), err)
	}
}

// names returns the names of the files in the blobs folder, without the names of bases.
func names(t *testing.T, j Journal) (all []string) {
	t.Helper()
	files, err := j.readDir(j.blobs())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), basePrefix) {
			all = append(all, f.Name())
		}
	}
	return all
}

func TestWhatACallReplacesCanBeReadAgain(t *testing.T) {
	t.Parallel()
	j := In(t.TempDir())
	if _, err := j.Entry("r", "c_1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an entry that is not there: got error %v", err)
	}
	for i, before := range [][]byte{{}, []byte("a\n"), random(1, 200_000), []byte(strings.Repeat("a line\n", 100_000))} {
		call := fmt.Sprint("c_", i+1)
		made := record(t, j, "r", call, "f", before)
		if got, err := j.Entry("r", call); err != nil || got != made || got.Before != Hash(before) || got.Perm() != 0o640 {
			t.Errorf("the entry is %+v, %v; want %+v", got, err, made)
		}
		wantContent(t, j, before)
	}
	if e := record(t, j, "r", "c_9", "new", nil); e.Before != "" {
		t.Errorf("a file that is created has the content %q before", e.Before)
	}
	j.Discard("r", "c_9")
	if _, err := j.Entry("r", "c_9"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a discarded entry: got error %v", err)
	}
	if _, err := j.Content(Hash([]byte("never stored"))); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no longer stored") {
		t.Errorf("a content that is not there: got error %v", err)
	}
}

func TestTwentyEditsOfALargeFileTakeLittleMoreThanTheFile(t *testing.T) {
	t.Parallel()
	const size = 10 << 20
	j := In(t.TempDir())
	content := random(1, size)
	var all [][]byte
	at := rand.New(rand.NewPCG(2, 0))
	for i := range 20 {
		all = append(all, slices.Clone(content))
		record(t, j, "r", fmt.Sprint("c_", i+1), "large", content)
		where := at.IntN(len(content))
		content = slices.Replace(content, where, where+50, random(uint64(i), 80)...)
	}
	const each = 8 << 10 // an entry and a difference, a block of the disk each
	if used := j.Usage(); used.Entries+used.Contents > size+20*each+64<<10 {
		t.Errorf("20 edits of a file of %d bytes that cannot be compressed take %d bytes: %+v", size, used.Entries+used.Contents, used)
	}
	for _, content := range all {
		wantContent(t, j, content)
	}
}

func TestAContentIsStoredOnceForAllRuns(t *testing.T) {
	t.Parallel()
	j := In(t.TempDir())
	content := random(1, 1<<20)
	for _, id := range []run.ID{"a", "b", "c"} {
		record(t, j, id, "c_1", "f", content)
	}
	if got := names(t, j); len(got) != 1 {
		t.Errorf("stored are %v, want one content", got)
	}
	// Whole, or as a difference: what two runs refer to is freed by removing both.
	record(t, j, "a", "c_2", "f", append(slices.Clone(content), "one more"...))
	one, err := j.UsageOf(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	all, err := j.UsageOf(t.Context(), "a", "b", "c")
	if err != nil {
		t.Fatal(err)
	}
	if one.Shared < 1<<20 || one.Contents == 0 || one.Contents > 64<<10 || all.Shared != 0 || all.Contents < 1<<20 {
		t.Errorf("run a occupies %+v, all of them %+v", one, all)
	}
}

func TestADamagedContentIsNotReturned(t *testing.T) {
	t.Parallel()
	j := In(t.TempDir())
	base := random(1, 100_000)
	next := append(slices.Clone(base), "more"...)
	record(t, j, "r", "c_1", "f", base)
	record(t, j, "r", "c_2", "f", next)
	files := names(t, j)
	if len(files) != 2 {
		t.Fatal(files)
	}
	for _, name := range files {
		file := filepath.Join(j.blobs(), name)
		good, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(good); i += 1 + len(good)/50 {
			bad := slices.Clone(good)
			bad[i] ^= 0x20
			if err := os.WriteFile(file, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := j.Content(hashOf(name))
			if err == nil && Hash(got) != hashOf(name) {
				t.Errorf("%s with byte %d changed: another content was returned", name, i)
			} else if err != nil && !strings.Contains(err.Error(), "is damaged") {
				t.Errorf("%s with byte %d changed: got error %v", name, i, err)
			}
		}
		if err := os.WriteFile(file, good[:len(good)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Content(hashOf(name)); err == nil || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("half of %s: got error %v", name, err)
		}
		if err := os.WriteFile(file, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAContentOfAnEarlierPawlIsReadAndSwept(t *testing.T) {
	t.Parallel()
	j := In(t.TempDir())
	before, after := []byte("before\n"), []byte("after\n") // both were stored, as they are
	if err := os.MkdirAll(j.blobs(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{before, after} {
		if err := os.WriteFile(filepath.Join(j.blobs(), Hash(content)), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	record(t, j, "r", "c_1", "f", before)
	sweep(t, j)
	wantContent(t, j, before)
	if got := names(t, j); !slices.Equal(got, []string{Hash(before)}) {
		t.Errorf("left are %v", got)
	}
}

func sweep(t *testing.T, j Journal) (freed int64) {
	t.Helper()
	freed, err := j.Sweep(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return freed
}

func TestRemovingARunFreesWhatNoOtherRefersTo(t *testing.T) {
	t.Parallel()
	j := In(t.TempDir())
	shared, mine := random(1, 300_000), random(2, 300_000)
	changed := append(slices.Clone(shared), "and more"...)
	record(t, j, "a", "c_1", "f", shared)
	record(t, j, "a", "c_2", "g", mine)
	record(t, j, "b", "c_1", "f", changed) // a difference to what only run a refers to
	was := diskuse.Tree(j.blobs())
	if freed := sweep(t, j); freed != 0 {
		t.Errorf("with all runs there %d bytes were freed", freed)
	}
	if err := errors.Join(j.Remove("a"), j.Remove("never was")); err != nil {
		t.Fatal(err)
	}
	freed := sweep(t, j)
	if freed < 300_000 || freed > was-300_000 {
		t.Errorf("%d of %d bytes were freed, want the content of g", freed, was)
	}
	wantContent(t, j, changed)
	if _, err := j.Content(Hash(mine)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the content of the removed run: got error %v", err)
	}
	if err := j.Remove("b"); err != nil {
		t.Fatal(err)
	}
	sweep(t, j)
	sweep(t, j)
	if files, err := os.ReadDir(j.blobs()); err != nil || len(files) != 0 {
		t.Errorf("with no run left there are %v, %v", files, err)
	}
}

// A writer may do each of its steps before, between and after those of a sweep.
func TestASweepBesideAWriterLosesNothing(t *testing.T) {
	t.Parallel()
	base := random(1, 100_000)
	content := append(slices.Clone(base), "more"...)
	for name, write := range map[string]func(t *testing.T, j Journal){
		"the same content":             func(t *testing.T, j Journal) { record(t, j, "new", "c_1", "f", base) },
		"a difference to it":           func(t *testing.T, j Journal) { record(t, j, "new", "c_1", "f", content) },
		"a difference stored already":  func(t *testing.T, j Journal) { record(t, j, "new", "c_1", "other", content) },
		"what was stored, entry later": func(t *testing.T, j Journal) { record(t, j, "new", "c_1", "f", content) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, before := range []bool{true, false} {
				j := In(t.TempDir())
				record(t, j, "old", "c_1", "f", base)
				record(t, j, "old", "c_2", "f", content)
				if err := j.Remove("old"); err != nil {
					t.Fatal(err)
				}
				if before {
					// The writer has found the contents, and has not written its entry.
					if !j.stored(Hash(content)) {
						t.Fatal("the content is not there")
					}
				}
				_, err := j.sweep(t.Context(), time.Now(), func() { write(t, j) })
				if err != nil {
					t.Fatal(err)
				}
				sweep(t, j)
				e, err := j.Entry("new", "c_1")
				if err != nil {
					t.Fatal(err)
				}
				if got, err := j.Content(e.Before); err != nil || Hash(got) != e.Before {
					t.Errorf("the content the writer refers to: %v", err)
				}
			}
		})
	}
}

func TestAnEntryWrittenAfterItsContentWasSweptStoresItAgain(t *testing.T) {
	t.Parallel()
	j := In(t.TempDir())
	content := random(1, 100_000)
	// As Record does, with a whole sweep between its first and its second step.
	e := Entry{Path: "f", Before: Hash(content)}
	if err := j.store("f", content, atomicfile.Durable); err != nil {
		t.Fatal(err)
	}
	sweep(t, j)
	if j.stored(e.Before) {
		t.Fatal("the content is still there")
	}
	record(t, j, "r", "c_1", "f", content)
	wantContent(t, j, content)
}

func TestASweepThatIsKilledLosesNothing(t *testing.T) {
	t.Parallel()
	j := In(t.TempDir())
	base := random(1, 100_000)
	content := append(slices.Clone(base), "more"...)
	record(t, j, "r", "c_1", "f", base)
	record(t, j, "r", "c_2", "f", content)
	record(t, j, "gone", "c_1", "g", []byte("of the other run"))
	if err := j.Remove("gone"); err != nil {
		t.Fatal(err)
	}
	// It died after having moved everything aside.
	if err := os.Mkdir(j.trash(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names(t, j) {
		if name == ".trash" {
			continue
		}
		if err := os.Rename(filepath.Join(j.blobs(), name), filepath.Join(j.trash(), name)); err != nil {
			t.Fatal(err)
		}
	}
	wantContent(t, j, content)
	sweep(t, j)
	wantContent(t, j, base)
	wantContent(t, j, content)
	if got := names(t, j); len(got) != 2 {
		t.Errorf("after the next sweep there are %v", got)
	}
}

func TestADamagedEntryStopsASweep(t *testing.T) {
	t.Parallel()
	j := In(t.TempDir())
	e := record(t, j, "r", "c_1", "f", []byte("content"))
	if err := os.WriteFile(j.entry("r", "c_1"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Sweep(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), j.entry("r", "c_1")) {
		t.Errorf("got error %v, want one that names the entry", err)
	}
	if !j.stored(e.Before) {
		t.Error("the content was removed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.Sweep(ctx, time.Now()); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context has ended: got error %v", err)
	}
}

func TestWhatAKilledWriterLeftIsSweptWhenItIsOld(t *testing.T) {
	t.Parallel()
	j := In(t.TempDir())
	record(t, j, "r", "c_1", "f", []byte("content"))
	if err := os.WriteFile(filepath.Join(j.blobs(), ".new-123"), make([]byte, 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if freed := sweep(t, j); freed != 0 {
		t.Errorf("a file that may still be written was removed: %d bytes", freed)
	}
	if freed, err := j.Sweep(t.Context(), time.Now().Add(2*abandonedAfter)); err != nil || freed == 0 {
		t.Errorf("an hour later: %d bytes, %v", freed, err)
	}
	if got := names(t, j); len(got) != 1 {
		t.Errorf("left are %v", got)
	}
}

func TestARunThatIsGoneLeavesItsJournal(t *testing.T) {
	t.Parallel()
	j := In(t.TempDir())
	exists := func(id run.ID) bool { return id == "there" }
	if gone, err := j.Gone(exists); len(gone) != 0 || err != nil {
		t.Errorf("before the first edit: got %v, %v", gone, err)
	}
	record(t, j, "gone", "c_1", "f", []byte("one"))
	record(t, j, "there", "c_1", "f", []byte("two"))
	if gone, err := j.Gone(exists); !slices.Equal(gone, []run.ID{"gone"}) || err != nil {
		t.Errorf("got %v, %v", gone, err)
	}
}

func TestTheModeOfAContentIsTheOneItHadLast(t *testing.T) {
	t.Parallel()
	j := In(t.TempDir())
	content := []byte("content")
	record(t, j, "r", "c_1", "f", content)
	if perm := j.KeptPerm("r", "f", Hash(content)); perm != 0o640 {
		t.Errorf("got %o, want 640", perm)
	}
	if perm := j.KeptPerm("r", "g", Hash(content)); perm != 0 {
		t.Errorf("another file: got %o, want 0", perm)
	}
}

func FuzzADeltaGivesTheContent(f *testing.F) {
	f.Add([]byte("one two three"), []byte("one 2 three"))
	f.Add([]byte(""), []byte("new"))
	f.Add(random(1, 5000), append(random(1, 3000), random(2, 3000)...))
	f.Fuzz(func(t *testing.T, base, content []byte) {
		name := Hash(base)
		hash, pieces, err := splitDelta(encodeDelta(name, base, content))
		if err != nil || hash != name {
			t.Fatal(hash, err)
		}
		if got, err := applyDelta(base, pieces); err != nil || string(got) != string(content) {
			t.Errorf("got %q, %v; want %q", got, err, content)
		}
		// Any other bytes are an error, or a content of limited size; never a panic.
		if got, err := applyDelta(base, content); err == nil && len(got) > maxContent {
			t.Errorf("%d bytes were made", len(got))
		}
	})
}

func BenchmarkTheNextEditOf10MB(b *testing.B) {
	j := In(b.TempDir())
	content := random(1, 10<<20)
	if _, err := j.Record("r", "c_0", Entry{Path: "f"}, content); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		content = slices.Replace(content, len(content)/2, len(content)/2+1, []byte(fmt.Sprint(n))...)
		if _, err := j.Record("r", fmt.Sprint("c_", n), Entry{Path: "f"}, content); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(j.Usage().Entries+j.Usage().Contents-10<<20)/float64(n), "disk-B/op")
}
