package output

import (
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"pawl/output/jsonpath"
)

// An analysis is what reading a document once has taught.
type analysis struct {
	Shape   *shape `json:"shape"`
	Figures totals `json:"totals"`
	Marks   marks  `json:"marks"`
	Lines   bool   `json:"lines,omitempty"` // JSON Lines: read as one array of all values
	skel    *skeleton
}

// totals are exact, also where shapes are cut.
type totals struct {
	Kinds  [kinds]int64 `json:"kinds"`
	Keys   int64        `json:"keys"`
	Values int64        `json:"values"`
	Depth  int          `json:"depth"` // 1 for a scalar
}

// sampleElements is how many elements of an array are looked into when that is asked for
// and there is no index: see Stats.
const sampleElements = 1000

// A builder makes an analysis of what a walker tells it.
type builder struct {
	sample bool // look into the first sampleElements of an array only
	marked bool // make marks

	root   shape // as if the document was an array of all values of the text
	stack  []level
	shapes int // made so far
	totals totals
	places []found
	lines  []mark // where values of the text begin
	values int64  // complete
	begun  int64

	skeleton *skeleton
	skelSize int
}

// A level is an array or object that is open.
type level struct {
	shape    *shape // nil: not looked into
	child    *shape // of the member that comes next
	object   bool
	n        int64
	offset   int64
	skeleton *skeleton // nil: not kept

	// Where its children begin, to become a place. Names are in one slice because
	// most of them are thrown away again.
	marking  bool
	every    []mark
	names    []byte
	nameEnds []int
	offsets  []int64
}

// found is a place whose path is known but for which value of the text it is in.
type found struct {
	place
	value int64
}

// analyze reads all values of a text. If the text is not JSON, err says where, and the
// analysis is of what was before.
func analyze(ctx context.Context, r io.Reader, b *builder) (*analysis, error) {
	w := newWalker(ctx, r)
	w.begin()
	b.stack = append(b.stack[:0], level{shape: &b.root, marking: b.marked})
	b.skeleton = &skeleton{Kind: isArray}
	b.stack[0].skeleton = b.skeleton
	var err error
	broken := false // a value had a line break in it
	for {
		w.lines = false
		if w.blanks(); w.pos == w.end {
			if !w.atEnd() {
				err = w.err
			} else if b.values == 0 {
				err = w.fail("a value")
			}
			break
		}
		if b.values > 0 && (!w.lines || broken) {
			err = &severalError{w.offset()}
			break
		}
		b.startValue(w.offset())
		b.begun++
		w.lines = false
		if _, err = w.next(b); err != nil {
			break
		}
		b.values++
		broken = broken || w.lines
	}
	return b.finish(w), err
}

// brokenFrom is how many values of JSON a text has to begin with for it to be worth a
// word that it is not JSON: a line of a log may begin with [ or a number as well.
const brokenFrom = 4

// problem says why a text is not JSON, if it looks as if it was meant to be.
func (a *analysis) problem(err error) string {
	if a.Figures.Values < brokenFrom {
		return ""
	}
	return err.Error()
}

// severalError is for a text of several values that are not one to a line.
type severalError struct{ offset int64 }

func (e *severalError) Error() string {
	return "not JSON: a second value follows the first at byte " + thousands(e.offset) + ", and they are not one to a line as in JSON Lines"
}

func (b *builder) startValue(offset int64) {
	const most = 1 << 16 // marks of lines, for a text of 4 GB
	if n := len(b.lines); b.marked && n < most && (n == 0 || offset-b.lines[n-1].Offset >= markEvery) {
		b.lines = append(b.lines, mark{b.values, offset})
	}
}

