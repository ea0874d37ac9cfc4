package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestAValueIsPrintedOnALine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ value, want, raw string }{
		{`"a\n\"b\""`, `"a\n\"b\""`, "a\n\"b\""},
		{"{\"a\" :\r\n \"b c\"}", `{"a":"b c"}`, `{"a":"b c"}`},
		{"12", "12", "12"},
		{"\"\u202e \U000e0041 ü\"", `"\u202e \udb40\udc41 ü"`, "\u202e \U000e0041 ü"},
		{strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)},
	} {
		for raw, want := range map[bool]string{false: c.want, true: c.raw} {
			var out bytes.Buffer
			if err := printValue(&out, "$.x", int64(len(c.value)), strings.NewReader(c.value), raw); err != nil || out.String() != "$.x\t"+want+"\n" {
				t.Errorf("%.40s, raw %t: %.80q, %v; want %.80q", c.value, raw, out.String(), err, want)
			}
		}
	}
}

func TestSizesAndAgesAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "1B": 1, "10GB": 10e9, "1.5 MB": 1.5e6, "4kb": 4e3, "2GiB": 2 << 30, "-1": 0,
		"": -1, "GB": -1, "5 apples": -1, "0": -1, "-5GB": -1, "NaN": -1, "1e30TB": -1,
	} {
		n, err := readLimit(text, readSize)
		if err != nil {
			n = -1
		}
		if n != want {
			t.Errorf("%q is %d bytes, %v; want %d", text, n, err, want)
		}
	}
	for text, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "12h": 12 * time.Hour, "0.5d": 12 * time.Hour, "-1": 0, "": -1, "d": -1, "-3d": -1, "90": -1,
	} {
		d, err := readLimit(text, readAge)
		if err != nil {
			d = -1
		}
		if d != want {
			t.Errorf("%q is %v, %v; want %v", text, d, err, want)
		}
	}
}
