package output

import (
	"bytes"
	"context"
	"errors"
	"io"

	"pawl/internal/text"
	"pawl/output/jsonpath"
)

// StatsArgs are the arguments of tool_outputs.stats.
type StatsArgs struct {
	Target
	IncludeSchema bool `json:"include_schema"`
	MaxDepth      int  `json:"max_depth"` // of what is listed; figures are of everything
	// SampleArrays allows a description of arrays by their first elements. It makes no
	// difference: all figures are exact.
	SampleArrays bool  `json:"sample_arrays"`
	Paths        Paths `json:"paths"` // describe only what these select
}

func (a *StatsArgs) defaults() { a.MaxDepth, a.SampleArrays = 5, true }

func (a *StatsArgs) check() error {
	return errors.Join(between("max_depth", a.MaxDepth, 1, 10), a.Paths.check())
}

// StatsResult is the result of tool_outputs.stats.
type StatsResult struct {
	Target
	Size           Size            `json:"size"`
	Format         Format          `json:"format"`
	Structure      Structure       `json:"structure"`
	Types          ordered[int64]  `json:"types,omitempty"` // how many values there are of each kind
	Arrays         []ArrayFigures  `json:"arrays,omitempty"`
	ArraysOmitted  int             `json:"arrays_omitted,omitempty"`
	Objects        []ObjectFigures `json:"objects,omitempty"`
	ObjectsOmitted int             `json:"objects_omitted,omitempty"`
	Schema         *schema         `json:"schema,omitempty"`
	MissingPaths   []string        `json:"missing_paths,omitempty"`
	Hints          []string        `json:"hints,omitempty"`
	// Of a text that is not JSON:
	Lines       int64 `json:"lines,omitempty"`
	LongestLine int64 `json:"longest_line,omitempty"` // characters

	room budget // for what is listed
}

// Size is how large an output is.
type Size struct {
	Bytes      int64  `json:"bytes"`
	Characters int64  `json:"characters"`
	Formatted  string `json:"formatted"` // for people: 40.2 MB
}

// Structure is what a document is made of.
type Structure struct {
	RootType    string `json:"root_type"`
	MaxDepth    int    `json:"max_depth"` // 1 for a scalar
	TotalKeys   int64  `json:"total_keys"`
	TotalValues int64  `json:"total_values"` // arrays and objects are values too
}

// ObjectFigures are the figures of the objects at one path.
type ObjectFigures struct {
	Path        string   `json:"path"`
	Keys        []string `json:"keys,omitempty"` // the different names
	KeysOmitted int64    `json:"keys_omitted,omitempty"`
	Objects     int64    `json:"objects,omitempty"` // how many, if more than one
	// Map says that there are too many names to tell apart; KeysOmitted counts them.
	Map bool `json:"map,omitempty"`
}

const (
	statsPaths = 100 // arrays, and objects, that are listed
	statsKeys  = 50  // names that are listed of an object
)

// Stats answers tool_outputs.stats: from the index, or by reading the document once.
func (d *Document) Stats(ctx context.Context, args StatsArgs) (StatsResult, error) {
	r := StatsResult{Target: args.Target, Format: d.format, room: budget{room: maxResult}}
	_, err := d.source()
	switch {
	case errors.As(err, new(notJSONError)) && len(args.Paths) == 0:
		r.Hints = append(r.Hints, err.Error())
		err = d.textStats(ctx, &r)
	case err != nil:
	case len(args.Paths) == 0:
		err = d.wholeStats(ctx, args, &r)
	default:
		err = d.partStats(ctx, args, &r)
	}
	return r, d.explain("stats", err)
}

// figures returns what is known of the document as a text.
func (d *Document) figures(ctx context.Context) (*textFigures, error) {
	if d.text != nil {
		return d.text, nil
	}
	t := textReader{ctx: ctx}
	_, err := io.Copy(&t, d.Reader())
	f := t.finish()
	return &f, err
}

// textStats says what there is to say of a text.
func (d *Document) textStats(ctx context.Context, r *StatsResult) error {
	t, err := d.figures(ctx)
	if err != nil {
		return err
	}
	r.Size = Size{d.size, t.Characters, text.Size(d.size)}
	r.Structure.RootType = string(d.format)
	r.Lines, r.LongestLine = t.Lines, t.Longest
	return nil
}

func (d *Document) wholeStats(ctx context.Context, args StatsArgs, r *StatsResult) error {
	a, in := d.analysis, &charCounter{r: d.Reader()}
	if d.text != nil {
		in.n = d.text.Characters
	}
	if a == nil {
		var from io.Reader = in // JSON Lines are walked as they are
		switch d.format {
		case CSV:
			from = newCSV(in)
		case YAML:
			if _, err := io.Copy(io.Discard, in); err != nil { // to count
				return err
			}
			from = bytes.NewReader(d.yaml)
		}
		var err error
		if a, err = analyze(ctx, from); err != nil {
			return err
		}
	}
	r.Size = Size{d.size, in.n, text.Size(d.size)}
	r.totals(a.Figures)
	r.Structure.RootType = a.Shape.what()
	r.list(a.Shape, "$", args)
	return nil
}

// A charCounter counts the characters that pass.
type charCounter struct {
	r io.Reader
	n int64
}

func (c *charCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += countChars(p[:n])
	return n, err
}

