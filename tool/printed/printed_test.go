package printed

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhatIsPrintedForATerminalBecomesText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ntext":            "plain\ntext",
		"\x1b[1;31mred\x1b[0m\n": "red\n",
		"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link": "alink",
		"\x1b(Ba\x1b=b\x1bMc":                         "abc",
		"\x1b[2K\x1b[1G10%\r20%\r100%\ndone\r\n":      "100%\ndone\n",
		"10%\r":                                       "10%",
		"a\r\r\nb":                                    "a\nb",
		"ab\bc\ta":                                    "ac\ta",
		"\b\bx":                                       "x",
		"\x00\x01\x7fbell\x07":                        "bell",
		"never ends \x1b]0;\nnext":                    "never ends \nnext",
		"grüße\u009b€":                                "grüße€",
		"bad \xff\xfe utf8 \xe2\x82":                  "bad \uFFFD\uFFFD utf8 \uFFFD",
	} {
		var whole Text
		whole.Write([]byte(in))
		if got := whole.Take(); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		var bytewise Text // pipes cut anywhere
		for i := range len(in) {
			bytewise.Write([]byte(in[i : i+1]))
		}
		if got := bytewise.Take(); got != want {
			t.Errorf("%q byte by byte becomes %q, want %q", in, got, want)
		}
	}
}

func TestTheMiddleOfLongOutputIsLeftOutAndCounted(t *testing.T) {
	t.Parallel()
	var p Text
	for i := range 100_000 {
		fmt.Fprintf(&p, "zeile ü %06d\n", i) // 15 characters
	}
	got := p.Take()
	head, tail, ok := strings.Cut(got, "\n[… 1,470,000 characters left out …]\n")
	if !ok {
		t.Fatalf("no mark in %.100q … %q", got, got[len(got)-100:])
	}
	if utf8.RuneCountInString(head) != 15_000 || utf8.RuneCountInString(tail) != 15_000 {
		t.Errorf("head has %d characters, tail %d; want 15,000", utf8.RuneCountInString(head), utf8.RuneCountInString(tail))
	}
	if !strings.HasPrefix(head, "zeile ü 000000\n") || !strings.HasSuffix(tail, "zeile ü 099999\n") {
		t.Errorf("not the ends: %.30q, %q", head, tail[len(tail)-30:])
	}
	if again := p.Take(); again != "" {
		t.Errorf("taken twice: %.50q", again)
	}
}

func TestOutputOfExactlyTheLimitIsWhole(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxPrinted - 1, maxPrinted, maxPrinted + 1} {
		var p Text
		text := strings.Repeat("ü", n)
		p.Write([]byte(text))
		if got := p.Take(); (got == text) != (n <= maxPrinted) {
			t.Errorf("%d characters: whole is %v", n, got == text)
		}
	}
}

// A command may print gigabytes.
func TestTheMemoryOfOutputDoesNotGrow(t *testing.T) {
	var p Text
	chunk := bytes.Repeat([]byte("no line end at all, "), 3000)
	for range 200 {
		p.Write(chunk)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 2000 { // 120 MB
		p.Write(chunk)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("120 MB of output cost %d bytes", grown)
	}
	runtime.KeepAlive(&p)
}

func FuzzOutputIsBoundedValidText(f *testing.F) {
	f.Add([]byte("a\x1b[1mb\r\nc\xff"), 3)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		cut = min(max(cut, 0), len(in))
		var one, two Text
		one.Write(in)
		two.Write(in[:cut])
		two.Write(in[cut:])
		got := one.Take()
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\b\x00") {
			t.Errorf("%q becomes %q", in, got)
		}
		if other := two.Take(); other != got {
			t.Errorf("%q cut at %d becomes %q, whole %q", in, cut, other, got)
		}
	})
}

func BenchmarkOutput(b *testing.B) {
	chunk := bytes.Repeat([]byte("ok  \tpawl/some/package\t0.123s\n"), 1000)
	b.SetBytes(int64(len(chunk)))
	var p Text
	for b.Loop() {
		p.Write(chunk)
	}
}
