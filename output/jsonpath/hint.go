package jsonpath

import (
	"fmt"
	"strings"

	"pawl/internal/lazy"
)

// Hints turn what people and models write out of habit - JavaScript, jq, JSON Pointer,
// the JSONPath of before the standard - into what RFC 9535 wants. Each is a guess at a
// place that is an error in any case.

// hintNoRoot is for a path that does not begin with $.
func hintNoRoot(s string) string {
	trimmed := strings.TrimSpace(s)
	switch {
	case trimmed == "":
		return "$ alone is the whole document"
	case trimmed[0] == '$':
		return "leave out the blanks before it"
	case trimmed[0] == '@':
		return "@ stands only in filters; write $" + trimmed[1:]
	case trimmed[0] == '.' || trimmed[0] == '[':
		return "write $" + trimmed
	case trimmed[0] == '/':
		return "this looks like a JSON Pointer; write " + fromPointer(trimmed)
	case trimmed[0] == '?':
		return "a filter stands in brackets: $[" + trimmed + "]"
	case isNameFirst([]rune(trimmed)[0]):
		return "write $." + trimmed
	}
	return "every path begins at the root, $"
}

func fromPointer(s string) string {
	path := "$"
	for _, step := range strings.Split(s, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch {
		case step != "" && strings.Trim(step, "0123456789") == "":
			path += "[" + step + "]"
		case isShorthand(step):
			path += "." + step
		default:
			path += "[" + string(appendQuoted(nil, step)) + "]"
		}
	}
	return path
}

// hintAfterPath is for a complete path with something after it.
func hintAfterPath(p *parser) string {
	rest := p.rest()
	before := p.in[:p.pos]
	name := nameEnding(before)
	trimmed := strings.TrimSpace(rest)
	switch {
	case trimmed == "":
		return "leave out the blanks at the end"
	case rest[0] == '-' && name != "":
		word := wordAtStart().FindString(rest)
		return fmt.Sprintf("a name with - needs brackets and quotes: %s['%s']", strings.TrimSuffix(before, dotted(before, name)), name+word)
	case rest[0] == '(' && (name == "length" || name == "size" || name == "count"):
		return "functions stand only in filters, as in $[?length(@.items) > 0]; to know how many there are, count the matches of " + strings.TrimSuffix(before, dotted(before, name)) + "[*]"
	case rest[0] == '(':
		return "functions stand only in filters, as in $[?match(@.name, 'a.*')]"
	case before == "$" && isNameFirst([]rune(rest)[0]):
		return "write $." + rest
	case trimmed[0] == ']':
		return "there is no [ that it closes"
	case trimmed[0] == ')':
		return "there is no ( that it closes"
	case strings.ContainsRune("=<>!", rune(trimmed[0])):
		return "a comparison stands only in a filter, as in $.items[?@.id == 1]"
	case trimmed[0] == '|':
		return "there are no pipes; a path selects and no more"
	case trimmed[0] == '~' || trimmed[0] == '^':
		return "RFC 9535 has no operator for names or parents"
	case trimmed[0] == '?':
		return "a filter stands in brackets: [?@.name == 'value']"
	case rest[0] == ' ' && name != "" && isNameFirst([]rune(trimmed)[0]):
		return fmt.Sprintf("a name with a blank needs brackets and quotes: %s['%s']", strings.TrimSuffix(before, dotted(before, name)), name+rest)
	case rest[0] == ',':
		return "several names stand in one bracket: ['a','b']"
	case isNameFirst([]rune(rest)[0]):
		return fmt.Sprintf("write %s.%s", before, rest)
	case rest[0] == '*':
		return "a * stands for a whole name, as in $.*; use [?match(…)] for a part of a value"
	}
	return "a path continues with . or .. or ["
}

// wordAtStart is the rest of a name that cannot be written without quotes.
var wordAtStart = lazy.Regexp(`^[^\s.\[\]()'"=<>!&|,]+`)

// wordChars are what several words may be made of.
const wordChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. "

// nameEnding returns the name that s ends with.
func nameEnding(s string) string {
	i := len(s)
	for i > 0 && (isDigit(rune(s[i-1])) || isNameFirst(rune(s[i-1]))) {
		i--
	}
	return s[i:]
}

