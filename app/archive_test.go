//go:build unix

package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/app"
	"pawl/board"
	"pawl/output"
	"pawl/run"
	"pawl/store"
	"pawl/task"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("PAWL_TEST_IMPORT_INTO"); dir != "" {
		importAndDie(dir)
		return
	}
	os.Exit(m.Run())
}

var ended = run.Ended{End: run.Completed}

// leave appends a run of the place, with an output of a call if it is not empty.
func (p *place) leave(ws *app.Workspace, c run.Created, stored []byte, more ...run.Payload) {
	p.t.Helper()
	key, err := p.environment().LogKey(true)
	ok(p.t, err)
	st, err := store.Open(ws.State, store.Options{Key: key})
	ok(p.t, err)
	defer st.Close()
	c.Workspace = ws.Dir
	var events []run.Event
	for i, f := range append([]run.Payload{c, run.Prompted{Parts: []run.Part{run.Text("do <it>\u2028& say \"so\"")}}}, more...) {
		events = append(events, run.Event{At: time.Date(2026, 11, 20, 12, 0, i, 123456789, time.UTC), Payload: f})
	}
	ok(p.t, st.Append(p.t.Context(), c.Run, 0, events))
	ok(p.t, st.Put(p.t.Context(), c.Run, store.Row{Key: "k", Kind: "interrupt", Payload: "{}"}))
	if len(stored) == 0 {
		return
	}
	w, err := output.NewStore(filepath.Join(ws.State, "outputs")).Create(output.Key{Conversation: c.Conversation(), Run: c.Run, Call: "c_1"}, "shell", "m")
	ok(p.t, err)
	_, err = w.Write(stored)
	ok(p.t, err)
	o, err := w.Commit(true)
	ok(p.t, err)
	ok(p.t, o.Close())
}

// elsewhere returns the same folder with another state folder.
func (p *place) elsewhere() *place {
	other := &place{p.t, p.dir, map[string]string{"HOME": p.t.TempDir(), "PAWL_MODEL": p.env["PAWL_MODEL"]}}
	other.env["PAWL_STATE_DIR"] = filepath.Join(other.env["HOME"], "state")
	return other
}

