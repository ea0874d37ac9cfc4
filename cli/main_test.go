package cli

import (
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pawl/cli/command"
	_ "pawl/internal/helper"
	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
)

func TestMain(m *testing.M) {
	// The tests may be run by a run.
	command.RunAbove = func(string, int) bool { return false }
	testscript.Main(tests{m}, map[string]func(){
		"pawl":           func() { os.Exit(Main(os.Args[1:], command.System())) },
		"scripted-agent": scriptedAgent,
		"note-server":    noteServer,
		"mcp-call":       callServer,
		"hotel-server":   hotelServer,
	})
}

// tests are the tests of this package, which start thousands of programs.
type tests struct{ *testing.M }

func (m tests) Run() int {
	// A program that was built with the race detector sleeps for a second before it ends, for what
	// its goroutines do meanwhile (atexit_sleep_ms; https://go.dev/doc/articles/race_detector, 2026-11).
	os.Setenv("GORACE", strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE")))
	// The tests wait for their programs more than they compute.
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	}
	return m.M.Run()
}

// few returns a list, under -short each nth of it: the same ones each time.
func few[T any](all []T, n int) []T {
	if !testing.Short() {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// TestScripts runs the stories in testdata/script on the real program. Each has a
// scripted model, model.jsonl, behind a real HTTP server in Anthropic's format; the
// folder w is its workspace. The commands that the stories have beyond testscript's:
//
//	exits N command…    the command ends with exit code N
//	start NAME command… starts it; its output goes to NAME.out and NAME.err. In front of
//	                    the command may stand VARIABLE=VALUE, for it alone
//	signal NAME SIG     sends it INT, TERM or KILL
//	ended NAME N        waits until it has ended, with exit code N (-1: killed)
//	waitfor FILE TEXT   waits until the file holds the text
//	sent N              the model has got N requests that were right
//	asked TEXT          one of them holds the text
//	sql STATEMENTS      changes the database of the only workspace, as somebody would by hand
//	serve NAME FILE…    starts a server, whose address is in $NAME; see [serve]
//
// Under -short it runs every third.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) < 100 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	testscript.Run(t, testscript.Params{
		Files: few(scripts, 3),
		Setup: setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "start": start, "signal": sendSignal, "ended": waitEnded,
			"waitfor": waitFor, "sent": sent, "asked": asked, "serve": serve, "sql": changeDatabase,
		},
		Condition: func(condition string) (bool, error) {
			if condition == "shell" {
				_, err := exec.LookPath("sh")
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", condition)
		},
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
	})
}

// A story is what the commands of one script share.
type story struct {
	server *fake.Server
	env    []string

	mu    sync.Mutex
	procs map[string]*background
}

type background struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// patience is how long a story waits for what must come: far more than it takes, so
// that only what never comes fails.
const patience = 2 * time.Minute

func setup(env *testscript.Env) error {
	// A child that another story forked while the files of this one were written has them open until it executes its
	// program, and none of them can be run until then; see [proctest.Program].
	syscall.ForkLock.RLock()
	//lint:ignore SA2001 it waits for the children that were forked
	syscall.ForkLock.RUnlock()
	s := &story{procs: map[string]*background{}}
	env.Values["story"] = s
	var replies script.Script
	if f, err := os.Open(filepath.Join(env.WorkDir, "model.jsonl")); err == nil {
		defer f.Close()
		if replies, err = script.Parse(f); err != nil {
			return err
		}
	}
	s.server = fake.New(replies, true)
	url, stop, err := s.server.Listen()
	if err != nil {
		return err
	}
	env.Defer(stop)
	env.Defer(s.kill)
	if pawl, err := exec.LookPath("pawl"); err == nil {
		env.Setenv("BIN", filepath.Dir(pawl)) // of the programs of this test alone
	}
	sockets := filepath.Join(env.WorkDir, ".run")
	for _, dir := range []string{sockets, filepath.Join(env.WorkDir, "home")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	for name, value := range map[string]string{
		"HOME": filepath.Join(env.WorkDir, "home"), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "",
		"XDG_RUNTIME_DIR": shortDir(env, sockets), "PAWL_STATE_DIR": filepath.Join(env.WorkDir, ".state"),
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-of-the-test", "GORACE": os.Getenv("GORACE"),
		// What runs on this machine is none of a story's business: nothing listens there.
		"OLLAMA_HOST": "127.0.0.1:1", "LM_STUDIO_API_BASE": "http://127.0.0.1:1", "LLAMACPP_BASE_URL": "http://127.0.0.1:1",
	} {
		env.Setenv(name, value)
	}
	if cache := goCache(); cache != "" {
		env.Setenv("GOCACHE", cache) // the story's home is empty: else Go would compile its library anew
	}
	s.env = env.Vars
	env.Cd = filepath.Join(env.WorkDir, "w")
	return os.MkdirAll(env.Cd, 0o755)
}

// goCache is where the go command of this machine keeps what it has built.
var goCache = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
})

