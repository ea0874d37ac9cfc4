//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl/forms"
	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
	"pawl/store"
	"pawl/store/postgres/pgtest"
	"pawl/task"
)

// A temporal is a real development server of Temporal, with its state in a file.
type temporal struct {
	t       testing.TB
	program string
	address string
	file    string
	cmd     *exec.Cmd
}

func newTemporal(t testing.TB) *temporal {
	t.Helper()
	program, err := exec.LookPath("temporal")
	if err != nil {
		t.Skip("Temporal's command line is not installed: go install github.com/temporalio/cli/cmd/temporal@v1.5.1")
	}
	// A port below the ephemeral range: no connection of this machine has it when the server starts, or starts again.
	var l net.Listener
	for range 100 {
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))); err == nil {
			break
		}
	}
	ok(t, err)
	s := &temporal{t: t, program: program, address: l.Addr().String(), file: filepath.Join(t.TempDir(), "temporal.db")}
	l.Close()
	s.up()
	t.Cleanup(s.kill)
	return s
}

// up starts the server, again after kill, and returns when it answers.
func (s *temporal) up() {
	s.t.Helper()
	_, port, err := net.SplitHostPort(s.address)
	ok(s.t, err)
	s.cmd = exec.Command(s.program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, "--db-filename", s.file, "--log-level", "error")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ok(s.t, s.cmd.Start())
	until(s.t, "Temporal answers", func() bool {
		return exec.Command(s.program, "operator", "cluster", "health", "--address", s.address).Run() == nil
	})
}

func (s *temporal) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait() // "signal: killed"
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until waits until something is true.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// A site is a folder whose tasks are in a database, and the machines that work on them: each has a state folder of its
// own.
type site struct {
	t          testing.TB
	dir        string
	folder     string // in dir
	database   string
	temporal   *temporal
	machines   map[string][]*machine
	repository string              // that they share; empty: they share the folder
	apart      bool                // each worker has a disk of its own, where all see theirs at the same path
	programs   map[string]string   // of machines that have another pawl-fleet than this one
	env        map[string][]string // of machines that have more variables
	model      string              // empty: it answers with the script
	models     string              // what is in the file of models
}

func newSite(t testing.TB, database string) *site {
	t.Helper()
	return &site{t: t, dir: t.TempDir(), folder: "work", database: database, temporal: newTemporal(t), machines: map[string][]*machine{}}
}

// command returns a command of pawl-fleet on a machine. A run names its model, which answers with the script that was given last.
func (s *site) command(machine, script string, args ...string) *exec.Cmd {
	top, folder := filepath.Join(s.dir, machine), filepath.Join(s.dir, s.folder)
	program := cmp.Or(s.programs[machine], "pawl-fleet")
	call := []string{program}
	if s.apart && machine != "desk" {
		disk := top
		top = filepath.Join(s.dir, "disk")
		folder = filepath.Join(top, "work")
		ok(s.t, os.MkdirAll(filepath.Join(disk, "work"), 0o700))
		call = []string{"unshare", "--mount", "sh", "-c", `mount --bind "$1" "$2" && shift 2 && exec "$@"`, "sh", disk, top, program}
	}
	flags := []string{"-C", folder, "--store", s.database, "--temporal", s.temporal.address}
	if s.repository != "" {
		flags = append(flags, "--repository", s.repository)
		ok(s.t, os.MkdirAll(top, 0o700))
		ok(s.t, os.WriteFile(filepath.Join(top, ".gitconfig"), []byte("[user]\nname = Anna\nemail = anna@example.org\n"), 0o600))
	}
	cmd := exec.Command(call[0], slices.Concat(call[1:], flags, args)...)
	cmd.Env = append(os.Environ(), "HOME="+top, "XDG_CONFIG_HOME="+filepath.Join(top, ".config"), "PAWL_STATE_DIR="+filepath.Join(top, "state"), "PAWL_MODEL="+cmp.Or(s.model, "script/"+filepath.Join(s.dir, "model.jsonl")))
	cmd.Env = append(cmd.Env, s.env[machine]...)
	if s.models != "" {
		cmd.Env = append(cmd.Env, "HOUSE_KEY=of-the-house")
		config := filepath.Join(top, ".config", "pawl")
		ok(s.t, os.MkdirAll(config, 0o700))
		ok(s.t, os.WriteFile(filepath.Join(config, "models.toml"), []byte(s.models), 0o600))
	}
	for _, dir := range []string{top, folder} {
		ok(s.t, os.MkdirAll(dir, 0o700))
	}
	if script != "" {
		ok(s.t, os.WriteFile(filepath.Join(s.dir, "model.jsonl"), []byte(script), 0o600))
	}
	return cmd
}

