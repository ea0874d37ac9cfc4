package permission_test

import (
	"path"
	"strings"
	"testing"

	"pawl/permission"
	"pawl/permission/filenames"
	"pawl/run"
)

// contained is a command where the sandbox bounds whatever it does.
func contained(command string) permission.Request {
	return permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class,
		Sandboxed: true, EnforcesReadOnly: true, Contains: true}
}

// A person is asked about what needs a person, and about nothing else: a dialog that comes sixty times a day is read
// by nobody.
func TestFewEverydayCommandsAsk(t *testing.T) {
	t.Parallel()
	commands := lines(t, "questions.txt")
	asked := asksAsItSays(t, commands)
	if most := len(commands) * 20 / 102; asked[permission.Default] > most {
		t.Errorf("in mode default %d ask, want at most %d", asked[permission.Default], most)
	}
	if most := len(commands) * 6 / 102; asked[permission.AcceptEdits] > most {
		t.Errorf("in accept-edits %d ask, want at most %d", asked[permission.AcceptEdits], most)
	}
}

// Of commands of which more need a person none asks for another reason.
func TestHarderCommandsAskForWhatTheyNeed(t *testing.T) {
	t.Parallel()
	commands := lines(t, "questions_harder.txt")
	if asksAsItSays(t, commands); len(commands) != 200 {
		t.Errorf("there are %d commands", len(commands))
	}
}

// needed is what a question says that is about what the columns of a list name.
var needed = map[string]string{"network": "the network", "loopback": "127.0.0.1 of the sandbox", "outside": "outside", "write": "write", "delete": "delete", "secret": "may hold secrets", "later": "decides what runs later"}

// asksAsItSays tries commands, each with what it asks about in mode default and in accept-edits, and returns how many ask.
func asksAsItSays(t *testing.T, commands []string) map[permission.Mode]int {
	t.Helper()
	asked, about := map[permission.Mode]int{}, map[permission.Mode]map[string]int{permission.Default: {}, permission.AcceptEdits: {}}
	for i, line := range commands {
		columns := strings.SplitN(line, "\t", 3)
		if len(columns) != 3 {
			t.Fatalf("line %d has no three columns: %q", i, line)
		}
		for column, mode := range []permission.Mode{permission.Default, permission.AcceptEdits} {
			r, verdict := contained(strings.ReplaceAll(columns[2], "<LF>", "\n")), permission.Allow
			if columns[column] != "." {
				verdict = permission.Ask
			}
			d := permission.Rules(nil).Decide(r, mode)
			if d.Verdict != verdict {
				t.Errorf("%s in %s: %s (%s), want %s", columns[2], mode, d.Verdict, d.Reason, verdict)
			}
			if d.Verdict == permission.Allow {
				if d.Sandbox == run.Confined && mode == permission.Default {
					t.Errorf("%s in %s: runs with the workspace writable", columns[2], mode)
				}
				continue
			}
			asked[mode]++
			about[mode][columns[column]]++
			if word := needed[columns[column]]; word == "" || !strings.Contains(d.Reason, word) {
				t.Errorf("%s in %s: the question does not say %q: %s", columns[2], mode, word, d.Reason)
			}
			if r.Sandbox = run.WithNetwork; columns[column] == "network" { // with which it is asked about; see [pawl/judge]
				if d := permission.Rules(nil).Decide(r, mode); !strings.Contains(d.Reason, "it needs the network") {
					t.Errorf("%s in %s, with the network: the question does not say what it needs: %s", columns[2], mode, d.Reason)
				}
			}
			// Every question has a rule that answers it for good, as it is asked and without more of the sandbox.
			for _, sandbox := range []run.Confinement{run.WithNetwork, run.Confined} {
				if r.Sandbox = sandbox; sandbox == run.WithNetwork && columns[column] != "network" {
					continue
				}
				p := permission.Rules(nil).Propose(r, mode, nil)
				if d := p.Rules.Decide(r, mode); len(p.Rules) == 0 || d.Verdict != permission.Allow || d.Sandbox != sandbox {
					t.Errorf("%s in %s, sandbox %q: no rule answers it: %s %+v", columns[2], mode, sandbox, p.Reason, d)
				}
			}
		}
	}
	t.Logf("of %d commands %d ask in mode default and %d in accept-edits: %v", len(commands), asked[permission.Default], asked[permission.AcceptEdits], about)
	return asked
}

