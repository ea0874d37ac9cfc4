package outputs

import (
	"bytes"
	"strings"
	"testing"
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
