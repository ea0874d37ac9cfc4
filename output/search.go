package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
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
