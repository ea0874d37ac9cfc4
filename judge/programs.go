package judge

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/proc"
	"pawl/permission"
	"pawl/tool"
)

// builtins are the programs that bash has itself: PATH does not matter for them.
var builtins = []string{
	"[", "[[", ":", "break", "cd", "command", "continue", "echo", "exit", "export", "false", "printf", "pwd", "return", "test", "true", "type",
}

// localPrograms returns the programs of a command that PATH finds in the workspace,
// or by an entry that is not absolute and means another directory after each cd.
func localPrograms(env tool.Env, command string) []string {
	var local []string
	for _, name := range permission.Classify(command).Programs {
		if !strings.Contains(name, "/") && !slices.Contains(builtins, name) && isLocal(append([]string{env.Workspace}, env.Dirs...), name, os.Getenv("PATH")) {
			local = append(local, name)
		}
	}
	return local
}

// isLocal reports whether a search in path finds a program in one of the folders. A
// search that finds none counts as one that does if path has an entry that is not
// absolute.
func isLocal(folders []string, name, path string) bool {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			return true
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		return proc.IsIn(file, folders...)
	}
	return false
}
