package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxAnswerDepth bounds the nesting of an answer, in levels of JSON.
const maxAnswerDepth = 1000

// maxProblems bounds how many problems are returned: an answer that is wrong in a
// thousand places is not mended place by place.
const maxProblems = 100

// A Problem is one thing that is wrong with a value, in words that a model can act
// on.
type Problem struct {
	Path string // where, as people write it: edits[0].old; "" for the whole
	What string
}

func (p Problem) String() string { return at(p.Path, p.What) }

// Validate says everything that is wrong with a value, sorted by place; nil when
// it fits.
func (c *Compiled) Validate(answer json.RawMessage) []Problem {
	tree, err := parse(answer, maxAnswerDepth)
	if err != nil {
		return []Problem{{"", "it is not JSON: " + clip(strings.TrimPrefix(err.Error(), "jsontext: "), 200)}}
	}
	if n := findNumber(tree, tooLarge); n != nil {
		return []Problem{{"", "the number " + clip(string(n.raw), 40) + " is out of range"}}
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	if err != nil {
		return []Problem{{"", "it is not JSON: " + clip(err.Error(), 200)}} // unreachable: it was parsed
	}
	invalid, ok := c.schema.Validate(v).(*jsonschema.ValidationError)
	if !ok {
		return nil
	}
	found := findings{}
	found.add(invalid)
	problems := found.problems()
	if len(problems) > maxProblems {
		more := len(problems) - maxProblems
		problems = append(problems[:maxProblems], Problem{"", fmt.Sprintf("and %d more problems", more)})
	}
	return problems
}

// findings collects problems. What several branches of a union want at one place
// is one problem with several ways out.
type findings map[place]*finding

type place struct{ path, about string }

type finding struct {
	got  string
	want []string
	what string // said as it is, when want is empty
}

func (f findings) add(e *jsonschema.ValidationError) {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		for _, branch := range nearest(e) {
			f.add(branch)
		}
		if len(e.Causes) > 0 {
			return
		}
	default:
		for _, cause := range e.Causes {
			f.add(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
	}
	at := e.InstanceLocation
	say := func(path []string, about, got, what string, want ...string) {
		p := place{where(path), about}
		if f[p] == nil {
			f[p] = &finding{got: got, what: what}
		}
		f[p].want = union(f[p].want, want)
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			say(append(slices.Clone(at), name), "missing", "", "missing")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			say(append(slices.Clone(at), name), "unknown", "", "there is no such field")
		}
	case *kind.Type:
		say(at, "type", k.Got, "", k.Want...)
	case *kind.Enum:
		var may []string
		for _, w := range k.Want {
			may = append(may, clip(fmt.Sprint(w), 60))
		}
		say(at, "value", asJSON(k.Got), "", may...)
	case *kind.Const:
		say(at, "value", asJSON(k.Got), "", clip(fmt.Sprint(k.Want), 60))
	case *kind.OneOf:
		say(at, "oneOf", "", "it fits more than one of what it may be; only one is meant")
	case *kind.Not:
		say(at, "not", "", "it is what it must not be")
	case *kind.FalseSchema:
		say(at, "false", "", "it may not be given")
	case *kind.MinLength:
		say(at, "minLength", "", "too short: at least "+count(strconv.Itoa(k.Want), "character"))
	case *kind.MaxLength:
		say(at, "maxLength", "", fmt.Sprintf("too long: %d characters; at most %d", k.Got, k.Want))
	case *kind.MinItems:
		say(at, "minItems", "", "too few: at least "+count(strconv.Itoa(k.Want), "item"))
	case *kind.MaxItems:
		say(at, "maxItems", "", fmt.Sprintf("too many: %d items; at most %d", k.Got, k.Want))
	case *kind.Pattern:
		say(at, "pattern", "", fmt.Sprintf("%q does not match the pattern %s", clip(k.Got, 60), clip(k.Want, 200)))
	case *kind.Minimum:
		say(at, "minimum", "", "must be at least "+k.Want.RatString())
	case *kind.Maximum:
		say(at, "maximum", "", "must be at most "+k.Want.RatString())
	default:
		what := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		say(at, what, "", clip(what, 200))
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // unreachable: it was read from JSON
	}
	return clip(string(b), 60)
}

// nearest returns the branches of a failed union that the value comes nearest to:
// those of the right type and with the right values where these tell the branches
// apart; all when there is none.
func nearest(union *jsonschema.ValidationError) []*jsonschema.ValidationError {
	near := slices.DeleteFunc(slices.Clone(union.Causes), func(branch *jsonschema.ValidationError) bool {
		return isOther(branch, len(union.InstanceLocation))
	})
	if len(near) == 0 {
		return union.Causes
	}
	return near
}

// isOther reports whether a branch failed because it is meant for another kind of
// value: by its type, or by the value of a field that names the kind.
func isOther(e *jsonschema.ValidationError, depth int) bool {
	switch e.ErrorKind.(type) {
	case *kind.Type:
		return len(e.InstanceLocation) == depth
	case *kind.Const, *kind.Enum:
		return len(e.InstanceLocation) <= depth+1
	case *kind.AnyOf, *kind.OneOf:
		return false
	}
	return slices.ContainsFunc(e.Causes, func(cause *jsonschema.ValidationError) bool { return isOther(cause, depth) })
}

// problems returns what was found, sorted.
func (f findings) problems() []Problem {
	var problems []Problem
	for p, found := range f {
		what := found.what
		switch {
		case len(found.want) > 0 && p.about == "type":
			what = "expected " + strings.Join(found.want, " or ") + ", got " + found.got
		case len(found.want) > 0:
			what = found.got + " is none of " + strings.Join(found.want, ", ")
		}
		problems = append(problems, Problem{p.path, what})
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(problems)
}

// where writes a location as people do: edits[0].old.
func where(location []string) string {
	var b strings.Builder
	for _, name := range location {
		name = clip(name, 60)
		if _, err := strconv.Atoi(name); err == nil && b.Len() > 0 {
			b.WriteString("[" + name + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(name)
	}
	return b.String()
}
