package cli

import (
	"context"
	"errors"

	"pawl/app"
	"pawl/run"
)

// showJSON prints a run as one object. A damaged log is printed up to the damage; the error
// follows.
func (inv *invocation) showJSON(ctx context.Context, ws *app.Workspace, id run.ID, results bool) error {
	events, s, damage := ws.Load(ctx, id)
	if len(events) == 0 {
		return damage
	}
	f, err := ws.ShowRun(ctx, events, s, results)
	if err != nil {
		return err
	}
	return errors.Join(inv.encode(f), damage)
}