func random(size int) []byte {
	b := make([]byte, size)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

func exported(t *testing.T, ws *app.Workspace) []byte {
	t.Helper()
	var out bytes.Buffer
	_, err := ws.Export(t.Context(), &out, nil, nil, true)
	ok(t, err)
	return out.Bytes()
}

// imported imports an archive and returns what became of each unit.
func imported(t *testing.T, ws *app.Workspace, archive []byte) (states map[string]string, err error) {
	t.Helper()
	all, err := ws.ImportArchive(t.Context(), bytes.NewReader(archive), int64(len(archive)), false, false)
	states = map[string]string{}
	for _, i := range all {
		if states[i.Name()] = i.State; i.Why != nil {
			states[i.Name()] += ": " + i.Why.Error()
		}
	}
	return states, err
}

// whole reports whether a run is there, and fails if only a part of it is.
func whole(t *testing.T, ws *app.Workspace, id run.ID, stored []byte) bool {
	t.Helper()
	if _, err := ws.Find(t.Context(), string(id)); err != nil {
		return false
	}
	if _, err := ws.Verify(t.Context(), id); err != nil {
		t.Error(err)
	}
	scope, err := ws.Scope(t.Context(), string(id))
	ok(t, err)
	o, err := ws.Outputs().Find(scope, "c_1")
	if err != nil {
		t.Errorf("%s is there without its output: %v", id, err)
		return true
	}
	defer o.Close()
	if have, err := io.ReadAll(o.Reader()); err != nil || !bytes.Equal(have, stored) {
		t.Errorf("%s is there with another output: %d bytes, %v", id, len(have), err)
	}
	return true
}

// signed ends an archive again whose lines were changed.
func signed(lines []string) []byte {
	lines = lines[:len(lines)-1]
	all := strings.Join(lines, "")
	sum := sha256.Sum256([]byte(all))
	return fmt.Appendf([]byte(all), `{"end":{"lines":%d,"sha256":"%s"}}`+"\n", len(lines), hex.EncodeToString(sum[:]))
}

// The archive has a run with an output and a child, a task with a file, and a run. What is wrong with one of them
// leaves the others.
func TestRubbishIsNotImported(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	ws := p.open(nil)
	p.leave(ws, run.Created{Run: "a"}, []byte("one\ntwo\n"), ended)
	p.leave(ws, run.Created{Run: "a-c1", Parent: "a", Root: "a", Depth: 1, ParentCall: "c_1"}, nil, ended)
	s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "count"})
	ok(t, err)
	s, err = board.Of(ws).Attach(t.Context(), s.Created.Task, "anna", "a.txt", strings.NewReader("attached"))
	ok(t, err)
	id := string(s.Created.Task)
	p.leave(ws, run.Created{Run: "z"}, nil, ended)
	good := exported(t, ws)
	lines := strings.SplitAfter(string(good), "\n")
	lines = lines[:len(lines)-1]

	// What is wrong with all of it.
	refused := map[string]struct {
		archive []byte
		why     string
	}{
		"empty":        {nil, "this is not an archive"},
		"a text":       {[]byte("hello\n"), "this is not an archive"},
		"another JSON": {[]byte("{\"run\":\"a\",\"events\":[]}\n"), "this is not an archive"},
		"cut lines":    {[]byte(strings.Join(lines[:7], "")), "the archive was cut"},
		"a cut line":   {good[:len(good)-3], "the archive was cut"},
		"a changed byte": {bytes.Replace(good, []byte(`"tool":"shell"`), []byte(`"tool":"shelf"`), 1),
			"its check sum is wrong"},
		"a line twice":    {[]byte(strings.Join(append(lines[:2:2], lines[1:]...), "")), "its check sum is wrong"},
		"two archives":    {append(bytes.Clone(good), good...), "there is something after the last line"},
		"a newer one":     {bytes.Replace(good, []byte(`"version":1`), []byte(`"version":2`), 1), "in version 2 of the form, and this one knows version 1"},
		"an unknown line": {signed(append(append(lines[:2:2], "{\"soul\":{}}\n"), lines[2:]...)), "line 3 of the archive is not one that this pawl knows"},
		"no JSON":         {signed(append(append(lines[:2:2], "{\"run\":\n"), lines[2:]...)), "line 3 of the archive is not one of an archive: unexpected end"},
		"no unit":         {signed(append(lines[:1:1], lines[2:]...)), "line 2 of the archive belongs to nothing"},
	}
	for name, c := range refused {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := p.elsewhere().open(nil)
			if states, err := imported(t, to, c.archive); err == nil || !strings.Contains(err.Error(), c.why) || len(states) > 0 {
				t.Errorf("%v, %v: want %q", states, err, c.why)
			}
			nothing(t, to, "a", "z")
		})
	}

	// What is wrong with a part of it.
	sub := func(old, to string) func([]string) []string {
		return func(lines []string) []string {
			all := strings.Join(lines, "")
			re := regexp.MustCompile(old)
			first := re.FindStringSubmatchIndex(all)
			if first == nil {
				t.Errorf("nothing is %s", old)
				return lines
			}
			lines = strings.SplitAfter(all[:first[0]]+string(re.ExpandString(nil, to, all, first))+all[first[1]:], "\n")
			return lines[:len(lines)-1]
		}
	}
	// history changes the history of the task, as who can compute its hashes does.
	history := func(old, to string) func([]string) []string {
		return func(lines []string) []string {
			var hash []byte
			for i, line := range lines {
				var l struct {
					Event *store.TaskEvent `json:"task_event"`
				}
				line = strings.ReplaceAll(line, old, to)
				if lines[i] = line; json.Unmarshal([]byte(line), &l) == nil && l.Event != nil {
					hash = store.TaskHash(hash, id, *l.Event)
					sum, _ := json.Marshal(hash)
					lines[i] = regexp.MustCompile(`"hash":"[^"]*"`).ReplaceAllLiteralString(line, `"hash":`+string(sum))
				}
			}
			return lines
		}
	}
	left := map[string]struct {
		change func([]string) []string
		unit   string
		why    string
	}{
		"an event with other words":      {sub(`do <it>`, `do that`), "run a", "does not have the content its hash was made of"},
		"an event with another hash":     {sub(`("event":.*"seq":2,.*"hash":")....`, `${1}AAAA`), "run a", "event 2 does not have the content"},
		"no second event":                {sub(`\{"event":\{"seq":2,.*\n`, ``), "run a", "event 3 does not have the content"},
		"no last event":                  {sub(`\{"event":\{"seq":3,.*\n`, ``), "run a", "has 2 events in the archive, and not the 3"},
		"more events are promised":       {sub(`"events":3`, `"events":4`), "run a", "has 3 events in the archive, and not the 4"},
		"an id that is a path":           {sub(`"id":"a-c1"`, `"id":"../../a-c1"`), "run a", `not a run id: it must be 1 to 80 of a-z, 0-9, _ and -: "../../a-c1"`},
		"an id of another":               {sub(`"id":"a-c1"`, `"id":"a-c2"`), "run a", "does not have the content"},
		"no parent":                      {sub(`"id":"a","root":"a"`, `"id":"b","root":"b"`), "run a", "run b is of another conversation"},
		"a run twice":                    {sub(`"id":"a-c1"`, `"id":"a"`), "run a", "run a is in the archive twice"},
		"an output of other size":        {sub(`"bytes":8`, `"bytes":9`), "run a", "output \"c_1\" of run a: its content is not what is said of it"},
		"an output of other lines":       {sub(`"lines":2`, `"lines":3`), "run a", "it has 8 bytes, 8 characters and 2 lines, not 8, 8 and 3"},
		"an output that is not complete": {sub(`("output".*\n).*\n`, `$1`), "run a", "its content is not what is said of it"},
		"an output that is not zstd":     {sub(`("output".*\n).*\n`, `$1{"part":"AAAA"}`+"\n"), "run a", "the stored output is damaged"},
		"a part of nothing":              {sub(`(\{"inbox".*\n)`, `$1{"part":"AAAA"}`+"\n"), "run a", "is not in its place"},
		"a result of another run":        {sub(`(\{"inbox".*\n)`, `$1{"submission":{"run":"z","tool":"t","assignment":1,"value":"1","at":"2026-11-20T12:00:00Z"}}`+"\n"), "run a", "a submission of another run"},
		"a task with other words":        {sub(`"description\\":\\"count`, `"description\":\"steal`), "task " + id, "event 1 does not have the content its hash was made of"},
		"a task that is another's":       {history(`\"task\":\"`+id, `\"task\":\"t-other`), "task " + id, "its log is that of another task"},
		"what a task cannot do":          {history(`"type":"attachment_added"`, `"type":"attachment_removed"`), "task " + id, "does not follow from those before it"},
		"a file that is elsewhere":       {history(`a.txt`, `../../../a.txt`), "task " + id, `"../../../a.txt" is not the name of a file`},
		"a file in the wrong folder":     {history(s.Attachments[0].ID, `..`), "task " + id, `".." is not the name of a file`},
		"a file of other content":        {sub(`("file".*\n).*\n`, `$1{"part":"AAAAAAAAAAA="}`+"\n"), "task " + id, `the file "a.txt": its content is not what is said of it`},
		"a file that is not there":       {sub(`\{"file".*\n.*\n`, ``), "task " + id, "the files in the archive are not those that are attached to it"},
	}
	for name, c := range left {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := p.elsewhere().open(nil)
			states, err := imported(t, to, signed(c.change(append([]string{}, lines...))))
			ok(t, err)
			for _, unit := range []string{"run a", "task " + id, "run z"} {
				want := "added"
				if unit == c.unit {
					want = "left: "
				}
				if !strings.HasPrefix(states[unit], want) || unit == c.unit && !strings.Contains(states[unit], c.why) {
					t.Errorf("%s: %q, want %s%q", unit, states[unit], want, c.why)
				}
			}
			if c.unit == "run a" {
				nothing(t, to, "a", "a-c1", "b")
			} else if _, err := board.Of(to).Load(t.Context(), task.ID(id)); !errors.Is(err, store.ErrNoTask) {
				t.Errorf("the task is there: %v", err)
			}
			filepath.WalkDir(filepath.Dir(filepath.Dir(filepath.Dir(to.State))), func(path string, d os.DirEntry, _ error) error {
				if rel, _ := filepath.Rel(to.State, path); !d.IsDir() && (strings.Contains(rel, "outputs/a") && c.unit == "run a" || d.Name() == "a.txt" && c.unit != "run a") {
					t.Errorf("%s is left", rel)
				}
				return nil
			})
		})
	}
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		to := p.elsewhere().open(nil)
		if _, err := imported(t, to, good); err != nil || !whole(t, to, "a", []byte("one\ntwo\n")) {
			t.Errorf("what is good is not imported: %v", err)
		}
	})
}

