package output

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"pawl/run"
)

// A Store keeps outputs in a folder: a folder for each conversation, in it one for each
// run, in it a file for each call. Results that were delivered inline are in [Logs]. It may be
// used by several goroutines and processes at once: an output appears by a rename and never
// changes. With a [Shared] store the files are there instead.
type Store struct {
	dir    string
	shared Shared // has the files; nil: they are in dir
	logs   Logs   // have the results that are no files; nil: there are none
	now    func() time.Time
}

const (
	fileEnding = ".zst"
	tmpFolder  = ".writing" // no conversation has a name with a dot in front
)

// NewStore returns the store in a folder, which is made when the first output is.
func NewStore(dir string) *Store { return &Store{dir: dir, now: time.Now} }

// A Key names a call within its conversation. Calls are numbered within their run.
type Key struct {
	Conversation run.ID // id of the root run
	Run          run.ID
	Call         run.CallID
}

// Create begins an output. Tool and message say where it comes from.
func (s *Store) Create(key Key, tool, message string) (*Writer, error) {
	if key.Conversation == "" || key.Run == "" || key.Call == "" {
		return nil, fmt.Errorf("output: a key needs conversation, run and call, got %+v", key)
	}
	return &Writer{store: s, meta: Meta{ID: key.Call, Run: key.Run, Conversation: key.Conversation, Tool: tool, Message: message,
		Created: s.now().UTC()}}, nil
}

func (s *Store) file(conversation, owner run.ID, call run.CallID) string {
	return filepath.Join(s.dir, fileName(string(conversation)), fileName(string(owner)), fileName(string(call))+fileEnding)
}

// RunDir returns the folder with the outputs of a run, one file a call.
func (s *Store) RunDir(conversation, owner run.ID) string {
	return filepath.Dir(s.file(conversation, owner, "c_1"))
}

// fileName returns an id as the name of a file on every system: letters of one case,
// digits, _ and - as they are, and everything else, so that different ids stay
// different, as its bytes in hexadecimal.
func fileName(id string) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		if c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}
