package jsonpath

import (
	"errors"
	"strings"
	"testing"
)

func TestAnErrorSaysWhereAndWhatToWriteInstead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path   string
		column int
		says   string
	}{
		{"", 1, "$ alone is the whole document"},
		{"users", 1, "write $.users"},
		{".users", 1, "write $.users"},
		{" $.a", 1, "leave out the blanks"},
		{"$.a ", 4, "leave out the blanks"},
		{"@.a", 1, "write $.a"},
		{"$users", 2, "write $.users"},
		{"/users/0/first name", 1, "write $.users[0]['first name']"},
		{"$.users.0.name", 9, "in brackets: $.users[0]"},
		{"$..0", 4, "in brackets: $..[0]"},
		{"$.users[name]", 9, "needs quotes: $.users['name']"},
		{"$.users[first name]", 9, "needs quotes: $.users['first name']"},
		{"$.a.b-c.d", 6, "$.a['b-c']"},
		{"$.first name", 8, "$['first name']"},
		{"$.a.", 5, "leave out the dot"},
		{"$...a", 4, "at most two dots"},
		{"$.['a']", 3, "leave out the dot before ["},
		{"$.a[]", 5, "all elements are $.a[*]"},
		{"$.a[0", 6, "the [ at column 4 is not closed"},
		{"$.é['b", 5, "this ' is not closed"},
		{"$.a[0]]", 7, "there is no [ that it closes"},
		{"$.a[1,]", 7, "leave out the comma"},
		{"$.a[(@.length-1)]", 5, "the last element is [-1]"},
		{"$.a[01]", 5, "found 01"},
		{"$.a[9007199254740992]", 5, "beyond what an index can be"},
		{"$.a[@.b==1]", 5, "$.a[?@.b==1]"},
		{"$.a == 1", 4, "a comparison stands only in a filter"},
		{"$.a['b' == 1]", 9, "a filter begins with ?"},
		{"$.a.length()", 11, "count the matches of $.a[*]"},
		{"$.users[0]name", 11, "write $.users[0].name"},
		{"$.a | length", 4, "no pipes"},
		{"$.a~", 4, "no operator for names or parents"},
		{"$[?@.a = 1]", 8, "equality is =="},
		{"$[?@.a === 1]", 10, "equality is =="},
		{"$[?@.a <> 1]", 9, "inequality is !="},
		{"$[?@.a =~ /x/]", 8, "match(@.name, 'regex')"},
		{"$[?@.a == /x/]", 11, "match(@.name, 'regex')"},
		{"$[?@.a and @.b]", 8, "write &&"},
		{"$[?@.a | @.b]", 8, "write ||"},
		{"$[?not @.a]", 4, "write !"},
		{"$[?@.a == True]", 11, "write true"},
		{"$[?@.a == None]", 11, "write null"},
		{"$[?a == 1]", 4, "a member is @.a, a text 'a'"},
		{"$[?@.a == .5]", 11, "write 0.5"},
		{"$[?@.a == “x”]", 11, "use ' or \""},
		{"$[?@.a == ['x']]", 11, "cannot be written in a filter"},
		{"$[?@.a.length() > 3]", 14, "length(@…)"},
		{"$[?len(@.a) > 3]", 4, "length(@.name) > 3"},
		{"$[?length(@.a)]", 4, "compare it, as in length(@.name) > 3"},
		{"$[?count(@.a)]", 4, "compare it, as in count(@.items[*]) > 3"},
		{"$[?value(@.a)]", 4, "compare it, as in value(@..id) == 3"},
		{"$[?length(@.*) > 1]", 11, "count(@.*)"},
		{"$[?count(1) > 1]", 10, "takes a query"},
		{"$[?match(@.a)]", 13, "takes 2, found 1"},
		{"$[?match(@.a, 'x') == true]", 4, "cannot be compared"},
		{"$[?!@.a == 1]", 5, "write !(@.a == …)"},
		{"$[?'x']", 4, "a literal alone"},
		{"$[?(@.a == 1]", 13, "the ( at column 4 is not closed"},
		{`$[?match(@.a, '\d')]`, 17, `write \\d`},
		{"$[?@.a + 1 == 2]", 8, "no arithmetic"},
		{"$.a\xff", 4, "invalid UTF-8"},
		{`$['\ud800']`, 4, "the first half of a surrogate pair without the second"},
		{`$['ab\udc00']`, 6, "the second half of a surrogate pair without the first"},
		{`$['ab\ud800\u0041']`, 12, "expected the second half of a surrogate pair"},
		{`$['\u00g0']`, 6, "expected four hexadecimal digits"},
		{strings.Repeat("$.a", 30_000), 1, "the limit is"},
		{"$[?" + strings.Repeat("(", 200) + "@" + strings.Repeat(")", 200) + "]", 103, "in one another"},
		{"$" + strings.Repeat("[?@", 200), 304, "in one another"},
	} {
		_, err := Parse(c.path)
		e, ok := errors.AsType[*SyntaxError](err)
		if !ok {
			t.Errorf("%q: %v", c.path, err)
			continue
		}
		if e.Column() != c.column || !strings.Contains(e.Error(), c.says) {
			t.Errorf("%q: column %d, want %d and %q:\n%v", cut(c.path), e.Column(), c.column, c.says, e)
		}
	}
}

