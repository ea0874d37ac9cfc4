package permission_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pawl/permission"
	"pawl/permission/network"
	"pawl/run"
)

// byHost is a command where the sandbox bounds its network by the names of hosts, as it is asked about; see [pawl/judge].
func byHost(command string) permission.Request {
	r := contained(command)
	r.ByHost, r.Sandbox = true, run.ToHosts(permission.HostsOf(command)...)
	return r
}

func TestTheHostsOfACommandAreKnown(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"npm install":                                "registry.npmjs.org",
		"cd web && npm ci 2>&1 | tail -5":            "registry.npmjs.org",
		"npm install && npm test":                    "registry.npmjs.org",
		"npm --prefix web ci --silent":               "registry.npmjs.org",
		"npm --silent -w a test && npm -C b install": "registry.npmjs.org",
		"yarn":                                       "registry.npmjs.org registry.yarnpkg.com",
		"yarn --version":                             "",
		"cargo run -q":                               "crates.io index.crates.io static.crates.io",
		"uv run pytest":                              "files.pythonhosted.org pypi.org",
		"go -C lib test ./...":                       "proxy.golang.org sum.golang.org",
		"cargo +nightly build":                       "crates.io index.crates.io static.crates.io",
		"yarn install":                               "registry.npmjs.org registry.yarnpkg.com",
		"pip install -r requirements.txt":            "files.pythonhosted.org pypi.org",
		"python3 -m pip install x":                   "files.pythonhosted.org pypi.org",
		"go test ./...":                              "proxy.golang.org sum.golang.org",
		"go mod tidy && npm ci":                      "proxy.golang.org registry.npmjs.org sum.golang.org",
		"cargo build --release":                      "crates.io index.crates.io static.crates.io",
		"npm install --registry=https://npm.x.org/a": "npm.x.org registry.npmjs.org",
		"pip install git+https://github.com/a/b@v1":  "files.pythonhosted.org github.com pypi.org",
		"curl -sS https://example.com/x | head":      "example.com",
		"curl http://10.0.0.1:8080/x":                "10.0.0.1:8080",
		"curl 'http://[fd00::1]/'":                   "[fd00::1]:80",
		"git clone https://github.com/a/b":           "github.com",
		"curl http://localhost:3000":                 "", // of the sandbox
		"curl http://localhost:3000 && npm ci":       "registry.npmjs.org",
		"git clone git@github.com:a/b":               "",
		"git clone ssh://git@github.com/a/b":         "",
		"git push":                                   "",
		"curl $URL":                                  "",
		"curl example.com":                           "",
		"npm ci && ssh host":                         "",
		"curl http://user@example.com/":              "",
		"curl ftp://example.com/":                    "",
		"ls":                                         "",
		"make":                                       "",
	} {
		if got := strings.Join(permission.HostsOf(command), " "); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// A package manager of a project asks one question in the life of the project, and the rule that answers it opens no other host.
func TestAPackageManagerAsksOnce(t *testing.T) {
	t.Parallel()
	for _, commands := range [][]string{
		{"npm install && npm test", "npm install", "npm test -- --watch=false", "npm install && npm test"},
		{"pip install -r requirements.txt", "pip install -r requirements.txt", "pip install -r dev.txt"},
		{"cargo build", "cargo build --release", "cargo build"},
		{"go test ./...", "go test ./x -run Y", "go test ./..."},
		{"go mod tidy", "go mod tidy"},
		{"go get example.org/a@latest", "go get -u ./..."},
		{"cargo add serde", "cargo add tokio --features full"},
		{"npm i left-pad", "npm i --save-dev x", "cd web && npm i"},
		{"python -m pip install -r requirements.txt", "python -m pip install -U pip"},
		{".venv/bin/pip install -r requirements.txt", ".venv/bin/pip install -q -r dev.txt", "cd web && .venv/bin/pip install x"},
		{".venv/bin/python -m pip install -r requirements.txt", ".venv/bin/python -m pip install x"},
		{"yarn", "yarn"},
		{"npm --prefix web ci", "npm --prefix web ci"},
	} {
		var stored permission.Rules
		questions := 0
		for _, command := range commands {
			r := byHost(command)
			confined := r
			confined.Sandbox = run.Confined // as it is judged first
			d := stored.Decide(confined, permission.Default)
			if d.Verdict == permission.Allow && d.Sandbox.Hosts() != nil {
				if d.Sandbox != r.Sandbox {
					t.Errorf("%s runs with %q, not %q", command, d.Sandbox, r.Sandbox)
				}
				continue
			}
			questions++
			if d = stored.Decide(r, permission.Default); d.Verdict != permission.Ask || !strings.Contains(d.Reason, "limited to "+r.Sandbox.Hosts()[0]) && !strings.HasPrefix(command, "cargo") && !strings.HasPrefix(command, "go") {
				t.Errorf("%s: %+v", command, d)
			}
			p := stored.Propose(r, permission.Default, nil)
			if len(p.Rules) == 0 {
				t.Errorf("%s: %s", command, p.Reason)
			}
			for _, rule := range p.Rules {
				if rule.Sandbox != r.Sandbox {
					t.Errorf("%s: the rule %s lifts %q", command, rule, rule.Sandbox)
				}
			}
			stored = permission.Merge(stored, p.Rules)
		}
		if questions != 1 {
			t.Errorf("%q: %d questions", commands, questions)
		}
	}
	// So it is where a company's resolver leads to its own registry, which is asked about by its port.
	r := byHost("npm ci")
	first := permission.Rules(nil).Propose(r, permission.Default, nil).Rules
	r.Sandbox = run.ToHosts("registry.npmjs.org", "registry.npmjs.org:443")
	p := first.Propose(r, permission.Default, nil)
	if len(p.Rules) != 1 || p.Rules[0].String() != "shell(npm ci *)" || p.Rules[0].Sandbox != r.Sandbox {
		t.Errorf("a registry within: %+v", p)
	}
	within := r.Sandbox
	if r.Sandbox = run.Confined; permission.Merge(first, p.Rules).Decide(r, permission.Default).Sandbox != within {
		t.Errorf("the second answer does not count: %+v", permission.Merge(first, p.Rules).Decide(r, permission.Default))
	}
	// A program of pip is pip, whatever folder it is installed in: what makes it run or write something else has no
	// wide rule.
	for _, command := range []string{".venv/bin/pip install -e .", ".venv/bin/pip install --target=/x y", "python -m pip install --python=./x y", "bin/pip install x", "./pip install x"} {
		if p := permission.Rules(nil).Propose(byHost(command), permission.Default, nil); len(p.Rules) != 1 || !p.Exact {
			t.Errorf("%s: %+v", command, p)
		}
	}
	wide := rules(t, permission.Allow, "python -m pip install *", ".venv/bin/pip install *")
	for _, command := range []string{"python -m pip install -e .", ".venv/bin/pip install --target=/x y", ".venv/bin/python -m pip install x", "./pip install x"} {
		if d := wide.Decide(byHost(command), permission.Default); d.Verdict != permission.Ask {
			t.Errorf("%s: %+v", command, d)
		}
	}
	// What goes elsewhere has a rule for this very command.
	p = permission.Rules(nil).Propose(byHost("curl https://example.com/x"), permission.Default, nil)
	if len(p.Rules) != 1 || p.Rules[0].String() != "shell(curl https://example.com/x)" || !p.Exact {
		t.Errorf("curl: %+v", p)
	}
	if p := permission.Rules(nil).Propose(byHost("npm install --registry https://x.example.org/"), permission.Default, nil); len(p.Rules) != 1 || !p.Exact {
		t.Errorf("another registry: %+v", p)
	}
}

// A rule opens what it says to the commands that it covers, and to the whole of a command what all of its parts have.
func TestARuleWithANetworkOpensItsHosts(t *testing.T) {
	t.Parallel()
	var rs permission.Rules
	for _, text := range []string{
		`{"rule":"shell(npm ci *)","effect":"allow","network":["npm","*.example.com"]}`,
		`{"rule":"shell(pip install *)","effect":"allow","network":["pypi"]}`,
		`{"rule":"shell(pnpm i *)","effect":"allow","network":["a.example.com","npm"]}`,
		`{"rule":"shell(frob *)","effect":"allow"}`,
		`{"rule":"shell(wide *)","effect":"allow","sandbox":"network"}`,
	} {
		var r permission.Rule
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(r)
		var same permission.Rule
		if err != nil || json.Unmarshal(again, &same) != nil || same.Sandbox != r.Sandbox {
			t.Errorf("%s is written as %s", text, again)
		}
		rs = append(rs, r)
	}
	open, err := permission.NetworkRules([]string{"docs.example.org"}, "settings")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command    string
		rs         permission.Rules
		want, with string // with the setting
	}{
		{"npm ci", rs, "network:*.example.com,registry.npmjs.org", "network:*.example.com,docs.example.org,registry.npmjs.org"},
		{"npm ci && frob x", rs, "", "network:docs.example.org"},
		{"npm ci && pip install -r x", rs, "", "network:docs.example.org"},
		{"npm ci && pnpm i", rs, "network:a.example.com,registry.npmjs.org", "network:a.example.com,docs.example.org,registry.npmjs.org"},
		{"npm ci && wide", rs, "network:*.example.com,registry.npmjs.org", "network:*.example.com,docs.example.org,registry.npmjs.org"},
		{"npm ci | tail -3", rs, "network:*.example.com,registry.npmjs.org", "network:*.example.com,docs.example.org,registry.npmjs.org"},
		{"wide", rs, "network", "network"},
		{"frob x", rs, "", "network:docs.example.org"},
		{"npm test", rs, "trial", "trial"}, // what runs unasked has none
		{"ls", rs, "read-only", "read-only"},
	} {
		r := byHost(c.command)
		r.Sandbox = run.Confined
		if d := c.rs.Decide(r, permission.Default); d.Verdict != permission.Allow || string(d.Sandbox) != c.want {
			t.Errorf("%s: %s %q (%s), want %q", c.command, d.Verdict, d.Sandbox, d.Reason, c.want)
		}
		if d := permission.Merge(c.rs, open).Decide(r, permission.Default); d.Verdict != permission.Allow || string(d.Sandbox) != c.with {
			t.Errorf("%s with the setting: %s %q, want %q", c.command, d.Verdict, d.Sandbox, c.with)
		}
		r.ByHost = false // nothing bounds it: then it stays closed
		if d := permission.Merge(c.rs, open).Decide(r, permission.Default); d.Sandbox.Hosts() != nil {
			t.Errorf("%s where nothing bounds it: %q", c.command, d.Sandbox)
		}
	}
	ask := func(command string, hosts ...string) permission.Verdict {
		r := byHost(command)
		r.Sandbox = run.ToHosts(hosts...)
		return permission.Merge(rs, open).Decide(r, permission.Default).Verdict
	}
	for hosts, want := range map[string]permission.Verdict{
		"registry.npmjs.org": permission.Allow, "x.example.com": permission.Allow, "docs.example.org registry.npmjs.org": permission.Allow, "registry.npmjs.org:443": permission.Ask, "x.example.com:80": permission.Ask,
		"evil.example": permission.Ask, "registry.npmjs.org evil.example": permission.Ask, "registry.npmjs.org:22": permission.Ask, "*.org": permission.Ask, "*": permission.Ask, "example.com": permission.Ask,
	} {
		if got := ask("npm ci", strings.Fields(hosts)...); got != want {
			t.Errorf("npm ci to %s: %s", hosts, got)
		}
	}
	// Every host of the Internet is none of a private network: what may be one is asked about, or spelled in the rule.
	ask = func(command string, hosts ...string) permission.Verdict {
		r := byHost(command)
		r.Sandbox = run.ToHosts(hosts...)
		all := permission.Rule{Effect: permission.Allow, Tool: "shell", Pattern: "frob *", Sandbox: run.ToHosts("*", "10.0.0.2", "db.corp.example:443")}
		return permission.Rules{all}.Decide(r, permission.Default).Verdict
	}
	for host, want := range map[string]permission.Verdict{
		"a.example": permission.Allow, "10.0.0.2": permission.Allow, "10.0.0.2:443": permission.Allow, "db.corp.example:443": permission.Allow, "db.corp.example": permission.Allow,
		"169.254.169.254": permission.Ask, "169.254.169.254:80": permission.Ask, "10.0.0.1": permission.Ask, "[fd00::1]:443": permission.Ask, "localhost:443": permission.Ask,
		"127.0.0.1:80": permission.Ask, "intranet.corp.example:443": permission.Ask, "10.0.0.2:5432": permission.Ask,
	} {
		if got := ask("frob x", host); got != want {
			t.Errorf("frob x to %s: %s, want %s", host, got, want)
		}
	}
	for _, bad := range []string{
		`{"rule":"shell(x)","effect":"deny","network":["npm"]}`, `{"rule":"edit(x)","effect":"allow","network":["npm"]}`, `{"rule":"shell(x)","effect":"allow","network":["http://x"]}`,
		`{"rule":"shell(x)","effect":"allow","sandbox":"none","network":["npm"]}`, `{"rule":"shell(x)","effect":"allow","sandbox":"network:npm"}`, `{"rule":"network(npm)","effect":"allow"}`,
	} {
		if err := json.Unmarshal([]byte(bad), new(permission.Rule)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// A secret is given to a command if a rule gives it to each of its parts, and by nothing else.
func TestARuleAloneGivesASecret(t *testing.T) {
	t.Parallel()
	var rs permission.Rules
	for _, text := range []string{
		`{"rule":"shell(npm publish *)","effect":"allow","network":["npm@registry.npmjs.org"]}`,
		`{"rule":"shell(npm *)","effect":"allow","network":["npm"]}`,
		`{"rule":"shell(npm whoami)","effect":"allow","network":["other@registry.npmjs.org","npm@registry.npmjs.org"]}`,
		`{"rule":"shell(wide *)","effect":"allow","sandbox":"network"}`,
		`{"rule":"shell(frob *)","effect":"allow"}`,
	} {
		var r, same permission.Rule
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(r)
		if err != nil || json.Unmarshal(again, &same) != nil || same.Sandbox != r.Sandbox {
			t.Errorf("%s is written as %s", text, again)
		}
		rs = append(rs, r)
	}
	const given = "network:npm@registry.npmjs.org"
	for _, c := range []struct {
		command string
		mode    permission.Mode
		want    string
	}{
		{"npm publish --tag x", permission.Default, given},
		{"npm publish --tag x", permission.AcceptEdits, given},
		{"cd sub && npm publish | tail -3", permission.Default, given},
		{"npm publish && npm whoami", permission.Default, given},
		{"npm publish && npm ls", permission.Default, "network:registry.npmjs.org"},
		{"npm publish && wide", permission.Default, given}, // what wide has is more than its hosts, and no secret of its own
		{"npm publish && frob x", permission.Default, ""},
		{"npm publish; env > x", permission.Default, ""},
		{"npm publish", permission.Bypass, ""},
		{"wide", permission.Default, "network"},
		{"npm ls", permission.Default, "network:registry.npmjs.org"},
	} {
		r := byHost(c.command)
		r.Sandbox = run.Confined
		if d := rs.Decide(r, c.mode); string(d.Sandbox) != c.want {
			t.Errorf("%s in %s: %s %q (%s), want %q", c.command, c.mode, d.Verdict, d.Sandbox, d.Reason, c.want)
		}
	}
	// Neither the setting for all commands, nor a repository, nor *always* gives one, and hosts do not cover it.
	if _, err := permission.NetworkRules([]string{"npm@registry.npmjs.org"}, "settings"); err == nil {
		t.Error("the setting gives a secret to all commands")
	}
	file := `{"rules": [{"rule":"shell(npm publish *)","effect":"allow","network":["npm@registry.npmjs.org"]}]}`
	if rules, err := permission.Load(strings.NewReader(file), permission.FromRepository, "x"); len(rules) > 0 || err == nil || !strings.Contains(err.Error(), "cannot give a secret") {
		t.Errorf("of a repository: %v, %v", rules, err)
	}
	r := byHost("npm publish")
	if p := rs[3:].Propose(r, permission.Default, nil); slices.ContainsFunc(p.Rules, func(r permission.Rule) bool { return permission.GivesSecret(r.Sandbox) }) {
		t.Errorf("proposed: %v", p.Rules)
	}
	for hosts, want := range map[string]bool{"*": false, "registry.npmjs.org": false, "other@registry.npmjs.org": false, "npm@registry.npmjs.org": true} {
		if network.Covers([]string{hosts}, "npm@registry.npmjs.org") != want {
			t.Errorf("%s covers the secret: %v", hosts, !want)
		}
	}
	if ok, _ := network.Reaches([]string{"npm@registry.npmjs.org"}, "registry.npmjs.org", "443"); !ok || !network.Covers([]string{"npm@registry.npmjs.org"}, "registry.npmjs.org") {
		t.Error("the host of a secret is not reached")
	}
	if got := network.Limit([]string{"npm@registry.npmjs.org", "a.org"}); got != "registry.npmjs.org with the secret npm, a.org" {
		t.Errorf("said: %s", got)
	}
	for _, bad := range []string{"npm@*.example.com", "npm@npm", "@example.com", "N M@example.com", "a@b@example.com", "npm@", "npm@http://x.org", "a,b@x.org"} {
		if _, err := permission.NetworkOf(run.Confined, []string{bad}); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// An ask rule asks about what the other rules allow: a yes runs it as they have it, with the secret of a rule that covers all
// of it, and never with that of one that does not.
func TestAYesToAnAskRuleRunsACommandAsTheOtherRulesHaveIt(t *testing.T) {
	t.Parallel()
	var rs permission.Rules
	for _, text := range []string{
		`{"rule":"shell(npm publish *)","effect":"allow","network":["npm@registry.npmjs.org"]}`,
		`{"rule":"shell(npm ls)","effect":"allow","network":["registry.npmjs.org"]}`,
		`{"rule":"shell(frob *)","effect":"allow"}`,
		`{"rule":"shell(wide *)","effect":"allow","sandbox":"network"}`,
		`{"rule":"shell(free)","effect":"allow","sandbox":"none"}`,
		`{"rule":"shell(npm *)","effect":"ask"}`,
		`{"rule":"shell(wide *)","effect":"ask"}`,
		`{"rule":"shell(free)","effect":"ask"}`,
		`{"rule":"read(data/**)","effect":"ask"}`,
		`{"rule":"shell(rm *)","effect":"deny"}`,
	} {
		var r permission.Rule
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	for command, want := range map[string]string{
		"npm publish --tag x":               "network:npm@registry.npmjs.org",
		"cd sub && npm publish | tail -3":   "network:npm@registry.npmjs.org",
		"timeout 60 npm publish":            "network:npm@registry.npmjs.org",
		"npm publish && npm ls":             "network:registry.npmjs.org",
		"npm ls":                            "network:registry.npmjs.org",
		"wide x":                            "network",
		"free":                              "none",
		"free; wide x":                      "network",
		"npm publish; frob x":               "", // the rule does not give it to frob
		"npm publish; npm install x":        "", // no rule covers the other
		"npm publish; unknown":              "",
		"npm publish > out":                 "",
		"npm publish; env > data/x":         "",
		"npm publish; cat data/x":           "",
		"npm publish $(cat .env)":           "",
		"npm publish --prefix ../elsewhere": "",
		"npm publish; rm x":                 "",
		"xargs npm publish":                 "",
		"npm whoami":                        "",
		"npm install x":                     "",
		"frob x":                            "",
	} {
		r := byHost(command)
		r.Sandbox = run.Confined
		if d := rs.Decide(r, permission.Default); string(d.Opens) != want {
			t.Errorf("%s: %s, opens %q (%s), want %q", command, d.Verdict, d.Opens, d.Reason, want)
		}
		r.Sandbox = run.ToHosts("registry.npmjs.org")
		if d := rs.Decide(r, permission.Default); d.Opens != run.Confined {
			t.Errorf("%s, asking for hosts, is opened %q", command, d.Opens)
		}
		if r.Sandbox = run.Confined; want != "" {
			without := slices.DeleteFunc(slices.Clone(rs), func(r permission.Rule) bool { return r.Effect == permission.Ask })
			if d := without.Decide(r, permission.Default); d.Verdict != permission.Allow || string(d.Sandbox) != want {
				t.Errorf("%s without the ask rules: %s %q (%s), want %q", command, d.Verdict, d.Sandbox, d.Reason, want)
			}
			r.ByHost = false // where no secret can be given
			if d := rs.Decide(r, permission.Default); d.Opens.Hosts() != nil {
				t.Errorf("%s where hosts cannot be told apart: %q", command, d.Opens)
			}
		}
	}
}

// What runs without a question still does when a person has let a package manager ask its registry for good: the network
// of npm test is there for the install beside it.
func TestAnAnswerAsksNoMoreThanBefore(t *testing.T) {
	t.Parallel()
	for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits} {
		var stored permission.Rules
		for _, command := range []string{"npm install && npm test", "cargo build && cargo test", "go test ./... && go mod tidy", "pip install -r requirements.txt", "yarn && yarn test"} {
			stored = permission.Merge(stored, permission.Rules(nil).Propose(byHost(command), mode, nil).Rules)
		}
		unasked := 0
		for _, line := range append(lines(t, "questions.txt"), lines(t, "questions_harder.txt")...) {
			command := strings.ReplaceAll(line[strings.LastIndexByte(line, '\t')+1:], "<LF>", "\n")
			r := byHost(command)
			r.Sandbox = run.Confined
			before := permission.Rules(nil).Decide(r, mode)
			if before.Verdict != permission.Allow {
				continue
			}
			unasked++
			if d := stored.Decide(r, mode); d.Verdict != permission.Allow {
				t.Errorf("%s in %s ran at %q and asks now: %s", command, mode, before.Sandbox, d.Reason)
			}
		}
		if unasked < 100 {
			t.Errorf("in %s %d commands run unasked", mode, unasked)
		}
	}
	// What needs the network, or a rule that lifts more, is still asked about.
	rs := rules(t, permission.Allow, "npm test *")
	rs[0].Sandbox = run.WithNetwork
	r := byHost("npm test && FOO=1 npm run check")
	if r.Sandbox = run.Confined; rs.Decide(r, permission.AcceptEdits).Verdict != permission.Ask {
		t.Error("a rule that opens the whole network is not followed")
	}
}

func TestARuleForTheNetworkIsASetting(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"network(npm)", "network"} {
		if _, err := permission.ParseRule(text); err == nil || !strings.Contains(err.Error(), "setting network") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
