package controller

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// cures are what to write instead of what stands where reading JSON failed: the model that
// reads it has made one of a dozen mistakes, and each has a cure. It is never cured here.
var cures = []struct{ found, cure string }{
	{"True", "write true"}, {"False", "write false"}, {"None", "write null"}, {"undefined", "write null"},
	{"NaN", "write null, or leave it out"}, {"Infinity", "write a finite number"},
	{"/", "JSON has no comments; leave them out"}, {"#", "JSON has no comments; leave them out"},
	{"\n", `write \n for a line break in a string`}, {"\r", `write \r for a carriage return in a string`},
	{"\t", `write \t for a tab in a string`}, {`\u`, ""}, {`\`, `a backslash itself is written \\`},
	{"+", "a number begins with a digit or a minus"}, {".", "a number begins with a digit or a minus"},
}

// failed says what is wrong where jsontext failed to read the token that begins at start.
func (r *reader) failed(err error, start int) *syntaxError {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || !ok {
		r.at = len(r.s)
		if start < len(r.s) && r.s[start] == '"' {
			return r.fail("the answer ends inside of a string; it was cut off, or a closing double quote is missing")
		}
		return r.fail("the answer ends before the object is closed; it was cut off or a bracket is missing. Send the whole object, a shorter one if need be")
	}
	r.at = min(r.begin+int(syntax.ByteOffset), len(r.s))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return r.fail("the name %s stands twice in one object; which of the two counts is not clear", shownName(syntax.JSONPointer.LastToken()))
	}
	what := strings.TrimPrefix(syntax.Err.Error(), "jsontext: ")
	if cure := r.cure(what); cure != "" {
		what += "; " + cure
	}
	return r.fail("%s", what)
}

// cure returns what to write instead, or "" if that is plain from what was said.
func (r *reader) cure(said string) string {
	rest := r.s[r.at:]
	for _, c := range cures {
		if strings.HasPrefix(rest, c.found) {
			return c.cure
		}
	}
	char, _ := utf8.DecodeRuneInString(rest)
	switch begins := strings.HasSuffix(said, "at start of value"); {
	case begins && strings.ContainsRune(",}]", char):
		return "there is a comma too many, or a value is missing"
	case begins && strings.ContainsRune("'`‘’“”„«", char):
		return "strings stand in straight double quotes"
	case begins && rest != "" && letter(rest[0]):
		return "names and strings stand in double quotes"
	case strings.Contains(said, "expecting ',' ") && (char == '"' || strings.HasSuffix(r.s[:r.at], `"`)):
		return `if the double quote belongs to the text of a string, write it as \"` // the commonest mistake there is
	}
	return ""
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$'
}
