package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"pawl/api"
	"pawl/board"
	"pawl/cli/console"
	"pawl/cli/outputs"
	"pawl/cli/permissions"
	"pawl/cli/tasks"
	"pawl/forms"
	"pawl/internal/build"
	"pawl/internal/golden"
	"pawl/output"
	"pawl/permission"
	"pawl/permission/cases"
	"pawl/provider"
	"pawl/report"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
	"pawl/view"
)

// jsonForms are what commands print with --json (run and runs resume: with --output json, runs
// export: with --format json), by command. One that prints several has several.
var jsonForms = map[string][]any{
	"agents add":                {forms.AgentFileForm{}},
	"agents check":              {forms.List[agentCheckForm]{}},
	"agents edit":               {forms.AgentFileForm{}},
	"agents list":               {forms.AgentListForm{}},
	"agents rm":                 {forms.AgentFileForm{}},
	"agents show":               {forms.AgentForm{}},
	"agents test":               {agentTestForm{}},
	"config":                    {forms.ConfigForm{}},
	"config get":                {forms.SettingForm{}},
	"config set":                {forms.SettingForm{}},
	"config unset":              {forms.SettingForm{}},
	"doctor":                    {report.Report{}},
	"import":                    {forms.List[forms.BroughtForm]{}},
	"import sessions":           {forms.List[forms.KeptForm]{}},
	"init":                      {initForm{}},
	"memory edit":               {forms.MemoryForm{}},
	"memory list":               {forms.MemoryForm{}},
	"memory rm":                 {forms.ForgottenForm{}},
	"mcp add":                   {forms.ServerFileForm{}},
	"mcp rm":                    {forms.ServerFileForm{}},
	"mcp import":                {forms.List[forms.ImportForm]{}},
	"mcp list":                  {forms.List[forms.ServerForm]{}},
	"mcp show":                  {forms.ServerForm{}},
	"mcp test":                  {forms.ServerForm{}},
	"models":                    {provider.Overview{}, forms.List[provider.Model]{}},
	"outputs aggregate":         {ofRun[output.AggregateResult]{}},
	"outputs count":             {ofRun[output.CountResult]{}},
	"outputs extract":           {ofRun[output.ExtractResult]{}},
	"outputs list":              {forms.List[forms.OutputForm]{}},
	"outputs prune":             {outputs.PrunedForm{}},
	"outputs sample":            {ofRun[output.SampleResult]{}},
	"outputs search":            {ofRun[output.SearchResult]{}},
	"outputs show":              {ofRun[output.ReadResult]{}},
	"outputs stats":             {ofRun[output.StatsResult]{}},
	"plugin add":                {forms.PluginChangeForm{}},
	"plugin list":               {forms.List[forms.PluginForm]{}},
	"plugin marketplace add":    {forms.MarketplaceForm{}},
	"plugin marketplace list":   {forms.List[forms.MarketplaceForm]{}},
	"plugin marketplace rm":     {forms.PluginChangeForm{}},
	"plugin marketplace update": {forms.List[forms.MarketplaceForm]{}},
	"plugin rm":                 {forms.PluginChangeForm{}},
	"plugin show":               {forms.PluginForm{}},
	"plugin update":             {forms.PluginChangeForm{}},
	"permissions add":           {forms.RuleChange{}},
	"permissions explain":       {permission.Explanation{}},
	"permissions list":          {forms.List[forms.RuleForm]{}},
	"permissions replay":        {permissions.ReplayForm{}},
	"permissions rm":            {forms.RuleChange{}},
	"permissions test":          {cases.Report{}},
	"run":                       {console.Result{}},
	"runs decide":               {forms.WaitingForm{}, forms.DecidedForm{}},
	"runs export":               {forms.ExportForm{}},
	"runs fork":                 {forms.ForkForm{}},
	"runs import":               {forms.List[forms.ImportedForm]{}},
	"runs list":                 {forms.List[forms.RunForm]{}},
	"runs log":                  {forms.EventLine{}},
	"runs prune":                {forms.RemovedForm{}},
	"runs recover":              {recoverForm{}},
	"runs resume":               {console.Result{}},
	"runs rm":                   {forms.RemovedForm{}},
	"runs set":                  {forms.SetForm{}},
	"runs show":                 {forms.ShownRun{}, report.DiffForm{}, forms.PlanForm{}},
	"runs stop":                 {forms.StopForm{}},
	"runs undo":                 {forms.UndoForm{}},
	"runs verify":               {forms.VerifyForm{}},
	"runs why":                  {report.WhyForm{}},
	"hooks list":                {forms.HooksForm{}},
	"skills check":              {forms.SkillsForm{}},
	"skills list":               {forms.SkillsForm{}},
	"skills show":               {forms.SkillForm{}},
	"stats":                     {report.Stats{}},
	"task add":                  {forms.TaskForm{}},
	"task attach":               {forms.TaskForm{}},
	"task complete":             {forms.TaskForm{}},
	"task edit":                 {forms.TaskForm{}},
	"task fail":                 {forms.TaskForm{}},
	"task pause":                {forms.TaskForm{}},
	"task reopen":               {forms.TaskForm{}},
	"task retry":                {forms.TaskForm{}},
	"task say":                  {forms.TaskLine{}, tasks.TaskResultForm{}, forms.TaskForm{}},
	"task show":                 {forms.TaskForm{}},
	"task answer":               {forms.TaskLine{}, tasks.TaskResultForm{}, forms.TaskForm{}},
	"task plan":                 {forms.TaskLine{}, tasks.TaskResultForm{}, forms.TaskForm{}},
	"task resume":               {forms.TaskLine{}, tasks.TaskResultForm{}, forms.TaskForm{}},
	"task start":                {forms.TaskLine{}, tasks.TaskResultForm{}, forms.TaskForm{}},
	"task watch":                {forms.TaskLine{}, tasks.TaskResultForm{}, forms.TaskForm{}},
	"serve link":                {api.Link{}},
	"serve token":               {serveTokenForm{}},
	"task list":                 {forms.TaskListForm{}},
	"task rm":                   {forms.TaskRemovedForm{}},
	"task diff":                 {board.TaskDiffForm{}},
	"task discard":              {forms.TaskForm{}},
	"task handoff":              {forms.TaskLine{}, tasks.TaskResultForm{}, forms.TaskForm{}},
	"task merge":                {board.TaskMergeForm{}, board.TaskMergePreviewForm{}},
	"tool call":                 {forms.ToolResult{}},
	"tool help":                 {forms.List[forms.ToolForm]{}},
	"trust":                     {forms.TrustForm{}, forms.RevokeForm{}, forms.List[forms.TrustRecord]{}},
	"version":                   {build.Info{}},
}

