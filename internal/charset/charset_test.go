package charset

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	library "golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
)

// known decodes with the library.
func known(t *testing.T, e encoding.Encoding, b []byte) string {
	t.Helper()
	s, err := e.NewDecoder().Bytes(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(s)
}

// of returns the library's character set of a name.
func of(t *testing.T, name string) encoding.Encoding {
	t.Helper()
	if name == jis0212 {
		return japanese.EUCJP
	}
	e, _ := library.Lookup(name)
	if e == nil {
		t.Fatalf("the library does not know %s", name)
	}
	return e
}

// The tables of the program are those of the library. UPDATE=1 writes them.
func TestTheTablesAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	write := func(s string) {
		r, size := utf8.DecodeRuneInString(s)
		if size != len(s) {
			r = none
		}
		want.WriteRune(r)
	}
	for _, name := range tableNames() {
		e := of(t, name)
		for c := 0x80; c <= 0xff; c++ {
			write(known(t, e, []byte{byte(c)}))
		}
		for first := 0x81; wide[name] && first <= 0xfe; first++ {
			for second := 0x40; second <= 0xfe; second++ {
				code := []byte{byte(first), byte(second)}
				if name == jis0212 {
					code = append([]byte{0x8f}, code...)
				}
				write(known(t, e, code))
			}
		}
	}
	if os.Getenv("UPDATE") != "" {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("tables.zst", enc.EncodeAll([]byte(want.String()), nil), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Skip("tables.zst is written")
	}
	var got strings.Builder
	for _, name := range tableNames() {
		got.WriteString(string(tables()[name]))
	}
	if got.String() != want.String() {
		t.Error("the tables differ: UPDATE=1 go test ./internal/charset")
	}
}

// Every label means what it means to the library, and there are no others.
func TestLabels(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(labels) {
		for label := range strings.FieldsSeq(line) {
			if _, want := library.Lookup(label); Lookup(strings.ToUpper(" "+label+"\n")) != want {
				t.Errorf("%s is %q, want %q", label, Lookup(label), want)
			}
		}
	}
	for _, label := range []string{"", " ", "utf-9", "utf-8 utf-8"} {
		if got := Lookup(label); got != "" {
			t.Errorf("%q is %q", label, got)
		}
	}
}

// Every code of one to four bytes that the library decodes is decoded as it does.
func TestEveryCodeIsDecodedAsTheLibraryDoes(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(labels) {
		name := strings.Fields(line)[0]
		e, wrong := of(t, name), 0
		check := func(code ...byte) {
			want := known(t, e, code)
			if strings.ContainsRune(want, none) {
				return
			}
			if got := Decode(name, code); got != want && wrong < 5 {
				wrong++
				t.Errorf("%s % x is %+q, want %+q", name, code, got, want)
			}
		}
		for first := range 256 {
			check(byte(first))
			for second := range 256 {
				check(byte(first), byte(second))
				switch {
				case name == "euc-jp" && first > 0xa0 && second > 0xa0:
					check(0x8f, byte(first), byte(second))
				case name == "gb18030" && first > 0x80 && second >= '0' && second <= '9':
					for third := 0x81; third <= 0xfe; third++ {
						check(byte(first), byte(second), byte(third), '0'+byte((first+second+third)%10))
					}
				}
			}
		}
	}
}

func TestSequences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, code string }{
		{"iso-2022-jp", "a\x1b$B%H%9\x1b(Bb\n\x1b(J\\~\x1b(I1\x1b$(D\"/\x1b(B."},
		{"utf-16le", "\x3d\xd8\x00\xdea\x00"},
		{"utf-16be", "\xd8\x3d\xde\x00\x00a"},
		{"big5", "\x88\x62\x88\xa5\xa4\x40z"},
		{"gbk", "\xc4\xe3\xba\xc3, \x80"},
		{"utf-8", "é\xff."},
		{"replacement", "abc"},
	} {
		if got, want := Decode(c.name, []byte(c.code)), known(t, of(t, c.name), []byte(c.code)); got != want {
			t.Errorf("%s: %+q, want %+q", c.name, got, want)
		}
	}
	// Of a code that is cut, or not one, an ASCII byte stays.
	for name := range wide {
		if name == jis0212 {
			continue
		}
		for code, want := range map[string]string{"<a \xfe": "<a \ufffd", "\x81\x20<": "\ufffd <", "\x8f\xff\"": "\ufffd\""} {
			if got := Decode(name, []byte(code)); got != want && !strings.HasSuffix(got, want[len("\ufffd"):]) {
				t.Errorf("%s %+q is %+q, want %+q", name, code, got, want)
			}
		}
	}
}

func TestTheCharacterSetOfAPageIsDetermined(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ content, contentType string }{
		{"", ""}, {"abc", "text/plain"}, {"gr\xfc\xdfe", ""}, {"grüße", ""}, {"grüß\xc3", ""}, {"\xef\xbb\xbfa", "text/html; charset=koi8-r"}, {"\xff\xfea\x00", ""}, {"\xfe\xff\x00a", ""},
		{"a", "text/html; charset=Shift-JIS"}, {"a", "text/html; charset=nothing"},
		{`<meta charset=koi8-r>`, ""}, {`<META CHARSET="utf-16">`, ""}, {`<meta charset=nothing><meta charset="big5">`, ""},
		{`<meta http-equiv="Content-Type" content="text/html; charset=euc-kr">`, ""}, {`<meta content="text/html; charset = 'gbk'" http-equiv=content-type>`, ""},
		{`<meta content="text/html; charset=gbk">`, ""}, {`<meta http-equiv=refresh content="charset=gbk">`, ""},
		{`<meta http-equiv=content-type content="charset; charset=gb18030;x">`, ""}, {`<meta http-equiv=content-type content="charset='gbk">`, ""},
		{`<!-- <meta charset=koi8-r> --><p>`, ""}, {`<p charset=koi8-r>`, ""},
	} {
		_, want, sure := library.DetermineEncoding([]byte(c.content), c.contentType)
		if got, certain := Determine([]byte(c.content), c.contentType); got != want || certain != sure {
			t.Errorf("%q %q: %s, %v; want %s, %v", c.content, c.contentType, got, certain, want, sure)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("gb18030", []byte("\x81\x30\x81\x30\xff"))
	f.Add("iso-2022-jp", []byte("\x1b$B%"))
	f.Fuzz(func(t *testing.T, label string, b []byte) {
		name := Lookup(label)
		if name == "" {
			t.Skip("no label")
		}
		if s := Decode(name, b); !utf8.ValidString(s) || len(s) > 4*len(b)+len(string(none)) {
			t.Errorf("%s % x: %q", name, b, s)
		}
		if got, want := Decode(name, b), known(t, of(t, name), b); bytes.Count(b, []byte{0x1b}) == 0 && !strings.ContainsRune(want, none) && got != want {
			t.Errorf("%s % x: %q, want %q", name, b, got, want)
		}
	})
}