// What stays in the temporary folder of the commands, only shows what would be deleted, or reads what is installed for
// everybody needs no more than the sandbox has. What only looks like it does.
func TestWhatTheSandboxHasIsNotAskedFor(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"rm -rf /tmp/x", "rm -f -- /tmp/-x /tmp/y", "cd /tmp && rm -rf x", "git clean -n", "git clean -ndx src", "git clean --dry-run -d", "git apply fix.patch", "git apply -R -p1 a.patch b.patch", "./configure --prefix=/usr/local",
		"gcc -I/usr/include/x -c a.c -o a.o", "ln -s ../docs web/docs", "ln -sfn ../../a/b web/c/d", "ln -s b a", "npm start & curl -s localhost:3000; kill $!", "http :3000/x & wait", "printf x > a & curl http://[::1]:80/",
	} {
		if d := permission.Rules(nil).Decide(contained(command), permission.AcceptEdits); d.Verdict != permission.Allow || d.Sandbox != run.Inside {
			t.Errorf("%s: %s %s (%s)", command, d.Verdict, d.Sandbox, d.Reason)
		}
	}
	for _, command := range []string{
		"rm -rf /tmp/x src", "rm -rf /tmp/x -- -src", "rm -rf /tmp/l/x", "rm -rf /tmp/x/", "rm -rf /tmp/*", "rm -rf /tmp", "rm -rf /tmp/..", "rm -rf /tmp/../etc/x", "rm -rf $X /tmp/x", "cd $D && rm -rf x", "find /tmp/x -delete",
		"git clean -fd", "git clean -e -n -fd", "git clean -fd -- -n", "git clean -nfd $X", "git -C x clean -f", "git apply --index fix.patch", "git apply --cac fix.patch", "git apply -3 fix.patch", "git apply $X", "git mv a b",
		"cp x /usr/local/bin", "rm /usr/bin/x", "touch /usr/x", "ln -s ../x web", "ln -s ../../x web/docs", "ln -s /etc/passwd x", "ln ../x web/docs", "ln -sr ../x web/docs", "ln -s ../.env web/x", "ln -s x .vscode/tasks.json",
		"curl localhost:3000", "npm start & curl example.com", "npm start & curl localhost:1; curl example.com", "http :3000", "http :3000/x example.com",
	} {
		if d := permission.Rules(nil).Decide(contained(command), permission.AcceptEdits); d.Verdict == permission.Allow {
			t.Errorf("%s: %s %s (%s)", command, d.Verdict, d.Sandbox, d.Reason)
		}
	}
	// In mode default the workspace cannot be changed by what runs unasked, so more is tried.
	for _, command := range []string{"rm -rf /tmp/x/y", "mkdir -p /tmp/a/b && cp -r src /tmp/a/b", "go build -o /tmp/x ./cmd/x && /tmp/x", "mv /tmp/a /tmp/b"} {
		if d := permission.Rules(nil).Decide(contained(command), permission.Default); d.Verdict != permission.Allow || d.Sandbox != run.Trial {
			t.Errorf("%s: %s %s (%s)", command, d.Verdict, d.Sandbox, d.Reason)
		}
	}
	for _, command := range []string{"cp -r src /tmp/x dst", "mv src /tmp/x", "mkdir /tmp/x y", "go build -o x ./cmd/x", "git apply fix.patch"} {
		if d := permission.Rules(nil).Decide(contained(command), permission.Default); d.Verdict != permission.Ask || !strings.HasPrefix(d.Reason, "it needs to write") {
			t.Errorf("%s: %s %s (%s)", command, d.Verdict, d.Sandbox, d.Reason)
		}
	}
}

// A rule for a whole text opens the network that it says, and no other text gets it.
func TestARuleForATextOpensItsNetwork(t *testing.T) {
	t.Parallel()
	text := "python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt"
	rule := permission.Rules{{Effect: permission.Allow, Tool: "shell", Pattern: permission.QuotePattern(text), Sandbox: run.ToHosts("pypi.org")}}
	for _, c := range []struct {
		text   string
		wants  run.Confinement
		byHost bool
		allows bool
	}{
		{text, run.ToHosts("pypi.org"), true, true}, {text, run.Confined, true, true}, {text, run.ToHosts("pypi.org"), false, false}, {text, run.ToHosts("pypi.org", "evil.example"), true, false},
		{text, run.WithNetwork, true, false}, {text, run.Unconfined, true, false}, {text + "; env", run.ToHosts("pypi.org"), true, false}, {". .venv/bin/activate", run.ToHosts("pypi.org"), true, false},
	} {
		r := contained(c.text)
		r.Sandbox, r.ByHost = c.wants, c.byHost
		if d := rule.Decide(r, permission.AcceptEdits); (d.Verdict == permission.Allow && strings.HasPrefix(string(d.Sandbox), "network:pypi.org")) != c.allows {
			t.Errorf("%s with %q: %+v", c.text, c.wants, d)
		}
	}
}