// ofRun is an answer about a stored output: printAnswer puts its run in front.
type ofRun[A any] struct {
	Run    run.ID `json:"run,omitempty"`
	Answer A      `json:"-"`
}

// notInDialect are the commands without --json: what they print has a form of its own.
var notInDialect = []string{"board", "completion", "controller parse", "controller prompt", "controller schema", "debug profile", "debug stream", "demo", "help", "man", "mcp call", "mcp hook", "mcp login", "mcp logout", "mcp serve"}

// words are the values of the types that have a fixed list of them.
var words = map[reflect.Type][]string{
	reflect.TypeFor[runlog.Condition]():   {"new", "working", "waiting", "killed", "ended"},
	reflect.TypeFor[run.End]():            {"completed", "asked", "interrupted", "limit_reached", "guardrail_stopped", "loop_stopped", "refused", "failed"},
	reflect.TypeFor[run.Outcome]():        {"ok", "error", "invalid", "not_run", "cut", "unknown", "refused", "answered"},
	reflect.TypeFor[run.Answer]():         {"allow", "always", "wait", "never", "deny"},
	reflect.TypeFor[permission.Verdict](): {"allow", "ask", "deny"},
	reflect.TypeFor[permission.Scope]():   {"managed", "user", "workspace", "repository", "run"},
	reflect.TypeFor[report.Verdict]():     {"ok", "missing", "unasked", "wrong"},
	reflect.TypeFor[view.Kind]():          {"message", "text", "thinking", "call", "note", "account", "submission", "end"},
	reflect.TypeFor[view.CallState]():     {"streaming", "asked", "waiting", "allowed", "running", "settled"},
}

// docs/json.schema.json is what the Go types say. UPDATE=1 writes it.
func TestTheSchemaOfJSONIsThatOfTheTypes(t *testing.T) {
	t.Parallel()
	golden.File(t, "../docs/json.schema.json", []byte(printed(t, jsonSchema(t))))
}

