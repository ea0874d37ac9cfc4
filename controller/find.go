package controller

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Place says where in an answer the object stood.
type Place string

const (
	Whole  Place = "whole"  // the answer is the object, or what follows its reasoning is
	Fenced Place = "fenced" // in a fenced block
)

const (
	// maxAnswer is the longest answer that is read, in bytes. The longest that a
	// model writes is some 128,000 tokens, well under half of it.
	maxAnswer = 1 << 20
	// maxStray is how many braces of prose that never close are passed over. Each
	// means looking through the rest of the answer once.
	maxStray = 64

	byteOrderMark = "\uFEFF"
)

// find returns the one JSON object of an answer and where it stood.
//
// An answer that is JSON as a whole is taken as that; so is what follows the reasoning
// that some models put in front, in <think>. In any other, every balanced pair of braces
// is looked at, left to right, never one inside another: an object inside of a broken
// one must not stand for it. What reads as an object is a candidate. What is meant as a
// decision and cannot be read makes the answer invalid, whatever else is in it. Objects
// alone in a fenced block come before the others, but not before another decision. Two
// candidates are one when they are written the same, white space apart.
//
// An object among other words is no decision: a model that quotes what it has read
// quotes the objects in it too, and somebody else may have written them.
func find(answer string) (value, Place, *Error) {
	if len(answer) > maxAnswer {
		return value{}, "", &Error{Code: InvalidJSON, Message: fmt.Sprintf("Invalid JSON: the answer has %d bytes; no more than %d are read", len(answer), maxAnswer)}
	}
	if whole, ok := wholeObject(answer); ok {
		if whole.kind != jsonObject {
			return value{}, "", invalid(InvalidOutput, "one JSON object is needed, not %s", whole.kind)
		}
		return whole, Whole, nil
	}
	if rest := withoutReasoning(answer); rest != answer {
		return find(rest)
	}

	found := objects(answer)
	if found.broken != nil {
		return value{}, "", invalidJSON(answer, found.broken)
	}
	candidates := found.candidates
	if slices.ContainsFunc(candidates, func(c candidate) bool { return c.fenced }) {
		candidates = withoutAsides(candidates)
	}
	if len(candidates) == 0 {
		switch {
		case found.failed != nil:
			return value{}, "", invalidJSON(answer, found.failed)
		case strings.TrimSpace(answer) == "":
			return value{}, "", &Error{Code: InvalidJSON, Message: "Invalid JSON: the answer is empty"}
		}
		return value{}, "", &Error{Code: InvalidJSON, Message: "Invalid JSON: there is no JSON object in the answer"}
	}
	first := candidates[0]
	for _, c := range candidates[1:] {
		if c.compact() != first.compact() {
			return value{}, "", invalid(Ambiguous, "there are different JSON objects in the answer; send one, and nothing else")
		}
	}
	if first.listed {
		return value{}, "", invalid(InvalidOutput, "one JSON object is needed, not a list")
	}
	switch {
	case first.fenced:
		return first.value, Fenced, nil
	case !alone(answer, candidates):
		return value{}, "", invalid(InvalidOutput, "the JSON object stands among other words; send it alone, without anything before or after it")
	case strings.ContainsAny(answer[:first.begin], "`~"):
		return first.value, Fenced, nil
	}
	return first.value, Whole, nil
}

// alone reports whether an answer has nothing beside its objects but the marks of a
// fenced block, well formed or not, and braces too many.
func alone(answer string, candidates []candidate) bool {
	at := 0
	var rest strings.Builder
	for _, c := range candidates {
		rest.WriteString(answer[at:c.begin])
		at = c.begin + len(c.value.raw)
	}
	rest.WriteString(answer[at:])
	beside := strings.ReplaceAll(strings.ToLower(rest.String()), "json", "")
	return strings.Trim(beside, jsonSpace+"`~}"+byteOrderMark) == ""
}

// wholeObject returns the value of an answer that is JSON as a whole.
func wholeObject(answer string) (value, bool) {
	// A byte order mark may be ignored (RFC 8259, section 8.1).
	v, err := readWhole(strings.TrimPrefix(answer, byteOrderMark))
	return v, err == nil
}

const (
	thinkOpens  = "<think>"
	thinkCloses = "</think>"
)

// withoutReasoning returns an answer without the reasoning in front of it. Reasoning
// can quote its own end; it ends where the rest is JSON as a whole, or else where it
// ends last.
func withoutReasoning(answer string) string {
	rest, ok := strings.CutPrefix(strings.TrimLeft(answer, jsonSpace), thinkOpens)
	if !ok || !strings.Contains(rest, thinkCloses) {
		return answer
	}
	for {
		_, after, found := strings.Cut(rest, thinkCloses)
		if !found {
			return rest
		}
		rest = after
		if _, whole := wholeObject(rest); whole {
			return rest
		}
	}
}