func (b *builder) finish(w *walker) *analysis {
	a := &analysis{Lines: b.begun > 1, Figures: b.totals}
	root, top := &b.root, b.skeleton
	for i := range b.stack { // what was open when the document ended
		if s := b.stack[i].skeleton; s != nil {
			s.Total = max(s.Total, b.stack[i].n)
			s.open = i > 0
		}
	}
	if a.Lines {
		root.Kinds[isArray] = 1
		root.Elements, root.Shortest, root.Longest = b.values, b.values, b.values
		a.Figures.Kinds[isArray]++
		a.Figures.Values++
		a.Figures.Depth++
		a.Shape, a.skel = root, top
		if b.marked && w.offset() >= placeSize {
			a.Marks.Places = append(a.Marks.Places, place{Path: "$", Offset: 0, End: w.offset() + 2, Len: b.values, Every: shifted(b.lines)})
		}
	} else {
		a.Shape = root.Element
		if len(top.Items) > 0 {
			a.skel = top.Items[0]
		}
	}
	for _, f := range b.places {
		p := f.place
		if a.Lines {
			// Seen as one array, a bracket stands before everything.
			p.Path = "$" + indexStep(f.value) + p.Path
			p.Offset++
			p.End++
			p.Every = shifted(p.Every)
			for i := range p.Names {
				p.Names[i].Offset++
			}
		} else {
			p.Path = "$" + p.Path
		}
		a.Marks.Places = append(a.Marks.Places, p)
	}
	return a
}

func shifted(all []mark) []mark {
	for i := range all {
		all[i].Offset++
	}
	return all
}

