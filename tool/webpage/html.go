// Package webpage reads an HTML page as a person would: its main part, without what is hidden, as Markdown. It
// loads nothing and runs nothing, and takes time and memory that grow with the page alone, however it is written.
package webpage

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A Page is what a person would read of a page.
type Page struct {
	Title string
	Text  string // Markdown
	Main  bool   // Text is the main part alone
}

const (
	// maxOpen is how many elements may be open, one in the other; x/net/html has
	// the same limit. What is deeper is read as if it were not.
	maxOpen = 512
	// minMain is how many bytes a part that is marked as the main one must have to
	// be taken for the page.
	minMain = 200
)

// Read reads the page that is at base; links says whether links and pictures keep their
// addresses. When ctx is done it returns what it has read. It goes through the tokens
// once and makes no tree: html.Parse makes up to hundreds of nodes of a single tag, as
// the standard demands, and a page of 10 MB can be written to have billions.
func Read(ctx context.Context, source string, base *url.URL, links bool) Page {
	r := &reader{base: base, links: links, count: map[atom.Atom]int{}}
	z := html.NewTokenizer(strings.NewReader(source))
	for n := 0; n%1000 != 0 || ctx.Err() == nil; n++ {
		switch z.Next() {
		case html.ErrorToken:
			return r.page()
		case html.TextToken:
			r.text(string(z.Text()))
		case html.StartTagToken:
			r.start(z.Token(), false)
		case html.SelfClosingTagToken:
			r.start(z.Token(), true)
		case html.EndTagToken:
			r.end(z.Token())
		}
	}
	return r.page()
}

// An reader turns tokens into blocks of text.
type reader struct {
	base  *url.URL
	links bool

	out    strings.Builder // finished blocks
	line   []byte          // of the block that is being read
	blank  bool            // a blank is due before the next word
	apart  bool            // an empty line is due before the next block
	open   []element
	count  map[atom.Atom]int // how many of each are open, so that few are looked for in vain
	hidden int               // how many open elements are hidden
	pre    int               // how many keep their blanks
	title  strings.Builder

	// The part of out that is marked as the page's content, and by what.
	mainStart, mainEnd int
	mainPart           part
	articles           int
}

// A part is what marks an element as the content of the page.
type part int

const (
	article part = 1 + iota // when there is one alone
	theMain                 // wins over articles
)

// An element is an open one.
type element struct {
	name   atom.Atom
	custom string // the name of one that is no element of HTML
	hidden bool
	part   part
	// Of a: where its text begins in the line, and where it leads. Of a part: where
	// it begins in out.
	from int
	href string
	// Of ol: the number of the next item. Of what begins with a mark, as li does: the
	// mark until it is written, and how far its further lines are indented.
	next   int
	mark   string
	indent int
	// Of tr: the cells so far; of table: the rows. A table that holds lists, tables,
	// headings is there for the layout and is read as blocks.
	cells  []string
	rows   int
	layout bool
	code   string // of pre: the language
}

