package filenames

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

// The lists of names.txt, which says what they are for.
var (
	secretNames    = names("secrets")
	exampleNames   = names("examples")
	protectedNames = names("protected")
	programFolders = lazy.Value(func() []string { return text.Section(namesText, "folders of programs") })
)

// Obeyed returns the name at the end of a path, relative to the workspace, if it is one of what decides what runs
// later: programs obey it by themselves, or find others in it. So it is with files that hold secrets and whose names
// begin with a dot: they are configuration (.npmrc, .env). Empty if it is not.
func Obeyed(p string) string {
	base := path.Base(p)
	if name := Protected(base); name != "" {
		return name
	}
	if name := Secret(base); strings.HasPrefix(name, ".") {
		return name
	}
	if slices.ContainsFunc(programFolders(), func(folder string) bool { return strings.EqualFold(path.Base(folder), base) }) {
		return ProgramFolder(p)
	}
	return ""
}

// ProgramFolder returns the name of such a folder in a path; empty if there is none.
func ProgramFolder(p string) string {
	folded := "/" + Fold(p) + "/"
	for _, folder := range programFolders() {
		if strings.Contains(folded, "/"+folder+"/") {
			return path.Base(folder)
		}
	}
	return ""
}

// Secret returns the name in a path that is usually that of keys or passwords,
// as .env or id_rsa: reading it asks. Empty if none is.
func Secret(p string) string { return secretNames.nameIn(p) }

// Protected returns the name in a path of what decides what runs later; empty if none is.
func Protected(p string) string { return protectedNames.nameIn(p) }
