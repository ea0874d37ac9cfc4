package pdf

import "bytes"

// An entry says where an object is (7.5.4, 7.5.8): at an offset in the file, or
// as the index-th of an object stream.
type entry struct {
	offset int
	stream int // 0: none
	index  int
}

func (d *Document) open(content []byte) error {
	// Some files have something before the header; offsets count from it.
	start := bytes.Index(content[:min(len(content), 1024)], []byte("%PDF-"))
	if start < 0 {
		damaged("it does not begin as a PDF document does")
	}
	d.data = content[start:]
	if !d.readTable() || d.catalog() == nil {
		d.repair()
	}
	if d.trailer["Encrypt"] != nil {
		return ErrEncrypted
	}
	catalog := d.catalog()
	if catalog == nil {
		damaged("its catalog, which lists the pages, is missing")
	}
	d.walkPages(catalog["Pages"], nil, map[int]bool{}, 0)
	if len(d.pages) == 0 && !d.repaired {
		d.repair()
		d.walkPages(d.catalog()["Pages"], nil, map[int]bool{}, 0)
	}
	if len(d.pages) == 0 {
		damaged("no page of it can be found")
	}
	return nil
}

// catalog returns the document's root when it leads to pages.
func (d *Document) catalog() dict {
	c := d.dict(d.trailer["Root"])
	if d.dict(c["Pages"]) == nil {
		return nil
	}
	return c
}

// load returns an object by its number; nil when there is none.
func (d *Document) load(number int) any {
	e, ok := d.entries[number]
	if !ok {
		return nil
	}
	if d.loading++; d.loading > maxDepth {
		tooMuch("its references lead on for more than %d steps", maxDepth)
	}
	defer func() { d.loading-- }()
	if e.stream != 0 {
		s := d.objectStream(e.stream)
		if s == nil {
			return nil
		}
		if e.index >= len(s.numbers) || e.index < 0 || s.numbers[e.index] != number {
			for i, n := range s.numbers {
				if n == number {
					return s.object(d, i)
				}
			}
			return nil
		}
		return s.object(d, e.index)
	}
	v := d.readObjectAt(e.offset, number)
	if v == nil && !d.repaired && !d.isObject(e.offset, number) {
		d.repair() // the table is wrong
		return d.load(number)
	}
	return v
}

// isObject reports whether an object of that number is at an offset.
func (d *Document) isObject(offset, number int) bool {
	if offset < 0 || offset >= len(d.data) {
		return false
	}
	l := d.lexer(d.data, offset)
	return l.token() == float64(number)
}

// readObjectAt reads the object at an offset of the file: nil when there is none
// of that number. A negative number is any.
func (d *Document) readObjectAt(offset, number int) any {
	if offset < 0 || offset >= len(d.data) {
		return nil
	}
	l := d.lexer(d.data, offset)
	n, ok := l.token().(float64)
	if _, generation := l.token().(float64); !ok || !generation || number >= 0 && n != float64(number) || l.token() != keyword("obj") {
		return nil
	}
	v := l.object(0)
	header, ok := v.(dict)
	if !ok {
		if _, none := v.(keyword); none {
			return nil
		}
		return v
	}
	l.skip()
	if !bytes.HasPrefix(l.data[l.pos:], []byte("stream")) {
		return header
	}
	from := l.pos + len("stream")
	if from < len(l.data) && l.data[from] == '\r' {
		from++
	}
	if from < len(l.data) && l.data[from] == '\n' {
		from++
	}
	return &stream{header, d.streamData(from, d.integer(header["Length"]))}
}

// streamData returns the data of a stream that begins at a position. The length
// that is given is often wrong: what counts is where endstream stands.
func (d *Document) streamData(from, length int) []byte {
	rest := d.data[min(from, len(d.data)):]
	if length > 0 && length <= len(rest) {
		behind := bytes.TrimLeft(rest[length:min(len(rest), length+16)], "\r\n \t")
		if bytes.HasPrefix(behind, []byte("endstr")) {
			return rest[:length]
		}
	}
	end := bytes.Index(rest, []byte("endstream"))
	if end < 0 {
		end = len(rest)
	}
	d.spend(end)
	return rest[:end]
}

// An objectStream is objects that are packed together (7.5.7).
type objectStream struct {
	data    []byte
	numbers []int
	offsets []int // in data
}

// objectStream returns the object stream of that number, or nil.
func (d *Document) objectStream(number int) *objectStream {
	if s, ok := d.streams[number]; ok {
		return s
	}
	// An object stream is no part of another.
	if d.entries[number].stream != 0 {
		return nil
	}
	raw, _ := d.load(number).(*stream)
	if raw == nil || raw.dict["Type"] != name("ObjStm") {
		return nil
	}
	data, _ := d.unpack(raw)
	s := &objectStream{data: data}
	l := d.lexer(data, 0)
	first := d.integer(raw.dict["First"])
	for range min(d.integer(raw.dict["N"]), maxObjects) {
		l.nodes = 0
		n, ok := l.token().(float64)
		offset, also := l.token().(float64)
		if !ok || !also {
			break
		}
		s.numbers = append(s.numbers, int(n))
		s.offsets = append(s.offsets, first+int(offset))
	}
	if d.kept += len(data) + 16*len(s.numbers); d.kept > maxKept {
		clear(d.streams)
		d.kept = len(data)
	}
	d.streams[number] = s
	return s
}

func (s *objectStream) object(d *Document, i int) any {
	if s.offsets[i] < 0 || s.offsets[i] >= len(s.data) {
		return nil
	}
	v := d.lexer(s.data, s.offsets[i]).object(0)
	if _, none := v.(keyword); none {
		return nil
	}
	return v
}

// resolve follows references until something else is found.
func (d *Document) resolve(v any) any {
	for range maxDepth {
		r, ok := v.(ref)
		if !ok {
			return v
		}
		v = d.load(r.number)
	}
	return nil
}

// dict returns v as a dictionary, a stream's own for a stream; nil for others.
func (d *Document) dict(v any) dict {
	switch v := d.resolve(v).(type) {
	case dict:
		return v
	case *stream:
		return v.dict
	}
	return nil
}

func (d *Document) array(v any) array {
	a, _ := d.resolve(v).(array)
	return a
}

func (d *Document) number(v any) float64 {
	n, _ := d.resolve(v).(float64)
	return n
}

func (d *Document) integer(v any) int {
	n := d.number(v)
	if n > 1<<40 || n < -1<<40 {
		return 0
	}
	return int(n)
}

func (d *Document) name(v any) name {
	n, _ := d.resolve(v).(name)
	return n
}
