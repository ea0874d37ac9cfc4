package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/internal/text"
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
	At   string `json:"at"`   // in the arguments, as a normalized JSONPath
	Size int64  `json:"size"` // bytes that it stands for
}

// maxResolved is how large arguments may become, in bytes, with all handles resolved.
const maxResolved = 64 << 20

// Resolve replaces each handle in a call's arguments by what it stands for. The rest of
// the arguments stays as it is written. Permissions are decided on, and people are shown,
// the result.
//
// schema is the JSON Schema of the arguments, or nil. Where it wants a string and the
// handle stands for another JSON value, it is replaced by a string: the value's JSON text
// as it is written in the output.
//
// open finds an output by its id, as [Store.Find]; Resolve closes what it opens. An
// object is a handle if it has the member $output with a string and no other but path;
// handles within outputs are not replaced.
func Resolve(ctx context.Context, args, schema json.RawMessage, open func(id string) (*Output, error)) (resolved json.RawMessage, used []Handle, err error) {
	// An escape could hide the name, which is not worth a look at every text that has
	// one: $ is only escaped on purpose.
	if !bytes.Contains(args, []byte(`"$output"`)) && !bytes.Contains(args, []byte(`\u`)) {
		return args, nil, nil
	}
	root, err := jsonpath.Decode(args)
	if err != nil {
		return args, nil, nil // the validation of the arguments reports it
	}
	r := &resolver{ctx: ctx, open: open, args: args}
	if len(schema) > 0 {
		if r.schema, err = jsonpath.Decode(schema); err != nil {
			return nil, nil, fmt.Errorf("the schema of the arguments: %w", err)
		}
	}
	if err := r.walk(root, r.schema, "$"); err != nil {
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
	schema jsonpath.Value // Nothing if there is none
	args   []byte
	copied int // bytes of args that out has
	out    bytes.Buffer
	used   []Handle
}

// walk replaces the handles in v, whose schema is at.
func (r *resolver) walk(v, at jsonpath.Value, path string) error {
	at = r.follow(at)
	switch v.Kind() {
	case jsonpath.Array:
		for i := range v.Len() {
			if err := r.walk(v.Item(i), at.Get("items"), path+jsonpath.Element(int64(i))); err != nil {
				return err
			}
		}
	case jsonpath.Object:
		if h, ok := asHandle(v); ok {
			h.At = path
			return r.resolve(h, v.Raw(), r.types(at, 0))
		}
		for name, member := range v.Members() {
			below := at.Get("properties").Get(name)
			if below.Kind() == jsonpath.Nothing {
				below = at.Get("additionalProperties")
			}
			if err := r.walk(member, below, path+jsonpath.ChildInBrackets(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow returns the schema that a $ref within the schema means.
func (r *resolver) follow(at jsonpath.Value) jsonpath.Value {
	for range 8 { // references to references
		ref, ok := strings.CutPrefix(at.Get("$ref").Text(), "#/")
		if !ok {
			break
		}
		at = r.schema
		for name := range strings.SplitSeq(ref, "/") {
			at = at.Get(name)
		}
	}
	return at
}

// types returns the types that a schema names for a value; none if it takes any.
func (r *resolver) types(at jsonpath.Value, depth int) (all []string) {
	at = r.follow(at)
	switch t := at.Get("type"); t.Kind() {
	case jsonpath.String:
		all = append(all, t.Text())
	case jsonpath.Array:
		for i := range t.Len() {
			all = append(all, t.Item(i).Text())
		}
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		for i := range at.Get(name).Len() {
			if depth < 8 {
				all = append(all, r.types(at.Get(name).Item(i), depth+1)...)
			}
		}
	}
	return all
}

// wantsText reports whether a value of a kind has to become a string to fit one of types.
func wantsText(types []string, k jsonpath.Kind) bool {
	fits := slices.Contains(types, k.String()) || k == jsonpath.Number && slices.Contains(types, "integer")
	return slices.Contains(types, jsonpath.String.String()) && !fits
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
func (r *resolver) resolve(h Handle, raw []byte, types []string) error {
	// Objects are met in the order they are written. The same text cannot stand before
	// as anything else: in a string its quotes would be escaped.
	from := r.copied + bytes.Index(r.args[r.copied:], raw)
	r.out.Write(r.args[r.copied:from])
	r.copied = from + len(raw)
	before := r.out.Len()
	if err := r.write(h, types); err != nil {
		return fmt.Errorf("the handle at %s: %w", h.At, err)
	}
	h.Size = int64(r.out.Len() - before)
	r.used = append(r.used, h)
	return nil
}

func (r *resolver) write(h Handle, types []string) error {
	o, err := r.open(h.ID)
	if err != nil {
		return err
	}
	defer o.Close()
	room := maxResolved - int64(r.out.Len()) - int64(len(r.args)-r.copied)
	if f := o.Meta.Format; h.Path == "" && (!f.IsJSON() || wantsText(types, o.rootKind())) {
		return o.writeText(&r.out, room)
	}
	if h.Path == "" {
		h.Path = "$"
	}
	start := r.out.Len()
	if err := o.writeValue(r.ctx, &r.out, h.Path, room); err != nil {
		return err
	}
	if value := r.out.Bytes()[start:]; wantsText(types, jsonpath.KindOf(value[0])) {
		if int64(len(value)) > room/2 {
			return tooLarge(int64(len(value)), room/2)
		}
		quoted := jsonpath.AppendString(nil, string(value))
		r.out.Truncate(start)
		r.out.Write(quoted)
	}
	return nil
}

// rootKind is the kind of the value that all of the output is.
func (o *Output) rootKind() jsonpath.Kind {
	if s := o.shape(); s != nil && s.total() > 0 {
		return s.kinds()[0]
	}
	return jsonpath.Nothing
}

func tooLarge(size, room int64) error {
	return fmt.Errorf("it stands for %s, and arguments may have %s in all: choose a path to a smaller part", text.Size(size), text.Size(min(room, maxResolved)))
}

// writeText writes the whole output as a JSON string.
func (o *Output) writeText(out *bytes.Buffer, room int64) error {
	if o.Meta.Format == Binary {
		return errors.New("the output is binary and cannot be an argument")
	}
	if o.size > room/2 { // a line break takes two bytes as JSON
		return tooLarge(o.size, room/2)
	}
	all, err := o.all()
	if err != nil {
		return err
	}
	quoted := jsonpath.AppendString(nil, string(all))
	if int64(len(quoted)) > room {
		return tooLarge(int64(len(quoted)), room)
	}
	out.Write(quoted)
	return nil
}

// writeValue writes what a path selects.
func (o *Output) writeValue(ctx context.Context, out *bytes.Buffer, path string, room int64) error {
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
	err = o.each(ctx, p, jsonpath.Options{MaxRaw: smallValue}, func(m jsonpath.Match) bool {
		if p.Singular() {
			out.Truncate(start) // of members with one name the last counts
		} else if n > 0 {
			out.WriteByte(',')
		}
		n++
		if size := m.Size + int64(out.Len()-start); size > room {
			failed = tooLarge(size, room)
			return false
		}
		failed = o.open(m, func(r io.Reader) error {
			from := out.Len()
			_, err := out.ReadFrom(r)
			if part := out.Bytes()[from:]; !utf8.Valid(part) {
				fixed := bytes.ToValidUTF8(part, []byte("\uFFFD"))
				out.Truncate(from)
				out.Write(fixed)
			}
			return err
		})
		return failed == nil
	})
	switch err = errors.Join(failed, err); {
	case err != nil:
		return err
	case !p.Singular():
		out.WriteByte(']')
	case n == 0:
		return errors.New(o.missing(p, path+" of output "+string(o.ID)))
	}
	return nil
}
