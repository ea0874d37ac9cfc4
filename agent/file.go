package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"pawl/external"
	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/run"
	"pawl/submission"
	"pawl/tool"
)

// The bounds of a file. Its instructions go into every request.
const (
	maxFile         = 64 << 10 // bytes
	maxDescription  = 500      // characters
	maxInstructions = 32 << 10 // bytes
)

// keys are those of a file.
var keys = []string{"name", "description", "kind", "provider", "model", "tools", "mcp", "permissions", "output", "limits", "isolation", "instructions"}

// Parse reads the file of an agent: Markdown with YAML front matter (.md), or one JSON object
// with the same keys and the instructions under "instructions" (.json). The base of the
// file's name is the name of the agent. The error joins all mistakes, each with its line.
// programs are the external agents that it may name in addition to pawl's own.
//
// Source and Path are the caller's to set.
func Parse(file string, content []byte, programs external.Registry) (Agent, error) {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	ext := path.Ext(base)
	a := Agent{Name: strings.TrimSuffix(base, ext), Kind: submission.Worker}
	switch {
	case !namePattern().MatchString(a.Name):
		return a, fmt.Errorf("the name %s must have the form %s", visible.Quote(a.Name), namePattern())
	case len(content) > maxFile:
		return a, fmt.Errorf("it has more than %d KB", maxFile>>10)
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		return a, errors.New("it is not text in UTF-8")
	}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	r := reader{agent: &a, programs: programs}
	var root *yaml.Node
	var err error
	switch ext {
	case ".json":
		root, err = readJSON(content)
	case ".md":
		var front, body []byte
		if front, body, err = cutFrontMatter(content); err == nil {
			root, err = readYAML(front)
			r.first, r.markdown = 1, true
			a.Instructions = string(body)
		}
	default:
		return a, fmt.Errorf("an agent is a file .md or .json, not %s", visible.Quote(ext))
	}
	if err != nil {
		if wrong, ok := errors.AsType[*lineError](err); ok {
			wrong.line += r.first
		}
		return a, err
	}
	r.file(root)
	a.Instructions = strings.TrimSpace(visible.Strip(a.Instructions))
	if len(a.Instructions) > maxInstructions {
		r.problems = append(r.problems, fmt.Errorf("the instructions have more than %d KB: they go into every request", maxInstructions>>10))
	}
	return a, errors.Join(r.problems...)
}

// cutFrontMatter returns the YAML between the first two lines that are "---", and what
// follows. Without them all is the body.
func cutFrontMatter(content []byte) (front, body []byte, err error) {
	rest, ok := bytes.CutPrefix(content, []byte("---\n"))
	if !ok {
		return nil, content, nil
	}
	if body, ok := bytes.CutPrefix(rest, []byte("---\n")); ok {
		return nil, body, nil
	}
	front, body, ok = bytes.Cut(rest, []byte("\n---\n"))
	if !ok {
		if front, ok = bytes.CutSuffix(rest, []byte("\n---")); !ok {
			return nil, nil, &lineError{1, "the front matter has no end: a line ---"}
		}
	}
	return front, body, nil
}

// A reader reads the tree of a file into an agent and collects what is wrong with it.
type reader struct {
	agent    *Agent
	programs external.Registry
	first    int // lines before the tree
	markdown bool
	problems []error
}

// wrong notes a mistake at a node.
func (r *reader) wrong(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, &lineError{n.Line + r.first, fmt.Sprintf(format, args...)})
}

// members calls visit with the members of a mapping. Keys that are none of names, and
// those that are there twice, are mistakes.
func (r *reader) members(n *yaml.Node, what string, names []string, visit func(name string, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.wrong(n, "%s must be an object with the keys %s", what, strings.Join(names, ", "))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case seen[key.Value]:
			r.wrong(key, "the key %s is there twice", visible.Quote(key.Value))
		case !slices.Contains(names, key.Value):
			r.wrong(key, "there is no key %s%s; there are %s", visible.Quote(key.Value), text.DidYouMean(key.Value, names), strings.Join(names, ", "))
		case value.Kind == yaml.AliasNode:
			r.wrong(value, "aliases (*name) cannot be used here")
		default:
			visit(key.Value, value)
		}
		seen[key.Value] = true
	}
}

