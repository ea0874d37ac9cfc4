package cli

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/config"
	"pawl/llm/script"
	"pawl/run"
	"pawl/store"
	"pawl/view"
)

//go:embed demo
var demoFiles embed.FS

const demoPrompt = "A test of this package fails. Find out why, repair the code, and tell me what was wrong."

// demo shows pawl at work with no key and no network: this same program, as processes of its
// own, repairs a real bug in a throw-away project. Only the model is scripted.
type demo struct {
	out     io.Writer
	in      *bufio.Reader // of the terminal; nil: no one can be asked
	control string        // native or controller
	folder  string        // the project
	state   string        // PAWL_STATE_DIR of the process that repairs it
	model   []string      // variables that say which model that is
	self    string        // this program
}

func demoCommand(inv *command.Invocation) *cobra.Command {
	var chaos, keep bool
	var kills int
	var control string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Plan a task and carry it out with a scripted model; no key, no network",
		Long: "Makes a temporary Go project with failing tests and lets a planner and a worker repair it, as a\n" +
			"task: a question, a plan, a call to be approved, a report, the history. The tools and the log are\n" +
			"real, only the model is scripted. Without a terminal its questions are answered with what is usual.\n" +
			"With --chaos one agent repairs it that is killed with -9 at random moments and resumed each time;\n" +
			"at the end the log is checked for calls that were lost or repeated.",
		Example: "  pawl demo\n  pawl demo --chaos",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.OneOf("native, controller")(control); err != nil {
				return command.Usage("--control: %w", err)
			}
			if !chaos && (cmd.Flags().Changed("kills") || cmd.Flags().Changed("keep")) {
				return command.Usage("--kills and --keep need --chaos: pawl demo --chaos")
			}
			if kills < 1 {
				return command.Usage("invalid --kills %d: must be a whole number above 0", kills)
			}
			d := &demo{out: cmd.OutOrStdout(), control: control}
			if console.CanAsk(inv) {
				d.in = bufio.NewReader(inv.Stdin)
			}
			err := d.prepare()
			if err != nil {
				return err
			}
			if chaos {
				err = d.chaos(cmd.Context(), kills)
			} else if err = d.play("task"); err == nil {
				err = d.show(cmd.Context())
			}
			if err == nil && !keep && chaos {
				return os.RemoveAll(filepath.Dir(d.folder))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&chaos, "chaos", false, "kill the agent with -9 at random moments while it works")
	cmd.Flags().IntVar(&kills, "kills", 12, "with --chaos: kill it `n` times")
	cmd.Flags().StringVar(&control, "control", "native", "`how` the scripted model says what to do: native, controller")
	cmd.Flags().BoolVar(&keep, "keep", false, "with --chaos: keep the project")
	return cmd
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// prepare makes the project.
func (d *demo) prepare() error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("the demo needs the go command: install Go, or run pawl in a project of yours")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	top, err := os.MkdirTemp("", "pawl-demo-")
	if err != nil {
		return err
	}
	d.self, d.folder, d.state = self, filepath.Join(top, "basket"), filepath.Join(top, "state")
	if err := os.Mkdir(d.folder, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "basket.go", "basket_test.go"} {
		b, err := demoFiles.ReadFile("demo/" + name + ".txt")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(d.folder, name), b, 0o600); err != nil {
			return err
		}
	}
	return d.play("script")
}