// pawl runs a command to its end on a machine of its own, and returns what it prints.
func (s *site) pawl(args ...string) string {
	s.t.Helper()
	var problem bytes.Buffer
	cmd := s.command("desk", "", args...)
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("pawl-fleet %s: %v\n%s", strings.Join(args, " "), err, &problem)
	}
	return string(out)
}

// A machine is a worker.
type machine struct {
	cmd  *exec.Cmd
	said *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// worker starts a worker and returns when it takes tasks.
func (s *site) worker(name, script string, flags ...string) *machine {
	s.t.Helper()
	m := &machine{s.command(name, script, append([]string{"worker", "--mode", "accept-edits"}, flags...)...), &lockedBuffer{}}
	m.cmd.Stderr = m.said
	ok(s.t, m.cmd.Start())
	s.machines[name] = append(s.machines[name], m)
	s.t.Cleanup(func() {
		m.end(syscall.SIGKILL)
		if _, notes, _ := strings.Cut(m.said.String(), "\n"); s.t.Failed() && notes != "" {
			s.t.Logf("worker %s: %s", name, notes)
		}
	})
	until(s.t, name+" works", func() bool {
		if m.cmd.ProcessState != nil || strings.Contains(m.said.String(), "pawl:") {
			s.t.Fatalf("worker %s: %s", name, m.said)
		}
		return strings.Contains(m.said.String(), "working on the queue")
	})
	return m
}

// end sends a worker a signal, and returns when it has ended.
func (m *machine) end(signal syscall.Signal) {
	if m.cmd.ProcessState == nil {
		m.cmd.Process.Signal(signal)
		m.cmd.Wait() // how it ended is known
	}
}

// add adds a task that starts by itself, and returns its id.
func (s *site) add(words string, flags ...string) string {
	s.t.Helper()
	var form struct{ ID string }
	ok(s.t, json.Unmarshal([]byte(s.pawl(append([]string{"task", "add", "--start", "--detach", "--json", words}, flags...)...)), &form))
	return form.ID
}

// tasks returns the summaries of all tasks.
func (s *site) tasks() []task.Summary {
	s.t.Helper()
	var list struct{ Items []task.Summary }
	ok(s.t, json.Unmarshal([]byte(s.pawl("task", "list", "--limit", "0", "--json")), &list))
	return list.Items
}

// status returns the summary of a task.
func (s *site) status(id string) task.Summary {
	s.t.Helper()
	all := s.tasks()
	i := slices.IndexFunc(all, func(sum task.Summary) bool { return string(sum.ID) == id })
	if i < 0 {
		s.t.Fatalf("task %s is not listed among %d", id, len(all))
	}
	return all[i]
}

// fleet returns what the workers do.
func (s *site) fleet() forms.FleetForm {
	s.t.Helper()
	var f forms.FleetForm
	ok(s.t, json.Unmarshal([]byte(s.pawl("fleet", "status", "--json")), &f))
	return f
}

func (s *site) file(name string) string {
	b, _ := os.ReadFile(filepath.Join(s.dir, s.folder, name)) // one that is not there is empty
	return string(b)
}

const (
	planned = `{"when":{"first":"Plan this task"},"repeat":true,"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Write.","requirements":[],"acceptanceCriteria":[],"plan":["write"],"assignedAgent":"developer"}}]}` + "\n"
	works   = `{"when":{"first":"Carry out this task","contains":"beta"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Both."}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"write","args":{"path":"alpha","content":"one"}}]}
`
	// hangs has the agent write one file and think for ever; finishes has it write both.
	hangs    = planned + works + `{"when":{"first":"Carry out this task"},"text":"I think about it","hang":true}` + "\n"
	finishes = planned + works + `{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"write","args":{"path":"beta","content":"two"}}]}` + "\n"
)

// When a worker is killed or drained, another continues its task.
func TestATaskGoesOnWithAnotherWorker(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "drained": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, pgtest.Shared(t).Address(t))
			first := s.worker("first", hangs)
			id := s.add("write both files")
			until(t, "the first file is written", func() bool { return s.file("alpha") == "one" })
			until(t, "the first worker holds it", func() bool {
				f := s.fleet()
				return len(f.Tasks) == 1 && strings.Contains(f.Tasks[0].By, strconv.Itoa(first.cmd.Process.Pid))
			})
			s.worker("second", finishes)
			began := time.Now()
			first.end(signal)
			until(t, "the second file is written", func() bool { return s.file("beta") == "two" })
			t.Logf("%s: another went on within %s", name, time.Since(began).Round(100*time.Millisecond))
			until(t, "the task is completed", func() bool { return s.status(id).Status == task.Completed })
			if out := s.pawl("task", "show", id, "--history"); strings.Count(out, "Both.") == 0 {
				t.Errorf("its history does not have the report:\n%s", out)
			}
			s.pawl("runs", "verify", "last")
			if f := s.fleet(); len(f.Tasks) != 0 {
				t.Errorf("something is left to be done: %+v", f.Tasks)
			}
		})
	}
}

