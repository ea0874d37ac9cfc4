package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/output/jsonpath"
)

// SearchArgs are the arguments of tool_outputs.search.
type SearchArgs struct {
	Target
	Pattern string `json:"pattern"` // a regular expression of RE2, as Go's regexp
	// Context is how many lines before and after a match come with it. In JSON, if it is
	// not 0, the object or array that a match stands in comes with it unless it is large.
	Context int `json:"context"`
	Limit   int `json:"limit"` // matches that are returned
}

func (a *SearchArgs) defaults() { a.Limit = 50 }

func (a *SearchArgs) check() error {
	const longest = 1000
	err := errors.Join(between("context", a.Context, 0, 20), between("limit", a.Limit, 1, 1000))
	switch {
	case a.Pattern == "":
		err = errors.Join(err, errors.New("pattern is empty"))
	case len(a.Pattern) > longest:
		err = errors.Join(err, fmt.Errorf("pattern may have %d bytes at most, got %d", longest, len(a.Pattern)))
	}
	return err
}

// SearchResult is the result of tool_outputs.search.
type SearchResult struct {
	Target
	Matches []Found `json:"matches"`
	Total   int64   `json:"total"` // lines or values that match, returned or not
	HasMore bool    `json:"has_more,omitempty"`
	Hint    string  `json:"hint,omitempty"`
}

// Found is a match: a line of a text, or a value or a name in JSON.
type Found struct {
	Line   int64    `json:"line,omitempty"` // from 1
	Text   string   `json:"text,omitempty"` // of the line, around the match if it is long
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`

	Path   string          `json:"path,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`  // as written; a string around the match if it is long
	Name   bool            `json:"name,omitempty"`   // the last name of the path matches, and not the value
	Within json.RawMessage `json:"within,omitempty"` // the object or array it is in

	offset int64 // of the line, or of what it is in
}

// A matcher is a pattern with a faster way to see that it does not match.
type matcher struct {
	re      *regexp.Regexp
	literal []byte // every match begins with it
	whole   bool   // and is no more
}

func newMatcher(pattern string) (*matcher, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return nil, fmt.Errorf("pattern: %s (patterns are RE2: no look-around, no back-references; \\. for a point)", text)
	}
	literal, whole := re.LiteralPrefix()
	return &matcher{re, []byte(literal), whole}, nil
}

func (m *matcher) match(p []byte) bool {
	if len(m.literal) > 0 {
		if i := bytes.Index(p, m.literal); i < 0 || m.whole {
			return i >= 0
		}
	}
	return m.re.Match(p)
}

// shownText is how many characters of a line or a string are shown around a match.
const shownText = 240

// around returns a long text cut around the match.
func (m *matcher) around(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= shownText {
		return text
	}
	at := m.re.FindStringIndex(text)
	if at == nil {
		at = []int{0, 0}
	}
	const lead = shownText / 3
	before := lastChars(text[:at[0]], lead)
	out := firstChars(text[at[0]:], shownText-utf8.RuneCountInString(before))
	cutEnd := at[0]+len(out) < len(text)
	if len(before) < at[0] {
		before = "…" + before
	}
	if cutEnd {
		out += "…"
	}
	return before + out
}

// Search answers tool_outputs.search: values and names of JSON and JSON Lines, lines of
// everything else.
func (d *Document) Search(ctx context.Context, args SearchArgs) (SearchResult, error) {
	r := SearchResult{Target: args.Target, Matches: []Found{}}
	m, err := newMatcher(args.Pattern)
	switch {
	case err != nil:
	case d.format == Binary:
		err = errors.New("it is binary and cannot be searched")
	case d.format == JSON || d.format == JSONLines:
		if err = d.prepare(); err == nil {
			err = d.searchJSON(ctx, m, args, &r)
		}
	default:
		err = d.searchLines(ctx, m, args, &r)
	}
	if err != nil {
		return r, d.explain("search", err)
	}
	r.HasMore = r.Total > int64(len(r.Matches))
	if r.HasMore {
		r.Hint = fmt.Sprintf("%s of %s matches are here: a narrower pattern or a higher limit shows others", thousands(int64(len(r.Matches))), thousands(r.Total))
	}
	return r, nil
}

