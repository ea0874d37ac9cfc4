// Package journal records the changes that calls make to files, so that after a kill the
// outcome of a call can be determined, and every change can be undone.
//
// A [Journal] is two folders in the state folder of a workspace:
//
//	journal/<run>/<call>.json  an [Entry]: which file a call is about to change, and how
//	blobs/<sha256>.zst         a content that a call replaced, compressed with zstd
//	blobs/<sha256>.delta       the same, as a difference to another one
//
// and, for commands, whose changes are found when they have ended:
//
//	files/<workspace>          the paths of a workspace as they were last looked at: [Files]
//	journal/<run>/<call>.files the same, as they were before a command that runs
//
// What an edit needs is durable before the file is changed; what commands need is not synced. The content that a call writes is not
// stored: it is in the file, and the next change of the file stores it as the content it
// replaces. A content is stored once per workspace, whichever runs refer to it, and its
// hash is verified when it is read.
//
// [Journal.Remove] removes the entries of a run and [Journal.Sweep] the contents that no
// entry refers to. Both are safe while other processes change files.
package journal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/inside"
	"pawl/run"
)

// A Journal is the journal of a workspace. It is safe for concurrent use, by several
// processes too.
type Journal struct{ dir string }

// In returns the journal in the state folder of a workspace. Its folders are created when
// something is written.
func In(stateDir string) Journal { return Journal{stateDir} }

// An Entry is the change of one file, written before it is made. It is a format on disk:
// fields are only ever added.
type Entry struct {
	Path   string `json:"path"`   // relative to the workspace
	Before string `json:"before"` // SHA-256; empty: no file
	After  string `json:"after"`  // likewise
	Mode   string `json:"mode"`   // permission bits in octal, of the file before the change or as it will be created; empty: the default
	Temp   string `json:"temp"`   // name of the temporary file beside it, to be removed after a kill
	// Command is what a command has changed, if the call is one; then the fields above are empty.
	Command *Command `json:"command,omitempty"`
}

// A Command is what a command has changed.
type Command struct {
	Began     time.Time        `json:"began"`
	Ended     time.Time        `json:"ended,omitzero"` // zero: it runs, or its process was killed; see [Journal.Alive]
	Workspace string           `json:"workspace"`
	Files     []run.FileChange `json:"files,omitempty"`
	Left      []Left           `json:"left,omitempty"`    // what undo leaves alone, and why
	Outside   []string         `json:"outside,omitempty"` // what it has changed of what is not covered at all, such as ignored files
}

// Left is a path that a command may have changed, and that undo leaves alone.
type Left struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // for people: what follows the path
}

// Perm returns the entry's permission bits; 0 if it has none.
func (e Entry) Perm() fs.FileMode {
	m, err := strconv.ParseUint(e.Mode, 8, 32)
	if err != nil {
		return 0
	}
	return fs.FileMode(m).Perm()
}

// Hash returns the SHA-256 of content as entries and the log have it.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// RunDir returns the folder with the entries of a run, one file per call.
func (j Journal) RunDir(id run.ID) string {
	return filepath.Join(j.entries(), fileName(string(id)))
}

func (j Journal) entries() string { return filepath.Join(j.dir, "journal") }

func (j Journal) entry(id run.ID, call string) string {
	return filepath.Join(j.RunDir(id), fileName(call)+".json")
}

