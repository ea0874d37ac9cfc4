package tool

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// near returns at most n of the candidates that name could have been meant to
// be, the likeliest first: the same but for case, a part of it, a few letters off.
func near(name string, candidates []string, n int) []string {
	type scored struct {
		name string
		off  int
	}
	if len(name) > 255 {
		return nil // no file is named so, and no tool
	}
	low := strings.ToLower(name)
	var found []scored
	for _, c := range candidates {
		l := strings.ToLower(c)
		off := distance(low, l)
		switch {
		case l == low:
			off = 0
		case len(low) >= 3 && len(l) >= 3 && (strings.Contains(l, low) || strings.Contains(low, l)):
			off = min(off, 1)
		case stem(l) == stem(low):
			off = min(off, 2)
		case off > 1+len(low)/4:
			continue
		}
		found = append(found, scored{c, off})
	}
	slices.SortStableFunc(found, func(a, b scored) int { return a.off - b.off })
	var names []string
	for _, f := range found[:min(n, len(found))] {
		names = append(names, f.name)
	}
	return names
}

func stem(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }

// distance is how many bytes have to be put in, left out, replaced or swapped
// with their neighbour to make one name the other (optimal string alignment).
func distance(a, b string) int {
	var older []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			next[j+1] = min(cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], older[j-1]+1)
			}
		}
		older, row = row, next
	}
	return row[len(b)]
}

// missing says that a file is not there, and which one may be meant.
func missing(ctx context.Context, env Env, rel string) error {
	dir, name := path.Split(rel)
	dir = path.Clean(dir)
	says := rel + " does not exist."
	var names []string
	if f, err := openFolder(env, dir); err == nil {
		entries, _, err := f.entries()
		f.close()
		if err == nil {
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
	} else {
		says = fmt.Sprintf("%s does not exist, and neither does its folder.", rel)
	}
	var meant []string
	for _, n := range near(name, names, 3) {
		meant = append(meant, path.Join(dir, n))
	}
	if len(meant) == 0 {
		meant = elsewhere(ctx, env, name)
	}
	if len(meant) == 0 {
		return tell("%s Use list or glob to see what there is.", says)
	}
	return tell("%s Did you mean %s?", says, strings.Join(meant, " or "))
}

// elsewhere looks for files of the same name in other folders; it looks at a
// bounded number, for it is only a hint.
func elsewhere(ctx context.Context, env Env, name string) []string {
	left := 5000
	var found []string
	start, err := openFolder(env, ".")
	if err != nil {
		return nil
	}
	defer start.close()
	_ = walk(ctx, start, walking{hidden: true}, func(_ *folder, rel string, e fs.DirEntry) error {
		if left--; left < 0 || len(found) == 3 {
			return errEnough
		}
		if !e.IsDir() && strings.EqualFold(e.Name(), name) {
			found = append(found, rel)
		}
		return nil
	})
	return found
}
