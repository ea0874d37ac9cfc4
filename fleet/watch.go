package fleet

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"pawl/app"
	"pawl/board"
)

// signalTimeout bounds how long Temporal may take for a signal; it is repeated.
const signalTimeout = 10 * time.Second

// Watch tells Temporal of the tasks that have something to be done, until ctx is done. Any number of processes may do so
// beside each other: one watches, and the next when that has died.
func Watch(ctx context.Context, ws *app.Workspace, c *Client) {
	c.searchable(ctx) // a server needs a moment until it knows a new attribute
	board.Of(ws).Watch(ctx, func(ctx context.Context, call board.Call) error {
		ctx, cancel := context.WithTimeout(ctx, signalTimeout)
		defer cancel()
		queue := QueueOf(call.Labels)
		w := wake{call.Seq}
		if call.Answered {
			w.Seq = 0
		}
		_, err := c.SignalWithStartWorkflow(ctx, workflowID(queue, string(call.ID)), wakeSignal, w,
			client.StartWorkflowOptions{TaskQueue: queue, StaticSummary: string(call.ID), TypedSearchAttributes: c.attributes(ctx, call)}, workflowName, call.ID)
		return err
	})
}