// take returns the shape for the value that comes next, nil if it gets none, and tells
// its parent of it.
func (b *builder) take(k kind, offset int64) *shape {
	b.totals.Kinds[k]++
	b.totals.Values++
	b.totals.Depth = max(b.totals.Depth, len(b.stack))
	l := &b.stack[len(b.stack)-1]
	l.n++
	if l.marking {
		b.mark(l, offset)
	}
	s := l.child
	if !l.object {
		if l.shape == nil {
			return nil
		}
		if b.sample && l.n > sampleElements && len(b.stack) > 1 {
			l.shape.Sampled = true
			return nil
		}
		if s = l.shape.Element; s == nil {
			if s = b.newShape(l.shape); s == nil {
				return nil
			}
			l.shape.Element = s
		}
	}
	if s != nil {
		s.Kinds[k]++
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

func (b *builder) mark(l *level, offset int64) {
	if l.object {
		if len(l.offsets) < maxMarked {
			l.offsets = append(l.offsets, offset)
		}
	} else if n := len(l.every); n == 0 || offset-l.every[n-1].Offset >= markEvery {
		l.every = append(l.every, mark{l.n - 1, offset})
	}
}

func (b *builder) open(object bool, offset int64) {
	k := isArray
	if object {
		k = isObject
	}
	s := b.take(k, offset)
	parent := &b.stack[len(b.stack)-1]
	sk := b.keep(parent, k)
	marking := parent.marking && len(b.stack) <= placeDepth && (parent.object || len(b.stack) == 1 || parent.n <= markedParents)
	if len(b.stack) < cap(b.stack) {
		b.stack = b.stack[:len(b.stack)+1] // its slices are used again
	} else {
		b.stack = append(b.stack, level{})
	}
	l := &b.stack[len(b.stack)-1]
	l.shape, l.child, l.object, l.n, l.offset, l.skeleton, l.marking = s, nil, object, 0, offset, sk, marking
	l.every, l.names, l.nameEnds, l.offsets = l.every[:0], l.names[:0], l.nameEnds[:0], l.offsets[:0]
}

func (b *builder) name(raw []byte, escaped bool) {
	b.totals.Keys++
	l := &b.stack[len(b.stack)-1]
	if l.marking && len(l.nameEnds) < maxMarked {
		if escaped || !utf8.Valid(raw) {
			l.names = append(l.names, plainName(raw, escaped)...)
		} else {
			l.names = append(l.names, raw...)
		}
		l.nameEnds = append(l.nameEnds, len(l.names))
	}
	if l.skeleton != nil && b.hasRoom() && len(l.skeleton.Names) < skeletonMembers && len(l.skeleton.Names) == len(l.skeleton.Items) {
		name := plainName(raw, escaped)
		l.skeleton.Names = append(l.skeleton.Names, firstChars(name, skeletonText))
		b.skelSize += min(len(name), skeletonText)
	}
	if s := l.shape; s != nil {
		l.child = b.member(s, raw, escaped)
	}
}

// member returns the shape for a member of an object, nil if it gets none.
func (b *builder) member(s *shape, raw []byte, escaped bool) *shape {
	if s.Any != nil {
		return s.Any
	}
	if !escaped { // mostly the names come in the same order as last time
		if i := s.hint; i < len(s.Names) && string(raw) == s.Names[i].Name {
			if s.hint++; s.hint == len(s.Names) {
				s.hint = 0
			}
			return s.Names[i].Shape
		}
	}
	name := plainName(raw, escaped)
	i := -1
	if s.byName != nil {
		if at, ok := s.byName[name]; ok {
			i = at
		}
	} else {
		for k := range s.Names {
			if s.Names[k].Name == name {
				i = k
				break
			}
		}
	}
	if i >= 0 {
		if s.hint = i + 1; s.hint == len(s.Names) {
			s.hint = 0
		}
		return s.Names[i].Shape
	}
	if len(s.Names) == maxNames {
		s.becomeMap()
		return s.Any
	}
	c := b.newShape(s)
	if c != nil {
		s.add(strings.Clone(name), c)
	}
	return c
}

func (b *builder) scalar(k kind, raw []byte, offset int64) {
	b.take(k, offset)
	l := &b.stack[len(b.stack)-1]
	if l.skeleton == nil {
		return
	}
	if sk := b.keep(l, k); sk != nil {
		sk.set(raw)
		b.skelSize += len(sk.Text)
	}
}

func (b *builder) close(offset int64) {
	top := len(b.stack) - 1
	l := &b.stack[top]
	if s := l.shape; s != nil {
		if l.object {
			s.Members += l.n
		} else {
			if s.Kinds[isArray] == 1 || l.n < s.Shortest {
				s.Shortest = l.n
			}
			s.Elements += l.n
			s.Longest = max(s.Longest, l.n)
		}
	}
	if l.skeleton != nil {
		l.skeleton.Total = l.n
	}
	if l.marking && offset-l.offset >= placeSize && len(b.places) < maxPlaces {
		b.addPlace(l, offset)
	}
	b.stack = b.stack[:top]
}

func (b *builder) addPlace(l *level, end int64) {
	p := place{Object: l.object, Offset: l.offset, End: end, Len: l.n}
	for i := 1; i < len(b.stack)-1; i++ { // those it stands in, below the text itself
		step, ok := b.stack[i].step()
		if !ok {
			return
		}
		p.Path += step
	}
	if l.object && len(l.offsets) == int(l.n) {
		from := 0
		for i, to := range l.nameEnds {
			p.Names = append(p.Names, whereabout{string(l.names[from:to]), l.offsets[i]})
			from = to
		}
	}
	if !l.object {
		p.Every = append([]mark(nil), l.every...)
	}
	b.places = append(b.places, found{p, b.values})
}

// step returns the step to the child of l that is open, normalized, if that is known.
func (l *level) step() (string, bool) {
	if !l.object {
		return indexStep(l.n - 1), true
	}
	k := len(l.nameEnds) - 1
	if int64(k) != l.n-1 {
		return "", false // it has more than maxMarked members
	}
	from := 0
	if k > 0 {
		from = l.nameEnds[k-1]
	}
	return "[" + quoteName(string(l.names[from:l.nameEnds[k]])) + "]", true
}

// isNotJSON reports whether an error says that the text is not JSON, rather than that
// it could not be read.
func isNotJSON(err error) bool {
	var several *severalError
	var document *jsonpath.DocumentError
	return errors.As(err, &several) || errors.As(err, &document)
}