// shortDir returns a folder for sockets, whose paths may not be long: dir, or one in
// the folder for temporary files.
func shortDir(env *testscript.Env, dir string) string {
	if len(dir) < 60 {
		return dir
	}
	short, err := os.MkdirTemp("", "pawl")
	if err != nil {
		return dir // pawl works without sockets
	}
	env.Defer(func() { os.RemoveAll(short) })
	return short
}

// kill ends what a story has left behind.
func (s *story) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.procs {
		p.cmd.Process.Kill()
		<-p.done
	}
}

func of(ts *testscript.TestScript) *story { return ts.Value("story").(*story) }

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N command…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		code = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME command…")
	}
	s := of(ts)
	env := slices.Clone(s.env)
	for len(args) > 2 && strings.Contains(args[1], "=") {
		env = append(env, args[1])
		args = slices.Delete(args, 1, 2)
	}
	out, err := os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	errs, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	p := &background{cmd: exec.Command(args[1], args[2:]...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = ts.MkAbs("."), out, errs
	p.cmd.Env = append(env, "PWD="+p.cmd.Dir)
	ts.Check(p.cmd.Start())
	go func() {
		p.cmd.Wait() // ProcessState says how it ended
		out.Close()
		errs.Close()
		close(p.done)
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.procs[args[0]] = p
}

func (s *story) proc(ts *testscript.TestScript, name string) *background {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.procs[name]
	if p == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return p
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": os.Kill}
	if neg || len(args) != 2 || signals[args[1]] == nil {
		ts.Fatalf("usage: signal NAME INT|TERM|HUP|KILL")
	}
	ts.Check(of(ts).proc(ts, args[0]).cmd.Process.Signal(signals[args[1]]))
}

func waitEnded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ended NAME N")
	}
	p := of(ts).proc(ts, args[0])
	select {
	case <-p.done:
	case <-time.After(patience):
		ts.Fatalf("%s has not ended", args[0])
	}
	ts.Logf("[%s.err]\n%s", args[0], ts.ReadFile(args[0]+".err"))
	if got := strconv.Itoa(p.cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("%s ended with exit code %s, want %s", args[0], got, args[1])
	}
}

func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE TEXT")
	}
	var content []byte
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		content, _ = os.ReadFile(ts.MkAbs(args[0])) // it may not be there yet
		if bytes.Contains(content, []byte(args[1])) {
			return
		}
	}
	ts.Fatalf("%s never held %q; it has:\n%s", args[0], args[1], content)
}

func sent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sent N")
	}
	requests := of(ts).server.Requests()
	for _, r := range requests {
		if r.Wrong != "" {
			ts.Fatalf("the model refused a request: %s", r.Wrong)
		}
	}
	if strconv.Itoa(len(requests)) != args[0] {
		ts.Fatalf("%d requests were sent, want %s", len(requests), args[0])
	}
}

func changeDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sql STATEMENTS")
	}
	found, err := filepath.Glob(filepath.Join(ts.Getenv("PAWL_STATE_DIR"), "workspaces", "*", "pawl.db"))
	if err != nil || len(found) != 1 {
		ts.Fatalf("the databases are %v, %v; want one", found, err)
	}
	db, err := sql.Open("sqlite", found[0])
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(args[0])
	ts.Check(err)
}

func asked(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: asked TEXT")
	}
	found := false
	for _, r := range of(ts).server.Requests() {
		found = found || strings.Contains(string(r.Body), args[0])
	}
	if found == neg {
		ts.Fatalf("a request with %q: %t", args[0], found)
	}
}
