package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pawl/internal/atomicfile"
	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/output/jsonpath"
	"pawl/run"
	"pawl/schema"
)

// A Registry has the programs that a person has described, in addition to [Kinds].
type Registry []Kind

// All returns the programs that there are, the described ones last.
func (r Registry) All() []Kind { return slices.Concat(Kinds, r) }

// Split is like the function [Split].
func (r Registry) Split(model string) (k Kind, name string, ok bool) { return split(r.All(), model) }

// Is is like the function [Is].
func (r Registry) Is(model string) bool {
	_, _, ok := r.Split(model)
	return ok
}

// Load reads the descriptions of programs, NAME.toml in a folder; without the folder there are
// none. An error names the file and what is wrong with it. The files decide which programs are run: never
// pass a folder of a workspace. The folder's files that are not named so are not read.
func Load(dir string) (r Registry, err error) {
	files, err := filepath.Glob(filepath.Join(filepath.Clean(dir), "*.toml"))
	for _, file := range files {
		content, readErr := atomicfile.Read(file)
		if readErr == nil {
			var k Kind
			if k, readErr = describe(strings.TrimSuffix(filepath.Base(file), ".toml"), content); readErr == nil {
				r = append(r, k)
			}
		}
		if readErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", file, readErr))
		}
	}
	return r, err
}

// A description is the content of a file.
type description struct {
	Title   string            `toml:"title"`
	Program string            `toml:"program"`
	Install string            `toml:"install"`
	Login   string            `toml:"login"`
	Version []string          `toml:"version"`
	Start   []any             `toml:"start"`
	Resume  []any             `toml:"resume"`
	Env     map[string]string `toml:"env"`
	Keys    []string          `toml:"keys"`
	Reads   []string          `toml:"reads"`
	Writes  []string          `toml:"writes"`
	Obeys   []string          `toml:"obeys"`
	MCP     struct {
		File   string `toml:"file"`
		Text   string `toml:"text"`
		Prefix string `toml:"prefix"`
	} `toml:"mcp"`
	Events []map[string]any `toml:"event"`
}

// A described program is one that a person has described.
type described struct {
	start, resume []argument
	env           map[string]string
	file, text    string // of the configuration of pawl's server
	uses          map[string]bool
	prefix        string
	events        []event
	ends          bool // an event ends the turn; else the exit code does
}

// An argument is a word of a command line, or several that are given all or not at all.
type argument []string

// placeholders are what words of a command line, and values of variables, may hold.
var placeholders = []string{"prompt", "prompt_file", "system", "system_file", "session", "model", "mcp", "folder", "workspace"}

var placeholder = lazy.Regexp(`\{([a-z_]*)\}`)

// serverText is the file of a server in the form that most programs have.
const serverText = `{"mcpServers": {"pawl": {"command": {command}, "args": {args}, "env": {env}, "trust": true, "timeout": 86400000}}}`

