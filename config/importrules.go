package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pawl/internal/jsonc"
	"pawl/permission"
)

// A Foreign is something that the user has in the configuration of another agent, beside MCP servers.
type Foreign struct {
	Agent  string
	Kind   string // rule, or what pawl takes nothing of: hooks, setting, command, agent
	Name   string // as it is written there
	Source string // the file
	Effect permission.Verdict
	Imported

	tool string // of a rule, as the agent calls it
}

// maxForeign bounds a file of another agent, in bytes.
const maxForeign = 8 << 20

// readForeign reads a file of another agent; nil: it is not there.
func readForeign(path string) ([]byte, error) {
	content, err := ReadBounded(path, maxForeign)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return append([]byte{}, content...), err
}

// a member is one of a JSON object, which other agents read in the order in which they stand.
type member struct {
	name  string
	value json.RawMessage
}

func members(object json.RawMessage) (all []member, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, cmp.Or(err, errors.New("it is no object"))
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: fmt.Sprint(token)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// effects are the words of other agents for what a rule does.
var effects = map[string]permission.Verdict{
	"allow": permission.Allow, "ask": permission.Ask, "deny": permission.Deny,
	"ask_user": permission.Ask, "prompt": permission.Ask, "forbidden": permission.Deny,
}

// an importer collects what is found in the files of one agent.
type importer struct {
	agent, home string
	all         []Foreign
	notes       []string
}

func (im *importer) note(path string, err error) {
	im.notes = append(im.notes, path+" cannot be read: "+err.Error())
}

// file reads a file with read; one that is not there has nothing.
func (im *importer) file(path string, read func(content []byte) error) {
	content, err := readForeign(path)
	if err == nil && content != nil {
		err = read(content)
	}
	if err != nil {
		im.note(path, err)
	}
}

// json is file for JSON, with read for its members by name.
func (im *importer) json(path string, read func(file map[string]json.RawMessage) error) {
	im.file(path, func(content []byte) error {
		var file map[string]json.RawMessage
		if err := json.Unmarshal(jsonc.Strict(content), &file); err != nil {
			return err
		}
		return read(file)
	})
}

func (im *importer) rule(path, tool, text string, effect permission.Verdict, i Imported) {
	im.all = append(im.all, Foreign{Agent: im.agent, Kind: "rule", Name: text, Source: path, Effect: effect, Imported: i,
		tool: tool})
}

// left adds what pawl takes nothing of.
func (im *importer) left(path, kind, name, why string) {
	im.all = append(im.all, Foreign{Agent: im.agent, Kind: kind, Name: name, Source: path,
		Imported: Imported{Why: why}})
}

// hooksLeft is why hooks of agents are left that have a form of their own.
const hooksLeft = "hooks are not imported: write them in hooks.json beside config.toml"

// hooks adds the events that there are hooks for.
func (im *importer) hooks(path string, raw json.RawMessage) {
	why := hooksLeft
	if im.agent == "claude" {
		why = "they are read where they are, once you have trusted them: pawl -C ~ trust"
	}
	var events map[string]json.RawMessage
	if json.Unmarshal(raw, &events) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(events)) {
		im.left(path, "hooks", name, why)
	}
}

// ForeignRules returns the rules that the user has in the configuration of other agents, and what else is there that
// pawl does not take; without names of all that pawl knows. What one cannot be read from is in notes.
func (e Env) ForeignRules(agents ...string) (all []Foreign, notes []string) {
	home := e.Get("HOME")
	if !filepath.IsAbs(home) {
		return nil, []string{"HOME is not set to a folder"}
	}
	xdg := e.xdg("XDG_CONFIG_HOME", ".config")
	for _, r := range []struct {
		agent string
		read  func(im *importer)
	}{
		{"claude", func(im *importer) { im.claude(filepath.Join(home, ".claude", "settings.json")) }},
		{"codex", func(im *importer) { im.codex(e.CodexDir()) }},
		{"opencode", func(im *importer) { im.openCode(filepath.Join(xdg, "opencode")) }},
		{"gemini", func(im *importer) { im.gemini(filepath.Join(home, ".gemini")) }},
	} {
		if len(agents) > 0 && !slices.Contains(agents, r.agent) {
			continue
		}
		im := &importer{agent: r.agent, home: home}
		r.read(im)
		im.limit()
		all, notes = append(all, im.all...), append(notes, im.notes...)
	}
	return all, notes
}

