package pdf

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/ascii85"
	"fmt"
	"io"

	"golang.org/x/image/tiff/lzw"
)

// unpack returns the data of a stream as it is meant (7.4). A stream that breaks
// off in the middle yields what came before; the error is for those of which
// nothing can be had, as pictures.
func (d *Document) unpack(s *stream) ([]byte, error) {
	var filters, params array
	switch f := d.resolve(first(s.dict, "Filter", "F")).(type) {
	case name:
		filters = array{f}
		params = array{first(s.dict, "DecodeParms", "DP")}
	case array:
		filters, params = f, d.array(first(s.dict, "DecodeParms", "DP"))
	}
	if len(filters) > 8 {
		tooMuch("a stream in it is packed %d times over", len(filters))
	}
	data := s.raw
	for i, f := range filters {
		var p dict
		if i < len(params) {
			p = d.dict(params[i])
		}
		var err error
		if data, err = d.filter(d.name(f), p, data); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// first returns the value of the first of two keys that has one: inline images
// write the short ones.
func first(d dict, long, short name) any {
	if v, ok := d[long]; ok {
		return v
	}
	return d[short]
}

func (d *Document) filter(f name, p dict, data []byte) ([]byte, error) {
	switch f {
	case "FlateDecode", "Fl":
		var r io.Reader
		r, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil { // some leave the header out
			r = flate.NewReader(bytes.NewReader(data))
		}
		return d.predicted(d.readAll(r), p), nil
	case "LZWDecode", "LZW":
		// TIFF has the same variant: codes grow one earlier than in GIF.
		return d.predicted(d.readAll(lzw.NewReader(bytes.NewReader(data), lzw.MSB, 8)), p), nil
	case "ASCII85Decode", "A85":
		data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~"))
		if end := bytes.IndexByte(data, '~'); end >= 0 {
			data = data[:end]
		}
		return d.readAll(ascii85.NewDecoder(bytes.NewReader(data))), nil
	case "ASCIIHexDecode", "AHx":
		if end := bytes.IndexByte(data, '>'); end >= 0 {
			data = data[:end]
		}
		return unhex(data), nil
	case "RunLengthDecode", "RL":
		return d.readAll(&runLengths{data: data}), nil
	case "Crypt":
		return data, nil // of a document that is not encrypted
	}
	return nil, fmt.Errorf("a stream is packed with %.40s", f)
}

// readAll reads until the end, an error or a limit.
func (d *Document) readAll(r io.Reader) []byte {
	var out bytes.Buffer
	for {
		n, err := io.CopyN(&out, r, 256<<10)
		d.spend(0)
		if d.unpacked += int(n); out.Len() > maxStream || d.unpacked > maxUnpacked {
			tooMuch("what is packed in it is larger than %d MB, or %d MB in all", maxStream>>20, maxUnpacked>>20)
		}
		if err != nil {
			return out.Bytes()
		}
	}
}

// predicted undoes what was done to make data pack better (7.4.4.4).
func (d *Document) predicted(data []byte, p dict) []byte {
	predictor := d.integer(p["Predictor"])
	if predictor < 2 {
		return data
	}
	positive := func(key name, def, high int) int {
		n := d.integer(p[key])
		if n < 1 || n > high {
			return def
		}
		return n
	}
	bits := positive("Colors", 1, 32) * positive("BitsPerComponent", 8, 16)
	pixel := (bits + 7) / 8
	row := (bits*positive("Columns", 1, 1<<20) + 7) / 8
	if predictor == 2 { // TIFF; text has no other depth than 8 bits
		for from := 0; from+row <= len(data); from += row {
			for i := from + pixel; i < from+row; i++ {
				data[i] += data[i-pixel]
			}
		}
		return data
	}
	out := make([]byte, 0, len(data))
	above := make([]byte, row)
	for len(data) > 1 {
		kind, line := data[0], data[1:min(len(data), 1+row)]
		data = data[1+len(line):]
		for i := range line {
			var left, up, corner int
			if i >= pixel {
				left, corner = int(line[i-pixel]), int(above[i-pixel])
			}
			up = int(above[i])
			switch kind {
			case 1:
				line[i] += byte(left)
			case 2:
				line[i] += byte(up)
			case 3:
				line[i] += byte((left + up) / 2)
			case 4:
				line[i] += byte(paeth(left, up, corner))
			}
		}
		out = append(out, line...)
		copy(above, line)
	}
	return out
}

// paeth is the predictor of that name (PNG specification, 9.4).
func paeth(left, up, corner int) int {
	abs := func(n int) int { return max(n, -n) }
	p := left + up - corner
	switch l, u, c := abs(p-left), abs(p-up), abs(p-corner); {
	case l <= u && l <= c:
		return left
	case u <= c:
		return up
	}
	return corner
}

// runLengths unpacks runs of bytes (7.4.5).
type runLengths struct {
	data []byte
	out  []byte
}

func (r *runLengths) Read(b []byte) (int, error) {
	for len(r.out) == 0 {
		if len(r.data) < 2 || r.data[0] == 128 {
			return 0, io.EOF
		}
		n := int(r.data[0])
		if n > 128 {
			r.out = bytes.Repeat(r.data[1:2], 257-n)
			r.data = r.data[2:]
			continue
		}
		n = min(n+1, len(r.data)-1)
		r.out, r.data = r.data[1:1+n], r.data[1+n:]
	}
	n := copy(b, r.out)
	r.out = r.out[n:]
	return n, nil
}
