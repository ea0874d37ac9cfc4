package socket

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pawl/store"
)

// socketDir is a folder whose path is short enough for sockets; t.TempDir has the
// test's name in it.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pawl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func listen(t *testing.T) *Listener {
	t.Helper()
	l, err := Listen(socketDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// dial connects a viewer and waits until the owner knows it.
func dial(t *testing.T, l *Listener) *Viewer {
	t.Helper()
	before := l.Viewers()
	v, err := Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	for l.Viewers() <= before {
		runtime.Gosched()
	}
	return v
}

func TestAWakeUpReachesTheOwner(t *testing.T) {
	t.Parallel()
	l := listen(t)
	v := dial(t, l)
	for range 100 { // they count as one until the owner looks
		if err := v.Wake(); err != nil {
			t.Fatal(err)
		}
	}
	<-l.Wake()
	if err := v.Wake(); err != nil {
		t.Fatal(err)
	}
	<-l.Wake()

	// A viewer that wakes and goes at once is heard too.
	again := listen(t)
	v = dial(t, again)
	if err := errors.Join(v.Wake(), v.Close()); err != nil {
		t.Fatal(err)
	}
	<-again.Wake()
	for again.Viewers() > 0 {
		runtime.Gosched()
	}
}

func TestAWakeUpOfOneWhoLeavesAtOnceReachesTheOwner(t *testing.T) {
	t.Parallel()
	l := listen(t)
	l.Greet(func() [][]byte { return [][]byte{[]byte("what waits")} }) // written to one who has gone
	for range 200 {
		v, err := Dial(t.Context(), l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(v.Wake(), v.Close()); err != nil {
			t.Fatal(err)
		}
		<-l.Wake()
	}
}

func TestEveryViewerGetsTheLinesInOrder(t *testing.T) {
	t.Parallel()
	l := listen(t)
	l.Broadcast([]byte("to nobody"))
	l.Greet(func() [][]byte { return [][]byte{[]byte("hello"), []byte("you")} })
	viewers := []*Viewer{dial(t, l), dial(t, l)}
	const lines = 1000
	buf := []byte{}
	for n := range lines {
		buf = fmt.Appendf(buf[:0], `{"delta":%d}`, n) // the listener keeps nothing of it
		l.Broadcast(buf)
	}
	for i, v := range viewers {
		n := -2
		for line, err := range v.Lines() {
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf(`{"delta":%d}`, n)
			if n < 0 {
				want = []string{"hello", "you"}[n+2]
			}
			if string(line) != want {
				t.Fatalf("viewer %d: got %s, want %s", i, line, want)
			}
			if n++; n == lines {
				break
			}
		}
	}
}

func TestAViewerThatDoesNotReadNeitherSlowsNorStarvesTheOthers(t *testing.T) {
	t.Parallel()
	l := listen(t)
	dial(t, l) // it never reads
	good := dial(t, l)
	line := bytes.Repeat([]byte("x"), 64<<10)
	// Far more than all buffers hold. If the owner waited for the slow one, this
	// would hang; the good one reads each line before the next is sent.
	const lines = 200
	got := make(chan int)
	go func() {
		for line, err := range good.Lines() {
			if err != nil {
				t.Error(err)
				break
			}
			got <- len(line)
		}
		close(got)
	}()
	for n := range lines {
		l.Broadcast(line)
		if size := <-got; size != len(line) {
			t.Fatalf("line %d has %d bytes, want %d", n, size, len(line))
		}
	}
	l.mu.Lock()
	for v := range l.viewers {
		v.mu.Lock()
		if len(v.pending) > maxPending {
			t.Errorf("%d bytes are kept for a viewer, want at most %d", len(v.pending), maxPending)
		}
		v.mu.Unlock()
	}
	l.mu.Unlock()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, more := <-got; more {
		t.Error("a line came after the end")
	}
}

func TestTheLongestLineFits(t *testing.T) {
	t.Parallel()
	l := listen(t)
	v := dial(t, l)
	longest := bytes.Repeat([]byte("x"), maxPending-1)
	l.Broadcast(append(longest, 'x')) // one more is dropped
	l.Broadcast(longest)
	for line, err := range v.Lines() {
		if err != nil || len(line) != len(longest) {
			t.Errorf("got %d bytes, error %v; want %d, nil", len(line), err, len(longest))
		}
		break
	}
}

func TestWhoSendsSomethingElseIsDisconnected(t *testing.T) {
	t.Parallel()
	l := listen(t)
	for _, noise := range []string{"GET / HTTP/1.1\n", strings.Repeat("x", 10_000)} {
		v := dial(t, l)
		if _, err := v.conn.Write([]byte(noise)); err != nil {
			t.Fatal(err)
		}
		for line := range v.Lines() {
			t.Errorf("got line %s", line)
		}
	}
	select {
	case <-l.Wake():
		t.Error("noise woke the owner")
	default:
	}
}

func TestCloseRemovesTheSocketAndEndsTheViewers(t *testing.T) {
	t.Parallel()
	l := listen(t)
	v := dial(t, l)
	if info, err := os.Stat(l.Addr()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v; want mode 0600", info, err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	l.Broadcast([]byte("to nobody"))
	for range v.Lines() {
		t.Error("a line came after the end")
	}
	if _, err := os.Stat(l.Addr()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := Dial(t.Context(), l.Addr()); err == nil {
		t.Error("somebody could connect to a closed listener")
	}
}

func TestSocketsOfKilledProcessesAreSwept(t *testing.T) {
	t.Parallel()
	dir := socketDir(t)
	socket := func(name string, age time.Duration) string {
		t.Helper()
		path := filepath.Join(dir, name+".sock")
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "dead") {
			ln.SetUnlinkOnClose(false) // as after kill -9
			ln.Close()
		} else {
			t.Cleanup(func() { ln.Close() })
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kept := []string{socket("alive", time.Hour), socket("dead-and-young", 0)}
	swept := socket("dead", time.Hour)
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(swept); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", swept, err)
	}
}

func TestAPathTooLongForASocketIsSaid(t *testing.T) {
	t.Parallel()
	if l, err := Listen(filepath.Join(t.TempDir(), "gone")); err == nil {
		t.Error("a socket is made in a folder that is not there", l.Close())
	}
	dir := filepath.Join(socketDir(t), strings.Repeat("x", 100))
	if _, err := Listen(dir); err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("got error %v, want one that asks for a shorter folder", err)
	}
}

func TestTheRuntimeFolderIsWhereTheSystemSays(t *testing.T) {
	parent := socketDir(t)
	t.Setenv("XDG_RUNTIME_DIR", parent)
	if dir, err := Dir(); err != nil || dir != filepath.Join(parent, "pawl") {
		t.Errorf("got %s, %v; want it below %s", dir, err, parent)
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(parent, "gone"))
	if dir, err := Dir(); err == nil || !strings.Contains(err.Error(), filepath.Join(parent, "gone", "pawl")) {
		t.Errorf("got %s, %v below a folder that is not there", dir, err)
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", parent)
	if runtime.GOOS == "windows" {
		return
	}
	if dir, err := Dir(); err != nil || dir != filepath.Join(parent, fmt.Sprintf("pawl-%d", os.Getuid())) {
		t.Errorf("without it: got %s, %v; want it below %s", dir, err, parent)
	}
}

func TestTheRuntimeFolderIsOursAlone(t *testing.T) {
	t.Parallel()
	parent := socketDir(t)
	dir := filepath.Join(parent, "pawl")
	for range 2 { // made, and found
		if err := privateDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("it was made as %v, %v", info, err)
	}
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := privateDir(file); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("of a file: %v", err)
	}
	if err := privateDir(filepath.Join(file, "pawl")); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("below a file: %v", err)
	}
	link := filepath.Join(parent, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := privateDir(link); err == nil {
		t.Error("a link was taken for a folder")
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := privateDir(dir); err == nil || !strings.Contains(err.Error(), "chmod 700 "+dir) {
		t.Errorf("got error %v, want one that says what to do", err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dir, 1, 1); err != nil {
			t.Fatal(err)
		}
		if err := privateDir(dir); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("got error %v, want one that says it is another's", err)
		}
	}
}

func TestAFolderOfSocketsIsSweptOnceAMinute(t *testing.T) {
	t.Parallel()
	var s sweeps
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		dir  string
		at   time.Duration
		want bool
	}{{"a", 0, true}, {"a", time.Second, false}, {"b", time.Second, true}, {"a", staleAfter, true}, {"a", staleAfter + 1, false}} {
		if got := s.due(c.dir, now.Add(c.at)); got != c.want {
			t.Errorf("the folder %s after %s: %t, want %t", c.dir, c.at, got, c.want)
		}
	}
}

// A line that no owner sends ends the reading with an error.
func TestALineThatIsTooLongIsAnError(t *testing.T) {
	t.Parallel()
	owner, viewer := net.Pipe()
	defer owner.Close()
	go owner.Write(make([]byte, 2*maxPending)) // it ends with the viewer
	v := &Viewer{viewer}
	defer v.Close()
	for line, err := range v.Lines() {
		if !errors.Is(err, bufio.ErrTooLong) {
			t.Errorf("a line of %d bytes, %v", len(line), err)
		}
	}
}

// A client that connects while the owner is leaving gets nothing.
func TestAListenerThatIsClosedTakesNoViewer(t *testing.T) {
	t.Parallel()
	l, err := Listen(socketDir(t))
	if err != nil {
		t.Fatal(err)
	}
	l.Greet(func() [][]byte { return [][]byte{[]byte("hello")} })
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	v := &viewerConn{more: make(chan struct{}, 1)}
	if l.add(v) || len(v.pending) > 0 || l.Viewers() != 0 {
		t.Errorf("it was sent %q, %d viewers", v.pending, l.Viewers())
	}
}

func TestSocketsOfKilledProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "pawl-sock-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if n := Tidy(dir, 0); n != 0 {
		t.Errorf("%d sockets that are listened on were removed", n)
	}
	if _, err := os.Stat(l.Addr()); err != nil {
		t.Error(err)
	}
}

// A broadcast without viewers is what every delta of a run that is not watched costs.
func BenchmarkBroadcastWithoutViewers(b *testing.B) {
	l, err := Listen(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	line := []byte(`{"delta":"a"}`)
	for b.Loop() {
		l.Broadcast(line)
	}
}
