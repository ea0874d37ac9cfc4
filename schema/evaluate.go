package schema

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An evaluation holds values against a compiled schema, by the rules of JSON Schema,
// draft 2020-12 (json-schema.org/draft/2020-12, validation and core, read 2026-11-22),
// and the words of earlier drafts for the same: definitions, dependencies, an array as
// items with additionalItems.
type evaluation struct {
	*Compiled
	open map[pair]bool // references under way: one that leads back says nothing new
}

type pair struct{ schema, value *value }

// A location is where a value stands in an answer.
type location struct {
	up   *location
	name string
}

func (l *location) path() []string {
	if l == nil {
		return nil
	}
	return append(l.up.path(), l.name)
}

// A violation is one way in which a value does not fit. That of a union has the
// violations of each branch.
type violation struct {
	at       *location
	keyword  string
	got      string
	want     []string
	what     string
	branches [][]violation // of anyOf and oneOf
}

// seen is what has been looked at of an object or a list, for unevaluatedProperties and
// unevaluatedItems. It is nil in schemas that have neither.
type seen struct {
	names map[string]bool
	items map[int]bool
}

func (s *seen) name(n string) {
	if s != nil {
		s.names[n] = true
	}
}

func (s *seen) item(i int) {
	if s != nil {
		s.items[i] = true
	}
}

// fits reports whether a value fits a schema.
func (c *Compiled) fits(s, v *value) bool {
	e := evaluation{Compiled: c, open: map[pair]bool{}}
	return len(e.value(s, v, nil, c.newSeen())) == 0
}

func (c *Compiled) newSeen() *seen {
	if !c.unevaluated {
		return nil
	}
	return &seen{map[string]bool{}, map[int]bool{}}
}

// inPlace evaluates a schema that is about the same value; what it has looked at
// counts when the value fits it.
func (e *evaluation) inPlace(s, v *value, at *location, looked *seen) []violation {
	own := e.newSeen()
	found := e.value(s, v, at, own)
	if len(found) == 0 && own != nil {
		for n := range own.names {
			looked.name(n)
		}
		for i := range own.items {
			looked.item(i)
		}
	}
	return found
}

// value returns how a value does not fit a schema.
func (e *evaluation) value(s, v *value, at *location, looked *seen) (found []violation) {
	fail := func(keyword, what string) {
		found = append(found, violation{at: at, keyword: keyword, what: what})
	}
	switch s.kind {
	case 't':
		return nil
	case 'f':
		fail("false", "it may not be given")
		return found
	}
	if target := e.refs[s]; target != nil {
		p := pair{s, v}
		if !e.open[p] {
			e.open[p] = true
			found = append(found, e.inPlace(target, v, at, looked)...)
			delete(e.open, p)
		}
		if e.legacy {
			return found // before 2019 the siblings of $ref say nothing
		}
	}
	for _, m := range s.members {
		k := m.value
		switch m.name {
		case "type":
			if names := k.names(); !slices.ContainsFunc(names, func(name string) bool { return isType(v, name) }) {
				found = append(found, violation{at: at, keyword: "type", got: typeOf(v), want: names})
			}
		case "enum":
			if !slices.ContainsFunc(k.items, func(w *value) bool { return same(w, v) }) {
				var may []string
				for _, w := range k.items {
					may = append(may, wordFor(w))
				}
				found = append(found, violation{at: at, keyword: "enum", got: clip(v.String(), 60), want: may})
			}
		case "const":
			if !same(k, v) {
				found = append(found, violation{at: at, keyword: "const", got: clip(v.String(), 60), want: []string{wordFor(k)}})
			}
		case "allOf":
			for _, part := range k.items {
				found = append(found, e.inPlace(part, v, at, looked)...)
			}
		case "anyOf", "oneOf":
			var branches [][]violation
			fitting := 0
			for _, part := range k.items {
				if problems := e.inPlace(part, v, at, looked); len(problems) > 0 {
					branches = append(branches, problems)
				} else {
					fitting++
				}
			}
			switch {
			case fitting == 0:
				found = append(found, violation{at: at, keyword: m.name, branches: branches})
			case fitting > 1 && m.name == "oneOf":
				fail("oneOf", "it fits more than one of what it may be; only one is meant")
			}
		case "not":
			if len(e.value(k, v, at, e.newSeen())) == 0 {
				fail("not", "it is what it must not be")
			}
		case "if":
			branch := s.get("then")
			if len(e.inPlace(k, v, at, looked)) > 0 {
				branch = s.get("else")
			}
			if branch != nil {
				found = append(found, e.inPlace(branch, v, at, looked)...)
			}
		case "format":
			if e.legacy && v.kind == '"' && !isFormat(k.text, v.text) {
				fail("format", strconv.Quote(clip(v.text, 60))+" is no "+clip(k.text, 40))
			}
		}
	}
	switch v.kind {
	case '{':
		found = append(found, e.object(s, v, at, looked)...)
	case '[':
		found = append(found, e.array(s, v, at, looked)...)
	case '"':
		found = append(found, e.text(s, v, at)...)
	case '0':
		found = append(found, e.number(s, v, at)...)
	}
	return found
}

