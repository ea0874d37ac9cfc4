package render

import (
	"encoding/json"
	"strings"

	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/view"
)

const (
	storedMembers = 6 // of an object, that are named of a stored output
	foldedShape   = 3 // lines of what a stored output is
)

// An envelope is what the result of a call says of its stored output.
type envelope struct {
	Persisted bool   `json:"persisted"`
	Preview   string `json:"preview"`
	Metadata  struct {
		Format string   `json:"format"`
		Lines  int64    `json:"lines"`
		Shape  []string `json:"shape"`
		First  []string `json:"first_lines"`
		Last   []string `json:"last_lines"`
		Arrays []struct {
			Path   string `json:"path"`
			Length int64  `json:"length"`
		} `json:"arrays"`
	} `json:"metadata"`
}

// envelopeOf returns the envelope of a call whose output was stored.
func envelopeOf(c *view.Call) (e envelope, ok bool) {
	if c.Delivery == "" || c.Delivery == "inline" || json.NewDecoder(strings.NewReader(c.Result)).Decode(&e) != nil {
		return envelope{}, false
	}
	return e, e.Persisted && e.Metadata.Format != ""
}

// storedLines says what a stored output of a size is: its format, and what it is made of.
func (s Style) storedLines(e envelope, size int64, width int) []string {
	m := e.Metadata
	format := m.Format
	switch format {
	case "json", "csv", "yaml":
		format = strings.ToUpper(format)
	}
	words := []string{format, text.Size(size)}
	path, count := "$", ""
	for i, a := range m.Arrays { // the longest
		if n := text.Commas(a.Length); i == 0 || len(n) > len(count) || len(n) == len(count) && n > count {
			path, count = a.Path+"[*]", n
		}
	}
	switch made := s.members(m.Shape, path); {
	case count != "":
		words = append(words, strings.TrimSpace(path+" "+s.times()+count+" "+made))
	case made != "":
		words = append(words, made)
	case m.Lines > 0:
		words = append(words, text.Commas(m.Lines)+" lines")
	}
	line := view.OneLine(visible.Escape(strings.Join(words, s.Dot())), 4*view.MaxLine)
	lines := s.Wrap([]Span{{Text: line, Paint: Faint}}, width-5, true)
	lines = lines[:min(len(lines), foldedShape)]
	for i := range lines {
		lines[i] = "  " + s.Paint(Faint, s.Glyph(GlyphGutter)) + " " + lines[i]
	}
	return lines
}

func (s Style) times() string {
	if s.ASCII {
		return "x"
	}
	return "×"
}

// members returns the members of the objects at a path, from lines like "$.users[*].email string
// ×1,200"; empty if there are none.
func (s Style) members(shape []string, path string) string {
	var all []string
	for _, line := range shape {
		rest, below := strings.CutPrefix(line, path+".")
		name, kind, _ := strings.Cut(rest, " ")
		if !below || strings.ContainsAny(name, ".[") {
			continue
		}
		if len(all) == storedMembers {
			all = append(all, s.Glyph(GlyphCut))
			break
		}
		kind, _, _ = strings.Cut(kind, " ×")
		switch {
		case strings.HasPrefix(kind, "array"):
			kind = "[" + s.Glyph(GlyphCut) + "]"
		case strings.HasPrefix(kind, "object"):
			kind = "{" + s.Glyph(GlyphCut) + "}"
		}
		all = append(all, strings.TrimSpace(name+" "+kind))
	}
	if len(all) == 0 {
		return ""
	}
	return "{" + strings.Join(all, ", ") + "}"
}