// A worker is drained from another machine, which waits for that; another worker continues its task.
func TestAWorkerIsDrainedFromAnotherMachine(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.Shared(t).Address(t))
	first := s.worker("first", hangs)
	id := s.add("write both files")
	until(t, "the first file is written", func() bool { return s.file("alpha") == "one" })
	second := s.worker("second", finishes)
	workers := s.fleet().Workers
	i := slices.IndexFunc(workers, func(w forms.WorkerForm) bool { return strings.Contains(w.Name, pid(first)) })
	if i < 0 || len(workers) != 2 {
		t.Fatalf("the workers are %+v", workers)
	}
	o := &office{s: s, token: strings.TrimSpace(s.pawl("users", "add", "anna", "--role", "see"))}
	o.open()
	status, answer, err := ask(t.Context(), o.token, "GET", o.url+"/workers", "", "")
	ok(t, err)
	var shown forms.FleetForm
	if status != http.StatusOK || json.Unmarshal([]byte(answer), &shown) != nil || len(shown.Tasks) != 1 || shown.Tasks[0].By != workers[i].Name ||
		len(shown.Workers) != 2 || shown.Workers[0].Holds+shown.Workers[1].Holds != 1 {
		t.Errorf("the server says of them: %d %s", status, answer)
	}
	if status, answer, err := ask(t.Context(), "", "POST", o.url+"/sessions", `{"code":"`+o.token+`"}`, ""); status != http.StatusCreated || !strings.Contains(answer, `"workers":true`) || err != nil {
		t.Errorf("a page is told %d %s, %v", status, answer, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- first.cmd.Wait() }()
	if out := s.pawl("fleet", "drain", workers[i].Name); out != "Drained: "+workers[i].Name+"\n" {
		t.Errorf("drain says %q", out)
	}
	if err := <-ended; err != nil || !strings.Contains(first.said.String(), "the worker was drained by another process") {
		t.Errorf("the worker ends with %v: %s", err, first.said)
	}
	until(t, "the task is completed", func() bool { return s.status(id).Status == task.Completed })

	second.end(syscall.SIGKILL)
	until(t, "the status does not have who was killed", func() bool { return len(s.fleet().Workers) == 0 })
	out, refused := s.command("desk", "", "fleet", "drain", "nowhere").CombinedOutput()
	if refused == nil || !strings.Contains(string(out), `no worker is named "nowhere"`) {
		t.Errorf("of a machine that is not there: %v: %s", refused, out)
	}
}

// A worker that was stopped for longer than its lease, and resumes while another has the task, records nothing.
func TestAWorkerThatWasThoughtDeadRecordsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.Shared(t).Address(t))
	first := s.worker("first", planned+`{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"echo begun > begun; sleep 3; echo ended > ended"}}]}
{"when":{"first":"Carry out this task"},"text":"I think about it","hang":true}
`)
	id := s.add("write it")
	until(t, "the command runs", func() bool { return s.file("begun") != "" })
	first.cmd.Process.Signal(syscall.SIGSTOP)
	second := s.worker("second", "")
	until(t, "the second worker holds it", func() bool {
		f := s.fleet()
		return len(f.Tasks) == 1 && strings.Contains(f.Tasks[0].By, strconv.Itoa(second.cmd.Process.Pid))
	})
	until(t, "the command has ended", func() bool { return s.file("ended") != "" })
	first.cmd.Process.Signal(syscall.SIGCONT)
	until(t, "the first worker has seen that it lost the task", func() bool {
		logs, err := filepath.Glob(filepath.Join(s.dir, "first", "state", "log", "*.log"))
		ok(t, err)
		return s.status(id).Status != task.Active || slices.ContainsFunc(logs, func(name string) bool {
			b, _ := os.ReadFile(name)
			return bytes.Contains(b, []byte("Activity error"))
		})
	})
	history := s.pawl("task", "show", id, "--history")
	if sum := s.status(id); sum.Status != task.Active || strings.Contains(history, "storage") {
		t.Errorf("the task is %s: %s\n%s", sum.Status, sum.Detail, history)
	}
}

