package provider

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"pawl/config"
	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/llm/models"
)

// Resolve returns the model, as provider/name, that a name without a provider means:
//
//   - a model of the table, or an edition of one, that one provider has, or one of those
//     that can be used here: claude-sonnet-5-5
//   - a provider: its default model
//   - a family: the newest model that has the word in its name: sonnet, gpt, flash. Providers
//     that can be used come first, then those of [Keyed], then the others by name
//   - a model that one server on this machine lists: qwen3:8b
//
// A name with a provider is returned as it is. Servers are asked only for what the table does
// not know. The error of a name that means nothing names the nearest model.
func (ps *Providers) Resolve(ctx context.Context, given string) (string, error) {
	if given == "" || strings.Contains(given, "/") {
		return given, nil
	}
	var have []string
	for _, p := range ps.ranked() {
		if _, ok := ps.Lookup(p.Name + "/" + given); ok {
			have = append(have, p.Name+"/"+given)
		}
	}
	switch usable := slices.DeleteFunc(slices.Clone(have), func(name string) bool { return !ps.usable(name) }); {
	case len(have) == 1:
		return have[0], nil
	case len(usable) == 1:
		return usable[0], nil
	case len(have) > 1:
		return "", config.Errorf("the model %s is one of several providers: say %s", visible.Quote(given), strings.Join(have, " or "))
	}
	if p, ok := ps.Provider(given); ok && p.Default != "" {
		return given + "/" + p.Default, nil
	}
	if newest := ps.Newest(given); newest != "" {
		return newest, nil
	}
	for _, s := range ps.lookAround(ctx, ps.locals()) {
		for _, name := range s.Models {
			if name == given || name == given+":latest" {
				have = append(have, s.Name+"/"+name)
			}
		}
	}
	switch len(have) {
	case 1:
		return have[0], nil
	case 0:
		return "", ps.unknownModel(given)
	}
	return "", config.Errorf("the model %s is on several servers: say %s", visible.Quote(given), strings.Join(have, " or "))
}

// usable reports whether a request to the model's provider could be sent.
func (ps *Providers) usable(model string) bool {
	name, _, _ := strings.Cut(model, "/")
	p, ok := ps.Provider(name)
	return ok && ps.Site(p).Usable() == nil
}

// ranked returns the providers in the order in which a family is looked for.
func (ps *Providers) ranked() []models.Provider {
	rank := func(p models.Provider) int {
		i := slices.Index(Keyed, p.Name)
		if i < 0 {
			i = len(Keyed)
		}
		if !ps.usable(p.Name) {
			i += len(Keyed) + 1
		}
		return i
	}
	return stable.Sorted(slices.Values(ps.Providers()), func(x, y models.Provider) int { return cmp.Compare(rank(x), rank(y)) })
}

// Newest returns the newest model of a family, which is a word of letters, or several with
// hyphens, that stands in the model's name; "" if no model has it. Of equally new ones it is
// the provider's default model, else the one with the shortest name.
func (ps *Providers) Newest(family string) string {
	family = strings.ToLower(family)
	if family == "" || strings.ContainsFunc(family, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }) {
		return ""
	}
	all := ps.Models()
	for _, p := range ps.ranked() {
		var best string
		for _, m := range all {
			bare, ok := strings.CutPrefix(m.Name, p.Name+"/")
			if !ok || !hasWords(bare, family) {
				continue
			}
			if best == "" || newer(bare, best, p.Default) {
				best = bare
			}
		}
		if best != "" {
			return p.Name + "/" + best
		}
	}
	return ""
}

// Families returns the words in the names of models that [Providers.Newest] takes, by name.
func (ps *Providers) Families() []string {
	var words []string
	for _, m := range ps.Models() {
		for word := range strings.SplitSeq(strings.TrimPrefix(m.Name, m.Provider()+"/"), "-") {
			if len(word) > 2 && !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
				words = append(words, word)
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// hasWords reports whether words stand in a model's name, between its hyphens.
func hasWords(name, words string) bool {
	plain := strings.NewReplacer("/", "-", ":", "-", "@", "-").Replace(strings.ToLower(name))
	return strings.Contains("-"+plain+"-", "-"+words+"-")
}

// newer reports whether model x is to be taken instead of y.
func newer(x, y, usual string) bool {
	if c := slices.Compare(version(x), version(y)); c != 0 {
		return c > 0
	}
	if x == usual || y == usual {
		return x == usual
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)) < 0
}

// version returns the numbers in a model's name. Dates and sizes (70b) are none.
func version(name string) []int {
	var numbers []int
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '.' || r == ':' || r == '/' }) {
		n, err := strconv.Atoi(strings.TrimPrefix(part, "v"))
		if err == nil && n < 1000 {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// unknownModel is the error for a name without a provider that means no model.
func (ps *Providers) unknownModel(given string) error {
	if name, ok := strings.CutSuffix(given, "/"); ok {
		return config.Errorf("the name of the model is missing after %s; `pawl models %s` lists them", visible.Quote(given), name)
	}
	near := ""
	names, bare := ps.spoken()
	var longer []string
	for _, m := range ps.Models() {
		name := strings.TrimPrefix(m.Name, m.Provider()+"/")
		if strings.HasPrefix(name, strings.ToLower(given)+"-") {
			longer = append(longer, m.Name)
		}
		if strings.HasSuffix(name, "-"+strings.ToLower(given)) && near == "" {
			near = m.Name
		}
	}
	if len(longer) > 0 {
		return config.Errorf("the model %s is one of several: say %s", visible.Quote(given), strings.Join(longer, " or "))
	}
	if near == "" { // claude-opus-9: the newest of the family
		words := strings.FieldsFunc(strings.ToLower(given), func(r rune) bool { return !unicode.IsLetter(r) })
		for n := len(words); n > 0 && near == ""; n-- {
			near = ps.Newest(strings.Join(words[len(words)-n:], "-"))
		}
		if len(words) > 0 && near == "" {
			near = ps.Newest(words[0])
		}
	}
	if near == "" {
		if i := slices.Index(bare, text.Typo(given, bare)); i >= 0 {
			near = names[i]
		}
	}
	if near != "" {
		return config.Errorf("unknown model %s; did you mean %s?", visible.Quote(given), visible.Quote(near))
	}
	return config.Errorf("unknown model %s, and no server on this machine has it: use PROVIDER/NAME, such as %s; `pawl models` lists them", visible.Quote(given), exampleModel)
}

// spoken returns what models are called: their names, with and without the provider, and
// twice the words that stand for the newest of a family.
func (ps *Providers) spoken() (names, bare []string) {
	for _, m := range ps.Models() {
		name := strings.TrimPrefix(m.Name, m.Provider()+"/")
		names, bare = append(names, m.Name), append(bare, name)
		for word := range strings.SplitSeq(name, "-") {
			if len(word) > 2 && ps.Newest(word) != "" {
				names, bare = append(names, word), append(bare, word)
			}
		}
	}
	return names, bare
}

// Unknown is the error for a word that names neither a provider nor a model.
func (ps *Providers) Unknown(word string) error {
	names := ps.names()
	_, models := ps.spoken()
	if near := text.Typo(word, append(names, models...)); near != "" {
		return config.Errorf("unknown provider or model %s; did you mean %s?", visible.Quote(word), visible.Quote(near))
	}
	return config.Errorf("unknown provider %s, and no model with that in its name; providers are %s",
		visible.Quote(word), strings.Join(names, ", "))
}
