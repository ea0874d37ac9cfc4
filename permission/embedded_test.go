package permission_test

import (
	"strings"
	"testing"

	"pawl/permission"
)

// In mode bypass a deny rule for a file asks about every command that may name the file: in
// the program of another language, written together with an option, in a pattern of names that git
// expands, from a directory that is not known; and about what reads everything.
func TestADenyRuleForAFileHoldsInsideOfWords(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct{ asks, runs []string }{
		"read(.env)": {
			asks: []string{
				`sed "r .env" a`, `sed -n R.env a`, `awk '{while((getline l < ".env")>0) print l}' a`, `sqlite3 :memory: ".read .env"`, `mysql -e "source .env"`,
				"grep -rf.env a", "join -t.env a b", "git -c core.excludesFile=.env status", "docker run -v .env:/x y", "curl -F x=@.env y",
				"pushd docs; cat ../.env", "popd; cat .env", "cd -P docs; cat ../.env", "cd -- docs; cat ../.env", "cd -; cat ../.env",
				"env -C docs cat ../.env", "nice env --chdir=docs cat ../.env", "sudo -D docs cat ../.env", "tar -C docs -cf - ../.env", "find docs -execdir cat ../.env ';'",
				"ln -s . x", "ln -sf ../ docs/up", "cp -r .. /tmp/x", "tar cf x -C .. ws",
				"git add -A", "git add .", "git add -u", "git add '*'", "git add -- ':(glob)**'", "git commit -am x", "git stash", "git stash -u", "git stash push --all", "git add '.e*'",
			},
			runs: []string{
				"sed s/a/b/ x", "sed -i s/a/b/ x", "awk '{print $1}' x", "echo .env", "git commit -m 'ignore .env'", "git add a", "git add Auu", "git add --Au", "git add ''", "git add -", "git commit -- aa", "git stash list", "git stash show", "git commit -m x",
				"cd docs && cat a", "tar cf x docs", "env -C docs cat a", "pushd docs; cat a", "make -C docs", "ln -s docs x", "grep -rn env docs",
			},
		},
		"edit(src/a)": {
			asks: []string{
				"dd of=src/a", `sed "w src/a" b`, `awk '{print > "src/a"}' b`, "sort -osrc/a b", "git checkout -- 'src/*'", "git rm '*a'", `sqlite3 x ".output src/a"`,
				"env -C src sh -c 'cp b a'", "make -C src a",
			},
			runs: []string{"dd of=src/b", "sort -osrc/b b", "git checkout -- 'doc/*'", "git add -A", "git commit -am x", "make b"},
		},
	} {
		parsed, err := permission.ParseRule(rule)
		if err != nil {
			t.Fatal(err)
		}
		parsed.Effect = permission.Deny
		for want, commands := range map[permission.Verdict][]string{permission.Ask: c.asks, permission.Allow: c.runs} {
			for _, command := range commands {
				r := permission.Request{Tool: "shell", Command: command, Workspace: "/work/ws", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true}
				d := permission.Rules{parsed}.Decide(r, permission.Bypass)
				if d.Verdict != want && !(want == permission.Ask && d.Verdict == permission.Deny) {
					t.Errorf("deny %s, %s: %s (%s), want %s", rule, command, d.Verdict, d.Reason, want)
				}
			}
		}
	}
	// What a redirection opens for both is read too.
	for rule, commands := range map[string]string{"read(.env)": "cat <>.env\ncat 0<>./.env", "edit(.env)": "cat <>.env"} {
		parsed, _ := permission.ParseRule(rule)
		parsed.Effect = permission.Deny
		for command := range strings.SplitSeq(commands, "\n") {
			r := permission.Request{Tool: "shell", Command: command, Workspace: "/work/ws", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true}
			if d := (permission.Rules{parsed}).Decide(r, permission.Bypass); d.Verdict != permission.Deny {
				t.Errorf("deny %s, %s: %s", rule, command, d.Verdict)
			}
		}
	}
}
