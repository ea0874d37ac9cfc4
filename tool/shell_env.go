package tool

import (
	"math"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"pawl/internal/lazy"
	"pawl/internal/secret"
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

// secretVariables are patterns of the names of variables that hold keys, as of
// [path.Match] and in capitals. It is a list, and lists have gaps: the values are
// looked at too.
var secretVariables = []string{
	"*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*PASS", "*_PWD", "*_PW", "*_PAT", "PAT",
	"*API_KEY*", "*APIKEY*", "KEY", "KEYS", "*_KEY", "*_KEYS", "*_KEY_BASE64", "*_KEY_B64", "*ACCESS_KEY*", "*ACCESSKEY*", "*PRIVATE_KEY*", "*PRIVATEKEY*", "*ACCOUNTKEY*",
	"*AUTHORIZATION*", "AUTH", "*_AUTH", "*AUTH_CONFIG*", "*BEARER*", "*JWT*", "*COOKIE*", "*CREDENTIAL*", "*_CREDS", "*CONNECTION_STRING*", "*CONNECTIONSTRING*", "*CONN_STR*", "*_DSN",
	"SK", "*_SK", "*SA_JSON*", "*SERVICE_ACCOUNT*", "*KUBE_CONFIG_DATA*", "*KUBECONFIG_*", "*CONNSTR*", "*CONN_STRING*", "*HMAC*", "PW", "*ROOTPW*", "*DBPW*", "*_LOGIN", "*RAILS_MASTER*", "*SIGNING*", "*_PSK",
	"SEED", "*_SEED", "*_SEED_PHRASE", "*WALLET*", "SALT", "*_SALT", "*_PIN", "*_OTP", "*TOTP*", "*_PEM", "*_P12", "*_PFX", "*_P8", "*KEYSTORE*", "*PRIVKEY*", "*_CRED", "*_HTPASSWD",
	"*_SAS", "*WEBHOOK*", "*MNEMONIC*", "OP_SESSION_*", "BW_SESSION", "PAWL_*",
}

// knownVariables look like those of secrets and are not.
var knownVariables = []string{"TOKENIZERS_PARALLELISM", "MAX_TOKENS", "*_MAX_TOKENS", "COMPASS", "*_COMPASS", "BYPASS", "*_BYPASS"}

// secretValues are what values that are keys look like, whatever the variable is
// called.
var secretValues = []func() *regexp.Regexp{
	lazy.Regexp(`^(sk|rk|pk)[-_][A-Za-z0-9_-]{16,}$`),
	lazy.Regexp(`^(gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|npm_|hf_|pypi-|dop_v1_|shpat_|AIza|ya29\.)[A-Za-z0-9._-]{16,}$`),
	lazy.Regexp(`^(AKIA|ASIA)[A-Z0-9]{16}$`),
	lazy.Regexp(`^(sq0[a-z]{3}-|SG\.|key-|glsa_|glc_|lin_api_|sntrys_|dckr_pat_|rubygems_|figd_|EAAC|xapp-|AGE-SECRET-KEY-|pul-|tfp_|atlasv1\.)[A-Za-z0-9._-]{16,}$`),
	lazy.Regexp(`(?m)"private_key"\s*:|^\s*client-key-data:`), // of a service account; of Kubernetes
	lazy.Regexp(`^eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.`),
	lazy.Regexp(`-----BEGIN [A-Z ]*PRIVATE KEY`),
	lazy.Regexp(`(?i)\b(authorization|x-api-key|private-token|cookie)\s*:\s*\S`), // a header
	lazy.Regexp(`(?i)(^|[;\s])\s*(password|pwd|accountkey|sharedaccesskey)\s*=\s*[^;\s]`),
	lazy.Regexp(`(?i)[?&](sig|signature|token|password|passwd|pwd|secret|api_?key|access_?key)=[^&\s]`), // of an address
	lazy.Regexp(`(?i)^(basic|bearer)\s+[a-z0-9+/=._~-]{8,}$`),
	lazy.Regexp(`://hooks\.slack\.com/|://[a-z0-9.]*discord(app)?\.com/api/webhooks/`), // whoever has the address may post
	lazy.Regexp(`[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@`),                       // an address with a password
}

// SecretVariables returns the patterns of the names of variables that commands do
// not get, as of [path.Match] and in capitals. A variable whose value looks like a
// key or an address with a password is kept from them too.
func SecretVariables() []string { return slices.Clone(secretVariables) }

// Withheld returns the names of the variables of an environment that commands do not
// get, sorted.
func (o ShellOptions) Withheld(environ []string) []string {
	var names []string
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && o.withholds(name, value) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Secrets returns the values of the variables of an environment that commands do not get, except those that other text may
// contain by chance: short values, numbers, single words and the paths of files. Of a URL with a password it is the
// password.
func (o ShellOptions) Secrets(environ []string) *secret.Values {
	values := map[string]string{}
	for _, v := range environ {
		name, value, ok := strings.Cut(v, "=")
		if !ok || !o.withholds(strings.TrimPrefix(name, "PAWL_"), value) { // most variables of pawl hold no secret
			continue
		}
		if u, err := url.Parse(value); err == nil {
			if password, ok := u.User.Password(); ok {
				value = password
			}
		}
		if distinctive(value) {
			values[name] = value
		}
	}
	return secret.New(values)
}

// leastSecret is how many bytes a value has that other text is unlikely to contain by chance.
const leastSecret = 8

// distinctive reports whether other text is unlikely to contain a value by chance.
func distinctive(value string) bool {
	const sure = 20
	if len(value) < leastSecret || len(value) > 64<<10 {
		return false
	}
	if _, err := os.Lstat(value); err == nil && filepath.IsAbs(value) {
		return false
	}
	letters, others := 0, 0
	for _, c := range value {
		if unicode.IsLetter(c) {
			letters++
		} else {
			others++
		}
	}
	return letters > 0 && others > 0 || letters >= sure
}

// Passed returns the variables of an environment that are not withheld.
func (o ShellOptions) Passed(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, value, ok := strings.Cut(v, "=")
		return ok && o.withholds(name, value)
	})
}

