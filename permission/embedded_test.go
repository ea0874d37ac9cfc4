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

// What a program with a language of its own is given to read may hold commands by which it runs what a rule
// denies. It asks also where a rule allows the program, unless the text is there and has no such command.
func TestADenyRuleHoldsInWhatAProgramReadsAsCommands(t *testing.T) {
	t.Parallel()
	for want, commands := range map[permission.Verdict][]string{
		permission.Ask: {
			"sqlite3 x.db <<< '.shell rm -rf x'", "sqlite3 x.db <<'E'\nselect 1;\n  .system rm x\nE", "sqlite3 x.db < x.sql", "cat x.sql | sqlite3 x.db", "echo .shell rm x | sqlite3 x.db", "timeout 5 sqlite3 x.db < x.sql", "sqlite3 x.db <<< \"$x\"",
			"{ cat; sqlite3 x.db; } < x.sql", "(sqlite3 x.db) < x.sql", "while true; do sqlite3 x.db; done < x.sql", "exec < x.sql; sqlite3 x.db", "sqlite3 x.db 0< x.sql", "sqlite3 x.db <> x.sql", "cat x.sql > >(sqlite3 x.db)", "cat x.sql |& sqlite3 x.db", "sqlite3 x.db <<E\n$x\nE",
			"sqlite3 x.db <<< \"select edit('x', 'rm')\"", "/usr/bin/sqlite3 x.db < x.sql", "sqlite3 x.db 3< x.sql <&3",
			`psql db <<< '\! rm -rf x'`, "psql db <<'E'\nselect 1 \\g |rm\nE", "psql db <<< \"copy x from program 'rm x'\"", "psql db < dump.sql", "mysql db <<< 'system rm x'", `mariadb db <<< 'select 1 \! rm'`, "sftp h <<< '!rm x'", "sftp h <<< '-!rm x'", "ftp h < x",
			"ed f <<< '!rm x'", "printf '!rm x' | ed f", "dc <<< '!rm x'", "gdb p <<< 'shell rm x'", "vim -e f <<< ':!rm x'", "duckdb x < x.sql", "m4 < x", "cat x | gnuplot", "tmux -C < x",
		},
		permission.Allow: {
			"sqlite3 x.db 'select 1'", "sqlite3 x.db <<< 'select a.b from a'", "sqlite3 x.db <<'E'\nselect 1;\nselect 'rm -rf x';\nE", "sqlite3 x.db < /dev/null", "sqlite3 x.db | cat", "sqlite3 x.db 3< x.sql", "cat x | head; sqlite3 x.db", "sqlite3 x.db <&-",
			"psql db <<< 'select 1'", "mysql db <<< 'select a from b'", "ed f <<'E'\n1,2p\nq\nE", "sftp h <<< 'get x'", "dc <<< '1 2+p'", "cat x | wc -l",
		},
	} {
		for _, command := range commands {
			r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true}
			deny, all := rules(t, permission.Deny, "rm *"), rules(t, permission.Allow, "sqlite3 *", "/usr/bin/sqlite3 *", "psql *", "mysql *", "mariadb *", "sftp *", "ftp *", "ed *", "dc *", "gdb *", "vim *", "duckdb *", "m4 *", "gnuplot *", "tmux *")
			for _, mode := range []permission.Mode{permission.Default, permission.Bypass} {
				if d := append(deny, all...).Decide(r, mode); d.Verdict != want {
					t.Errorf("%s in mode %s: %s (%s), want %s", command, mode, d.Verdict, d.Reason, want)
				}
			}
			if d := append(rules(t, permission.Ask, "rm *"), all...).Decide(r, permission.Default); d.Verdict != want {
				t.Errorf("%s under a rule that asks: %s (%s), want %s", command, d.Verdict, d.Reason, want)
			}
		}
	}
}