// A command that is new has --json and a schema, or is one that has a form of its own.
func TestEveryCommandHasAJSONSchema(t *testing.T) {
	t.Parallel()
	unused := slices.Collect(maps.Keys(jsonForms))
	everyCommand(t, func(c *cobra.Command) {
		name := strings.TrimPrefix(c.CommandPath(), "pawl ")
		if c.HasSubCommands() && c.Flags().Lookup("json") == nil || slices.Contains(notInDialect, name) {
			if c.Flags().Lookup("json") != nil {
				t.Errorf("%s has --json and is on the list of those that have not", name)
			}
			return
		}
		unused = slices.DeleteFunc(unused, func(n string) bool { return n == name })
		if jsonForms[name] == nil {
			t.Errorf("%s has no schema: name in jsonForms what it prints with --json", name)
		}
		has := c.Flags().Lookup("json") != nil || c.Flags().Lookup("output") != nil || c.Flags().Lookup("format") != nil
		if !has {
			t.Errorf("%s has no --json", name)
		}
	})
	if len(unused) > 0 {
		t.Errorf("there are schemas for commands that are not there: %q", unused)
	}
}

// A schemas makes JSON Schemas of Go types.
type schemas struct {
	t        *testing.T
	defs     map[string]any
	comments map[string]map[string]string // of each package that was read, by Type.Field
	stored   bool                         // the type is one of the log: its form is that of package app
}

// printed returns a schema with a definition or a property on each line.
func printed(t *testing.T, schema map[string]any) string {
	t.Helper()
	var b strings.Builder
	line := func(v any) string {
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line.String())
	}
	// object prints each member of an object on a line, and those of the members that open
	// names in the same way.
	var object func(members map[string]any, indent string, open ...string)
	object = func(members map[string]any, indent string, open ...string) {
		b.WriteString("{\n")
		for i, name := range slices.Sorted(maps.Keys(members)) {
			if i > 0 {
				b.WriteString(",\n")
			}
			fmt.Fprintf(&b, "%s %q: ", indent, name)
			inner, ok := members[name].(map[string]any)
			switch {
			case ok && indent == " " && inner["properties"] != nil: // a definition
				object(inner, indent+" ", "properties")
			case ok && slices.Contains(open, name):
				object(inner, indent+" ")
			default:
				b.WriteString(line(members[name]))
			}
		}
		b.WriteString("\n" + indent + "}")
	}
	object(schema, "", "$defs")
	return b.String() + "\n"
}

// jsonSchema returns the schema of all commands.
func jsonSchema(t *testing.T) map[string]any {
	t.Helper()
	s := schemas{t: t, defs: map[string]any{}, comments: map[string]map[string]string{}}
	commands := map[string]any{}
	for name, forms := range jsonForms {
		var any []any
		for _, f := range forms {
			any = append(any, s.of(reflect.TypeOf(f)))
		}
		key := strings.ReplaceAll(name, " ", "-")
		if commands[key] = any[0]; len(any) > 1 {
			commands[key] = map[string]interface{}{"anyOf": any}
		}
	}
	s.events()
	maps.Copy(s.defs, commands)
	return map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "What the commands of pawl print with --json",
		"description": "Under $defs each command by its name, with a hyphen for a space, and the objects that they share. docs/json.md has the rules. Made from the Go types by a test of package cli.",
		"$defs":       s.defs,
	}
}

func (s schemas) of(t reflect.Type) map[string]any {
	if values, ok := words[t]; ok {
		return map[string]any{"type": "string", "enum": values}
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem())
	case t == reflect.TypeFor[run.Usage]():
		return s.of(reflect.TypeFor[view.Usage]())
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return map[string]any{}
	case t.Implements(reflect.TypeFor[json.Marshaler]()): // an object that keeps its order
		return map[string]any{"type": "object"}
	}
	switch t.Kind() {
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		if strings.Contains(t.Name(), "[") || t.Name() == "" {
			return s.object(t)
		}
		name := strings.TrimSuffix(t.Name(), "Form")
		name = strings.ToUpper(name[:1]) + name[1:] // the names of commands are lower case
		if t.PkgPath() != "pawl/cli" && !strings.HasPrefix(t.PkgPath(), "pawl/cli/") {
			name = filepath.Base(t.PkgPath()) + "." + t.Name()
		}
		if s.defs[name] == nil {
			s.defs[name] = true // a type may hold itself
			s.defs[name] = s.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "integer"}
}

func (s schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	s.members(t, properties, &required)
	slices.Sort(required)
	required = slices.Compact(required) // a member can shadow one of an embedded type
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
}

