package permission

import (
	"path"
	"strings"

	"pawl/permission/filenames"
)

// A location is where a path leads, by its spelling.
type location struct {
	text    string // relative to the workspace ("." is the workspace), or absolute
	outside bool   // neither in the workspace nor in a folder that counts as it
	above   bool   // the workspace is below it
	further string // the path from the folder that counts as the workspace; empty: it is in none
}

// matches reports whether a deny or ask rule speaks of the path. A pattern that is not
// absolute holds in a folder that counts as the workspace as in the workspace; for rules
// that allow it does not.
func (p location) matches(r Rule) bool {
	return r.matchesPath(p.text, true) || p.further != "" && r.matchesPath(p.further, true)
}

// mayHold reports whether a pattern may cover something below the path, which is a
// directory; see matches.
func (p location) mayHold(pattern string) bool {
	pattern = filenames.Fold(strings.TrimPrefix(pattern, "./"))
	return p.above && !path.IsAbs(pattern) || filenames.MayMatchBelow(pattern, filenames.Fold(p.text)) || p.further != "" && filenames.MayMatchBelow(pattern, filenames.Fold(p.further))
}

// locate returns the location of a path. A relative path starts in base, or in the
// request's folder.
func (r *Request) locate(base, p string) location {
	workspace := r.Workspace
	if workspace == "" {
		workspace = "/workspace" // any: then only relative paths can be inside
	}
	if !path.IsAbs(p) {
		if base == "" {
			base = r.Dir
		}
		if base == "" {
			base = workspace
		}
		p = base + "/" + p
	}
	p = path.Clean(p)
	if rel, ok := filenames.Below(workspace, p); ok {
		return location{text: rel}
	}
	for _, folder := range r.Folders {
		if rel, ok := filenames.Below(folder, p); ok {
			return location{text: p, further: rel}
		}
	}
	_, above := filenames.Below(p, workspace)
	return location{text: p, outside: true, above: above}
}

// absolute returns a place as an absolute path.
func (r *Request) absolute(p location) string {
	if path.IsAbs(p.text) {
		return p.text
	}
	return path.Join("/", r.Workspace, p.text)
}

// own returns the folder of pawl itself that p lies in; empty if none. A workspace that is in
// such a folder, because it is a copy that pawl has made, is not pawl's. Deny rules are
// strict about spelling, and so is this.
func (r *Request) own(p location) string {
	if len(r.Own) == 0 {
		return ""
	}
	folded, workspace := filenames.Fold(r.absolute(p)), filenames.Fold(path.Clean("/"+r.Workspace))
	_, works := filenames.Below(workspace, folded)
	for _, folder := range r.Own {
		own := filenames.Fold(path.Clean(folder))
		if works && own != workspace && strings.HasPrefix(workspace, own+"/") {
			continue
		}
		if _, ok := filenames.Below(own, folded); ok {
			return folder
		}
	}
	return ""
}

// holds reports whether one of pawl's own folders lies below p: what deletes or
// moves p takes it along.
func (r *Request) holds(p location) bool {
	folded := filenames.Fold(r.absolute(p))
	for _, folder := range r.Own {
		if _, ok := filenames.Below(folded, filenames.Fold(path.Clean(folder))); ok {
			return true
		}
	}
	return false
}