// nothing fails if one of the runs is there.
func nothing(t *testing.T, ws *app.Workspace, ids ...run.ID) {
	t.Helper()
	for _, id := range ids {
		if _, err := ws.Run(t.Context(), id); err == nil {
			t.Errorf("run %s is there", id)
		}
	}
}

// What the store took, and the machine does not: it does not interpret events.
func TestALogThatIsNoneIsNotImported(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	ws := p.open(nil)
	p.leave(ws, run.Created{Run: "a"}, nil, run.CallStarted{Call: "c_1"})
	states, err := imported(t, p.elsewhere().open(nil), exported(t, ws))
	if want := "run a: event 3 does not follow from those before it"; err != nil || !strings.Contains(states["run a"], want) {
		t.Errorf("%v, %v: want %q", states, err, want)
	}
}

// An endless line is not read to its end.
func TestALineOfTenGigabytesIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	ws := p.open(nil)
	p.leave(ws, run.Created{Run: "a"}, nil, ended)
	head, _, _ := bytes.Cut(exported(t, ws), []byte("\n"))
	_, err := ws.ImportArchive(t.Context(), endless(append(head, '\n')), 10<<30, false, false)
	if err == nil || !strings.Contains(err.Error(), "line 2 of the archive is longer than") {
		t.Error(err)
	}
}