// While a run waits for a person no worker holds it; the answer, from a third machine, sends it to one that is there.
func TestAnAnswerSendsATaskToAnyWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.Shared(t).Address(t))
	const script = planned + `{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"curl -s http://127.0.0.1:9/x; echo once >> left"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}
`
	first := s.worker("first", script)
	id := s.add("fetch it", "--label", "slow")
	until(t, "no worker holds the waiting task", func() bool {
		f := s.fleet()
		return s.status(id).WaitsFor == "permission" && len(f.Tasks) == 1 && f.Tasks[0].By == ""
	})
	found := func(query string) bool {
		out, err := exec.Command(s.temporal.program, "workflow", "list", "--address", s.temporal.address, "--query", query).Output()
		ok(t, err)
		return strings.Contains(string(out), id)
	}
	until(t, "Temporal finds it among what waits", func() bool { return found(`PawlState = "waiting" AND PawlTask = "` + id + `" AND PawlLabels = "slow"`) })
	first.end(syscall.SIGTERM)
	s.pawl("runs", "decide", string(s.status(id).Run), "allow")
	if s.file("left") != "" {
		t.Error("it went on without a worker")
	}
	s.worker("second", script)
	until(t, "the task is completed", func() bool { return s.status(id).Status == task.Completed })
}

// What a person has forbidden to a run is forbidden to it on all machines.
func TestWhatWasForbiddenIsForbiddenOnOtherMachines(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.Shared(t).Address(t))
	const refused = `{"when":{"first":"Carry out this task","contains":"The person refused this call"},`
	first := s.worker("first", planned+refused+`"text":"I think about it","hang":true}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"curl -s http://127.0.0.1:9/x"}}]}
`)
	id := s.add("fetch it")
	until(t, "the call waits", func() bool { return s.status(id).WaitsFor == "permission" })
	s.pawl("runs", "decide", string(s.status(id).Run), "never", "--rule", "shell(curl *)")
	until(t, "it was refused", func() bool {
		return strings.Contains(s.pawl("runs", "log", "last", "--json"), "The person refused this call")
	})
	first.end(syscall.SIGKILL)

	s.worker("second", planned+refused+`"calls":[{"tool":"shell","args":{"command":"curl -s http://127.0.0.1:9/y; echo asked > left"}}]}
{"when":{"first":"Carry out this task","contains":"Not allowed"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}
`)
	until(t, "the task is completed", func() bool {
		if s.status(id).WaitsFor == "permission" {
			t.Fatal("it is asked about what was forbidden")
		}
		return s.status(id).Status == task.Completed
	})
	if s.file("left") != "" {
		t.Error("what was forbidden was done")
	}
}

// A worker in another folder does not work on a task of this one, and says why.
func TestATaskIsWorkedOnInItsFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.Shared(t).Address(t))
	away := *s
	away.folder = "elsewhere"
	lost := away.worker("lost", finishes)
	id := s.add("write both files")
	until(t, "the worker says why", func() bool {
		return strings.Contains(lost.said.String(), "task "+id+" works in ") && strings.Contains(lost.said.String(), "all workers need the same folder")
	})
	s.worker("right", finishes)
	until(t, "the task is completed", func() bool { return s.status(id).Status == task.Completed })
	if s.file("beta") != "two" || away.file("alpha") != "" {
		t.Error("it was worked on elsewhere")
	}
}

// A provider is sent as many requests at once with a key as it may be, by all workers together.
func TestTheRequestsOfAKeyAreBoundedOverAllWorkers(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.Shared(t).Address(t))
	answers, err := script.Parse(strings.NewReader(strings.ReplaceAll(finishes, `"when"`, `"delay_ms":100,"when"`)))
	ok(t, err)
	provider := fake.New(answers, false)
	var at, most, all atomic.Int32
	house := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all.Add(1)
		for now := at.Add(1); now > most.Load(); {
			most.Store(now)
		}
		time.Sleep(20 * time.Millisecond)
		at.Add(-1) // before it is answered: who has the answer makes place for another request
		provider.ServeHTTP(w, r)
	}))
	t.Cleanup(house.Close)
	s.model, s.models = "house/m", "[providers.house]\nwire = \"chat\"\nbase_url = \""+house.URL+"/v1\"\nkey_env = [\"HOUSE_KEY\"]\nat_once = 2\n"
	for _, name := range []string{"first", "second", "third"} {
		s.worker(name, "")
	}
	for range 6 {
		s.add("write both files")
	}
	until(t, "all tasks are completed", func() bool {
		return !slices.ContainsFunc(s.tasks(), func(sum task.Summary) bool {
			if sum.Status == task.Failed {
				t.Fatalf("task %s has failed: %s", sum.ID, sum.Detail)
			}
			return sum.Status != task.Completed
		})
	})
	if most.Load() > 2 || all.Load() < 18 {
		t.Errorf("%d requests were sent, %d at once", all.Load(), most.Load())
	}
}

