package tool

import "slices"

// ServerCall is the tool through which a model calls those of MCP servers where their definitions are searched.
const ServerCall = "mcp_call"

// Definitions of the tools of servers are a part of each request while they have at most one searchedShare-th of the
// model's context, counted as bytesPerToken bytes a token; a context that is not known counts as unknownWindow tokens.
const (
	searchedShare = 50
	bytesPerToken = 4
	unknownWindow = 128_000
)

// Searched returns the names of the tools of servers if their definitions are too large to be told in each request to a
// model with a context of window tokens; nil if they are not.
func Searched(specs []Spec, window int64) (names []string) {
	if window == 0 {
		window = unknownWindow
	}
	var size int64
	for _, s := range specs {
		if s.Server != "" {
			size += int64(len(s.Name) + len(s.Description) + len(s.Schema))
			names = append(names, s.Name)
		}
	}
	if size <= window*bytesPerToken/searchedShare {
		return nil
	}
	return names
}

// Later is what a model that is told the tools of servers reads of those that come after its first request.
const Later = " Tools of theirs that are not among yours have come since, or come yet, and are called with " + ServerCall + "."

// Servers returns the servers whose tools are among specs, in their order.
func Servers(specs []Spec) (names []string) {
	for _, s := range specs {
		if s.Server != "" && !slices.Contains(names, s.Server) {
			names = append(names, s.Server)
		}
	}
	return names
}