// finder is a visitor that looks for matches.
type finder struct {
	m      *matcher
	args   SearchArgs
	result *SearchResult
	basket basket
	stack  []spot
	names  []byte          // of the objects that are open, see spot
	seen   map[string]bool // names, and whether they match
	text   []byte          // scratch
}

// A spot is an array or object that is open.
type spot struct {
	object bool
	offset int64
	index  int64 // of the child that is open or was last
	name   int   // where in finder.names the name of the child begins
	end    int   // and ends
}

func (f *finder) open(object bool, offset int64) {
	f.next()
	at := len(f.names)
	f.stack = append(f.stack, spot{object, offset, -1, at, at})
}

func (f *finder) close(int64) {
	f.names = f.names[:f.stack[len(f.stack)-1].name]
	f.stack = f.stack[:len(f.stack)-1]
}

// next goes on to the next element, if it is one.
func (f *finder) next() {
	if n := len(f.stack); n > 0 && !f.stack[n-1].object {
		f.stack[n-1].index++
	}
}

func (f *finder) name(raw []byte, escaped bool) {
	s := &f.stack[len(f.stack)-1]
	f.names = append(f.names[:s.name], raw...)
	s.end = len(f.names)
	hit, known := f.seen[string(raw)]
	if !known {
		hit = f.m.match([]byte(plainName(raw, escaped)))
		const most = 10_000
		if len(f.seen) < most {
			f.seen[string(raw)] = hit
		}
	}
	if hit {
		f.found(Found{Name: true, offset: s.offset}, nil)
	}
}

func (f *finder) scalar(k kind, raw []byte, offset int64) {
	f.next()
	text := raw
	if k == isString && bytes.IndexByte(raw, '\\') >= 0 {
		f.text = unescape(f.text[:0], raw)
		text = f.text
	}
	if !f.m.match(text) {
		return
	}
	hit := Found{offset: offset}
	if n := len(f.stack); n > 0 {
		hit.offset = f.stack[n-1].offset
	}
	value := raw
	if k == isString {
		value = appendText(nil, f.m.around(string(text)))
	}
	f.found(hit, value)
}

func (f *finder) found(hit Found, value []byte) {
	f.result.Total++
	if f.result.Total > int64(f.args.Limit) || f.basket.cut {
		return
	}
	hit.Path = f.path()
	if value == nil {
		f.basket.room -= len(hit.Path) + 24
		f.basket.cut = f.basket.room < 0
	} else {
		var fits bool
		hit.Value, fits = f.basket.fit(value, len(hit.Path)+24)
		f.basket.cut = !fits
	}
	if f.basket.cut {
		return
	}
	f.result.Matches = append(f.result.Matches, hit)
}

// path returns where the finder is.
func (f *finder) path() string {
	b := []byte{'$'}
	for _, s := range f.stack {
		if s.object {
			b = append(b, stepTo(plainName(f.names[s.name:s.end], true))...)
		} else {
			b = append(b, indexStep(s.index)...)
		}
		const most = 2000
		if len(b) > most {
			return string(b) + "…"
		}
	}
	return string(b)
}

func (d *Document) searchJSON(ctx context.Context, m *matcher, args SearchArgs, r *SearchResult) error {
	f := &finder{m: m, args: args, result: r, basket: basket{room: maxResult}, seen: map[string]bool{}}
	in, err := d.reader()
	if err != nil {
		return err
	}
	defer in.Close()
	w := newWalker(ctx, in)
	w.begin()
	if _, err := w.next(f); err != nil {
		return err
	}
	if w.tooBig {
		r.Hint = fmt.Sprintf("of texts longer than %s only the beginning was searched", byteSize(longText))
	}
	if w.blanks(); !w.atEnd() {
		return w.fail("nothing more")
	}
	if args.Context == 0 {
		return nil
	}
	for i := range r.Matches {
		const small = 2000 // bytes
		hit := &r.Matches[i]
		raw, err := d.smallValue(ctx, hit.offset, small)
		if err != nil {
			return err
		}
		if within, ok := f.basket.fit(raw, 12); ok {
			hit.Within = within
		}
	}
	return nil
}

