package pawl_test

import (
	"go/ast"
	"strconv"
	"testing"

	"pawl/config"
)

// A setting that no code reads is documented and can be set, but has no effect.
func TestEverySettingIsRead(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, files := range sources(t) {
		for _, file := range files {
			if file.path == "config/key.go" || file.path == "policy/setting.go" { // which say what settings there are
				continue
			}
			ast.Inspect(file.syntax, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok {
					if text, err := strconv.Unquote(l.Value); err == nil {
						named[text] = true
					}
				}
				return true
			})
		}
	}
	for _, k := range config.Keys() {
		if !named[k.Name] {
			t.Errorf("nothing reads the setting %s", k.Name)
		}
	}
}
