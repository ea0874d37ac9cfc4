package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/lazy"
	"pawl/internal/visible"
	"pawl/run"
	"pawl/schema"
	"pawl/tool"
)

// Prefix is how the names of all tools of servers begin.
const Prefix = "mcp__"

// Name returns the name that models and rules have for a tool of a server. It is as other
// agents have it, shortened to what every provider accepts.
func Name(server, name string) string {
	full := Prefix + server + "__" + strings.ReplaceAll(name, ".", "_")
	if len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(name))
	return full[:maxName-7] + "_" + hex.EncodeToString(sum[:3])
}

// maxName is how long the name of a tool may be for OpenAI and Gemini; see docs of package llm.
const maxName = 64

// toolName are the names that tools of servers may have (specification 2026-07-28, server/tools).
var toolName = lazy.Regexp(`^[A-Za-z0-9_.-]+$`)

// maxDescription bounds what a server says of a tool, in bytes: Claude Code cuts it at the same
// length (code.claude.com/docs/en/mcp, read 2026-11-26).
const maxDescription = 2048

// maxSchema bounds the schema of a tool's arguments, in bytes.
const maxSchema = 256 << 10

// A remoteTool is a tool of a server.
type remoteTool struct {
	remote *Remote
	name   string // as the server calls it
	spec   tool.Spec
	reads  bool // the server says that it only reads
	// detaches: the server says that a call may be a task; see [Remote.awaitTask]
	detaches bool
	output   func() (*schema.Compiled, error)
}

// tools returns the tools of the server that are offered, and those that are left out although
// the definition has them, a sentence each.
func (r *Remote) tools() (offered []*remoteTool, left []string) {
	if !r.remembered() {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listed.offered, r.listed.left
}

// whyNot returns why a tool is not offered; empty if it is.
func (r *Remote) whyNot(t *sdk.Tool) string {
	if why := misread(t.Meta); why != "" {
		return why
	}
	if !r.offers(t.Name) {
		return "the definition of the server leaves it out"
	}
	if len(t.Name) == 0 || len(t.Name) > 128 {
		return "its name has no characters, or more than 128"
	}
	if !toolName().MatchString(t.Name) {
		return "its name has characters that names of tools cannot have"
	}
	arguments, err := json.Marshal(t.InputSchema)
	if err != nil || len(arguments) > maxSchema {
		return fmt.Sprintf("the schema of its arguments is larger than %d KB", maxSchema>>10)
	}
	if _, err := schema.Compile(arguments); err != nil {
		return "the schema of its arguments is wrong: " + err.Error()
	}
	return ""
}

func (r *Remote) newTool(t *sdk.Tool) *remoteTool {
	arguments, _ := json.Marshal(t.InputSchema) // see whyNot
	description := t.Description
	if description == "" {
		description = t.Title
	}
	if description = clip(description, maxDescription); description == "" {
		description = "A tool of the server " + r.Name + ", which says nothing of it."
	}
	n := &remoteTool{remote: r, name: t.Name, spec: tool.Spec{Name: Name(r.Name, t.Name), Description: visible.Strip(description), Schema: arguments, Server: r.Name},
		reads:    t.Annotations != nil && t.Annotations.ReadOnlyHint,
		detaches: t.Meta[taskSupport] == "required" || t.Meta[taskSupport] == "optional"}
	n.output = sync.OnceValues(func() (*schema.Compiled, error) {
		if t.OutputSchema == nil {
			return nil, nil
		}
		raw, err := json.Marshal(t.OutputSchema)
		if err != nil || len(raw) > maxSchema {
			return nil, err
		}
		return schema.Compile(raw)
	})
	return n
}

func (t *remoteTool) Spec() tool.Spec { return t.spec }

// Inspect says that the call may do anything: what a server says of itself allows nothing, it is only
// a hint in the question.
func (t *remoteTool) Inspect(_ tool.Env, args json.RawMessage) (tool.Intent, error) {
	in := tool.Intent{Class: run.Writes, Title: strings.TrimSpace(t.remote.Name + ": " + t.name + " " + arguments(args)), Arguments: fields(args)}
	if t.reads {
		in.Hint = "the server says that it only reads"
	}
	return in, nil
}

// fields returns arguments as rules see them.
func fields(args json.RawMessage) map[string]string {
	var all map[string]json.RawMessage
	if json.Unmarshal(args, &all) != nil {
		return nil
	}
	texts := make(map[string]string, len(all))
	for name, raw := range all {
		var text *string
		if json.Unmarshal(raw, &text) != nil {
			text = new(string(raw))
		}
		if text != nil { // null is as if it were not given
			texts[name] = *text
		}
	}
	return texts
}

// arguments returns arguments in a line for people.
func arguments(args json.RawMessage) string {
	text := strings.TrimSpace(string(args))
	if text == "{}" {
		return ""
	}
	return visible.Escape(strings.ReplaceAll(text, "\n", " "))
}

func (t *remoteTool) Run(ctx context.Context, env tool.Env, c tool.Call) (tool.Result, error) {
	if len(c.Args) == 0 {
		c.Args = json.RawMessage("{}")
	}
	res, notes, err := t.remote.call(ctx, env.Workspace, t, c)
	if err != nil {
		said := visible.Escape(err.Error())
		_, unknown := errors.AsType[noOutcome](err)
		if unknown {
			said = "The outcome of this call is unknown: " + said + ". It may have happened, in part or whole, or not. Look before you repeat it."
		}
		r := tool.ErrorResult(strings.Join(append(notes, said), "\n"))
		r.Unknown = unknown
		_, r.NotStarted = errors.AsType[notCalled](err)
		if !r.NotStarted {
			r.Change = run.MayChange
		}
		return r, nil
	}
	r := t.result(ctx, res, c.Output)
	for _, note := range notes {
		r.Content = append(r.Content, run.Text(note))
	}
	r.Change = run.MayChange
	return r, nil
}