// word returns a string.
func (r *reader) word(n *yaml.Node, key string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		r.wrong(n, "%s must be a string", key)
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// words returns a list of strings; one string is a list with commas.
func (r *reader) words(n *yaml.Node, key string) []string {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && (key == "tools" || key == "mcp") {
		var all []string
		for word := range strings.SplitSeq(n.Value, ",") {
			if word = strings.TrimSpace(word); word != "" {
				all = append(all, word)
			}
		}
		return all
	}
	if n.Kind != yaml.SequenceNode {
		r.wrong(n, "%s must be a list of strings", key)
		return nil
	}
	all := []string{}
	for _, c := range n.Content {
		if c.Kind == yaml.AliasNode {
			r.wrong(c, "aliases (*name) cannot be used here")
		} else if w := r.word(c, key); w != "" {
			all = append(all, w)
		}
	}
	return all
}

// number returns a whole number that is positive, or -1.
func (r *reader) number(n *yaml.Node, key string) int64 {
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || err != nil || v < -1 || v == 0 {
		r.wrong(n, "%s must be a positive integer, or -1 for no limit", key)
		return 0
	}
	return v
}

func (r *reader) file(root *yaml.Node) {
	a := r.agent
	provider := ""
	var model *yaml.Node
	var servers []string // nil: they are not named
	r.members(root, "an agent", keys, func(key string, n *yaml.Node) {
		switch key {
		case "name":
			if name := r.word(n, key); name != a.Name && name != "" {
				r.wrong(n, "the name is %s and the file is for %s: rename one of them", visible.Quote(name), visible.Quote(a.Name))
			}
		case "description":
			a.Description = text.OneLine(r.word(n, key), maxDescription+1)
			if utf8.RuneCountInString(a.Description) > maxDescription {
				r.wrong(n, "the description has more than %d characters", maxDescription)
			}
		case "kind":
			a.Kind = submission.Kind(r.word(n, key))
			if !slices.Contains(submission.Kinds, a.Kind) {
				r.wrong(n, "there is no kind %s%s; there are planner, worker", visible.Quote(a.Kind), text.DidYouMean(string(a.Kind), []string{"planner", "worker"}))
			}
		case "provider":
			provider = r.word(n, key)
		case "model":
			a.Model, model = r.word(n, key), n
		case "tools":
			r.tools(n)
		case "mcp":
			servers = r.words(n, key)
			for _, name := range servers {
				if !serverName().MatchString(name) {
					r.wrong(n, "%s is not the name of an MCP server", visible.Quote(name))
				}
			}
		case "permissions":
			r.permissions(n)
		case "output":
			r.output(n)
		case "limits":
			r.limits(n)
		case "isolation":
			if v := r.word(n, key); v != "clone" {
				r.wrong(n, "isolation must be clone, not %s", visible.Quote(v))
			}
			a.Clone = true
		case "instructions":
			if r.markdown {
				r.wrong(n, "the instructions of a Markdown file are the text after the front matter")
			} else {
				a.Instructions = r.word(n, key)
			}
		}
	})
	if servers != nil {
		a.Tools = grantServers(a.Tools, servers)
	}
	switch {
	case a.Model == "" && r.programs.Is(provider):
		a.Model = provider + "/" + external.DefaultModel
	case provider != "" && a.Model == "":
		r.wrong(root, "a provider without a model")
	case provider != "":
		a.Model = provider + "/" + a.Model
	case a.Model != "" && !strings.Contains(a.Model, "/"):
		r.wrong(model, "unknown model %s; use PROVIDER/NAME", visible.Quote(a.Model))
	}
}

// serverName is the form of the names of MCP servers, as package mcp has it.
var serverName = lazy.Regexp(`^[A-Za-z0-9]([A-Za-z0-9_-]{0,30}[A-Za-z0-9-])?$`)

// grantServers grants the tools of named MCP servers beside g, and those of no other.
func grantServers(g run.Grants, names []string) run.Grants {
	if !g.Limited() {
		g = run.Grant(run.GrantOwn)
	}
	for _, name := range names {
		g = g.With(run.GrantServer(name))
	}
	return g
}

func (r *reader) tools(n *yaml.Node) {
	names := r.words(n, "tools")
	if len(names) == 1 && names[0] == "*" {
		return
	}
	for _, name := range names {
		switch {
		case submission.Reserved(name):
			r.wrong(n, "the tool %s cannot be granted: the kind of an agent decides whether it has it", name)
		case strings.ContainsAny(name, " \t\n()*"):
			r.wrong(n, "%s is not the name of a tool", visible.Quote(name))
		}
	}
	r.agent.Tools = run.Grant(names...)
}

func (r *reader) permissions(n *yaml.Node) {
	r.members(n, "permissions", []string{"mode", "allow", "ask", "deny"}, func(key string, n *yaml.Node) {
		if key == "mode" {
			r.agent.Mode = permission.Mode(r.word(n, key))
			if err := permission.CheckMode(r.agent.Mode, permission.ForUser); err != nil {
				r.wrong(n, "%v", err)
			}
			return
		}
		for _, written := range r.words(n, key) {
			rule, err := permission.ParseRule(written)
			if err != nil {
				r.wrong(n, "%v", err)
				continue
			}
			rule.Effect, rule.Scope = permission.Verdict(key), permission.ForRun
			r.agent.Rules = append(r.agent.Rules, rule)
		}
	})
}

func (r *reader) output(n *yaml.Node) {
	name := tool.SubmitName
	var schema string
	r.members(n, "output", []string{"tool", "schema"}, func(key string, n *yaml.Node) {
		if key == "tool" {
			if name = r.word(n, key); !toolPattern(name) || submission.Reserved(name) {
				r.wrong(n, "%s cannot be the name of the tool of an output", visible.Quote(name))
			}
			return
		}
		b, err := toJSON(n, 0)
		if wrong, ok := errors.AsType[*lineError](err); ok {
			r.wrong(&yaml.Node{Line: wrong.line}, "%s", wrong.what)
			return
		}
		if _, err := tool.NewSubmission(name, json.RawMessage(b)); err != nil {
			r.wrong(n, "the schema of the output: %v", err)
			return
		}
		schema = string(b)
	})
	if schema == "" {
		if len(r.problems) == 0 {
			r.wrong(n, "output needs a schema")
		}
		return
	}
	r.agent.Declared = submission.Required(name, schema)
}

// toolPattern reports whether every wire takes a name for a tool.
func toolPattern(name string) bool {
	return name != "" && len(name) <= 64 && strings.IndexFunc(name, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	}) < 0 && name[0] >= 'a'
}