// What a repository makes git run, as a hook that runs a script of the workspace, is not known: with it git changes no
// repository unasked, nor does what moves a tag.
func TestGitThatRunsOtherProgramsChangesNoRepositoryUnasked(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"git commit -m x", "git add a && git commit -m x", "git add a", "git switch -c x", "echo x > a && git commit -am x"} {
		for hooks, asks := range map[[2]string]bool{{}: false, {"", "the file .git/hooks/pre-commit"}: true, {"filter.x.clean=sh x.sh", ""}: true} {
			r := contained(command)
			r.Runs, r.Hooks = hooks[0], hooks[1]
			if d := permission.Rules(nil).Decide(r, permission.AcceptEdits); (d.Verdict == permission.Ask) != asks {
				t.Errorf("%s with %q: %s (%s)", command, hooks, d.Verdict, d.Reason)
			}
		}
	}
	for command, verdict := range map[string]permission.Verdict{
		"git tag -a v2 -m x": permission.Allow, "git tag -am x v2": permission.Allow, "git tag v2": permission.Allow, "git tag --message=x v2": permission.Allow,
		"git tag -m x -f v1": permission.Ask, "git tag -a --force v1 -m x": permission.Ask, "git tag -d v1": permission.Ask, "git tag -fam x v1": permission.Ask,
	} {
		if d := permission.Rules(nil).Decide(contained(command), permission.AcceptEdits); d.Verdict != verdict {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
	r := contained("git status && npm test")
	r.Hooks = "the file .git/hooks/pre-commit"
	if d := permission.Rules(nil).Decide(r, permission.AcceptEdits); d.Verdict != permission.Allow {
		t.Errorf("what changes no repository asks: %s", d.Reason)
	}
}

// What programs obey and a command makes is taken away when it ends; git takes it in before, so it adds unasked only
// beside what names all that it makes.
func TestGitAddsNothingUnaskedWhoseNameIsNotKnown(t *testing.T) {
	t.Parallel()
	for verdict, commands := range map[permission.Verdict][]string{
		permission.Ask: {"tar xf a.tar", "unzip a.zip", "patch -p1 < a.patch", "git apply a.patch", "cp -r evil/. .", "mv evil/* .", "for f in a b; do cp -r evil/$f .; done", "git archive HEAD | tar x", "mkdir -p $X", "echo x > $X",
			"tee $X < a", "install -D a b", "git ls-files -z | xargs -0 touch", "gunzip .envrc.gz", "split -l 1 a .en", "echo x > .envrc", "cp a .github/x.yml", "ln -s evil x"},
		permission.Allow: {"cp a b", "mv a b", "touch a", "mkdir -p a/b", "sed -i s/a/b/ f", "chmod +x a", "echo x > a", "cd web", "git status", "ls | wc -l"},
	} {
		for _, command := range commands {
			for _, and := range []string{" && git add -A && git commit -m x", "\ngit add -A"} {
				if d := permission.Rules(nil).Decide(contained(command+and), permission.AcceptEdits); d.Verdict != verdict {
					t.Errorf("%s%s: %s (%s)", command, and, d.Verdict, d.Reason)
				}
			}
		}
	}
}

// A deny rule for a command of a program holds whatever options stand before it, in every mode.
func TestADenyRuleHoldsBehindOptionsOfTheProgram(t *testing.T) {
	t.Parallel()
	for rule, commands := range map[string]map[string]permission.Verdict{
		"git push *": {"git -C . push": permission.Deny, "git --no-pager push origin": permission.Deny, "git -P -C a --git-dir b push": permission.Deny, "git --git-dir=a push": permission.Deny,
			"git --no-pager log push": permission.Allow, "git log push": permission.Allow, "git -C push status": permission.Allow},
		"docker rm *": {"docker --context x rm a": permission.Deny, "docker -D rm a": permission.Deny, "docker ps": permission.Allow},
	} {
		r, err := permission.ParseRule("shell(" + rule + ")")
		if err != nil {
			t.Fatal(err)
		}
		r.Effect = permission.Deny
		for command, verdict := range commands {
			if d := (permission.Rules{r}).Decide(contained(command), permission.Bypass); verdict == permission.Deny && d.Verdict != verdict || verdict != permission.Deny && d.Verdict == permission.Deny {
				t.Errorf("%s under deny %s: %s (%s)", command, rule, d.Verdict, d.Reason)
			}
		}
	}
}

// A command for a service on this machine is told whose loopback it would reach, and one that also names another host
// that it needs the network.
func TestTheLoopbackIsNoNetwork(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://127.0.0.1:8123/x", "http://localhost", "localhost:3000/a@b", "http://user@127.1/", "'http://[::1]:80/?u=http://example.com'", `"http://localhost:$PORT/x"`, "http://a.localhost/", `"localhost:$PORT/x"`} {
		d := permission.Rules(nil).Decide(contained("curl -m 5 "+address), permission.Default)
		if !strings.HasPrefix(d.Reason, "it needs 127.0.0.1 of the sandbox, where only commands of this workspace listen: ") || permission.NeedsNetwork("curl "+address) {
			t.Errorf("%s: %s", address, d.Reason)
		}
	}
	for _, words := range []string{"http://127.0.0.1.example.com/", "http://example.com/?to=localhost", "http://localhost@example.com/", "http://localhost/ http://example.com", "http://localhost/ && npm install", "$HOST"} {
		d := permission.Rules(nil).Decide(contained("curl "+words), permission.Default)
		if !strings.HasPrefix(d.Reason, "it needs the network: ") || !permission.NeedsNetwork("curl "+words) {
			t.Errorf("%s: %s", words, d.Reason)
		}
	}
}

