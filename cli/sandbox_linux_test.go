package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/cli/command"
	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
)

// H40, H41: where commands write there must be nothing that decides about them.
func TestNoRunBeginsWhereCommandsCouldChangeWhatPawlObeys(t *testing.T) {
	t.Parallel()
	needsTree(t)
	s := besiege(t)
	for env, want := range map[string]string{
		"HOME=" + s.ws + " XDG_CONFIG_HOME=": "your home folder",
		"XDG_CONFIG_HOME=" + s.ws + "/.cfg":  "configuration folder",
		"PAWL_STATE_DIR=" + s.ws + "/.state": "state folder",
	} {
		code, out, errs := s.pawl(t, env+" ANTHROPIC_API_KEY=x ANTHROPIC_BASE_URL=http://127.0.0.1:1", "run", "-p", "x")
		if code != command.ExitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %q\n%s", env, code, out, errs)
		}
	}
}

// A server on this machine has the network, unless its definition closes it; then it is told so.
func TestAServerHasNoNetworkWhereItsDefinitionClosesIt(t *testing.T) {
	t.Parallel()
	needsTree(t)
	s := besiege(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reached := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			reached <- c
		}
	}()
	dial := fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d || exit 4; exit 5", l.Addr().(*net.TCPAddr).Port)
	for name, status := range map[string]string{"open": "exit code 5", "shut": "exit code 4"} {
		_, _, errs := s.pawl(t, "", "mcp", "add", name, "--", "bash", "-c", dial)
		_, file, _ := strings.Cut(errs, "added to ")
		file, _, _ = strings.Cut(file, "; ")
		if name == "shut" {
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = f.WriteString("network = false\n")
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if code, _, errs := s.pawl(t, "", "mcp", "test", name); code == 0 || !strings.Contains(errs, status) || strings.Contains(errs, "network = false") != (name == "shut") {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
		if got := len(reached) > 0; got != (name == "open") {
			t.Errorf("%s: it reached the network: %v", name, got)
		}
		for len(reached) > 0 {
			(<-reached).Close()
		}
	}
}

// M3, L1, on the binary: a run that is killed in a command leaves nothing behind once
// the next has begun, though no command follows.
func TestAfterAKillInACommandTheNextRunPutsBackWhatItChanged(t *testing.T) {
	t.Parallel()
	needsTree(t)
	s := besiege(t)
	made := []string{".git/commondir", ".git/config.worktree", ".mcp.json", "sub/.git/config"}
	before := s.protected(t)
	kill := toolCall("shell", map[string]any{"timeout_seconds": 300, "command": "echo ../evil > .git/commondir; echo '[core]' > .git/config.worktree; echo '{}' > .mcp.json; " +
		"git init -q sub; git -C sub config core.fsmonitor evil; touch ready; sleep 300"})
	model := fake.New(script.Script{{Text: "Now.", Calls: []script.Call{kill}}}, true)
	first, stopFirst, err := model.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stopFirst()
	cmd := exec.Command(s.bin, "run", "-p", "do the work", "--mode", "bypass", "--control", "native")
	cmd.Dir, cmd.Env = s.ws, append(slices.Clone(s.env), "ANTHROPIC_BASE_URL="+first)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patienceOfRun); ; time.Sleep(time.Millisecond) {
		if _, err := os.Lstat(s.ws + "/ready"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the command did not start")
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	server := fake.New(script.Script{{Text: "All done."}}, true)
	address, stop, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	code, _, errs := s.pawl(t, "ANTHROPIC_BASE_URL="+address, "run", "-p", "nothing more")
	if code != 0 || !strings.Contains(errs, "When pawl was killed: The command made ") {
		t.Errorf("exit code %d:\n%s", code, errs)
	}
	for _, name := range made {
		if _, err := os.Lstat(filepath.Join(s.ws, name)); err == nil {
			t.Errorf("there is %s", name)
		}
	}
	after := s.protected(t)
	for path, was := range before {
		if now := after[path]; now != was {
			t.Errorf("%s was %q, is %q", path, was, now)
		}
	}
}