// A label sends a task to the workers of a queue.
func TestALabelSendsATaskToAQueue(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.Shared(t).Address(t))
	s.worker("any", planned)
	cmd := s.command("desk", "", "task", "add", "look", "--start", "--detach", "--label", "queue:other")
	if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "it starts by itself with a worker: `pawl-fleet fleet status`") {
		t.Errorf("added: %v\n%s", err, said)
	}
	id := s.add("write both files", "--label", "queue:big")
	until(t, "it waits for a worker of its queue", func() bool { return slices.Equal(s.fleet().Unattended, []string{"big", "other"}) })
	if out := s.pawl("fleet", "status"); !strings.Contains(out, "No worker takes tasks of the queue big") {
		t.Errorf("the status is\n%s", out)
	}
	s.worker("big", finishes, "--queue", "big")
	until(t, "the task is completed", func() bool { return s.status(id).Status == task.Completed })
}

// A machine is lost in the middle of a command, with its disk: another one continues the task from what was saved in the
// shared repository, and it is answered, reviewed and merged from a third, which works in a folder of its own.
func TestATaskOutlivesItsMachine(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.Shared(t).Address(t))
	git := s.share()
	shared := func(args ...string) string { t.Helper(); return git(append([]string{"-C", s.repository}, args...)...) }
	const carries = `{"when":{"first":"wishes of the office"},"calls":[{"tool":"`
	attached := filepath.Join(s.dir, "wishes.txt")
	ok(t, os.WriteFile(attached, []byte("wishes of the office"), 0o600))
	office := *s
	office.folder = "office"
	s.worker("node", planned+carries+`write","args":{"path":"alpha","content":"one\n"}}]}
`+carries+`shell","args":{"command":"git add . && git commit --quiet -m alpha && echo half > beta"}}]}
`+carries+`shell","args":{"command":"echo lost > alpha; touch begun; sleep 1000"}}]}
`)
	id := office.add("write both files", "--attach", attached)
	until(t, "the last command runs", func() bool {
		found, _ := filepath.Glob(filepath.Join(s.dir, "node", "state", "workspaces", "*", "copies", id, "work", "begun"))
		return len(found) > 0
	})
	before := office.pawl("task", "diff", id)
	if !strings.Contains(before, "+one") || !strings.Contains(before, "+half") || strings.Contains(before, "lost") {
		t.Errorf("at the desk, the diff of what is at work is\n%s", before)
	}
	s.lose("node")

	s.worker("node", planned+`{"when":{"first":"Carry out this task","contains":"unknown"},"repeat":true,"calls":[{"tool":"shell","args":{"command":"cat alpha beta > seen; curl -s http://127.0.0.1:9/x; git log --format=%s >> seen"}}]}
{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Both."}}]}
`)
	until(t, "it waits for a person, and no worker holds it", func() bool {
		f := office.fleet()
		return office.status(id).WaitsFor == "permission" && len(f.Tasks) == 1 && f.Tasks[0].By == ""
	})
	s.lose("node")
	office.pawl("runs", "decide", string(office.status(id).Run), "allow")
	s.worker("node", "")
	until(t, "the task is completed", func() bool { return office.status(id).Status == task.Completed })

	if out := office.pawl("task", "merge", id); !strings.Contains(out, "the branch pawl/"+id+" is in "+s.repository) {
		t.Errorf("the merge says\n%s", out)
	}
	if got := shared("show", "pawl/"+id+":seen"); got != "one\nhalf\nalpha\nfirst" {
		t.Errorf("the third machine had %q", got)
	}
	if got := shared("show", "pawl/"+id+":alpha"); got != "one" {
		t.Errorf("alpha is %q: what was lost with its machine is in it", got)
	}
	if history := office.pawl("task", "show", id, "--history"); !strings.Contains(history, "Both.") {
		t.Errorf("its history is\n%s", history)
	}
	office.pawl("runs", "verify", "last")
	if out := office.pawl("fleet", "doctor"); strings.Count(out, " ok ") != 5 {
		t.Errorf("doctor says\n%s", out)
	}
	office.pawl("task", "discard", id)
	if left := shared("for-each-ref", "refs/pawl"); left != "" {
		t.Errorf("after the discard there is still %s", left)
	}
	ok(t, os.Rename(s.repository, s.repository+".away"))
	out, err := office.command("desk", "", "fleet", "doctor").Output()
	if err == nil || !strings.Contains(string(out), "repository  problem") || !strings.Contains(string(out), "shared.git") {
		t.Errorf("without the repository doctor ends with %v:\n%s", err, out)
	}
}

