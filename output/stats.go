package output

import (
	"bytes"
	"context"
	"errors"
	"io"

	"pawl/output/jsonpath"
)

// StatsArgs are the arguments of tool_outputs.stats.
type StatsArgs struct {
	Target
	IncludeSchema bool `json:"include_schema"`
	MaxDepth      int  `json:"max_depth"` // of what is listed; figures are of everything
	// SampleArrays lets an output without an index be described from the first 1,000
	// elements of each array: what depends on the others says that it is estimated.
	// Lengths and the numbers of values are exact in any case, and so is everything of
	// an output with an index.
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
	Types          *Types          `json:"types,omitempty"`
	Arrays         []ArrayFigures  `json:"arrays,omitempty"`
	ArraysOmitted  int             `json:"arrays_omitted,omitempty"`
	Objects        []ObjectFigures `json:"objects,omitempty"`
	ObjectsOmitted int             `json:"objects_omitted,omitempty"`
	Schema         *schema         `json:"schema,omitempty"`
	MissingPaths   []string        `json:"missing_paths,omitempty"`
	Hints          []string        `json:"hints,omitempty"`
	// Estimated says that arrays, objects and schema are of the first elements.
	Estimated bool `json:"estimated,omitempty"`
	// Of a text that is not JSON:
	Lines       int64 `json:"lines,omitempty"`
	LongestLine int64 `json:"longest_line,omitempty"` // characters

	used int // characters of what is listed
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

// Types is how many values there are of each kind.
type Types struct {
	Object  int64 `json:"object"`
	Array   int64 `json:"array"`
	String  int64 `json:"string"`
	Number  int64 `json:"number"`
	Boolean int64 `json:"boolean"`
	Null    int64 `json:"null"`
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
	r := StatsResult{Target: args.Target, Format: d.format}
	err := d.prepare()
	var other *NotJSONError
	if errors.As(err, &other) && len(args.Paths) == 0 {
		return r, d.explain("stats", d.textStats(ctx, &r))
	}
	if err != nil {
		return r, d.explain("stats", err)
	}
	if len(args.Paths) == 0 {
		err = d.wholeStats(ctx, args, &r)
	} else {
		err = d.partStats(ctx, args, &r)
	}
	return r, d.explain("stats", err)
}

// textStats says what there is to say of a text.
func (d *Document) textStats(ctx context.Context, r *StatsResult) error {
	t := d.text
	if t == nil {
		f, err := readText(ctx, io.NewSectionReader(d.raw, 0, d.size))
		if err != nil {
			return err
		}
		t = &f
	}
	r.size(d.size, t.Characters)
	r.Structure.RootType = string(d.format)
	r.Lines, r.LongestLine = t.Lines, t.Longest
	r.Hints = append(r.Hints, (&NotJSONError{d.Name, d.format, d.problem}).Error())
	return nil
}

func readText(ctx context.Context, r io.Reader) (textFigures, error) {
	var t textReader
	buf := make([]byte, walkWindow)
	for {
		n, err := r.Read(buf)
		t.add(buf[:n])
		if err == io.EOF {
			return t.finish(), nil
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return textFigures{}, err
		}
	}
}

func (r *StatsResult) size(bytes, characters int64) {
	r.Size = Size{bytes, characters, byteSize(bytes)}
}

func (d *Document) wholeStats(ctx context.Context, args StatsArgs, r *StatsResult) error {
	a, characters := d.analysis, int64(0)
	if d.text != nil {
		characters = d.text.Characters
	}
	if a == nil {
		// JSON Lines are read as they are, which is faster than as an array.
		in := &charCounter{r: io.NewSectionReader(d.raw, 0, d.size)}
		reader := io.Reader(in)
		switch d.format {
		case CSV:
			reader = newCSV(in)
		case YAML:
			if _, err := readText(ctx, in); err != nil { // to count
				return err
			}
			reader = io.NewSectionReader(d.view.at, 0, d.view.size)
		}
		var err error
		if a, err = analyze(ctx, reader, &builder{sample: args.SampleArrays}); err != nil {
			return err
		}
		characters = in.n
	}
	r.size(d.size, characters)
	r.figures(a.Figures)
	r.Structure.RootType = a.Shape.what()
	r.list(a.Shape, "$", args)
	return nil
}

// charCounter counts the characters that pass.
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
	var bytes, characters int64
	var all totals
	roots := &shape{}
	for _, text := range args.Paths {
		p, err := d.parse(text)
		if err != nil {
			return err
		}
		part, err := d.part(ctx, p, args.SampleArrays)
		if err != nil {
			return err
		}
		if part.shape == nil {
			r.MissingPaths = append(r.MissingPaths, text)
			r.hint(d, p, text)
			continue
		}
		bytes, characters = bytes+part.bytes, characters+part.characters
		for k, n := range part.totals.Kinds {
			all.Kinds[k] += n
			roots.Kinds[k] += part.shape.Kinds[k]
		}
		all.Keys += part.totals.Keys
		all.Values += part.totals.Values
		all.Depth = max(all.Depth, part.totals.Depth)
		r.list(part.shape, p.String(), args)
	}
	r.size(bytes, characters)
	r.figures(all)
	r.Structure.RootType = roots.what()
	return nil
}

