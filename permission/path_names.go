package permission

import (
	_ "embed"
	"path"
	"slices"
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/text"
)

//go:embed names.txt
var namesText string

// namesOf returns the names in a section of names.txt.
func namesOf(section string) []string {
	return text.Section(namesText, section)
}

// The lists of names.txt, which says what they are for.
var (
	secretNames    = names("secrets")
	exampleNames   = names("examples")
	protectedNames = names("protected")
	programFolders = lazy.Value(func() []string { return namesOf("folders of programs") })
)

// ObeyedName returns the name at the end of a path, relative to the workspace, if it is one of what decides what runs
// later: programs obey it by themselves, or find others in it. So it is with files that hold secrets and whose names
// begin with a dot: they are configuration (.npmrc, .env). Empty if it is not.
func ObeyedName(p string) string {
	base := path.Base(p)
	if name := protectedNames.nameIn(base); name != "" {
		return name
	}
	if name := secretNames.nameIn(base); strings.HasPrefix(name, ".") {
		return name
	}
	if slices.ContainsFunc(programFolders(), func(folder string) bool { return strings.EqualFold(path.Base(folder), base) }) {
		return programFolder(p)
	}
	return ""
}

// programFolder returns the name of such a folder in a path; empty if there is none.
func programFolder(p string) string {
	folded := "/" + foldPath(p) + "/"
	for _, folder := range programFolders() {
		if strings.Contains(folded, "/"+folder+"/") {
			return path.Base(folder)
		}
	}
	return ""
}
