package output

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"pawl/internal/text"
	"pawl/run"
)

// A Mode is how a call asks for its result.
type Mode string

const (
	Auto    Mode = "auto"    // inline if it is small
	Inline  Mode = "inline"  // inline unless it is very large
	Persist Mode = "persist" // an envelope, however small it is
)

// Limits are the thresholds of a delivery, in characters. They are settings.
type Limits struct {
	Inline   int // up to this inline
	Asked    int // up to this inline if the call asked for it
	Envelope int // of the whole envelope
	Preview  int
	Metadata int
}

// DefaultLimits are those of the specification (outputs.md, Delivery).
var DefaultLimits = Limits{Inline: 32_768, Asked: 65_536, Envelope: 2_500, Preview: 1_200, Metadata: 1_600}

// A Delivery says in what form a result was given to the model.
type Delivery string

const (
	Inlined Delivery = "inline"
	Stored  Delivery = "stored" // an envelope
	Forced  Delivery = "forced" // an envelope, though inline was asked for
	Picture Delivery = "image"  // a content block
	Failed  Delivery = "failed" // too large to be inline, and it could not be stored
)

// IsStored reports whether the model has the output by reference.
func (d Delivery) IsStored() bool { return d == Stored || d == Forced }

// A Result is what a tool has returned, stored or not.
type Result struct {
	Output *Output // where it is stored; nil if that failed
	// Text is the result where it could not be stored, and Cause why.
	Text  string
	Cause error
	Tools []string // lines of available_tools, see AvailableTools
}

// envelope is what the model gets instead of a large result.
type envelope struct {
	Persisted    bool      `json:"persisted"`
	Ref          outputRef `json:"output_ref"`
	Characters   int64     `json:"size_chars"`
	Forced       bool      `json:"forced_persist,omitempty"`
	ForcedReason string    `json:"forced_reason,omitempty"`
	Preview      string    `json:"preview"`
	Truncated    bool      `json:"preview_truncated"`
	Metadata     metadata  `json:"metadata"`
	Tools        []string  `json:"available_tools,omitempty"`
}

type outputRef struct {
	ID      run.CallID `json:"id"`
	Storage string     `json:"storage"`
}

// TakeMetadata returns what the model got of a result without the metadata that its
// envelope has, and the metadata as JSON, empty if there is none.
func TakeMetadata(delivered string) (rest, metadata string) {
	var e struct {
		Persisted bool            `json:"persisted"`
		Metadata  json.RawMessage `json:"metadata"`
	}
	if json.NewDecoder(strings.NewReader(delivered)).Decode(&e) != nil || !e.Persisted || len(e.Metadata) == 0 {
		return delivered, ""
	}
	metadata = string(e.Metadata)
	return strings.Replace(delivered, `,"metadata":`+metadata, "", 1), metadata
}

// metadata says what an output is.
type metadata struct {
	Format    Format `json:"format"`
	MediaType string `json:"media_type,omitempty"`
	*Summary
	Lines       int64    `json:"lines,omitempty"`
	LongestLine int64    `json:"longest_line,omitempty"`
	First       []string `json:"first_lines,omitempty"`
	Last        []string `json:"last_lines,omitempty"`
	Problem     string   `json:"problem,omitempty"`
	Hints       []string `json:"hints,omitempty"`
	// LeftOut says what had to go for the envelope to be small enough.
	LeftOut []string `json:"left_out,omitempty"`
}

// maxPicture is how large an image may be to become a content block: 5 MB is the least
// that the providers take (Anthropic: 5 MB per image over the API,
// docs.claude.com/en/docs/build-with-claude/vision, read 2026-11-20).
const maxPicture = 5_000_000

// Deliver makes what the model gets of a result. Errors of reading a stored output make
// the delivery an error result, as does what could be neither stored nor shown.
func Deliver(u Result, mode Mode, limits Limits) (parts []run.Part, d Delivery) {
	if u.Output == nil {
		return deliverUnstored(u, mode, limits)
	}
	o := u.Output
	if o.isPicture() {
		data, err := o.all()
		if err != nil {
			return failure("read the stored output %s: %v", o.ID, err)
		}
		return []run.Part{{Type: run.ImagePart, Image: &run.Image{MediaType: o.MediaType, Data: data}}}, Picture
	}
	inline, forced := limits.inline(mode, o.Characters())
	if o.Meta.Format == Binary {
		inline, forced = false, false
	}
	if !inline {
		d = Stored
		if forced {
			d = Forced
		}
		return []run.Part{run.Text(o.envelope(forced, u.Tools, limits))}, d
	}
	all, err := o.all()
	if err != nil {
		return failure("read the stored output %s: %v", o.ID, err)
	}
	return []run.Part{run.Text(strings.ToValidUTF8(string(all), "\uFFFD"))}, Inlined
}

// inline says whether a result of so many characters is delivered inline, and if not,
// whether that is against what was asked.
func (l Limits) inline(mode Mode, characters int64) (inline, forced bool) {
	switch mode {
	case Persist:
		return false, false
	case Inline:
		ok := l.Asked > 0 && characters <= int64(l.Asked)
		return ok, !ok
	}
	return l.Inline > 0 && characters <= int64(l.Inline), false
}

func failure(format string, args ...any) ([]run.Part, Delivery) {
	return []run.Part{run.Text(fmt.Sprintf(format, args...))}, Failed
}

