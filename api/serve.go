package api

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl/app"
	"pawl/board"
	"pawl/config"
	"pawl/forms"
	"pawl/internal/atomicfile"
	"pawl/runlog"
	"pawl/store"
	"pawl/task"
)

// DefaultAddress is where a server listens unless it is told otherwise.
const DefaultAddress = "127.0.0.1:7295"

// ServeOptions say where and how a workspace is served.
type ServeOptions struct {
	// Address is a host and a port; 0: any free port.
	Address string
	// Names are further names by which clients call the machine.
	Names []string
	// CertFile and KeyFile are a certificate for TLS and its key; empty: no TLS.
	CertFile, KeyFile string
	// InsecureAddress lets an address that is not loopback be served without TLS.
	InsecureAddress bool
	// Runs is how many runs work at once; see [board.Options].
	Runs int
	// Carry has the tasks of the workspace carried by other processes until ctx is done; other servers may do so too.
	// nil: this process drives them.
	Carry func(ctx context.Context) error
	// MCP and Workers are as in [Options].
	MCP     http.Handler
	Workers func(ctx context.Context) (forms.FleetForm, error)
	// Ready is called with the address of the server when it accepts requests.
	Ready func(url string)
	Log   *slog.Logger
}

const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeader      = 32 << 10 // bytes
	maxConnections = 1000
	// shutdownPatience is how long requests may take to end when the server is stopped.
	shutdownPatience = 5 * time.Second
)

// Serve serves a workspace and drives its tasks until ctx is done. Then streams are told,
// runs are interrupted as by a shutdown and stay as they are, and Serve returns nil when all
// have stopped. The next server continues them. Another error says why the workspace cannot
// be served: a [*config.Error] that the person can change.
func Serve(ctx context.Context, ws *app.Workspace, o ServeOptions) error {
	if err := checkAddress(o); err != nil {
		return err
	}
	if o.Carry == nil {
		if err := servedElsewhere(ctx, ws); err != nil {
			return err
		}
	}
	token, err := LoadToken(ws.State)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.Address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return config.Errorf("the address %s is in use by another program: choose another with --address, as 127.0.0.1:0 for any free port", o.Address)
	case err != nil:
		if system := new(os.SyscallError); errors.As(err, &system) {
			err = system.Err
		}
		return config.Errorf("--address %s cannot be used: %w", o.Address, err)
	}
	defer listener.Close()
	server, err := New(ws, Options{Token: token, Hosts: HostsOf(listener.Addr(), o.Names...), TLS: o.CertFile != "", MCP: o.MCP, Workers: o.Workers, Log: o.Log})
	if err != nil {
		return err
	}
	defer server.Close()
	h := newHTTP(server)
	limited := newConnections(listener, maxConnections)
	limited.serve(h)
	listener = limited
	if o.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return config.Errorf("--tls-cert, --tls-key: %w", err)
		}
		listener = tls.NewListener(limited, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	}

	driving, stopDriving := context.WithCancel(context.Background())
	defer stopDriving()
	driven, served := make(chan error, 1), make(chan error, 1)
	leased := make(chan struct{})
	if drive := o.Carry; drive != nil {
		close(leased) // another process may have all tasks
		go func() { driven <- drive(driving) }()
	} else {
		driver := board.NewDriver(ws, board.Options{Runs: o.Runs, Session: server.Follow, Driving: func() { close(leased) },
			Held: func(id task.ID, why string) { o.Log.Info("a task waits for memory", "task", id, "why", why) }})
		go func() { driven <- driver.Drive(driving) }()
	}
	select {
	case <-leased: // before anyone is told that this process serves
	case err := <-driven:
		return err
	}
	go func() { served <- h.Serve(listener) }()
	go server.driver.takeUp()
	running, err := writeRunning(ws.State, server.guard.origins[0], o.Carry == nil)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	defer os.Remove(running) // one that stays names a process that has ended
	if o.Ready != nil {
		o.Ready(server.guard.origins[0])
	}
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-served:
		served <- nil
	case failed = <-driven:
		driven <- nil
	}
	stopDriving()
	server.stop()
	stopping, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	if err := h.Shutdown(stopping); err != nil {
		_ = h.Close() // requests that have not ended are cut off
	}
	if err := <-served; err != nil && !errors.Is(err, http.ErrServerClosed) {
		failed = errors.Join(failed, err)
	}
	return errors.Join(failed, <-driven)
}

