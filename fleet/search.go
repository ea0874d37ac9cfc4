package fleet

import (
	"context"
	"maps"
	"slices"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"pawl/board"
)

// What the workflows of tasks can be searched by, as in PawlState = "waiting".
var (
	taskKey   = temporal.NewSearchAttributeKeyKeyword("PawlTask")
	labelsKey = temporal.NewSearchAttributeKeyKeywordList("PawlLabels")
	stateKey  = temporal.NewSearchAttributeKeyKeyword("PawlState") // working or waiting
)

const (
	working = "working" // it has something to be done
	waiting = "waiting" // its run waits for a person
)

// attributes returns what the workflow of a task is searched by. It is nothing where the server does not let pawl register that.
func (c *Client) attributes(ctx context.Context, call board.Call) temporal.SearchAttributes {
	if !c.searchable(ctx) {
		return temporal.SearchAttributes{}
	}
	return temporal.NewSearchAttributes(taskKey.ValueSet(string(call.ID)), labelsKey.ValueSet(slices.Clone(call.Labels)), stateKey.ValueSet(working))
}

// searchable registers the attributes, unless they are, and reports whether they can be used.
func (c *Client) searchable(ctx context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known || c.refused {
		return c.known
	}
	wanted := map[string]enums.IndexedValueType{}
	for _, k := range []temporal.SearchAttributeKey{taskKey, labelsKey, stateKey} {
		wanted[k.GetName()] = k.GetValueType()
	}
	list, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.namespace})
	maps.DeleteFunc(wanted, func(name string, t enums.IndexedValueType) bool { return list.GetCustomAttributes()[name] == t })
	if err == nil && len(wanted) > 0 {
		_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: c.namespace, SearchAttributes: wanted})
	}
	c.known = err == nil
	switch err.(type) {
	case *serviceerror.PermissionDenied, *serviceerror.Unimplemented, *serviceerror.InvalidArgument:
		c.refused = true // as in a cloud, where an administrator registers them
		c.log.Info("workflows cannot be searched by what pawl knows of tasks", "error", err)
	}
	return c.known
}

// show lets the workflow be searched by its state. Whether it can be is settled when it begins.
func show(ctx workflow.Context, state string) error {
	if !workflow.GetTypedSearchAttributes(ctx).ContainsKey(stateKey) {
		return nil
	}
	return workflow.UpsertTypedSearchAttributes(ctx, stateKey.ValueSet(state))
}