// limit leaves rules that allow if they may allow more than the agent does: what another of its rules limits that is not
// taken whole, or what a file limits that could not be read.
func (im *importer) limit() {
	for i := range im.all {
		f := &im.all[i]
		if f.Effect != permission.Allow || len(f.Rules) == 0 {
			continue
		}
		if group := importGroup(f.tool); group != "" {
			for _, l := range im.all {
				if (l.Effect == permission.Ask || l.Effect == permission.Deny) && (len(l.Rules) == 0 || l.Lost != "") && importGroup(l.tool) == group {
					f.Imported = notImported("there %s limits it, which cannot be taken whole", shown(l.Name))
					break
				}
			}
		}
		if len(im.notes) > 0 && len(f.Rules) > 0 {
			f.Imported = notImported("a file of %s cannot be read, and may have rules that limit it", im.agent)
		}
	}
}

func (im *importer) claude(path string) {
	im.json(path, func(file map[string]json.RawMessage) error {
		var p struct {
			Allow, Ask, Deny []string
			Mode             string   `json:"defaultMode"`
			Dirs             []string `json:"additionalDirectories"`
		}
		if raw := file["permissions"]; raw != nil {
			if err := json.Unmarshal(raw, &p); err != nil {
				return err
			}
		}
		for _, l := range []struct {
			effect permission.Verdict
			rules  []string
		}{{permission.Deny, p.Deny}, {permission.Ask, p.Ask}, {permission.Allow, p.Allow}} {
			for _, r := range l.rules {
				tool, _, _ := strings.Cut(r, "(")
				im.rule(path, strings.TrimSpace(tool), r, l.effect, importClaude(l.effect, r, im.home))
			}
		}
		if p.Mode != "" {
			im.left(path, "setting", "defaultMode = "+p.Mode, "a mode is chosen with --mode, or pawl config set mode")
		}
		for _, dir := range p.Dirs {
			im.left(path, "setting", "additionalDirectories "+dir,
				"a further folder is given with --add-dir, or the setting add_dirs")
		}
		im.hooks(path, file["hooks"])
		return nil
	})
}

func (im *importer) codex(dir string) {
	path := filepath.Join(dir, "config.toml")
	im.file(path, func(content []byte) error {
		var file map[string]any
		if err := toml.Unmarshal(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")), &file); err != nil {
			return err
		}
		for _, name := range []string{"approval_policy", "sandbox_mode"} {
			if v, is := file[name].(string); is {
				im.left(path, "setting", name+" = "+v, "here it is "+foreignKeys[name])
			}
		}
		for _, table := range []struct{ key, kind, why string }{
			{"agents", "agent", "write it as a file: pawl agents add"}, {"hooks", "hooks", hooksLeft},
		} {
			of, _ := file[table.key].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(of)) {
				if _, is := of[name].(int64); !is { // a limit for all agents
					im.left(path, table.kind, name, table.why)
				}
			}
		}
		return nil
	})
	path = filepath.Join(dir, "hooks.json")
	im.json(path, func(file map[string]json.RawMessage) error {
		im.hooks(path, file["hooks"])
		return nil
	})
	files, _ := filepath.Glob(filepath.Join(globEscape(dir), "rules", "*.rules"))
	for _, path := range files {
		im.file(path, func(content []byte) error {
			for _, r := range prefixRules(string(content)) {
				if r.why != "" {
					// What it would have done is not known: it may forbid.
					im.rule(path, "bash", r.text, permission.Ask, Imported{Why: r.why})
					continue
				}
				for _, words := range r.words {
					im.rule(path, "bash", r.text, r.effect, importWords(r.effect, words))
				}
			}
			return nil
		})
	}
}

