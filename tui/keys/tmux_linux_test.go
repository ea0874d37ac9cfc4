package keys_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/tui/keys"
)

// In tmux, a real terminal: what it sends for keys and pastes, and that shift+enter is
// told from enter because the reader asks for it.
func TestInTmux(t *testing.T) {
	if name := os.Getenv("PAWL_KEYS_TEST_TMUX"); name != "" {
		inTmux(name)
	}
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("this test needs tmux")
	}
	dir := t.TempDir()
	fifo := filepath.Join(dir, "keys")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	tmux := func(args ...string) {
		t.Helper()
		cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(dir, "s"), "-f", "/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("tmux %v: %v\n%s", args, err, out)
		}
	}
	// Opened both ways, so that neither end waits for the other.
	f, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tmux("new-session", "-d", "-x", "80", "-y", "24", "sleep 1000")
	defer exec.Command("tmux", "-S", filepath.Join(dir, "s"), "kill-server").Run() // if it has not ended with its last window
	tmux("set-option", "-s", "extended-keys", "on")
	tmux("set-option", "-s", "escape-time", "0")
	tmux("respawn-window", "-k", "PAWL_KEYS_TEST_TMUX='"+fifo+"' '"+os.Args[0]+"' -test.run='^TestInTmux$'")
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(f); s.Scan(); {
			lines <- s.Text()
		}
	}()
	sees := func(want string) {
		t.Helper()
		for {
			select {
			case line := <-lines:
				if line == want {
					return
				}
				if !strings.HasPrefix(line, "resize ") {
					t.Fatalf("got %q, want %q", line, want)
				}
			case <-time.After(patience):
				t.Fatalf("there is no %q", want)
			}
		}
	}
	sees("done")
	for _, c := range []struct{ key, want string }{{"a", "key a"}, {"Enter", "key enter"}, {"S-Enter", "key shift+enter"}, {"C-Left", "key ctrl+left"}, {"M-b", "key alt+b"},
		{"Escape", "key esc"}, {"Up", "key up"}, {"BSpace", "key backspace"}, {"M-BSpace", "key alt+backspace"}, {"C-_", "key ctrl+_"}, {"BTab", "key shift+tab"}, {"F1", "key f1"}, {"DC", "key delete"}, {"漢", "key 漢"}} {
		tmux("send-keys", c.key)
		sees(c.want)
	}
	tmux("set-buffer", "one\ntwo\n")
	tmux("paste-buffer", "-p")
	sees(`paste "one\ntwo\n"`)
	tmux("send-keys", "q")
	sees("key q")
}

// inTmux is the process of the test above.
func inTmux(name string) {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	r, started := keys.Start(os.Stdin, os.Stdout)
	if err := errors.Join(err, started); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	if err := r.Ask(keys.Version); err != nil {
		os.Exit(2)
	}
	for e := range r.Events() {
		switch e := e.(type) {
		case keys.Key:
			fmt.Fprintln(f, "key", e.Name)
			if e.Name == "q" {
				r.Close()
				os.Exit(0)
			}
		case keys.Paste:
			fmt.Fprintf(f, "paste %q\n", e.Text)
		case keys.Resize:
			fmt.Fprintln(f, "resize", e.Width, e.Height)
		case keys.Reply:
			if e.Kind == keys.Done {
				fmt.Fprintln(f, "done")
			}
		}
	}
	os.Exit(1)
}