// play makes a script the model of the processes that follow.
func (d *demo) play(script string) error {
	replies, err := demoScript(script, d.control)
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, r := range replies {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	name := filepath.Join(filepath.Dir(d.folder), script+".jsonl")
	d.model = []string{"PAWL_MODEL=script/" + name}
	return os.WriteFile(name, lines.Bytes(), 0o600)
}

// demoScript returns what the scripted model answers: task, or script for a repair in one run.
func demoScript(name, control string) (script.Script, error) {
	b, err := demoFiles.ReadFile("demo/" + name + ".jsonl")
	if err != nil {
		return nil, err
	}
	s, err := script.Parse(bytes.NewReader(b))
	if err == nil && control == "controller" {
		s = asObjects(s)
	}
	return s, err
}

// asObjects returns a script whose replies say the same with one JSON object each.
func asObjects(s script.Script) script.Script {
	objects := slices.Clone(s)
	for i, r := range objects {
		object := map[string]any{"action": "complete", "message": r.Text}
		if len(r.Calls) > 0 {
			var calls []map[string]string
			for _, c := range r.Calls {
				calls = append(calls, map[string]string{"tool": c.Tool, "args": string(c.Args)})
			}
			object = map[string]any{"action": "next_step", "type": "tool", "description": r.Text, "tools": calls,
				"thinking": map[string]any{"task": "repair the failing test"}}
		}
		text, err := json.Marshal(object)
		if err != nil {
			panic(err) // unreachable: strings can always be encoded
		}
		objects[i].Text, objects[i].Calls = string(text), nil
	}
	return objects
}

// pawl returns this program as a process of its own, in the project.
func (d *demo) pawl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.self, args...)
	cmd.Dir = d.folder
	cmd.Env = append(append(os.Environ(), "PAWL_STATE_DIR="+d.state, "XDG_CONFIG_HOME="+filepath.Join(filepath.Dir(d.state), "config"), "GOFLAGS=-mod=mod", "GOWORK=off"), d.model...)
	return cmd
}

func (d *demo) runArgs(more ...string) []string {
	return append([]string{"run", "--mode", "accept-edits", "--allow", "shell(go test *)", "--control", d.control}, more...)
}

// show lets a task be planned, carried out and reported, by processes of pawl's whose model is
// a script.
func (d *demo) show(ctx context.Context) error {
	d.say("A small Go project with failing tests, in")
	d.say("%s\n", d.folder)
	d.say("A planner plans the repair and a worker carries it out. What they say is a")
	d.say("script; the tools, the files, the tests and the log are real.\n")
	const words = "The tests of this package fail. Find out why, and repair it."
	d.typed("task add", strconv.Quote(words))
	id, err := d.output(ctx, "task", "add", words)
	if err != nil {
		return err
	}
	d.say("%s\n", id)

	d.typed("task plan", id)
	if err := d.watch(ctx, command.ExitPerson, "task", "plan", id); err != nil {
		return err
	}
	answer := d.asks("  answer (Enter: only the code): ", "Only the code.")
	d.say("")
	d.typed("task answer", id, strconv.Quote(answer))
	if err := d.watch(ctx, command.ExitDone, "task", "answer", id, answer); err != nil {
		return err
	}
	d.say("")
	d.typed("task start", id, "--mode accept-edits")
	if err := d.watch(ctx, command.ExitDone, "task", "start", id, "--mode", "accept-edits"); err != nil {
		return err
	}
	d.say("")
	d.typed("task show", id, "--history")
	history, err := d.output(ctx, "task", "show", id, "--history")
	if err != nil {
		return err
	}
	for line := range strings.Lines(history) {
		d.say("%s", view.OneLine(line, command.UsualWidth-1))
	}
	d.say("")
	d.say("$ go test ./...")
	after := d.test(ctx)
	d.say("%s", indent(after.output))
	if !after.passed {
		return errors.New("the tests still fail; this is a bug in pawl")
	}
	d.say("What to try next:")
	// The state folder is named for one command only: with an exported PAWL_STATE_DIR the runs of
	// real projects would be stored in a temporary folder too.
	here := fmt.Sprintf("PAWL_STATE_DIR=%s %s -C %s", d.state, invokedAs(d.self), d.folder)
	d.say("  # the task: its plan, question, runs and report\n  %s task show last", here)
	d.say("  # the same in a browser\n  %s board", here)
	d.say("  # restore the files\n  %s runs undo last", here)
	d.say("  # a repair that is killed with -9 again and again\n  %s demo --chaos", invokedAs(d.self))
	d.say("  # remove the project and its state\n  rm -r %s", filepath.Dir(d.folder))
	d.say("\nIn a project of yours, with a key: export ANTHROPIC_API_KEY=…; pawl run \"…\"")
	return d.board(ctx, id)
}

