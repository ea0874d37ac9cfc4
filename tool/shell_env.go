package tool

import (
	"slices"
	"strings"
)

// quietEnv keeps programs from waiting for a person, drawing, or paging.
var quietEnv = []string{
	"GIT_TERMINAL_PROMPT=0",
	"GIT_EDITOR=true",
	"GIT_OPTIONAL_LOCKS=0", // to look writes no index, and so runs no hook
	"GIT_PAGER=cat",
	"PAGER=cat",
	"MANPAGER=cat",
	"TERM=dumb",
	"NO_COLOR=1",
	"DEBIAN_FRONTEND=noninteractive",
}

// droppedEnv are variables a command is not to see although they hold no
// secret: pawl may run in a CI job, the command does not; CDPATH sends cd
// elsewhere than it reads.
var droppedEnv = []string{"CI", "CDPATH", "OLDPWD", "PWD", "BASH_ENV", "ENV", "PROMPT_COMMAND"}

// secretNames and secretEndings say which variables hold keys, by their names.
var (
	secretNames   = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}
	secretEndings = []string{
		"_KEY", "APIKEY", "_TOKEN", "_PAT", "_AUTH", "AUTHORIZATION", "_COOKIE",
		"PASSWORD", "_PASSWD", "_PASS", "_PWD", "_PASSPHRASE", "_CREDENTIAL", "_CREDENTIALS", "_KEY_BASE64",
	}
	secretParts = []string{"_API_KEY", "SECRET"} // anywhere: OPENAI_API_KEY_2, SECRET_KEY_BASE
)

// childEnv returns the environment of a command in dir: that of pawl without keys
// and tokens, but for the names in keep. pawl's own keys are never in it: they
// are how it reaches a provider, and no business of a command's.
func childEnv(environ []string, dir string, keep []string) []string {
	env := make([]string, 0, len(environ)+len(quietEnv)+1)
	quiet := func(name string) bool {
		return slices.ContainsFunc(quietEnv, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	}
	for _, v := range environ {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || quiet(name) || slices.Contains(droppedEnv, name) || holdsSecret(name, keep) {
			continue
		}
		env = append(env, v)
	}
	return append(append(env, quietEnv...), "PWD="+dir)
}

// holdsSecret reports whether a variable of that name is kept from commands.
func holdsSecret(name string, keep []string) bool {
	upper := strings.ToUpper(name)
	if slices.Contains(secretNames, upper) || strings.HasPrefix(upper, "PAWL_") {
		return true
	}
	return !slices.Contains(keep, name) && (upper == "TOKEN" || upper == "API_KEY" ||
		slices.ContainsFunc(secretEndings, func(e string) bool { return strings.HasSuffix(upper, e) }) ||
		slices.ContainsFunc(secretParts, func(p string) bool { return strings.Contains(upper, p) }))
}