// smallValue returns the value at an offset of the view if it has at most so many bytes,
// else nil.
func (d *Document) smallValue(ctx context.Context, offset, most int64) (value []byte, err error) {
	// A bracket before it makes it the first element of an array whose rest is missing.
	text := make([]byte, 1+min(most, d.view.size-offset))
	text[0] = '['
	if n, err := d.view.at.ReadAt(text[1:], offset); n < len(text)-1 {
		return nil, err
	}
	_ = anyElement.Stream(ctx, jsonpath.Bytes(text), jsonpath.Options{}, func(m jsonpath.Match) bool {
		value = m.Raw
		return false
	})
	return value, nil
}

const (
	// longLine is how much of a line is searched in one piece, in bytes. Pieces overlap
	// by pieceOverlap, so that only a longer match can be missed.
	longLine     = 1 << 20
	pieceOverlap = 64 << 10
)

func (d *Document) searchLines(ctx context.Context, m *matcher, args SearchArgs, r *SearchResult) error {
	in := io.NewSectionReader(d.raw, 0, d.size)
	buf := make([]byte, 0, 2*longLine)
	var (
		base    int64 // offset of buf
		line    = int64(1)
		begin   int64 // offset of the line
		hit     bool  // this line has matched already
		eof     bool
		basketB = basket{room: maxResult}
	)
	found := func(text []byte) {
		hit = true
		r.Total++
		if r.Total > int64(args.Limit) || basketB.cut {
			return
		}
		f := Found{Line: line, Text: m.around(string(bytes.TrimSuffix(text, []byte("\r")))), offset: begin}
		if basketB.room -= utf8.RuneCountInString(f.Text) + 24; basketB.room < 0 {
			basketB.cut = true
			return
		}
		r.Matches = append(r.Matches, f)
	}
	for !eof || len(buf) > 0 {
		for !eof && len(buf) < longLine {
			n, err := in.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
			if eof = err == io.EOF; err != nil && !eof {
				return err
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p := buf
		for len(p) > 0 {
			if len(m.literal) > 0 && !hit { // pass over lines that cannot match
				i := bytes.Index(p, m.literal)
				if i < 0 {
					i = len(p)
				}
				if k := bytes.LastIndexByte(p[:i], '\n') + 1; k > 0 {
					line += int64(bytes.Count(p[:k], []byte("\n")))
					base += int64(k)
					begin = base
					p = p[k:]
					continue
				}
			}
			i := bytes.IndexByte(p, '\n')
			if i < 0 {
				if !eof && len(p) < longLine {
					break // the rest is not here yet
				}
				if !hit && m.match(p) {
					found(p)
				}
				keep := 0
				if !eof {
					keep = pieceOverlap
				}
				base += int64(len(p) - keep)
				p = p[len(p)-keep:]
				break
			}
			if !hit && m.match(bytes.TrimSuffix(p[:i], []byte("\r"))) {
				found(p[:i])
			}
			p = p[i+1:]
			base += int64(i + 1)
			line++
			begin, hit = base, false
		}
		buf = buf[:copy(buf[:cap(buf)], p)]
	}
	if args.Context == 0 {
		return nil
	}
	for i := range r.Matches {
		if err := d.linesAround(&r.Matches[i], args.Context, &basketB); err != nil {
			return err
		}
	}
	return nil
}

// linesAround adds the lines before and after a match.
func (d *Document) linesAround(f *Found, n int, b *basket) error {
	const near = 32 << 10 // bytes in which they are looked for
	from := max(0, f.offset-near)
	buf := make([]byte, min(d.size, f.offset+near)-from)
	if got, err := d.raw.ReadAt(buf, from); got < len(buf) {
		return err
	}
	show := func(lines [][]byte) (out []string) {
		for _, l := range lines {
			s := firstChars(strings.ToValidUTF8(string(bytes.TrimSuffix(l, []byte("\r"))), "\uFFFD"), shownText)
			if b.room -= utf8.RuneCountInString(s) + 4; b.room < 0 {
				return out
			}
			out = append(out, s)
		}
		return out
	}
	before := splitLines(buf[:f.offset-from])
	if from > 0 && len(before) > 0 {
		before = before[1:] // it may have begun before
	}
	f.Before = show(before[max(0, len(before)-n):])
	after := buf[f.offset-from:]
	if i := bytes.IndexByte(after, '\n'); i >= 0 {
		lines := splitLines(after[i+1:])
		f.After = show(slices.Clip(lines[:min(n, len(lines))]))
	}
	return nil
}
