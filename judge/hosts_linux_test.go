package judge

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pawl/permission"
	"pawl/run"
	"pawl/tool"
)

// Nothing says where programs for all folders are installed.
func init() {
	os.Unsetenv("GOBIN")
	os.Unsetenv("npm_config_prefix")
	os.Unsetenv("NPM_CONFIG_PREFIX")
	os.Unsetenv("PNPM_HOME")
}

// What installs a program for all folders asks once, for the network and for where that is; beside another command, or where
// its words say a folder, it asks for the network as ever.
func TestInstallingForAllFoldersAsksOnce(t *testing.T) {
	t.Parallel()
	env := sandboxed(t)
	for command, outside := range map[string]bool{
		"go install golang.org/x/tools/cmd/goimports@latest": true,
		"npm install -g prettier":                            true,
		"cd sub && npm i --global a b 2>&1 | tail -3":        true,
		"npm -g install prettier":                            true,
		"pnpm add -g prettier":                               true,
		"go install ./cmd/x && go test ./...":                false,
		"npm install -g prettier && npm test":                false,
		"GOBIN=$PWD/bin go install ./cmd/x":                  false,
		"npm install -g --prefix tools prettier":             false,
		"npm install -g $NAME":                               false,
		"npm install prettier":                               false,
		"npm ls -g":                                          false,
		"go build ./...":                                     false,
	} {
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		in, err := tool.Shell().Inspect(env, args)
		if err != nil {
			t.Fatal(err)
		}
		j := (&Judge{Rules: Fixed{}}).Of(Call{Mode: permission.Default, Tool: "shell", Class: in.Class, Intent: in, Args: args, Env: env})
		d := j.Decision()
		if got := j.Request.Sandbox == run.Unconfined; got != outside {
			t.Errorf("%s: asks for %q (%s)", command, j.Request.Sandbox, d.Reason)
		}
		if said := strings.Contains(d.Reason, "it needs the network, and to write where programs for all folders are, outside of the sandbox"); said != outside || outside && d.Verdict != permission.Ask {
			t.Errorf("%s: %s: %s", command, d.Verdict, d.Reason)
		}
	}
}

