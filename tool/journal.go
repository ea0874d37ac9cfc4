package tool

import (
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

	"pawl/internal/atomicfile"
	"pawl/run"
)

// The state folder of a workspace has what makes changes of files safe and
// undoable:
//
//	blobs/<sha256>             every content that a call replaced or wrote
//	journal/<run>/<call>.json  what a call is about to do to which file
//
// Both are durable before the file is touched. So after a kill the file's hash
// says what became of the call, and any content can be put back.

// An entry of the journal is one file's change, written before it is made. It
// is a format on disk: fields are only ever added.
type entry struct {
	Path   string `json:"path"`   // relative to the workspace
	Before string `json:"before"` // SHA-256; empty: no file
	After  string `json:"after"`  // likewise
	Mode   string `json:"mode"`   // permission bits in octal, of the file before or as it is to be made; empty: the usual ones
	Temp   string `json:"temp"`   // name of the temporary file beside it, for who cleans up
}

// mode returns the entry's permission bits; 0 when it has none.
func (e entry) mode() fs.FileMode {
	m, err := strconv.ParseUint(e.Mode, 8, 32)
	if err != nil {
		return 0
	}
	return fs.FileMode(m).Perm()
}

// hashOf returns the SHA-256 of content as the journal and the log write it.
func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// JournalDir returns the folder with the journal entries of a run, one a call.
func JournalDir(stateDir string, id run.ID) string {
	return filepath.Join(stateDir, "journal", fileName(string(id)))
}

func journalFile(env Env, id run.ID, call string) string {
	return filepath.Join(JournalDir(env.StateDir, id), fileName(call)+".json")
}

// fileName returns s if it can safely name a file, else its hash.
func fileName(s string) string {
	plain := s != "" && s[0] != '.' && len(s) <= 100 && strings.IndexFunc(s, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
	if plain {
		return s
	}
	return hashOf([]byte(s))
}

// journal writes an entry durably.
func journal(env Env, id run.ID, call string, e entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err // unreachable: an entry is strings
	}
	if err := atomicfile.Write(journalFile(env, id, call), append(b, '\n'), atomicfile.Durable); err != nil {
		return fmt.Errorf("the change cannot be journaled in %s: %w; nothing was changed", env.StateDir, inWords(err))
	}
	return nil
}

// journaled reads an entry; fs.ErrNotExist means that there is none.
func journaled(env Env, id run.ID, call string) (entry, error) {
	var e entry
	b, err := os.ReadFile(journalFile(env, id, call))
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("%s is damaged: %w", journalFile(env, id, call), err)
	}
	return e, nil
}

// unjournal takes back the entry of a change that failed before it was made.
func unjournal(env Env, id run.ID, call string) { _ = os.Remove(journalFile(env, id, call)) }

// keepBlob stores content under its hash, durably; what is there is not
// written again.
func keepBlob(env Env, content []byte) (string, error) {
	h := hashOf(content)
	path := filepath.Join(env.StateDir, "blobs", h)
	if info, err := os.Lstat(path); err == nil && info.Size() == int64(len(content)) {
		return h, nil
	}
	if err := atomicfile.Write(path, content, atomicfile.Durable); err != nil {
		return "", fmt.Errorf("the file's content cannot be kept in %s: %w; nothing was changed", env.StateDir, inWords(err))
	}
	return h, nil
}

// blob returns a kept content.
func blob(env Env, h string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(env.StateDir, "blobs", fileName(h)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("its content of then (SHA-256 %.8s) is no longer kept", h)
	}
	if err != nil {
		return nil, fmt.Errorf("its content of then (SHA-256 %.8s) cannot be read: %w", h, inWords(err))
	}
	if hashOf(b) != h {
		return nil, fmt.Errorf("its content of then (SHA-256 %.8s) is damaged in %s", h, env.StateDir)
	}
	return b, nil
}