// A week's task, as agents work on one: each question is answered for good, and what was answered is not asked again.
// Where nothing bounds what a command does, the rules that were stored do.
func TestATaskOfThirtyStepsAsksThreeTimes(t *testing.T) {
	t.Parallel()
	steps := []string{
		"git status --short && git log --oneline -5", "rg -n 'parseDate' src tests", "sed -n '1,120p' src/dates.py", "git checkout -b fix/dates", "pip install -r requirements.txt",
		"python -m pytest tests/test_dates.py -q", "python -m pytest tests/test_dates.py -k leap --tb=short 2>&1 | tail -30", "python3 -c 'import src.dates; print(src.dates.parse(\"2024-02-29\"))'",
		"for f in src/*.py; do python -m py_compile $f; done", "TZ=UTC python -m pytest tests/test_dates.py -q", "TZ=Asia/Tokyo python -m pytest tests/test_dates.py -q", "ruff check src tests", "ruff check --fix src",
		"mypy src", "git diff --stat", "git add -A && git commit -m 'dates: leap days'", "make lint", "make test 2>&1 | tail -5", "make docs", "mkdir -p tests/data && cp tests/x.json tests/data/y.json", "npm run lint",
		"cd web && npm run build", "cd web && npm run test:unit -- --watch=false", "find . -name '*.pyc' | xargs ls -l", "wc -l $(git diff --name-only main)", "rm -rf build", "python -m pytest -q", "TZ=UTC python -m pytest tests/test_dates.py -q",
		"git commit -am 'dates: time zones'", "git push origin fix/dates",
	}
	if len(steps) != 30 {
		t.Fatalf("there are %d steps", len(steps))
	}
	for _, c := range []struct {
		mode     permission.Mode
		contains bool
		most     int // questions
	}{{permission.AcceptEdits, true, 3}, {permission.Default, true, 8}, {permission.AcceptEdits, false, 21}} {
		var stored permission.Rules
		var history []permission.Allowed
		var asked []string
		for _, command := range steps {
			r := contained(command)
			if r.Contains = c.contains; c.contains && permission.NeedsNetwork(command) {
				r.Sandbox = run.WithNetwork // with which it is asked about; see [pawl/judge]
			}
			if stored.Decide(r, c.mode).Verdict == permission.Allow {
				continue
			}
			asked = append(asked, command)
			p := stored.Propose(r, c.mode, history)
			if len(p.Rules) == 0 && c.contains {
				t.Errorf("%s in %s: no rule answers it: %s", command, c.mode, p.Reason)
			}
			stored = permission.Merge(stored, p.Rules)
			history = append(history, permission.Allowed{Tool: "shell", Command: command})
			if d := stored.Decide(r, c.mode); len(p.Rules) > 0 && d.Verdict != permission.Allow {
				t.Errorf("%s in %s is asked about again: %s", command, c.mode, d.Reason)
			}
		}
		t.Logf("%s, contained %v: %d questions", c.mode, c.contains, len(asked))
		if len(asked) > c.most {
			t.Errorf("%s, contained %v: %d questions, want at most %d: %q", c.mode, c.contains, len(asked), c.most, asked)
		}
	}
}

