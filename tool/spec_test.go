package tool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"pawl/internal/golden"
	"pawl/tool"
)

func TestWhatTheModelIsToldOfEachToolWasRead(t *testing.T) {
	t.Parallel()
	total := 0
	for _, tl := range tool.Builtin() {
		s := tl.Spec()
		total += len(s.Name) + len(s.Description) + len(s.Schema)
		var schema bytes.Buffer
		if err := json.Indent(&schema, s.Schema, "", "  "); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, s.Name+".golden", fmt.Appendf(nil, "%s\n\n%s\n\n%s\n", s.Name, s.Description, schema.Bytes()))
	}
	// The first request of a run is to stay under 16 KB with every tool in it.
	if total > 7000 {
		t.Errorf("names, descriptions and schemas have %d bytes; the budget is 7,000", total)
	}
	t.Logf("%d bytes", total)
}

func TestNamesAndSpecsAreSortedSoThatRequestsStayTheSame(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry(tool.Builtin()...)
	names := r.Names()
	if got, want := fmt.Sprint(names), "[ask edit glob list read search todo write]"; got != want {
		t.Errorf("Names() = %s, want %s", got, want)
	}
	for i, s := range r.Specs() {
		if s.Name != names[i] {
			t.Errorf("Specs()[%d] is %s, want %s", i, s.Name, names[i])
		}
	}
}

func TestWrongArgumentsAreToldAllAtOnce(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry(tool.Builtin()...)
	for _, c := range []struct{ tool, args, want string }{
		{"edit", `{"path":7,"edits":[{"new":"x"},{"old":"a","new":"b","al":true}]}`,
			`wrong arguments for edit: edits[0].old: missing; edits[1].al: there is no such field; path: expected string, got number. It takes path (string), edits (array of objects)`},
		{"read", ``, `wrong arguments for read: path: missing. It takes path (string), limit (integer, optional), offset (integer, optional), pages (string, optional)`},
		{"read", `{"path":"a","offset":1.5}`, `wrong arguments for read: offset: expected integer, got number. It takes path (string), limit (integer, optional), offset (integer, optional), pages (string, optional)`},
		{"read", `{"Path":"a"}`, `wrong arguments for read: Path: there is no such field; path: missing. It takes path (string), limit (integer, optional), offset (integer, optional), pages (string, optional)`},
		{"read", `["a"]`, `the arguments of read are not a JSON object: give path (string), limit (integer, optional), offset (integer, optional), pages (string, optional)`},
		{"read", `{"path":`, `the arguments of read are not JSON: unexpected end of JSON input`},
		{"todo", `{"items":[{"text":"a","status":"doing"}]}`, `wrong arguments for todo: items[0].status: "doing" is none of pending, active, done. It takes items (array of objects)`},
		{"red", `{}`, `there is no tool "red"; did you mean read?`},
		{"Bash", `{}`, `there is no tool "Bash"; there are ask, edit, glob, list, read, search, todo, write`},
		{"Grep", `{}`, `there is no tool "Grep"; did you mean search?`},
		{"apply_patch", `{}`, `there is no tool "apply_patch"; did you mean edit or write?`},
	} {
		err := r.Validate(c.tool, json.RawMessage(c.args))
		if err == nil || err.Error() != c.want {
			t.Errorf("Validate(%s, %s):\n got %v\nwant %s", c.tool, c.args, err, c.want)
		}
	}
}

func TestArgumentsThatFitPass(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry(tool.Builtin()...)
	for _, c := range []struct{ tool, args string }{
		{"read", `{"path":"a","offset":null,"limit":null}`}, // a null is an absent field
		{"read", `{"path":"a","offset":10.0,"limit":1e1}`},
		{"edit", `{"path":"a","edits":[{"old":"a","new":"b","all":null}]}`},
		{"list", ``}, // no fragment at all
	} {
		if err := r.Validate(c.tool, json.RawMessage(c.args)); err != nil {
			t.Errorf("Validate(%s, %s) = %v", c.tool, c.args, err)
		}
	}
}

func TestMonstrousArgumentsAreRefusedInNoTime(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry(tool.Builtin()...)
	deep := bytes.Repeat([]byte("["), 100_000)
	for _, args := range [][]byte{
		[]byte(`{"path":"a","offset":1e999999999}`),
		[]byte(`{"path":"a","offset":` + string(bytes.Repeat([]byte("9"), 100_000)) + `}`),
		fmt.Appendf(nil, `{"path":%s}`, deep),
		fmt.Appendf(nil, `{"%s":1}`, bytes.Repeat([]byte("k"), 1<<20)),
	} {
		err := r.Validate("read", args)
		if err == nil {
			// The schema has no bounds; the tool has.
			read, _ := r.Get("read")
			_, err = read.Inspect(tool.Env{Workspace: "/"}, args)
		}
		if err == nil || len(err.Error()) > 2000 {
			t.Errorf("%.40s…: %.300v", args, err)
		}
	}
}

func TestTwoToolsOfOneNameAreAMistake(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("NewRegistry took two tools named read")
		}
	}()
	tool.NewRegistry(tool.Read(), tool.Read())
}