// A candidate is an object found in an answer.
type candidate struct {
	value  value
	begin  int  // byte of the answer
	fenced bool // it is all there is in a fenced block
	listed bool // a list begins right before it
}

// compact returns the object without white space.
func (c candidate) compact() string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(c.value.raw)); err != nil {
		panic(fmt.Sprintf("compact what was read: %v", err)) // unreachable: it is JSON
	}
	return b.String()
}

// withoutAsides leaves out what stands outside of fenced blocks and names no action.
func withoutAsides(cs []candidate) []candidate {
	var kept []candidate
	for _, c := range cs {
		if c.fenced || c.decides() {
			kept = append(kept, c)
		}
	}
	return kept
}

// decides reports whether a candidate could be a decision.
func (c candidate) decides() bool { return namesAction(c.value) }

// namesAction reports whether an object could be a decision.
func namesAction(v value) bool {
	if _, ok := v.get("action"); ok {
		return true
	}
	for _, w := range wrappers {
		if inner, ok := v.get(w); ok {
			if _, ok := inner.get("action"); ok {
				return true
			}
		}
	}
	return false
}

// What objects finds in an answer.
type findings struct {
	candidates []candidate
	broken     *syntaxError // the first thing that is meant as a decision and is not JSON
	failed     *syntaxError // the first pair of braces that is not JSON, whatever it means
}

func objects(answer string) findings {
	var f findings
	text := []byte(answer)
	stray := 0
	for at := 0; ; {
		next := strings.IndexByte(answer[at:], '{')
		if next < 0 {
			return f
		}
		at += next
		v, end, err := readObject(answer, text, at)
		if err == nil {
			f.candidates = append(f.candidates, candidate{value: v, begin: at, fenced: fenced(answer, at, end), listed: strings.HasSuffix(strings.TrimRight(answer[:at], jsonSpace), "[")})
			at = end
			continue
		}
		if f.failed == nil {
			f.failed = err
		}
		end, closed := balance(answer, at)
		if opensObject(answer[at+1:]) && (!closed || strings.Contains(answer[at:end], "action")) {
			f.broken = err
			return f
		}
		if closed {
			at = end // prose in braces, and what is in them
			continue
		}
		if stray++; stray > maxStray {
			f.broken = &syntaxError{at: at, what: "there are too many braces that do not close"}
			return f
		}
		at++
	}
}

// balance returns where the brace at a byte of s closes, not counting braces in
// strings. It knows nothing else of JSON, so it finds the end of broken objects too.
func balance(s string, at int) (end int, closed bool) {
	depth, inString := 0, false
	for i := at; i < len(s); i++ {
		switch c := s[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(s), false
}

const jsonSpace = " \t\r\n"

// opensObject reports whether what follows a brace reads like the inside of an
// object, in JSON or in one of the dialects that are mistaken for it. A template's
// {name}, a function's body and a brace in prose do not.
func opensObject(rest string) bool {
	rest = strings.TrimLeft(rest, jsonSpace)
	if rest == "" || strings.ContainsRune(`"'}/#`, rune(rest[0])) || strings.HasPrefix(rest, "“") || strings.HasPrefix(rest, "‘") {
		return true
	}
	n := 0
	for n < len(rest) && letter(rest[n]) {
		n++
	}
	return n > 0 && strings.HasPrefix(strings.TrimLeft(rest[n:], jsonSpace), ":")
}

// fenced reports whether the line before s[from:to] opens a fenced block, the line
// after closes it, and nothing else is in it.
func fenced(s string, from, to int) bool {
	before := strings.TrimRight(s[:from], jsonSpace)
	after := strings.TrimLeft(s[to:], jsonSpace)
	if !strings.Contains(s[len(before):from], "\n") || !strings.Contains(s[to:len(s)-len(after)], "\n") {
		return false
	}
	open := strings.TrimLeft(before[strings.LastIndexByte(before, '\n')+1:], " \t")
	shut, _, _ := strings.Cut(after, "\n")
	shut = strings.TrimRight(shut, jsonSpace)
	for _, mark := range []string{"`", "~"} {
		info := strings.TrimLeft(open, mark)
		n := len(open) - len(info)
		if n >= 3 && !strings.Contains(info, mark) && strings.Trim(shut, mark) == "" && len(shut) >= n {
			return true
		}
	}
	return false
}
