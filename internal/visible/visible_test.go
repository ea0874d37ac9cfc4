package visible_test

import (
	"testing"

	"pawl/internal/visible"
)

func TestWhatAPersonCannotSeeIsHidden(t *testing.T) {
	t.Parallel()
	for _, r := range "\x00\x1b\r\x7f\u0085\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e\u2000\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202e\u202f\u2060\u2066\u2069\u2800\u3000\u3164\ufe01\ufe0f\ufeff\ufff9\uffa0\U000e0041\U000e0101\U0001d173" {
		if !visible.Hidden(r) {
			t.Errorf("%U is not hidden", r)
		}
	}
	for _, r := range "aZ09 \n\t~!äßñ漢字👍é\u0301\u0915\u093e£€→אبа" {
		if visible.Hidden(r) {
			t.Errorf("%U is hidden", r)
		}
		if visible.Ordinary(r) && r != ' ' {
			t.Errorf("%U is ordinary among the hidden", r)
		}
	}
	for _, r := range "\u00a0\u2009\u3000\u200d\ufe0f\ue0b0\U0001fadc" {
		if !visible.Ordinary(r) {
			t.Errorf("%U is not ordinary", r)
		}
	}
	for _, r := range "\u200b\u202e\u2066\U000e0041\U000e0fff\u2065\u200c\u00ad\u2028\x1b" {
		if visible.Ordinary(r) {
			t.Errorf("%U is ordinary", r)
		}
	}
}

func TestWhatAModelReadsComesWithoutUselessCharacters(t *testing.T) {
	t.Parallel()
	for _, r := range "\x00\x1b\u00ad\u200b\u202e\u2028\u2066\ufeff\U000e0041" {
		if !visible.Useless(r) {
			t.Errorf("%U is not useless", r)
		}
	}
	for _, r := range "a \n\t\u00a0\u200c\u200d\u200e\u200f\ufe0fא" {
		if visible.Useless(r) {
			t.Errorf("%U is useless", r)
		}
	}
}

func TestScriptsThatAreWrittenFromRightToLeftAreKnown(t *testing.T) {
	t.Parallel()
	for _, r := range "אתابܐހߊࠀࡀࢠיִﭐﷺﻼ𐠀𞤀𞸀" {
		if !visible.RightToLeft(r) {
			t.Errorf("%U (%c) is not from right to left", r, r)
		}
	}
	for _, r := range "aяαअ漢ก한 \n" {
		if visible.RightToLeft(r) {
			t.Errorf("%U is from right to left", r)
		}
	}
}

func TestACharacterIsWrittenInOneWay(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a\x1b[2J": `a\u001b[2J`, "\u202ex": `\u202ex`, "\U000e0041b": `\U000e0041b`, "a\r\n": "a\n"} {
		if got := visible.Escape(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// What is quoted in a sentence has the same form, and stays on its line.
func TestAQuotationIsOneLine(t *testing.T) {
	t.Parallel()
	type name string
	if got, want := visible.Quote(name("a\x1b[2J\nC:\\d\t\u202e")), `"a\u001b[2J\nC:\d\t\u202e"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
