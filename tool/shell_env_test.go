package tool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// H47, H47b: keys stay with pawl, whatever they are called.
func TestNoVariableThatHoldsAKeyReachesACommand(t *testing.T) {
	t.Parallel()
	kept := []string{
		"ACME_LLM=canary", "OPENAI_API_KEY=canary", "anthropic_api_key=canary", "PAWL_TOKEN=canary",
		"GITHUBTOKEN=canary", "PASSWD=canary", "AZURE_STORAGE_CONNECTION_STRING=canary", "GH_TOKEN=canary", "DB_PASSWORD=canary", "MYSQL_PWD=canary", "TWINE_PASS=canary",
		"HOUSE_KEY=canary", "SECRET_KEY_BASE=canary", "AWS_SECRET_ACCESS_KEY=canary", "STRIPE_APIKEY=canary", "SESSION_COOKIE=canary", "API_BEARER=canary", "NPM_AUTH=canary", "SIGNING_JWT=canary", "SSH_PRIVATEKEY=canary",
		"SENTRY_DSN=canary", "GOOGLE_APPLICATION_CREDENTIALS=canary", "TOKEN=canary", "GH_PAT=canary",
		"SSHPASS=canary", "DBPASS=canary", "LDAP_BIND_PW=canary", "SLACK_WEBHOOK_URL=https://hooks.example.org/canary", `DOCKER_AUTH_CONFIG={"auths":{"x":{"auth":"canary"}}}`, "OP_SESSION_my=canary", "BW_SESSION=canary", "SIGNING_KEY_B64=canary", "KEY=canary",
		"AZURE_STORAGE_KEYS=canary", "API_KEYS=canary", "AUTH=canary", "WALLET_MNEMONIC=canary",
		"STRIPE_SK=canary", "GCP_SA_JSON=canary", "KUBE_CONFIG_DATA=canary", "CONNSTR=canary", "COOKIE_HMAC=canary", "ROOTPW=canary", "SONAR_LOGIN=canary", "RAILS_MASTER=canary", "SIGNING=canary", "SEED=canary", "WALLET=canary", "TLS_PEM=canary", "HASH_SALT=canary",
		// By their values.
		"F=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "G=qR7mZc1XkP0vT9yWbN4sLd8HjF2gUa6EoIcanary", "H={\n\"private_key\" : \"canary\"}", "I=    client-key-data: canary", "J=SG.canarycanarycanary", "K=dckr_pat_canarycanarycanary",
		"L=jdbc:postgresql://h/db?user=u&password=canary", "M=aZ3kQ9xLm2Pq7RtV5canaryB", "N=wJalrXUtnFEMI/K7MDENG/bPxRfiCYcanary1EY0", "O=https://x.blob.example.org/c?sv=2020&sig=canary%3D", "P=6f9619ff-8b86-d011-b42d-00c04fc964ff",
		"A=sk-ant-canary0123456789abcdef", "B=ghp_canary0123456789abcdef", "C=AKIA0123456789CANARY", "D=eyJhbGciOi.eyJzdWIiOi.canary", "E=-----BEGIN RSA PRIVATE KEY-----\ncanary",
		"GIT_CONFIG_VALUE_0=AUTHORIZATION: basic canary", "CUSTOM_HEADERS=x-api-key: canary",
		"DATABASE_URL=postgres://u:canary@localhost/x", "HTTPS_PROXY=http://canary:canary@proxy:3128", "STORAGE=DefaultEndpointsProtocol=https;AccountKey=canary==",
		"PG=host=h user=u password=canary", "LOGIN=Basic canarycanary==", "HOOK=https://hooks.slack.com/services/T0/B0/canary", "CHAT=https://discord.com/api/webhooks/1/canary",
	}
	passed := []string{
		"HOME=/home/x", "PATH=/bin", "GOFLAGS=-mod=mod", "KEYBOARD=us", "MONKEY=1", "MONKEYS=2", "AUTHORS=x", "LEVEL=basic setting", "COMPASS=n", "PROXY_BYPASS=x", "TOKENIZERS_PARALLELISM=false", "OPENAI_MAX_TOKENS=5", "GITHUB_SHA=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "INVOCATION_ID=0123456789abcdef0123456789abcdef", "RANDOM_UUID=550e8400e29b41d4a716446655440000", "LONG=a-very-long-name-of-a-host-with-9-words-in-it", "WIDE=ThisIsAVeryLongIdentifierInCamelCaseOfAProgram", "LS_FLAGS=--color=auto --group-directories-first", "PYTHONHASHSEED=0", "DAYS=2026-11-26-2026-11-27-2026-11-28", "DESKTOP=Example-Desktop/Xfce/Session2", "MODEL=claude-sonnet-4-5-20250929", "PAGER_URL=https://example.org/?sign=1&tokens=5", "HOST_URL=https://example.org/a:b@c", "GOPROXY=https://proxy.golang.org,direct",
		"DOCKER_REGISTRY=r.example.org", "AUTHOR=x", "DEPLOY_TOKEN=wanted", "ME=http://wanted:wanted@x",
	}
	o := ShellOptions{KeyEnv: []string{"ACME_LLM"}, PassEnv: []string{"DEPLOY_TOKEN", "ME", "ACME_LLM", "OPENAI_API_KEY", "PAWL_TOKEN"}}
	env := o.childEnv(slices.Concat(kept, passed), "/w")
	if text := strings.Join(env, "\n"); strings.Contains(strings.ToLower(text), "canary") {
		t.Errorf("the environment is\n%s", text)
	}
	if diff := cmp.Diff(passed, env[:len(passed)]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if names := o.Withheld(slices.Concat(kept, passed)); len(names) != len(kept) || !slices.IsSorted(names) {
		t.Errorf("%d of %d are said to be kept: %v", len(names), len(kept), names)
	}
}

// Only values that other text does not have by chance are hidden: a word of a name would be hidden everywhere.
func TestSecretsAreTheValuesThatTextDoesNotHaveByChance(t *testing.T) {
	t.Parallel()
	v := ShellOptions{PassEnv: []string{"DEPLOY_TOKEN"}}.Secrets([]string{
		"A_TOKEN=tok-12345678", "B_PASSWORD=postgres", "C_PIN=1234567890", "D_KEY=development", "E_AUTH=short-1", "PAWL_MODEL=vendor/model-7", "PAWL_RUN_TOKEN=run-token-1",
		"KEYSTORE=" + os.Args[0], "DATABASE_URL=postgres://user:pass-word-1@db.example/x", "HOOK=https://hooks.slack.com/services/T0/B0/x1", "DEPLOY_TOKEN=wanted-12345", "HOME=/home/user-1",
		"LONG_SECRET=correcthorsebatterystaple"})
	text := "tok-12345678 postgres 1234567890 development short-1 vendor/model-7 run-token-1 " + os.Args[0] +
		" postgres://user:pass-word-1@db.example/x https://hooks.slack.com/services/T0/B0/x1 wanted-12345 /home/user-1 correcthorsebatterystaple"
	want := "[hidden: A_TOKEN] postgres 1234567890 development short-1 vendor/model-7 [hidden: PAWL_RUN_TOKEN] " + os.Args[0] +
		" postgres://user:[hidden: DATABASE_URL]@db.example/x [hidden: HOOK] wanted-12345 /home/user-1 [hidden: LONG_SECRET]"
	if diff := cmp.Diff(want, v.Hide(text)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What tells pawl the folder a command ended in is none of the command's descriptors.
func TestACommandGetsNoDescriptorOfPawls(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "dash"} {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		for command, want := range map[string]string{
			"cd /usr; for d in /dev/fd/*; do [ -e $d ] && echo $d; done | cat; exit 3": "/usr",
			"cd /usr; ls -l /proc/self/fd 1>&2":                                        "/usr",
			"cd /usr; exec 9>log; false":                                               "/usr",
			"cd /; exec 0</etc/passwd; set -e; false":                                  "/",
			"echo x >&9; echo x >&3; cd /usr":                                          "/usr",
		} {
			dir := t.TempDir()
			folder, err := os.Create(filepath.Join(dir, "folder"))
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			cmd := exec.Command(shell, "-c", wrapper, "sh", command)
			cmd.Dir, cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = dir, []*os.File{folder}, &out, &out
			cmd.Run() // the exit code is the command's
			told, err := os.ReadFile(folder.Name())
			if err != nil || strings.TrimSpace(string(told)) != want || strings.Contains(out.String(), folder.Name()) {
				t.Errorf("%s: %s: told %q, %v, want %s; printed %q", shell, command, told, err, want, out.String())
			}
		}
	}
}

func TestChildrenGetNoKeysAndNothingThatAsks(t *testing.T) {
	t.Parallel()
	got := ShellOptions{PassEnv: []string{"KEPT_TOKEN", "OPENAI_API_KEY"}}.childEnv([]string{
		"HOME=/home/x", "PATH=/bin", "LANG=C", "KEYBOARD=de", "TOKENIZERS_PARALLELISM=false",
		"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=b", "GEMINI_API_KEY=c", "GOOGLE_API_KEY=d", "PAWL_STATE=e",
		"GITHUB_TOKEN=f", "AWS_SECRET_ACCESS_KEY=g", "db_password=h", "SOME_API_KEY=i", "KEPT_TOKEN=j", "SOME_API_KEY_2=k", "PGPASSWORD=l", "SECRET_KEY_BASE=m",
		"CI=true", "TERM=xterm", "PAGER=less", "PWD=/elsewhere", "CDPATH=/x", "=odd",
	}, "/work")
	want := append([]string{"HOME=/home/x", "PATH=/bin", "LANG=C", "KEYBOARD=de", "TOKENIZERS_PARALLELISM=false", "KEPT_TOKEN=j"},
		append(quietEnv, "PWD=/work")...)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestARememberedEnvironmentIsTheOneOfNow(t *testing.T) {
	t.Parallel()
	o := ShellOptions{PassEnv: []string{"KEPT_TOKEN"}}
	p := o.Remembering()
	for _, c := range []struct {
		environ []string
		dir     string
	}{
		{[]string{"A=1", "KEPT_TOKEN=k"}, "/a"}, {[]string{"A=1", "KEPT_TOKEN=k"}, "/b"},
		{[]string{"A=2", "KEPT_TOKEN=k"}, "/b"}, {[]string{"A=2", "MY_TOKEN=k"}, "/b"}, {nil, "/c"}, {[]string{"A=2", "B=https://u:p@host"}, "/c"},
	} {
		got, want := p.childEnv(c.environ, c.dir), o.childEnv(c.environ, c.dir)
		if !slices.Equal(got, want) {
			t.Errorf("%q in %s: got %q, want %q", c.environ, c.dir, got, want)
		}
		for i := range got { // what a caller does with it is not remembered
			got[i] = "CHANGED=1"
		}
	}
}
