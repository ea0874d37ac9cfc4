package output

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"pawl/internal/stable"
	"pawl/run"
)

// ListArgs are the arguments of tool_outputs.list.
type ListArgs struct {
	Conversation  string `json:"conversation_id"`
	ToolName      string `json:"tool_name"`
	Success       *bool  `json:"success"`
	After         *int64 `json:"after"`  // created later than this, in milliseconds since 1970
	Before        *int64 `json:"before"` // created earlier than this
	Limit         int    `json:"limit"`  // 0, which Decode does not let pass, is all
	Offset        int    `json:"offset"`
	SortBy        string `json:"sort_by"`
	SortOrder     string `json:"sort_order"`
	Preview       bool   `json:"include_preview"`
	PreviewLength int    `json:"preview_length"` // characters
}

func (a *ListArgs) defaults() {
	a.Limit, a.SortBy, a.SortOrder, a.Preview, a.PreviewLength = 20, "created_at", "desc", true, 100
}

func (a *ListArgs) check() error {
	err := errors.Join(
		between("limit", a.Limit, 1, 100),
		oneOf("sort_by", a.SortBy, "created_at", "size", "tool_name"),
		oneOf("sort_order", a.SortOrder, "asc", "desc"),
		between("preview_length", a.PreviewLength, 0, 500),
	)
	if a.Offset < 0 {
		err = errors.Join(err, fmt.Errorf("offset must not be negative, got %d", a.Offset))
	}
	return err
}

// ListResult is the result of tool_outputs.list.
type ListResult struct {
	Conversation string   `json:"conversation_id"`
	Outputs      []Listed `json:"outputs"`
	Total        int      `json:"total"` // that pass, on all pages
	HasMore      bool     `json:"has_more"`
}

// Listed is an output in a list.
type Listed struct {
	ID           string `json:"id"` // see Meta.Ref
	ToolName     string `json:"tool_name"`
	Conversation run.ID `json:"conversation_id"`
	Message      string `json:"message_id"`
	Created      int64  `json:"created_at"` // milliseconds since 1970
	Success      bool   `json:"success"`
	Size         int64  `json:"size_bytes"`
	Preview      string `json:"preview,omitempty"`
	Summary      string `json:"summary"`
}

// List answers tool_outputs.list: the outputs of a scope. If the arguments name another
// conversation, the list is empty.
func (s *Store) List(scope Scope, args ListArgs) (ListResult, error) {
	r := ListResult{Conversation: args.Conversation, Outputs: []Listed{}}
	if r.Conversation == "" {
		r.Conversation = string(scope.Conversation)
	}
	if r.Conversation != string(scope.Conversation) {
		return r, nil
	}
	all, err := s.in(scope)
	if err != nil {
		return r, fmt.Errorf("tool_outputs.list: %w", err)
	}
	all = slices.DeleteFunc(all, func(m Meta) bool { return !args.pass(m) })
	stable.Sort(all, args.compare)
	r.Total = len(all)
	from := min(args.Offset, len(all))
	to := len(all)
	if args.Limit > 0 {
		to = min(from+args.Limit, len(all))
	}
	r.HasMore = to < len(all)
	for _, m := range all[from:to] {
		m = m.described()
		l := Listed{
			ID: scope.Ref(&m), ToolName: m.Tool, Conversation: m.Conversation, Message: m.Message,
			Created: m.Created.UnixMilli(), Success: m.Success, Size: m.Bytes(), Summary: m.Describe(),
		}
		if args.Preview {
			l.Preview, _ = m.Preview(args.PreviewLength)
		}
		r.Outputs = append(r.Outputs, l)
	}
	return r, nil
}

func (a *ListArgs) pass(m Meta) bool {
	at := m.Created.UnixMilli()
	return (a.ToolName == "" || m.Tool == a.ToolName) &&
		(a.Success == nil || m.Success == *a.Success) &&
		(a.After == nil || at > *a.After) && (a.Before == nil || at < *a.Before)
}

func (a *ListArgs) compare(x, y Meta) int {
	c := 0
	switch a.SortBy {
	case "size":
		c = cmp.Compare(x.Bytes(), y.Bytes())
	case "tool_name":
		c = cmp.Compare(x.Tool, y.Tool)
	}
	if c == 0 {
		c = compareAge(x, y)
	}
	if a.SortOrder == "desc" {
		c = -c
	}
	return c
}
