package command

import "pawl/forms"

// CheckPage refuses a --limit or --offset below 0.
func CheckPage(limit, offset int) error {
	if limit < 0 {
		return Usage("--limit must not be negative, got %d; 0 is all", limit)
	}
	if offset < 0 {
		return Usage("--offset must not be negative, got %d", offset)
	}
	return nil
}

// Page returns the part of a list that limit (0: all) and offset say.
func Page[T any](all []T, limit, offset int) forms.List[T] {
	list := forms.List[T]{Items: all[min(offset, len(all)):]}
	if limit > 0 && len(list.Items) > limit {
		list.Items, list.Next = list.Items[:limit], offset+limit
	}
	return list
}