// globEscape returns a path as a pattern that matches it alone.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func (im *importer) openCode(dir string) {
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		path := filepath.Join(dir, name)
		im.json(path, func(file map[string]json.RawMessage) error {
			if raw := file["permission"]; raw != nil {
				if err := im.openCodePermissions(path, raw); err != nil {
					return fmt.Errorf("permission: %w", err)
				}
			}
			for _, kind := range []string{"command", "agent"} {
				var of map[string]json.RawMessage
				if raw := file[kind]; raw != nil && json.Unmarshal(raw, &of) == nil {
					for _, name := range slices.Sorted(maps.Keys(of)) {
						im.left(path, kind, name, "it is in the settings: pawl reads "+kind+"s in files, such as "+
							filepath.Join(dir, kind+"s", "NAME.md"))
					}
				}
			}
			return nil
		})
	}
}

// openCodePermissions reads the permissions of OpenCode, of which the last that matches counts.
func (im *importer) openCodePermissions(path string, raw json.RawMessage) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		im.left(path, "rule", "permission = "+one,
			"a rule is for one tool; what runs without a question is chosen with --mode")
		return nil
	}
	tools, err := members(raw)
	if err != nil {
		return err
	}
	first := len(im.all)
	for _, t := range tools {
		if t.name == "*" || strings.Contains(t.name, "*") {
			im.overridden(first, "", t.name, effects[asText(t.value)])
			im.left(path, "rule", t.name+": "+asText(t.value), "a rule is for one tool here")
			continue
		}
		patterns := []member{{"", t.value}}
		if asText(t.value) == "" {
			if patterns, err = members(t.value); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		allows := func(m member) bool { return effects[asText(m.value)] == permission.Allow }
		for i, p := range patterns {
			word, effect := asText(p.value), effects[asText(p.value)]
			text := strings.TrimSpace(t.name+" "+p.name) + ": " + word
			imported := Imported{Why: "it is none of allow, ask and deny"}
			if effect != "" {
				imported = importOpenCode(effect, t.name, p.name)
			}
			limits := effect // of what is taken as something else it limits nothing
			if p.name == "*" && effect != permission.Allow {
				im.overridden(first, t.name, text, effect)
				switch exceptions := slices.ContainsFunc(patterns[i+1:], allows); {
				case exceptions && effect == permission.Ask:
					imported, limits = Imported{Why: "what no rule allows asks here, unless it only reads"}, ""
				case exceptions:
					imported, limits = Imported{Why: "a rule that denies has no exceptions here; " +
						`without a person, on_ask = "deny" refuses the rest`}, ""
				}
			}
			im.rule(path, t.name, text, limits, imported)
		}
	}
	return nil
}

// overridden leaves the rules that allow, from the one at first on, for a tool (""; any) that a later one overrides.
func (im *importer) overridden(first int, tool, by string, effect permission.Verdict) {
	if effect == permission.Allow {
		return
	}
	for i := first; i < len(im.all); i++ {
		if f := &im.all[i]; f.Effect == permission.Allow && (tool == "" || f.tool == tool) {
			f.Imported = Imported{Why: "there " + by + " comes after it, and counts"}
		}
	}
}

func asText(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // what is no text has none
	return s
}

