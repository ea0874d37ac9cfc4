package permission_test

import (
	"testing"

	"pawl/permission"
	"pawl/run"
)

// everyday returns the commands of testdata/everyday.txt.
func everyday(t testing.TB) []string { return lines(t, "everyday.txt") }

// askedEveryday are those of the everyday commands that ask, and why that is right.
var askedEveryday = map[string]string{
	"find . -name '*.go' | xargs wc -l":    "a file's name with a blank in it is two words to xargs, and the second may be any path",
	"find . -name '*.go' -exec wc -l {} +": "what -exec runs is a question, whatever it is",
	"echo $HOME":                           "the value of a variable may be a secret; runs in a sandbox",
	"(cd src && ls)":                       "runs in a sandbox",
	"wc -l $(git ls-files)":                "the words of a substitution may be any paths",
	"ls src/*":                             "the names that a bare * stands for may be secrets'",
	"cargo --version":                      "rustup runs the toolchain that a file of the folder names",
	"python3 -m json.tool f.json":          "-m runs json.py of the folder, if there is one",
}

func TestEverydayReadingRunsWithoutAQuestion(t *testing.T) {
	t.Parallel()
	commands := everyday(t)
	if len(commands) < 200 {
		t.Errorf("there are %d commands, want 200", len(commands))
	}
	ran := 0
	for _, command := range commands {
		d := ask(nil, command, "/work")
		if d.Verdict == permission.Allow {
			ran++
			if c := permission.Classify(command); c.Class != run.Reads {
				t.Errorf("%s runs and is classed as %s", command, c.Class)
			}
			continue
		}
		if _, ok := askedEveryday[command]; !ok {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
	rate := float64(ran) / float64(len(commands))
	t.Logf("%d of %d everyday commands run without a question: %.1f %%", ran, len(commands), rate*100)
	if rate < 0.95 {
		t.Errorf("%.1f %% of the everyday commands run, want 95 %%", rate*100)
	}
}

func TestWhatThrowsAwayAndWhatSaysWhichSystemItIsRunUnasked(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"cat a | tee /dev/null", "cat a | tee -a /dev/null", "ls | tee", "cat /etc/os-release", "grep ID /etc/os-release"} {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true,
			Paths: []string{"/etc/os-release"}, Resolved: []string{"/usr/lib/os-release"}}
		if d := permission.Rules(nil).Decide(r, permission.Default); d.Verdict != permission.Allow {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
	for _, command := range []string{"ls | tee a", "ls | tee /dev/null a", "ls | tee -p a", "ls > /etc/os-release", "rm /etc/os-release"} {
		if d := ask(nil, command, "/work"); d.Verdict == permission.Allow {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}

// What runs the repository's own code is the person's to allow.
func TestWhatRunsTheRepositorysCodeAsks(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"go test ./...", "go build ./...", "go vet ./...", "go run .", "go generate ./...", "npm test", "npm run build", "npx tsc", "yarn --version", "pytest -q",
		"make", "make -n", "cargo build", "python3 x.py", "node x.js", "tox", "mvn test", "./gradlew test", "docker ps", "npm install", "pip install x", "go get x",
	} {
		if d := ask(nil, command, "/work"); d.Verdict != permission.Ask {
			t.Errorf("%s: %s (%s), want ask", command, d.Verdict, d.Reason)
		}
	}
}

func TestADenyRuleForOtherProgramsMakesNoEverydayCommandAsk(t *testing.T) {
	t.Parallel()
	allow := rules(t, permission.Allow, "*", "go test *", "git commit *", "npm run *", "npm install *", "gh *", "pip install *", "docker build *", "cargo build *")
	for effect, source := range map[permission.Verdict]string{permission.Deny: "the rule", permission.Ask: "a rule asks"} {
		limits := rules(t, effect, "rm *", "sudo *", "curl *", "git push *", "npm publish *", "docker push *", "dd *")
		for _, command := range append(everyday(t),
			"git commit -m 'rm old file'", "git commit -m 'do not sudo; rm -rf x'", "go test -run 'rm|curl' ./...", "npm run rm", "npm install curl", "pip install curl", "gh pr create --title 'curl: fix' --body 'rm x'",
			"cargo build --bin rm", "mkdir -p src/rm", "cp a bin/rm", "eslint src/curl.js", "prettier --check src/rm",
		) {
			without, with := ask(allow, command, "/work"), ask(append(limits, allow...), command, "/work")
			if with.Verdict != without.Verdict {
				t.Errorf("%s: %s (%s), without %s: %s", command, with.Verdict, with.Reason, source, without.Verdict)
			}
		}
	}
}
