package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

// A Recording is a recorded stream of a real provider, and what its index says of it.
type Recording struct {
	File    string   `json:"file"`
	Dialect string   `json:"dialect"`
	Events  int      `json:"events"`
	Tools   int      `json:"tools"` // calls, the provider's own among them
	BadArgs []string `json:"bad_args"`
	Stop    string   `json:"stop"` // in the provider's words
	Done    bool     `json:"done"` // it ends in [DONE]
	Error   bool     `json:"error"`
	Data    []byte   `json:"-"`
}

// Recordings returns the recorded streams of a dialect. Where they are not, the
// test is skipped. dir is the folder of the tested package below the repository's
// root, as "llm/chat".
func Recordings(t testing.TB, dir, dialect string) []Recording {
	t.Helper()
	up := "../"
	for range bytes.Count([]byte(dir), []byte("/")) + 1 {
		up += "../"
	}
	folder := filepath.Join(up, "shared/cases/streams")
	index, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("needs the recorded streams in ../shared/cases/streams, beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []Recording
	if err := json.Unmarshal(index, &all); err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(r Recording) bool { return r.Dialect != dialect })
	for i := range all {
		if all[i].Data, err = os.ReadFile(filepath.Join(folder, all[i].File)); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) == 0 {
		t.Fatalf("the index has no stream of the dialect %q", dialect)
	}
	return all
}

// A Decode decodes a stream; see [wire.Decode].
type Decode func(r io.Reader) (*llm.Answer, error)

// SameHoweverRead checks that a recording decodes to the same, answer or error,
// however it is cut into reads and however its lines end.
func SameHoweverRead(t testing.TB, data []byte, decode Decode) {
	t.Helper()
	want, wantErr := decode(bytes.NewReader(data))
	check := func(how string, r io.Reader) {
		t.Helper()
		got, err := decode(r)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%s: error %v, want %v", how, err, wantErr)
		}
		if !cmp.Equal(want, got) {
			t.Fatalf("%s: another answer:\n%s", how, cmp.Diff(want, got))
		}
	}
	check("byte by byte", iotest.OneByteReader(bytes.NewReader(data)))
	check("with the end in the last read", iotest.DataErrReader(bytes.NewReader(data)))
	unix := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	for _, end := range []string{"\n", "\r\n", "\r"} {
		check("with other line ends", iotest.OneByteReader(bytes.NewReader(bytes.ReplaceAll(unix, []byte("\n"), []byte(end)))))
	}
	for i := 1; i < len(data); i += boundaryStep(data) {
		check("in two", io.MultiReader(bytes.NewReader(data[:i]), bytes.NewReader(data[i:])))
	}
}

// boundaryStep returns how far apart boundaries are tried, so that no stream
// takes more than some 1 MB of decoding; short ones are cut everywhere.
func boundaryStep(data []byte) int { return max(1, len(data)*len(data)/1_000_000) }

// BrokenBefore checks that a recording cut anywhere before the byte end is a broken
// stream, never an answer.
func BrokenBefore(t testing.TB, data []byte, end int, decode Decode) {
	t.Helper()
	for i := 0; i < end; i += boundaryStep(data) {
		a, err := decode(bytes.NewReader(data[:i]))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != run.ErrBrokenStream {
			t.Fatalf("cut at byte %d: %+v, %v; want %s", i, a, err, run.ErrBrokenStream)
		}
	}
}

// SoundCalls fails the test when an answer has a call that must not be there: one
// that could run without a name or without an object as arguments.
func SoundCalls(t testing.TB, a *llm.Answer) {
	t.Helper()
	for _, part := range a.Parts {
		c := part.Call
		if c == nil {
			continue
		}
		if !wire.IsArguments(c.Arguments) || c.Fault != run.NoFault && c.Arguments != "{}" || c.Fault == run.NoFault && c.Tool == "" {
			t.Fatalf("call %+v", c)
		}
	}
}
