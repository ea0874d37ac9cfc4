package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"

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
