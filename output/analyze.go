package output

import (
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"pawl/internal/text"
	"pawl/output/jsonpath"
)

// A kindCounts is a number of values by kind. On disk they are in the order of the kinds.
type kindCounts [jsonpath.Object]int64

func (c *kindCounts) of(k jsonpath.Kind) int64     { return c[k-1] }
func (c *kindCounts) add(k jsonpath.Kind, n int64) { c[k-1] += n }

// An analysis is what one reading of a document has found.
type analysis struct {
	Shape   *shape `json:"shape"`
	Figures totals `json:"totals"`
	Lines   bool   `json:"lines,omitempty"` // JSON Lines: an array of all values
	skel    *skeleton
}

// totals are exact, also where shapes are cut.
type totals struct {
	Kinds  kindCounts `json:"kinds"`
	Keys   int64      `json:"keys"`
	Values int64      `json:"values"`
	Depth  int        `json:"depth"` // 1 for a scalar
}

// A builder is a [jsonpath.Visitor] that makes an analysis.
type builder struct {
	root   shape // as if the text was an array of all its values
	stack  []level
	shapes int // made so far
	totals totals
	skel   *skeleton
	size   int // of the skeleton, in bytes
}

// A level is an array or object that is open.
type level struct {
	shape    *shape // nil: has no shape
	child    *shape // of the member that comes next
	object   bool
	n        int64     // children so far
	skeleton *skeleton // nil: has none
}

func newBuilder() *builder {
	b := &builder{skel: &skeleton{Kind: diskKind(jsonpath.Array)}}
	b.stack = []level{{shape: &b.root, skeleton: b.skel}}
	return b
}

// analyze reads all values of a text. If it is not JSON, err says where, and the analysis
// is of what was before.
func analyze(ctx context.Context, r io.Reader) (*analysis, error) {
	b := newBuilder()
	w, err := jsonpath.Walk(ctx, r, b)
	a := &analysis{Lines: w.Begun > 1, Figures: b.totals, Shape: b.root.Element}
	for i := range b.stack { // what was open when the text ended
		if s := b.stack[i].skeleton; s != nil {
			s.Total = max(s.Total, b.stack[i].n)
			s.open = i > 0
		}
	}
	if a.Lines {
		b.root.Kinds.add(jsonpath.Array, 1)
		b.root.Elements, b.root.Shortest, b.root.Longest = w.Values, w.Values, w.Values
		a.Figures.Kinds.add(jsonpath.Array, 1)
		a.Figures.Values++
		a.Figures.Depth++
		a.Shape, a.skel = &b.root, b.skel
	} else if len(b.skel.Items) > 0 {
		a.skel = b.skel.Items[0]
	}
	return a, err
}

// problem says why a text is not JSON, if it looks as if it was meant to be: a line of a
// log may begin with [ or a number as well.
func (a *analysis) problem(err error) string {
	const enough = 4 // values
	if a.Figures.Values < enough {
		return ""
	}
	return err.Error()
}

// isNotJSON reports whether an error says that a text is not JSON, rather than that it
// could not be read.
func isNotJSON(err error) bool {
	_, ok := errors.AsType[*jsonpath.DocumentError](err)
	return ok
}

// count counts the value that comes next, and returns its shape, nil if it gets none.
func (b *builder) count(k jsonpath.Kind) *shape {
	b.totals.Kinds.add(k, 1)
	b.totals.Values++
	b.totals.Depth = max(b.totals.Depth, len(b.stack))
	l := &b.stack[len(b.stack)-1]
	l.n++
	s := l.child
	if !l.object && l.shape != nil {
		if l.shape.Element == nil {
			l.shape.Element = b.newShape(l.shape)
		}
		s = l.shape.Element
	}
	if s != nil {
		s.Kinds.add(k, 1)
	}
	return s
}

