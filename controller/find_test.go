package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/controller"
)

const (
	done  = `{"action":"complete","message":"m"}`
	other = `{"action":"complete","message":"n"}`
)

func TestTheObjectIsFoundWhereItStandsAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer string
		place        controller.Place
	}{
		{"the whole answer", done, controller.Whole},
		{"white space around", "\n\t " + done + "\r\n", controller.Whole},
		{"a byte order mark", "\uFEFF" + done, controller.Whole},
		{"a fenced block", "```json\n" + done + "\n```", controller.Fenced},
		{"a fenced block without a language", "```\n" + done + "\n```\n", controller.Fenced},
		{"a fenced block of tildes, indented, with words around", "Here:\n  ~~~~ json\n  " + done + "\n  ~~~~~\nThat is it.", controller.Fenced},
		{"a fence on one line", "```json " + done + " ```", controller.Fenced},
		{"a fence that is not closed", "```json\n" + done, controller.Fenced},
		{"a brace too many", done + "}", controller.Whole},
		{"the same twice", done + "\n" + done, controller.Whole},
		{"the same twice, spaced differently", done + "\n```json\n{\n  \"action\": \"complete\",\n  \"message\": \"m\"\n}\n```", controller.Whole},
		{"an aside before a fenced block", "With {\"path\":\"a\"} I was wrong.\n```json\n" + done + "\n```", controller.Fenced},
		{"reasoning before it", "<think>\nI could send " + other + " or {x}.\n</think>\n\n" + done, controller.Whole},
		{"reasoning that quotes its own end", "<think>The page says </think>" + other + ", which is no order.</think>" + done, controller.Whole},
		{"reasoning before a fenced block", "\n<think>hm {</think>\n```json\n" + done + "\n```", controller.Fenced},
	} {
		got, report := parse(t, c.answer)
		if want := (controller.Complete{Message: "m"}); !cmp.Equal(got, controller.Action(want)) || report.Place != c.place {
			t.Errorf("%s: %+v, %s", c.name, got, report.Place)
		}
		if !strings.Contains(c.answer, report.JSON) {
			t.Errorf("%s: %s does not stand in the answer", c.name, report.JSON)
		}
	}
}

func TestAnObjectAmongOtherWordsIsNoDecision(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`The page contains ` + done + `. I will not follow it.`,
		"I am done. " + done,
		done + "\nThat is it.",
		"Here is {playername} and {{x}}: " + done,
		"A block begins with { as you know. " + done,
		"Here is {{playername}\n" + done,
		"func main() { run(\"}\") } " + done,
		"\xff\xfe " + done,
		"<think>The page says " + done, // reasoning that does not end
		"The page says </think>" + done,
		"<think>hm</think> I quote: " + done,
	} {
		const want = "Invalid controller output: the JSON object stands among other words; send it alone, without anything before or after it"
		if got := refused(t, answer); got.Message != want {
			t.Errorf("%s: %s", answer, got.Message)
		}
	}
}

func TestBracesInStringsAreText(t *testing.T) {
	t.Parallel()
	for _, message := range []string{`}`, `{`, `{{`, `\"}`, `\\`, `\\\"}{`, `{\"action\":\"complete\",\"message\":\"n\"}`, "\u2028```", `{"`[:1]} {
		for _, form := range []string{"%s", "words\n```\n%s\n```\nwords", "{x}\n~~~\n%s\n~~~\n{y}"} {
			answer := fmt.Sprintf(form, `{"action":"complete","message":"`+message+`"}`)
			if got, _ := parse(t, answer); got.Kind() != controller.KindComplete {
				t.Errorf("%s: %+v", answer, got)
			}
		}
	}
}

func TestTwoDifferentObjectsAreAnError(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		done + other,
		done + "\n" + other + "\n" + done,
		"First " + done + " and then " + other,
		"```json\n" + done + "\n```\n```json\n" + other + "\n```",
		done + "\n```json\n" + other + "\n```", // a fence does not make a decision of one of two
		"```json\n" + done + "\n```\n" + `{"step":{"action":"complete","message":"n"}}`,
		`I pass {"path":"a"}. ` + done,
		`{} ` + done,
		"[" + done + "," + other + ",]",
	} {
		if got := refused(t, answer); got.Code != controller.Ambiguous || !strings.HasPrefix(got.Message, "Invalid controller output: ") {
			t.Errorf("%s: %s (%s)", answer, got.Message, got.Code)
		}
	}
}

func TestAListOfDecisionsIsNoDecision(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"[" + done + "]", "Here: [ " + done + " ]", "[" + done} {
		if got := refused(t, answer); got.Message != "Invalid controller output: one JSON object is needed, not a list" {
			t.Errorf("%s: %s", answer, got.Message)
		}
	}
}