// hint adds what is near a path that selects nothing.
func (r *StatsResult) hint(d *Document, p *jsonpath.Path, text string) {
	if s := d.shape(); s != nil {
		if near := s.nearest(p); near != "" {
			r.Hints = append(r.Hints, "nothing is at "+text+": "+near)
		}
	}
}

// part is what a path selects, seen as one.
type part struct {
	shape             *shape // nil: nothing
	totals            totals
	bytes, characters int64
}

// part reads what a path selects.
func (d *Document) part(ctx context.Context, p *jsonpath.Path, sample bool) (part, error) {
	b := &builder{sample: sample}
	b.stack = append(b.stack, level{shape: &b.root})
	var out part
	var failed error
	err := d.each(ctx, query{path: p, most: d.wants()}, func(n node) bool {
		in := &charCounter{r: bytes.NewReader(n.raw)}
		if n.raw == nil {
			in.r = io.NewSectionReader(d.view.at, n.from, n.size)
		}
		_, failed = newWalker(ctx, in).next(b)
		out.bytes += n.size
		out.characters += in.n
		return failed == nil
	})
	out.shape, out.totals = b.root.Element, b.totals
	return out, errors.Join(failed, err)
}

// wants is up to which size nodes have to come with their text, because they cannot be
// read again.
func (d *Document) wants() int64 {
	if d.view.at == nil {
		return memory
	}
	return walkWindow / 4
}

func (r *StatsResult) figures(t totals) {
	r.Structure.MaxDepth, r.Structure.TotalKeys, r.Structure.TotalValues = t.Depth, t.Keys, t.Values
	r.Types = &Types{
		Object: t.Kinds[isObject], Array: t.Kinds[isArray], String: t.Kinds[isString],
		Number: t.Kinds[isNumber], Boolean: t.Kinds[isBool], Null: t.Kinds[isNull],
	}
}

// list lists the arrays and objects of a shape down to the depth that was asked for.
func (r *StatsResult) list(root *shape, path string, args StatsArgs) {
	root.walk(path, 1, func(path string, depth int, s *shape) bool {
		r.Estimated = r.Estimated || s.Sampled
		if depth > args.MaxDepth {
			return true
		}
		if s.Kinds[isArray] > 0 {
			if a := s.array(path); len(r.Arrays) < statsPaths && len(path) <= longPath && r.takes(a) {
				r.Arrays = append(r.Arrays, a)
			} else {
				r.ArraysOmitted++
			}
		}
		if s.Kinds[isObject] > 0 {
			if o := s.object(path); len(r.Objects) < statsPaths && len(path) <= longPath && r.takes(o) {
				r.Objects = append(r.Objects, o)
			} else {
				r.ObjectsOmitted++
			}
		}
		return true
	})
	if !args.IncludeSchema {
		return
	}
	var next *schema
	for depth := args.MaxDepth; depth > 0; depth-- {
		if next = root.schema(depth, new(int)); r.takes(next) {
			break
		}
		next = &schema{Comment: "too large to show"}
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

// takes takes room for a part of the result, if there is as much.
func (r *StatsResult) takes(part any) bool {
	n := jsonChars(part) + 1
	if r.used+n > maxResult {
		return false
	}
	r.used += n
	return true
}

func (s *shape) object(path string) ObjectFigures {
	o := ObjectFigures{Path: path}
	if n := s.Kinds[isObject]; n > 1 {
		o.Objects = n
	}
	if s.Any != nil {
		o.Map, o.KeysOmitted = true, s.Members
		return o
	}
	for _, n := range s.Names[:min(len(s.Names), statsKeys)] {
		o.Keys = append(o.Keys, shorten(n.Name, 80))
	}
	o.KeysOmitted = int64(len(s.Names) - len(o.Keys))
	return o
}
