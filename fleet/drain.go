package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"pawl/app"
	"pawl/config"
	"pawl/forms"
	"pawl/run"
	"pawl/store"
)

// ErrDrained is the cause of the end of a worker that another process has drained.
var ErrDrained = errors.New("drained by another process")

// pollDrain is how often a worker looks whether it is to be drained, and who drains it whether it has ended.
const pollDrain = time.Second

// workerLease is what a worker owns while it works, and drainLease what the process owns that drains it.
func workerLease(name string) run.ID { return leaseOf("worker", name) }
func drainLease(name string) run.ID  { return leaseOf("drain", name) }

// leaseOf returns an id for the name of a process, which can have any characters.
func leaseOf(what, name string) run.ID {
	sum := sha256.Sum256([]byte(name))
	return run.ID(what + "-" + hex.EncodeToString(sum[:8]))
}

// self names this process.
func self() string {
	host, _ := os.Hostname() // without one the number is left
	return by(store.Owner{PID: os.Getpid(), Host: host})
}

// attend owns the lease of this worker until ctx is done, and calls drain when it is to be drained. The lease is free when
// done is closed.
func attend(ctx context.Context, ws *app.Workspace, drain func()) (done <-chan struct{}, err error) {
	tasks, err := ws.Tasks()
	if err != nil {
		return nil, err
	}
	name, ended := self(), make(chan struct{})
	go func() {
		defer close(ended)
		var lease store.Lease
		for ctx.Err() == nil {
			if lease == nil { // the one of a worker that died in a container with the same names may have to end first
				if l, err := tasks.Store.Own(ctx, workerLease(name), ""); err == nil {
					lease = l
				}
			}
			if _, drained, err := ws.Owner(ctx, drainLease(name)); err == nil && drained {
				drain()
			}
			var lost <-chan struct{}
			if lease != nil {
				lost = lease.Lost()
			}
			select {
			case <-lost:
				lease.Release() // it has ended
				lease = nil
			case <-time.After(pollDrain):
			case <-ctx.Done():
			}
		}
		if lease != nil {
			lease.Release() // it ends by itself
		}
	}()
	return ended, nil
}

// Drain has a worker take no more tasks and end, and returns when it has ended. If ctx is done before, the worker may work on.
func Drain(ctx context.Context, ws *app.Workspace, name string) error {
	tasks, err := ws.Tasks()
	if err != nil {
		return err
	}
	lease, err := tasks.Store.Own(ctx, drainLease(name), "")
	if err != nil {
		return err
	}
	defer lease.Release() // it ends by itself
	for {
		_, works, err := ws.Owner(ctx, workerLease(name))
		if err != nil || !works {
			return err
		}
		select {
		case <-time.After(pollDrain):
		case <-lease.Lost():
			return fmt.Errorf("%s: whether it was drained is not known: %w", name, store.ErrAway)
		case <-ctx.Done():
			return fmt.Errorf("%s may still work: %w", name, context.Cause(ctx))
		}
	}
}

// Named returns the names of the workers that words name: a worker as the status names it, or all of a machine.
func Named(f forms.FleetForm, words string) (names []string, err error) {
	for _, w := range f.Workers {
		if w.Name == words || strings.HasSuffix(w.Name, " on "+words) {
			names = append(names, w.Name)
		}
	}
	if names == nil {
		err = config.Errorf("no worker is named %q; `pawl-fleet fleet status` lists them", words)
	}
	return names, err
}