// dotted returns the name with the dot before it, if one is.
func dotted(s, name string) string {
	if rest := strings.TrimSuffix(s, name); strings.HasSuffix(rest, ".") && !strings.HasSuffix(rest, "..") {
		return "." + name
	}
	return name
}

// hintAfterDot is for what follows a dot and is neither a name nor *.
func hintAfterDot(p *parser, dots string) string {
	rest := p.rest()
	before := p.in[:p.pos]
	if dots == "." {
		before = strings.TrimSuffix(before, dots)
	}
	switch word := wordAtStart().FindString(rest); {
	case rest == "" && dots == "..":
		return "$..* selects everything below, $..name each member of that name"
	case rest == "":
		return "leave out the dot at the end"
	case strings.HasPrefix(rest, "["):
		return "leave out the dot before ["
	case strings.HasPrefix(rest, "."):
		return "at most two dots stand together"
	case word != "" && strings.Trim(word, "0123456789") == "":
		return fmt.Sprintf("an index stands in brackets: %s[%s]", before, word)
	case rest[0] == '-' && word != "" && strings.Trim(word[1:], "0123456789") == "" && len(word) > 1:
		return fmt.Sprintf("an index stands in brackets: %s[%s]", before, word)
	case rest[0] == '\'' || rest[0] == '"':
		return "a quoted name stands in brackets: ['name']"
	case word != "":
		return fmt.Sprintf("a name like this needs brackets and quotes: %s[%s]", before, appendQuoted(nil, word))
	case strings.TrimLeft(rest, " \t\r\n") != rest:
		return "leave out the blank after the dot"
	}
	return ""
}

// hintSelector is for what cannot begin a selector.
func hintSelector(p *parser, open int) string {
	rest := p.rest()
	word := wordAtStart().FindString(rest)
	before := p.in[:open]
	switch {
	case rest == "":
		return fmt.Sprintf("the [ at column %d is not closed", p.column(open))
	case rest[0] == ']' && strings.TrimSpace(p.in[open+1:p.pos]) == "":
		return fmt.Sprintf("all elements are %s[*]", before)
	case rest[0] == ']':
		return "leave out the comma at the end"
	case rest[0] == '(':
		return "scripts are not part of RFC 9535: the last element is [-1], a filter is [?…]"
	case rest[0] == '@' || rest[0] == '!':
		return "a filter begins with ?: " + before + "[?" + rest
	case rest[0] == '$':
		return "a path cannot be an index; compare with it in a filter: [?@.id == $.id]"
	case strings.ContainsRune("‘’“”`", []rune(rest)[0]):
		return "use ' or \" as quotes"
	case word != "":
		if inside, _, closed := strings.Cut(rest, "]"); closed && strings.Trim(inside, wordChars) == "" {
			word = strings.TrimSpace(inside)
		}
		return fmt.Sprintf("a name in brackets needs quotes: %s['%s']", before, word)
	}
	return ""
}

// hintInBrackets is for what cannot follow a selector.
func hintInBrackets(p *parser, open int, all []selector) string {
	rest := p.rest()
	last := all[len(all)-1]
	switch {
	case rest == "":
		return fmt.Sprintf("the [ at column %d is not closed", p.column(open))
	case last.kind == byFilter && (rest[0] == ')' || rest[0] == '}'):
		return "there is nothing that it closes"
	case last.kind == byFilter:
		return "tests are joined by && or ||"
	case last.kind == byIndex && isNameFirst([]rune(rest)[0]):
		return "a name in brackets needs quotes"
	case last.kind == byIndex && rest[0] == '.':
		return "an index is a whole number"
	case last.kind == byName && (rest[0] == '=' || rest[0] == ':'):
		return "a filter begins with ? and names its value by @: [?@.name == 'value']"
	case last.kind == wildcard:
		return "a * stands for a whole name"
	}
	return ""
}