// newHTTP returns a server with bounds on what a client can make it hold.
func newHTTP(s *Server) *http.Server {
	return &http.Server{Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
}

// checkAddress returns an error unless the address may be served as the options say.
func checkAddress(o ServeOptions) error {
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return config.Errorf("--address %s: give a host and a port, as %s", o.Address, DefaultAddress)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return config.Errorf("--address %s: there is no port %s", o.Address, port)
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return config.Errorf("--tls-cert and --tls-key are given together")
	}
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	if o.CertFile == "" && !o.InsecureAddress {
		return config.Errorf("--address %s can be reached from other machines, and the token would cross the network as plain text: give --tls-cert and --tls-key, or --insecure-address if something else encrypts the connection", o.Address)
	}
	if len(o.Names) == 0 && (ip == nil || ip.IsUnspecified()) {
		return config.Errorf("--address %s: say with --host by which name clients call this machine; requests with any other are refused", o.Address)
	}
	return nil
}

// servedElsewhere returns an error if another process drives the tasks of the workspace.
func servedElsewhere(ctx context.Context, ws *app.Workspace) error {
	owner, owned, err := board.Of(ws).Owner(ctx)
	if err != nil && !errors.Is(err, runlog.ErrNoRun) && !errors.Is(err, store.ErrNoRuns) {
		return err
	}
	if !owned {
		return nil
	}
	for _, r := range Running(ws.State) {
		if r.PID == owner.PID {
			return fmt.Errorf("this folder is served already, by process %d at %s", r.PID, r.URL)
		}
	}
	return fmt.Errorf("the tasks of this folder are driven by process %d: stop that one first", owner.PID)
}

// runningFile returns the file that has the address of a server while it serves. Each has one of its own: several
// servers may use a state folder if others carry the tasks.
func runningFile(state string, pid int) string {
	return filepath.Join(state, fmt.Sprintf("serve-%d.json", pid))
}

// A RunningServer is a server as it has written down.
type RunningServer struct {
	PID     int       `json:"pid"`
	URL     string    `json:"url"`
	Started time.Time `json:"started_at"`
}

// Lives reports whether there is a process of its number.
func (r RunningServer) Lives() bool {
	p, err := os.FindProcess(r.PID)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

// writeRunning writes down that this process serves, and removes what servers have left that were killed. alone says that
// no other can be serving.
func writeRunning(state, url string, alone bool) (file string, err error) {
	for _, r := range Running(state) {
		if alone || !r.Lives() {
			_ = os.Remove(runningFile(state, r.PID))
		}
	}
	b, err := json.Marshal(RunningServer{os.Getpid(), url, time.Now().UTC().Round(0)})
	if err != nil {
		return "", err
	}
	file = runningFile(state, os.Getpid())
	return file, atomicfile.Write(file, b, atomicfile.NoSync)
}

// Running returns the servers of a workspace, from its state folder, the newest first. A process that was killed may have
// left one: of a folder whose tasks one process drives, the owner of the board says whether it lives.
func Running(state string) (all []RunningServer) {
	entries, _ := os.ReadDir(state) // without one there is no server
	for _, e := range entries {
		var r RunningServer
		if pid, ok := strings.CutPrefix(e.Name(), "serve-"); !ok || !strings.HasSuffix(pid, ".json") {
			continue
		}
		b, err := atomicfile.Read(filepath.Join(state, e.Name()))
		if err == nil && json.Unmarshal(b, &r) == nil && runningFile(state, r.PID) == filepath.Join(state, e.Name()) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b RunningServer) int { return b.Started.Compare(a.Started) })
	return all
}
