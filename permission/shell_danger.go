package permission

import (
	"strings"
	"unicode"
	"unicode/utf8"
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

// isTrick reports whether a character is one that people do not see or that moves
// others about: a control character, a mark of direction or of no width, a tag.
// In what a person is asked to allow it can only deceive.
func isTrick(c rune) bool {
	return c < ' ' && c != '\t' && c != '\n' || c == 0x7f || c >= 0x80 && c < 0xa0 ||
		c == '\u00a0' || c == '\u2028' || c == '\u2029' || c == '\u3164' || c == '\u115f' || c == '\u1160' || c == utf8.RuneError || c >= 0x80 && unicode.Is(unicode.Cf, c)
}
