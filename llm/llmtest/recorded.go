package llmtest

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
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

// A Recording is a stream as a provider sends it, and what its index says of it.
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

// own are streams and bodies of errors in the forms that providers have, written for
// these tests.
//
//go:embed testdata
var own embed.FS

// shared is where the recordings of real providers are, beside the repository; false
// where they are not.
func shared(t testing.TB) (folder string, ok bool) {
	t.Helper()
	up := ".."
	for {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err == nil {
			break
		}
		if up = filepath.Join("..", up); len(up) > 100 {
			t.Fatal("the root of the repository is not above this package")
		}
	}
	folder = filepath.Join(up, "../shared/cases/streams")
	_, err := os.Stat(filepath.Join(folder, "index.json"))
	return folder, err == nil
}

// Real reports whether [Recordings] and [ErrorBodies] have those of real providers.
func Real(t testing.TB) bool {
	_, ok := shared(t)
	return ok
}

// Recordings returns the streams of a dialect: those of this package and, where they
// are, the recorded ones of real providers.
func Recordings(t testing.TB, dialect string) []Recording {
	t.Helper()
	streams, err := fs.Sub(own, "testdata/streams")
	if err != nil {
		t.Fatal(err)
	}
	all := recordingsIn(t, streams, dialect)
	if len(all) == 0 {
		t.Fatalf("there is no stream of the dialect %q", dialect)
	}
	if folder, ok := shared(t); ok {
		all = append(all, recordingsIn(t, os.DirFS(folder), dialect)...)
	}
	return all
}

func recordingsIn(t testing.TB, folder fs.FS, dialect string) []Recording {
	t.Helper()
	index, err := fs.ReadFile(folder, "index.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []Recording
	if err := json.Unmarshal(index, &all); err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(r Recording) bool { return r.Dialect != dialect })
	for i := range all {
		if all[i].Data, err = fs.ReadFile(folder, all[i].File); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// ErrorBodies returns the bodies of errors whose path (host/name.json) matches a
// pattern, by path; there is at least one.
func ErrorBodies(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	errors, err := fs.Sub(own, "testdata/errors")
	if err != nil {
		t.Fatal(err)
	}
	folders := []fs.FS{errors}
	if folder, ok := shared(t); ok {
		folders = append(folders, os.DirFS(filepath.Join(folder, "errors")))
	}
	bodies := map[string][]byte{}
	for _, folder := range folders {
		names, err := fs.Glob(folder, pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no file, %v", pattern, err)
		}
		for _, name := range names {
			if bodies[name], err = fs.ReadFile(folder, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	return bodies
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
