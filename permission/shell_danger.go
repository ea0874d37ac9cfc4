package permission

import (
	"strings"
	"unicode/utf8"

	"pawl/internal/visible"
)

// dangerOf says what a variable of the environment does to the commands that see
// it; empty if nothing is known. That an assignment asks does not depend on it.
func dangerOf(name string) string {
	switch {
	case strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"):
		return ", by which every program loads code"
	case name == "PATH", name == "IFS", name == "BASH_ENV", name == "ENV", name == "SHELLOPTS", name == "BASHOPTS", name == "PS4", name == "PROMPT_COMMAND", strings.HasPrefix(name, "BASH_FUNC_"):
		return ", which decides what the shell runs"
	case strings.HasPrefix(name, "GIT_"), strings.HasSuffix(name, "PAGER"), strings.HasSuffix(name, "EDITOR"), name == "VISUAL", name == "BROWSER", name == "LESSOPEN", name == "LESSCLOSE", name == "SSH_ASKPASS":
		return ", which names programs to run"
	case name == "NODE_OPTIONS", name == "GOFLAGS", name == "RUSTC_WRAPPER", name == "MAKEFLAGS", strings.HasPrefix(name, "PYTHON"), strings.HasPrefix(name, "PERL5"), strings.HasPrefix(name, "RUBY"), strings.HasPrefix(name, "JAVA_TOOL"), strings.HasPrefix(name, "npm_config_"):
		return ", which gives a program options or code"
	}
	return ""
}

// isTrick reports whether a character is one that a person does not see or that moves
// others about. In what a person is asked to allow it can only deceive.
func isTrick(c rune) bool {
	return visible.Hidden(c) || visible.RightToLeft(c) || c == utf8.RuneError // bytes that are not UTF-8
}