var (
	// unseen are elements whose content is not read as text.
	unseen = set(atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Math, atom.Iframe, atom.Object,
		atom.Canvas, atom.Audio, atom.Video, atom.Select, atom.Datalist, atom.Noembed, atom.Noframes, atom.Textarea)
	void = set(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link,
		atom.Meta, atom.Source, atom.Track, atom.Wbr)
	// blocks begin and end a block of text; an empty line stands between those in
	// the second list and others.
	blocks = set(atom.Address, atom.Article, atom.Aside, atom.Body, atom.Caption, atom.Dd, atom.Details, atom.Dialog, atom.Div, atom.Dl,
		atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.Head, atom.Header, atom.Hr, atom.Html,
		atom.Legend, atom.Li, atom.Main, atom.Nav, atom.Section, atom.Summary, atom.Tbody, atom.Tfoot, atom.Thead, atom.Tr, atom.Title,
		atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Pre, atom.Blockquote, atom.Table)
	paragraph  = set(atom.P)
	paragraphs = set(atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Dl, atom.Pre, atom.Blockquote, atom.Table)
	headings   = map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}
	// structures in a cell mean that the table is there for the layout.
	structures = set(atom.Table, atom.Ul, atom.Ol, atom.Pre, atom.Blockquote, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6)
	// ends are the elements whose end tag is left out before another of their kind,
	// and what they do not reach beyond.
	ends = map[atom.Atom]struct{ close, within map[atom.Atom]bool }{
		atom.Li:    {set(atom.Li), set(atom.Ul, atom.Ol)},
		atom.Dt:    {set(atom.Dt, atom.Dd), set(atom.Dl)},
		atom.Dd:    {set(atom.Dt, atom.Dd), set(atom.Dl)},
		atom.Tr:    {set(atom.Tr), set(atom.Table)},
		atom.Td:    {set(atom.Td, atom.Th), set(atom.Tr, atom.Table)},
		atom.Th:    {set(atom.Td, atom.Th), set(atom.Tr, atom.Table)},
		atom.Tbody: {set(atom.Thead, atom.Tbody), set(atom.Table)},
		atom.Tfoot: {set(atom.Thead, atom.Tbody), set(atom.Table)},
		atom.A:     {set(atom.A), set(atom.Table)},
	}
)

func set(atoms ...atom.Atom) map[atom.Atom]bool {
	m := map[atom.Atom]bool{}
	for _, a := range atoms {
		m[a] = true
	}
	return m
}

// start begins an element.
func (r *reader) start(t html.Token, selfClosing bool) {
	name := t.DataAtom
	if e, ok := ends[name]; ok {
		r.closeImplied(e.close, e.within)
	}
	if blocks[name] {
		r.closeImplied(paragraph, blocks)
	}
	attr := attributes(t)
	e := element{name: name, hidden: unseen[name] || isHidden(name, attr)}
	if name == 0 {
		if !e.hidden {
			return // it means nothing
		}
		e.custom = t.Data
	}
	if r.hidden == 0 && !e.hidden {
		r.begin(&e, attr)
	}
	if void[name] || selfClosing && r.unclosed() || len(r.open) >= maxOpen {
		return
	}
	if e.hidden {
		r.hidden++
	}
	if name == atom.Pre || name == atom.Listing {
		r.pre++
	}
	r.open = append(r.open, e)
	r.count[name]++
}

// unclosed reports whether elements here end themselves, as in drawings.
func (r *reader) unclosed() bool { return r.count[atom.Svg]+r.count[atom.Math] > 0 }

func attributes(t html.Token) map[string]string {
	m := map[string]string{}
	for _, a := range t.Attr {
		if _, ok := m[a.Key]; !ok {
			m[a.Key] = a.Val
		}
	}
	return m
}

// isHidden reports whether an element says itself that it is not shown. What style
// sheets hide cannot be known here.
func isHidden(name atom.Atom, attr map[string]string) bool {
	if v, ok := attr["hidden"]; ok && v != "until-found" {
		return true
	}
	if _, open := attr["open"]; name == atom.Dialog && !open {
		return true
	}
	style := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, attr["style"])
	for property := range strings.SplitSeq(style, ";") {
		switch strings.TrimSuffix(property, "!important") {
		case "display:none", "visibility:hidden", "visibility:collapse", "opacity:0", "opacity:0.0", "font-size:0", "font-size:0px":
			return true
		}
	}
	return false
}