// Remembering returns the same options with a cache for the environment of commands: looking for secrets in the values of
// all variables takes as long as starting the command.
func (o ShellOptions) Remembering() ShellOptions {
	o.passed = &passedEnv{}
	return o
}

// A passedEnv is the environment of the last command, and that of pawl at the time.
type passedEnv struct {
	mu            sync.Mutex
	environ, last []string
}

// childEnv returns the environment of a command in dir: that of pawl without keys
// and tokens.
func (o ShellOptions) childEnv(environ []string, dir string) []string {
	p := o.passed
	if p == nil {
		p = &passedEnv{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil || !slices.Equal(p.environ, environ) {
		p.environ, p.last = environ, o.makeEnv(environ)
	}
	return append(slices.Clone(p.last), "PWD="+dir)
}

func (o ShellOptions) makeEnv(environ []string) []string {
	env := make([]string, 0, len(environ)+len(quietEnv))
	quiet := func(name string) bool {
		return slices.ContainsFunc(quietEnv, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	}
	for _, v := range o.Passed(environ) {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || quiet(name) || slices.Contains(droppedEnv, name) {
			continue
		}
		env = append(env, v)
	}
	return append(env, quietEnv...)
}

// Keys returns the variables that hold keys of providers, or secrets that have a name.
func (o ShellOptions) Keys() []string {
	keys := slices.Clone(o.KeyEnv)
	for _, s := range o.Named {
		keys = append(keys, s.Env)
	}
	return keys
}

// withholds reports whether a variable is kept from commands. The keys of providers
// always are, and what is pawl's own: they are no business of a command's.
func (o ShellOptions) withholds(name, value string) bool {
	upper := strings.ToUpper(name)
	matches := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, _ := path.Match(p, upper)
			return ok
		})
	}
	switch {
	case slices.Contains(o.Keys(), name), slices.Contains(providerKeys, upper):
		return true
	case slices.Contains(o.PassEnv, name) && !strings.HasPrefix(upper, "PAWL_"):
		return false
	case matches(secretVariables) && !matches(knownVariables):
		return true
	}
	return isRandom(value) && !matches(publicVariables) || slices.ContainsFunc(secretValues, func(form func() *regexp.Regexp) bool { return form().MatchString(value) })
}

// publicVariables hold what is random and no secret: names of commits, of sessions, of machines.
var publicVariables = []string{"*SHA", "*SHA1", "*SHA256", "*COMMIT*", "*_ID", "*UUID*", "*HASH*", "*DIGEST*", "*_REV", "*REVISION*", "*VERSION*", "*_REF", "*BUILD*", "*FINGERPRINT*", "*CHECKSUM*"}

// isRandom reports whether a value is one word as keys are: at least 24 letters and digits in both
// cases, or 32 hexadecimal ones, of which none is much more frequent than others.
func isRandom(value string) bool {
	if len(value) < 24 || len(value) > 64<<10 || value[0] == '/' {
		return false
	}
	var seen [128]int
	upper, lower, digits, hex := 0, 0, 0, 0
	for i := range len(value) {
		c := value[i]
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case !strings.ContainsRune("_-+=/", rune(c)):
			return false
		}
		if strings.IndexByte("0123456789abcdefABCDEF-", c) >= 0 { // also a UUID
			hex++
		}
		seen[c]++
	}
	bits := 0.0
	for _, n := range seen {
		if n > 0 {
			p := float64(n) / float64(len(value))
			bits -= p * math.Log2(p)
		}
	}
	if hex == len(value) {
		return len(value) >= 32 && digits > 0 && upper+lower > 1 && bits >= 3
	}
	return digits > 1 && upper > 2 && lower > 2 && bits >= 4
}

// providerKeys are those of the providers that every pawl knows.
var providerKeys = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}
