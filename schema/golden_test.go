package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pawl/agent"
	"pawl/controller"
	"pawl/internal/golden"
	"pawl/schema"
	"pawl/tool"
	"pawl/tool/outputs"
)

// toolsOfRuns are the tools that package app gives to runs, by the name of the function
// that makes each. [TestEveryToolOfARunIsHere] says when one is missing.
var toolsOfRuns = map[string]func() []tool.Tool{
	"agent.Tools":      func() []tool.Tool { return agent.Tools(agent.Delegation{}) },
	"outputs.All":      outputs.All,
	"tool.Fetch":       func() []tool.Tool { return []tool.Tool{tool.Fetch(tool.FetchOptions{})} },
	"tool.Help":        func() []tool.Tool { return []tool.Tool{tool.Help()} },
	"tool.Shell":       func() []tool.Tool { return []tool.Tool{tool.Shell()} },
	"tool.ShellOutput": func() []tool.Tool { return []tool.Tool{tool.ShellOutput()} },
	"tool.ShellStop":   func() []tool.Tool { return []tool.Tool{tool.ShellStop()} },
}

func specs() []tool.Spec {
	tools := tool.Builtin()
	for _, newTool := range toolsOfRuns {
		tools = append(tools, newTool()...)
	}
	return tool.NewRegistry(tools...).Specs()
}

func TestEveryToolIsAdaptedToEveryTargetAndWasRead(t *testing.T) {
	t.Parallel()
	for _, spec := range specs() {
		for _, target := range schema.Targets() {
			compareAdapted(t, target, spec.Name, spec.Schema)
		}
	}
}

func TestASchemaWithEverythingInItIsAdaptedAndWasRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nasty", "controller", "submission"} {
		for _, target := range schema.Targets() {
			compareAdapted(t, target, name, read(t, name))
		}
	}
}

// The registry of runs is not exported and cannot be asked, so its source is.
func TestEveryToolOfARunIsHere(t *testing.T) {
	t.Parallel()
	const source = "../app/tools.go"
	file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{} // packages of tools, as the file calls them
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if imported == "pawl/tool" || imported == "pawl/agent" || strings.HasPrefix(imported, "pawl/tool/") {
			ours[path.Base(imported)] = true
		}
	}
	var made []string
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "registry" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := f.X.(*ast.Ident); ok && ours[x.Name] && f.Sel.Name != "NewRegistry" && f.Sel.Name != "Builtin" {
				made = append(made, x.Name+"."+f.Sel.Name)
			}
			return true
		})
	}
	if len(made) == 0 {
		t.Fatalf("%s has no function registry with tools in it: say here where the tools of runs are now", source)
	}
	for _, name := range made {
		if toolsOfRuns[name] == nil {
			t.Errorf("%s gives %s to runs: add it to toolsOfRuns and run UPDATE=1 go test ./schema", source, name)
		}
	}
}

func TestNoWireIsSentWhatItForbidsAtAnyDepth(t *testing.T) {
	t.Parallel()
	schemas := map[string]json.RawMessage{}
	for _, spec := range specs() {
		schemas[spec.Name] = spec.Schema
	}
	for _, name := range []string{"nasty", "controller", "submission"} {
		schemas[name] = read(t, name)
	}
	for name, authored := range schemas {
		for _, target := range schema.Targets() {
			a, err := schema.Adapt(target, authored)
			if err != nil {
				continue // the golden file says why
			}
			if found := schema.Forbidden(target, a.Schema); found != nil {
				t.Errorf("%s as %s has what it may not have: %q", name, target, found)
			}
			if again, err := schema.Adapt(target, a.Schema); err != nil || again.Changed {
				t.Errorf("%s as %s is changed once more when it is adapted once more: %v\n%s", name, target, err, again.Schema)
			}
		}
	}
}

func TestTheControllersObjectGoesToEveryServerAsItWasWritten(t *testing.T) {
	t.Parallel()
	authored := read(t, "controller")
	var compact bytes.Buffer
	if err := json.Compact(&compact, authored); err != nil {
		t.Fatal(err)
	}
	for _, target := range []schema.Target{schema.AnthropicTool, schema.AnthropicOutput, schema.OpenAI, schema.Gemini} {
		a := adapt(t, target, authored)
		if a.Changed || a.Notes != nil || !bytes.Equal(a.Schema, compact.Bytes()) {
			t.Errorf("%s: changed %t, notes %q:\n%s", target, a.Changed, a.Notes, a.Schema)
		}
	}
	a := adapt(t, schema.OpenAIStrict, authored)
	if a.Notes != nil {
		t.Errorf("strict mode loses %q", a.Notes)
	}
	// Taken back, what strict mode did is undone: only required and null were added.
	var got, want any
	unmarshal(t, a.Schema, &got)
	unmarshal(t, authored, &want)
	if got, want := fmt.Sprint(withoutStrict(got)), fmt.Sprint(withoutStrict(want)); got != want {
		t.Errorf("strict mode changed more than required and null:\n got %s\nwant %s", got, want)
	}
}

// withoutStrict takes required and null out of a schema.
func withoutStrict(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "required")
		for name, child := range v {
			v[name] = withoutStrict(child)
		}
	case []any:
		v = slices.DeleteFunc(v, func(item any) bool { return item == nil || item == "null" })
		for i, item := range v {
			v[i] = withoutStrict(item)
		}
		if len(v) == 1 {
			return v[0]
		}
		return v
	}
	return v
}

// compareAdapted compares a schema on a target with testdata/target/name.golden.
func compareAdapted(t *testing.T, target schema.Target, name string, authored json.RawMessage) {
	t.Helper()
	var b bytes.Buffer
	switch a, err := schema.Adapt(target, authored); {
	case err != nil:
		fmt.Fprintln(&b, err)
	case !a.Changed:
		fmt.Fprintln(&b, "as it was written")
	default:
		for _, note := range a.Notes {
			fmt.Fprintln(&b, "-", note)
		}
		if err := json.Indent(&b, a.Schema, "", "  "); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	golden.Compare(t, string(target)+"/"+name+".golden", b.Bytes())
}

func read(t testing.TB, name string) json.RawMessage {
	t.Helper()
	if name == "controller" {
		return json.RawMessage(controller.Schema) // the real one
	}
	b, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func adapt(t testing.TB, target schema.Target, authored json.RawMessage) schema.Adapted {
	t.Helper()
	a, err := schema.Adapt(target, authored)
	if err != nil {
		t.Fatalf("Adapt(%s, %s): %v", target, authored, err)
	}
	return a
}

func compile(t testing.TB, authored json.RawMessage) *schema.Compiled {
	t.Helper()
	c, err := schema.Compile(authored)
	if err != nil {
		t.Fatalf("Compile(%s): %v", authored, err)
	}
	return c
}

func unmarshal(t testing.TB, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
}