// begin does what a visible element's beginning means.
func (r *reader) begin(e *element, attr map[string]string) {
	if structures[e.name] {
		r.leaveCell()
	}
	if blocks[e.name] {
		r.flush()
		r.apart = r.apart || r.standsApart(e.name)
	}
	switch e.name {
	case atom.Br:
		if r.cell() != nil {
			r.blank = true
		} else {
			r.line = append(r.line, '\n')
			r.blank = false
		}
	case atom.Hr:
		r.apart = true
		r.line = append(r.line, "---"...)
		r.flush()
		r.apart = true
	case atom.Base:
		if to, err := r.base.Parse(attr["href"]); err == nil && attr["href"] != "" {
			r.base = to
		}
	case atom.Img:
		r.picture(attr)
	case atom.A:
		r.word()
		e.from, e.href = len(r.line), r.address(attr["href"])
	case atom.Code, atom.Kbd, atom.Samp:
		if r.pre == 0 && r.links {
			r.word()
			r.line = append(r.line, '`')
		} else if p := r.nearest(atom.Pre); p != nil && p.code == "" {
			p.code = codeLanguage(attr)
		}
	case atom.Pre:
		e.code = codeLanguage(attr)
	case atom.Ol:
		e.next = 1
		_, _ = fmt.Sscanf(attr["start"], "%d", &e.next)
	case atom.Li:
		e.mark = "- "
		if list := r.nearest(atom.Ul, atom.Ol); list != nil && list.name == atom.Ol {
			e.mark = fmt.Sprintf("%d. ", list.next)
			list.next++
		}
		e.indent = len(e.mark)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		e.mark = strings.Repeat("#", headings[e.name]) + " "
	case atom.Dd:
		e.mark, e.indent = "  ", 2
	}
	switch {
	case e.name == atom.Main, attr["role"] == "main":
		e.part = theMain
	case e.name == atom.Article && r.nearest(atom.Article) == nil:
		e.part = article
	default:
		return
	}
	r.flush()
	e.from = r.out.Len()
}

// end ends an element; an end without a beginning is passed over.
func (r *reader) end(t html.Token) {
	name := t.DataAtom
	for i := len(r.open) - 1; i >= 0 && r.count[name] > 0; i-- {
		if r.open[i].name == name && (name != 0 || r.open[i].custom == t.Data) {
			r.closeTo(i)
			return
		}
		if r.open[i].name == atom.Table && !blocks[name] {
			return // an inline element's end does not reach out of a table
		}
	}
}

// closeImplied ends an element whose own end tag was left out.
func (r *reader) closeImplied(close, within map[atom.Atom]bool) {
	open := 0
	for name := range close {
		open += r.count[name]
	}
	for i := len(r.open) - 1; i >= 0 && open > 0; i-- {
		name := r.open[i].name
		if close[name] {
			r.closeTo(i)
			return
		}
		if within[name] {
			return
		}
	}
}

// closeTo ends the open elements down to the i-th.
func (r *reader) closeTo(i int) {
	for len(r.open) > i {
		e := r.open[len(r.open)-1]
		if e.name == atom.Pre || e.name == atom.Listing {
			if r.hidden == 0 {
				r.flushCode(e.code)
			}
			r.pre--
		}
		visible := r.hidden == 0
		if visible {
			r.finish(e)
		}
		r.open = r.open[:len(r.open)-1]
		r.count[e.name]--
		if e.hidden {
			r.hidden--
		} else if visible {
			r.finished(e)
		}
	}
}

// finish does what a visible element's end means while it is still open.
func (r *reader) finish(e element) {
	switch e.name {
	case atom.A:
		r.endLink(e)
	case atom.Code, atom.Kbd, atom.Samp:
		if r.pre == 0 && r.links {
			r.line = append(r.line, '`')
		}
	case atom.Td, atom.Th:
		if row := r.cell(); row != nil {
			row.cells = append(row.cells, strings.Join(strings.Fields(string(r.line)), " "))
			r.line, r.blank = r.line[:0], false
		}
	}
	if blocks[e.name] {
		r.flush()
	}
}

// finished does what follows when it is closed.
func (r *reader) finished(e element) {
	if e.name == atom.Tr {
		r.row(e)
	}
	r.apart = r.apart || r.standsApart(e.name)
	if e.part == article {
		r.articles++
	}
	if e.part > r.mainPart || e.part == article && r.mainPart == article {
		r.mainPart, r.mainStart, r.mainEnd = e.part, e.from, r.out.Len()
	}
}

// nearest returns the innermost open element of these names.
func (r *reader) nearest(names ...atom.Atom) *element {
	open := 0
	for _, n := range names {
		open += r.count[n]
	}
	for i := len(r.open) - 1; i >= 0 && open > 0; i-- {
		for _, n := range names {
			if r.open[i].name == n {
				return &r.open[i]
			}
		}
	}
	return nil
}