func deliverUnstored(u Result, mode Mode, limits Limits) ([]run.Part, Delivery) {
	if mode == Persist {
		mode = Auto // it cannot be, so what fits is shown
	}
	characters := utf8.RuneCountInString(u.Text)
	if inline, _ := limits.inline(mode, int64(characters)); !inline {
		return failure("The tool ran, but its result has %s characters, too many to show, and could not be stored: %v. Run it again so that it prints less, or writes to a file.", text.Commas(int64(characters)), u.Cause)
	}
	warning := fmt.Sprintf("\n[warning: this result could not be stored, so it cannot be asked for again: %v]", u.Cause)
	return []run.Part{run.Text(strings.ToValidUTF8(u.Text, "\uFFFD") + warning)}, Inlined
}

// isPicture reports whether the output is an image that providers take.
func (o *Output) isPicture() bool {
	switch o.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return o.size <= maxPicture
	}
	return false
}

// envelope makes the envelope as text. If it is too long, hints go first; then preview
// and metadata shrink together.
func (o *Output) envelope(forced bool, tools []string, limits Limits) string {
	e := envelope{Persisted: true, Ref: outputRef{o.ID, "app_data"}, Characters: o.Characters(), Forced: forced, Tools: tools}
	if o.Meta.Format == Binary { // it has no characters, and nothing reads it
		e.Characters, e.Tools = o.size, aboutBinary(tools)
	}
	if forced {
		e.ForcedReason = "inline_size_exceeds_hard_limit"
	}
	const steps = 10
	for step := -1; step <= steps; step++ {
		left := steps - max(0, step) // of ten
		var whole bool
		e.Preview, whole = o.Preview(limits.Preview * left / steps)
		e.Truncated = !whole
		e.Metadata = o.metadata(limits.Metadata*left/steps, step < 0)
		if says := mustJSON(e); utf8.RuneCountInString(says) <= limits.Envelope {
			return says
		}
	}
	// Only very long lines of tools or a very small limit lead here.
	e.Tools, e.Preview, e.Truncated, e.Metadata = nil, "", true, metadata{Format: o.Meta.Format, LeftOut: []string{"everything but the id"}}
	return mustJSON(e)
}

// metadata makes the metadata with at most limit characters.
func (o *Output) metadata(limit int, hints bool) metadata {
	m := metadata{Format: o.Meta.Format, MediaType: o.MediaType, Problem: text.Clip(o.Problem, 300)}
	if hints {
		m.Hints = o.hints()
	} else if len(o.hints()) > 0 {
		m.LeftOut = append(m.LeftOut, "hints")
	}
	if o.Summary != nil {
		m.Summary = o.Summary.within(max(0, limit-jsonChars(m)-20))
		return m
	}
	if o.Meta.Format == Binary {
		return m
	}
	m.Lines, m.LongestLine = o.Text.Lines, o.Text.Longest
	// First and last lines are in the preview too; here they are what tells a log from
	// a listing at a glance, so one or two will do.
	for n := 3; n > 0; n-- {
		m.First, m.Last = shortLines(o.Text.First[:min(n, len(o.Text.First))]), shortLines(o.Text.Last[max(0, len(o.Text.Last)-n):])
		if jsonChars(m) <= limit {
			return m
		}
	}
	m.First, m.Last = nil, nil
	m.LeftOut = append(m.LeftOut, "first and last lines")
	return m
}

func shortLines(lines []string) (short []string) {
	const most = 120
	for _, l := range lines {
		short = append(short, text.Clip(l, most))
	}
	return short
}

// hints say how to continue, with what is in the output.
func (o *Output) hints() (hints []string) {
	switch s := o.Summary; {
	case s != nil && len(s.Arrays) > 0 && len(s.Arrays[0].Path) <= 100:
		path := s.Arrays[0].Path
		hints = append(hints, fmt.Sprintf("extract %s[0:3] shows the first of %s", path, text.Plural(s.Arrays[0].Length, "element")))
		hints = append(hints, fmt.Sprintf(`a tool takes a part of it by {"$output": "%s", "path": "%s[0]"}`, o.ID, path))
	case s != nil:
		hints = append(hints, fmt.Sprintf(`a tool takes a part of it by {"$output": "%s", "path": "…"}`, o.ID))
	case o.Meta.Format != Binary:
		hints = append(hints, "search finds lines, read with offset and limit shows some")
	}
	return hints
}

// Tools are the tools of this package with a line for available_tools each, without
// their prefix. The registry says which of them there are, and under which names.
var Tools = [][2]string{
	{"read", "load full output into context"},
	{"extract", "extract fields via JSONPath"},
	{"stats", "get schema, field types, counts"},
	{"list", "list all stored outputs"},
	{"count", "count elements, keys or matches, with filters"},
	{"sample", "get a sample of an array"},
	{"search", "find text by regular expression"},
	{"aggregate", "sum, average, minimum, maximum, distinct, by group"},
}

// aboutBinary returns the lines of the tools that say something about binary outputs.
func aboutBinary(lines []string) (about []string) {
	for _, line := range lines {
		for _, t := range Tools {
			if (t[0] == "stats" || t[0] == "list") && strings.HasSuffix(line, t[1]) {
				about = append(about, line)
			}
		}
	}
	return about
}

// AvailableTools returns the lines of available_tools for those tools that name knows:
// it returns a tool's full name, or nothing if there is no such tool.
func AvailableTools(name func(tool string) string) (lines []string) {
	for _, t := range Tools {
		if full := name(t[0]); full != "" {
			lines = append(lines, full+" — "+t[1])
		}
	}
	return lines
}