// share gives the site a repository, of which the folder office is a clone, and returns what calls git.
func (s *site) share() (git func(args ...string) string) {
	s.repository = filepath.Join(s.dir, "shared.git")
	git = func(args ...string) string {
		s.t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = s.dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			s.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--initial-branch=main", "office")
	ok(s.t, os.WriteFile(filepath.Join(s.dir, "office", "README"), []byte("zero\n"), 0o600))
	git("-C", "office", "config", "user.name", "Anna")
	git("-C", "office", "config", "user.email", "anna@example.org")
	git("-C", "office", "add", ".")
	git("-C", "office", "commit", "--quiet", "-m", "first")
	git("clone", "--quiet", "--bare", "office", s.repository)
	return git
}

// A merge waits until the worker has released the task, and has what the worker saved meanwhile.
func TestAMergeIsOfWhatWasSavedLast(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.Shared(t).Address(t))
	git := s.share()
	worker := s.worker("node", stepping(1))
	office := *s
	office.folder = "office"
	id := office.add(numbered(0))
	until(t, "the task is completed", func() bool { return office.status(id).Status == task.Completed })
	worker.end(syscall.SIGTERM)

	conn, err := pgx.Connect(t.Context(), s.database)
	ok(t, err)
	defer conn.Close(t.Context())
	lease := string(store.TaskLease(id))
	_, err = conn.Exec(t.Context(), `INSERT INTO leases (run, token, host, pid, socket, until) VALUES ($1, 'node', 'node', 1, '', clock_timestamp() + interval '1 hour')`, lease)
	ok(t, err)
	merge, out := office.command("desk", "", "task", "merge", id), &lockedBuffer{}
	merge.Stdout, merge.Stderr = out, out
	ok(t, merge.Start())
	copies := filepath.Join(s.dir, "desk", "state", "workspaces", "*", "copies", id, "git", "refs", "pawl", "saved")
	for began := time.Now(); time.Since(began) < time.Second; time.Sleep(50 * time.Millisecond) {
		if early, _ := filepath.Glob(copies); len(early) > 0 {
			break // it has brought the copy up to date too early
		}
	}
	ref := "refs/pawl/saved/" + id
	shared := []string{"-C", s.repository, "-c", "user.name=Anna", "-c", "user.email=anna@example.org"}
	in := func(args ...string) string { return git(slices.Concat(shared, args)...) }
	in("read-tree", ref)
	in("update-index", "--add", "--cacheinfo", "100644,"+in("rev-parse", ref+":README")+",late")
	commit := []string{"commit-tree", in("write-tree"), "-m", in("log", "-1", "--format=%B", ref)}
	for _, parent := range strings.Fields(in("rev-parse", ref+"^@")) {
		commit = append(commit, "-p", parent)
	}
	in("update-ref", ref, in(commit...))
	_, err = conn.Exec(t.Context(), `DELETE FROM leases WHERE run = $1`, lease)
	ok(t, err)
	if err := merge.Wait(); err != nil {
		t.Fatalf("pawl-fleet task merge: %v\n%s", err, out)
	}
	if got := in("show", "pawl/"+id+":late"); got != "zero" {
		t.Errorf("merged is %q", got)
	}
}

// lose kills a worker, and removes all that is on its machine.
func (s *site) lose(machine string) {
	s.t.Helper()
	for _, m := range s.machines[machine] {
		m.end(syscall.SIGKILL)
	}
	for _, dir := range []string{machine, s.folder} {
		ok(s.t, os.RemoveAll(filepath.Join(s.dir, dir)))
	}
}

// Workers, the API, Temporal and the database are killed again and again: every task ends, with one report and each of its
// effects made once. PAWL_FLEET_TASKS says how many tasks, each of which is two runs.
func TestOfManyTasksOnAFleetThatIsKilledNoneIsLost(t *testing.T) {
	t.Parallel()
	tasks := 6
	if n, err := strconv.Atoi(os.Getenv("PAWL_FLEET_TASKS")); err == nil {
		tasks = n
	}
	server := pgtest.Start(t)
	s := newSite(t, server.Address(t))
	s.programs = map[string]string{"c": build(t, aMinuteAhead)} // the clocks of the machines do not count
	ids := s.survives(server, tasks)
	for i, id := range ids {
		s.once(id, s.file(fmt.Sprintf("file-%d", i)))
	}
}