// describe reads a description.
func describe(name string, content []byte) (k Kind, err error) {
	var d description
	dec := toml.NewDecoder(bytes.NewReader(content)).DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return k, wrongToml(err)
	}
	p := &described{env: d.Env, file: cmp.Or(d.MCP.File, "mcp.json"), text: cmp.Or(d.MCP.Text, serverText), prefix: d.MCP.Prefix, uses: map[string]bool{}}
	if p.start, err = p.arguments("start", d.Start); err != nil {
		return k, err
	}
	chooses := p.uses["session"]
	if p.resume, err = p.arguments("resume", d.Resume); err != nil {
		return k, err
	}
	for _, key := range slices.Sorted(maps.Keys(d.Env)) {
		if err := p.check("env."+key, d.Env[key]); err != nil {
			return k, err
		}
	}
	names := false // the session
	for i, fields := range d.Events {
		e, err := newEvent(fields)
		if err != nil {
			return k, fmt.Errorf("event %d: %w", i+1, err)
		}
		p.events, p.ends, names = append(p.events, e), p.ends || e.end, names || e.values["session"] != nil
	}
	server, _ := p.server([]string{"x"}, nil)
	_, taken, _ := Split(name)
	switch {
	case !namePattern().MatchString(name):
		err = fmt.Errorf("the name %s must have lower-case letters, digits and hyphens", visible.Quote(name))
	case taken != "":
		err = fmt.Errorf("pawl has a program %s of its own: choose another name", name)
	case d.Program == "":
		err = errors.New("program is missing: the name of the executable, such as program = \"qwen\"")
	case strings.ContainsRune(d.Program, os.PathSeparator) && !filepath.IsAbs(d.Program):
		err = fmt.Errorf("program must be a name that is found in PATH, or an absolute path, not %s", visible.Quote(d.Program))
	case d.Start == nil:
		err = errors.New("start is missing: the arguments of a new conversation; start = [] if there are none, and the prompt comes on standard input")
	case d.Resume != nil && !chooses && !names:
		err = errors.New("resume is there, but nothing says which conversation: put {session} into start, or name its path in an event: session = \"$.session_id\"")
	case d.Resume != nil && !usesIn(p.resume, "session"):
		err = errors.New("resume has no {session}")
	case d.Resume == nil && (chooses || names):
		err = errors.New("resume is missing: the arguments that continue the conversation {session}. A program that cannot do that needs no session: each turn begins with an account of the run")
	case d.MCP.File+d.MCP.Text+d.MCP.Prefix != "" && !p.uses["mcp"] && !p.uses["folder"]:
		err = errors.New("mcp is there, but neither {mcp}, the path of its file, nor {folder}, the folder that it is in, is an argument or a variable")
	case !filepath.IsLocal(p.file):
		err = fmt.Errorf("mcp.file must be a path in {folder}, not %s", visible.Quote(p.file))
	case filepath.Ext(p.file) == ".json" && !json.Valid([]byte(server)):
		err = errors.New("mcp.text is not JSON when {command}, {args} and {env} are replaced by their values")
	}
	for key, paths := range map[string][]string{"reads": d.Reads, "writes": d.Writes} {
		for _, path := range paths {
			if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
				err = cmp.Or(err, fmt.Errorf("%s: %s must be absolute, or begin with ~/", key, visible.Quote(path)))
			}
		}
	}
	if d.MCP.File+d.MCP.Text+d.MCP.Prefix != "" {
		p.uses["mcp"] = true
	}
	return Kind{Name: name, Title: cmp.Or(d.Title, name), Program: d.Program, Install: d.Install, Login: d.Login, Obeys: d.Obeys, Reads: d.Reads, Writes: d.Writes, Keys: d.Keys,
		keys: d.Keys, version: d.Version, chooses: chooses, prefix: d.MCP.Prefix, forms: []schema.Target{schema.AnthropicTool, schema.OpenAI, schema.Gemini},
		Described: true, Calls: !p.uses["mcp"], adapter: p}, err
}

var namePattern = lazy.Regexp(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// wrongToml says what is wrong with a file.
func wrongToml(err error) error {
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
		line, _ := unknown.Errors[0].Position()
		key := strings.Join(unknown.Errors[0].Key(), ".")
		return fmt.Errorf("line %d: there is no key %s%s", line, visible.Quote(key), text.DidYouMean(key, []string{"title", "program", "install", "login", "version", "start", "resume", "env", "keys", "reads", "writes", "obeys",
			"mcp", "mcp.file", "mcp.text", "mcp.prefix", "event"}))
	}
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := at.Position()
		if strings.Contains(err.Error(), " into ") { // the names of Go are not those of the file
			return fmt.Errorf("line %d: %s has a value of the wrong type", line, strings.Join(at.Key(), "."))
		}
		return fmt.Errorf("line %d: %s", line, strings.TrimPrefix(err.Error(), "toml: "))
	}
	return err
}

// arguments reads a command line: words, and lists of words that belong together.
func (p *described) arguments(key string, list []any) (all []argument, err error) {
	for _, v := range list {
		words, grouped := v.([]any)
		if !grouped {
			words = []any{v}
		}
		var a argument
		for _, v := range words {
			word, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("%s must be a list of strings, and of lists of strings that are left out together", key)
			}
			if err := p.check(key, word); err != nil {
				return nil, err
			}
			a = append(a, word)
		}
		all = append(all, a)
	}
	return all, nil
}

// check notes the placeholders of a text. An unknown one is an error.
func (p *described) check(key, value string) error {
	for _, m := range placeholder().FindAllStringSubmatch(value, -1) {
		if !slices.Contains(placeholders, m[1]) {
			return fmt.Errorf("%s: there is no placeholder %s%s; there are {%s}", key, m[0], text.DidYouMean(m[1], placeholders), strings.Join(placeholders, "}, {"))
		}
		p.uses[m[1]] = true
	}
	return nil
}

func usesIn(all []argument, name string) bool {
	return slices.ContainsFunc(all, func(a argument) bool {
		return slices.ContainsFunc(a, func(word string) bool { return strings.Contains(word, "{"+name+"}") })
	})
}