// fileName returns s if it can safely name a file, otherwise its hash.
func fileName(s string) string {
	plain := s != "" && s[0] != '.' && len(s) <= 100 && strings.IndexFunc(s, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
	if plain {
		return s
	}
	return Hash([]byte(s))
}

// Record durably stores the content that a call is about to replace, and then the entry.
// It sets e.Before to the content's hash; a nil before means that there is no file.
func (j Journal) Record(id run.ID, call string, e Entry, before []byte) (Entry, error) {
	if before != nil {
		e.Before = Hash(before)
		if err := j.store(e.Path, before, atomicfile.Durable); err != nil {
			return e, fmt.Errorf("store the content of %s: %w", e.Path, err)
		}
	}
	b, err := json.Marshal(e)
	if err == nil {
		err = atomicfile.Write(j.entry(id, call), append(b, '\n'), atomicfile.Durable)
	}
	if err == nil && before != nil && !j.stored(e.Before) {
		// A sweep that began before the entry was written may have removed the content.
		err = j.store(e.Path, before, atomicfile.Durable)
	}
	if err != nil {
		return e, fmt.Errorf("write the journal entry of %s: %w", e.Path, err)
	}
	return e, nil
}

// RecordCommand writes the entry of a command. Neither it nor the contents that it refers to are synced: after a loss of
// power the call is one that nobody knows anything of, and before that every process sees them.
func (j Journal) RecordCommand(id run.ID, call string, c Command) error {
	b, err := json.Marshal(Entry{Command: &c})
	if err == nil {
		err = atomicfile.Write(j.entry(id, call), append(b, '\n'), atomicfile.NoSync)
	}
	if err != nil {
		return fmt.Errorf("write the journal entry of %s: %w", call, err)
	}
	return nil
}

// Alive notes that the process of a command that runs is alive; LastAlive returns when it last was.
func (j Journal) Alive(id run.ID, call string) {
	now := time.Now()
	_ = os.Chtimes(j.entry(id, call), now, now)
}

// LastAlive returns when the process of a command last was alive.
func (j Journal) LastAlive(id run.ID, call string) time.Time {
	info, err := os.Lstat(j.entry(id, call))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// usePrefix begins the names of commands of external agents of which it is not known yet, or never was, which call they are.
const usePrefix = "use-"

// UseOf returns a name for such a command, which the agent has given an id; empty: none.
func UseOf(id string) string {
	if id == "" {
		return usePrefix + rand.Text()
	}
	return usePrefix + Hash([]byte(id))[:32]
}

// Uses returns the names of such commands of a run.
func (j Journal) Uses(id run.ID) (uses []string) {
	entries, _ := j.readDir(j.RunDir(id)) // what cannot be read is not known
	for _, e := range entries {
		if use, ok := strings.CutSuffix(e.Name(), ".json"); ok && strings.HasPrefix(use, usePrefix) {
			uses = append(uses, use)
		}
	}
	return uses
}

// Rename says that a command is a call, and returns its entry.
func (j Journal) Rename(id run.ID, use, call string) Command {
	e, err := j.Entry(id, use)
	if err != nil || e.Command == nil || j.RecordCommand(id, call, *e.Command) != nil {
		return Command{}
	}
	if use != call {
		j.Discard(id, use)
	}
	return *e.Command
}

// Entry returns the entry of a call; fs.ErrNotExist if there is none.
func (j Journal) Entry(id run.ID, call string) (Entry, error) { return readEntry(j.entry(id, call)) }

func readEntry(file string) (e Entry, err error) {
	b, err := atomicfile.Read(file)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("%s is damaged: %w", file, err)
	}
	return e, nil
}

// Discard removes the entry of a change that failed before it was made.
func (j Journal) Discard(id run.ID, call string) { _ = inside.Remove(j.dir, j.entry(id, call)) }

// Remove removes the entries of a run. Contents that only they refer to are removed by the
// next [Journal.Sweep]. The run must not be running.
func (j Journal) Remove(id run.ID) error {
	if err := inside.RemoveAll(j.dir, j.RunDir(id)); err != nil {
		return fmt.Errorf("remove the journal of run %s: %w", id, err)
	}
	return nil
}

// runs returns the names of the folders of runs.
func (j Journal) runs() ([]string, error) {
	entries, err := j.readDir(j.entries())
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// readDir is os.ReadDir; a folder that does not exist is empty.
func (j Journal) readDir(dir string) ([]fs.DirEntry, error) {
	entries, err := inside.ReadDir(j.dir, dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return entries, err
}