// So it is when the workers share nothing but a repository: what a task has done moves from disk to disk.
func TestOfManyTasksInARepositoryNoneIsLost(t *testing.T) {
	t.Parallel()
	tasks := 3
	if n, err := strconv.Atoi(os.Getenv("PAWL_FLEET_TASKS")); err == nil {
		tasks = n / 4
	}
	server := pgtest.Start(t)
	s := newSite(t, server.Address(t))
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil {
		t.Skip("disks of their own for the workers need root: ", err)
	}
	s.apart, s.folder = true, "office"
	git := s.share()
	ids := s.survives(server, tasks)
	for i, id := range ids {
		file := fmt.Sprintf("file-%d", i)
		content := git("-C", s.repository, "show", "refs/pawl/saved/"+id+":"+file) + "\n"
		s.once(id, content)
		s.pawl("task", "merge", id)
		if merged := git("-C", s.repository, "show", "pawl/"+id+":"+file) + "\n"; merged != content {
			t.Errorf("of %q is merged %q", content, merged)
		}
	}
}

// numbered returns the words of a task that writes three lines into the file that is numbered like it.
func numbered(i int) string { return fmt.Sprintf("write number-%d-", i) }

// stepping returns the script of such tasks.
func stepping(tasks int) string {
	var script strings.Builder
	script.WriteString(planned)
	for i := range tasks {
		for step := range 3 {
			fmt.Fprintf(&script, `{"when":{"first":"number-%d-"},"calls":[{"tool":"shell","args":{"command":"echo step %d >> file-%[1]d"}}]}`+"\n", i, step)
		}
		fmt.Fprintf(&script, `{"when":{"first":"number-%d-"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}`+"\n", i)
	}
	return script.String()
}

// once checks that a task is completed, and that each line of its file is there once. A line may be missing if its call was
// answered with an error: it was cut off, or its worker had lost the task and did not run it.
func (s *site) once(id, content string) {
	s.t.Helper()
	if sum := s.status(id); sum.Status != task.Completed {
		s.t.Errorf("task %s is %s: %s", id, sum.Status, sum.Detail)
	}
	for line := range strings.Lines(content) {
		if n := strings.Count(content, line); n != 1 {
			s.t.Errorf("task %s made the effect %q %d times", id, line, n)
		}
	}
	history := s.pawl("task", "show", id, "--history")
	failed := 0
	for line := range strings.Lines(history) {
		if strings.Contains(line, " shell ") && !strings.HasSuffix(line, " · ok\n") {
			failed++
		}
	}
	if made := strings.Count(content, "\n"); made+failed < 3 {
		s.t.Errorf("of task %s are left %q, and %d calls are known to have failed:\n%s", id, content, failed, history)
	}
}

// A server is killed while a run is in the middle of a command. Another server continues the run without being asked.
func TestARunOfAServerGoesOnWithAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.Shared(t).Address(t))
	servers := map[string]*machine{}
	var url string
	for _, name := range []string{"south", "north"} {
		servers[name] = &machine{cmd: s.command(name, `{"calls":[{"tool":"shell","args":{"command":"echo begun >> counted; sleep 600"}}]}
{"when":{"contains":"outcome"},"text":"It was cut off.","repeat":true}
`, "serve", "--address", "127.0.0.1:0", "--mode", "accept-edits")}
		t.Cleanup(func() { servers[name].end(syscall.SIGKILL) })
		url = servers[name].serve(t)
	}
	token := strings.TrimSpace(s.pawl("users", "add", "anna", "--role", "start"))
	status, answer, err := ask(t.Context(), token, "POST", url+"/runs", `{"prompt":"Work."}`, "")
	ok(t, err)
	var started struct{ Run string }
	if status != http.StatusCreated || json.Unmarshal([]byte(answer), &started) != nil {
		t.Fatalf("the run is started: %d %s", status, answer)
	}
	until(t, "its command runs", func() bool { return s.file("counted") != "" })
	servers["north"].end(syscall.SIGKILL)
	killed := time.Now()
	until(t, "the run has ended", func() bool {
		return strings.Contains(s.pawl("runs", "show", started.Run, "--json"), `"end":"completed"`)
	})
	t.Logf("the other server has ended it %v after the kill", time.Since(killed).Round(100*time.Millisecond))
	if got := s.file("counted"); got != "begun\n" {
		t.Errorf("the command has written %q", got)
	}
	s.pawl("runs", "verify", started.Run)
}

