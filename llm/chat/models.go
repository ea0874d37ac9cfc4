package chat

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"pawl/llm"
	"pawl/run"
)

// modelsTimeout bounds the request for models: a server on this machine answers in
// milliseconds, one on the network within a second or two.
const modelsTimeout = 5 * time.Second

// Models returns the names of the server's models, sorted. It also detects
// whether a server runs: the error is an [*llm.Error], at once if there is none, and after
// five seconds if it does not answer.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	body, err := p.wire.Get(ctx, modelsTimeout, "/models", p.header())
	if err != nil {
		return nil, err
	}
	type model struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	var list []model // Together; all others wrap it
	if json.Unmarshal(body, &list) != nil {
		var wrapped struct {
			Data   []model `json:"data"`
			Models []model `json:"models"`
		}
		if err := json.Unmarshal(body, &wrapped); err != nil || wrapped.Data == nil && wrapped.Models == nil {
			return nil, &llm.Error{Kind: run.ErrInvalid, Err: err,
				Message: "the response to /models is not a list of models; check the base URL"}
		}
		list = append(wrapped.Data, wrapped.Models...)
	}
	var names []string
	for _, m := range list {
		if m.ID == "" {
			m.ID = m.Name
		}
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
