package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl/internal/inside"
	"pawl/run"
)

// A Turn is that a command may run now: while a command runs that nobody was asked about and that changes the workspace
// ([run.Inside]), none does that somebody was, and the other way round. The one would obey what the other makes before
// it is taken away, and what that one makes would be taken for the other's. Commands of one kind run beside each other; but one that
// runs unasked and can change a repository runs alone, for git would take in what another makes, and keep it.
//
// It holds for all processes that work in the same repositories. What goes on after its call, as jobs and servers do, is
// waited for by none.
type Turn struct {
	waited time.Duration
	told   []string   // what commands have changed whose pawl was killed, and that is undone now
	held   []*os.File // locked
}

// Notes returns what is to be said of a turn with the result of its command, a sentence each.
func (t *Turn) Notes() []string {
	if t == nil {
		return nil
	}
	if t.waited < time.Second {
		return t.told
	}
	return append([]string{fmt.Sprintf("It waited %v for another command in this folder: of the two one runs unasked", t.waited.Round(time.Second))}, t.told...)
}

// The files that are locked for a repository: gate while one waits, so that it is its turn before that of others who
// come later; and one that all commands of a kind share.
const gateLock, unaskedLock, askedLock = "gate.lock", "unasked.lock", "asked.lock"

// Turn waits until a command may run at a level; repository is as in [Fence]. What changes nothing may at once. The turn must
// be left when the command has ended; a nil Turn is one too.
func (p *Policy) Turn(ctx context.Context, level run.Confinement, repository bool) (*Turn, error) {
	nested := p != nil && p.options.Getenv("PAWL_RUN") != "" // it would wait for the command that it runs in
	if p == nil || nested || level == run.ReadOnly || level == run.Trial {
		return nil, nil
	}
	own, other := askedLock, unaskedLock
	if level == run.Inside {
		own, other = other, own
	}
	t := &Turn{}
	began := time.Now()
	for _, key := range p.turns {
		if err := t.take(ctx, p.options.StateDir, journalsDir(p.options.StateDir, key), own, other, repository && level == run.Inside); err != nil {
			t.Leave()
			return nil, fmt.Errorf("its turn could not be waited for: %w", err)
		}
	}
	t.waited = time.Since(began)
	var err error
	if level != run.Inside { // whose pawl may have been killed
		t.told, err = p.recoverOthers()
	}
	if err != nil {
		t.Leave()
		return nil, err
	}
	return t, nil
}

// TurnToWrite waits until a file may be written, as Turn does for a command that somebody was asked about, if programs
// obey it by themselves: a command that runs unasked would be taken for the one that made it. It is a path in the
// workspace, or an absolute one.
func (p *Policy) TurnToWrite(ctx context.Context, path string) (*Turn, error) {
	if p == nil || p.options.IsObeyed == nil {
		return nil, nil
	}
	for _, folder := range p.workFolders() {
		if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
			path = rel
		}
	}
	for ; path != "." && path != "/"; path = filepath.Dir(path) {
		if p.options.IsObeyed(filepath.ToSlash(path)) {
			return p.Turn(ctx, run.Confined, false)
		}
	}
	return nil, nil
}

func (t *Turn) take(ctx context.Context, state, dir, own, other string, alone bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return inWords(err)
	}
	var files [3]*os.File
	for i, name := range []string{gateLock, other, own} {
		f, err := inside.OpenFile(state, filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return inWords(err)
		}
		if files[i] = f; i == 0 || i == 1 && !alone {
			defer f.Close()
			defer unlockFile(f) // a process that is just being started may have it open too
			continue
		}
		t.held = append(t.held, f)
	}
	for i, f := range files {
		if i == 2 && !alone {
			return shareFile(f) // nobody can have it alone without the gate
		}
		if err := lockPatiently(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// lockPatiently locks a file as soon as no other has it.
func lockPatiently(ctx context.Context, f *os.File) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if err := tryLockFile(f); !isLocked(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Leave ends a turn. The second time it does nothing.
func (t *Turn) Leave() {
	if t == nil {
		return
	}
	for _, f := range t.held {
		unlockFile(f)
		f.Close()
	}
	t.held = nil
}

// turnsOf returns by what it is known that two policies are for the same files: the folders that are worked in, or those
// of the repositories above them.
func (p *Policy) turnsOf() (keys []string) {
	for _, folder := range p.workFolders() {
		if dir := p.git.folder(folder); isDotGit(filepath.Base(dir)) {
			folder = filepath.Dir(dir)
		}
		keys = append(keys, folder)
	}
	slices.Sort(keys) // all wait in the same order
	return slices.Compact(keys)
}
