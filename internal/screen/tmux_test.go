package screen_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/term"

	"pawl/internal/screen"
)

// drawerSocket is set for a process that draws in tmux what it is told through that socket.
const drawerSocket = "PAWL_TEST_DRAWER"

func TestMain(m *testing.M) {
	if socket := os.Getenv(drawerSocket); socket != "" {
		if err := drawFor(socket); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// drawFor draws frames from a socket, and answers each when the terminal has read it. A frame without
// a size erases the live part.
func drawFor(socket string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	if _, err := term.MakeRaw(int(os.Stdin.Fd())); err != nil {
		return err
	}
	s := screen.New(os.Stdout, true)
	in, keys := json.NewDecoder(conn), bufio.NewReader(os.Stdin)
	for {
		var f screen.Frame
		if err := in.Decode(&f); err != nil {
			return nil // the test has ended
		}
		if f.Height == 0 {
			err = s.Erase(f.Width)
		} else {
			err = s.Draw(f)
		}
		if err != nil {
			return err
		}
		fmt.Print("\x1b[6n") // answered with the place of the cursor
		if _, err := keys.ReadString('R'); err != nil {
			return err
		}
		if _, err := conn.Write([]byte("\n")); err != nil {
			return err
		}
	}
}

// A tmux is a real terminal with a process that draws in it.
type tmux struct {
	*testing.T
	socket string // of tmux
	conn   net.Conn
	read   *bufio.Reader
	sent   *json.Encoder
}

func newTmux(t *testing.T, width, height int) *tmux {
	program, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("this test needs tmux")
	}
	dir, err := os.MkdirTemp("", "pawl") // a short path: those of sockets are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &tmux{T: t, socket: filepath.Join(dir, "tmux")}
	config := filepath.Join(dir, "conf")
	if err := os.WriteFile(config, []byte("set -g status off\nset -g history-limit 20000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "draw"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.(*net.UnixListener).SetDeadline(time.Now().Add(patience))
	cmd := exec.Command(program, "-u", "-S", m.socket, "-f", config, "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), os.Args[0])
	cmd.Env = append(os.Environ(), drawerSocket+"="+l.Addr().String(), "LC_ALL=C.UTF-8")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("this test needs a tmux that starts: %v\n%s", err, out)
	}
	t.Cleanup(func() { exec.Command(program, "-S", m.socket, "kill-server").Run() }) // it may have ended with its process
	if m.conn, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.conn.Close() })
	m.conn.SetDeadline(time.Now().Add(patience))
	m.read, m.sent = bufio.NewReader(m.conn), json.NewEncoder(m.conn)
	return m
}

// patience is how long a test waits for tmux before it fails.
const patience = 2 * time.Minute

func (m *tmux) do(args ...string) string {
	m.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", m.socket}, args...)...).CombinedOutput()
	if err != nil {
		m.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// draw draws a frame and waits until tmux has read it.
func (m *tmux) draw(f screen.Frame) {
	m.Helper()
	if err := m.sent.Encode(f); err != nil {
		m.Fatal(err)
	}
	if _, err := m.read.ReadByte(); err != nil {
		m.Fatal(err)
	}
}

// The same in a real terminal: tmux breaks lines anew, deletes rows below the cursor when it becomes
// lower, and brings rows back when it becomes higher.
func TestFinishedTextStandsOnceInTmux(t *testing.T) {
	t.Parallel()
	for _, cursor := range []string{"hidden", "below", "inside"} {
		t.Run(cursor, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, 7))
			width, height := 80, 24
			m := newTmux(t, width, height)
			now := time.Unix(0, 0)
			// The screen is full from the beginning: with blank rows below, tmux scrolls rows off
			// that would have room.
			want := strings.Split(strings.Repeat("first\n", 50)+"first", "\n")
			m.draw(screen.Frame{Width: width, Height: height, Above: want, Now: now})
			for i := range 150 {
				now = now.Add(time.Duration(r.IntN(1500)) * time.Millisecond)
				if r.IntN(4) == 0 {
					width, height = 30+r.IntN(80), 14+r.IntN(30)
					m.do("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
				}
				f := screen.Frame{Width: width, Height: height, Now: now}
				if r.IntN(2) == 0 {
					text := fmt.Sprintf("%d. 日本語 %s", i, strings.Repeat("word ", r.IntN(30)))
					if r.IntN(3) == 0 {
						text = strings.Repeat("x", width)
					}
					f.Above = append(f.Above, strings.TrimSpace(text))
				}
				for range r.IntN(5) { // at most 3 rows each after a resize: they fit
					f.Live = append(f.Live, strings.Repeat("~", r.IntN(width))+[]string{"", "〜", "🌊"}[r.IntN(3)])
				}
				switch cursor {
				case "hidden":
					f.Cursor.Hidden = true
				case "below":
					f.Cursor.Row = len(f.Live)
				default:
					f.Cursor = screen.Cursor{Row: r.IntN(len(f.Live) + 1), Col: r.IntN(width)}
				}
				want = append(want, f.Above...)
				m.draw(f)
			}
			m.draw(screen.Frame{Width: width}) // erases
			var got []string
			for line := range strings.Lines(m.do("capture-pane", "-p", "-J", "-S", "-")) {
				got = append(got, strings.TrimRight(line, " \n"))
			}
			if got, want := strings.TrimRight(strings.Join(got, "\n"), "\n"), strings.Join(want, "\n"); got != want {
				t.Errorf("tmux has\n%s\nwant\n%s", got, want)
			}
		})
	}
}
