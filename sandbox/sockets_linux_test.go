package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"pawl/run"
)

// H46: a command reaches sockets of its own by their paths, and no one else's, in the
// workspace and wherever it may read.
func TestACommandReachesNoSocketsButItsOwn(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		tools := filepath.Join(s.home, "tools")
		if err := os.MkdirAll(tools, 0o755); err != nil {
			t.Fatal(err)
		}
		s.env[1] += ":" + tools // so it may be read
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		attacker := s.attacker(t)
		reached := make(chan string, 100)
		for _, dir := range []string{s.workspace, tools, s.state + "/tmp"} {
			l := listenIn(t, dir)
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					reached <- dir
					c.Close()
				}
			}()
		}
		workspace, err := os.Open(s.workspace)
		if err != nil {
			t.Fatal(err)
		}
		defer workspace.Close()
		datagrams, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/d.sock", workspace.Fd()), Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer datagrams.Close()
		if err := os.Symlink(tools+"/s.sock", s.workspace+"/link"); err != nil {
			t.Fatal(err)
		}
		if o := s.run(t, run.Unconfined, attacker, "attack", "dial", "unix", "s.sock"); o.status.Code != 0 || <-reached != s.workspace {
			t.Fatalf("without a sandbox it is not reached: %+v", o)
		}
		for _, a := range []string{"send-datagram", "send-raw-datagram", "send-datagram-from-pair", "send-raw-datagram-from-pair"} {
			if o := s.run(t, run.Unconfined, attacker, "attack", a, "d.sock"); o.status.Code != 0 {
				t.Fatalf("without a sandbox %s fails: %+v", a, o)
			}
		}
		for _, level := range append(s.unprivileged(tree), run.WithNetwork, run.ReadOnly) {
			for _, a := range [][]string{{"dial", "unix", "s.sock"}, {"dial", "unix", "link"}, {"dial-in", tools}, {"dial-in", s.workspace}, {"dial-racing", tools}, {"send-datagram", "d.sock"}, {"send-datagram-from-pair", "d.sock"}, {"send-raw-datagram", "d.sock"}, {"send-raw-datagram-from-pair", "d.sock"}} {
				if o := s.run(t, level, append([]string{attacker, "attack"}, a...)...); o.status.Code != 1 {
					t.Errorf("%q: %v: code %d, printed %q", level, a, o.status.Code, o.printed)
				}
			}
		}
		// Its own it reaches, where it can make any.
		for _, level := range []run.Confinement{run.Confined, run.WithNetwork} {
			if !tree && level == run.Confined {
				continue
			}
			for _, a := range [][]string{{"serve-and-dial-unix", "own.sock"}, {"serve-and-dial-unix", "@own"}, {"serve-and-dial"}} {
				if o := s.run(t, level, append([]string{attacker, "attack"}, a...)...); o.status.Code != 0 {
					t.Errorf("%q: %v: code %d, printed %q", level, a, o.status.Code, o.printed)
				}
			}
		}
		select {
		case dir := <-reached:
			t.Errorf("the socket in %s was reached", dir)
		default:
		}
	})
}