func (im *importer) gemini(dir string) {
	path := filepath.Join(dir, "settings.json")
	im.json(path, func(file map[string]json.RawMessage) error {
		var t struct{ Allowed, Exclude, Core []string }
		if raw := file["tools"]; raw != nil {
			if err := json.Unmarshal(raw, &t); err != nil {
				return fmt.Errorf("tools: %w", err)
			}
		}
		for name, list := range map[string]*[]string{ // as they were called before
			"allowedTools": &t.Allowed, "excludeTools": &t.Exclude, "coreTools": &t.Core,
		} {
			if raw := file[name]; raw != nil && *list == nil {
				if err := json.Unmarshal(raw, list); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
		for _, l := range []struct {
			effect permission.Verdict
			rules  []string
		}{{permission.Deny, t.Exclude}, {permission.Allow, t.Allowed}} {
			for _, r := range l.rules {
				tool, pattern, has := strings.Cut(strings.TrimSpace(r), "(")
				pattern, closed := strings.CutSuffix(pattern, ")")
				i := importGemini(l.effect, tool, pattern)
				if has != closed || has && strings.TrimSpace(pattern) == "" {
					i = Imported{Why: "its parentheses are not closed, or empty"}
				}
				im.rule(path, tool, string(l.effect)+" "+r, l.effect, i)
			}
		}
		if len(t.Core) > 0 {
			im.left(path, "setting", "tools.core", "which tools a run has is said by its agent: pawl agents")
		}
		im.hooks(path, file["hooks"])
		return nil
	})
	files, _ := filepath.Glob(filepath.Join(globEscape(dir), "policies", "*.toml"))
	for _, path := range files {
		im.file(path, func(content []byte) error {
			var file struct{ Rule []map[string]any }
			if err := toml.Unmarshal(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")), &file); err != nil {
				return err
			}
			for _, r := range file.Rule {
				im.geminiPolicy(path, r)
			}
			return nil
		})
	}
}

// geminiPolicy reads a rule of a policy of Gemini CLI. That of the highest priority counts there; here the strictest.
func (im *importer) geminiPolicy(path string, r map[string]any) {
	effect := effects[fmt.Sprint(r["decision"])]
	tools, prefixes := texts(r["toolName"]), texts(r["commandPrefix"])
	text := fmt.Sprintf("%v %s", r["decision"], strings.Join(append(slices.Clone(tools), prefixes...), " "))
	why, known := "", []string{"toolName", "commandPrefix", "decision", "priority", "description", "denyMessage", "name"}
	for _, key := range slices.Sorted(maps.Keys(r)) {
		if !slices.Contains(known, key) {
			why = "it has " + key + ", which a rule does not have here"
		}
	}
	switch {
	case why != "":
	case effect == "":
		why = "its decision is none of allow, ask_user and deny"
	case len(tools) == 0:
		why = "a rule is for one tool here"
	}
	if prefixes == nil {
		prefixes = []string{""}
	}
	if tools == nil {
		tools = []string{"run_shell_command"} // the one that it is most about
	}
	for _, tool := range tools {
		for _, prefix := range prefixes {
			i := Imported{Why: why}
			if why == "" {
				i = importGemini(effect, tool, prefix)
			}
			im.rule(path, tool, text, cmp.Or(effect, permission.Ask), i)
		}
	}
}

// texts returns a text, or those of a list.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, t := range v {
			if s, is := t.(string); is {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}

// a prefixRule is a statement of a file of rules of Codex, which are Starlark: a call of prefix_rule.
type prefixRule struct {
	text   string
	effect permission.Verdict
	words  [][]string // the commands begin with one of them
	why    string     // it is none that is known
}

// maxAlternatives bounds the commands that one rule of Codex stands for.
const maxAlternatives = 100

// prefixRules reads a file of rules of Codex (codex-rs/execpolicy/README.md of openai/codex, read 2026-11-28). What is
// no plain call of prefix_rule is returned with why.
func prefixRules(content string) (all []prefixRule) {
	for l := (&starlark{text: content}); ; {
		l.blanks(true)
		if l.at >= len(l.text) {
			return all
		}
		from := l.at
		r := prefixRule{effect: permission.Allow}
		if err := l.prefixRule(&r); err != nil {
			r.why = "it is no plain prefix_rule: " + err.Error()
			l.skip(from)
		}
		r.text = strings.Join(strings.Fields(l.text[from:l.at]), " ")
		all = append(all, r)
	}
}

// A starlark reads what files of rules have of that language: calls with literals.
type starlark struct {
	text string
	at   int
}

// skip goes to the next statement after the one at from: a line that begins at the margin, and with a letter.
func (l *starlark) skip(from int) {
	l.at = from
	for {
		end := strings.IndexByte(l.text[l.at:], '\n')
		if end < 0 {
			l.at = len(l.text)
			return
		}
		l.at += end + 1
		if l.at < len(l.text) && (l.text[l.at] >= 'a' && l.text[l.at] <= 'z') {
			return
		}
	}
}

// blanks skips blanks, comments and, with lines, ends of lines.
func (l *starlark) blanks(lines bool) {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' && lines:
			l.at++
		case c == '#':
			for l.at < len(l.text) && l.text[l.at] != '\n' {
				l.at++
			}
		default:
			return
		}
	}
}

