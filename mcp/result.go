package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/visible"
	"pawl/run"
	"pawl/tool"
)

// largeResult is from when on structured content is written to the output of a call by itself, in
// bytes, so that paths can be asked of it.
const largeResult = 8 << 10

// result returns what a server has answered, as a model gets it. out takes a large result; nil:
// nothing does.
func (t *remoteTool) result(ctx context.Context, res *sdk.CallToolResult, out io.Writer) tool.Result {
	texts, pictures, notes := contents(ctx, res.Content)
	text := strings.Join(texts, "\n")
	var structured []byte
	if res.StructuredContent != nil {
		structured, _ = json.Marshal(res.StructuredContent) // it was JSON
		notes = appendText(notes, t.misfit(structured))
		switch {
		case saysText(res.StructuredContent, text):
			structured = nil
		case json.Valid([]byte(text)): // servers send both, for clients that know one of them
			text = ""
		}
	} else if compiled, _ := t.output(); compiled != nil && !res.IsError {
		notes = append(notes, "[the result does not fit what the server says of it: there is no structured content]")
	}
	r := tool.Result{IsError: res.IsError}
	add := func(text string) {
		if text != "" {
			r.Content = append(r.Content, run.Text(visible.Escape(strings.ToValidUTF8(text, "\uFFFD"))))
		}
	}
	add(text)
	switch {
	case len(structured) > largeResult && out != nil && len(pictures) == 0:
		_, err := out.Write(structured)
		r.Written = err == nil
	default:
		add(string(structured))
	}
	r.Content = append(r.Content, pictures...)
	add(strings.Join(notes, "\n"))
	if r.IsError && len(r.Content) == 0 && !r.Written {
		add("The server says that the call has failed, and not why.")
	}
	return r
}

// contents returns content as a model gets it: texts, pictures, and notes on what cannot be shown.
func contents(ctx context.Context, all []sdk.Content) (texts []string, pictures []run.Part, notes []string) {
	for _, c := range all {
		switch c := c.(type) {
		case *sdk.TextContent:
			texts = append(texts, c.Text)
		case *sdk.ImageContent:
			shown, note := show(ctx, "the picture", c.MIMEType, c.Data)
			pictures, notes = append(pictures, shown...), appendText(notes, note)
		case *sdk.AudioContent:
			notes = append(notes, fmt.Sprintf("[sound, %s, %d bytes: it cannot be shown]", visible.Escape(c.MIMEType), len(c.Data)))
		case *sdk.ResourceLink:
			notes = append(notes, "["+linkWords(c)+"]")
		case *sdk.EmbeddedResource:
			text, shown, note := resource(ctx, c.Resource)
			texts, pictures, notes = appendText(texts, text), append(pictures, shown...), appendText(notes, note)
		default:
			notes = append(notes, "[content of a kind that pawl does not know]")
		}
	}
	return texts, pictures, notes
}

// saysText reports whether a structured result only wraps a text that the server has sent beside it.
func saysText(structured any, text string) bool {
	fields, is := structured.(map[string]any)
	if !is || len(fields) != 1 || text == "" {
		return false
	}
	for _, v := range fields {
		return v == text
	}
	return false
}

func appendText(texts []string, text string) []string {
	if text == "" {
		return texts
	}
	return append(texts, text)
}

// misfit says how a structured result does not fit the schema that the server has published for
// it; empty if it does, or if there is none.
func (t *remoteTool) misfit(value json.RawMessage) string {
	compiled, err := t.output()
	if err != nil || compiled == nil {
		return ""
	}
	var all []string
	for _, p := range compiled.Validate(value) {
		if all = append(all, p.String()); len(all) == maxMisfits {
			break
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "[the result does not fit what the server says of it: " + visible.Escape(strings.Join(all, "; ")) + "]"
}

const maxMisfits = 5

// show returns a picture as a model gets it, or a note where it cannot.
func show(ctx context.Context, name, media string, data []byte) (parts []run.Part, note string) {
	if len(data) > tool.MaxPicture {
		return nil, fmt.Sprintf("[%s, %s, %d bytes: too large to be shown]", name, visible.Escape(media), len(data))
	}
	parts, err := tool.Picture(ctx, name, data)
	if err != nil {
		return nil, "[" + err.Error() + "]"
	}
	return parts, ""
}

func resource(ctx context.Context, c *sdk.ResourceContents) (text string, parts []run.Part, note string) {
	if c == nil {
		return "", nil, "[a resource without content]"
	}
	name := visible.Escape(c.URI)
	switch {
	case c.Text != "" || len(c.Blob) == 0:
		return "[" + name + "]\n" + c.Text, nil, ""
	case strings.HasPrefix(c.MIMEType, "image/"):
		parts, note = show(ctx, name, c.MIMEType, c.Blob)
		return "", parts, note
	}
	return "", nil, fmt.Sprintf("[%s, %s, %d bytes: it is no text]", name, visible.Escape(c.MIMEType), len(c.Blob))
}

func linkWords(l *sdk.ResourceLink) string {
	words := "resource " + visible.Escape(l.URI)
	if l.Title != "" || l.Name != "" {
		name := l.Title
		if name == "" {
			name = l.Name
		}
		words += ": " + visible.Escape(name)
	}
	if l.MIMEType != "" {
		words += ", " + visible.Escape(l.MIMEType)
	}
	if l.Size != nil {
		words += fmt.Sprintf(", %d bytes", *l.Size)
	}
	return words
}