// server returns the content of the file of pawl's server.
func (p *described) server(command []string, env map[string]string) (string, error) {
	var parts [3][]byte
	var err error
	for i, v := range []any{command[0], append([]string{}, command[1:]...), env} {
		if parts[i], err = json.Marshal(v); err != nil {
			return "", err
		}
	}
	return strings.NewReplacer("{command}", string(parts[0]), "{args}", string(parts[1]), "{env}", string(parts[2])).Replace(p.text), nil
}

func (p *described) hasSystem() bool { return p.uses["system"] || p.uses["system_file"] }

// Own is the folder of a turn that a described program works with: it can be changed by the program.
func (t Turn) Own() string { return filepath.Join(t.folder(), "program") }

func (p *described) invoke(t Turn, conversation string, resume bool) (inv invocation, err error) {
	if err := os.MkdirAll(t.Own(), 0o700); err != nil {
		return inv, err
	}
	own, err := os.OpenRoot(t.Own()) // the program may have put links there
	if err != nil {
		return inv, err
	}
	defer own.Close()
	values := map[string]string{"prompt": t.prompt(!resume), "system": t.System, "session": conversation, "folder": t.Own(), "workspace": t.Workspace}
	if t.Model != DefaultModel {
		values["model"] = t.Model
	}
	inv.prompted = p.uses["prompt"] || p.uses["prompt_file"]
	file := func(name, path, content string) error {
		values[name] = filepath.Join(t.Own(), path)
		if err := own.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := own.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return own.WriteFile(path, []byte(content), 0o600)
	}
	if p.uses["prompt_file"] {
		err = file("prompt_file", "prompt.txt", values["prompt"])
	}
	if p.uses["system_file"] && t.System != "" {
		err = errors.Join(err, file("system_file", "system.txt", t.System))
	}
	if len(t.Server.Command) > 0 {
		for name, value := range t.Server.Env { // for `pawl mcp call`, and servers that inherit the environment
			if strings.HasPrefix(name, "PAWL_") {
				inv.env = append(inv.env, name+"="+value)
			}
		}
		inv.env = append(inv.env, "PAWL="+t.Server.Command[0])
		if p.uses["mcp"] {
			server, serverErr := p.server(t.Server.Command, t.Server.Env)
			err = errors.Join(err, serverErr, file("mcp", p.file, server))
		}
	}
	line := p.start
	if resume {
		line = p.resume
	}
	for _, a := range line {
		if words, ok := a.with(values); ok {
			inv.args = append(inv.args, words...)
		}
	}
	for _, name := range sortedKeys(p.env) {
		if words, ok := (argument{p.env[name]}).with(values); ok {
			inv.env = append(inv.env, name+"="+words[0])
		}
	}
	return inv, err
}

// with returns the words with their placeholders replaced. ok is false where one has no value.
func (a argument) with(values map[string]string) (words []string, ok bool) {
	ok = true
	for _, word := range a {
		words = append(words, placeholder().ReplaceAllStringFunc(word, func(name string) string {
			value := values[strings.Trim(name, "{}")]
			ok = ok && value != ""
			return value
		}))
	}
	return words, ok
}

// An event is what lines of a program's output say.
type event struct {
	each   *jsonpath.Path // what it is said of: the line, or parts of it
	when   []condition
	values map[string]*jsonpath.Path
	end    bool
}

// A condition holds for a line that has one of texts at a path.
type condition struct {
	path  *jsonpath.Path
	texts []string
}

// eventValues are what an event may tell.
var eventValues = []string{"session", "model", "text", "delta", "thinking", "call", "tool", "arguments", "result", "output", "failed", "error", "status",
	"input_tokens", "output_tokens", "cached_tokens", "cache_read_tokens", "cache_write_tokens", "cost"}

