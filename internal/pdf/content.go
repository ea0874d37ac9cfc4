package pdf

import "bytes"

// A matrix is [a b c d e f] (8.3.3): x' = ax + cy + e, y' = bx + dy + f.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// times returns the matrix that does m and then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

func (m matrix) at(x, y float64) point {
	return point{m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]}
}

// A drawing carries out the content of a page as far as text goes (8.4, 9.3, 9.4).
type drawing struct {
	d         *Document
	resources dict
	out       layout
	images    int
	forms     int
	depth     int

	state
	saved    []state
	tm, line matrix
}

// A state is what q saves and Q restores.
type state struct {
	ctm                    matrix
	font                   *font
	size, chars, words     float64 // spacing
	scale, leading, raised float64
}

func (d *Document) page(node pageNode) Page {
	p := d.dict(node.page)
	g := &drawing{d: d, state: state{ctm: identity, scale: 1}, tm: identity, line: identity}
	g.resources = d.dict(p["Resources"])
	if g.resources == nil {
		g.resources = d.dict(node.resources)
	}
	// The streams of a page are one content that is cut anywhere between tokens.
	var content []byte
	switch c := d.resolve(p["Contents"]).(type) {
	case *stream:
		content, _ = d.unpack(c)
	case array:
		for _, v := range c {
			if s, ok := d.resolve(v).(*stream); ok {
				data, _ := d.unpack(s)
				content = append(append(content, data...), '\n')
			}
			if len(content) > maxStream {
				tooMuch("the content of a page has more than %d MB", maxStream>>20)
			}
		}
	}
	g.run(content)
	return Page{Text: g.out.text(), Images: g.images, Unknown: g.out.unknown}
}

// run carries out a content stream.
func (g *drawing) run(content []byte) {
	l := g.d.lexer(content, 0)
	var operands []any
	for {
		switch v := l.object(0).(type) {
		case ended:
			return
		case keyword:
			if v == "BI" {
				g.inlineImage(l)
			} else {
				g.operate(v, operands)
			}
			operands = operands[:0]
		default:
			if len(operands) < 64 { // no operator has as many
				operands = append(operands, v)
			}
		}
	}
}

// operate carries out an operator. What is missing of its operands is zero.
func (g *drawing) operate(op keyword, operands []any) {
	n := func(i int) float64 {
		if i < len(operands) {
			f, _ := operands[i].(float64)
			return f
		}
		return 0
	}
	str := func(i int) string {
		if i < len(operands) {
			s, _ := operands[i].(string)
			return s
		}
		return ""
	}
	switch op {
	case "q":
		if len(g.saved) < 1000 {
			g.saved = append(g.saved, g.state)
		}
	case "Q":
		if last := len(g.saved) - 1; last >= 0 {
			g.state, g.saved = g.saved[last], g.saved[:last]
		}
	case "cm":
		g.ctm = matrix{n(0), n(1), n(2), n(3), n(4), n(5)}.times(g.ctm)
	case "BT":
		g.tm, g.line = identity, identity
	case "Tf":
		g.size = n(1)
		g.font = nil
		if len(operands) > 0 {
			key, _ := operands[0].(name)
			if f := g.d.dict(g.resources["Font"])[key]; f != nil {
				g.font = g.d.font(f)
			}
		}
	case "Tc":
		g.chars = n(0)
	case "Tw":
		g.words = n(0)
	case "Tz":
		g.scale = n(0) / 100
	case "TL":
		g.leading = n(0)
	case "Ts":
		g.raised = n(0)
	case "Td":
		g.move(n(0), n(1))
	case "TD":
		g.leading = -n(1)
		g.move(n(0), n(1))
	case "Tm":
		g.line = matrix{n(0), n(1), n(2), n(3), n(4), n(5)}
		g.tm = g.line
	case "T*":
		g.move(0, -g.leading)
	case "Tj":
		g.show(str(0))
	case "'":
		g.move(0, -g.leading)
		g.show(str(0))
	case `"`:
		g.words, g.chars = n(0), n(1)
		g.move(0, -g.leading)
		g.show(str(2))
	case "TJ":
		if len(operands) > 0 {
			a, _ := operands[0].(array)
			for _, v := range a {
				switch v := v.(type) {
				case string:
					g.show(v)
				case float64:
					g.advance(-v/1000*g.size, 0)
				}
			}
		}
	case "Do":
		if len(operands) > 0 {
			key, _ := operands[0].(name)
			g.draw(g.d.dict(g.resources["XObject"])[key])
		}
	}
}

func (g *drawing) move(x, y float64) {
	g.line = matrix{1, 0, 0, 1, x, y}.times(g.line)
	g.tm = g.line
}

// advance moves on along the line: by size, and by spacing that is not scaled by
// the font.
func (g *drawing) advance(by, spacing float64) {
	if g.font != nil && g.font.vertical {
		g.tm = matrix{1, 0, 0, 1, 0, by - spacing}.times(g.tm)
		return
	}
	g.tm = matrix{1, 0, 0, 1, (by + spacing) * g.scale, 0}.times(g.tm)
}

// show shows a string.
func (g *drawing) show(s string) {
	if g.font == nil {
		g.font = &font{chars: *baseEncodings()["StandardEncoding"], missing: 0.5}
	}
	g.d.spend(len(s))
	g.font.glyphs(s, func(c glyph) {
		m := g.tm.times(g.ctm)
		spacing := g.chars
		if c.space {
			spacing += g.words
		}
		from := m.at(0, g.raised)
		height := from.to(m.at(0, g.raised+g.size)).length()
		by := c.width * g.size
		if g.font.vertical {
			by = -g.size
		}
		g.advance(by, 0)
		until := g.tm.times(g.ctm).at(0, g.raised)
		g.advance(0, spacing)
		g.out.add(c.text, from, until, height)
	})
}

// draw draws an external object (8.8): a picture is counted, a form is content of
// its own (8.10).
func (g *drawing) draw(v any) {
	s, ok := g.d.resolve(v).(*stream)
	if !ok {
		return
	}
	if g.d.name(s.dict["Subtype"]) == "Image" {
		g.images++
		return
	}
	if g.d.name(s.dict["Subtype"]) != "Form" || g.depth > 20 {
		return
	}
	if g.forms++; g.forms > maxForms {
		tooMuch("a page of it draws more than %d forms", maxForms)
	}
	content, err := g.d.unpack(s)
	if err != nil {
		return
	}
	before, resources, saved := g.state, g.resources, g.saved
	g.saved = nil
	if m := g.d.array(s.dict["Matrix"]); len(m) == 6 {
		var form matrix
		for i := range form {
			form[i] = g.d.number(m[i])
		}
		g.ctm = form.times(g.ctm)
	}
	if r := g.d.dict(s.dict["Resources"]); r != nil {
		g.resources = r
	}
	g.depth++
	g.run(content)
	g.depth--
	g.state, g.resources, g.saved = before, resources, saved
}

// inlineImage passes over a picture in the content (8.9.7): its dictionary, ID,
// its data, EI.
func (g *drawing) inlineImage(l *lexer) {
	g.images++
	for {
		switch v := l.object(0); v {
		case keyword("ID"):
			for rest := l.data[min(l.pos+1, len(l.data)):]; ; {
				i := bytes.Index(rest, []byte("EI"))
				if i < 0 {
					l.pos = len(l.data)
					return
				}
				before := len(l.data) - len(rest) + i
				rest = rest[i+2:]
				if isSpace(l.data[before-1]) && (len(rest) == 0 || isSpace(rest[0])) {
					l.pos = before + 2
					return
				}
			}
		case ended{}:
			return
		}
	}
}
