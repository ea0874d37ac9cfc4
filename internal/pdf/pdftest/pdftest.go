// Package pdftest makes PDF documents for tests: right ones, and ones that are
// wrong on purpose.
package pdftest

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

// A File is a document being made. Object 1 is to be the catalog. The zero value
// is an empty one.
type File struct {
	objects []object
}

type object struct {
	body   string
	stream bool
}

// Add adds an object and returns its number.
func (f *File) Add(body string) int {
	f.objects = append(f.objects, object{body: body})
	return len(f.objects)
}

// Stream adds a stream and returns its number; dict is what its dictionary has
// besides the length.
func (f *File) Stream(dict, data string) int {
	f.objects = append(f.objects, object{fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(data), dict, data), true})
	return len(f.objects)
}

// Deflated adds a compressed stream and returns its number.
func (f *File) Deflated(dict, data string) int {
	return f.Stream("/Filter /FlateDecode "+dict, Deflate(data))
}

// Deflate compresses data.
func Deflate(data string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(data))
	_ = w.Close()
	return b.String()
}

// Bytes returns the document with a classic table; trailer is what the trailer
// has besides size and root.
func (f *File) Bytes(trailer string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	var offsets []int
	for i, o := range f.objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o.body)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(f.objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(f.objects)+1, trailer, at)
	return b.Bytes()
}

// Packed returns the document with all that is no stream in an object stream, and
// the table in a stream with a predictor, as most programs write it now.
func (f *File) Packed() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	var index, packed strings.Builder
	rows := make([][4]byte, len(f.objects)+3)
	inStream := 0
	container := len(f.objects) + 1
	for i, o := range f.objects {
		if o.stream {
			rows[i+1] = [4]byte{1, byte(b.Len() >> 8), byte(b.Len()), 0}
			fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o.body)
			continue
		}
		rows[i+1] = [4]byte{2, byte(container >> 8), byte(container), byte(inStream)}
		fmt.Fprintf(&index, "%d %d ", i+1, packed.Len())
		packed.WriteString(o.body + " ")
		inStream++
	}
	stream := func(number int, dict, data string) {
		rows[number] = [4]byte{1, byte(b.Len() >> 8), byte(b.Len()), 0}
		data = Deflate(data)
		fmt.Fprintf(&b, "%d 0 obj\n<< /Length %d /Filter /FlateDecode %s >>\nstream\n%s\nendstream\nendobj\n", number, len(data), dict, data)
	}
	stream(container, fmt.Sprintf("/Type /ObjStm /N %d /First %d", inStream, index.Len()), index.String()+packed.String())
	at := b.Len()
	table := container + 1
	rows[table] = [4]byte{1, byte(at >> 8), byte(at), 0}
	var predicted bytes.Buffer
	var above [4]byte
	for _, row := range rows {
		predicted.WriteByte(2) // up
		for i := range row {
			predicted.WriteByte(row[i] - above[i])
		}
		above = row
	}
	stream(table, fmt.Sprintf("/Type /XRef /Size %d /Root 1 0 R /W [1 2 1] /DecodeParms << /Predictor 12 /Columns 4 >>", len(rows)), predicted.String())
	fmt.Fprintf(&b, "startxref\n%d\n%%%%EOF\n", at)
	return b.Bytes()
}

// Pages returns a document whose pages have this content, each with the resources
// that are given.
func Pages(resources string, contents ...string) *File {
	f := &File{}
	f.Add("<< /Type /Catalog /Pages 2 0 R >>")
	var kids strings.Builder
	for i := range contents {
		fmt.Fprintf(&kids, "%d 0 R ", 3+2*i)
	}
	f.Add(fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] /Resources << %s >> >>", len(contents), kids.String(), resources))
	for i, c := range contents {
		f.Add(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R >>", 4+2*i))
		f.Deflated("", c)
	}
	return f
}

// Helvetica are resources with a font F1 for text in WinAnsi.
const Helvetica = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >> >>"

// Text returns a document of pages of text, in Windows-1252.
func Text(pages ...string) *File {
	var contents []string
	for _, page := range pages {
		var b strings.Builder
		b.WriteString("BT /F1 12 Tf 14 TL 72 720 Td\n")
		for line := range strings.SplitSeq(page, "\n") {
			line = strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(line)
			fmt.Fprintf(&b, "(%s) Tj T*\n", line)
		}
		b.WriteString("ET\n")
		contents = append(contents, b.String())
	}
	return Pages(Helvetica, contents...)
}