func TestTheCaretStandsBelowTheError(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"$.é.0":   "$.é.0\n    ^",
		"$[?\n1]": "$[? 1]\n    ^",
		"$." + strings.Repeat("a", 100) + "!" + strings.Repeat("b", 100): "…" + strings.Repeat("a", 40) + "!" + strings.Repeat("b", 39) + "…\n" + strings.Repeat(" ", 41) + "^",
	} {
		_, err := Parse(path)
		e, _ := errors.AsType[*SyntaxError](err)
		if got := e.Caret(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

func TestAFilterStandsAlone(t *testing.T) {
	t.Parallel()
	root, err := Decode([]byte(`{"least": 10, "users": [{"n": 9, "active": true}, {"n": 12}, {"n": 11, "active": true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		" @.active == true ":             "101",
		"@.n>$.least&&@.active":          "001",
		"@.active || @.n > 11":           "111",
		"!@.active":                      "010",
		"count($.users[?@.active]) == 2": "111",
	} {
		filter, err := ParseFilter(text)
		if err != nil {
			t.Error(err)
			continue
		}
		got := ""
		for v := range MustParse("$.users[*]").Select(root) {
			if filter.filter.root.test(newEnv(root), v) {
				got += "1"
			} else {
				got += "0"
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, says := range map[string]string{"?@.a": "leave out the ?", "": "is missing", "@.a]": "there is no [", "@.a) ": "there is no (", "$.a[?": "is missing"} {
		if _, err := ParseFilter(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

func TestTheCanonicalForm(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		`$["a"]['b c'] .d`:                    "$.a['b c'].d",
		`$..["a"]..[*]..[0]`:                  "$..a..*..[0]",
		`$[ 1 , "x" ,*, 1:2 , ::-1]`:          "$[1, 'x', *, 1:2, ::-1]",
		`$["it's\n\u0001\\"]`:                 `$['it\'s\n\u0001\\']`,
		`$[?(@.a==1||@["b"])&&!(@.c>"x")]`:    "$[?(@.a == 1 || @.b) && !(@.c > 'x')]",
		`$[?((@.a&&@.b)||!match(@.c,'x*'))]`:  "$[?@.a && @.b || !match(@.c, 'x*')]",
		`$[?count(@..*)>=1e2&&@==null]`:       "$[?count(@..*) >= 1e2 && @ == null]",
		`$['']`:                               "$['']",
		`$.ü['☺']`:                            "$.ü.☺",
		`$[?@[?@.x]]`:                         "$[?@[?@.x]]",
		`$[?length(value($..['regex'])) < 2]`: "$[?length(value($..regex)) < 2]",
	} {
		if got := MustParse(path).String(); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestSingularPathsAreThoseOfNamesAndIndices(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"$": true, "$.a[0]['b'][-1]": true, "$..a": false, "$[*]": false, "$[0,1]": false, "$[0:1]": false, "$[?@]": false,
	} {
		if got := MustParse(path).Singular(); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

func TestWhatCanHardlyBeMeantIsWarnedOf(t *testing.T) {
	t.Parallel()
	for path, says := range map[string]string{
		`$[?match(@.a, '\\d+')]`:      "write [0-9]",
		`$[?search(@.a, 'a**')]`:      "repeats a repetition",
		`$[?match(@.a, 1)]`:           "not a string",
		`$.items.length`:              "length(@.name)",
		`$[?@.items.length > 3]`:      "length(@.name)",
		`$[?match(@.a, '[0-9]+')].id`: "",
	} {
		warnings := strings.Join(MustParse(path).Warnings(), "\n")
		if says == "" && warnings != "" || !strings.Contains(warnings, says) {
			t.Errorf("%s: %q, want %q", path, warnings, says)
		}
	}
	if f, err := ParseFilter("@.length > 1"); err != nil || len(f.Warnings()) != 1 {
		t.Errorf("%v, %v", f, err)
	}
}

func TestAnIRegexpIsTranslatedAndChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		match, search bool
	}{
		{"a.c", "abc", true, true},
		{"a.c", "a\nc", false, false},
		{"a.c", "a\u2028c", true, true},
		{"b", "abc", false, true},
		{"a|b", "b", true, true},
		{"a|b", "xb", false, true},
		{"", "", true, true},
		{"^b", "ab", false, false},
		{"a$|^b", "ba", false, true},
		{"a^b$c", "a^b$c", true, true},
		{"(^a)", "a", true, true},
		{`\p{Lu}\P{Lu}`, "Éa", true, true},
		{`[^a-c\-\]]+`, "xyz", true, true},
		{`[-a]`, "-", true, true},
		{`[a-]`, "-", true, true},
		{`[\p{Nd}x]{2,3}`, "1x", true, true},
		{`\{\}\.`, "{}.", true, true},
		{"a{2}", "aaa", false, true},
		{"é+", "éé", true, true},
		{`[&&~]+`, "&~", true, true},
		{"\uFFFD[\uFFFD]", "\uFFFD\uFFFD", true, true},
		{strings.Repeat("(", maxGroups) + "a" + strings.Repeat(")", maxGroups), "a", true, true},
		{strings.Repeat("a", maxPattern), strings.Repeat("a", maxPattern), true, true},
		{"a{1000}", strings.Repeat("a", 1000), true, true},
	} {
		for whole, want := range map[bool]bool{true: c.match, false: c.search} {
			re, err := compileIRegexp(c.pattern, whole)
			if err != nil {
				t.Errorf("%s: %v", c.pattern, err)
			} else if got := re.MatchString(c.text); got != want {
				t.Errorf("%s on %q (whole: %t) as %s: %t", c.pattern, c.text, whole, re, got)
			}
		}
	}
	for _, pattern := range []string{
		`\d`, `\w`, `\s`, `\b`, `a*?`, `a++`, `*`, `(`, `)`, `(a`, `[`, `[]`, `[a`, `[b-a]`, `[a-b-c]`, `[[:alpha:]]`, `a{`, `a{,2}`, `a{x}`, `a{2`, `\p{Greek}`, `\p{Lx}`, `\pL`,
		`(?i)a`, `(?:a)`, `]`, `}`, `\`, "a{1001}", "\xff", strings.Repeat("(", maxGroups+1) + "a" + strings.Repeat(")", maxGroups+1), strings.Repeat("a", maxPattern+1),
	} {
		if re, err := compileIRegexp(pattern, true); err == nil {
			t.Errorf("%s is accepted as %s", pattern, re)
		}
	}
}
