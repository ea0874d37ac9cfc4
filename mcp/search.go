package mcp

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"pawl/internal/text"
	"pawl/run"
	"pawl/tool"
)

//go:embed search.md
var searchText string

//go:embed call.md
var callText string

// searchTool finds tools of servers, for models to which their definitions are too large to be told, and of servers whose
// tools are not known when a run begins.
type searchTool struct {
	of     *Servers
	beside []string // see [tool.Spec]
}

func (t searchTool) Spec() tool.Spec {
	s := tool.NewSpec("mcp_search", searchText,
		`{"type":"object","properties":{"query":{"type":"string"}},"required":[],"additionalProperties":false}`)
	s.Instead, s.Always, s.Unstored, s.Beside = true, true, true, t.beside
	return s
}

// query returns what is searched for.
func query(args json.RawMessage) (string, error) {
	var a struct {
		Query string `json:"query"`
	}
	err := json.Unmarshal(args, &a)
	return strings.TrimSpace(a.Query), err
}

func (searchTool) Inspect(_ tool.Env, args json.RawMessage) (tool.Intent, error) {
	q, err := query(args)
	return tool.Intent{Class: run.Reads, Title: cmp.Or(text.OneLine(q, 200), "list the tools of MCP servers")}, err
}

func (t searchTool) Run(ctx context.Context, env tool.Env, c tool.Call) (tool.Result, error) {
	q, err := query(c.Args)
	missing := t.of.settle(ctx)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return tool.Result{}, err
	}
	var specs []tool.Spec
	if env.Specs != nil {
		specs = slices.DeleteFunc(env.Specs(), func(s tool.Spec) bool { return s.Server == "" })
	}
	return tool.TextResult(find(specs, q) + missing), nil
}

// What a search returns: the definitions of the best tools, as far as they fit, and names of others.
const (
	maxFound      = 8
	maxFoundBytes = 24_000
	maxFoundNames = 100
)

// find returns the definitions of the tools that fit a query best.
func find(specs []tool.Spec, query string) string {
	type hit struct {
		tool.Spec
		score int
	}
	var hits []hit
	wanted := words(query)
	for _, s := range specs {
		if n := score(s, query, wanted); n > 0 || len(wanted) == 0 {
			hits = append(hits, hit{s, n})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.score - a.score }) // then by name, as they came
	var b strings.Builder
	switch {
	case len(hits) == 0:
		fmt.Fprintf(&b, "None of %d tools fits these words. ", len(specs))
		for _, s := range specs {
			hits = append(hits, hit{Spec: s})
		}
	case len(wanted) > 0:
		n := 0
		for ; n < min(len(hits), maxFound) && b.Len() < maxFoundBytes; n++ {
			fmt.Fprintf(&b, "%s: %s\narguments: %s\n\n", hits[n].Name, hits[n].Description, hits[n].Schema)
		}
		if hits = hits[n:]; len(hits) == 0 {
			return b.String()
		}
		b.WriteString("More that have some of the words: ")
	}
	for i, h := range hits {
		if i == maxFoundNames {
			fmt.Fprintf(&b, " and %d more.", len(hits)-i)
			return b.String()
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(h.Name)
	}
	b.WriteString(".")
	return b.String()
}

// score says how well a tool fits the words wanted of a query; 0 means not at all.
func score(s tool.Spec, query string, wanted []string) (n int) {
	if strings.HasSuffix(s.Name, "__"+query) || s.Name == query {
		return 1 << 20
	}
	named, described := words(s.Name), words(s.Description)
	for _, w := range wanted {
		switch {
		case slices.Contains(named, w):
			n += 8
		case slices.ContainsFunc(named, func(have string) bool { return related(have, w) }):
			n += 4
		case slices.Contains(described, w):
			n += 2
		case slices.ContainsFunc(described, func(have string) bool { return related(have, w) }):
			n++
		}
	}
	return n
}

// related reports whether two words begin alike, as issue and issues do.
func related(a, b string) bool {
	return min(len(a), len(b)) >= 4 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// words returns the words of a text in lower case; createIssue and create_issue are two each.
func words(s string) []string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// callTool is called as itself only when what was given does not say which tool with which arguments: see [llm.Names.Call].
type callTool struct{ beside []string }

func (t callTool) Spec() tool.Spec {
	s := tool.NewSpec(tool.ServerCall, callText, `{"type":"object","properties":{"tool":{"type":"string"},`+
		`"arguments":{"type":"string","description":"A JSON object"}},"required":["tool"],"additionalProperties":false}`)
	s.Instead, s.Always, s.Unstored, s.Beside = true, true, true, t.beside
	return s
}

var errNoCall = errors.New(tool.ServerCall + " calls a tool that mcp_search has found: tool is its name, and arguments is a JSON object in a string")

func (callTool) Inspect(tool.Env, json.RawMessage) (tool.Intent, error) {
	return tool.Intent{}, errNoCall
}

func (callTool) Run(context.Context, tool.Env, tool.Call) (tool.Result, error) {
	return tool.Result{}, errNoCall
}