// take skips a text that has to be there.
func (l *starlark) take(what string) error {
	l.blanks(true)
	if !strings.HasPrefix(l.text[l.at:], what) {
		return fmt.Errorf("there is no %q where it should be", what)
	}
	l.at += len(what)
	return nil
}

func (l *starlark) is(what string) bool {
	l.blanks(true)
	return strings.HasPrefix(l.text[l.at:], what)
}

func (l *starlark) prefixRule(r *prefixRule) error {
	if err := errors.Join(l.take("prefix_rule"), l.take("(")); err != nil {
		return errors.New("it is something else")
	}
	for !l.is(")") {
		l.blanks(true)
		end := strings.IndexFunc(l.text[l.at:], func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') })
		if end <= 0 {
			return io.ErrUnexpectedEOF
		}
		name := l.text[l.at : l.at+end]
		l.at += end
		if err := l.take("="); err != nil {
			return err
		}
		value, err := l.value(0)
		if err != nil {
			return err
		}
		switch name {
		case "pattern":
			if r.words, err = alternatives(value); err != nil {
				return err
			}
		case "decision":
			word, _ := value.(string)
			if r.effect = effects[word]; r.effect == "" {
				return fmt.Errorf("its decision is %v", value)
			}
		case "justification", "match", "not_match":
		default:
			return fmt.Errorf("it has %s", name)
		}
		if !l.is(",") {
			break
		}
		l.at++
	}
	if err := l.take(")"); err != nil {
		return err
	}
	if len(r.words) == 0 {
		return errors.New("it has no pattern")
	}
	return nil
}

// value reads a text or a list.
func (l *starlark) value(depth int) (any, error) {
	l.blanks(true)
	if l.at >= len(l.text) || depth > 4 {
		return nil, io.ErrUnexpectedEOF
	}
	switch c := l.text[l.at]; c {
	case '[':
		list := []any{}
		for l.at++; !l.is("]"); {
			v, err := l.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			if !l.is(",") {
				break
			}
			l.at++
		}
		return list, l.take("]")
	case '"', '\'':
		var b strings.Builder
		for l.at++; l.at < len(l.text); l.at++ {
			switch d := l.text[l.at]; {
			case d == c:
				l.at++
				return b.String(), nil
			case d == '\n':
				return nil, errors.New("a text does not end on its line")
			case d == '\\':
				l.at++
				if l.at >= len(l.text) || !strings.ContainsRune(`\"'`, rune(l.text[l.at])) {
					return nil, errors.New(`a text has a \ that is not known here`)
				}
				b.WriteByte(l.text[l.at])
			default:
				b.WriteByte(d)
			}
		}
	}
	return nil, errors.New("a value is no text and no list")
}

// alternatives returns the beginnings of commands that a pattern stands for: of each word a text, or a list of texts.
func alternatives(pattern any) ([][]string, error) {
	list, _ := pattern.([]any)
	if len(list) == 0 {
		return nil, errors.New("its pattern is no list of words")
	}
	all := [][]string{nil}
	for _, word := range list {
		choice := texts(word)
		if of, is := word.([]any); len(choice) == 0 || is && len(of) != len(choice) {
			return nil, errors.New("its pattern is no list of words")
		}
		var more [][]string
		for _, before := range all {
			for _, w := range choice {
				more = append(more, append(slices.Clone(before), w))
			}
		}
		if all = more; len(all) > maxAlternatives {
			return nil, fmt.Errorf("it stands for more than %d commands", maxAlternatives)
		}
	}
	return all, nil
}
