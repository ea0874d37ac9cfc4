package output

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"pawl/internal/text"
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

// shownText is how many characters of a line or a string are shown around a match.
const shownText = 240

// around returns a long text cut around the match.
func (m *matcher) around(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= shownText {
		return s
	}
	at := 0
	if found := m.re.FindStringIndex(s); found != nil {
		at = found[0]
	}
	before := text.Last(s[:at], shownText/3)
	shown := text.Clip(s[at:], shownText-utf8.RuneCountInString(before))
	if len(before) < at {
		before = text.Mark + before
	}
	return before + shown
}

// Search answers tool_outputs.search: values and names of JSON and JSON Lines, lines of
// everything else.
func (d *Document) Search(ctx context.Context, args SearchArgs) (SearchResult, error) {
	r := SearchResult{Target: args.Target, Matches: []Found{}}
	m, err := newMatcher(args.Pattern)
	s := &search{matcher: m, args: args, result: &r, budget: budget{room: maxResult}}
	switch {
	case err != nil:
	case d.format == Binary:
		err = errors.New("it is binary and cannot be searched")
	case d.format == JSON || d.format == JSONLines:
		err = s.json(ctx, d)
	default:
		err = s.lines(ctx, d)
	}
	if r.HasMore = r.Total > int64(len(r.Matches)); r.HasMore {
		r.Hint = fmt.Sprintf("%s of %s matches are here: a narrower pattern or a higher limit shows others", text.Commas(int64(len(r.Matches))), text.Commas(r.Total))
	}
	return r, d.explain("search", err)
}

// A search collects matches.
type search struct {
	*matcher
	args   SearchArgs
	result *SearchResult
	budget budget
}

// full counts a match and reports whether there is no room to return it.
func (s *search) full() bool {
	s.result.Total++
	return s.result.Total > int64(s.args.Limit) || s.budget.cut
}

// A jsonSearch is a [jsonpath.Visitor] that looks for matches.
type jsonSearch struct {
	*search
	stack []openValue
	names []byte          // of the objects that are open, see openValue
	seen  map[string]bool // different names, and whether they match
}

// maxNamesSeen bounds jsonSearch.seen.
const maxNamesSeen = 10_000

// An openValue is an array or object that is open.
type openValue struct {
	object bool
	offset int64
	index  int64 // of the child that is open or was last
	name   int   // where in jsonSearch.names the name of the child begins
	end    int   // and ends
}

// json searches JSON and JSON Lines.
func (s *search) json(ctx context.Context, d *Document) error {
	j := &jsonSearch{search: s, seen: map[string]bool{}}
	if d.format == JSONLines {
		j.stack = append(j.stack, openValue{index: -1, offset: -1})
	}
	w, err := jsonpath.Walk(ctx, d.Reader(), j)
	if err != nil {
		return err
	}
	if w.Values > 1 && d.format == JSON {
		return errors.New("there is more after the value that it begins with")
	}
	if w.Cut {
		s.result.Hint = "of very long texts only the beginning was searched"
	}
	for i := range s.result.Matches {
		if hit := &s.result.Matches[i]; s.args.Context > 0 && hit.offset >= 0 {
			raw, err := d.valueAt(ctx, hit.offset)
			if err != nil {
				return err
			}
			if within, ok := s.budget.fit(raw, 12); ok && raw != nil {
				hit.Within = within
			}
		}
	}
	return nil
}

// valueAt returns the value at an offset if it is small, else nil.
func (d *Document) valueAt(ctx context.Context, offset int64) (value []byte, err error) {
	const most = 2000 // bytes
	begin := make([]byte, min(most, d.size-offset))
	if n, err := d.raw.ReadAt(begin, offset); n < len(begin) {
		return nil, err
	}
	// What follows the value may be anything.
	_ = jsonpath.MustParse("$").Stream(ctx, jsonpath.Bytes(begin), jsonpath.Options{}, func(m jsonpath.Match) bool {
		value = m.Raw
		return false
	})
	return value, nil
}

// Open is called at the beginning of an array or object.
func (j *jsonSearch) Open(object bool, offset int64) {
	j.next()
	at := len(j.names)
	j.stack = append(j.stack, openValue{object, offset, -1, at, at})
}

// Close is called at the end of an array or object.
func (j *jsonSearch) Close(int64) {
	j.names = j.names[:j.stack[len(j.stack)-1].name]
	j.stack = j.stack[:len(j.stack)-1]
}

// next continues with the next element, if it is one.
func (j *jsonSearch) next() {
	if n := len(j.stack); n > 0 && !j.stack[n-1].object {
		j.stack[n-1].index++
	}
}

// Name is called with a member's name.
func (j *jsonSearch) Name(raw []byte, escaped bool) {
	v := &j.stack[len(j.stack)-1]
	j.names = append(j.names[:v.name], raw...)
	v.end = len(j.names)
	if j.rejectsWritten(raw, escaped) {
		return
	}
	hit, known := j.seen[string(raw)]
	if !known {
		if len(j.seen) == maxNamesSeen {
			clear(j.seen)
		}
		hit = j.match(jsonpath.Unescape(raw))
		j.seen[string(raw)] = hit
	}
	if hit && !j.full() {
		j.found(Found{Name: true}, nil)
	}
}

