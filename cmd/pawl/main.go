// Command pawl is an agent runtime: it works on a task in a folder with a model
// and tools, records every step before and after it happens, and goes on where it
// was after anything that stops it.
//
// This package is wiring and the command line, nothing else decides here: it reads
// flags, environment and configuration, opens the store, and shows what a worker
// does. A file per command; app.go has the list of them.
package main

import (
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	// The helpers of this program act before anything else initializes.
	_ "pawl/internal/helper"
)

func main() {
	// Before anything slow: a signal that comes while the program starts counts.
	signals := make(chan os.Signal, 4)
	// A terminal that is closed asks to end as politely as SIGTERM does; whoever
	// stops reading what is printed does not stop the work.
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// Not ignored, which commands would inherit: what handles a signal starts programs
	// with its default.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// pawl waits most of the time and shares the machine with what it starts: memory
	// counts more than the little that collecting it more often costs. (5,000 turns in
	// a window of 200,000 tokens: 41 MB instead of 46.)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	// net/http writes to the standard logger what a server sends unasked, with its
	// content; pawl itself does not use that logger.
	log.SetOutput(io.Discard)
	os.Exit(Main(os.Args[1:], process{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		env: os.LookupEnv, signals: signals, exit: os.Exit,
	}))
}