// board serves the finished task to a browser until the person at the terminal is done with it; without one it does nothing.
func (d *demo) board(ctx context.Context, id string) error {
	if d.in == nil {
		return nil
	}
	cmd := d.pawl(ctx, "board", "--address", "127.0.0.1:0")
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	link, err := bufio.NewReader(said).ReadString('\n')
	if err == nil {
		d.say("\nThe finished task in a browser:\n  %s&to=tasks/%s", strings.TrimSpace(link), id)
		d.asks("Enter ends the demo. ", "")
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait() // its exit code says that it was interrupted
	return err
}

// typed prints a command as a person would type it.
func (d *demo) typed(words ...string) { d.say("$ pawl %s", strings.Join(words, " ")) }

// asks asks the person at the terminal; what they type is the answer, or def if that is nothing
// or there is no terminal.
func (d *demo) asks(prompt, def string) string {
	fmt.Fprint(d.out, prompt)
	if d.in == nil {
		d.say("%s", def)
		return def
	}
	line, err := d.in.ReadString('\n')
	if err != nil {
		d.say("")
	}
	if line = strings.TrimSpace(line); line == "" {
		return def
	}
	return line
}

// output returns what a command prints.
func (d *demo) output(ctx context.Context, args ...string) (string, error) {
	cmd := d.pawl(ctx, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("pawl %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// watch prints what a command prints that lets an agent work, and decides the calls that need
// approval, by a command as another terminal would. The command must exit with a code.
func (d *demo) watch(ctx context.Context, code int, args ...string) error {
	cmd := d.pawl(ctx, append(args, "--control", d.control)...)
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout // one pipe, so that the lines stay in order
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(said)
	var failed error
	for lines.Scan() {
		line := lines.Text()
		_, decides, asks := strings.Cut(line, "answer with: pawl ")
		switch {
		case asks && failed == nil:
			failed = d.decide(ctx, strings.Fields(decides))
		case strings.HasPrefix(line, "note: answer with"), strings.HasPrefix(line, "note: look at the plan"): // the demo does it
		default:
			d.say("%s", line)
		}
	}
	err = cmd.Wait()
	var exited *exec.ExitError
	switch {
	case failed != nil:
		return failed
	case err == nil && code == command.ExitDone, errors.As(err, &exited) && exited.ExitCode() == code:
		return nil
	}
	return fmt.Errorf("pawl %s did not end as expected: %w; its log is in %s", strings.Join(args, " "), err, d.state)
}

// decide answers a call that needs approval; args are those of runs decide, which allow it.
func (d *demo) decide(ctx context.Context, args []string) error {
	answer := strings.ToLower(d.asks("  may it run? (Y: always, n: no) ", "y"))
	how := "always"
	if strings.HasPrefix(answer, "n") {
		how = "deny"
	}
	args[len(args)-1] = how
	d.typed(args...)
	_, err := d.output(ctx, args...)
	return err
}

// invokedAs returns how to invoke this program: a program of go run is removed when it ends.
func invokedAs(self string) string {
	if filepath.Base(filepath.Dir(self)) == "exe" && strings.Contains(self, "go-build") {
		return "go run ./cmd/pawl"
	}
	return "pawl"
}

type testRun struct {
	passed bool
	output string
}

func (d *demo) test(ctx context.Context) testRun {
	cmd := exec.CommandContext(ctx, "go", "test", "./...")
	cmd.Dir = d.folder
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return testRun{err == nil, string(out)}
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ") + "\n"
}

// chaos kills the agent at random moments until it has been killed often enough,
// then lets it finish, and holds the log to account.
func (d *demo) chaos(ctx context.Context, kills int) error {
	d.say("The same repair, killed with -9 up to %d times on the way.\n", kills)
	started, killed := time.Now(), 0
	for {
		args := d.runArgs("-p", demoPrompt)
		if _, ok, err := d.last(ctx); err != nil {
			return err
		} else if ok {
			args = d.runArgs("--continue")
		}
		after := time.Duration(0)
		if killed < kills {
			after = time.Duration(20+rand.IntN(300)) * time.Millisecond
		}
		done, err := d.life(ctx, args, after)
		if err != nil {
			return err
		}
		if done {
			break
		}
		killed++
		d.say("  killed after %v", after)
	}
	s, _, err := d.last(ctx)
	if err != nil {
		return err
	}
	return d.ledger(ctx, s, killed, time.Since(started))
}

// life runs one process of the agent, to its end or until it is killed.
func (d *demo) life(ctx context.Context, args []string, killAfter time.Duration) (done bool, err error) {
	var out bytes.Buffer
	cmd := d.pawl(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return false, err
	}
	if killAfter > 0 {
		t := time.AfterFunc(killAfter, func() { _ = cmd.Process.Kill() }) // it may have ended
		defer t.Stop()
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &exit) && exit.ExitCode() == -1 && killAfter > 0:
		return false, nil
	}
	return false, fmt.Errorf("the agent exited before it was killed: %w\n%s", err, out.String())
}

// storeIn opens the store of a workspace in another state folder than this process has.
func storeIn(state, workspace string) (store.Database, error) {
	key, err := config.Env(func(string) (string, bool) { return state, true }).LogKey(false) // it is asked for PAWL_STATE_DIR
	if err != nil {
		return nil, err
	}
	return store.Open(workspace, store.Options{Key: key})
}

// last returns the events of the newest run that has a turn open, or of the
// newest; false while there is none.
func (d *demo) last(ctx context.Context) ([]run.Event, bool, error) {
	dirs, err := filepath.Glob(filepath.Join(d.state, "workspaces", "*"))
	if err != nil || len(dirs) == 0 {
		return nil, false, err
	}
	st, err := storeIn(d.state, dirs[0])
	if err != nil {
		return nil, false, err
	}
	defer st.Close()
	runs, err := st.Runs(ctx, 1)
	if err != nil || len(runs) == 0 {
		return nil, false, err
	}
	var events []run.Event
	for e, err := range st.Events(ctx, runs[0].ID, 0) {
		if err != nil {
			return nil, false, err
		}
		events = append(events, e)
	}
	return events, true, st.Verify(ctx, runs[0].ID)
}

// ledger counts what the kills did.
func (d *demo) ledger(ctx context.Context, events []run.Event, killed int, took time.Duration) error {
	class, starts, settled := map[run.CallID]run.Class{}, map[run.CallID]int{}, map[run.CallID]int{}
	var unknown []string
	for _, e := range events {
		switch f := e.Payload.(type) {
		case run.CallInspected:
			class[f.Call] = f.Class
		case run.CallStarted:
			starts[f.Call]++
		case run.CallDecided:
			if !f.Decision.Allows() {
				settled[f.Call]++
			}
		case run.CallSettled:
			settled[f.Call]++
			if f.Outcome == run.Unknown {
				unknown = append(unknown, string(f.Call))
			}
		}
	}
	repeated, lost := 0, 0
	for id, n := range starts {
		if class[id] == run.Writes && n > 1 {
			repeated++
		}
	}
	for id := range class {
		if settled[id] != 1 {
			lost++
		}
	}
	slices.Sort(unknown)
	if len(unknown) == 0 {
		unknown = []string{"none"}
	}
	d.say("\nledger")
	d.say("  kills      %d, in %v", killed, took.Round(10*time.Millisecond))
	d.say("  events     %d, chain verified", len(events))
	d.say("  calls      %d asked, each settled once", len(class))
	d.say("  repeated   %d  (calls that write and were started twice)", repeated)
	d.say("  lost       %d  (calls without exactly one result)", lost)
	d.say("  unknown    %s  (started, then killed; the model was told that the outcome is unknown)", strings.Join(unknown, ", "))
	if after := d.test(ctx); !after.passed {
		d.say("%s", indent(after.output))
		return errors.New("the test still fails; the project is " + d.folder)
	}
	d.say("  the bug    repaired, tests pass")
	if repeated+lost > 0 {
		return errors.New("the ledger has errors; this is a bug in pawl: please report it with the output of pawl runs export")
	}
	return nil
}
