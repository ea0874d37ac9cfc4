package proc

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"pawl/internal/helper"
)

// What a helper gives away listens in the network of its commands and nowhere else, for each command at a port of its own.
func TestAListenerIsInTheNetworkOfTheCommands(t *testing.T) {
	t.Parallel()
	r, _ := newResident(t)
	if r.network != helper.OwnNetwork {
		t.Skip("needs a network namespace")
	}
	var ports []string
	for range 2 {
		l, err := r.Listen()
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
		got := accepted(l)
		if status, printed := inside(t, r, "exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/"+port+" && echo hello >&3 && cat <&3'"); status.Code != 0 || printed != "welcome\n" {
			t.Fatalf("inside: %+v, %q", status, printed)
		}
		if said := <-got; said != "hello\n" {
			t.Errorf("it said %q", said)
		}
	}
	if ports[0] == ports[1] {
		t.Errorf("both listen at port %s", ports[0])
	}
	other, _ := newResident(t)
	if status, printed := inside(t, other, "exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/"+ports[0]+"'"); status.Code == 0 {
		t.Errorf("from another network: %q", printed)
	}
	// Of the machine's network nothing is given away.
	c := confinement(t, t.TempDir())
	c.Network = helper.OpenNetwork
	wide, err := NewResident(c)
	if err != nil {
		t.Fatal(err)
	}
	defer wide.Close()
	if l, err := wide.Listen(); err == nil {
		l.Close()
		t.Error("there is a listener in the network of the machine")
	} else if !strings.Contains(err.Error(), "no network of their own") || !wide.Intact(always) {
		t.Error(err)
	}
	r.Close()
	<-r.Done()
	if _, err := r.Listen(); err == nil {
		t.Error("a helper that has ended gave a listener away")
	}
}

// accepted answers one connection, and returns what was said over it up to a line's end.
func accepted(l net.Listener) <-chan string {
	said := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		var line []byte
		for b := make([]byte, 1); !strings.HasSuffix(string(line), "\n"); {
			if _, err := io.ReadFull(c, b); err != nil {
				break
			}
			line = append(line, b...)
		}
		fmt.Fprintln(c, "welcome")
		said <- string(line)
	}()
	return said
}