// partStats describes what paths select, all together; size is that of the values.
func (d *Document) partStats(ctx context.Context, args StatsArgs, r *StatsResult) error {
	var all totals
	roots := &shape{}
	for _, path := range args.Paths {
		p, err := d.parse(path)
		if err != nil {
			return err
		}
		b := newBuilder()
		var failed error
		err = d.each(ctx, p, jsonpath.Options{MaxRaw: smallValue, AnyOrder: true}, func(m jsonpath.Match) bool {
			failed = d.open(m, func(value io.Reader) error {
				in := &charCounter{r: value}
				_, err := jsonpath.Walk(ctx, in, b)
				r.Size.Characters += in.n
				return err
			})
			r.Size.Bytes += m.Size
			return failed == nil
		})
		if err = errors.Join(failed, err); err != nil {
			return err
		}
		s := b.root.Element
		if s == nil {
			r.MissingPaths = append(r.MissingPaths, path)
			if d.shape().nearest(p) != "" {
				r.Hints = append(r.Hints, d.missing(p, path))
			}
			continue
		}
		for k, n := range b.totals.Kinds {
			all.Kinds[k] += n
			roots.Kinds[k] += s.Kinds[k]
		}
		all.Keys, all.Values = all.Keys+b.totals.Keys, all.Values+b.totals.Values
		all.Depth = max(all.Depth, b.totals.Depth)
		r.list(s, p.String(), args)
	}
	r.Size.Formatted = text.Size(r.Size.Bytes)
	r.totals(all)
	r.Structure.RootType = roots.what()
	return nil
}

func (r *StatsResult) totals(t totals) {
	r.Structure.MaxDepth, r.Structure.TotalKeys, r.Structure.TotalValues = t.Depth, t.Keys, t.Values
	r.Types = nil
	for _, k := range []jsonpath.Kind{jsonpath.Object, jsonpath.Array, jsonpath.String, jsonpath.Number, jsonpath.Bool, jsonpath.Null} {
		r.Types = append(r.Types, member[int64]{k.String(), t.Kinds.of(k)})
	}
}

// list lists the arrays and objects of a shape down to the depth that was asked for.
func (r *StatsResult) list(root *shape, path string, args StatsArgs) {
	root.walk(path, 1, func(path string, depth int, s *shape) {
		if depth > args.MaxDepth {
			return
		}
		if s.Kinds.of(jsonpath.Array) > 0 {
			if a := s.array(path); len(r.Arrays) < statsPaths && len(path) <= longPath && r.room.take(jsonChars(a)) {
				r.Arrays = append(r.Arrays, a)
			} else {
				r.ArraysOmitted++
			}
		}
		if s.Kinds.of(jsonpath.Object) > 0 {
			if o := s.object(path); len(r.Objects) < statsPaths && len(path) <= longPath && r.room.take(jsonChars(o)) {
				r.Objects = append(r.Objects, o)
			} else {
				r.ObjectsOmitted++
			}
		}
	})
	if !args.IncludeSchema {
		return
	}
	next := &schema{Comment: "too large to show"}
	for depth := args.MaxDepth; depth > 0; depth-- {
		if s := root.schema(depth, new(int)); r.room.take(jsonChars(s)) {
			next = s
			break
		}
	}
	switch {
	case r.Schema == nil:
		r.Schema = next
	case r.Schema.AnyOf != nil:
		r.Schema.AnyOf = append(r.Schema.AnyOf, next)
	default:
		r.Schema = &schema{AnyOf: []*schema{r.Schema, next}}
	}
}

func (s *shape) object(path string) ObjectFigures {
	o := ObjectFigures{Path: path}
	if n := s.Kinds.of(jsonpath.Object); n > 1 {
		o.Objects = n
	}
	if s.Any != nil {
		o.Map, o.KeysOmitted = true, s.Members
		return o
	}
	for _, n := range s.Names[:min(len(s.Names), statsKeys)] {
		o.Keys = append(o.Keys, text.Clip(n.Name, 80))
	}
	o.KeysOmitted = int64(len(s.Names) - len(o.Keys))
	return o
}

// A schema is a JSON Schema (draft 2020-12) of what was seen: types, members, and which
// of them every object has.
type schema struct {
	Type       any              `json:"type,omitempty"` // a name or several
	Properties ordered[*schema] `json:"properties,omitempty"`
	Required   []string         `json:"required,omitempty"`
	Additional *schema          `json:"additionalProperties,omitempty"` // of a map
	Items      *schema          `json:"items,omitempty"`
	AnyOf      []*schema        `json:"anyOf,omitempty"` // of several paths
	Comment    string           `json:"$comment,omitempty"`
}

// schema makes the schema of a shape; parts counts those that it has.
func (s *shape) schema(depth int, parts *int) *schema {
	const most = 300 // parts of one schema: a few hundred characters each at most
	*parts++
	out := &schema{}
	var types []string
	for _, k := range s.kinds() {
		types = append(types, k.String())
	}
	switch len(types) {
	case 0:
	case 1:
		out.Type = types[0]
	default:
		out.Type = types
	}
	for _, n := range s.Names {
		if depth <= 1 || *parts >= most {
			out.Comment = "not all that is below is shown"
			return out
		}
		out.Properties = append(out.Properties, member[*schema]{n.Name, n.Shape.schema(depth-1, parts)})
		if n.Shape.total() == s.Kinds.of(jsonpath.Object) {
			out.Required = append(out.Required, n.Name)
		}
	}
	switch {
	case s.Any == nil && s.Element == nil:
	case depth <= 1 || *parts >= most:
		out.Comment = "not all that is below is shown"
	default:
		if s.Any != nil {
			out.Additional = s.Any.schema(depth-1, parts)
		}
		if s.Element != nil {
			out.Items = s.Element.schema(depth-1, parts)
		}
	}
	return out
}