type endless []byte

func (e endless) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		if p[i] = 'x'; off+int64(i) < int64(len(e)) {
			p[i] = e[off+int64(i)]
		}
	}
	return len(p), nil
}

func TestARunThatIsDrivenIsNotImported(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	ws := p.open(nil)
	p.leave(ws, run.Created{Run: "a"}, []byte("x"), ended)
	s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "count"})
	ok(t, err)
	id := string(s.Created.Task)
	archive := exported(t, ws)
	other := p.elsewhere()
	to := other.open(nil)
	st, err := store.Open(to.State, store.Options{})
	ok(t, err)
	defer st.Close()
	lease, err := st.Own(t.Context(), "a", "")
	ok(t, err)
	driven, err := st.Own(t.Context(), store.TaskLease(id), "")
	ok(t, err)
	states, err := imported(t, to, archive)
	if err != nil || !strings.Contains(states["run a"], "left: run a is working in process") ||
		!strings.Contains(states["task "+id], "left: task "+id+" is worked on by process") {
		t.Errorf("%v, %v", states, err)
	}
	ok(t, errors.Join(lease.Release(), driven.Release()))
	if states, err := imported(t, to, archive); err != nil || states["run a"] != "added" || states["task "+id] != "added" {
		t.Errorf("%v, %v", states, err)
	}
}

