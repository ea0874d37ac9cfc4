package permission

import (
	"path"
	"slices"
	"strings"
)

// Fenced returns what deny rules for files keep from commands in some folders, whatever name leads there:
// patterns of absolute paths, in which * stands for any characters of a name and a leading or inner ** for
// any folders. What a pattern speaks of stands for all below it. hidden is not to be read, fixed is not to
// be changed. A rule about a whole folder of these, or about every call, is left to the decision.
func (rs Rules) Fenced(folders ...string) (hidden, fixed []string) {
	for _, r := range rs {
		if r.Effect != Deny || r.Pattern == "" || strings.HasPrefix(r.Pattern, "..") {
			continue
		}
		to := &fixed
		switch {
		case slices.Contains(readTools, r.Tool):
			to = &hidden
		case !slices.Contains(writeTools, r.Tool):
			continue
		}
		pattern := strings.TrimSuffix(path.Clean(r.Pattern), "/**")
		for _, folder := range folders {
			at := pattern
			if !path.IsAbs(at) {
				at = path.Join(folder, at)
			}
			whole := func(f string) bool { return f == at || strings.HasPrefix(f, strings.TrimSuffix(at, "/")+"/") }
			if at != path.Join(folder, "**") && !slices.ContainsFunc(folders, whole) && !slices.Contains(*to, at) {
				*to = append(*to, at)
			}
		}
	}
	return hidden, fixed
}
