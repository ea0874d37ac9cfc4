package hook

import (
	"bytes"
	"encoding/json"

	"pawl/run"
)

// transcript returns messages as hooks made for Claude Code read them: a JSON object a line, as that program keeps its
// conversations (2.1.197, seen 2026-11-28). Pictures are named, not contained.
func transcript(id run.ID, messages []run.Message, workspace string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	for _, m := range messages {
		content := make([]map[string]any, 0, len(m.Parts))
		for _, p := range m.Parts {
			if block := block(p, workspace); block != nil {
				content = append(content, block)
			}
		}
		_ = e.Encode(map[string]any{"type": string(m.Role), "uuid": m.ID, "sessionId": string(id), "cwd": workspace,
			"message": map[string]any{"role": string(m.Role), "content": content}}) // into memory
	}
	return out.Bytes()
}

func block(p run.Part, workspace string) map[string]any {
	switch p.Type {
	case run.TextPart:
		return map[string]any{"type": "text", "text": p.Text}
	case run.ThinkingPart:
		return map[string]any{"type": "thinking", "thinking": p.Text}
	case run.CallPart:
		return map[string]any{"type": "tool_use", "id": string(p.Call.ID), "name": names(p.Call.Tool)[0],
			"input": input(p.Call.Tool, p.Call.Arguments, workspace)}
	case run.ResultPart:
		return map[string]any{"type": "tool_result", "tool_use_id": string(p.Result.Call), "is_error": p.Result.IsError,
			"content": run.PlainText(p.Result.Content)}
	case run.ImagePart:
		return map[string]any{"type": "text", "text": "[image]"}
	}
	return nil
}
