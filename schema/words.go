package schema

import "strings"

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

type limit struct{ low, high, unit string }

// rangeOf returns the limit that a keyword is one end of.
func rangeOf(keyword string) (limit, bool) {
	switch keyword {
	case "minimum", "maximum":
		return limit{"minimum", "maximum", ""}, true
	case "minLength", "maxLength":
		return limit{"minLength", "maxLength", "character"}, true
	case "minItems", "maxItems":
		return limit{"minItems", "maxItems", "item"}, true
	case "minProperties", "maxProperties":
		return limit{"minProperties", "maxProperties", "field"}, true
	}
	return limit{}, false
}

func wordsOf(m member) string {
	v := m.value
	text := jsonWords(v)
	switch m.name {
	case "minimum":
		return "at least " + text
	case "maximum":
		return "at most " + text
	case "exclusiveMinimum":
		return "more than " + text
	case "exclusiveMaximum":
		return "less than " + text
	case "multipleOf":
		return "a multiple of " + text
	case "minLength":
		return "at least " + count(text, "character")
	case "maxLength":
		return "at most " + count(text, "character")
	case "pattern":
		return "matches the pattern " + clip(v.text, maxWords)
	case "format":
		return "format: " + clip(v.text, maxWords)
	case "minItems":
		return "at least " + count(text, "item")
	case "maxItems":
		return "at most " + count(text, "item")
	case "uniqueItems":
		if v.is("true") {
			return "no item twice"
		}
		return "items may repeat"
	case "contains":
		return "has an item that fits " + text
	case "minContains":
		return "at least " + text + " of these"
	case "maxContains":
		return "at most " + text + " of these"
	case "prefixItems":
		return "in this order: " + text
	case "items":
		return "no further items"
	case "minProperties":
		return "at least " + count(text, "field")
	case "maxProperties":
		return "at most " + count(text, "field")
	case "patternProperties":
		var say []string
		for _, p := range v.members {
			say = append(say, "fields that match "+clip(p.name, maxWords)+" fit "+jsonWords(p.value))
		}
		return strings.Join(say, ", ")
	case "propertyNames":
		return "names of fields fit " + text
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
		return "other fields fit " + text
	case "unevaluatedItems":
		if v.is("false") {
			return "no further items"
		}
		return "further items fit " + text
	case "not":
		return "does not fit " + text
	case "if":
		return "if it fits " + text
	case "then":
		return "then it fits " + text
	case "else":
		return "else it fits " + text
	case "enum":
		return "one of " + text
	case "const":
		return "always " + text
	case "anyOf":
		return "at least one of " + text
	case "oneOf":
		return "exactly one of " + text
	case "default":
		return "default: " + text
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