// hintOperator fails if what comes next looks like an operator of another language.
func hintOperator(p *parser) {
	rest := p.rest()
	for _, o := range []struct{ found, hint string }{
		{"=~", "write match(@.name, 'regex') for the whole text or search(@.name, 'regex') for a part"},
		{"=", "equality is =="},
		{"~=", "write match(@.name, 'regex') or search(@.name, 'regex')"},
		{"and ", "write &&"},
		{"or ", "write ||"},
		{"in ", "write one comparison for each, joined by ||"},
		{"contains ", "write search(@.name, 'text') for a text, @.list[?@ == 'x'] for a list"},
		{"matches ", "write match(@.name, 'regex')"},
		{"is ", "equality is =="},
		{"+", "there is no arithmetic in filters"},
		{"-", "there is no arithmetic in filters; a name with - needs brackets and quotes, as in @['a-b']"},
		{"*", "there is no arithmetic in filters"},
		{"/", "there is no arithmetic in filters"},
		{"%", "there is no arithmetic in filters"},
	} {
		if strings.HasPrefix(rest, o.found) {
			p.fail("unexpected "+strings.TrimSpace(o.found), o.hint)
		}
	}
	single := (strings.HasPrefix(rest, "&") && !strings.HasPrefix(rest, "&&")) || (strings.HasPrefix(rest, "|") && !strings.HasPrefix(rest, "||"))
	if single {
		p.fail("unexpected "+rest[:1], fmt.Sprintf("write %s%[1]s", rest[:1]))
	}
	name := nameEnding(p.in[:p.pos])
	if rest != "" && rest[0] == '(' && name != "" {
		p.fail("unexpected (", fmt.Sprintf("a function stands before what it takes: %s(@…)", orKnown(name)))
	}
}

// orKnown returns the function that a name stands for, or length.
func orKnown(name string) string {
	if fn := functionNamed(name); fn != nil {
		return fn.name
	}
	if known, ok := otherNames[name]; ok {
		return known
	}
	return "length"
}

// hintTerm is for what cannot begin a comparison or test.
func hintTerm(p *parser) string {
	rest := p.rest()
	word := wordAtStart().FindString(rest)
	first := ""
	if rest != "" {
		first = string([]rune(rest)[0])
	}
	switch {
	case first == "":
		return "an expression such as @.id == 1 is missing"
	case first == "/":
		return "regular expressions are strings: match(@.name, 'regex') for the whole text or search(@.name, 'regex') for a part"
	case first == "=":
		return "equality is =="
	case first == "." && word == "" && len(rest) > 1 && isDigit(rune(rest[1])):
		return "write 0." + wordAtStart().FindString(rest[1:])
	case first == ".":
		return "write @" + first + wordAtStart().FindString(rest[1:])
	case first == "[" || first == "{":
		return "an array or object cannot be written in a filter"
	case first == "]" || first == ")":
		return "an expression such as @.id == 1 is missing"
	case strings.Contains("‘’“”`", first):
		return "use ' or \" as quotes"
	case first == "+":
		return "leave out the +"
	case word == "True" || word == "False" || word == "Null" || word == "TRUE" || word == "FALSE" || word == "NULL":
		return "write " + strings.ToLower(word)
	case word == "None" || word == "nil" || word == "undefined":
		return "write null; whether a member is there at all is @.name or !@.name"
	case word == "not":
		return "write !"
	case isNameFirst([]rune(rest)[0]):
		return fmt.Sprintf("a member is @.%s, a text '%[1]s'", word)
	}
	return ""
}

// otherNames are names that other languages give to our functions.
var otherNames = map[string]string{
	"len": "length", "size": "length", "strlen": "length",
	"regex": "match", "regexp": "match", "matches": "match", "test": "match", "like": "match",
	"contains": "search", "includes": "search", "find": "search",
	"startswith": "match", "starts_with": "match", "endswith": "match", "ends_with": "match",
	"first": "value", "get": "value",
}

func functionNamed(name string) *function {
	for _, fn := range functions {
		if fn.name == name {
			return fn
		}
	}
	return nil
}

func hintFunction(name string) string {
	if known, ok := otherNames[name]; ok {
		return "write it as in " + functionNamed(known).usage
	}
	names := make([]string, len(functions))
	for i, fn := range functions {
		names[i] = fn.name
	}
	return "there are " + strings.Join(names, ", ")
}
