// Package inbox asks for something of a run that another process may drive: the request is a row of the
// store, and the process that drives the run is woken to read it.
package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/store/socket"
)

// Call makes a call for the external agent of a run and waits for the result. The key
// identifies the request: if it is repeated, even after a restart of either side, the
// result of the first call is returned and nothing runs. The owner of the run performs the call.
func Call(ctx context.Context, s store.Store, id run.ID, c request.Call) (request.Result, error) {
	if err := Put(ctx, s, id, c.Key, c); err != nil {
		return request.Result{}, err
	}
	poll := time.NewTicker(callPoll)
	defer poll.Stop()
	for {
		r, taken, err := Result(ctx, s, id, c.Key)
		if r.Refused != "" {
			r = request.Result{Content: []run.Part{run.Text("The call was not made: " + r.Refused)}, IsError: true}
		}
		if taken || err != nil {
			return r, err
		}
		select {
		case <-ctx.Done():
			return request.Result{}, context.Cause(ctx)
		case <-poll.C:
		}
	}
}

// callPoll is how often Call looks for the answer.
const callPoll = 20 * time.Millisecond

// Put puts a request into the inbox of a run and wakes the process that takes it; a second one with its
// key is ignored.
func Put(ctx context.Context, s store.Store, id run.ID, key string, r request.Request) error {
	kind, payload, err := request.Encode(r)
	if err != nil {
		return err
	}
	if err := s.Put(ctx, id, store.Row{Key: key, Kind: kind, Payload: payload}); err != nil {
		return err
	}
	Wake(ctx, s, id)
	return nil
}

// Result returns the result of a request that was put into the inbox of a run; taken is false while it still
// waits.
func Result(ctx context.Context, s store.Store, id run.ID, key string) (r request.Result, taken bool, err error) {
	text, taken, err := s.Answer(ctx, id, key)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &r)
	}
	return r, taken, err
}

// Wake tells the process that drives a run, or waits for it, to read the inbox. Errors are ignored,
// because that process also polls it.
func Wake(ctx context.Context, s store.Store, id run.ID) {
	o, _, _ := Driver(ctx, s, id)
	if v, err := socket.Dial(ctx, o.Socket); err == nil {
		_ = v.Wake()
		_ = v.Close()
	}
}

// Driver returns the process that takes what is put into the inbox of a run: the one that drives it, or
// the nearest run above that waits for it. driven is false if there is none.
func Driver(ctx context.Context, s store.Store, id run.ID) (o store.Owner, driven bool, err error) {
	for range run.MaxDepth + 1 {
		o, driven, err = s.Owner(ctx, id)
		if err != nil || driven {
			return o, driven, err
		}
		sum, err := s.Run(ctx, id)
		if errors.Is(err, store.ErrNotFound) || err == nil && sum.Parent == "" {
			return o, false, nil
		}
		if err != nil {
			return o, false, err
		}
		id = sum.Parent
	}
	return o, false, nil
}
