package api

import "pawl/forms"

// PageInput bounds a page of a list.
type PageInput struct {
	Limit int `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many items at most"`
}

// OffsetInput selects a page of a list that is counted.
type OffsetInput struct {
	PageInput
	Offset int `query:"offset" minimum:"0" doc:"How many items to skip: next of the page before"`
}

// page returns the part of a list that is asked for.
func page[T any](all []T, in OffsetInput) forms.List[T] {
	list := forms.ListOf(all[min(in.Offset, len(all)):])
	if len(list.Items) > in.Limit {
		list.Items, list.Next = list.Items[:in.Limit], in.Offset+in.Limit
	}
	return list
}

// FromInput selects a page of events, which have the numbers 1, 2, 3 … without gaps.
type FromInput struct {
	PageInput
	From int64 `query:"from" minimum:"0" doc:"The events after this number: next of the page before"`
}

// Events are events of a task or of a run as JSON.
type Events[T any] struct {
	Items []T   `json:"items"`
	Next  int64 `json:"next,omitempty"` // for from
}

// eventPage returns the events from the one after in.From on: some begins with it, and has one
// more than the page if there is another page.
func eventPage[T any](some []T, in FromInput) Events[T] {
	f := Events[T]{Items: append([]T{}, some[:min(len(some), in.Limit)]...)}
	if len(some) > in.Limit {
		f.Next = in.From + int64(in.Limit)
	}
	return f
}