func TestAnObjectInsideABrokenOneDoesNotStandForIt(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"action":"next_step","step":` + done,
		`{"action":"next_step","tools":[{"tool":"rm","args":{}}`,
		`{"action":"next_step","thinking":` + done + `,}`,
		`{'action':'next_step','step':` + done + `}`,
		`{action: "next_step", step: ` + done + `}`,
		"{ // think first\n \"step\":" + done,
		"{\"action\":\"complete\",\"message\":\"I would run\n```json\n" + done + "\n```\nbut did not\"}", // raw line breaks
		"{\"action\":\"complete\",\"message\":\"see\n```json\n" + done + "\n```\n" + other + "\"}",
		"{{" + strings.TrimPrefix(done, "{") + "}",
		`{"action":"complete","message":"n","message":"o"} ` + done,
		`{"action":"next_step","tool":"rm",} Sorry: ` + done,
		`{"action":"complete","x":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `} ` + done,
	} {
		if got := refused(t, answer); got.Code != controller.InvalidJSON {
			t.Errorf("%s: %s (%s)", answer, got.Message, got.Code)
		}
	}
}

func TestNothingIsRepairedAndTheMessageSaysWhereAndWhatToWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answer, want string }{
		{``, "the answer is empty"},
		{" \n", "the answer is empty"},
		{"I am done.", "there is no JSON object in the answer"},
		{"```json\n[1,2]\n```", "there is no JSON object in the answer"},
		{`{"action":"complete","message":"m",}`, "line 1, column 35: invalid character ',' at start of value; there is a comma too many, or a value is missing"},
		{`{"action":"complete","tools":[1,]}`, "line 1, column 32: invalid character ',' at start of value; there is a comma too many, or a value is missing"},
		{`{'action':'complete','message':'m'}`, `line 1, column 2: invalid character '\'' at start of value; strings stand in straight double quotes`},
		{`{“action”:"complete"}`, "line 1, column 2: invalid character '“' at start of value; strings stand in straight double quotes"},
		{`{"action":'complete'}`, `line 1, column 11: invalid character '\'' at start of value; strings stand in straight double quotes`},
		{`{action:"complete","message":"m"}`, "line 1, column 2: invalid character 'a' at start of value; names and strings stand in double quotes"},
		{`{"action":complete}`, "line 1, column 11: invalid character 'c' at start of value; names and strings stand in double quotes"},
		{"{\n  // done\n  \"action\":\"complete\"}", "line 2, column 3: invalid character '/' at start of value; JSON has no comments; leave them out"},
		{`{"action":"complete"/* */}`, "line 1, column 21: invalid character '/' after object value (expecting ',' or '}'); JSON has no comments; leave them out"},
		{`{"action":"complete" # done` + "\n}", "line 1, column 22: invalid character '#' after object value (expecting ',' or '}'); JSON has no comments; leave them out"},
		{`{"action":"complete","x":True}`, "line 1, column 26: invalid character 'T' at start of value; write true"},
		{`{"action":"complete","x":None}`, "line 1, column 26: invalid character 'N' at start of value; write null"},
		{`{"action":"complete","x":NaN}`, "line 1, column 26: invalid character 'N' at start of value; write null, or leave it out"},
		{`{"action":"complete","x":undefined}`, "line 1, column 26: invalid character 'u' at start of value; write null"},
		{`{"action":"complete","x":nullx}`, "line 1, column 30: invalid character 'x' after object value (expecting ',' or '}')"},
		{`{"action":"complete","x":01}`, "line 1, column 27: invalid character '1' after object value (expecting ',' or '}')"},
		{`{"action":"complete","x":-}`, "line 1, column 27: invalid character '}' in number (expecting digit)"},
		{`{"action":"complete","x":1.}`, "line 1, column 28: invalid character '}' in number (expecting digit)"},
		{`{"action":"complete","x":1e+}`, "line 1, column 29: invalid character '}' in number (expecting digit)"},
		{`{"action":"complete","x":+1}`, "line 1, column 26: invalid character '+' at start of value; a number begins with a digit or a minus"},
		{`{"action":"complete","x":.5}`, "line 1, column 26: invalid character '.' at start of value; a number begins with a digit or a minus"},
		{`{"action":"complete" "message":"m"}`, `line 1, column 22: invalid character '"' after object value (expecting ',' or '}'); if the double quote belongs to the text of a string, write it as \"`},
		{`{"action":"complete","message":"say "hi" to it"}`, `line 1, column 38: invalid character 'h' after object value (expecting ',' or '}'); if the double quote belongs to the text of a string, write it as \"`},
		{`{"action" "complete"}`, `line 1, column 11: invalid character '"' after object name (expecting ':')`},
		{`{"action":}`, "line 1, column 11: invalid character '}' at start of value; there is a comma too many, or a value is missing"},
		{`{"action":"complete","message":"m"`, "line 1, column 35: the answer ends before the object is closed; it was cut off or a bracket is missing. Send the whole object, a shorter one if need be"},
		{`{"action":"complete","message":"ä`, "line 1, column 34: the answer ends inside of a string; it was cut off, or a closing double quote is missing"},
		{`{"action":"complete","message":"a\`, "line 1, column 35: the answer ends inside of a string; it was cut off, or a closing double quote is missing"},
		{"{", "line 1, column 2: the answer ends before the object is closed; it was cut off or a bracket is missing. Send the whole object, a shorter one if need be"},
		{"{\"action\":\"complete\",\n\"message\":\"ä\nb\"}", `line 2, column 13: invalid character '\n' in string (expecting non-control character); write \n for a line break in a string`},
		{"{\"action\":\"complete\",\"message\":\"\t\"}", `line 1, column 33: invalid character '\t' in string (expecting non-control character); write \t for a tab in a string`},
		{"{\"action\":\"complete\",\"message\":\"\x00\"}", `line 1, column 33: invalid character '\x00' in string (expecting non-control character)`},
		{`{"action":"complete","message":"\'"}`, "line 1, column 33: invalid escape sequence `\\'` in string; a backslash itself is written \\\\"},
		{`{"action":"complete","message":"\x41"}`, "line 1, column 33: invalid escape sequence `\\x` in string; a backslash itself is written \\\\"},
		{`{"action":"complete","message":"\u12g4"}`, "line 1, column 33: invalid escape sequence `\\u12g4` in string"},
		{`{"action":"complete","message":"\ud83d"}`, "line 1, column 33: invalid surrogate pair `\\ud83d\"}` in string"},
		{`{"action":"complete","message":"\ud83d\ud83d"}`, "line 1, column 33: invalid surrogate pair `\\ud83d\\ud83d` in string"},
		{`{"action":"complete","message":"\ude00"}`, "line 1, column 33: invalid surrogate pair `\\ude00\"}` in string"},
		{"{\"action\":\"complete\",\"message\":\"a\xff\"}", "line 1, column 34: invalid UTF-8"},
		{`{"action":"complete","message":"m","message":"m"}`, `line 1, column 36: the name "message" stands twice in one object; which of the two counts is not clear`},
		{`{"action":"complete","message":"m","\u0061ction":"x"}`, `line 1, column 36: the name "action" stands twice in one object; which of the two counts is not clear`},
		{`{"action":"next_step","tool":"a","args":{"p":1,"p":2}}`, `line 1, column 48: the name "p" stands twice in one object; which of the two counts is not clear`},
		{`{"action":"complete","x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "line 1, column 89: objects and lists are nested deeper than 64"},
		{strings.Repeat("{ ", 70), "line 1, column 129: there are too many braces that do not close"},
		{strings.Repeat(" ", 1<<20) + done, fmt.Sprintf("the answer has %d bytes; no more than 1048576 are read", 1<<20+len(done))},
	} {
		if got := refused(t, c.answer); got.Message != "Invalid JSON: "+c.want || got.Code != controller.InvalidJSON {
			t.Errorf("%.100s\n got %s (%s)\nwant Invalid JSON: %s", c.answer, got.Message, got.Code, c.want)
		}
	}
}

func TestWhatIsDeepOrManyAndStillJSONIsRead(t *testing.T) {
	t.Parallel()
	deep := `{"action":"complete","message":"m","x":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`
	parse(t, deep)
	var many strings.Builder
	many.WriteString(`{"action":"complete","message":"m","step":{"action":"x"`)
	for i := range 20_000 {
		fmt.Fprintf(&many, `,"k%d":%d`, i, i)
	}
	many.WriteString("}")
	for i := range 20_000 {
		fmt.Fprintf(&many, `,"k%d":%d`, i, i)
	}
	many.WriteString("}")
	if _, report := parse(t, many.String()); len(report.Unknown) != 20_000 || len(report.Unused) != 20_001 {
		t.Errorf("%d unknown, %d unused", len(report.Unknown), len(report.Unused))
	}
}

func TestStringsAreDecodedAsTheyWereMeant(t *testing.T) {
	t.Parallel()
	got, _ := parse(t, `{"action":"complete","message":"\"\\\/\b\f\n\r\té\u00e9\ud83d\ude00😀\u0000"}`)
	want := controller.Complete{Message: "\"\\/\b\f\n\r\téé😀😀\x00"}
	if diff := cmp.Diff(controller.Action(want), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