// A question names the hosts that a command is known to ask, what is answered for good is stored with them, and a person
// grants no more than was shown and what the settings open to every command.
func TestAQuestionNamesTheHosts(t *testing.T) {
	t.Parallel()
	env := sandboxed(t)
	open, err := permission.NetworkRules([]string{"docs.example.org"}, "settings")
	if err != nil {
		t.Fatal(err)
	}
	of := func(rules permission.Rules, args string) *Judgement {
		t.Helper()
		in, err := tool.Shell().Inspect(env, json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		return (&Judge{Rules: Fixed(rules)}).Of(Call{Mode: permission.Default, Tool: "shell", Class: in.Class, Intent: in, Args: json.RawMessage(args), Env: env})
	}
	for args, want := range map[string]struct{ asks, granted string }{
		`{"command":"npm install"}`:                                                  {"network:registry.npmjs.org", "network:docs.example.org,registry.npmjs.org"},
		`{"command":"npm install && npm test"}`:                                      {"network:registry.npmjs.org", "network:docs.example.org,registry.npmjs.org"},
		`{"command":"cargo build"}`:                                                  {"network:crates.io,index.crates.io,static.crates.io", "network:crates.io,docs.example.org,index.crates.io,static.crates.io"},
		`{"command":"go test ./...","sandbox":"write"}`:                              {"network:proxy.golang.org,sum.golang.org", "network:docs.example.org,proxy.golang.org,sum.golang.org"},
		`{"command":"make","sandbox":"write"}`:                                       {"", "network:docs.example.org"},
		`{"command":"git push"}`:                                                     {"network", "network"},
		`{"command":"npm install","sandbox":"network"}`:                              {"network", "network"},
		`{"command":"mkdir x"}`:                                                      {"", "network:docs.example.org"},
		`{"command":"make","hosts":["a.example.com","go"]}`:                          {"network:a.example.com,proxy.golang.org,sum.golang.org", "network:a.example.com,docs.example.org,proxy.golang.org,sum.golang.org"},
		`{"command":"npm install","sandbox":"network","hosts":["github.com"]}`:       {"network:github.com,registry.npmjs.org", "network:docs.example.org,github.com,registry.npmjs.org"},
		`{"command":"npm install","sandbox":"write","hosts":["registry.npmjs.org"]}`: {"network:registry.npmjs.org", "network:docs.example.org,registry.npmjs.org"},
	} {
		j := of(nil, args)
		if d := j.Decision(); d.Verdict != permission.Ask || string(j.Request.Sandbox) != want.asks || string(j.Granted()) != want.asks {
			t.Errorf("%s: %s for %q, granted %q (%s)", args, d.Verdict, j.Request.Sandbox, j.Granted(), d.Reason)
		}
		if j := of(open, args); string(j.Request.Sandbox) != want.asks || string(j.Granted()) != want.granted {
			t.Errorf("%s with the setting: %q, granted %q", args, j.Request.Sandbox, j.Granted())
		}
		proposed := j.Propose()
		if len(proposed.Rules) == 0 {
			t.Errorf("%s: %s", args, proposed.Reason)
			continue
		}
		for _, r := range proposed.Rules {
			if string(r.Sandbox) != want.asks {
				t.Errorf("%s: %s is stored with %q", args, r, r.Sandbox)
			}
		}
		if d := of(proposed.Rules, args).Decision(); d.Verdict != permission.Allow || string(d.Sandbox) != want.asks {
			t.Errorf("%s, answered for good: %s %q (%s)", args, d.Verdict, d.Sandbox, d.Reason)
		}
	}
	if of(nil, `{"command":"npm install"}`).Digest() == of(nil, `{"command":"npm install","hosts":["github.com"]}`).Digest() {
		t.Error("an answer for some hosts counts for others")
	}
	for _, args := range []string{`{"command":"npm ci","hosts":["http://x"]}`, `{"command":"npm ci","sandbox":"none","hosts":["npm"]}`, `{"command":"npm ci","hosts":["` + strings.Repeat(`a.org","`, 60) + `b.org"]}`} {
		if _, err := tool.Shell().Inspect(env, json.RawMessage(args)); err == nil {
			t.Errorf("%s was taken", args)
		}
	}
	env.Sandbox = nil // then hosts cannot be told apart
	if _, err := tool.Shell().Inspect(env, json.RawMessage(`{"command":"npm ci","hosts":["npm"]}`)); err == nil || !strings.Contains(err.Error(), "cannot be told apart") {
		t.Errorf("without a sandbox: %v", err)
	}
	if r := of(nil, `{"command":"npm install"}`).Request; r.ByHost || r.Sandbox.Hosts() != nil {
		t.Errorf("without a sandbox: %+v", r)
	}
}

// A question of an ask rule says which secret a yes gives, and the yes holds as long as the rule that gives it.
func TestAQuestionOfAnAskRuleNamesTheSecretOfTheOther(t *testing.T) {
	t.Parallel()
	env := sandboxed(t)
	of := func(text ...string) *Judgement {
		t.Helper()
		var rules permission.Rules
		for _, each := range text {
			var r permission.Rule
			if err := json.Unmarshal([]byte(each), &r); err != nil {
				t.Fatal(err)
			}
			rules = append(rules, r)
		}
		args := json.RawMessage(`{"command":"npm publish --tag x"}`)
		in, err := tool.Shell().Inspect(env, args)
		if err != nil {
			t.Fatal(err)
		}
		return (&Judge{Rules: Fixed(rules)}).Of(Call{Mode: permission.Default, Tool: "shell", Class: in.Class, Intent: in, Args: args, Env: env})
	}
	const ask, gives = `{"rule":"shell(npm *)","effect":"ask"}`, `{"rule":"shell(npm publish *)","effect":"allow","network":["npm@registry.npmjs.org"]}`
	const given = "network:npm@registry.npmjs.org"
	j := of(ask, gives)
	if d := j.Decision(); d.Verdict != permission.Ask || d.Rule != "shell(npm *)" || string(j.Request.Sandbox) != given || string(j.Granted()) != given {
		t.Errorf("%+v, asked with %q, granted %q", d, j.Request.Sandbox, j.Granted())
	}
	if p := j.Propose(); len(p.Rules) > 0 {
		t.Errorf("answered for good it stores %v", p.Rules)
	}
	if without := of(ask); permission.GivesSecret(without.Granted()) || without.Digest() == j.Digest() {
		t.Errorf("without the rule that gives it: granted %q; the same digest: %v", without.Granted(), without.Digest() == j.Digest())
	}
}