// A run may work while it is exported: the archive has it as of one moment.
func TestWhatIsExportedWhileItGoesOnIsConsistent(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	ws := p.open(nil)
	p.leave(ws, run.Created{Run: "a"}, []byte("x"), ended)
	renamed, stop := make(chan int), make(chan struct{})
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				renamed <- n
				return
			default:
				if err := ws.Rename(t.Context(), "a", fmt.Sprint("name ", n)); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for range 10 {
		var out bytes.Buffer
		if _, err := ws.Export(t.Context(), &out, []run.ID{"a"}, nil, false); err != nil {
			continue // it was appended to too often
		}
		to := p.elsewhere().open(nil)
		if states, err := imported(t, to, out.Bytes()); err != nil || states["run a"] != "added" || !whole(t, to, "a", []byte("x")) {
			t.Errorf("%v, %v", states, err)
		}
	}
	close(stop)
	if n := <-renamed; n == 0 {
		t.Error("nothing went on")
	}
}

// mortal kills the process when it has been read so many times.
type mortal struct {
	io.ReaderAt
	left int
}

func (m *mortal) ReadAt(p []byte, off int64) (int, error) {
	if m.left--; m.left < 0 {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return m.ReaderAt.ReadAt(p, off)
}

func importAndDie(dir string) {
	var env map[string]string
	var left int
	json.Unmarshal([]byte(os.Getenv("PAWL_TEST_ENV")), &env)
	fmt.Sscan(os.Getenv("PAWL_TEST_READS"), &left)
	file, err := os.Open(os.Getenv("PAWL_TEST_ARCHIVE"))
	if err == nil {
		var ws *app.Workspace
		if ws, err = app.Open(app.Options{Dir: dir, Env: (&place{env: env}).environment()}); err == nil {
			info, _ := file.Stat()
			_, err = ws.ImportArchive(context.Background(), &mortal{file, left}, info.Size(), false, false)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// An import reads the archive until it commits, so a kill at each read is one in each of its parts.
func TestAKilledImportLeavesARunAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	ws := p.open(nil)
	stored := random(300 << 10)
	p.leave(ws, run.Created{Run: "a"}, stored, ended)
	p.leave(ws, run.Created{Run: "b"}, stored, ended)
	archive := exported(t, ws)
	file := filepath.Join(t.TempDir(), "archive")
	ok(t, os.WriteFile(file, archive, 0o600))
	counts := map[string]int{}
	for reads := 0; counts["ended"] == 0; reads++ {
		other := p.elsewhere()
		env, err := json.Marshal(other.env)
		ok(t, err)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "PAWL_TEST_IMPORT_INTO="+p.dir, "PAWL_TEST_ENV="+string(env), "PAWL_TEST_ARCHIVE="+file, fmt.Sprint("PAWL_TEST_READS=", reads))
		out, err := cmd.CombinedOutput()
		if err == nil {
			counts["ended"]++
		} else if status, isUnix := cmd.ProcessState.Sys().(syscall.WaitStatus); !isUnix || status.Signal() != syscall.SIGKILL {
			t.Fatalf("%v: %s", err, out)
		}
		to := other.open(nil)
		a, b := whole(t, to, "a", stored), whole(t, to, "b", stored)
		counts[fmt.Sprint(a, b)]++
		states, err := imported(t, to, archive)
		ok(t, err)
		want := map[bool]string{true: "there", false: "added"}
		if states["run a"] != want[a] || states["run b"] != want[b] || !whole(t, to, "a", stored) || !whole(t, to, "b", stored) {
			t.Errorf("killed at read %d: %v", reads, states)
		}
	}
	if counts["false false"] < 10 || counts["true false"] < 3 || counts["false true"] > 0 {
		t.Errorf("moments: %v", counts)
	}
}
