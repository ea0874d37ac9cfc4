package pdf

import (
	"bytes"
	"strings"
	"unicode/utf8"

	xencoding "golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// A font says what the codes of a string mean and how wide they are.
type font struct {
	toUnicode *cmap
	codes     *cmap    // of a composite font: how strings divide into codes
	chars     encoding // of a simple font
	legacy    xencoding.Encoding
	vertical  bool
	composite bool

	widths  map[uint32]float64 // in the units of text space
	missing float64
}

// font reads a font (9.6, 9.7). What is wrong in it costs characters, not the page.
func (d *Document) font(v any) *font {
	r, shared := v.(ref)
	if f := d.fonts[r.number]; shared && f != nil {
		return f
	}
	dict := d.dict(v)
	f := &font{widths: map[uint32]float64{}, missing: 0.5}
	if s, ok := d.resolve(dict["ToUnicode"]).(*stream); ok {
		if data, err := d.unpack(s); err == nil {
			f.toUnicode = d.parseCMap(data)
		}
	}
	if d.name(dict["Subtype"]) == "Type0" {
		f.compositeFrom(d, dict)
	} else {
		f.simpleFrom(d, dict)
	}
	if shared && len(d.fonts) < 1000 {
		d.fonts[r.number] = f
	}
	return f
}

// simpleFrom reads a font of single bytes.
func (f *font) simpleFrom(d *Document, font dict) {
	descriptor := d.dict(font["FontDescriptor"])
	unit := 0.001
	if m := d.array(font["FontMatrix"]); d.name(font["Subtype"]) == "Type3" && len(m) == 6 {
		unit = d.number(m[0])
	}
	f.missing = d.number(descriptor["MissingWidth"]) * unit
	firstChar := d.integer(font["FirstChar"])
	widths := d.array(font["Widths"])
	for i, w := range widths[:min(len(widths), 256)] {
		f.widths[uint32(firstChar+i)] = d.number(w) * unit
	}
	if len(widths) == 0 && f.missing == 0 {
		// One of the fonts that every reader has. Their letters are half as wide as
		// high, about; it matters only for where words end.
		f.missing = 0.5
	}

	base := d.baseEncoding(font, descriptor)
	switch e := d.resolve(font["Encoding"]).(type) {
	case name:
		if known := baseEncodings()[e]; known != nil {
			base = known
		}
		f.chars = *base
	case dict:
		if known := baseEncodings()[d.name(e["BaseEncoding"])]; known != nil {
			base = known
		}
		f.chars = *base
		f.differ(d, d.array(e["Differences"]))
	default:
		f.chars = *base
		f.builtIn(d, descriptor)
	}
}

// baseEncoding is what holds when a font names no encoding.
func (d *Document) baseEncoding(font, descriptor dict) *encoding {
	base := string(d.name(font["BaseFont"]))
	switch {
	case strings.HasSuffix(base, "Symbol"):
		return baseEncodings()["Symbol"]
	case d.name(font["Subtype"]) == "TrueType":
		return baseEncodings()["WinAnsiEncoding"]
	}
	return baseEncodings()["StandardEncoding"]
}

// differ applies what is different from the base encoding: a code, and the names
// of the glyphs from there on.
func (f *font) differ(d *Document, differences array) {
	at := 0
	for _, v := range differences {
		switch v := d.resolve(v).(type) {
		case float64:
			at = int(v)
		case name:
			if at >= 0 && at < 256 {
				f.chars[at] = 0
				if s, ok := glyphChars(v); ok {
					// Nearly all are one character; a ligature's letters come from
					// ToUnicode or are a character of their own.
					if r, size := utf8.DecodeRuneInString(s); size == len(s) {
						f.chars[at] = r
					} else {
						f.ligature(uint32(at), s)
					}
				}
			}
			at++
		}
	}
}

// ligature notes a code that stands for several characters.
func (f *font) ligature(c uint32, s string) {
	if f.toUnicode == nil {
		f.toUnicode = &cmap{chars: map[uint32]string{}}
	}
	if _, ok := f.toUnicode.text(c); !ok {
		f.toUnicode.chars[c] = s
	}
}

// builtIn reads the encoding that a Type 1 font brings with it, in the part of its
// program that is plain text: dup 27 /ff put.
func (f *font) builtIn(d *Document, descriptor dict) {
	s, ok := d.resolve(descriptor["FontFile"]).(*stream)
	if !ok {
		return
	}
	data, err := d.unpack(s)
	if err != nil {
		return
	}
	data = data[:min(len(data), max(0, d.integer(s.dict["Length1"])))]
	_, program, ok := bytes.Cut(data, []byte("/Encoding"))
	if !ok {
		return
	}
	l := d.lexer(program, 0)
	for range 2000 {
		l.nodes = 0
		switch l.token() {
		case keyword("dup"):
			c, ok := l.token().(float64)
			glyph, also := l.token().(name)
			if ok && also {
				f.differ(d, array{c, glyph})
			}
		case keyword("def"), ended{}:
			return
		}
	}
}

// legacyEncodings are the predefined CMaps (9.7.5.2) whose codes are a character
// set's, by what their names begin with.
var legacyEncodings = []struct {
	prefix   string
	encoding xencoding.Encoding
}{
	{"Uni", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	{"GB", simplifiedchinese.GB18030},
	{"B5", traditionalchinese.Big5},
	{"ETen", traditionalchinese.Big5},
	{"HKscs", traditionalchinese.Big5},
	{"90ms", japanese.ShiftJIS},
	{"90pv", japanese.ShiftJIS},
	{"83pv", japanese.ShiftJIS},
	{"EUC", japanese.EUCJP},
	{"KSC", korean.EUCKR},
}

// compositeFrom reads a font of several bytes a character.
func (f *font) compositeFrom(d *Document, font dict) {
	f.composite = true
	switch e := d.resolve(font["Encoding"]).(type) {
	case name:
		f.vertical = strings.HasSuffix(string(e), "-V")
		for _, l := range legacyEncodings {
			if strings.HasPrefix(string(e), l.prefix) {
				f.legacy = l.encoding
			}
		}
	case *stream:
		if data, err := d.unpack(e); err == nil {
			f.codes = d.parseCMap(data)
		}
		f.vertical = d.integer(e.dict["WMode"]) == 1
	}
	descendants := d.array(font["DescendantFonts"])
	if len(descendants) == 0 {
		return
	}
	cid := d.dict(descendants[0])
	f.missing = 1
	if w := d.resolve(cid["DW"]); w != nil {
		f.missing = d.number(w) / 1000
	}
	// Widths are by glyph; with Identity codes they are by code too, and with
	// others the default does for finding where words end.
	w := d.array(cid["W"])
	for i := 0; i+1 < len(w) && len(f.widths) < 1<<16; {
		from := d.integer(w[i])
		if list, ok := d.resolve(w[i+1]).(array); ok {
			for k, width := range list {
				f.widths[uint32(from+k)] = d.number(width) / 1000
			}
			i += 2
			continue
		}
		if i+2 >= len(w) {
			break
		}
		for c := from; c <= d.integer(w[i+1]) && len(f.widths) < 1<<16; c++ {
			f.widths[uint32(c)] = d.number(w[i+2]) / 1000
		}
		i += 3
	}
}

// A glyph is one code of a string.
type glyph struct {
	text  string // "\uFFFD" when nobody knows
	width float64
	space bool // it is the single byte 32, which word spacing applies to
}

// glyphs divides a string.
func (f *font) glyphs(s string, show func(glyph)) {
	if f.legacy != nil && f.toUnicode == nil {
		text, err := f.legacy.NewDecoder().String(s)
		if err != nil {
			text = "\uFFFD"
		}
		for _, r := range text {
			show(glyph{text: string(r), width: f.missing})
		}
		return
	}
	for len(s) > 0 {
		c, n := uint32(s[0]), 1
		if f.composite {
			c, n = f.next(s)
		}
		g := glyph{text: f.text(c), width: f.missing, space: n == 1 && c == ' '}
		if w, ok := f.widths[c]; ok {
			g.width = w
		}
		show(g)
		s = s[n:]
	}
}

func (f *font) next(s string) (uint32, int) {
	if f.codes != nil && len(f.codes.spaces) > 0 {
		return f.codes.next(s)
	}
	n := min(2, len(s))
	return code(s[:n]), n
}

func (f *font) text(c uint32) string {
	if f.toUnicode != nil {
		if s, ok := f.toUnicode.text(c); ok && s != "" && s != "\x00" {
			return s
		}
	}
	if !f.composite && f.chars[c&0xff] != 0 {
		return string(f.chars[c&0xff])
	}
	return "\uFFFD"
}
