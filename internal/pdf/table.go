package pdf

import (
	"bytes"
	"strconv"
)

// readTable reads the cross-reference sections from the newest to the oldest and
// reports whether that went well.
func (d *Document) readTable() bool {
	at := bytes.LastIndex(d.data, []byte("startxref"))
	if at < 0 {
		return false
	}
	next, ok := d.lexer(d.data, at+len("startxref")).token().(float64)
	seen := map[int]bool{}
	for ok {
		offset := int(next)
		if offset < 0 || offset >= len(d.data) || seen[offset] {
			break
		}
		if seen[offset] = true; len(seen) > maxSections {
			tooMuch("its cross-reference table has more than %d sections", maxSections)
		}
		section := d.readSection(offset)
		if section == nil {
			return false
		}
		if d.trailer == nil {
			d.trailer = section
		}
		// A file for old and new readers has a table and a stream (7.5.8.4).
		if more, is := section["XRefStm"].(float64); is && more > 0 && int(more) < len(d.data) {
			d.readSection(int(more))
		}
		next, ok = section["Prev"].(float64)
	}
	return d.trailer != nil
}

// readSection reads one section and returns its trailer, or nil.
func (d *Document) readSection(offset int) dict {
	l := d.lexer(d.data, offset)
	if l.token() == keyword("xref") {
		return d.readClassic(l)
	}
	s, _ := d.readObjectAt(offset, -1).(*stream)
	if s == nil || s.dict["Type"] != name("XRef") {
		return nil
	}
	d.readStreamSection(s)
	return s.dict
}

// readClassic reads a table of lines (7.5.4).
func (d *Document) readClassic(l *lexer) dict {
	for {
		l.nodes = 0
		first, ok := l.token().(float64)
		if !ok {
			break // trailer
		}
		n, _ := l.token().(float64)
		for i := range int(min(max(n, 0), maxObjects)) {
			l.nodes = 0
			offset, ok := l.token().(float64)
			if _, isNumber := l.token().(float64); !ok || !isNumber {
				return nil
			}
			if l.token() == keyword("n") {
				d.enter(int(first)+i, entry{offset: int(offset)})
			}
		}
	}
	trailer, _ := l.object(0).(dict)
	return trailer
}

// readStreamSection reads a table in a stream (7.5.8).
func (d *Document) readStreamSection(s *stream) {
	widths := d.array(s.dict["W"])
	if len(widths) < 3 {
		return
	}
	var w [3]int
	for i := range w {
		w[i] = d.integer(widths[i])
		if w[i] < 0 || w[i] > 8 {
			return
		}
	}
	data, _ := d.unpack(s)
	index := d.array(s.dict["Index"])
	if index == nil {
		index = array{0.0, s.dict["Size"]}
	}
	row := w[0] + w[1] + w[2]
	for i := 0; i+1 < len(index) && row > 0; i += 2 {
		first, n := d.integer(index[i]), d.integer(index[i+1])
		for k := 0; k < n && len(data) >= row; k++ {
			kind, a, b := 1, field(data[w[0]:w[0]+w[1]]), field(data[w[0]+w[1]:row])
			if w[0] > 0 {
				kind = field(data[:w[0]])
			}
			data = data[row:]
			switch kind {
			case 1:
				d.enter(first+k, entry{offset: a})
			case 2:
				d.enter(first+k, entry{stream: a, index: b})
			}
		}
	}
}

// field reads a number of a cross-reference stream; none is as long as to
// overflow that matters: an offset that is wrong leads nowhere.
func field(b []byte) (n int) {
	for _, c := range b {
		n = n<<8 | int(c)
	}
	return n
}

// enter puts an object into the table; newer sections are read first and win.
func (d *Document) enter(number int, e entry) {
	if number < 0 || number > maxNumber {
		return
	}
	if _, ok := d.entries[number]; ok {
		return
	}
	if len(d.entries) >= maxObjects {
		tooMuch("it has more than %d objects", maxObjects)
	}
	d.entries[number] = e
}

// repair makes a table of what is found in the file, for one whose own table is
// missing or wrong. Later objects replace earlier ones, as with changes that were
// appended.
func (d *Document) repair() {
	d.repaired = true
	clear(d.entries)
	clear(d.streams)
	d.kept = 0
	found := map[int]entry{}
	var streams []int
	for pos := 0; ; {
		i := bytes.Index(d.data[pos:], []byte("obj"))
		if i < 0 {
			break
		}
		d.spend(i)
		at := pos + i
		pos = at + 3
		number, offset, ok := objectBefore(d.data, at)
		if !ok {
			continue
		}
		if len(found) >= maxObjects {
			tooMuch("it has more than %d objects", maxObjects)
		}
		found[number] = entry{offset: offset}
		// The first bytes tell whether it is worth a look.
		head := d.data[pos:min(len(d.data), pos+300)]
		if bytes.Contains(head, []byte("ObjStm")) {
			streams = append(streams, number)
		}
		if bytes.Contains(head, []byte("XRef")) || bytes.Contains(head, []byte("Catalog")) {
			d.rootFrom(number, d.lexer(d.data, pos).object(0))
		}
	}
	for number, e := range found {
		d.entries[number] = e
	}
	for _, number := range streams {
		s := d.objectStream(number)
		if s == nil {
			continue
		}
		for i, n := range s.numbers {
			d.enter(n, entry{stream: number, index: i})
		}
		for i, n := range s.numbers {
			if d.trailer["Root"] == nil {
				d.rootFrom(n, s.object(d, i))
			}
		}
	}
	for pos := 0; ; {
		i := bytes.Index(d.data[pos:], []byte("trailer"))
		if i < 0 {
			return
		}
		pos += i + len("trailer")
		if t, ok := d.lexer(d.data, pos).object(0).(dict); ok && t["Root"] != nil {
			d.trailer = t
		}
	}
}

// rootFrom takes a trailer, or a catalog in the place of one.
func (d *Document) rootFrom(number int, v any) {
	switch o, _ := v.(dict); o["Type"] {
	case name("XRef"):
		if o["Root"] != nil {
			d.trailer = o
		}
	case name("Catalog"):
		if d.trailer["Root"] == nil {
			d.trailer = dict{"Root": ref{number, 0}, "Encrypt": d.trailer["Encrypt"]}
		}
	}
}

// objectBefore reads backwards from "obj" at a position: number generation obj.
func objectBefore(data []byte, at int) (number, offset int, ok bool) {
	digits := func(end int) (int, int, bool) {
		for end > 0 && isSpace(data[end-1]) {
			end--
		}
		from := end
		for from > 0 && end-from < 8 && data[from-1] >= '0' && data[from-1] <= '9' {
			from--
		}
		n, err := strconv.Atoi(string(data[from:end]))
		return n, from, err == nil
	}
	_, from, ok := digits(at)
	if !ok || from == 0 || !isSpace(data[from-1]) {
		return 0, 0, false
	}
	number, offset, ok = digits(from)
	return number, offset, ok && number <= maxNumber
}
