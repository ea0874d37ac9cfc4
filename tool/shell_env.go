package tool

import (
	"os"
	"strings"
)

// shellEnv is the environment of a command: pawl's own, less what is secret, and
// with what keeps programs from waiting for a person.
func shellEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !secretName(name) {
			env = append(env, kv)
		}
	}
	return append(env,
		"GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "EDITOR=true", "PAGER=cat", "GIT_PAGER=cat",
		"TERM=dumb", "NO_COLOR=1", "DEBIAN_FRONTEND=noninteractive")
}

// secretName reports whether an environment variable holds a key by its name: the
// providers' and everything else that says so. What pawl is told about itself is
// nobody else's business either.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasPrefix(name, "PAWL_") {
		return true
	}
	for _, s := range []string{"_API_KEY", "APIKEY", "_TOKEN", "_SECRET", "_SECRET_KEY", "_ACCESS_KEY", "_PASSWORD", "_CREDENTIALS"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}
