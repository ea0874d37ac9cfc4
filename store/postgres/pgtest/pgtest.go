//go:build unix

// Package pgtest starts real PostgreSQL servers for tests, in temporary folders, from the programs of
// this machine. A server ends with the test process, also if that is killed.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Server is a running server.
type Server struct {
	dir   string
	bin   string
	as    *syscall.SysProcAttr
	cmd   *exec.Cmd
	pipe  io.Closer
	ended chan error // of what ends it
	names atomic.Int64
}

// Shared returns the server that the tests of a package share, which is started when it is first
// asked for. The test is skipped where PostgreSQL is not installed.
func Shared(t testing.TB) *Server {
	t.Helper()
	bin := programs(t)
	shared.once.Do(func() { shared.server, shared.err = start(bin, "", nil) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Start starts a server for one test alone, with settings such as "max_connections=10".
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	return StartIn(t, "", settings...)
}

// StartIn is Start with the server's files in a folder of dir, which its user can enter.
func StartIn(t testing.TB, dir string, settings ...string) *Server {
	t.Helper()
	s, err := start(programs(t), dir, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.pipe.Close()
		<-s.ended
	})
	return s
}

// programs returns the folder of the server's programs, which Debian does not put into PATH.
func programs(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed: it is Debian's package postgresql")
	}
	return filepath.Dir(found[len(found)-1])
}

func start(bin, in string, settings []string) (*Server, error) {
	dir, err := os.MkdirTemp(in, "pawl-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	if s.as, err = unprivileged(dir); err != nil {
		return nil, err
	}
	if err := s.run("initdb", "-D", s.data(), "-A", "trust", "-U", "pawl", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return nil, err
	}
	settings = append([]string{"listen_addresses=", "unix_socket_directories=" + dir, "shared_buffers=32MB", "max_connections=300", "restart_after_crash=on"}, settings...)
	for i, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		settings[i] = fmt.Sprintf("%s = '%s'\n", name, value)
	}
	conf, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = conf.WriteString(strings.Join(settings, ""))
	if err := errors.Join(err, conf.Close()); err != nil {
		return nil, err
	}
	// The shell waits for the end of its input, which is that of this process, and ends the server.
	cmd := exec.Command("sh", "-c", `cat >/dev/null; "$1/pg_ctl" -D "$2/data" -m immediate stop >/dev/null 2>&1; rm -rf "$2"`, "sh", bin, dir)
	cmd.SysProcAttr, cmd.Dir = s.as, dir
	if s.pipe, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- cmd.Wait() }()
	return s, s.Up()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Data returns the folder of the database.
func (s *Server) Data() string { return s.data() }

func (s *Server) run(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.SysProcAttr, cmd.Dir = s.as, s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// Up starts the server, again after [Server.Kill] or [Server.Down], and returns when it answers.
func (s *Server) Up() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	attr := *s.as
	attr.Setpgid = true // a signal to the tests is not for the server
	s.cmd = exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data())
	s.cmd.SysProcAttr, s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = &attr, s.dir, log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.address())
		if err == nil {
			return conn.Close(ctx)
		}
		if ctx.Err() != nil || isZombie(s.cmd.Process.Pid) {
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%w\n%s", err, said)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Down stops the server; clients are disconnected.
func (s *Server) Down() error {
	err := s.cmd.Process.Signal(syscall.SIGINT)
	return errors.Join(err, s.cmd.Wait())
}

// Kill kills all processes of the server as kill -9 does, and returns when they are gone.
func (s *Server) Kill() error {
	pid := s.cmd.Process.Pid
	err := s.cmd.Process.Signal(syscall.SIGSTOP) // it makes no others meanwhile
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	err = errors.Join(err, s.cmd.Process.Kill())
	for _, text := range strings.Fields(string(children)) {
		child, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		for syscall.Kill(child, syscall.SIGKILL) == nil && !isZombie(child) {
			time.Sleep(time.Millisecond)
		}
	}
	s.cmd.Wait() // "signal: killed"
	return err
}

// isZombie reports whether a process has ended, and is to be reaped by its parent.
func isZombie(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Contains(string(stat), ") Z ")
}

// Address returns the address of a schema with nothing in it.
func (s *Server) Address(t testing.TB) string {
	t.Helper()
	name := fmt.Sprint("t", s.names.Add(1))
	conn, err := pgx.Connect(context.Background(), s.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), `CREATE SCHEMA `+name); err != nil {
		t.Fatal(err)
	}
	return s.address() + "&search_path=" + name
}

func (s *Server) address() string { return "postgres://pawl@/postgres?sslmode=disable&host=" + s.dir }

// unprivileged returns how the programs are started: the server does not run as root, but then as the
// user postgres, or else nobody. dir becomes that user's.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, errors.Join(err1, err2, os.Chown(dir, uid, gid))
}