func (r *reader) limits(n *yaml.Node) {
	l := &r.agent.Limits
	r.members(n, "limits", []string{"steps", "calls", "tokens", "cost", "time"}, func(key string, n *yaml.Node) {
		switch key {
		case "steps":
			l.Steps = int(r.number(n, key))
		case "calls":
			l.Calls = int(r.number(n, key))
		case "tokens":
			l.Tokens = r.number(n, key)
		case "cost":
			cost, err := strconv.ParseFloat(n.Value, 64)
			if n.Kind != yaml.ScalarNode || err != nil || !(cost > 0) && cost != -1 || cost > 1e9 {
				r.wrong(n, "cost must be a number of US dollars, or -1 for no limit")
				return
			}
			l.Cost = cost
		case "time":
			d, err := time.ParseDuration(n.Value)
			if n.Kind == yaml.ScalarNode && n.Value == "-1" {
				d, err = -1, nil
			} else if d <= 0 {
				err = errors.New("not positive")
			}
			if n.Kind != yaml.ScalarNode || err != nil {
				r.wrong(n, "time must be a duration as 90s, 20m or 2h, or -1 for no limit")
				return
			}
			l.Wall = d
		}
	})
}

// Format returns the Markdown file of an agent. [Parse] of it gives the agent back.
func Format(a Agent) ([]byte, error) {
	var front yaml.Node
	front.Kind = yaml.MappingNode
	add := func(to *yaml.Node, key string, v any) error {
		var n yaml.Node
		if err := n.Encode(v); err != nil {
			return err
		}
		to.Content = append(to.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &n)
		return nil
	}
	var errs []error
	put := func(to *yaml.Node, key string, v any, is bool) {
		if is {
			errs = append(errs, add(to, key, v))
		}
	}
	put(&front, "name", a.Name, true)
	put(&front, "description", a.Description, a.Description != "")
	put(&front, "kind", string(a.Kind), a.Kind != "" && a.Kind != submission.Worker)
	put(&front, "model", a.Model, a.Model != "")
	tools, servers := []string{}, []string{}
	for _, name := range a.Tools.Names() {
		if server, is := strings.CutSuffix(name, "__*"); is {
			servers = append(servers, strings.TrimPrefix(server, "mcp__"))
		} else if name != run.GrantOwn {
			tools = append(tools, name)
		}
	}
	own := a.Tools.Limited() && slices.Contains(a.Tools.Names(), run.GrantOwn)
	put(&front, "tools", tools, a.Tools.Limited() && !own)
	put(&front, "mcp", servers, own || len(servers) > 0)
	permissions := &yaml.Node{Kind: yaml.MappingNode}
	put(permissions, "mode", string(a.Mode), a.Mode != "")
	for _, effect := range []permission.Verdict{permission.Allow, permission.Ask, permission.Deny} {
		var rules []string
		for _, r := range a.Rules {
			if r.Effect == effect {
				rules = append(rules, r.String())
			}
		}
		put(permissions, string(effect), rules, len(rules) > 0)
	}
	if len(permissions.Content) > 0 {
		put(&front, "permissions", permissions, true)
	}
	if a.Declared.Schema != "" {
		schema, err := readJSON([]byte(a.Declared.Schema))
		errs = append(errs, err)
		output := &yaml.Node{Kind: yaml.MappingNode}
		put(output, "tool", a.Declared.Tool, true)
		put(output, "schema", schema, err == nil)
		put(&front, "output", output, true)
	}
	limits := &yaml.Node{Kind: yaml.MappingNode}
	put(limits, "steps", a.Limits.Steps, a.Limits.Steps != 0)
	put(limits, "calls", a.Limits.Calls, a.Limits.Calls != 0)
	put(limits, "tokens", a.Limits.Tokens, a.Limits.Tokens != 0)
	put(limits, "cost", a.Limits.Cost, a.Limits.Cost != 0)
	switch {
	case a.Limits.Wall < 0:
		put(limits, "time", -1, true)
	default:
		put(limits, "time", a.Limits.Wall.String(), a.Limits.Wall > 0)
	}
	if len(limits.Content) > 0 {
		put(&front, "limits", limits, true)
	}
	put(&front, "isolation", "clone", a.Clone)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(&front), e.Close()); err != nil {
		return nil, err
	}
	b.WriteString("---\n\n" + a.Instructions + "\n")
	return b.Bytes(), nil
}
