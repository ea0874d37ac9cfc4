package pdf_test

import (
	"bytes"
	"context"
	"encoding/ascii85"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/pdf"
	"pawl/internal/pdf/pdftest"
)

func TestPagesComeInTheirOrder(t *testing.T) {
	t.Parallel()
	f := pdftest.Text("First page.\nIts (second) line.", "Caf\xe9", "Third")
	want := []string{"First page.\nIts (second) line.\n", "Café\n", "Third\n"}
	for form, content := range map[string][]byte{
		"with a table":                       f.Bytes(""),
		"packed":                             f.Packed(),
		"something before its header":        append([]byte("\r\nHTTP noise\n"), f.Bytes("")...),
		"offsets that are wrong":             bytes.Replace(f.Bytes(""), []byte("%\xe2\xe3\xcf\xd3\n"), nil, 1),
		"no table":                           f.Bytes("")[:bytes.Index(f.Bytes(""), []byte("xref\n"))],
		"packed, without table":              f.Packed()[:bytes.LastIndex(f.Packed(), []byte("startxref"))],
		"packed, its end lost":               f.Packed()[:bytes.Index(f.Packed(), []byte("/Type /XRef"))-40],
		"a length that is wrong":             bytes.ReplaceAll(f.Bytes(""), []byte("/Length "), []byte("/Length 9")),
		"changes appended":                   append(f.Bytes(""), []byte("\n% nothing more\nstartxref\n0\n%%EOF")...),
		"line ends of a Macintosh, in parts": bytes.ReplaceAll(f.Bytes(""), []byte(" obj\n"), []byte(" obj\r")),
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, texts(t, content)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAFontSaysWhatItsCodesMean(t *testing.T) {
	t.Parallel()
	const toUnicode = "/CIDInit /ProcSet findresource begin begincmap\n" +
		"1 begincodespacerange <0000> <ffff> endcodespacerange\n" +
		"2 beginbfchar <0001> <00660066> <0002> <D83DDE00> endbfchar\n" +
		"2 beginbfrange <0010> <0019> <0061> <0020> <0021> [<00e9> <4e2d>] endbfrange\nendcmap"
	for _, c := range []struct {
		name, font, show, want string
		more                   func(f *pdftest.File) // object 5 and on
	}{
		{name: "by its encoding", font: "/Subtype /Type1 /Encoding /MacRomanEncoding", show: "(caf\x8e \xde)", want: "café fi"},
		{name: "by Standard without one", font: "/Subtype /Type1 /BaseFont /Times-Roman", show: "(`a' \xae \xb1 \xfa)", want: "‘a’ fi – œ"},
		{name: "by WinAnsi for TrueType", font: "/Subtype /TrueType", show: `(\200 5 \223x\224)`, want: "€ 5 “x”"},
		{name: "by Symbol", font: "/Subtype /Type1 /BaseFont /Symbol", show: "(abG \xb3)", want: "αβΓ ≥"},
		{name: "by differences from one", font: "/Subtype /Type1 /Encoding << /BaseEncoding /WinAnsiEncoding /Differences [1 /eacute /f_f_i /uni20AC /u1F600 65 /Lslash /a.alt /g99] >>",
			show: `(\001\002\003\004ABCx)`, want: "éffi€😀Ła\uFFFDx"},
		{name: "by its own program", font: "/Subtype /Type1 /FontDescriptor << /FontFile 5 0 R >>", show: `(\013\033x)`, want: "ffΩx",
			more: func(f *pdftest.File) {
				program := "%!PS-AdobeFont\n/Encoding 256 array 0 1 255 {1 index exch /.notdef put} for\ndup 11 /ff put\ndup 27 /Omega put\nreadonly def\ncurrentfile eexec"
				f.Deflated(fmt.Sprintf("/Length1 %d", len(program)), program)
			}},
		{name: "by ToUnicode", font: "/Subtype /Type0 /Encoding /Identity-H /ToUnicode 5 0 R", show: "<00010002 0010 0019 0020 0021 0077>", want: "ff😀ajé中\uFFFD",
			more: func(f *pdftest.File) { f.Deflated("", toUnicode) }},
		{name: "by ToUnicode before its encoding", font: "/Subtype /TrueType /ToUnicode 5 0 R", show: "(AB)", want: "ZB",
			more: func(f *pdftest.File) { f.Stream("", "1 beginbfchar <41> <005A> endbfchar") }},
		{name: "by codes of one and two bytes", font: "/Subtype /Type0 /Encoding 5 0 R /ToUnicode 6 0 R", show: "<41 8001 42>", want: "A中B",
			more: func(f *pdftest.File) {
				f.Stream("/Type /CMap", "2 begincodespacerange <00> <7f> <8000> <ffff> endcodespacerange")
				f.Stream("", "1 beginbfrange <41> <5a> <0041> endbfrange 1 beginbfchar <8001> <4e2d> endbfchar")
			}},
		{name: "by a character set of China", font: "/Subtype /Type0 /Encoding /GBK-EUC-H", show: "<d6d0cec4>", want: "中文"},
		{name: "by Unicode", font: "/Subtype /Type0 /Encoding /UniJIS-UTF16-H", show: "<65e5672c>", want: "日本"},
		{name: "by one of Japan", font: "/Subtype /Type0 /Encoding /90ms-RKSJ-H", show: "<93fa967b>", want: "日本"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := pdftest.Pages("/Font << /F1 << /Type /Font "+c.font+" >> >>", "BT /F1 10 Tf 50 50 Td "+c.show+" Tj ET")
			if c.more != nil {
				c.more(f)
			}
			p := page(t, f.Bytes(""), 1)
			if p.Text != c.want+"\n" || p.Unknown != strings.Count(c.want, "\uFFFD") {
				t.Errorf("got %q, %d unknown; want %q", p.Text, p.Unknown, c.want)
			}
		})
	}
}

func TestStreamsAreUnpacked(t *testing.T) {
	t.Parallel()
	const content = "BT /F1 10 Tf 50 50 Td (packed and packed and packed) Tj ET "
	var a85 bytes.Buffer
	w := ascii85.NewEncoder(&a85)
	_, _ = w.Write([]byte(pdftest.Deflate(content)))
	_ = w.Close()
	// The rows of 9 bytes carry each kind of PNG prediction.
	rows := content + strings.Repeat(" ", 9-len(content)%9)
	for _, c := range []struct{ name, dict, data string }{
		{"not at all", "", content},
		{"by ASCII85 and deflate", "/Filter [/ASCII85Decode /FlateDecode]", a85.String() + "~>"},
		{"as hex", "/Filter /ASCIIHexDecode", fmt.Sprintf("%x>", content)},
		{"by run lengths", "/Filter [/RunLengthDecode]", string([]byte{byte(len(content) - 1)}) + content + "\xfe \x80"},
		{"by LZW", "/Filter /LZWDecode", lzw(content)},
		{"by deflate, cut off in the checksum", "/Filter /FlateDecode", pdftest.Deflate(content)[:len(pdftest.Deflate(content))-4]},
		{"by deflate with PNG predictors", "/Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns 9 >>", pdftest.Deflate(predict(rows, 9))},
		{"by deflate with the TIFF predictor", "/Filter /FlateDecode /DecodeParms << /Predictor 2 /Columns 9 >>", pdftest.Deflate(differences(rows, 9))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &pdftest.File{}
			f.Add("<< /Type /Catalog /Pages 2 0 R >>")
			f.Add("<< /Type /Pages /Kids [3 0 R] /Resources << " + pdftest.Helvetica + " >> >>")
			f.Add("<< /Type /Page /Contents [4 0 R] >>")
			f.Stream(c.dict, c.data)
			if got := page(t, f.Bytes(""), 1).Text; got != "packed and packed and packed\n" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// lzw writes each byte as a code of 9 bits of its own, with the dictionary cleared
// before codes need more: 256 clears, 257 ends (7.4.4.2).
func lzw(data string) string {
	bits := ""
	for i := range len(data) {
		if i%200 == 0 {
			bits += fmt.Sprintf("%09b", 256)
		}
		bits += fmt.Sprintf("%09b", data[i])
	}
	bits += fmt.Sprintf("%09b", 257)
	var out []byte
	for bits += "0000000"; len(bits) >= 8; bits = bits[8:] {
		var b byte
		_, _ = fmt.Sscanf(bits[:8], "%b", &b)
		out = append(out, b)
	}
	return string(out)
}

// predict applies PNG predictors 0 to 4 to the rows in turn.
func predict(data string, columns int) string {
	var out []byte
	above := make([]byte, columns)
	for row := 0; row*columns < len(data); row++ {
		line := []byte(data[row*columns : (row+1)*columns])
		kind := row % 5
		out = append(out, byte(kind))
		for i, c := range line {
			var left, corner byte
			if i > 0 {
				left, corner = line[i-1], above[i-1]
			}
			switch kind {
			case 1:
				c -= left
			case 2:
				c -= above[i]
			case 3:
				c -= byte((int(left) + int(above[i])) / 2)
			case 4:
				c -= paeth(int(left), int(above[i]), int(corner))
			}
			out = append(out, c)
		}
		above = line
	}
	return string(out)
}

func paeth(a, b, c int) byte {
	best, distance := a, 1<<30
	for _, n := range []int{a, b, c} {
		if d := max(a+b-c-n, n-a-b+c); d < distance {
			best, distance = n, d
		}
	}
	return byte(best)
}

func differences(data string, columns int) string {
	out := []byte(data)
	for i := len(out) - 1; i >= 0; i-- {
		if i%columns > 0 {
			out[i] -= out[i-1]
		}
	}
	return string(out)
}

func TestDistancesMakeWordsAndLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, want string }{
		{"kerning is no blank, a wide gap is", `BT /F1 10 Tf [(W)80(ord)-300(two)] TJ ET`, "Word two\n"},
		{"a column stands apart", `BT /F1 10 Tf (a) Tj 100 0 Td (b) Tj ET`, "a  b\n"},
		{"lines end where the next begins below", `BT /F1 10 Tf 12 TL (a) Tj T* (b) Tj (c) ' 0 1 (d) " ET`, "a\nb\nc\nd\n"},
		{"a wide distance is a paragraph", `BT /F1 10 Tf (a) Tj 0 -30 Td (b) Tj ET`, "a\n\nb\n"},
		{"a raised number stays on its line", `BT /F1 10 Tf (x) Tj 3 Ts /F1 6 Tf (2) Tj 0 Ts /F1 10 Tf (y) Tj ET`, "x2y\n"},
		{"what is printed twice to look bold is one", `BT /F1 10 Tf 1 0 0 1 50 50 Tm (B) Tj 1 0 0 1 50.3 50 Tm (B) Tj ET`, "B\n"},
		{"text that runs upwards has words too", `BT /F1 10 Tf 0 1 -1 0 50 50 Tm (up) Tj [-400 (wards)] TJ ET`, "up wards\n"},
		{"a page that is scaled down is the same", `q .01 0 0 .01 0 0 cm BT /F1 1000 Tf (a) Tj 700 0 Td (b) Tj ET Q`, "a b\n"},
		{"blanks in the text are not doubled", `BT /F1 10 Tf (a ) Tj 12 0 Td ( b) Tj ET`, "a b\n"},
		{"a soft hyphen that is drawn is a hyphen", "BT /F1 10 Tf (co\xadop) Tj ET", "co-op\n"},
		{"an inline picture is passed over", "BI /W 1 /H 1 ID \x00(xEI\x01 EI BT /F1 10 Tf (a) Tj ET", "a\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := page(t, pdftest.Pages(pdftest.Helvetica, c.content).Bytes(""), 1).Text; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestFormsAreContentAndPicturesAreCounted(t *testing.T) {
	t.Parallel()
	f := pdftest.Pages("/XObject << /Form 5 0 R /Picture 6 0 R >> "+pdftest.Helvetica, "/Form Do /Picture Do /Picture Do")
	f.Stream("/Type /XObject /Subtype /Form /Matrix [1 0 0 1 10 10] /Resources << /Font << /F9 << /Subtype /TrueType >> >> >>", "BT /F9 10 Tf (in a form) Tj ET")
	f.Stream("/Type /XObject /Subtype /Image /Filter /DCTDecode", "\xff\xd8")
	want := pdf.Page{Text: "in a form\n", Images: 2}
	if diff := cmp.Diff(want, page(t, f.Bytes(""), 1)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHostileDocumentsEndInAnError(t *testing.T) {
	t.Parallel()
	text := pdftest.Text("x").Bytes("")
	bomb := pdftest.Deflate(strings.Repeat("\x00", 40<<20))
	twice := pdftest.Deflate(bomb)
	withContent := func(dict, data string) []byte {
		f := pdftest.Text("x")
		f.Add("<< /Type /Page /Contents 6 0 R >>")
		f.Stream(dict, data)
		return bytes.Replace(f.Bytes(""), []byte("/Kids [3 0 R ]"), []byte("/Kids [5 0 R ]"), 1)
	}
	forms := func(calls string) []byte {
		f := pdftest.Pages("/XObject << /A 5 0 R /B 6 0 R >>", calls)
		f.Stream("/Subtype /Form", strings.Repeat("/B Do ", 100))
		f.Stream("/Subtype /Form", strings.Repeat("/A Do ", 100))
		return f.Bytes("")
	}
	var damaged *pdf.DamagedError
	var limit *pdf.LimitError
	for _, c := range []struct {
		name    string
		content []byte
		as      any    // the kind of error; nil: there is none
		want    string // in the error, or the first page's text
	}{
		{"no PDF at all", []byte("hello"), &damaged, "does not begin as a PDF"},
		{"a header alone", []byte("%PDF-1.7\n"), &damaged, "catalog"},
		{"encrypted", pdftest.Text("x").Bytes("/Encrypt << /Filter /Standard /V 2 >>"), &pdf.ErrEncrypted, "encrypted"},
		{"encrypted, its table lost", bytes.Replace(pdftest.Text("x").Bytes("/Encrypt << /Filter /Standard /V 2 >>"), []byte("startxref"), []byte("startxxxx"), 1), &pdf.ErrEncrypted, "encrypted"},
		{"a stream that unpacks to 40 MB", withContent("/Filter /FlateDecode", bomb), &limit, "larger than 32 MB"},
		{"one packed twice", withContent("/Filter [/FlateDecode /FlateDecode]", twice), &limit, "larger than 32 MB"},
		{"one packed a thousand times", withContent("/Filter ["+strings.Repeat("/FlateDecode ", 1000)+"]", "x"), &limit, "packed 1000 times"},
		{"a million open brackets", withContent("", strings.Repeat("[", 1<<20)), &limit, "deeper than 100"},
		{"a million open dictionaries", withContent("", strings.Repeat("<</A", 1<<20)), &limit, "deeper than 100"},
		{"an array of a million numbers", withContent("", "["+strings.Repeat("1 ", 1<<20)+"] TJ"), &limit, "more than 500000 parts"},
		{"a million open parentheses", withContent("", strings.Repeat("(", 1<<20)), nil, ""},
		{"forms that draw each other", forms("/A Do"), &limit, "more than 5000 forms"},
		{"a page that is its own parent's kid", bytes.Replace(text, []byte("/Kids [3 0 R ]"), []byte("/Kids [2 0 R ]"), 1), &damaged, "no page"},
		{"a length that is the stream itself", withContent("/Length 6 0 R", "BT (x) Tj ET"), &limit, "lead on"},
		{"an object that is itself", bytes.Replace(text, []byte("<< /Type /Pages"), []byte("2 0 R %/Type /Pages"), 1), &damaged, "catalog"},
		{"a table that is its own predecessor", pdftest.Text("x").Bytes(fmt.Sprintf("/Prev %d", bytes.Index(text, []byte("xref\n")))), nil, "x\n"},
		{"a table of two billion rows", bytes.Replace(text, []byte("xref\n0 "), []byte("xref\n0 200000000"), 1), nil, "x\n"},
		{"an object stream of two billion objects", bytes.Replace(pdftest.Text("x").Packed(), []byte("/N "), []byte("/N 200000000"), 1), nil, "x\n"},
		{"a table stream of two billion rows", bytes.Replace(pdftest.Text("x").Packed(), []byte("/Size "), []byte("/Size 200000000"), 1), nil, "x\n"},
		{"a table stream of rows of nothing", bytes.Replace(pdftest.Text("x").Packed(), []byte("/W [1 2 1]"), []byte("/W [0 0 0] "), 1), nil, "x\n"},
		{"predictors of no width", withContent("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns -5 /Colors 0 >>", pdftest.Deflate("BT (x) Tj ET")), nil, ""},
		{"numbers that are none", withContent("", "BT 1e999 ---5 99999999999999999999999 +-. Td /F1 1e5 Tf (x) Tj 0 0 0 0 0 0 Tm (y) Tj ET"), nil, "xy\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := pdf.Open(t.Context(), c.content)
			var p pdf.Page
			if err == nil {
				p, err = d.Page(t.Context(), 1)
			}
			switch as := c.as.(type) {
			case nil:
				if err != nil || p.Text != c.want {
					t.Errorf("got %q, %v; want %q", p.Text, err, c.want)
				}
				return
			case *error:
				if !errors.Is(err, *as) {
					t.Errorf("got %v", err)
				}
			default:
				own := reflect.New(reflect.TypeOf(as).Elem()) // the others run at the same time
				if !errors.As(err, own.Interface()) {
					t.Errorf("got %v, no %T", err, as)
				}
			}
			if err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
		})
	}
}

func TestADoneContextEndsTheWork(t *testing.T) {
	t.Parallel()
	content := pdftest.Text("x").Bytes("")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pdf.Open(done, content); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
	d, err := pdf.Open(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Page(done, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Page: %v", err)
	}
}

// FuzzOpen looks for documents that are a panic of ours, which guard calls a
// structure that makes no sense.
func FuzzOpen(f *testing.F) {
	f.Add(pdftest.Text("first\nline", "second").Bytes(""))
	f.Add(pdftest.Text("packed").Packed())
	f.Add(pdftest.Pages("/Font << /F1 << /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<< /W [1 [500] 2 9 600] >>] >> >>", "BT /F1 9 Tf <0001> Tj ET BI ID x EI").Bytes(""))
	f.Fuzz(func(t *testing.T, content []byte) {
		d, err := pdf.Open(t.Context(), content)
		for i := 1; err == nil && i <= min(d.Pages(), 20); i++ {
			_, err = d.Page(t.Context(), i)
		}
		if err != nil && strings.Contains(err.Error(), "makes no sense") {
			t.Error(err)
		}
	})
}

func page(t *testing.T, content []byte, number int) pdf.Page {
	t.Helper()
	d, err := pdf.Open(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Page(t.Context(), number)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func texts(t *testing.T, content []byte) (all []string) {
	t.Helper()
	d, err := pdf.Open(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Pages() {
		p, err := d.Page(t.Context(), i+1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p.Text)
	}
	return all
}