// object returns what is wrong with the members of an object.
func (e *evaluation) object(s, v *value, at *location, looked *seen) (found []violation) {
	fail := func(keyword, what string) {
		found = append(found, violation{at: at, keyword: keyword, what: what})
	}
	missing := func(name, what string) {
		found = append(found, violation{at: &location{at, name}, keyword: "required", what: what})
	}
	into := func(sub *value, m member) {
		looked.name(m.name)
		found = append(found, e.value(sub, m.value, &location{at, m.name}, e.newSeen())...)
	}
	properties, patterns, additional := s.get("properties"), s.get("patternProperties"), s.get("additionalProperties")
	if properties != nil || patterns != nil || additional != nil {
		for _, m := range v.members {
			declared := false
			if sub := properties.get(m.name); sub != nil {
				declared = true
				into(sub, m)
			}
			for _, p := range patterns.list() {
				if e.matches(p.name, m.name) {
					declared = true
					into(p.value, m)
				}
			}
			switch {
			case declared || additional == nil:
			case additional.kind == 'f':
				found = append(found, violation{at: &location{at, m.name}, keyword: "unknown", what: "there is no such field"})
			default:
				into(additional, m)
			}
		}
	}
	for _, m := range s.members {
		k := m.value
		switch m.name {
		case "required":
			for _, name := range k.items {
				if !v.has(name.text) {
					missing(name.text, "missing")
				}
			}
		case "minProperties":
			if n := integer(k); len(v.members) < n {
				fail(m.name, "too few fields: at least "+strconv.Itoa(n))
			}
		case "maxProperties":
			if n := integer(k); len(v.members) > n {
				fail(m.name, "too many fields: "+strconv.Itoa(len(v.members))+"; at most "+strconv.Itoa(n))
			}
		case "propertyNames":
			for _, field := range v.members {
				if problems := e.value(k, newString(field.name), at, e.newSeen()); len(problems) > 0 {
					found = append(found, violation{at: &location{at, field.name}, keyword: "propertyNames", what: "a field may not have this name"})
				}
			}
		case "dependentRequired", "dependencies", "dependentSchemas":
			for _, d := range k.members {
				switch {
				case !v.has(d.name):
				case d.value.kind == '[':
					for _, name := range d.value.items {
						if !v.has(name.text) {
							missing(name.text, "missing: it goes with "+clip(d.name, 60))
						}
					}
				default:
					found = append(found, e.inPlace(d.value, v, at, looked)...)
				}
			}
		}
	}
	if rest := s.get("unevaluatedProperties"); rest != nil {
		for _, m := range v.members {
			switch {
			case looked.names[m.name]:
			case rest.kind == 'f':
				found = append(found, violation{at: &location{at, m.name}, keyword: "unknown", what: "there is no such field"})
			default:
				into(rest, m)
			}
			looked.name(m.name)
		}
	}
	if additional != nil {
		for _, m := range v.members {
			looked.name(m.name)
		}
	}
	return found
}

