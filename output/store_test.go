package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/run"
)

func TestWhatIsStoredComesBackByteForByte(t *testing.T) {
	t.Parallel()
	var big bytes.Buffer
	writeItems(&big, 3*frameSize+12345)
	for name, text := range map[string]string{
		"nothing":         "",
		"a byte":          "x",
		"one frame":       strings.Repeat("ab", frameSize/2),
		"and one more":    strings.Repeat("ab", frameSize/2) + "c",
		"many frames":     big.String(),
		"not UTF-8":       "\xff\xfe bytes \x80",
		"only line ends":  "\n\n\n",
		"two whole units": strings.Repeat("\x00\x01", frameSize),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			w, err := s.Create(Key{"root", "root", "c_1"}, "shell", "m_1")
			if err != nil {
				t.Fatal(err)
			}
			for p := []byte(text); len(p) > 0; { // in pieces of many sizes
				n := min(len(p), 1+len(p)*7%99_991)
				if _, err := w.Write(p[:n]); err != nil {
					t.Fatal(err)
				}
				p = p[n:]
			}
			o, err := w.Commit(true)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			got, err := io.ReadAll(io.NewSectionReader(o.raw, 0, o.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != text {
				t.Errorf("%d bytes came back different from the %d that were stored", len(got), len(text))
			}
		})
	}
}

// Frames are decompressed into the buffers of earlier frames that are no longer read.
func TestManyReadersOfOneOutputEachGetWhatIsStored(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	for n := 0; text.Len() < 2*keptFrames*frameSize; n++ {
		fmt.Fprintf(&text, "%09d\n", n)
	}
	o := stored(t, text.String())
	var reading sync.WaitGroup
	for reader := range 6 {
		reading.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(reader)))
			b := make([]byte, frameSize+100)
			for step := range 34 {
				from := int64(step) * int64(frameSize) / 5 // as a question does
				if reader%2 == 0 {
					from = rnd.Int64N(o.Bytes() - int64(len(b)))
				}
				if _, err := o.raw.ReadAt(b, from); err != nil || !bytes.Equal(b, text.Bytes()[from:from+int64(len(b))]) {
					t.Errorf("the %d bytes from %d on are not what is stored, %v", len(b), from, err)
					return
				}
			}
		})
	}
	reading.Wait()
	o.frames.ahead.Wait() // it takes from them, too
	if most := keptFrames + 6; len(o.frames.spare) > most {
		t.Errorf("%d frames are kept for nothing", len(o.frames.spare))
	}
}