// Scalar is called with any other value.
func (j *jsonSearch) Scalar(k jsonpath.Kind, raw []byte, escaped bool, _ int64) {
	j.next()
	if j.rejectsWritten(raw, escaped) {
		return
	}
	says := raw
	if escaped {
		says = jsonpath.Unescape(raw)
	}
	if !j.match(says) || j.full() {
		return
	}
	if k == jsonpath.String {
		raw = jsonpath.AppendString(nil, j.around(string(says)))
	}
	j.found(Found{}, raw)
}

func (j *jsonSearch) found(hit Found, value []byte) {
	hit.Path, hit.offset = j.path(), -1
	if n := len(j.stack); n > 0 {
		hit.offset = j.stack[n-1].offset
	}
	fits := value == nil && j.budget.take(len(hit.Path)+24)
	if value != nil {
		hit.Value, fits = j.budget.fit(value, len(hit.Path)+24)
	}
	if j.budget.cut = !fits; fits {
		j.result.Matches = append(j.result.Matches, hit)
	}
}

// path returns where the search is.
func (j *jsonSearch) path() string {
	const most = 2000
	path := []byte{'$'}
	for _, v := range j.stack {
		if v.object {
			path = append(path, jsonpath.Child(string(jsonpath.Unescape(j.names[v.name:v.end])))...)
		} else {
			path = append(path, jsonpath.Element(v.index)...)
		}
		if len(path) > most {
			return string(path) + text.Mark
		}
	}
	return string(path)
}

const (
	// longLine is how much of a line is searched in one piece, in bytes. Pieces overlap
	// by pieceOverlap, so that only a longer match can be missed.
	longLine     = 1 << 20
	pieceOverlap = 64 << 10
)

// lines searches a text line by line.
func (s *search) lines(ctx context.Context, d *Document) error {
	in := bufio.NewReaderSize(d.Reader(), longLine)
	line, begin, at := int64(1), int64(0), int64(0) // of the line: number, offset; offset of what comes next
	hit := false                                    // this line has matched already
	var joined []byte                               // a piece with the end of the one before
	for {
		if len(s.literals) == 1 && !s.literals[0].fold && !hit && len(joined) == 0 { // pass over lines that cannot match
			p, _ := in.Peek(in.Buffered())
			if i := bytes.Index(p, s.literals[0].text); i >= 0 {
				p = p[:i]
			}
			if n := bytes.LastIndexByte(p, '\n') + 1; n > 0 {
				line += int64(bytes.Count(p[:n], []byte("\n")))
				in.Discard(n)
				at += int64(n)
				begin = at
			}
		}
		p, err := in.ReadSlice('\n')
		full := err == bufio.ErrBufferFull
		at += int64(len(p))
		switch {
		case err != nil && err != io.EOF && !full:
			return err
		case (full || line%1024 == 0) && ctx.Err() != nil:
			return context.Cause(ctx)
		case len(joined) > 0:
			joined = append(joined, p...)
			p = joined
		}
		text := bytes.TrimSuffix(bytes.TrimSuffix(p, []byte("\n")), []byte("\r"))
		if begin < at && !hit && s.match(text) {
			hit = true
			if !s.full() {
				f := Found{Line: line, Text: s.around(string(text)), offset: begin}
				if s.budget.take(utf8.RuneCountInString(f.Text) + 24) {
					s.result.Matches = append(s.result.Matches, f)
				}
			}
		}
		if full {
			joined = append(joined[:0], p[max(0, len(p)-pieceOverlap):]...)
			continue
		}
		if err == io.EOF {
			break
		}
		line++
		begin, hit, joined = at, false, joined[:0]
	}
	for i := range s.result.Matches {
		if s.args.Context > 0 {
			if err := s.linesAround(d, &s.result.Matches[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// linesAround adds the lines before and after a match.
func (s *search) linesAround(d *Document, f *Found) error {
	const near = 32 << 10 // bytes in which they are looked for
	from := max(0, f.offset-near)
	buf := make([]byte, min(d.size, f.offset+near)-from)
	if n, err := d.raw.ReadAt(buf, from); n < len(buf) {
		return err
	}
	show := func(lines [][]byte) (out []string) {
		for _, l := range lines {
			says := text.First(strings.ToValidUTF8(string(bytes.TrimSuffix(l, []byte("\r"))), "\uFFFD"), shownText)
			if !s.budget.take(utf8.RuneCountInString(says) + 4) {
				break
			}
			out = append(out, says)
		}
		return out
	}
	before := splitLines(buf[:f.offset-from])
	if from > 0 && len(before) > 0 {
		before = before[1:] // it may have begun before
	}
	f.Before = show(before[max(0, len(before)-s.args.Context):])
	if _, after, ok := bytes.Cut(buf[f.offset-from:], []byte("\n")); ok {
		lines := splitLines(after)
		f.After = show(lines[:min(s.args.Context, len(lines))])
	}
	return nil
}
