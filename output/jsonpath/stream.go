package jsonpath

import (
	"context"
	"errors"
	"math"
	"strconv"
)

// defaultLimit is [Options.Limit] if that is zero.
const defaultLimit = 16 << 20

// Options say how to stream. The zero Options are good for use.
type Options struct {
	// AnyOrder: matches come in the order in which they begin in the document, and not in
	// that of RFC 9535. The two differ only for paths with a descendant segment, with
	// several selectors in one bracket or with a negative step; those need several readings
	// in the order of the RFC, and one here.
	AnyOrder bool

	// Limit is the memory in bytes that may be used for one purpose: to keep what has to
	// be read twice, to hold a match, to decode what a filter looks at. Zero is
	// defaultLimit. What would need more ends in a [LimitError].
	Limit int64

	// Where, if set, keeps only the matches that pass it.
	Where *Filter

	// NoArrays ends the stream with [ErrArray] where an array would be a match.
	NoArrays bool

	// NoRaw leaves out [Match.Raw]: places only. Matches may then be of any size.
	NoRaw bool

	// MaxRaw, if not zero, leaves out Raw of matches of more bytes.
	MaxRaw int64

	// Pick are paths that are applied to each match, see [Match.Picked]. In them $ is the
	// match. Of a match no more is decoded than they ask for.
	Pick []*Path
}

// A Match is a node that a path selects. It and all that it gives are valid until the
// callback returns.
type Match struct {
	Raw    []byte // as written in the document; must not be changed
	Offset int64  // of its first byte in the document
	Size   int64  // bytes
	Kind   Kind
	stream *stream
	value  Value // as far as it is decoded, for Picked
}

// Picked calls found for each value that path i of [Options.Pick] selects of the match,
// until it returns false. The values are valid until the callback of the stream returns.
func (m Match) Picked(i int, found func(Value) bool) {
	f := &m.stream.picker
	f.env.root, f.env.absolute = m.value, nil
	f.segments, f.found = m.stream.opt.Pick[i].segments, found
	f.from(m.value, 0)
}

// PickedFirst returns the first value of [Match.Picked], or Nothing.
func (m Match) PickedFirst(i int) Value {
	m.stream.first = Value{}
	m.Picked(i, m.stream.keepFirst)
	return m.stream.first
}

// Path returns the place of the match.
func (m Match) Path() Normalized { return m.stream.normalized() }

// Stream calls found for each node that the path selects, until it returns false. A
// node that is selected more than once comes more than once.
//
// The error is a [*DocumentError], a [*LimitError], the cause of the context's end or
// what the source gives. Matches before it have been handed out, and are right.
func (p *Path) Stream(ctx context.Context, src Source, opt Options, found func(Match) bool) error {
	x := newStream(ctx, src, p, opt)
	x.found = found
	return x.run()
}

// Count returns how many nodes the path selects, as [Path.Stream] without making
// anything of them. Of the options only Limit and Where matter.
func (p *Path) Count(ctx context.Context, src Source, opt Options) (int64, error) {
	opt.AnyOrder, opt.NoRaw = true, true
	x := newStream(ctx, src, p, opt)
	if err := x.run(); err != nil {
		return 0, err
	}
	if x.total == math.MaxInt64 {
		return 0, errors.New("the path selects more nodes than can be counted: every step like ..* multiplies them")
	}
	return x.total, nil
}

// stream carries a path through a document. It is read once from front to back, entering
// only what some part of the path waits for, and goes back where the package comment
// says so.
type stream struct {
	*scanner
	decoder  decoder
	env      *env
	segments []segment
	opt      Options
	found    func(Match) bool // nil to count only
	total    int64            // matches so far, or math.MaxInt64 for more than fit
	enough   int64            // stop at as many, when counting
	latest   bool             // of duplicate names only the last counts: total begins anew at each
	picks    *projection      // what Options.Pick looks at of a match
	picker   finder           // scratch

	first     Value // of Match.PickedFirst
	keepFirst func(Value) bool

	states []state    // stack, see visit
	rules  []rule     // stack, see children
	steps  []openStep // from the root to here
	names  []byte     // those of steps, unescaped
}

// A state says that the segments from the given one on are to be applied to a node. A
// node that is reached in n ways has n in its state instead of being visited n times:
// ..*..* reaches a node once for each of the nodes above it.
type state struct {
	segment int // len(segments): the node is a match
	n       int64
}

// An openStep is a step to a child: an index, or inName and where its name is in
// stream.names.
type openStep struct {
	index    int64
	from, to int
}

const inName = -1

// ErrArray is the error of a stream with [Options.NoArrays] that has met an array.
var ErrArray = errors.New("an array is selected")

// errStop ends a stream whose callback wants no more.
var errStop = errors.New("stop")

func newStream(ctx context.Context, src Source, p *Path, opt Options) *stream {
	if opt.Limit <= 0 {
		opt.Limit = defaultLimit
	}
	opt.Limit = min(opt.Limit, math.MaxInt64/2) // there is something added to it
	s := newScanner(ctx, src, opt.Limit)
	x := &stream{
		scanner: s, decoder: decoder{scanner: s, limit: opt.Limit}, env: &env{ctx: ctx},
		segments: p.segments, opt: opt, enough: math.MaxInt64, picks: &projection{}, picker: finder{env: &env{ctx: ctx}},
	}
	x.keepFirst = func(v Value) bool { x.first = v; return false }
	for _, p := range opt.Pick {
		x.picks.addQuery(&query{segments: p.segments}, true)
	}
	return x
}