func TestUntilCommitThereIsNothingAndAfterAbortNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, size := range []int{10, 5 * frameSize} {
		w, err := s.Create(Key{"root", "root", "c_1"}, "shell", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Find(Scope{Conversation: "root", Run: "root"}, "c_1"); err == nil {
			t.Error("an output was found before it was committed")
		}
		w.Abort()
		w.Abort() // a second time does nothing
		if _, err := w.Write([]byte("x")); err == nil {
			t.Error("written to after the end")
		}
		if _, err := w.Commit(true); err == nil {
			t.Error("committed after an abort")
		}
	}
	left, err := os.ReadDir(filepath.Join(s.dir, tmpFolder))
	if err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// A crash can leave any beginning of the file under its name only if the disk breaks its
// promises; this shows that even then nothing wrong is answered.
func TestACutOrChangedFileIsDamagedAndNotWrong(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var text bytes.Buffer
	writeItems(&text, 2*frameSize)
	put(t, s, "root", "root", "c_1", "shell", text.String())
	whole, err := os.ReadFile(s.file("root", "root", "c_1"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x"+fileEnding)
	try := func(what string, b []byte) {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := openFile(name)
		if err == nil {
			defer o.Close()
			var got []byte
			if got, err = io.ReadAll(io.NewSectionReader(o.raw, 0, o.Bytes())); err == nil && !bytes.Equal(got, text.Bytes()) {
				t.Errorf("%s: other bytes came back", what)
			}
		}
		if err != nil && !errors.Is(err, errDamaged) && !strings.Contains(err.Error(), "invalid character") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/97 {
		try(fmt.Sprintf("cut at %d", n), whole[:n])
		changed := bytes.Clone(whole)
		changed[n] ^= 0x55
		try(fmt.Sprintf("changed at %d", n), changed)
	}
}

func TestAnOutputOfTheSameCallTakesThePlaceOfTheOld(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	old := put(t, s, "root", "root", "c_1", "shell", "old")
	put(t, s, "root", "root", "c_1", "shell", "new")
	o, err := s.Open(Key{"root", "root", "c_1"})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	same(t, "now", ask(t, o.Read, `{}`).Text, "new")
	same(t, "to whoever had it open", ask(t, old.Read, `{}`).Text, "old")
}

func TestFindTakesTheRunsOwnThenTheConversationsAndNobodyElses(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	put(t, s, "root", "root", "c_1", "shell", "root 1")
	put(t, s, "root", "root", "c_2", "shell", "root 2")
	put(t, s, "root", "root-c2", "c_1", "read", "child 1")
	put(t, s, "root", "root-c2", "c_9", "read", "child 9")
	put(t, s, "root", "root-c3", "c_5", "read", "other child 5")
	put(t, s, "root", "root-c4", "c_5", "read", "third child 5")
	put(t, s, "else", "else", "c_7", "shell", "another conversation")
	for _, c := range []struct {
		owner    run.ID
		id, want string
	}{
		{"root", "c_1", "root 1"},
		{"root-c2", "c_1", "child 1"},
		{"root", "", "root 2"},
		{"root", " ", "root 2"},
		{"root-c2", "", "child 9"},
		{"root-c5", "", "third child 5"}, // has none of its own: the conversation's newest
		{"root", "c_9", "child 9"},
		{"root", "root-c2/c_1", "child 1"},
		{"root-c2", "root/c_1", "root 1"},
		{"root", "root-c3/c_5", "other child 5"},
	} {
		o, err := s.Find(Scope{Conversation: "root", Run: c.owner}, c.id)
		if err != nil {
			t.Errorf("%s in %s: %v", c.id, c.owner, err)
			continue
		}
		same(t, c.id, ask(t, o.Read, `{}`).Text, c.want)
		o.Close()
	}
	for id, want := range map[string]string{
		"c_7":      `there is no stored output "c_7" in this conversation; there are root-c4/c_5 (read, 13 B), `,
		"else/c_7": "there is no stored output",
		"../else":  "there is no stored output",
		"c_5":      `several runs of this conversation have an output "c_5": name one as run/call`,
	} {
		_, err := s.Find(Scope{Conversation: "root", Run: "root"}, id)
		var missing *NotFoundError
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
		if err != nil && strings.Contains(err.Error(), "another") {
			t.Errorf("%s: it tells of another conversation: %v", id, err)
		}
	}
	if _, err := s.Find(Scope{Conversation: "nobody", Run: "nobody"}, ""); err == nil || err.Error() != "no output is stored in this conversation yet" {
		t.Error(err)
	}
}

func TestIdsMakeDifferentFilesOnEverySystem(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, id := range []string{"c_1", "C_1", "c%5f1", "..", "a/b", "a%2fb", `a\b`, "ü", "con", "a.b"} {
		name := fileName(id)
		if other, ok := seen[strings.ToLower(name)]; ok || strings.ContainsAny(name, `/\.:`) {
			t.Errorf("%q becomes %q (as %q)", id, name, other)
		}
		seen[strings.ToLower(name)] = id
	}
}

func TestListFiltersSortsAndPages(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	put(t, s, "root", "root", "c_1", "shell", `{"a": 1}`)
	put(t, s, "root", "root", "c_2", "read", "some text that is longer")
	put(t, s, "root", "root-c2", "c_1", "shell", `[1, 2, 3]`)
	put(t, s, "else", "else", "c_1", "shell", "hidden")
	w, err := s.Create(Key{"root", "root", "c_3"}, "fetch", "m_2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(false); err != nil { // nothing was written
		t.Fatal(err)
	}
	list := func(args string) ListResult {
		t.Helper()
		var a ListArgs
		if err := Decode([]byte(args), &a); err != nil {
			t.Fatal(err)
		}
		r, err := s.List(Scope{Conversation: "root", Run: "root"}, a)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	all := list(``)
	first := all.Outputs[1].Created
	for args, want := range map[string]string{
		`{}`:                                        "c_3 root-c2/c_1 c_2 c_1",
		`{"sort_order": "asc"}`:                     "c_1 c_2 root-c2/c_1 c_3",
		`{"sort_by": "size"}`:                       "c_2 root-c2/c_1 c_1 c_3",
		`{"sort_by": "tool_name"}`:                  "root-c2/c_1 c_1 c_2 c_3",
		`{"limit": 2}`:                              "c_3 root-c2/c_1 …",
		`{"limit": 2, "offset": 2}`:                 "c_2 c_1",
		`{"tool_name": "shell"}`:                    "root-c2/c_1 c_1",
		`{"success": false}`:                        "c_3",
		fmt.Sprintf(`{"after": %d}`, first):         "c_3",
		fmt.Sprintf(`{"before": %d}`, first):        "c_2 c_1",
		`{"conversation_id": "else"}`:               "",
		`{"conversation_id": "root", "limit": 100}`: "c_3 root-c2/c_1 c_2 c_1",
	} {
		r := list(args)
		got := ""
		for _, o := range r.Outputs {
			got += o.ID + " "
		}
		if r.HasMore {
			got += "…"
		}
		same(t, args, strings.TrimSpace(got), want)
	}
	same(t, "an entry", asJSON(t, all.Outputs[1]), fmt.Sprintf(`{"id":"root-c2/c_1","tool_name":"shell","conversation_id":"root","message_id":"m_1","created_at":%d,"success":true,"size_bytes":9,"preview":"[1, 2, 3]","summary":"json: array of 3 elements, 9 B"}`, first))
	if p := list(`{"preview_length": 10}`).Outputs[2].Preview; p != "some text…" {
		t.Errorf("preview %q", p)
	}
	if p := list(`{"include_preview": false}`).Outputs[2].Preview; p != "" {
		t.Errorf("preview %q", p)
	}
	for _, args := range []string{`{"limit": 0}`, `{"limit": 101}`, `{"sort_by": "name"}`, `{"offset": -1}`, `{"preview_length": 501}`, `{"colour": 1}`, `{"limit": "ten"}`} {
		if err := Decode([]byte(args), &ListArgs{}); err == nil {
			t.Errorf("%s is accepted", args)
		}
	}
}

func TestPruneTakesTheOldestAndNeverWhatALiveRunHas(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 6 {
		owner := run.ID(fmt.Sprintf("run%d", i))
		put(t, s, owner, owner, "c_1", "shell", strings.Repeat(fmt.Sprint(i), 1000))
	}
	all, err := s.everything()
	if err != nil || len(all) != 6 {
		t.Fatal(len(all), err)
	}
	live := func(m Meta) bool { return m.Run == "run0" || m.Run == "run2" }
	var keep int64
	for _, m := range all {
		if m.Run == "run0" || m.Run == "run2" || m.Run == "run5" {
			keep += m.Stored
		}
	}
	p, err := s.Prune(Quota{Bytes: keep}, live, false)
	if err != nil {
		t.Fatal(err)
	}
	var removed []run.ID
	for _, m := range p.Removed {
		removed = append(removed, m.Run)
	}
	same(t, "removed", removed, []run.ID{"run1", "run3", "run4"})
	if _, err := os.Stat(filepath.Join(s.dir, "run1")); err == nil {
		t.Error("the folder of a conversation without outputs is left")
	}
	// Age: nothing is young enough, and two are live.
	s.now = func() time.Time { return all[0].Created.Add(100 * time.Hour) }
	if p, err = s.Prune(Quota{Age: time.Hour, Bytes: 1}, live, false); err != nil {
		t.Fatal(err)
	}
	if len(p.Removed) != 1 || p.Removed[0].Run != "run5" || p.Over != p.Kept-1 {
		t.Errorf("%+v", p)
	}
	if p, err = s.Prune(Quota{}, func(Meta) bool { return false }, false); err != nil || len(p.Removed) > 0 {
		t.Errorf("no quota removes %d, %v", len(p.Removed), err)
	}
}

func TestPruneSweepsWhatDeadWritersLeft(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	w, err := s.Create(Key{"root", "root", "c_1"}, "shell", "")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := w.create(); err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(s.dir, tmpFolder, "dead.zst")
	if err := os.WriteFile(dead, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.now = time.Now
	if err := os.Chtimes(dead, time.Time{}, time.Now().Add(-2*abandonedAfter)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(Quota{}, func(Meta) bool { return false }, false); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(filepath.Dir(dead))
	if len(left) != 1 || left[0].Name() == "dead.zst" {
		t.Errorf("left: %v", left)
	}
}

// A call whose output is small waits for no file: that is made when the output is committed.
func TestAnOutputOfLessThanAFrameIsNoFileUntilItIsCommitted(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	begin := func(call run.CallID, size int) *Writer {
		t.Helper()
		w, err := s.Create(Key{"root", "root", call}, "shell", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		return w
	}
	files := func() int {
		t.Helper()
		found := 0
		if err := filepath.WalkDir(s.dir, func(_ string, f fs.DirEntry, err error) error {
			if err == nil && !f.IsDir() {
				found++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	small, aborted, large := begin("c_1", frameSize-1), begin("c_2", 1), begin("c_3", frameSize)
	if n := files(); n != 1 {
		t.Errorf("%d files before anything is committed, want that of the large one", n)
	}
	aborted.Abort()
	large.Abort()
	if n := files(); n != 0 {
		t.Errorf("%d files after both were aborted", n)
	}
	o, err := small.Commit(true)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if o.Bytes() != frameSize-1 {
		t.Errorf("%d bytes are stored", o.Bytes())
	}
}

func TestAWriterThatCannotWriteSaysSo(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	w, err := s.Create(Key{"root", "root", "c_1"}, "shell", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.create(); err != nil {
		t.Fatal(err)
	}
	w.tmp.Close() // as good as a full disk
	for range 20 {
		if _, err = w.Write(make([]byte, frameSize)); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("writing continues for ever")
	}
	if _, err := w.Commit(true); err == nil || !strings.Contains(err.Error(), "store the output of call c_1") {
		t.Error(err)
	}
	if _, err := s.Find(Scope{Conversation: "root", Run: "root"}, ""); err == nil {
		t.Error("there is an output")
	}
	if _, err := s.Create(Key{Run: "root", Call: "c_1"}, "shell", ""); err == nil {
		t.Error("a key without a conversation is accepted")
	}
}
