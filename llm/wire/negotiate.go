package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"hash/maphash"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"pawl/llm"
	"pawl/run"
)

// learnedFor is how long pawl remembers that a server does not accept something: after
// that it may be another server, or a newer one.
const learnedFor = time.Hour

// A Negotiation sends requests to one server, and sends a request again without what
// the server says it does not support: features of the request, of type T, or the
// reasoning in earlier answers.
//
// What was left out of a request that succeeded is left out of later ones: features
// for the same model, for an hour; reasoning from the same messages, because no other
// server reads what one has signed, while the reasoning of later answers may be accepted.
// Nothing is learned from a request that fails. It is safe for concurrent use.
type Negotiation[T comparable] struct {
	Full T // what is sent at first
	// Without returns the features without those that an error rejects; the same if it
	// rejects none. nil: nothing can be left out.
	Without func(T, APIError) T
	// RejectsReasoning reports whether an error is about the reasoning of earlier answers.
	RejectsReasoning func(APIError) bool
	// Strip returns an encoded answer without its reasoning; the same if it has none.
	Strip func(json.RawMessage) json.RawMessage

	mu       sync.Mutex
	features map[string]learned[T] // by model
	stripped map[uint64]struct{}   // hashes of answers whose reasoning was refused
}

type learned[T comparable] struct {
	features T
	until    time.Time
}

// Send sends r to a path, as body makes one of it. The response is a 200; anything else is
// an *llm.Error.
func (n *Negotiation[T]) Send(ctx context.Context, c *Client, r llm.Request, path string, header http.Header, body func(llm.Request, T) ([]byte, error)) (*http.Response, error) {
	start := n.start(r.Model)
	features, stripped := start, false
	r.Messages = n.withoutKnown(r.Messages)
	full := r.Messages
	var first *llm.Error
	for {
		sent, err := body(r, features)
		if err != nil {
			return nil, err
		}
		res, err := c.Post(ctx, path, header, sent)
		if err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusOK {
			if features != start {
				n.learn(r.Model, features)
			}
			if stripped {
				n.learnStripped(full)
			}
			return res, nil
		}
		refusal, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		e := c.Error(res, refusal) // of what has arrived
		if less, all := n.less(features, r.Messages, res.StatusCode, ParseError(refusal), stripped); less != features || all != nil {
			features, first = less, cmp.Or(first, e)
			if all != nil {
				r.Messages, stripped = all, true
			}
			continue
		}
		if first != nil && e.Kind == run.ErrInvalid && e.Message != first.Message {
			// A person can tell which of the two is the reason.
			e.Message = bound(e.Message+" (and before that: "+first.Message+")", maxMessage)
		}
		return nil, e
	}
}

// less returns what to send after an error: fewer features, or the messages without
// reasoning; both unchanged if nothing can be left out.
func (n *Negotiation[T]) less(features T, messages []llm.Message, status int, e APIError, stripped bool) (T, []llm.Message) {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
	default:
		return features, nil
	}
	if !stripped && n.RejectsReasoning(e) {
		if all, changed := n.strip(messages, func(json.RawMessage) bool { return true }); changed {
			return features, all
		}
	}
	if n.Without == nil {
		return features, nil
	}
	return n.Without(features, e), nil
}

// start returns the features with which a model is asked first.
func (n *Negotiation[T]) start(model string) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	if known, ok := n.features[model]; ok && time.Now().Before(known.until) {
		return known.features
	}
	return n.Full
}

func (n *Negotiation[T]) learn(model string, features T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.features == nil {
		n.features = map[string]learned[T]{}
	}
	n.features[model] = learned[T]{features, time.Now().Add(learnedFor)}
}

var seed = maphash.MakeSeed()

// learnStripped remembers that these messages are sent without their reasoning.
func (n *Negotiation[T]) learnStripped(messages []llm.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stripped == nil {
		n.stripped = map[uint64]struct{}{}
	}
	for _, m := range messages {
		if m.Role == run.Assistant && !bytes.Equal(n.Strip(m.Body), m.Body) {
			n.stripped[maphash.Bytes(seed, m.Body)] = struct{}{}
		}
	}
}

// withoutKnown returns messages with those stripped whose reasoning was refused
// before.
func (n *Negotiation[T]) withoutKnown(messages []llm.Message) []llm.Message {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.stripped) == 0 {
		return messages
	}
	messages, _ = n.strip(messages, func(body json.RawMessage) bool {
		_, known := n.stripped[maphash.Bytes(seed, body)]
		return known
	})
	return messages
}

// strip returns messages with the reasoning taken out of the answers that which
// selects, and whether any had some. It does not change messages.
func (n *Negotiation[T]) strip(messages []llm.Message, which func(json.RawMessage) bool) (stripped []llm.Message, changed bool) {
	stripped = messages
	for i, m := range messages {
		if m.Role != run.Assistant || !which(m.Body) {
			continue
		}
		body := n.Strip(m.Body)
		if bytes.Equal(body, m.Body) {
			continue
		}
		if !changed {
			stripped, changed = slices.Clone(messages), true
		}
		stripped[i].Body = body
	}
	return stripped, changed
}
