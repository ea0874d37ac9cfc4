package tool

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"pawl/run"
	"pawl/tool/journal"
	"pawl/tool/tree"
)

// A Kill is a point at which a process may die while it changes a file.
type Kill int

const (
	KilledAfterBlobs   Kill = iota // contents are stored, nothing is journaled
	KilledAfterJournal             // the intention is durable
	KilledInTemp                   // and half of the temporary file is there
	KilledBeforeRename             // and all of it
	KilledAfterRename              // the file is replaced, nobody was told
)

// ChangeAndDie changes a file as the call would and stops at a point.
func ChangeAndDie(env Env, c Call, path string, after []byte, at Kill) error {
	p, err := locate(env, path)
	if err != nil {
		return err
	}
	defer p.Close()
	ch := &change{at: p, after: after}
	if before, info, err := p.read(); err == nil {
		ch.before, ch.old = before, info
	}
	if at == KilledAfterBlobs {
		_, err := env.journal().Record(c.Run, string(c.ID), journal.Entry{Path: p.rel}, after)
		env.journal().Discard(c.Run, string(c.ID))
		return err
	}
	if err := ch.keep(env, c.Run, string(c.ID)); err != nil || at == KilledAfterJournal {
		return err
	}
	if err := p.makeFolders(); err != nil {
		return err
	}
	if at == KilledInTemp {
		f, err := p.dir.OpenFile(ch.entry.Temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(after[:len(after)/2])
		f.Close()
		return err
	}
	if err := ch.writeTemp(); err != nil || at == KilledBeforeRename {
		return err
	}
	return ch.install()
}

// UndoDisturbed is Undo with something that happens between its looking and its
// doing.
func UndoDisturbed(env Env, changes []run.FileChange, disturb func()) error {
	todo, _ := planUndo(env, changes)
	disturb()
	_, _, err := doAll(env, todo)
	return err
}

// BeginAndDie begins a command as a call of env.Run; what it returns is the kill of the process, after which env has another
// session.
func BeginAndDie(ctx context.Context, env *Env, call string) (kill func()) {
	env.tracker().Begin(ctx, env.Run, call, false)
	return func() {
		env.Session.Close()
		env.Session = &Session{}
	}
}

// DiedAt says when the process of a command was last known to be alive.
func DiedAt(env Env, call string, at time.Time) error {
	return os.Chtimes(filepath.Join(env.journal().RunDir(env.Run), call+".json"), at, at)
}

// ShellKeeping is Shell, where a command may print so many bytes to Call.Output.
func ShellKeeping(kept int64) Tool { return shellTool{kept: kept}.tool() }

// ReplaceAll is replaceAll.
func ReplaceAll(content []byte, edits []Replacement) ([]byte, error) {
	return replaceAll("f", content, edits)
}

// A Replacement is a replacement.
type Replacement = replacement

// InWords is tree.InWords.
func InWords(err error) error { return tree.InWords(err) }

// NeedleIn reports whether an expression's needle is in a text.
func NeedleIn(expr string, hay []byte) bool {
	_, n := study(expr)
	return n.in(hay)
}

// Readable is readable.
var Readable = readable