// array returns what is wrong with the items of a list.
func (e *evaluation) array(s, v *value, at *location, looked *seen) (found []violation) {
	fail := func(keyword, what string) {
		found = append(found, violation{at: at, keyword: keyword, what: what})
	}
	for i, item := range v.items {
		if sub := itemSchema(s, i); sub != nil {
			looked.item(i)
			if sub.kind == 'f' {
				fail("items", "too many: "+strconv.Itoa(len(v.items))+" items; at most "+strconv.Itoa(i))
				break
			}
			found = append(found, e.value(sub, item, &location{at, strconv.Itoa(i)}, e.newSeen())...)
		}
	}
	for _, m := range s.members {
		k := m.value
		switch m.name {
		case "minItems":
			if n := integer(k); len(v.items) < n {
				fail(m.name, "too few: at least "+count(strconv.Itoa(n), "item"))
			}
		case "maxItems":
			if n := integer(k); len(v.items) > n {
				fail(m.name, "too many: "+strconv.Itoa(len(v.items))+" items; at most "+strconv.Itoa(n))
			}
		case "uniqueItems":
			if i, j, twice := repeated(v.items); k.kind == 't' && twice {
				fail(m.name, "items "+strconv.Itoa(i)+" and "+strconv.Itoa(j)+" are the same; each must be different")
			}
		case "contains":
			n := 0
			for i, item := range v.items {
				if len(e.value(k, item, nil, e.newSeen())) == 0 {
					n++
					looked.item(i)
				}
			}
			low, high := 1, len(v.items)
			if least := s.get("minContains"); least != nil && !e.legacy {
				low = integer(least)
			}
			if most := s.get("maxContains"); most != nil && !e.legacy {
				high = integer(most)
			}
			switch {
			case n < low:
				fail(m.name, "at least "+count(strconv.Itoa(low), "item")+" must be as it says in contains; "+strconv.Itoa(n)+" are")
			case n > high:
				fail(m.name, "at most "+count(strconv.Itoa(high), "item")+" may be as it says in contains; "+strconv.Itoa(n)+" are")
			}
		}
	}
	if rest := s.get("unevaluatedItems"); rest != nil {
		for i, item := range v.items {
			if !looked.items[i] {
				looked.item(i)
				found = append(found, e.value(rest, item, &location{at, strconv.Itoa(i)}, e.newSeen())...)
			}
		}
	}
	return found
}

// itemSchema returns what holds for an item, in the words of any draft; nil: nothing.
func itemSchema(s *value, i int) *value {
	items, rest := s.get("prefixItems"), s.get("items")
	if rest != nil && rest.kind == '[' {
		items, rest = rest, s.get("additionalItems")
	}
	if items != nil && i < len(items.items) {
		return items.items[i]
	}
	return rest
}

func (e *evaluation) text(s, v *value, at *location) (found []violation) {
	fail := func(keyword, what string) {
		found = append(found, violation{at: at, keyword: keyword, what: what})
	}
	for _, m := range s.members {
		switch m.name {
		case "minLength":
			if n := integer(m.value); utf8.RuneCountInString(v.text) < n {
				fail(m.name, "too short: at least "+count(strconv.Itoa(n), "character"))
			}
		case "maxLength":
			if n, got := integer(m.value), utf8.RuneCountInString(v.text); got > n {
				fail(m.name, "too long: "+strconv.Itoa(got)+" characters; at most "+strconv.Itoa(n))
			}
		case "pattern":
			if !e.matches(m.value.text, v.text) {
				fail(m.name, strconv.Quote(clip(v.text, 60))+" does not match the pattern "+clip(m.value.text, 200))
			}
		}
	}
	return found
}

// matches reports whether a text matches a pattern; one that Go does not know matches
// everything.
func (e *evaluation) matches(pattern, text string) bool {
	re := e.patterns[pattern]
	return re == nil || re.MatchString(text)
}

