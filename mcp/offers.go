package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/run"
)

// A Prompt is a prompt that a server offers, which a person calls as a command.
type Prompt struct {
	Command     string // mcp__server__prompt
	Server      string
	Description string
	Takes       string // its arguments, as a person reads them

	remote *Remote
	of     *sdk.Prompt
}

var notOfCommands = lazy.Regexp(`[^\p{L}\p{N}_-]`)

// Prompts returns the prompts of all servers that are known now. Of two with one command the first counts.
func (s *Servers) Prompts() (all []Prompt) {
	for _, r := range s.remotes {
		if !r.remembered() {
			continue
		}
		for _, p := range r.listing().prompts {
			var takes []string
			for _, a := range p.Arguments {
				form := "[%s]"
				if a.Required {
					form = "<%s>"
				}
				takes = append(takes, fmt.Sprintf(form, visible.Escape(clip(a.Name, 100))))
			}
			command := Prefix + r.Name + "__" + notOfCommands().ReplaceAllString(clip(p.Name, 100), "_")
			if slices.ContainsFunc(all, func(o Prompt) bool { return o.Command == command }) {
				continue
			}
			all = append(all, Prompt{command, r.Name, visible.Escape(text.OneLine(p.Description, maxDescription)), strings.Join(takes, " "), r, p})
		}
	}
	return all
}

// Get returns what the prompt is with arguments: words in the order in which it takes them, of which the last takes the
// rest, or name=value.
func (p Prompt) Get(ctx context.Context, words string) ([]run.Part, error) {
	given := map[string]string{}
	left := strings.TrimSpace(words)
	for i, a := range p.of.Arguments {
		word, rest, _ := strings.Cut(left, " ")
		if i == len(p.of.Arguments)-1 {
			word, rest = left, ""
		}
		name, value, named := strings.Cut(word, "=")
		switch {
		case word == "":
		case named && slices.ContainsFunc(p.of.Arguments, func(a *sdk.PromptArgument) bool { return a.Name == name }):
			given[name] = value
		default:
			given[a.Name] = word
		}
		left = strings.TrimSpace(rest)
	}
	for _, a := range p.of.Arguments {
		if a.Required && given[a.Name] == "" {
			return nil, fmt.Errorf("it takes %s", p.Takes)
		}
	}
	if left != "" {
		return nil, fmt.Errorf("it takes no arguments")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.remote.callTimeout(), errCallTimeout)
	defer cancel()
	var res *sdk.GetPromptResult
	err := p.remote.ask(ctx, "the prompt", func(ctx context.Context, l *link) (err error) {
		res, err = l.session.GetPrompt(ctx, &sdk.GetPromptParams{Name: p.of.Name, Arguments: given})
		return err
	})
	if err != nil {
		return nil, err
	}
	var content []sdk.Content
	for _, m := range res.Messages {
		if m == nil {
			continue
		}
		if t, is := m.Content.(*sdk.TextContent); is && m.Role == "assistant" {
			t.Text = "The assistant says: " + t.Text
		}
		content = append(content, m.Content)
	}
	texts, pictures, notes := contents(ctx, content)
	return append([]run.Part{run.Text(visible.Escape(strings.ToValidUTF8(strings.Join(append(texts, notes...), "\n\n"), "\uFFFD")))}, pictures...), nil
}

// Resources returns what can be mentioned of the resources of all servers that are known now: server:uri.
func (s *Servers) Resources() (all []string) {
	for _, r := range s.remotes {
		if r.remembered() {
			for _, res := range r.listing().resources {
				all = append(all, r.Name+":"+res.URI)
			}
		}
	}
	return all
}

// Read returns a resource of the server, also one that it does not list.
func (r *Remote) Read(ctx context.Context, uri string) ([]run.Part, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.callTimeout(), errCallTimeout)
	defer cancel()
	var res *sdk.ReadResourceResult
	err := r.ask(ctx, "it", func(ctx context.Context, l *link) (err error) {
		res, err = l.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		return err
	})
	if err != nil {
		return nil, err
	}
	var parts []run.Part
	for _, c := range res.Contents {
		if c == nil {
			continue
		}
		text, pictures, note := resource(ctx, c)
		if text = strings.TrimPrefix(text+note, "["+visible.Escape(c.URI)+"]\n"); text != "" {
			parts = append(parts, run.Text(visible.Escape(strings.ToValidUTF8(text, "\uFFFD"))))
		}
		parts = append(parts, pictures...)
	}
	return parts, nil
}

// listing returns what is known of what the server has; it is remembered.
func (r *Remote) listing() *listing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listed
}

// offers adds to a listing which prompts and resources the server says that it has.
func (now *listing) offers(ctx context.Context, l *link) error {
	has := l.session.InitializeResult()
	if has == nil || has.Capabilities == nil {
		return nil
	}
	if has.Capabilities.Prompts != nil {
		for p, err := range l.session.Prompts(ctx, nil) {
			if err != nil || len(now.Prompts) == maxTools {
				return err
			}
			if p != nil && !slices.Contains(p.Arguments, nil) {
				now.Prompts = append(now.Prompts, p)
			}
		}
	}
	if has.Capabilities.Resources != nil {
		for res, err := range l.session.Resources(ctx, nil) {
			if err != nil || len(now.Resources) == maxTools {
				return err
			}
			if res != nil {
				now.Resources = append(now.Resources, res)
			}
		}
	}
	return nil
}
