package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/golden"
	"pawl/run"
)

var testTime = time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)

// A filler makes values that are not zero, each different from the one before.
type filler struct {
	n   int
	str func(n int) string
}

// fill sets every field below v. A part has parts in it; the inner ones end at depth 0.
func (f *filler) fill(v reflect.Value, depth int) {
	f.n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.str(f.n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth-1)
		}
	case reflect.Slice:
		switch {
		case v.Type().Elem().Kind() == reflect.Uint8:
			v.SetBytes([]byte{0, 255, byte(f.n)})
		case depth > 0:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			f.fill(v.Index(0), depth-1)
			f.fill(v.Index(1), 0)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(testTime.Add(time.Duration(f.n))))
			return
		}
		for i := range v.NumField() {
			f.fill(v.Field(i), depth)
		}
	default:
		panic(fmt.Sprintf("no filling for a %s: teach fill, and mapStrings, about it", v.Type()))
	}
}

// samples returns one event of every type with every field filled.
func samples(str func(n int) string) []run.Event {
	f := filler{str: str}
	var events []run.Event
	for i, k := range kinds {
		v := reflect.New(k.typ).Elem()
		f.fill(v, 4)
		events = append(events, run.Event{Seq: int64(i) + 1, At: testTime.Add(time.Duration(i)), Payload: v.Interface().(run.Payload)})
	}
	return events
}

func plain(n int) string { return fmt.Sprintf("text %d <&> é\u2028\n\"", n) }

// roundTrip encodes and decodes e.
func roundTrip(t *testing.T, e run.Event) run.Event {
	t.Helper()
	typ, version, data, err := encode(e)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(e.Seq, e.At, typ, version, data)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return back
}

