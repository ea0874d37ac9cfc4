package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
	"pawl/run"
	"pawl/store"
)

// built is the binary, built once.
var built = sync.OnceValues(func() (string, error) {
	if testing.Short() { // it takes seconds: the test binary is one, too
		return exec.LookPath("pawl") // testscript.Main has put it into PATH
	}
	dir, err := os.MkdirTemp("", "pawl-kill-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "pawl")
	out, err := exec.Command("go", "build", "-o", bin, "pawl/cmd/pawl").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
})

// killTurns is how many calls with a counted effect a run makes.
const killTurns = 30

// TestKilledAtAnyMomentARunGoesOnAndNoEffectHappensTwice kills the built binary
// with -9 at random moments of a run of 30 turns that each append a line to a
// file, and lets the next process finish. PAWL_KILLS says how often (200 in CI).
func TestKilledAtAnyMomentARunGoesOnAndNoEffectHappensTwice(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash: the run's calls are shell commands")
	}
	bin, err := built()
	if err != nil {
		t.Skipf("needs the go command, to build the binary: %v", err)
	}
	kills := 8
	if testing.Short() {
		kills = 2
	}
	if v := os.Getenv("PAWL_KILLS"); v != "" {
		if kills, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	whole := newVictim(t, bin).finish(t) // how long it takes when nobody disturbs it
	t.Logf("undisturbed: %v", whole)
	var mu sync.Mutex
	unknown := 0
	var wait sync.WaitGroup
	for range 2 { // lives side by side
		wait.Go(func() {
			for i := range kills / 2 {
				v := newVictim(t, bin)
				after := time.Duration(rand.Int64N(int64(whole)))
				v.killed(t, after)
				v.finish(t)
				n, err := v.account(t.Context())
				if err != nil {
					t.Errorf("life %d, killed after %v: %v", i, after, err)
					return
				}
				mu.Lock()
				unknown += n
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	t.Logf("%d kills, %d calls of unknown outcome, all named", kills, unknown)
}

// A victim is a workspace, its state, and a scripted model that is as strict as
// the real one.
type victim struct {
	bin, dir, state, url string
	server               *fake.Server
}

func newVictim(t *testing.T, bin string) *victim {
	var b strings.Builder
	for i := range killTurns {
		fmt.Fprintf(&b, `{"text":"Step %d.","calls":[{"tool":"shell","args":{"command":"echo %d >> effects"}}]}`+"\n", i, i)
	}
	b.WriteString(`{"text":"All steps are done."}` + "\n")
	s, err := script.Parse(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{bin: bin, dir: t.TempDir(), state: t.TempDir(), server: fake.New(s, true)}
	url, stop, err := v.server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	v.url = url
	return v
}

func (v *victim) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(v.bin, append([]string{"run", "--mode", "bypass", "--allow", "shell"}, args...)...)
	cmd.Dir = v.dir
	cmd.Env = append(os.Environ(), "PAWL_STATE_DIR="+v.state, "ANTHROPIC_BASE_URL="+v.url, "ANTHROPIC_API_KEY=k", "PAWL_MODEL=anthropic/m")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

func (v *victim) killed(t *testing.T, after time.Duration) {
	cmd, _ := v.command("-p", "do the steps")
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
	defer timer.Stop()
	_ = cmd.Wait() // killed, or done: finish looks
}

// finish drives the run to its end and returns how long that took.
func (v *victim) finish(t *testing.T) time.Duration {
	began := time.Now()
	args := []string{"-p", "do the steps"}
	if events, err := v.events(t.Context()); err == nil {
		args = []string{"--continue"}
		if s, err := run.Replay(events); err == nil && s.Turn.End.End == run.Completed {
			return 0 // the kill came too late
		}
	}
	cmd, out := v.command(args...)
	if err := cmd.Run(); err != nil {
		t.Errorf("it did not finish: %v\n%s", err, out)
	}
	return time.Since(began)
}

func (v *victim) events(ctx context.Context) ([]run.Event, error) {
	dirs, err := filepath.Glob(filepath.Join(v.state, "workspaces", "*"))
	if err != nil || len(dirs) == 0 {
		return nil, errors.Join(err, store.ErrNotFound)
	}
	st, err := storeIn(v.state, dirs[0])
	if err != nil {
		return nil, err
	}
	defer st.Close()
	runs, err := st.Runs(ctx, 0)
	if err != nil || len(runs) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%d runs: %w", len(runs), store.ErrNotFound))
	}
	var events []run.Event
	for e, err := range st.Events(ctx, runs[0].ID, 0) {
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, st.Verify(ctx, runs[0].ID)
}

// account holds what happened in the world against the log: no effect twice, none
// that was told as done missing, every other one named as unknown; and no request
// that the provider would have refused.
func (v *victim) account(ctx context.Context) (unknown int, err error) {
	for i, q := range v.server.Requests() {
		if q.Wrong != "" {
			return 0, fmt.Errorf("request %d would be refused: %s", i, q.Wrong)
		}
	}
	events, err := v.events(ctx)
	if err != nil {
		return 0, err
	}
	b, err := os.ReadFile(filepath.Join(v.dir, "effects"))
	if err != nil {
		return 0, err
	}
	effects := map[string]int{}
	for _, line := range strings.Fields(string(b)) {
		effects[line]++
	}
	step := 0
	for _, e := range events {
		f, ok := e.Payload.(run.CallSettled)
		if !ok {
			continue
		}
		n := effects[strconv.Itoa(step)]
		switch {
		case n > 1:
			return 0, fmt.Errorf("the effect of %s happened %d times", f.Call, n)
		case f.Outcome == run.OK && n != 1:
			return 0, fmt.Errorf("%s was told as done and its effect is not there", f.Call)
		case f.Outcome == run.Unknown:
			unknown++
		case f.Outcome != run.OK:
			return 0, fmt.Errorf("%s came out %s", f.Call, f.Outcome)
		}
		step++
	}
	if step != killTurns {
		return 0, fmt.Errorf("%d calls were settled, want %d", step, killTurns)
	}
	return unknown, nil
}