// Two servers use the state folder of one machine. A browser is sent to the newest, and to the other one when that has ended
// or was killed.
func TestServersOfOneFolderAreFoundBesideEachOther(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.Shared(t).Address(t))
	start := func() (*machine, string) {
		t.Helper()
		m := &machine{cmd: s.command("desk", "", "serve", "--address", "127.0.0.1:0")}
		t.Cleanup(func() { m.end(syscall.SIGKILL) })
		return m, strings.TrimSuffix(m.serve(t), "/api/v1")
	}
	first, firstURL := start()
	second, secondURL := start()
	leads := func(to string) {
		t.Helper()
		if link := s.pawl("serve", "link"); !strings.HasPrefix(link, to) {
			t.Errorf("the link is %s, want one of %s", link, to)
		}
	}
	leads(secondURL)
	second.end(syscall.SIGTERM)
	leads(firstURL)
	third, thirdURL := start()
	leads(thirdURL)
	third.end(syscall.SIGKILL)
	leads(firstURL)
	first.end(syscall.SIGTERM)
	if said, err := s.command("desk", "", "serve", "link").CombinedOutput(); err == nil || !strings.Contains(string(said), "no server of this folder is running") {
		t.Errorf("without a server: %v\n%s", err, said)
	}
}

// An office adds tasks over the API of a server, which is killed, and asks again until it knows that a task was added.
type office struct {
	s     *site
	token string

	mu     sync.Mutex
	server *machine
	url    string
}

// open starts the server, again after kill -9.
func (o *office) open() {
	o.s.t.Helper()
	if o.server != nil {
		o.server.end(syscall.SIGKILL)
	}
	server := &machine{cmd: o.s.command("office", "", "serve", "--address", "127.0.0.1:0")}
	o.s.t.Cleanup(func() { server.end(syscall.SIGKILL) })
	url := server.serve(o.s.t)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.server, o.url = server, url
}

// add adds a task that starts by itself, and returns its id; empty: ctx is done.
func (o *office) add(ctx context.Context, words string) (id string) {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		o.mu.Lock()
		url := o.url
		o.mu.Unlock()
		status, answer, err := ask(ctx, o.token, "POST", url+"/tasks", `{"description":"`+words+`","start":true}`, strings.ReplaceAll(words, " ", "-"))
		var added struct{ ID string }
		switch {
		case err != nil || status >= 500: // the server, or the database, was killed
		case status != http.StatusCreated || json.Unmarshal([]byte(answer), &added) != nil:
			o.s.t.Errorf("a task is added: %d %s", status, answer)
			return ""
		default:
			return added.ID
		}
	}
	return ""
}

// survives adds tasks that are numbered, kills workers, the API, Temporal and the database
// until they have ended, and returns them.
func (s *site) survives(server *pgtest.Server, tasks int) (ids []string) {
	t := s.t
	script := stepping(tasks)
	machines := map[string]*machine{}
	for _, name := range []string{"a", "b", "c"} {
		machines[name] = s.worker(name, script)
	}
	o := &office{s: s, token: strings.TrimSpace(s.pawl("users", "add", "anna", "--role", "start"))}
	o.open()
	var added sync.WaitGroup
	added.Go(func() {
		for i := range tasks {
			ids = append(ids, o.add(t.Context(), numbered(i)))
		}
	})
	ended := func() bool {
		out, err := s.command("desk", "", "task", "list", "--limit", "0", "--json").Output()
		if err != nil {
			return false // the server may have been killed just now
		}
		var list struct{ Items []task.Summary }
		ok(t, json.Unmarshal(out, &list))
		return len(list.Items) == tasks && !slices.ContainsFunc(list.Items, func(s task.Summary) bool { return s.Status != task.Completed && s.Status != task.Failed })
	}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for kills := 0; !ended() && kills < 4+tasks/4; kills++ {
		time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond) // a random moment is what is tested
		switch random.IntN(6) {
		case 0:
			ok(t, server.Kill())
			ok(t, server.Up())
		case 1:
			s.temporal.kill()
			s.temporal.up()
		case 2:
			o.open()
		default:
			name := []string{"a", "b", "c"}[random.IntN(3)]
			machines[name].end(syscall.SIGKILL)
			machines[name] = s.worker(name, "")
		}
	}
	t.Cleanup(func() {
		for _, sum := range s.tasks() {
			if t.Failed() && sum.Status != task.Completed {
				t.Logf("left: %s", s.pawl("task", "show", string(sum.ID), "--history"))
			}
		}
		if t.Failed() {
			t.Log(s.pawl("fleet", "status"))
		}
	})
	added.Wait()
	until(t, "every task has ended", ended)
	return ids
}