func TestEveryPayloadOfPackageRunHasAKind(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../run/*.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("package run was not found: %v", err)
	}
	var declared []string
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Name.Name != "apply" || f.Recv == nil {
				continue
			}
			if payload, ok := f.Recv.List[0].Type.(*ast.Ident); ok { // State's own has a pointer
				declared = append(declared, "run."+payload.Name)
			}
		}
	}
	var known []string
	for _, k := range kinds {
		known = append(known, k.typ.String())
	}
	slices.Sort(declared)
	slices.Sort(known)
	if d := cmp.Diff(declared, known); d != "" {
		t.Errorf("the payloads of package run (-) and the kinds (+):\n%s", d)
	}
}

// The names and versions are in every log there is. A name never changes, and a version
// rises when an older pawl must not overlook a change.
func TestTheNamesAndVersionsOnDisk(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`
		run_created/1 run_configured/1 prompted/1 said/1 withdrawn/1 request_started/1 request_failed/1 replied/1 observed/1
		call_received/1 call_inspected/1 call_decided/1 approval_invalidated/1 call_started/1 call_detached/1 call_asked/1 call_answered/1 call_settled/1 hook_started/1 hook_settled/1
		resumed/1 told/1 submitted/1 interrupted/1 compacted/1 synthesized/1 turn_ended/1`)
	var got []string
	for _, e := range samples(plain) {
		name, version, _, err := encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if Type(e.Payload) != name {
			t.Errorf("%T is written as %s, and its type is said to be %q", e.Payload, name, Type(e.Payload))
		}
		got = append(got, fmt.Sprintf("%s/%d", name, version))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the names and versions that this test has (-) and those of codec.go (+); a new type is added here, and a name that is here stays:\n%s", d)
	}
	if len(kindOf()) != len(kinds) || len(kindNamed()) != len(kinds) {
		t.Error("two kinds have one name or one type")
	}
	if name := Type(nil); name != "" {
		t.Errorf("the type of nothing is %q", name)
	}
}

func TestEveryFieldOfEveryPayloadComesBack(t *testing.T) {
	t.Parallel()
	for _, e := range samples(plain) {
		if d := cmp.Diff(e, roundTrip(t, e)); d != "" {
			t.Errorf("%T (-before +after):\n%s", e.Payload, d)
		}
	}
	for _, k := range kinds { // and with no field filled
		e := run.Event{Seq: 1, At: testTime, Payload: reflect.Zero(k.typ).Interface().(run.Payload)}
		if d := cmp.Diff(e, roundTrip(t, e)); d != "" {
			t.Errorf("%s (-before +after):\n%s", k.name, d)
		}
	}
}

// A replay that differs from what happened would be worse than an ugly row.
func TestStringsThatAreNotUTF8ComeBackByteForByte(t *testing.T) {
	t.Parallel()
	for _, e := range samples(func(n int) string { return "cut in an é: \xc3 " + plain(n) + string([]byte{byte(n), 0xff, 0}) }) {
		before := fmt.Sprintf("%#v", e)
		if d := cmp.Diff(e, roundTrip(t, e)); d != "" {
			t.Errorf("%T (-before +after):\n%s", e.Payload, d)
		}
		if fmt.Sprintf("%#v", e) != before {
			t.Errorf("%T: encoding changed the event", e.Payload)
		}
	}
}

func FuzzAnyTextComesBack(f *testing.F) {
	for _, s := range []string{"", "plain", "\xff", "\ufffd", `\ufffd`, `\\ufffd`, "\xc3(", `{"latin1":{}}`, "\u2028<>&\x00"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		e := run.Event{Seq: 1, At: testTime, Payload: run.CallSettled{
			Call: run.CallID(a), Content: []run.Part{run.Text(b), {Type: run.CallPart, Call: &run.Call{Arguments: a, Raw: b}}},
		}}
		if d := cmp.Diff(e, roundTrip(t, e)); d != "" {
			t.Errorf("(-before +after):\n%s", d)
		}
	})
}

func TestWhatIsNewerIsUnreadable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ     string
		version int
	}{{"prompted", 2}, {"teleported", 1}, {"", 1}, {"prompted", 0}} {
		_, err := Decode(7, testTime, c.typ, c.version, []byte(`{}`))
		want := &UnreadableError{Seq: 7, Type: c.typ, Version: c.version}
		got, ok := errors.AsType[*UnreadableError](err)
		if !ok {
			t.Errorf("%v: got error %v, want an UnreadableError", c, err)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v (-want +got):\n%s", c, d)
		}
	}
}

func TestKeysOfANewerPawlAreIgnored(t *testing.T) {
	t.Parallel()
	e, err := Decode(1, testTime, "withdrawn", 1, []byte(`{"id":"a","why":"an optional key that came later"}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(run.Event{Seq: 1, At: testTime, Payload: run.Withdrawn{ID: "a"}}, e); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDataThatIsNotItsTypesIsCorrupt(t *testing.T) {
	t.Parallel()
	for _, data := range []string{``, `{`, `[]`, `{"id":7}`, `{"latin1":`, `{"latin1":{"id":"a"}`, "\x00"} {
		if _, err := Decode(1, testTime, "withdrawn", 1, []byte(data)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: got error %v, want ErrCorrupt", data, err)
		}
	}
}

func TestWhatCannotBeWrittenIsRefused(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]run.Payload{"no payload": nil, "a cost that is not a number": run.Replied{Usage: run.Usage{Cost: math.NaN()}}} {
		if _, _, _, err := encode(run.Event{Payload: payload}); err == nil {
			t.Errorf("%s was encoded", name)
		}
	}
}

// line is an event of a log in testdata/logs.
type line struct {
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Type    string          `json:"type"`
	Version int             `json:"version"`
	Data    json.RawMessage `json:"data"`
}

// currentLog has every type of event with every field filled, as this pawl writes them,
// and one with a string that is not UTF-8.
// Once a pawl has been released with it, it never changes, and the next form gets the
// next number.
const currentLog = "testdata/logs/v1.jsonl"

func TestTheCurrentLogHasEveryType(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	out := json.NewEncoder(&want)
	out.SetEscapeHTML(false)
	events := samples(func(n int) string { return fmt.Sprint("text ", n) })
	events = append(events, run.Event{Seq: int64(len(events)) + 1, At: testTime, Payload: run.Withdrawn{ID: "not UTF-8: \xc3 \xff"}})
	for _, e := range events {
		typ, version, data, err := encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Encode(line{e.Seq, e.At, typ, version, data}); err != nil {
			t.Fatal(err)
		}
	}
	golden.File(t, currentLog, want.Bytes())
	if t.Failed() {
		t.Log("the disk form has changed; old logs must still load. If it only gained optional keys, write it anew with UPDATE=1 " +
			"(or begin the next log, if a pawl was released with this one)")
	}
}

func TestOldLogsLoadForEver(t *testing.T) {
	t.Parallel()
	logs, err := filepath.Glob("testdata/logs/*.jsonl")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, path := range logs {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(content))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var l line
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				t.Fatal(err)
			}
			e, err := Decode(l.Seq, l.At, l.Type, l.Version, l.Data)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			typ, version, data, err := encode(e)
			if err != nil || typ != l.Type {
				t.Errorf("%s: %s is encoded as %s: %v", path, l.Type, typ, err)
			}
			if version == l.Version && !bytes.Equal(data, l.Data) {
				t.Errorf("%s: event %d lost something:\n was %s\n now %s", path, l.Seq, l.Data, data)
			}
		}
		if err := lines.Err(); err != nil {
			t.Error(err)
		}
	}
}
