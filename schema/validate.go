package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/stable"
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
	e := evaluation{Compiled: c, open: map[pair]bool{}}
	violations := e.value(c.root, tree, nil, c.newSeen())
	if len(violations) == 0 {
		return nil
	}
	found := findings{}
	for _, v := range violations {
		found.add(v)
	}
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

func (f findings) add(v violation) {
	if len(v.branches) > 0 {
		for _, branch := range nearest(v) {
			for _, problem := range branch {
				f.add(problem)
			}
		}
		return
	}
	about := v.keyword
	if about == "enum" || about == "const" {
		about = "value"
	}
	p := place{where(v.at.path()), about}
	if f[p] == nil {
		f[p] = &finding{got: v.got, what: v.what}
	}
	f[p].want = union(f[p].want, v.want)
}

// nearest returns the branches of a failed union that the value comes nearest to:
// those of the right type and with the right values where these tell the branches
// apart; all when there is none.
func nearest(u violation) [][]violation {
	depth := len(u.at.path())
	near := slices.DeleteFunc(slices.Clone(u.branches), func(branch []violation) bool {
		return slices.ContainsFunc(branch, func(v violation) bool { return isOther(v, depth) })
	})
	if len(near) == 0 {
		return u.branches
	}
	return near
}

// isOther reports whether a branch failed because it is meant for another kind of
// value: by its type, or by the value of a field that names the kind.
func isOther(v violation, depth int) bool {
	switch v.keyword {
	case "type":
		return len(v.at.path()) == depth
	case "const", "enum":
		return len(v.at.path()) <= depth+1
	}
	return false
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
	stable.Sort(problems, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
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
