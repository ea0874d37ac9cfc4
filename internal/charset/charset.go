// Package charset decodes text in the character sets of web pages and of PDF: those of the
// Encoding Standard (encoding.spec.whatwg.org, read 2026-11-22). It does not encode, so that
// it needs half of the tables, and they are compressed: 0.6 MB less than golang.org/x/text
// in the program. Tests compare it with that package, code by code.
package charset

import (
	_ "embed"
	"encoding/binary"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// labels has a line for each character set: its name and its other labels.
//
//go:embed labels.txt
var labels string

// packed has the characters of all tables in the order of labels, with that of JIS X 0212 at
// the end, as UTF-8 compressed by zstd; U+FFFD is a code without a character.
// TestTheTablesAreThoseOfTheLibrary writes it with UPDATE=1.
//
//go:embed tables.zst
var packed []byte

const (
	singles = 128 // bytes from 0x80 on

	// Codes of two bytes: the first from 0x81 to 0xfe, the second from 0x40 on.
	firsts, seconds = 0xfe - 0x81 + 1, 0xfe - 0x40 + 1

	none = utf8.RuneError
)

// jis0212 is the table of the codes of three bytes of euc-jp, without their first byte.
const jis0212 = "jis0212"

// wide are the tables with codes of two bytes.
var wide = map[string]bool{"gb18030": true, "big5": true, "euc-jp": true, "shift_jis": true, "euc-kr": true, jis0212: true}

// untabled are the character sets without a table of their own.
var untabled = map[string]bool{"utf-8": true, "utf-16be": true, "utf-16le": true, "gbk": true, "iso-2022-jp": true, "replacement": true}

// tables returns the tables by name. A wide one begins with its single bytes.
var tables = sync.OnceValue(func() map[string][]rune {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err) // unreachable: the options are right
	}
	defer d.Close()
	text, err := d.DecodeAll(packed, nil)
	if err != nil {
		panic(err) // it is a part of the program
	}
	all, of := []rune(string(text)), map[string][]rune{}
	for _, name := range tableNames() {
		size := singles
		if wide[name] {
			size += firsts * seconds
		}
		of[name], all = all[:size:size], all[size:]
	}
	return of
})

// tableNames returns the names of the tables in their order.
func tableNames() []string {
	var names []string
	for line := range strings.Lines(labels) {
		if name := strings.Fields(line)[0]; !untabled[name] {
			names = append(names, name)
		}
	}
	return append(names, jis0212)
}

// Lookup returns the name of the character set that a label means; empty: none.
func Lookup(label string) string {
	label = strings.ToLower(strings.Trim(label, "\t\n\f\r "))
	if label == "" || strings.ContainsAny(label, "\t\n\f\r ") {
		return ""
	}
	for line := range strings.Lines(labels) {
		for l := range strings.FieldsSeq(line) {
			if l == label {
				return strings.Fields(line)[0]
			}
		}
	}
	return ""
}

// Decode returns text in UTF-8 from the character set of a name that [Lookup] has returned.
// What is wrong in it becomes U+FFFD.
func Decode(name string, b []byte) string {
	var out strings.Builder
	out.Grow(len(b) + len(b)/2)
	switch name {
	case "utf-8":
		return strings.ToValidUTF8(string(b), string(none))
	case "replacement":
		if len(b) > 0 {
			out.WriteRune(none)
		}
	case "utf-16le":
		decodeUTF16(&out, b, binary.LittleEndian)
	case "utf-16be":
		decodeUTF16(&out, b, binary.BigEndian)
	case "iso-2022-jp":
		decode2022(&out, b)
	default:
		if name == "gbk" {
			name = "gb18030"
		}
		table := tables()[name]
		for len(b) > 0 {
			n := 1
			switch {
			case b[0] < utf8.RuneSelf:
				out.WriteByte(b[0])
			case table[b[0]-0x80] != none:
				out.WriteRune(table[b[0]-0x80])
			case !wide[name]:
				out.WriteRune(none)
			default:
				n = decodeWide(&out, b, name, table)
			}
			b = b[n:]
		}
	}
	return out.String()
}

// pair returns the character of a code of two bytes.
func pair(table []rune, first, second byte) rune {
	if first < 0x81 || first > 0xfe || second < 0x40 || second > 0xfe {
		return none
	}
	return table[singles+int(first-0x81)*seconds+int(second-0x40)]
}

