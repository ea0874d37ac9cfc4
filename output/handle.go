package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"pawl/output/jsonpath"
)

// A Handle stands in a tool's arguments for what is in a stored output:
//
//	{"$output": "c_3", "path": "$.users[0].id"}
//
// Without a path it stands for all of it: the value of what is JSON, the text of
// anything else. A path that can select several nodes stands for the list of them.
type Handle struct {
	ID   string `json:"id"`
	Path string `json:"path,omitempty"`
	// Place is where in the arguments the handle was, as a normalized JSONPath.
	Place string `json:"place"`
	Size  int64  `json:"size"` // bytes that it stands for
}

// MaxResolved is how large arguments may become, in bytes, with all handles resolved.
const MaxResolved = 64 << 20

// Resolve puts in the place of each handle in a call's arguments what it stands for.
// The rest of the arguments stays as it is written. Whoever decides about the call is
// to see the result, and so is the person.
//
// open finds an output by its id, as [Store.Find]; Resolve closes what it opens. An
// object is a handle if it has the member $output with a string and no other but path;
// what comes from an output is not looked at again.
func Resolve(ctx context.Context, args json.RawMessage, open func(id string) (*Output, error)) (resolved json.RawMessage, used []Handle, err error) {
	// An escape could hide the name, which is not worth a look at every text that has
	// one: $ is not a character that anyone escapes but on purpose.
	if !bytes.Contains(args, []byte(`"$output"`)) && !bytes.Contains(args, []byte(`\u`)) {
		return args, nil, nil
	}
	root, err := jsonpath.Decode(args)
	if err != nil {
		return args, nil, nil // whoever validates the arguments says so
	}
	r := &resolver{ctx: ctx, open: open, args: args}
	if err := r.walk(root, "$"); err != nil {
		return nil, nil, err
	}
	if len(r.used) == 0 {
		return args, nil, nil
	}
	r.out.Write(args[r.copied:])
	return r.out.Bytes(), r.used, nil
}

type resolver struct {
	ctx    context.Context
	open   func(id string) (*Output, error)
	args   []byte
	copied int // bytes of args that out has
	out    bytes.Buffer
	used   []Handle
}

func (r *resolver) walk(v jsonpath.Value, place string) error {
	switch v.Kind() {
	case jsonpath.Array:
		for i := range v.Len() {
			if err := r.walk(v.Item(i), place+indexStep(int64(i))); err != nil {
				return err
			}
		}
	case jsonpath.Object:
		if h, ok := asHandle(v); ok {
			h.Place = place
			return r.resolve(h, v.Raw())
		}
		for name, member := range v.Members() {
			if err := r.walk(member, place+"["+quoteName(name)+"]"); err != nil {
				return err
			}
		}
	}
	return nil
}

func asHandle(v jsonpath.Value) (h Handle, ok bool) {
	for name, member := range v.Members() {
		switch {
		case member.Kind() != jsonpath.String:
			return h, false
		case name == "$output":
			h.ID, ok = member.Text(), true
		case name == "path":
			h.Path = member.Text()
		default:
			return h, false
		}
	}
	return h, ok
}

// resolve writes what stands before a handle, and what the handle stands for.
func (r *resolver) resolve(h Handle, raw []byte) error {
	// Objects are met in the order they are written. The same text cannot stand before
	// as anything else: in a string its quotes would be escaped.
	from := r.copied + bytes.Index(r.args[r.copied:], raw)
	r.out.Write(r.args[r.copied:from])
	r.copied = from + len(raw)
	before := r.out.Len()
	if err := r.write(h); err != nil {
		return fmt.Errorf("the handle at %s: %w", h.Place, err)
	}
	h.Size = int64(r.out.Len() - before)
	r.used = append(r.used, h)
	return nil
}

func (r *resolver) write(h Handle) error {
	o, err := r.open(h.ID)
	if err != nil {
		return err
	}
	defer o.Close()
	room := MaxResolved - int64(r.out.Len()) - int64(len(r.args)-r.copied)
	if h.Path == "" && !o.Meta.Format.IsJSON() {
		return o.writeText(&r.out, room)
	}
	if h.Path == "" {
		h.Path = "$"
	}
	return o.writeValue(r.ctx, &r.out, h.Path, room)
}

func tooLarge(size, room int64) error {
	return fmt.Errorf("it stands for %s, and arguments may have %s in all: choose a path to a smaller part", byteSize(size), byteSize(min(room, MaxResolved)))
}

// writeText writes the whole output as a JSON string.
func (o *Output) writeText(out *bytes.Buffer, room int64) error {
	if o.Meta.Format == Binary {
		return errors.New("the output is binary and cannot be an argument")
	}
	if o.size > room/2 { // a line break takes two bytes as JSON
		return tooLarge(o.size, room/2)
	}
	text := make([]byte, o.size)
	if n, err := o.raw.ReadAt(text, 0); n < len(text) {
		return err
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	before := out.Len()
	if err := e.Encode(strings.ToValidUTF8(string(text), "\uFFFD")); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the line break
	if int64(out.Len()-before) > room {
		return tooLarge(int64(out.Len()-before), room)
	}
	return nil
}

// writeValue writes what a path selects.
func (o *Output) writeValue(ctx context.Context, out *bytes.Buffer, path string, room int64) error {
	if err := o.prepare(); err != nil {
		return err
	}
	p, err := o.parse(path)
	if err != nil {
		return err
	}
	n := 0
	var failed error
	start := out.Len()
	if !p.Singular() {
		out.WriteByte('[')
	}
	err = o.each(ctx, query{path: p, most: o.wants()}, func(m node) bool {
		if p.Singular() && n > 0 {
			out.Truncate(start) // of members with one name the last counts
		}
		if n++; n > 1 && !p.Singular() {
			out.WriteByte(',')
		}
		if m.size+int64(out.Len()-start) > room {
			failed = tooLarge(m.size+int64(out.Len()-start), room)
			return false
		}
		if m.raw != nil {
			failed = writeValid(out, bytes.NewReader(m.raw))
		} else {
			failed = writeValid(out, io.NewSectionReader(o.view.at, m.from, m.size))
		}
		return failed == nil
	})
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	if !p.Singular() {
		out.WriteByte(']')
		return nil
	}
	if n == 0 {
		near := ""
		if s := o.shape(); s != nil {
			if near = s.nearest(p); near != "" {
				near = ": " + near
			}
		}
		return fmt.Errorf("nothing is at %s of output %s%s", path, o.ID, near)
	}
	return nil
}

// writeValid writes what in yields, with U+FFFD for bytes that are not UTF-8.
func writeValid(out *bytes.Buffer, in io.Reader) error {
	from := out.Len()
	if _, err := out.ReadFrom(in); err != nil {
		return err
	}
	if part := out.Bytes()[from:]; !utf8.Valid(part) {
		fixed := bytes.ToValidUTF8(part, []byte("\uFFFD"))
		out.Truncate(from)
		out.Write(fixed)
	}
	return nil
}