// members adds the members of an object, in the way of package encoding/json.
func (s schemas) members(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Name == "Answer" && field.Type.Kind() == reflect.Struct, field.Anonymous && name == "":
			embedded := field.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			s.members(embedded, properties, required)
			continue
		case name == "-" || !field.IsExported():
			continue
		case name == "":
			name = field.Name
		}
		member := s.of(field.Type)
		if s.stored {
			name, member = inDialect(t.Name(), field.Name, name, member)
		}
		if name == "input" && field.Type == reflect.TypeFor[json.RawMessage]() {
			member = map[string]any{"type": "object"}
		}
		if field.Type.Kind() == reflect.Pointer && options == "" {
			member = map[string]any{"anyOf": []any{member, map[string]any{"type": "null"}}}
		}
		if comment := s.comment(t, field.Name); comment != "" {
			member["description"] = comment
		}
		properties[name] = member
		if options == "" {
			*required = append(*required, name)
		}
	}
}

// inDialect returns the name and the schema of a field of the log as docs/json.md has them.
func inDialect(of, field, name string, member map[string]any) (string, map[string]any) {
	names := map[string]string{"since": "started_at", "mtime": "modified_at"}
	switch of + "." + field {
	case "Call.Arguments":
		return "input", map[string]any{"type": "object"}
	case "Submitted.Value", "Output.Schema", "Action.Thinking", "Part.Raw":
		return name, map[string]any{}
	}
	if before, ok := strings.CutSuffix(name, "_ns"); ok {
		name = before + "_ms"
	}
	return cmp.Or(names[name], name), member
}

// payloads returns an event of each type, in the order of docs/events.md. A test of the repository sees to it that all are there.
func payloads(t *testing.T) []run.Payload {
	t.Helper()
	page, err := os.ReadFile("../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []run.Payload
	for _, m := range regexp.MustCompile("(?m)^### `([a-z_]+)`$").FindAllStringSubmatch(string(page), -1) {
		e, err := store.Decode(1, time.Time{}, m[1], 1, []byte("{}"))
		if err != nil {
			t.Fatalf("docs/events.md: %v", err)
		}
		all = append(all, e.Payload)
	}
	return all
}

// events adds the data of each type of event to the schema of its line.
func (s schemas) events() {
	s.stored = true
	var names []string
	var each []any
	for _, p := range payloads(s.t) {
		name := store.Type(p)
		data := s.object(reflect.TypeOf(p))
		properties := data["properties"].(map[string]any)
		switch name {
		case "call_decided", "call_started", "call_settled":
			properties["tool"] = map[string]any{"type": "string"}
		}
		if name == "call_settled" {
			properties["exit_code"] = map[string]any{"type": "integer", "description": "of a command that did not succeed"}
			properties["duration_ms"] = map[string]any{"type": "integer", "description": "since the call was started"}
			data["required"] = append(data["required"].([]string), "is_error")
		}
		s.defs["event."+name] = data
		names = append(names, name)
		each = append(each, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"type": map[string]any{"const": name}}},
			"then": map[string]any{"properties": map[string]any{"data": map[string]any{"$ref": "#/$defs/event." + name}}},
		})
	}
	line := s.defs["forms.EventLine"].(map[string]any)
	line["properties"].(map[string]any)["type"] = map[string]any{"enum": names}
	line["allOf"] = each
}

// comment returns what is said of a field of a type where that is declared.
func (s schemas) comment(of reflect.Type, field string) string {
	s.t.Helper()
	name, _, generic := strings.Cut(of.Name(), "[")
	if name == "" || generic {
		return ""
	}
	comments := s.comments[of.PkgPath()]
	if comments == nil {
		comments = fieldComments(s.t, filepath.Join("..", strings.TrimPrefix(of.PkgPath(), "pawl")))
		s.comments[of.PkgPath()] = comments
	}
	comment, ok := comments[name+"."+field]
	if !ok {
		s.t.Errorf("the declaration of %s.%s was not found", of, field)
	}
	return comment
}

// fieldComments returns what the files of a package say of the fields of its types.
func fieldComments(t *testing.T, dir string) map[string]string {
	t.Helper()
	comments := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			object, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range object.Fields.List {
				for _, field := range f.Names {
					text := strings.TrimSpace(f.Comment.Text() + f.Doc.Text())
					comments[spec.Name.Name+"."+field.Name] = strings.Join(strings.Fields(text), " ")
				}
			}
			return true
		})
	}
	return comments
}
