package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"pawl/run"
)

// kinds has every type of event: its name on disk, which never changes, and the
// version of its form. The form is the JSON of the Go type by its tags; a type only
// ever gains optional keys. A change that an older pawl must not overlook raises the
// version.
//
// An empty list is read as nil and a time in UTC; everything else is read as it was
// written, strings that are not UTF-8 included (see latin1.go).
var kinds = []kind{
	of[run.Created]("run_created"),
	of[run.Configured]("run_configured"),
	of[run.Prompted]("prompted"),
	of[run.Said]("said"),
	of[run.Withdrawn]("withdrawn"),
	of[run.RequestStarted]("request_started"),
	of[run.RequestFailed]("request_failed"),
	of[run.Replied]("replied"),
	of[run.Observed]("observed"),
	of[run.CallReceived]("call_received"),
	of[run.CallInspected]("call_inspected"),
	of[run.CallDecided]("call_decided"),
	of[run.ApprovalInvalidated]("approval_invalidated"),
	of[run.CallStarted]("call_started"),
	of[run.CallDetached]("call_detached"),
	of[run.CallAsked]("call_asked"),
	of[run.CallAnswered]("call_answered"),
	of[run.CallSettled]("call_settled"),
	of[run.HookStarted]("hook_started"),
	of[run.HookSettled]("hook_settled"),
	of[run.Resumed]("resumed"),
	of[run.Told]("told"),
	of[run.Submitted]("submitted"),
	of[run.Interrupted]("interrupted"),
	of[run.Compacted]("compacted"),
	of[run.Synthesized]("synthesized"),
	of[run.Ended]("turn_ended"),
}

type kind struct {
	name    string
	version int
	typ     reflect.Type
}

// of describes a type of event whose form is in its first version.
func of[P run.Payload](name string) kind {
	return kind{name, 1, reflect.TypeFor[P]()}
}

// decode reads a payload of type t.
func decode(t reflect.Type, data []byte) (run.Payload, error) {
	inner, latin1 := latin1Inner(data)
	if latin1 {
		data = inner
	}
	v := reflect.New(t)
	if err := json.Unmarshal(data, v.Interface()); err != nil {
		return nil, err
	}
	if v = v.Elem(); latin1 {
		v = mapStrings(v, fromLatin1)
	}
	return v.Interface().(run.Payload), nil
}

var (
	kindOf = sync.OnceValue(func() map[reflect.Type]*kind {
		m := map[reflect.Type]*kind{}
		for i := range kinds {
			m[kinds[i].typ] = &kinds[i]
		}
		return m
	})
	kindNamed = sync.OnceValue(func() map[string]*kind {
		m := map[string]*kind{}
		for i := range kinds {
			m[kinds[i].name] = &kinds[i]
		}
		return m
	})
)

// Type returns the name on disk of a payload's type.
func Type(p run.Payload) string {
	if k := kindOf()[reflect.TypeOf(p)]; k != nil {
		return k.name
	}
	return ""
}

// Version returns the version of the form of a payload's type; 0 if it has no name on disk.
func Version(p run.Payload) int {
	if k := kindOf()[reflect.TypeOf(p)]; k != nil {
		return k.version
	}
	return 0
}

// encode returns the form on disk of e's payload.
func encode(e run.Event) (typ string, version int, data []byte, err error) {
	k := kindOf()[reflect.TypeOf(e.Payload)]
	if k == nil {
		return "", 0, nil, fmt.Errorf("encode event: %T has no name on disk", e.Payload)
	}
	data, err = marshal(e.Payload)
	if err != nil {
		return "", 0, nil, fmt.Errorf("encode event %s: %w", k.name, err)
	}
	return k.name, k.version, data, nil
}

// Decode is the inverse of [encode]. An event of an unknown type or a newer version
// is an [*UnreadableError] without its run; data that is not what its type says is
// [ErrCorrupt].
func Decode(seq int64, at time.Time, typ string, version int, data []byte) (run.Event, error) {
	k := kindNamed()[typ]
	if k == nil || version != k.version {
		return run.Event{}, &UnreadableError{Seq: seq, Type: typ, Version: version}
	}
	p, err := decode(k.typ, data)
	if err != nil {
		return run.Event{}, errors.Join(fmt.Errorf("%w: event %d (%s)", ErrCorrupt, seq, typ), err)
	}
	return run.Event{Seq: seq, At: at.UTC(), Payload: p}, nil
}

// encoders keeps the buffers of marshal.
var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false) // code is full of < and &
	return e
}}

type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

// maxKept bounds the buffers that are kept for the next event.
const maxKept = 64 << 10

// marshal returns form as JSON, or, when a string in it is not UTF-8, as the
// Latin-1 form of it.
func marshal(form any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer func() {
		if e.buf.Cap() <= maxKept {
			e.buf.Reset()
			encoders.Put(e)
		}
	}()
	if err := e.json.Encode(form); err != nil {
		return nil, err
	}
	if replacedBytes(e.buf.Bytes()) {
		e.buf.Reset()
		if err := e.json.Encode(latin1{mapStrings(reflect.ValueOf(form), toLatin1).Interface()}); err != nil {
			return nil, err
		}
	}
	return bytes.Clone(bytes.TrimSuffix(e.buf.Bytes(), []byte("\n"))), nil
}