// What a rule that denies or asks might speak of is asked about as it would be without a sandbox that bounds it.
func TestARuleThatMightSpeakOfItKeepsTheQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		effect   permission.Verdict
		rule     string
		commands []string
	}{
		{permission.Deny, "shell(rm *)", []string{"make test", "npm test", "./x.sh", "for f in *; do $f; done", "FOO=1 go test ./...", "python3 -c 'import os'", "find . -exec $X {} +", "ls | xargs frob", "x() { ls; }; x", "eval ls"}},
		{permission.Ask, "shell(curl *)", []string{"make test", "pytest -q", "node x.js", "echo $(frob)", "bash x.sh", "xargs -a f env"}},
		{permission.Ask, "read(conf/x)", []string{"make test", "wc -l $(git ls-files)", "find . -name x | xargs cat", "for f in conf/*; do cat \"$f\"; done"}},
		{permission.Deny, "read(a/**/b)", []string{"make test", "python3 x.py", "ls | xargs frob"}},
	} {
		rs := rules(t, c.effect, c.rule)
		for _, command := range c.commands {
			for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits} {
				if d := rs.Decide(contained(command), mode); d.Verdict == permission.Allow {
					t.Errorf("%s under %s %s in %s: %s", command, c.effect, c.rule, mode, d.Reason)
				}
			}
		}
	}
	// What the sandbox holds asks about nothing, and what is known to the last word is not asked about either.
	for _, rule := range []string{"read(conf/**)", "edit(conf/x)"} {
		if d := rules(t, permission.Deny, rule).Decide(contained("make test"), permission.Default); d.Verdict != permission.Allow || d.Sandbox != run.Trial {
			t.Errorf("make test under deny %s: %+v", rule, d)
		}
	}
	if d := rules(t, permission.Deny, "shell(rm *)").Decide(contained("mkdir a && touch a/b"), permission.AcceptEdits); d.Verdict != permission.Allow || d.Sandbox != run.Inside {
		t.Errorf("what runs nothing: %+v", d)
	}
}

// What leads out, asks for more or was said to need more is asked about, and where nothing is bounded all is.
func TestWhatIsNotBoundedAsks(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"frob /etc/shadow", "cat ~/.ssh/id_rsa; frob", "frob .env", "frob > /etc/x", "frob > ../x", "frob; cat secrets/key.pem", "npm test > .vscode/tasks.json", "cd .vscode && frob x", "cd /etc && frob x", "cat \u202e", "frob 2> .git/config",
	} {
		for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits} {
			if d := permission.Rules(nil).Decide(contained(command), mode); d.Verdict == permission.Allow && d.Sandbox != run.Trial || d.Verdict == permission.Allow && !strings.Contains(command, "vscode") {
				t.Errorf("%s in %s: %s %s", command, mode, d.Sandbox, d.Reason)
			}
		}
	}
	for name, change := range map[string]func(*permission.Request){
		"nothing contains it":          func(r *permission.Request) { r.Contains = false },
		"it says that it writes":       func(r *permission.Request) { r.Writes = true },
		"it asks for the network":      func(r *permission.Request) { r.Sandbox = run.WithNetwork },
		"a path could not be followed": func(r *permission.Request) { r.Outside = true },
		"a link leads out":             func(r *permission.Request) { r.Paths, r.Resolved = []string{"l"}, []string{"/home/x/y"} },
	} {
		for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits} {
			r := contained("frob l")
			change(&r)
			if d := permission.Rules(nil).Decide(r, mode); d.Verdict != permission.Ask {
				t.Errorf("%s, in %s: %+v", name, mode, d)
			}
		}
	}
	if d := permission.Rules(nil).Decide(contained("frob"), permission.Plan); d.Verdict != permission.Deny {
		t.Errorf("in mode plan: %+v", d)
	}
}

// What the sandbox keeps commands from changing that nobody knows is what edits need approval for.
func TestWhatProgramsObeyIsKnownByItsName(t *testing.T) {
	t.Parallel()
	obeyed := 0
	for _, line := range lines(t, "names.txt") {
		names, ok := strings.CutPrefix(line, "obeyed: ")
		for name := range strings.FieldsSeq(names) {
			if !ok {
				break
			}
			obeyed++
			known := filenames.Obeyed(name) != ""
			for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
				known = known || filenames.Obeyed(dir) != ""
			}
			if !known && name != ".git/config" {
				t.Errorf("%s is not known", name)
			}
		}
	}
	if obeyed < 500 {
		t.Errorf("there are %d names", obeyed)
	}
	for name, want := range map[string]bool{".envrc": true, "a/.npmrc": true, ".env": true, ".yarnrc.yml": true, "web/node_modules/.bin": true, ".venv/bin": true,
		".env.example": false, "certs/x.pem": false, "bin": false, "src/main.go": false, "Makefile": false, "node_modules": false} {
		if got := filenames.Obeyed(name) != ""; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
