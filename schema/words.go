package schema

import (
	"strings"
	"sync"
)

// maxWords bounds what is said of one keyword, in characters. A description is
// paid for with every request.
const maxWords = 300

// words says keywords of one schema as a model understands them, in the order in
// which they are written; two ends of a range are said together.
func words(taken []member) []string {
	value := map[string]*value{}
	for _, m := range taken {
		value[m.name] = m.value
	}
	var say []string
	done := map[string]bool{}
	for _, m := range taken {
		if done[m.name] {
			continue
		}
		done[m.name] = true
		if r, ok := rangeOf(m.name); ok && value[r.low] != nil && value[r.high] != nil {
			done[r.low], done[r.high] = true, true
			low, high := value[r.low].String(), value[r.high].String()
			if low == high {
				say = append(say, "exactly "+count(high, r.unit))
			} else {
				say = append(say, "from "+low+" to "+count(high, r.unit))
			}
			continue
		}
		say = append(say, wordsOf(m))
	}
	return say
}

// A phrase is how a keyword is said: words before its value, and what that counts.
type phrase struct{ before, unit string }

var phrases = sync.OnceValue(func() map[string]phrase {
	return map[string]phrase{
		"minimum": {"at least ", ""}, "maximum": {"at most ", ""}, "exclusiveMinimum": {"more than ", ""}, "exclusiveMaximum": {"less than ", ""},
		"multipleOf": {"a multiple of ", ""},
		"minLength":  {"at least ", "character"}, "maxLength": {"at most ", "character"},
		"minItems": {"at least ", "item"}, "maxItems": {"at most ", "item"},
		"minProperties": {"at least ", "field"}, "maxProperties": {"at most ", "field"},
		"contains": {"has an item that fits ", ""}, "prefixItems": {"in this order: ", ""}, "propertyNames": {"names of fields fit ", ""},
		"unevaluatedProperties": {"other fields fit ", ""}, "additionalProperties": {"other fields fit ", ""}, "unevaluatedItems": {"further items fit ", ""},
		"not": {"does not fit ", ""}, "if": {"if it fits ", ""}, "then": {"then it fits ", ""}, "else": {"else it fits ", ""},
		"enum": {"one of ", ""}, "const": {"always ", ""}, "anyOf": {"at least one of ", ""}, "oneOf": {"exactly one of ", ""},
		"default": {"default: ", ""},
	}
})

type limit struct{ low, high, unit string }

// rangeOf returns the limit that a keyword is one end of.
func rangeOf(keyword string) (limit, bool) {
	if len(keyword) < len("min") {
		return limit{}, false
	}
	switch of := keyword[len("min"):]; keyword {
	case "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return limit{"min" + of, "max" + of, phrases()[keyword].unit}, true
	}
	return limit{}, false
}

func wordsOf(m member) string {
	v := m.value
	text := jsonWords(v)
	switch m.name {
	case "pattern":
		return "matches the pattern " + clip(v.text, maxWords)
	case "format":
		return "format: " + clip(v.text, maxWords)
	case "uniqueItems":
		if v.is("true") {
			return "no item twice"
		}
		return "items may repeat"
	case "minContains":
		return "at least " + text + " of these"
	case "maxContains":
		return "at most " + text + " of these"
	case "items":
		return "no further items"
	case "patternProperties":
		var say []string
		for _, p := range v.members {
			say = append(say, "fields that match "+clip(p.name, maxWords)+" fit "+jsonWords(p.value))
		}
		return strings.Join(say, ", ")
	case "dependentRequired", "dependentSchemas", "dependencies":
		var say []string
		for _, p := range v.members {
			if p.value.kind == '[' {
				say = append(say, p.name+" needs "+strings.Join(p.value.names(), " and "))
			} else {
				say = append(say, "with "+p.name+" it fits "+jsonWords(p.value))
			}
		}
		return strings.Join(say, ", ")
	case "unevaluatedProperties", "additionalProperties":
		if v.is("false") {
			return "no other fields"
		}
	case "unevaluatedItems":
		if v.is("false") {
			return "no further items"
		}
	case "examples":
		var say []string
		for _, item := range v.items {
			say = append(say, item.String())
		}
		return "for example " + clip(strings.Join(say, ", "), maxWords)
	case "deprecated", "readOnly", "writeOnly":
		if v.is("true") {
			return map[string]string{"deprecated": "deprecated", "readOnly": "read-only", "writeOnly": "write-only"}[m.name]
		}
	}
	if p, ok := phrases()[m.name]; ok {
		return p.before + count(text, p.unit)
	}
	return clip(m.name, 60) + ": " + text
}

// count returns "1 item", "2 items"; without a unit the number alone.
func count(n, unit string) string {
	switch {
	case unit == "":
		return n
	case n == "1":
		return n + " " + unit
	}
	return n + " " + unit + "s"
}

// jsonWords returns JSON for a description.
func jsonWords(v *value) string { return clip(v.String(), maxWords) }

// joinWords returns a description with something added.
func joinWords(description *value, say []string) string {
	text := strings.Join(say, "; ")
	if description != nil && description.text != "" {
		return description.text + " (" + text + ")"
	}
	return text
}