// decodeWide decodes one code of several bytes and returns how many they are.
func decodeWide(out *strings.Builder, b []byte, name string, table []rune) int {
	if len(b) == 1 {
		out.WriteRune(none)
		return 1
	}
	r := pair(table, b[0], b[1])
	switch {
	case r != none:
		out.WriteRune(r)
		return 2
	case name == "gb18030" && len(b) >= 4 && b[1] >= '0' && b[1] <= '9':
		if r, ok := fourBytes(table, b); ok {
			out.WriteRune(r)
			return 4
		}
	case name == "euc-jp" && b[0] == 0x8f && len(b) >= 3:
		if r := pair(tables()[jis0212], b[1], b[2]); r != none {
			out.WriteRune(r)
			return 3
		}
	case name == "big5" && b[0] == 0x88:
		if s := map[byte]string{0x62: "Ê̄", 0x64: "Ê̌", 0xa3: "ê̄", 0xa5: "ê̌"}[b[1]]; s != "" {
			out.WriteString(s)
			return 2
		}
	}
	out.WriteRune(none)
	if b[1] < utf8.RuneSelf {
		return 1 // what is ASCII stays: it may be a mark that ends a text
	}
	return 2
}

// fourBytes decodes a code of gb18030 with four bytes. Those of the first plane are all
// characters without a shorter code, in order.
func fourBytes(table []rune, b []byte) (rune, bool) {
	if b[0] < 0x81 || b[2] < 0x81 || b[2] > 0xfe || b[3] < '0' || b[3] > '9' {
		return 0, false
	}
	n := ((int(b[0]-0x81)*10+int(b[1]-'0'))*126+int(b[2]-0x81))*10 + int(b[3]-'0')
	const beyond = 189000 // the first code beyond the first plane
	if plane := longCodes(); n < len(plane) {
		return plane[n], true
	}
	if r := rune(n - beyond + 0x10000); n >= beyond && r <= utf8.MaxRune {
		return r, true
	}
	return 0, false
}

// longCodes returns the characters of the first plane that gb18030 writes with four bytes.
var longCodes = sync.OnceValue(func() []rune {
	short := map[rune]bool{}
	for _, r := range tables()["gb18030"] {
		short[r] = true
	}
	var plane []rune
	for r := rune(0x80); r <= 0xffff; r++ {
		if !short[r] && !utf16.IsSurrogate(r) && !unicode.Is(privateCodes, r) || r == none {
			plane = append(plane, r)
		}
	}
	return plane
})

// privateCodes are the characters for private use that gb18030 writes with two bytes: codes of
// its users, which are in no table.
var privateCodes = &unicode.RangeTable{R16: []unicode.Range16{
	{0xe000, 0xe76b, 1}, {0xe76d, 0xe7c7, 1}, {0xe7c9, 0xe7e6, 1}, {0xe7f4, 0xe814, 1}, {0xe816, 0xe818, 1}, {0xe81e, 0xe826, 8}, {0xe82b, 0xe82c, 1},
	{0xe831, 0xe832, 1}, {0xe83b, 0xe843, 8}, {0xe854, 0xe855, 1}, {0xe864, 0xe864, 1},
}}

func decodeUTF16(out *strings.Builder, b []byte, order binary.ByteOrder) {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	for _, r := range utf16.Decode(units) {
		out.WriteRune(r)
	}
	if len(b)%2 == 1 {
		out.WriteRune(none)
	}
}

// decode2022 decodes iso-2022-jp, in which escape sequences switch between sets of 7 bits.
func decode2022(out *strings.Builder, b []byte) {
	sets := map[string]string{"\x1b(B": "", "\x1b(J": "", "\x1b(I": "kana", "\x1b$@": "euc-jp", "\x1b$B": "euc-jp", "\x1b$(D": jis0212}
	set := ""
scan:
	for len(b) > 0 {
		if b[0] == 0x1b {
			for sequence, to := range sets {
				if strings.HasPrefix(string(b[:min(len(b), 4)]), sequence) {
					set, b = to, b[len(sequence):]
					continue scan
				}
			}
		}
		c, n := b[0], 1
		r := rune(c)
		switch {
		case c >= utf8.RuneSelf || c == 0x1b:
			r = none
		case c <= ' ' || set == "":
		case set == "kana":
			if r = none; c > ' ' && c < 0x60 {
				r = rune(c) - 0x21 + '｡'
			}
		case set == "euc-jp" || set == jis0212:
			if r = none; len(b) > 1 {
				r, n = pair(tables()[set], c|0x80, b[1]|0x80), 2
			}
		}
		out.WriteRune(r)
		b = b[n:]
	}
}
