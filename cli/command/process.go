package command

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/forms"
)

// A Process is what pawl gets from the system. Tests make their own.
type Process struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Columns        int // of the terminal that Stdout is shown on, where it is none itself; 0: none
	Env            func(name string) (value string, set bool)
	Environ        func() []string  // all variables, as [os.Environ]; nil: none
	Signals        <-chan os.Signal // interrupts and terminations
	Exit           func(code int)   // leaves at once

	// More are commands that this program has beside pawl's.
	More []More
	// Carry has the tasks of a folder carried by other processes, until ctx is done; nil: a server drives them itself.
	Carry func(ctx context.Context, ws *app.Workspace) error
	// Workers returns what these processes do; nil if Carry is.
	Workers func(ctx context.Context, ws *app.Workspace) (forms.FleetForm, error)
}

// A More is a further command below pawl itself.
type More struct {
	Group, Name string
	Build       func(*Invocation) *cobra.Command
}

// System returns this process, with its signals caught from now on. Nothing slow may come
// before it: a signal that comes while the program starts counts. It is called once.
func System() Process {
	signals := make(chan os.Signal, 4)
	// SIGHUP, from a terminal that is closed, asks to end as politely as SIGTERM does.
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if os.Getenv("GOTRACEBACK") == "" { // who sets it wants to see the goroutines
		signal.Notify(signals, syscall.SIGQUIT, syscall.SIGABRT)
	}
	// SIGPIPE is received and not ignored: commands would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if os.Getenv("GOGC") == "" {
		paceCollections()
	}
	// net/http writes to the standard logger what a server sends unasked, with its
	// content; pawl itself does not use that logger.
	log.SetOutput(io.Discard)
	return Process{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.LookupEnv, Environ: os.Environ, Signals: signals, Exit: os.Exit}
}
