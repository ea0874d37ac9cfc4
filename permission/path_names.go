package permission

import (
	_ "embed"
	"path"
	"strings"

	"pawl/internal/lazy"
)

//go:embed names.txt
var namesText string

// namesOf returns the names in a section of names.txt.
func namesOf(section string) (names []string) {
	_, text, _ := strings.Cut(namesText, "["+section+"]\n")
	text, _, _ = strings.Cut(text, "\n[")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "# ") {
			names = append(names, strings.Fields(line)...)
		}
	}
	return names
}

// The lists of names.txt, which says what they are for.
var (
	secretNames    = names("secrets")
	exampleNames   = names("examples")
	protectedNames = names("protected")
	programFolders = lazy.Value(func() []string { return namesOf("folders of programs") })
)

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
