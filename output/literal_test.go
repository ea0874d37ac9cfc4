package output

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"pawl/output/jsonpath"
)

// Whatever literals are found in a pattern, it matches what Go's regexp matches, in a text
// and in any way that JSON writes the text.
func TestLiteralsOfAPatternChangeNoMatch(t *testing.T) {
	t.Parallel()
	patterns := []string{"FAIL|panic", "FAIL|FOO|", "(?i)error", "(?i)TaSk", "(?i)é", "a\uFFFDb", `\"x\"`, "a/b", `\\n`, "\n", "é", "x+y*", "(foo|)bar", "^$", "a{0}b", "a{2,3}b",
		"(a|b*)c", "[a-z]+ord", "(?i:ab)|cd", "(?:one|two|three|four|five|six|seven|eight|nine)", "b", "", "(?i)bar[0-9]", "\x00"}
	texts := []string{"", "a", "FAIL", "FO", "no panic", "ERROR", "error", "tas\u212A", "ta\u017Fk", "TASK", "É", "a\xffb", "a\uFFFDb", `"x"`, "a/b", `\n`, "\n", "xx", "foobar", "bar", "b", "aab",
		"c", "ac", "fjord", "Ab", "cd", "eight", "BAR1", "\x00", "caf\u00e9"}
	for _, pattern := range patterns {
		m, err := newMatcher(pattern)
		if err != nil {
			t.Fatal(err)
		}
		re := regexp.MustCompile(pattern)
		for _, text := range texts {
			want := re.MatchString(text)
			if got := m.match([]byte(text)); got != want {
				t.Errorf("%q in %q: %t, want %t", pattern, text, got, want)
			}
			escaped := ""
			for _, r := range text {
				escaped += fmt.Sprintf(`\u%04x`, r)
			}
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, raw := range []string{escaped, string(quoted[1 : len(quoted)-1]), text} {
				if raw == text && string(jsonpath.AppendString(nil, text)) != `"`+text+`"` {
					continue // it cannot be written so
				}
				meant := jsonpath.Unescape([]byte(raw))
				if got, want := !m.rejectsWritten([]byte(raw), true) && m.match(meant), re.Match(meant); got != want {
					t.Errorf("%q in JSON's %q: %t, want %t", pattern, raw, got, want)
				}
			}
		}
	}
}

func TestLiteralsAreFoundWherePatternsHaveThem(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		`[a-z]+ord\.7.*org`: "[ord.7]", "FAIL|panic": "[FAIL panic]", "(?i)Stack Error": "[ error]", "(a|bc)+ x": "[ x]", `\d+`: "[]", "a|b?": "[]", "(?:abc){2}": "[abc]",
	} {
		m, err := newMatcher(pattern)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, l := range m.literals {
			got = append(got, string(l.text))
		}
		same(t, pattern, fmt.Sprint(got), want)
	}
}