func (b *builder) newShape(parent *shape) *shape {
	if b.shapes >= maxShapes || len(b.stack) > maxShapeDepth {
		parent.Cut = true
		return nil
	}
	b.shapes++
	return &shape{}
}

// Open is called at the beginning of an array or object.
func (b *builder) Open(object bool, _ int64) {
	k := jsonpath.Array
	if object {
		k = jsonpath.Object
	}
	s := b.count(k)
	b.stack = append(b.stack, level{shape: s, object: object, skeleton: b.keep(k)})
}

// Name is called with a member's name.
func (b *builder) Name(raw []byte, escaped bool) {
	b.totals.Keys++
	l := &b.stack[len(b.stack)-1]
	if s := l.skeleton; s != nil && b.hasRoom() && len(s.Names) < skeletonMembers && len(s.Names) == len(s.Items) {
		name, _ := firstText(raw)
		s.Names = append(s.Names, name)
		b.size += len(name)
	}
	if l.child = nil; l.shape != nil {
		l.child = b.member(l.shape, raw, escaped)
	}
}

// member returns the shape for a member of an object, nil if it gets none.
func (b *builder) member(s *shape, raw []byte, escaped bool) *shape {
	if s.Any != nil {
		return s.Any
	}
	// Mostly the names come in the same order as last time.
	i := s.hint
	if escaped || i >= len(s.Names) || string(raw) != s.Names[i].Name {
		name := jsonpath.Unescape(raw)
		if i = s.index(name); i < 0 {
			if len(s.Names) == maxNames {
				s.becomeMap()
				return s.Any
			}
			c := b.newShape(s)
			if c != nil {
				s.add(string(name), c)
			}
			return c
		}
	}
	if s.hint = i + 1; s.hint == len(s.Names) {
		s.hint = 0
	}
	return s.Names[i].Shape
}

// Scalar is called with any other value.
func (b *builder) Scalar(k jsonpath.Kind, raw []byte, _ bool, _ int64) {
	b.count(k)
	if s := b.keep(k); s != nil {
		s.set(raw)
		b.size += len(s.Text)
	}
}

// Close is called at the end of an array or object.
func (b *builder) Close(int64) {
	top := len(b.stack) - 1
	l := &b.stack[top]
	if s := l.shape; s != nil && l.object {
		s.Members += l.n
	} else if s != nil {
		if s.Kinds.of(jsonpath.Array) == 1 || l.n < s.Shortest {
			s.Shortest = l.n
		}
		s.Elements += l.n
		s.Longest = max(s.Longest, l.n)
	}
	if l.skeleton != nil {
		l.skeleton.Total = l.n
	}
	b.stack = b.stack[:top]
}

// keep returns the skeleton for the child that comes next, nil if none is kept.
func (b *builder) keep(k jsonpath.Kind) *skeleton {
	l := &b.stack[len(b.stack)-1]
	s := l.skeleton
	if s == nil || len(b.stack) > skeletonDepth || !b.hasRoom() {
		return nil
	}
	if l.object && (len(s.Items) >= skeletonMembers || len(s.Names) != len(s.Items)+1) || !l.object && len(s.Items) >= skeletonItems {
		return nil
	}
	child := &skeleton{Kind: diskKind(k)}
	b.size += 8
	s.Items = append(s.Items, child)
	return child
}

// hasRoom reports whether the skeleton may get more at the depth where the builder is. The
// members of the root always may, however much was in the first of them.
func (b *builder) hasRoom() bool {
	switch len(b.stack) {
	case 1, 2:
		return true
	case 3:
		return b.size <= 2*skeletonSize
	}
	return b.size <= skeletonSize
}

// firstText returns the beginning of the text that stands between the quotes of a string,
// and whether it continues.
func firstText(raw []byte) (begin string, cut bool) {
	all := jsonpath.Unescape(raw)
	begin = text.First(string(all[:min(len(all), skeletonText*utf8.UTFMax)]), skeletonText)
	return begin, len(begin) < len(all)
}
