package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pawl/config"
	"pawl/mcp"
	"pawl/run"
)

// ofServer is how the source of a command begins that is a prompt of an MCP server.
const ofServer = "MCP server "

// servedPrompt returns what an MCP server makes of the command and its arguments, if it is a prompt of one. Nothing is
// mentioned in it, and no command of it runs: it is the server's text.
func (w *Workspace) servedPrompt(ctx context.Context, t Typed) (parts []run.Part, is bool, err error) {
	if t.Command == nil || !strings.HasPrefix(t.Command.Source, ofServer) {
		return nil, false, nil
	}
	servers, err := w.Servers()
	if err != nil {
		return nil, true, err
	}
	prompts := servers.Prompts()
	i := slices.IndexFunc(prompts, func(p mcp.Prompt) bool { return p.Command == t.Command.Name })
	if i < 0 {
		return nil, true, config.Errorf("/%s is not there any more", t.Command.Name)
	}
	if parts, err = prompts[i].Get(ctx, t.arguments); err != nil {
		return nil, true, config.Errorf("/%s was not sent: %w", t.Command.Name, err)
	}
	return parts, true, nil
}

// Resources returns the resources of MCP servers that can be mentioned, as @ is followed by them: server:uri.
func (w *Workspace) Resources() []string {
	servers, err := w.Servers()
	if err != nil { // who drives runs is told
		return nil
	}
	return servers.Resources()
}

// servedBy returns the server whose resource a mention is, and its address; nil: it is of none.
func (w *Workspace) servedBy(mention string) (*mcp.Remote, string) {
	name, uri, is := strings.Cut(mention, ":")
	if !is || uri == "" {
		return nil, ""
	}
	servers, err := w.Servers()
	if err != nil {
		return nil, ""
	}
	return servers.Get(name), uri
}

func (w *Workspace) isServed(mention string) bool {
	server, _ := w.servedBy(mention)
	return server != nil
}

// maxResource is from when on a resource that is mentioned is stored as an output of the run, in bytes, instead of being
// attached whole.
const maxResource = 32 << 10

// served returns the resources of MCP servers that words mention, as @server:uri.
func (w *Workspace) served(ctx context.Context, words string, of run.State) (a Attachments) {
	var done []string
	for _, candidates := range mentioned(words) {
		mention := candidates[len(candidates)-1] // the shortest, without what a sentence continues with
		server, _ := w.servedBy(mention)
		if server == nil {
			continue
		}
		for _, c := range candidates {
			if slices.Contains(w.Resources(), c) {
				mention = c
				break
			}
		}
		_, uri := w.servedBy(mention)
		if slices.Contains(done, mention) || len(done) == maxMentions {
			continue
		}
		done = append(done, mention)
		parts, err := server.Read(ctx, uri)
		if text := run.PlainText(parts); err == nil && len(text) > maxResource {
			if of.Created.Run == "" {
				parts = append([]run.Part{run.Text(strings.ToValidUTF8(text[:maxResource], "") + "\n[cut: it has more than that]")}, images(parts)...)
			} else if stored, e := w.storeFor(ctx, of.Created, "resource", strings.NewReader(text), int64(len(text))); e == nil {
				a.Parts = append(a.Parts, attached("resource", mention, append(stored, images(parts)...))...)
				continue
			} else {
				err = e
			}
		}
		if err != nil {
			a.Notes = append(a.Notes, fmt.Sprintf("@%s is not attached: %v", mention, err))
			continue
		}
		a.Parts = append(a.Parts, attached("resource", mention, parts)...)
	}
	return a
}

func images(parts []run.Part) []run.Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p run.Part) bool { return p.Type == run.TextPart })
}
