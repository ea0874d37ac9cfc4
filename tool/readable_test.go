package tool_test

import (
	"testing"

	"pawl/tool"
)

func TestTextFromElsewhereHasNothingThatPeopleDoNotSee(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"plain\ttext\n":                                       "plain\ttext\n",
		"one\r\ntwo\rthree":                                   "one\ntwo\nthree",
		"\x1b[1;31mred\x1b[0m":                                "red",
		"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b":            "ab",
		"\x1bPq#0\x1b\\a\x1b(Bb\x1bMc":                        "abc",
		"a\x1b]52;c;never ends":                               "a",
		"a\x1b":                                               "a",
		"a\u009b31mb\x07\x08\x7f":                             "a31mb",
		"rm\u202e -rf\u2066x\u2069":                           "rm -rfx",
		"a\U000e0073\U000e0061y":                              "ay",
		"a\U000e0100\ufeff\u200b\u2063b":                      "ab",
		"\u0645\u06cc\u200c\u062e \U0001f468\u200d\U0001f469": "\u0645\u06cc\u200c\u062e \U0001f468\u200d\U0001f469",
		"caf\xe9": "caf\ufffd",
	} {
		if got := tool.Readable(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}
