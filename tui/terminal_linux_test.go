package tui

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl/app"
	"pawl/internal/screen/screentest"
	"pawl/worker"
)

// On a terminal of the system keys, pastes and a changed size come in, the editor of the person has the
// terminal for a time, and it is given back in the end.
func TestOnATerminalOfTheSystem(t *testing.T) {
	t.Parallel()
	pty := screentest.NewPty(t, 80, 24)
	master, tty := pty.Master, pty.Tty

	home := t.TempDir()
	script := filepath.Join(home, "script.jsonl")
	if err := os.WriteFile(script, []byte(`{"text": "You said: {{prompt}}", "repeat": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "PAWL_MODEL": "script/" + script, "EDITOR": "echo edited >", "SSH_TTY": "/dev/pts/9"}
	ws, err := app.Open(app.Options{Dir: t.TempDir(), Env: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, Drives: true, OnAsk: worker.AskWait})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	notices := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := Run(context.Background(), ws, Options{Version: "test", Dir: ws.Dir, History: filepath.Join(home, "history"),
			Getenv: func(name string) string { return vars[name] }}, tty, tty, notices)
		ended <- err
	}()

	var mu sync.Mutex
	var shown bytes.Buffer
	more := make(chan struct{}, 1)
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			mu.Lock()
			shown.Write(b[:n])
			mu.Unlock()
			select {
			case more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	sees := func(text string) {
		t.Helper()
		for late := time.After(patience); ; {
			mu.Lock()
			all := shown.String()
			mu.Unlock()
			if strings.Contains(all, text) {
				return
			}
			select {
			case <-more:
			case err := <-ended:
				t.Fatalf("it has ended (%v) before %q:\n%q", err, text, all)
			case <-late:
				t.Fatalf("there is no %q:\n%q", text, all)
			}
		}
	}
	types := func(text string) {
		t.Helper()
		if _, err := master.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	sees("enter: send")
	notices <- "somebody should know this"
	sees("somebody should know this")
	types("\x1b[200~pasted words\x1b[201~")
	sees("pasted words")
	types("\r")
	sees("You said: pasted words")
	types("\x1b[O\x1b[I\x0c\x07")
	sees("edited")
	types("\r")
	sees("You said: edited")
	pty.Resize(t, 100, 30)
	types("/quit")
	sees("/quit")
	types("\r")
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it does not leave")
	}
	state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil || state.Lflag&unix.ICANON == 0 || state.Lflag&unix.ECHO == 0 {
		t.Errorf("the terminal is raw: %v", err)
	}
}