func newEvent(fields map[string]any) (e event, err error) {
	e.values = map[string]*jsonpath.Path{}
	path := func(key string, v any) (p *jsonpath.Path) {
		given, isText := v.(string)
		if !isText {
			err = cmp.Or(err, fmt.Errorf("%s must be a JSONPath, such as \"$.text\"", key))
			return nil
		}
		p, wrong := jsonpath.Parse(given)
		if wrong != nil {
			err = cmp.Or(err, fmt.Errorf("%s: %w", key, wrong))
		}
		return p
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		value := fields[key]
		switch {
		case key == "each":
			e.each = path(key, value)
		case key == "end":
			e.end = value == true
		case key == "when":
			table, _ := value.(map[string]any)
			if len(table) == 0 {
				err = cmp.Or(err, errors.New(`when must be a table of JSONPaths and values, such as {"$.type" = "result"}`))
			}
			for _, key := range slices.Sorted(maps.Keys(table)) {
				c := condition{path: path("when", key)}
				list, isList := table[key].([]any)
				if !isList {
					list = []any{table[key]}
				}
				for _, v := range list {
					c.texts = append(c.texts, fmt.Sprint(v))
				}
				e.when = append(e.when, c)
			}
		case slices.Contains(eventValues, key):
			e.values[key] = path(key, value)
		default:
			err = cmp.Or(err, fmt.Errorf("there is no key %s%s; there are each, when, end, %s", visible.Quote(key), text.DidYouMean(key, eventValues), strings.Join(eventValues, ", ")))
		}
	}
	for key, needs := range map[string]string{"call": "tool", "tool": "call", "arguments": "call", "output": "result", "failed": "result", "status": "error"} {
		if fields[key] != nil && fields[needs] == nil {
			err = cmp.Or(err, fmt.Errorf("%s needs %s", key, needs))
		}
	}
	if err == nil && len(e.values) == 0 && !e.end {
		err = fmt.Errorf("it tells nothing: give end = true or one of %s", strings.Join(eventValues, ", "))
	}
	return e, err
}

func (p *described) stream() stream { return programStream{p} }

// programStream reads what a described program prints: lines of JSON, or without events plain text.
type programStream struct{ *described }

func (s programStream) line(b []byte, r *report) {
	if len(s.events) == 0 {
		r.lines++
		if r.delta(string(b)); r.said.Len() > maxPart/2 {
			r.flush()
		}
		return
	}
	line, err := jsonpath.Decode(bytes.TrimSpace(b))
	if err != nil {
		return
	}
	known := 0
	for _, e := range s.events {
		if !e.holds(line) {
			continue
		}
		known = 1
		if e.each == nil {
			s.tell(e, line, r)
			continue
		}
		for part := range e.each.Select(line) {
			s.tell(e, part, r)
		}
	}
	r.lines += known
}

func (e event) holds(line jsonpath.Value) bool {
	return !slices.ContainsFunc(e.when, func(c condition) bool { return !slices.Contains(c.texts, textAt(c.path, line)) })
}

// textAt returns the text at a path, or the JSON of what is not text; empty if there is nothing.
func textAt(p *jsonpath.Path, at jsonpath.Value) string {
	if p == nil {
		return ""
	}
	for v := range p.Select(at) {
		switch v.Kind() {
		case jsonpath.String:
			return v.Text()
		case jsonpath.Null:
			return ""
		}
		return string(v.Raw())
	}
	return ""
}

// tell reports what an event says of a line, or of a part of it.
func (s programStream) tell(e event, at jsonpath.Value, r *report) {
	get := func(key string) string { return textAt(e.values[key], at) }
	number := func(key string) int64 {
		n, _ := strconv.ParseFloat(get(key), 64) // 0: it is none
		return int64(max(0, n))
	}
	r.conversation, r.model = cmp.Or(get("session"), r.conversation), cmp.Or(get("model"), r.model)
	r.thinking(get("thinking"))
	if said := get("text"); said != "" {
		r.text(said)
	}
	r.delta(get("delta"))
	if id := get("call"); id != "" {
		name := get("tool")
		r.call(id, name, s.prefix != "" && strings.HasPrefix(name, s.prefix), json.RawMessage(cmp.Or(get("arguments"), "{}")))
	}
	if id := get("result"); id != "" {
		r.result(id, claudeText([]byte(get("output"))), !slices.Contains([]string{"", "false"}, get("failed")), nil)
	}
	cached := number("cached_tokens")
	u := run.Usage{Input: max(0, number("input_tokens")-cached), Output: number("output_tokens"), CacheRead: cached + number("cache_read_tokens"), CacheWrite: number("cache_write_tokens")}
	if cost, err := strconv.ParseFloat(get("cost"), 64); err == nil && cost > 0 {
		u.Cost, u.Priced = cost, true
	}
	r.usage = r.usage.Add(u)
	if e.values["error"] != nil {
		reason := codexError(get("error"))
		r.failed(kindOf(int(number("status")), kindOfText(reason)), reason)
	}
	r.done = r.done || e.end
}

func (s programStream) end(r *report) {
	if !s.ends {
		r.done = r.clean
	}
}