func (x *stream) run() (err error) {
	defer func() {
		if closed := x.feed.close(); err == nil {
			err = closed
		}
	}()
	if err := x.resolve(); err != nil {
		return err
	}
	if err := x.pass(); err != errStop {
		return err
	}
	return nil
}

// pass goes through the document once.
func (x *stream) pass() error {
	if err := x.begin(); err != nil {
		return err
	}
	x.states = append(x.states[:0], state{0, 1})
	if err := x.visit(x.states, -1); err != nil {
		return err
	}
	return x.end()
}

// visit does what is due at the node that comes next and passes over it. end is where
// the node ends if that is known, and -1 if not. The states are in the order of their
// segments. visit may change them.
func (x *stream) visit(states []state, end int64) error {
	if x.env.cancelled() {
		return context.Cause(x.env.ctx)
	}
	c, err := x.ahead()
	if err != nil {
		return err
	}
	start := x.offset()
	if last := len(states) - 1; states[last].segment == len(x.segments) {
		if x.opt.NoArrays && c == '[' {
			return ErrArray
		}
		n := states[last].n
		states = states[:last]
		if end, err = x.match(KindOf(c), start, end, n, len(states) > 0 && (c == '{' || c == '[')); err != nil {
			return err
		}
	}
	if len(states) == 0 || c != '{' && c != '[' {
		return x.over(end)
	}
	if !x.opt.AnyOrder && x.needsPasses(states[0].segment) {
		return x.passes(states[0].segment, start)
	}
	rules := len(x.rules)
	for _, s := range states {
		seg := &x.segments[s.segment]
		x.rules = append(x.rules, rule{seg.selectors, seg.traits, s.segment + 1, seg.descendant, s.n})
	}
	err = x.children(x.rules[rules:])
	x.rules = x.rules[:rules]
	return err
}

// over passes over the node that comes next, of which the end may be known.
func (x *stream) over(end int64) error {
	if end >= 0 {
		return x.rewind(end)
	}
	return x.skip()
}

// match hands out the node that comes next n times and returns the node's end, if that
// is known or has come to be. If inside says that the node is to be entered, it leaves
// the scanner at the node's beginning.
func (x *stream) match(kind Kind, start, end, n int64, inside bool) (int64, error) {
	if x.opt.Where == nil && x.found == nil { // counting needs no look at the node
		return end, x.count(n)
	}
	x.mark()
	defer x.release()
	passed := true
	if x.opt.Where != nil {
		var err error
		var known int64
		if passed, known, err = x.test(x.opt.Where.filter); err != nil {
			return end, err
		}
		end = max(end, known)
	}
	if passed {
		var err error
		if x.found == nil {
			err = x.count(n)
		} else {
			end, err = x.give(Match{Offset: start, Kind: kind, stream: x}, end, n)
		}
		if err != nil {
			return end, err
		}
	}
	if inside {
		return end, x.rewind(start)
	}
	return end, nil
}

// give calls the callback n times for the match, whose end is not known if it is -1.
func (x *stream) give(m Match, end, n int64) (_ int64, err error) {
	if len(x.opt.Pick) > 0 {
		if end >= 0 {
			if err := x.rewind(m.Offset); err != nil {
				return end, err
			}
		}
		x.decoder.reset()
		m.value, err = x.decoder.value(x.picks)
		if err != nil {
			return end, err
		}
		end = x.offset()
	}
	if end < 0 {
		if err := x.skip(); err != nil {
			return end, err
		}
		end = x.offset()
	}
	m.Size = end - m.Offset
	if !x.opt.NoRaw && (x.opt.MaxRaw == 0 || m.Size <= x.opt.MaxRaw) {
		if m.Raw, err = x.bytes(m.Offset, end); err != nil {
			return end, err
		}
	}
	for i := range n {
		if i > 0 && x.env.ctx.Err() != nil { // n may be as good as endless
			return end, context.Cause(x.env.ctx)
		}
		x.total = addCapped(x.total, 1)
		if !x.found(m) {
			return end, errStop
		}
	}
	return end, nil
}

// count counts n matches.
func (x *stream) count(n int64) error {
	x.total = addCapped(x.total, n)
	if x.total >= x.enough {
		return errStop
	}
	return nil
}

// test reports whether the value that comes next passes a filter. It passes over the
// value and returns where it ends, unless there is nothing in it that the filter looks
// at: then it stays and returns -1.
func (x *stream) test(f *filter) (passed bool, end int64, err error) {
	x.decoder.reset()
	var v Value
	if c := x.buf[x.pos]; (c == '[' || c == '{') && !f.wants.within(KindOf(c)) {
		v, end = Value{kind: KindOf(c)}, -1
	} else {
		if v, err = x.decoder.value(f.wants); err != nil {
			return false, -1, err
		}
		end = x.offset()
	}
	passed = f.root.test(x.env, v)
	if x.env.ctx.Err() != nil { // the test may have ended for that
		return false, end, context.Cause(x.env.ctx)
	}
	return passed, end, nil
}

func (x *stream) normalized() Normalized {
	b := []byte{'$'}
	for _, s := range x.steps {
		b = append(b, '[')
		if s.index == inName {
			b = appendQuoted(b, string(x.names[s.from:s.to]))
		} else {
			b = strconv.AppendInt(b, s.index, 10)
		}
		b = append(b, ']')
	}
	return Normalized(b)
}

func addCapped(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
