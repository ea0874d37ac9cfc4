package mcp

//lint:file-ignore SA1019 servers of the revisions before 2026-07-28 ask for roots and send logs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addRoot tells servers that ask which folder they are for.
func addRoot(client *sdk.Client, workspace string) { client.AddRoots(rootOf(workspace)) }

// rootOf is the folder that servers are told which ask for which they are.
func rootOf(workspace string) *sdk.Root {
	root := url.URL{Scheme: "file", Path: filepath.ToSlash(workspace)}
	return &sdk.Root{URI: root.String(), Name: filepath.Base(workspace)}
}

// addLegacy adds what a client says that it can do, and what it has for such servers: the logs of a server are shown
// beside its calls.
func addLegacy(o *sdk.ClientOptions, l *link) {
	o.Capabilities = &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{},
		Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}}
	o.Capabilities.AddExtension(tasksExtension, nil)
	o.LoggingMessageHandler = func(_ context.Context, m *sdk.LoggingMessageRequest) {
		words, is := m.Params.Data.(string)
		if !is {
			b, _ := json.Marshal(m.Params.Data) // it was JSON
			words = string(b)
		}
		l.show("", clip(words, maxLog))
	}
}

// refuseSampling tells a server that wants to send prompts to the model why it may not: as if the person had said no
// (specification 2025-11-25, client/sampling).
func refuseSampling(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method == "sampling/createMessage" {
			return nil, &jsonrpc.Error{Code: -1, Message: "pawl does not send prompts of servers to the model: their text would count as the person's"}
		}
		return next(ctx, method, req)
	}
}

// guard keeps a request of a server from ending pawl: where the library, or a handler, cannot take it, that is the answer.
func guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("the request cannot be taken: %v", cause)}
			}
		}()
		return next(ctx, method, req)
	}
}

// maxLog bounds what is shown of a line of a server's log, in bytes.
const maxLog = 400
