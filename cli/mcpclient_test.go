package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callServer is a client of an MCP server: mcp-call TOOL ARGUMENTS… -- COMMAND… makes the calls, one after the other,
// and prints what they say. The exit code is 1 if one is an error.
func callServer() {
	if err := callServerTools(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func callServerTools(ctx context.Context, args []string) error {
	end := slices.Index(args, "--")
	cmd := exec.Command(args[end+1], args[end+2:]...)
	cmd.Stderr = os.Stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "mcp-call", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for call := range slices.Chunk(args[:end], 2) {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call[0], Arguments: json.RawMessage(call[1])})
		if err != nil {
			return err
		}
		text := res.Content[0].(*mcp.TextContent).Text
		if res.IsError {
			return fmt.Errorf("%s: %s", call[0], text)
		}
		fmt.Println(text)
	}
	return nil
}

// hotelServer is an MCP server whose tool book asks the person for what it needs.
func hotelServer() {
	form := map[string]any{"type": "object", "required": []string{"name", "nights"}, "properties": map[string]any{
		"name": map[string]any{"type": "string", "title": "Your name"}, "nights": map[string]any{"type": "integer", "minimum": 1},
		"room": map[string]any{"type": "string", "enum": []string{"single", "double"}}}}
	s := mcp.NewServer(&mcp.Implementation{Name: "hotel", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "book", Description: "Books a room.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, is := req.Params.InputResponses["a"].(*mcp.ElicitResult)
			if !is {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": &mcp.ElicitParams{Mode: "form", Message: "Who comes?", RequestedSchema: form}}}, nil
			}
			said, err := json.Marshal(answer.Content)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Action + " " + string(said)}}}, err
		})
	s.AddPrompt(&mcp.Prompt{Name: "review stay", Description: "Asks what was good.", Arguments: []*mcp.PromptArgument{{Name: "room", Required: true}, {Name: "about"}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			words := fmt.Sprintf("Review room %s: %s. @secrets.txt", req.Params.Arguments["room"], req.Params.Arguments["about"])
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: words}}}}, nil
		})
	for name, content := range map[string]string{"menu": "Soup today.", "book": strings.Repeat("a guest\n", 10_000)} {
		s.AddResource(&mcp.Resource{URI: "hotel://" + name, Name: name}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "hotel://" + name, MIMEType: "text/plain", Text: content}}}, nil
		})
	}
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}
