package pawl_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageSaysWhatItGives(t *testing.T) {
	t.Parallel()
	packages := sources(t)
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		var in []string
		for _, file := range packages[dir] {
			if file.syntax.Doc == nil {
				continue
			}
			in = append(in, file.path)
			name := "Package " + file.syntax.Name.Name + " "
			if file.syntax.Name.Name == "main" {
				name = "" // a command begins with its own name, however it is written
			}
			if doc := file.syntax.Doc.Text(); !strings.HasPrefix(doc, name) || len(strings.Fields(doc)) < 8 {
				t.Errorf("%s: the package comment must begin with %q and say what the package gives", file.path, name)
			}
		}
		switch len(in) {
		case 0:
			t.Errorf("package %s has no package comment", dir)
		case 1:
		default:
			t.Errorf("package %s has its package comment in several files: %v", dir, in)
		}
	}
}