func (e *evaluation) number(s, v *value, at *location) (found []violation) {
	fail := func(keyword, what string) {
		found = append(found, violation{at: at, keyword: keyword, what: what})
	}
	var exact *big.Rat // made once, and only if it is needed
	compare := func(bound *value) int {
		if exact == nil {
			exact = rational(v)
		}
		return exact.Cmp(rational(bound))
	}
	exclusive := func(name string) bool { k := s.get(name); return k != nil && k.kind == 't' } // draft 4
	for _, m := range s.members {
		k := m.value
		if k.kind != '0' {
			continue
		}
		switch m.name {
		case "minimum":
			if c := compare(k); c < 0 || c == 0 && exclusive("exclusiveMinimum") {
				fail(m.name, "must be at least "+clip(k.String(), 40))
			}
		case "maximum":
			if c := compare(k); c > 0 || c == 0 && exclusive("exclusiveMaximum") {
				fail(m.name, "must be at most "+clip(k.String(), 40))
			}
		case "exclusiveMinimum":
			if compare(k) <= 0 {
				fail(m.name, "must be more than "+clip(k.String(), 40))
			}
		case "exclusiveMaximum":
			if compare(k) >= 0 {
				fail(m.name, "must be less than "+clip(k.String(), 40))
			}
		case "multipleOf":
			if q := new(big.Rat).Quo(rational(v), rational(k)); !q.IsInt() {
				fail(m.name, "must be a multiple of "+clip(k.String(), 40))
			}
		}
	}
	return found
}

// rational returns the exact value of a number; one that is out of range is refused
// before.
func rational(v *value) *big.Rat {
	r, ok := new(big.Rat).SetString(string(v.raw))
	if !ok {
		return new(big.Rat) // unreachable: it was parsed
	}
	return r
}

// integer returns a bound that counts.
func integer(v *value) int {
	r := rational(v)
	if !r.IsInt() || !r.Num().IsInt64() {
		return int(^uint(0) >> 1) // more than there can be
	}
	return int(r.Num().Int64())
}

func typeOf(v *value) string {
	switch v.kind {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	case 'n':
		return "null"
	}
	return "boolean"
}

func isType(v *value, name string) bool {
	if name == "integer" {
		return v.kind == '0' && rational(v).IsInt()
	}
	return typeOf(v) == name
}

// wordFor writes a value that is wanted: a string as it is, anything else as JSON.
func wordFor(v *value) string {
	if v.kind == '"' {
		return clip(v.text, 60)
	}
	return clip(v.String(), 60)
}

// same reports whether two values are equal as JSON Schema means it: numbers by their
// value, objects without regard to order.
func same(a, b *value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case '"':
		return a.text == b.text
	case '0':
		return string(a.raw) == string(b.raw) || rational(a).Cmp(rational(b)) == 0
	case '[':
		return slices.EqualFunc(a.items, b.items, same)
	case '{':
		return len(a.members) == len(b.members) && !slices.ContainsFunc(a.members, func(m member) bool {
			other := b.get(m.name)
			return other == nil || !same(m.value, other)
		})
	}
	return true
}

// repeated returns two items that are the same.
func repeated(items []*value) (i, j int, twice bool) {
	byKey := map[string]int{}
	for j, item := range items {
		key := canonical(item)
		if i, ok := byKey[key]; ok {
			return i, j, true
		}
		byKey[key] = j
	}
	return 0, 0, false
}

// canonical writes a value such that equal ones are written the same.
func canonical(v *value) string {
	switch v.kind {
	case '"':
		return strconv.Quote(v.text)
	case '0':
		return rational(v).RatString()
	case '[', '{':
		var parts []string
		for _, item := range v.items {
			parts = append(parts, canonical(item))
		}
		for _, m := range v.members {
			parts = append(parts, strconv.Quote(m.name)+":"+canonical(m.value))
		}
		if v.kind == '{' {
			slices.Sort(parts)
		}
		return string(v.kind) + strings.Join(parts, ",") + "]"
	}
	return string(v.raw)
}
