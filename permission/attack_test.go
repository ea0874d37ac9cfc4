package permission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/permission"
	"pawl/run"
)

// An attack is a call that was allowed once and must not be, or not like this, with
// siblings of its class. The ids are those of the list of findings.
type attack struct {
	id       string
	allow    []string // rules; those for the shell without the tool
	deny     []string
	mode     permission.Mode // empty: plan if there are no rules, else default
	commands []string
	want     permission.Verdict // at least as strict; empty: read-only, or stricter
}

func TestNoAttackOfTheListRuns(t *testing.T) {
	t.Parallel()
	const ask, deny = permission.Ask, permission.Deny
	for _, a := range []attack{
		{id: "H01", want: deny, commands: []string{"echo a # \\\ntouch FLAG", "ls #\\\ntouch FLAG", "ls;#x\\\ntouch FLAG"}},
		{id: "H02", want: deny, commands: []string{"cat <<EOF\nE\\\nOF\ntouch FLAG\nEOF", "cat <<-EOF\n\tE\\\nOF\ntouch FLAG\nEOF"}},
		{id: "H03", want: deny, commands: []string{`echo "${x:-'$(touch FLAG)'}"`, `echo "${x+'$(touch FLAG)'}"`, "echo \"${x#'`touch FLAG`'}\"", `echo "${x:-$'$(touch FLAG)'}"`}},
		{id: "H03b", want: deny, commands: []string{"cat <<E\n${x:-'$(touch FLAG)'}\nE"}},
		{id: "H04", want: deny, commands: []string{"echo \"$(cat <<E\nzq\nEtouch FLAG)\nE\n)\"", "cat <(cat <<E\nzq\nEtouch FLAG)\nE\n)"}},
		{id: "H05", want: deny, commands: []string{"$(echo touch FLAG X)[", "`echo touch`[ FLAG", "$x[ a ]"}},
		{id: "H06", want: ask, commands: []string{"cat .e$!nv", "cat .e$?nv", "cat ${!}.env"}},
		{id: "H06b", allow: []string{"git *"}, want: ask, commands: []string{"git rebase --ex$!ec 'touch FLAG' HEAD~1"}},
		{id: "H06c", deny: []string{"rm *"}, mode: permission.Bypass, want: ask, commands: []string{"r$!m keep", "r$?m keep", "$(echo rm) keep", "x=rm; $x keep", "ls; alias ls=rm\nls keep"}},
		{id: "H06d", deny: []string{"rm *"}, mode: permission.Bypass, want: ask, commands: []string{"echo a # \\\nrm keep", "[[ a == @($(rm keep)) ]]", "for f in ls; do $f x; f=rm; done"}},
		{id: "H06d, other rules", deny: []string{"read(.env)"}, mode: permission.Bypass, want: ask, commands: []string{"cat .en?", "cat .e*", "cat $x", "echo a # \\\ncat .env", "cat < $x", "sed p {.env,a}"}},
		{id: "H06d, other rules", deny: []string{"read(x/sub/**)"}, mode: permission.Bypass, want: ask, commands: []string{"cd x && cat sub/*.go", "cat x/sub/*.go"}},
		{id: "a mode stays", deny: []string{"read(.env)", "rm *"}, mode: permission.Plan, want: deny, commands: []string{"make $x", "ls > $x", "rm $x"}},
		{id: "H06d, other rules", deny: []string{"read(docs/**)"}, mode: permission.Bypass, want: ask, commands: []string{"grep -r x .", "grep -rn x", "rg x", "diff -r docs old", "cat do*/x"}},
		{id: "H06d, other rules", deny: []string{"edit(src/**)"}, mode: permission.Bypass, want: ask, commands: []string{"ls > $x", "touch $x", "tee $x", "ls | xargs rm"}},
		{id: "a folder above", deny: []string{"edit(src/a/**)"}, mode: permission.Bypass, want: ask, commands: []string{"rm -rf .", "rm -rf src", "rm -rf ./src/", "mv src old", "find . -delete", "find src -name x -exec rm {} +", "gofmt -w .", "git checkout -- .", "git rm -r src", "cp -r old src", "chmod -R 0 .",
			"cp --target-directory=src/a x", "cp --target-directory=src/a/b x", "cd src && rm -rf a", "cd src/a && rm -rf ..", "rsync --log-file=src/a/x y z"}},
		{id: "a folder above", deny: []string{"read(src/a/**)"}, mode: permission.Bypass, want: ask, commands: []string{"cp -r . /tmp/x", "tar cf - .", "tar cf x src", "zip -r x .", "rsync -a . x"}},
		{id: "a folder that is not named", deny: []string{"read(.env)"}, mode: permission.Bypass, want: ask, commands: []string{`find -type f -name ".e*" -exec cat {} +`, `find -maxdepth 1 -name ".e*" -exec cat {} +`, "find -L -newer a -exec cat {} +", "find -D tree -O3 ! -name a -exec cat {} +", `find '(' -name a ')' -ok cat {} \;`, "find -exec cat {} +", "bash -c 'find -type f -exec cat {} +'", "sudo find -type f -exec cp {} /tmp \\;",
			`find -name "*nv" | tar cf /tmp/x.tar -T -`, "tar cTf names x", "ls -A | cpio -o > x", "ls -A | pax -w > x", "ls -A | zip x -@", "rsync --files-from=names a b", "git add --pathspec-from-file=names", "find -files0-from names -exec cat {} +", "python3 -m zipfile -c x.zip .", "python3.12 -m tarfile -c x.tar .", "python3 -m http.server", "fd -H env -x cat", "fdfind -H -X cat", "zip -R x '*'", "7z a x.7z", "npm pack", "cargo package", "pnpm publish"}},
		{id: "a folder that is not named", deny: []string{"edit(secret/**)"}, mode: permission.Bypass, want: ask, commands: []string{"find -name x -delete", "find ! -name x -delete", "cd secret && find -delete", "git clean -fdx", "fd x -X rm"}},
		{id: "a file of a revision", deny: []string{"read(.env)"}, mode: permission.Bypass, want: ask, commands: []string{"git show :.env", "git show HEAD:.env", "git show HEAD:./.env", "git show :0:.env", "git cat-file -p :.env", "git cat-file blob HEAD~1:.ENV", "git diff HEAD:.env a", "git show HEAD:above/.env", "git -C . show :.env", "git grep x -- ':(top).env'", "git diff -- :/.env", "cd sub && git show HEAD:.env"}},
		{id: "a file of a revision", deny: []string{"read(config/**)"}, want: ask, commands: []string{"git show HEAD:config/a", "git show :config/a/b", "cd sub && git show HEAD:config/a"}},
		{id: "wrappers that hide what is denied", deny: []string{"rm *"}, mode: permission.Bypass, want: ask, commands: []string{"env -i - rm keep", "env - PATH=/bin rm keep", "env -vS'rm keep'", "env --split='rm keep'",
			"setarch x86_64 rm keep", "setarch -R rm keep", "linux64 rm keep", "choom -n 5 -- rm keep", "uclampset -m 5 rm keep", "perf stat -e x rm keep", "gdb -batch -ex run --args rm keep", "sg root -c 'rm keep'", "capsh -- -c 'rm keep'"}},
		{id: "builtins that evaluate words", deny: []string{"rm *"}, mode: permission.Bypass, want: ask, commands: []string{"printf -v 'a[$(rm keep)]' x", "printf -va[`echo 1`] x", `x='a[$(rm keep)]'; printf -v "$x" y`, "test -v 'a[$(rm keep)]'", `[ -v "$x" ]`,
			"read 'a[$(rm keep)]' <<< x", "unset 'a[$(rm keep)]'", "wait -p 'a[$(rm keep)]' -n", "mapfile -c1 -C 'rm keep #' < a", "readarray -tC 'rm keep #' < a", "compgen -C 'rm keep' x", "compgen -W '$(rm keep)'"}},
		{id: "builtins that set what decides", deny: []string{"rm *"}, mode: permission.Bypass, want: ask, commands: []string{"read PATH <<< /tmp; ls -v victim", "read PS4 < o; set -x; ls", "read CDPATH < o; cd d; echo x > y", "wait -p PATH; ls", "wait -fpPATH -n; ls", "read -a PATH < o; ls", "read -raPATH < o; ls", "read -r a BASH_ENV < o; sh -c ls",
			"read -d X -p Y GIT_PAGER < o; git log", "read -- LD_PRELOAD < o; ls", "while read -r PATH; do ls; done < o", "command read IFS < o; ls", "builtin read ENV < o; ls", "bash -c 'read PATH < o; ls'", "cat o | { read PROMPT_COMMAND; ls; }", `read P"AT"H < o; ls`}},
		{id: "builtins that set what decides", deny: []string{"read(.env)"}, mode: permission.Bypass, want: ask, commands: []string{"mapfile PATH < o; ls", "readarray -t -n 1 PATH < o; ls", "printf -v PATH /tmp; ls", "printf -vPATH /tmp; ls", "getopts a: PATH; ls", "unset PATH; ls", "unset -v GLOBIGNORE; cat x*", `"export" PATH=/tmp; ls`, "builtin declare PATH=/tmp; ls", "command local PATH=/tmp", "builtin let PATH=1",
			"((PATH=1)); ls", "let PATH=1", "coproc PATH { ls; }", "select PATH in a; do ls; done", "exec {PATH}< x; ls", ": ${PATH:=x}; ls", "echo ${x@P}"}},
		{id: "a section renamed", allow: []string{"git *"}, want: ask, commands: []string{"git config --rename-section user core", "git config --rename user core", "git config rename-section user core"}},
		{id: "H07", want: ask, commands: []string{"cat ./{1}a,.env}", "cat {a,.env}", "cat .{d..f}nv", "cat a{b,c"}},
		{id: "H07b", want: deny, commands: []string{"cat .e$\\\n\"nv\"", "cat .e\\\nnv"}},
		{id: "H08", allow: []string{"make *"}, want: ask, commands: []string{"make x # \\\nbash s.sh"}},
		{id: "H10", want: deny, commands: []string{"git grep -nO'touch FLAG;' x", "git grep -Otouch x", "git grep -inO x", "git grep --open-files x", "git grep -ePAT -O x"}},
		{id: "H11", want: deny, commands: []string{"printf %n PATH; ls", "printf a%-5nb PATH", "printf '%%%ln' PATH", "printf $x PATH", "printf -vPATH 0"}},
		{id: "H12", want: deny, commands: []string{"git show --remerge-diff", "git log --remerge", "git log --diff-merges=remerge", "git log --dd"}},
		{id: "H13", commands: []string{"git status", "git -C sub status"}},
		{id: "H14", commands: []string{"git status"}},
		{id: "H15", commands: []string{"git status", "git diff --stat", "go list ./..."}},
		{id: "H16", commands: []string{"git diff", "git describe --dirty"}},
		{id: "H17", commands: []string{"git show HEAD:a", "git cat-file -p HEAD"}},
		{id: "H18", want: deny, commands: []string{"git lfs ls-files", "git-lfs ls-files", "git standup"}},
		{id: "H19", want: deny, commands: []string{"cargo --version", "rustc -V", "rustup --version", "pytest --version", "pytest --help"}},
		{id: "H21", want: deny, commands: []string{"zcat -rf .", "zcat -fr .", "zcat --recursive ."}},
		{id: "H22", commands: []string{"grep -R . docs", "diff -rN a b"}},
		{id: "H23", want: deny, commands: []string{"jq -n 'import\"./credentials\" as $c;$c'", "jq -n 'import\t\"x\" as $c;$c'", "jq 'include\"x\";.'", "jq -nf x", "jq -n '[env]'", "jq -L. . a"}},
		{id: "H24", want: deny, commands: []string{"man ./x.1", "man -l x.1", "man docs/x.1"}},
		{id: "H25", commands: []string{"grep -rh . big"}},
		{id: "H30", allow: []string{"git *"}, want: ask, commands: []string{"git rebase -fx 'touch FLAG' HEAD~1", "git rebase -fxtouch HEAD", "git rebase -ki HEAD~2", "git grep -nOx y", "git archive -voFILE HEAD", "git tag -fs v1", "git merge -qs x y"}},
		{id: "H31", allow: []string{"git *"}, want: ask, commands: []string{"git clone -ccore.hooksPath=/h . cl", "git clone -qccore.x=y . cl"}},
		{id: "H32", allow: []string{"git *"}, want: ask, commands: []string{"git clone -qu'touch FLAG;git-upload-pack' . cl", "git clone -ux . cl", "git fetch -qux"}},
		{id: "H33", allow: []string{"git *"}, want: ask, commands: []string{"git merge-index ./e -a", "git merge-octopus x", "git mergetool", "git difftool -x e"}},
		{id: "H34", allow: []string{"git *"}, want: ask, commands: []string{"git submodule--helper foreach 'touch FLAG'", "git bisect--helper x", "git submodule foreach x", "git submodule --quiet foreach x", "git an-alias"}},
		{id: "H35", allow: []string{"go test *"}, want: ask, commands: []string{"go test -run --args -exec='sh -c x' ./...", "go test -args -exec=x", "go test -ldflags '-s -extld=x'", "go test --test.outputdir=x"}},
		{id: "H36", allow: []string{"npm run *", "curl *", "tar *"}, want: ask, commands: []string{"npm run e -script-shell=./evil", "npm run e -script-sh ./evil", "npm run e --script-shell ./evil", "npm run e -prefix /x", "npm run e -node-options=x"}},
		{id: "H37", allow: []string{"git *"}, want: ask, commands: []string{"git add -fA", "git add -Af", "git add --force .env", "git add -f x", "git add --forc x"}},
		{id: "a plugin", allow: []string{"cargo *", "kubectl *", "helm *", "gh *", "docker *", "brew *", "dotnet *"}, want: ask, commands: []string{"cargo x", "cargo -q x", "cargo --color always x", "cargo --frob build x", "kubectl x", "kubectl -n get x", "kubectl --as get x", "kubectl -n prod x y", "helm x", "gh x", "docker x", "docker -c ps x", "brew x", "dotnet x"}},
		{id: "a program of make's", allow: []string{"make *"}, want: ask, commands: []string{"make RM=./e clean", "make 'AR := e' x", "make x X='; e'", "make x X='a | e'", "make x 'X=a\" e'", "make PKG_CONFIG=e"}},
		{id: "make's text", allow: []string{"make *"}, want: ask, commands: []string{"make -E '$(shell touch FLAG)' x", "make -sE x y", "make --ev=x", "make '.SHELLFLAGS=-c touch FLAG;' x", "make 'X!=touch FLAG' x", "make 'CFLAGS=$(shell touch FLAG)'", "make MAKE=./e"}},
		{id: "a linker", allow: []string{"cargo *"}, want: ask, commands: []string{"cargo rustc -- -Clinker=./e", "cargo clippy -- -C linker=./e", "cargo -C x build"}},
		{id: "git's input", allow: []string{"git *"}, want: ask, commands: []string{"git hash-object -w --stdin-paths", "git stash -a", "git stash push -qa", "git stash save --all", "git read-tree --index-output=F HEAD", "git interpret-trailers --in-place F"}},
		{id: "pytest by python", allow: []string{"python3 -m pytest *"}, want: ask, commands: []string{"python3 -m pytest --junitxml=F", "python3 -m pytest -p evil"}},
		{id: "leaf 12", want: deny, commands: []string{"ps -ao environ", "ps -fo environ", "ps --format=environ", "ps e", "ps auxe", "awk 'BEGIN{for(k in SYMTAB) print SYMTAB[k]}'"}},
		{id: "leaf 13", want: deny, commands: []string{"sed 's/[]/]/g;s/w a/b/g' f", "sed 's/[^]/]/g;s/w a/b/g' f"}},
		{id: "another shell", allow: []string{"sh *", "zsh *", "fish *", "ls *", "echo *"}, want: ask, commands: []string{"sh -c 'ls &> x'", "sh -c '[[ a > b ]]'", "zsh -c '=ls'", "fish -c 'echo (touch x)'", "zsh -c 'ls *(e:x:)'"}},
	} {
		var rs permission.Rules
		for effect, texts := range map[permission.Verdict][]string{permission.Allow: a.allow, permission.Deny: a.deny} {
			rs = append(rs, rules(t, effect, texts...)...)
		}
		if a.mode == "" {
			a.mode = permission.Default
			if len(rs) == 0 {
				a.mode = permission.Plan
			}
		}
		for _, command := range a.commands {
			r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true}
			d := rs.Decide(r, a.mode)
			want := a.want
			if want == "" {
				if d.Verdict == permission.Allow && d.Sandbox != run.ReadOnly {
					t.Errorf("%s: %q is allowed in %q (%s)", a.id, command, d.Sandbox, d.Reason)
				}
				r.EnforcesReadOnly = false
				want = permission.Ask
				d = rs.Decide(r, a.mode)
			}
			if strictness[d.Verdict] < strictness[want] {
				t.Errorf("%s: %q in mode %s: %s (%s), want %s", a.id, command, a.mode, d.Verdict, d.Reason, want)
			}
		}
	}
}

// A deny rule holds over what cannot be known, in mode bypass too: a program that may run
// others asks, unless an allow rule covers it.
func TestInModeBypassADenyRuleHoldsOverProgramsThatRunOthers(t *testing.T) {
	t.Parallel()
	const allow, ask, deny = permission.Allow, permission.Ask, permission.Deny
	rs := slices.Concat(rules(t, deny, "git push *", "rm -rf *"), rules(t, allow, "go test *", "npm run build"))
	decide := func(rs permission.Rules, command string, hooks string) permission.Decision {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true, Hooks: hooks, LocalPrograms: []string{"local"}}
		return rs.Decide(r, permission.Bypass)
	}
	for want, commands := range map[permission.Verdict][]string{
		ask: {
			"git bisect run git push", "awk 'BEGIN{system(\"git push\")}'", "awk '{print | \"sh\"}' a", "awk -f x.awk", "gawk -f x", "find . -exec sh -c '$0' {} \\;", "find . -name push -exec git {} \\;", "find . -execdir ./x {} +",
			"ls | xargs git", "echo push | xargs git", "echo -rf x | xargs rm", "echo push | xargs env git", "echo git push | xargs env", "xargs -a ls make", "xargs --arg-file ls make", "ls | parallel make",
			"sed '1e git push' a", "sed -f x a", "sed -i -e e a", "vim -c '!git push' a", "vim a", "ex -s a", "ed a", "make", "make -n", "make x", "cmake --build .", "ninja", "npm test", "npm install", "yarn", "npx x", "pytest", "cargo build", "mvn test", "docker run x",
			"bash x.sh", "sh ./x.sh", "bash", "sh -s", ". ./x.sh", "source x", "./x.sh", "bin/x", "/work/x", "../x", "python3 x.py", "python3 -c 'import os'", "perl -e 'system(1)'", "node x.js", "ruby x.rb", "php x.php", "lua x.lua",
			"go run .", "go generate ./...", "go build -toolexec=x ./...", "go vet -vettool=x", "go tool x", "go env -w GOFLAGS=-toolexec=x", "gcc x.c", "tar --to-command=x -xf a", "tar xf a -Ix", "tar cf a --checkpoint-action=exec=x .", "zip -TT x a b", "split --filter=x a", "sort --compress-program=x a",
			"rg --pre x y", "fd -x {}", "man -P x ls", "wget --use-askpass=x u", "openssl engine x", "rsync -e x a b", "scp -o ProxyCommand=x a b:", "ssh host", "ssh host x", "watch git status", "nsenter x", "chroot . ls", "unshare ls", "sudo -s", "sudo -i", "screen ls", "tmux new x", "strace -o x ls", "script -c ls",
			"env X=1 git status", "env --chdir x ls", "timeout 5 make", "nohup make", "nice -n 5 ./x", "time make", "exec make", "command make", "(make)", "echo $(make)", "true && make", "local", "local x", "crontab x", "at now", "systemd-run x", "git rebase -x make HEAD~1", "git rebase -i HEAD~1",
			"git difftool -x y", "git -c core.pager=x log", "git -c alias.x='!y' x", "git standup", "git submodule foreach x", "git checkout-index --prefix=s/.git/hooks/ f", "cd $x && git status", "cd \"$(cat d)\"; git commit -m x", "env -Cevil git status", "env --chdir=evil git status", "git config core.fsmonitor x", "git config alias.x '!y'", "git clone ext::x", "git $x", "git grep -Ox y",
			"git init s && printf '[core]\nfsmonitor=x\n' >> s/.git/config && git -C s status", "tar xf a.tar && git -C a status", "cp -r a b && git -C b status", "cd s/.git && echo x > config && git status", "X=1 ls", "PATH=. ls", "f() { ls; }; f", "echo x > .bashrc; bash",
		},
		allow: {
			"ls -l", "cat a | head", "git status", "git diff HEAD~1", "git add -A && git commit -m x", "git checkout -b x", "git fetch origin", "mkdir -p a/b && touch a/b/c", "cp a b", "mv a b", "rm a", "chmod +x a", "ln -s a b", "sed -i s/a/b/ f", "sed -i.bak -e s/a/b/ f", "sed -ni p f", "sed -n 1,5p f", "awk '{print $1}' f",
			"find . -name '*.o' -delete", "find . -type f | head", "find . -name '*.go' | xargs grep x", "ls | xargs -n 1 echo", "tar czf a.tgz src", "tar xf a.tgz", "unzip a.zip", "gzip a", "curl -o x https://example.com", "echo x > f", "echo x | tee f", "go build ./...", "go vet ./...", "gofmt -l .", "go mod tidy", "go list ./...",
			"go test ./...", "npm run build", "timeout 60 go test ./...", "timeout 60 ls", "env ls", "sudo rm a", "nohup ls", "bash -c 'ls | wc -l'", "set -euo pipefail; ls", "for f in a b; do cat $f; done", "if [ -f a ]; then rm a; fi", "mkdir x && git add x", "rm x && git status", "echo x > f && git add f", "grep -rn x --include=*.go .", "command -v git", "python3 --version", "make --version",
		},
		deny: {"git push", "find . -exec sh -c 'git push' \\;", "fd -x git push", "ssh host git push", "env -S 'git push'", "f() { git push; }; f", "bash -c 'git push'", "timeout 5 git push", "env git push origin", "find . -exec rm -rf {} +", "ls | xargs rm -rf", "sudo git push", "/usr/bin/git push"},
	} {
		for _, command := range commands {
			if d := decide(rs, command, ""); d.Verdict != want {
				t.Errorf("%q: %s (%s), want %s", command, d.Verdict, d.Reason, want)
			}
			if d := decide(nil, command, "x"); d.Verdict != allow {
				t.Errorf("%q without a deny rule: %s (%s)", command, d.Verdict, d.Reason)
			}
		}
	}
	// Beside a rule for files what names others runs.
	for _, command := range []string{"rm -rf build", "cp -r a b", "mv x y", "tar czf x.tgz lib", "find lib -delete", "git add -A", "git commit -m src", "rm src/b", "mkdir src", "sed -i s/a/b/ lib/x", "go build ./...", "make", "dd if=x of=y"} {
		if d := decide(rules(t, deny, "edit(src/a/**)"), command, ""); d.Verdict != allow {
			t.Errorf("%q beside a rule for src/a: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
	for _, command := range []string{"find -name x", "find lib -name x -exec cat {} +", "find lib -name x -delete", "git show HEAD:lib/x", "git log -p :/fix", "git commit -m 'a: src/a/x'", "fd x lib", "npm test", "python3 -m pytest .", "python3 -m zipfile -l x.zip", "zip -r x lib"} {
		if d := decide(rules(t, deny, "read(src/a/**)"), command, ""); d.Verdict != allow {
			t.Errorf("%q beside a rule for src/a: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
	for _, command := range []string{"read x < o; ls", `read -p "Go On? " x; ls`, "while read -r line; do echo x; done < o", "read -r -d '' -t 5 -n 1 x y", "read -rp Prompt x", "read -ra words <<< 'a b'", "wait", "wait -n", "wait %Job"} {
		if d := decide(rs, command, ""); d.Verdict != allow {
			t.Errorf("%q: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
	// Hooks run for what changes a repository.
	for command, want := range map[string]permission.Verdict{"git commit -m x": ask, "git checkout x": ask, "git status": allow, "git log": allow} {
		if d := decide(rs, command, ".git/hooks/pre-commit"); d.Verdict != want {
			t.Errorf("%q where there is a hook: %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// The trick taken out, the same commands run.
func TestTheControlsOfTheListRun(t *testing.T) {
	t.Parallel()
	rs := rules(t, permission.Allow, "go test *", "npm run *", "git add *", "git commit *", "git rebase *", "git clone *", "git fetch *", "make *", "curl *", "./x.sh",
		"cargo *", "cargo x *", "kubectl *", "helm *", "gh *", "docker *", "brew *", "dotnet *")
	for _, command := range []string{
		"git status", "git diff", "git log -p -1", "git show HEAD:a", "git grep -n x", "git grep -il x", "git describe --dirty", "git show --stat", "git -C sub status", "git branch -a",
		"ls", "cat a", "cat a.go b.go | head -5", "grep -r x docs", "grep -R x docs", "rg -n x", "jq . a.json", "jq -r '.a[]' a.json", "jq '.env' a.json", "zcat a.gz", "man ls", "printf '%s\\n' a", "printf '%d%%\\n' 5", "wc a", "diff -r a b", "ps aux", "ps -ef",
		"go test -run X ./...", "go test -v -run 'TestA$' ./... 2>&1 | tail -20", "go version", "go list ./...", "npm run e", "npm run build -- --watch", "make x", "./x.sh",
		"make x V=1", "make x ARGS='-run X -v'", "make x PKG=./a/...", "make ENV=test x", "cargo x", "cargo -q test", "cargo test --no-run x", "cargo --color always build",
		"kubectl -n prod get pods", "kubectl get pods -o yaml", "helm list -A", "gh pr list --limit 3", "docker ps -a", "brew list", "dotnet build -c Release",
		"git rebase -q main", "git clone -q https://example.com/a b", "git add -A", "git add -u", "git commit -am 'x'", "git fetch -q origin", "echo a # comment", "cat <<'EOF'\n$(x) `y` \\\nEOF", "for f in a b; do wc -l $f; done", "x=1; echo done", "git stash list", "find . -name '*.go' | sort | uniq -c",
	} {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true}
		if d := rs.Decide(r, permission.Default); d.Verdict != permission.Allow && !strings.HasPrefix(command, "x=1") {
			t.Errorf("%q: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}

// H26, H26b: a deny or ask rule speaks of what is done to a file, whichever tool does it.
func TestARuleForAFileHoldsForEveryToolThatDoesTheSame(t *testing.T) {
	t.Parallel()
	const a, k, d = permission.Allow, permission.Ask, permission.Deny
	request := func(tool string, class run.Class, p string) permission.Request {
		return permission.Request{Tool: tool, Class: class, Edits: class == run.Writes, Paths: []string{p}, Workspace: "/work"}
	}
	for _, c := range []struct {
		effect         permission.Verdict
		rule, tool     string
		class          run.Class
		path           string
		normal, bypass permission.Verdict
	}{
		{d, "read(docs/**)", "search", run.Reads, "docs/d.txt", d, d},
		{d, "read(docs/**)", "search", run.Reads, "docs", d, d},
		{d, "read(docs/**)", "search", run.Reads, "DOCS/x", d, d},
		{d, "read(docs/**)", "search", run.Reads, ".", k, k}, // it reads what is below
		{d, "read(a/b/c.txt)", "search", run.Reads, "a/b", k, k},
		{d, "read(**/x.txt)", "search", run.Reads, "src", k, k},
		{d, "read(docs/**)", "search", run.Reads, "src", a, a},
		{d, "read(.env)", "search", run.Reads, ".", a, a}, // a search passes secrets over
		{d, "read(docs/**)", "list", run.Reads, "docs", d, d},
		{d, "read(docs/**)", "glob", run.Reads, "docs/x", d, d},
		{d, "read(docs/**)", "list", run.Reads, ".", a, a}, // names are not contents
		{d, "read", "search", run.Reads, "src", d, d},
		{d, "edit(src/**)", "write", run.Writes, "src/FLAG", d, d},
		{d, "write(src/**)", "edit", run.Writes, "src/FLAG", d, d},
		{d, "write", "edit", run.Writes, "a", d, d},
		{d, "edit(src/**)", "write", run.Writes, "doc/x", k, a},
		{k, "read(docs/**)", "search", run.Reads, "docs/d.txt", k, a},
		{k, "edit(src/**)", "write", run.Writes, "src/x", k, a},
		{a, "read(/etc/hosts)", "search", run.Reads, "/etc/hosts", k, a}, // to allow one tool allows no other
		{a, "edit(src/**)", "write", run.Writes, "src/x", k, a},
	} {
		r, err := permission.ParseRule(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		r.Effect = c.effect
		for mode, want := range map[permission.Mode]permission.Verdict{permission.Default: c.normal, permission.Bypass: c.bypass} {
			if got := (permission.Rules{r}).Decide(request(c.tool, c.class, c.path), mode); got.Verdict != want {
				t.Errorf("%s %s: %s %s in mode %s: %s (%s), want %s", c.effect, c.rule, c.tool, c.path, mode, got.Verdict, got.Reason, want)
			}
		}
	}
	edits := rules(t, d, "edit(src/**)")
	for _, command := range []string{"ls > src/x", "tee src/x", "cp a src/x", "sed -i s/a/b/ src/x", "mv a src/x"} {
		for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits, permission.Bypass} {
			r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", EnforcesReadOnly: true}
			if got := edits.Decide(r, mode); got.Verdict != d {
				t.Errorf("%s in mode %s: %s (%s)", command, mode, got.Verdict, got.Reason)
			}
		}
	}
}

// H60: the rules hold for each address that a fetch is redirected to.
func TestARedirectIsJudgedByTheRules(t *testing.T) {
	t.Parallel()
	rs := rules(t, permission.Allow, "fetch(www.example.com)", "fetch(localhost:3000)")
	rs = append(rs, rules(t, permission.Deny, "fetch(secret.example.com)", "fetch(*.internal.example.com)")...)
	rs = append(rs, rules(t, permission.Ask, "fetch(ask.example.com)")...)
	from := permission.Request{Tool: "fetch", Class: run.Reads, URL: "http://www.example.com/r"}
	for to, follows := range map[string]bool{
		"http://www.example.com/x": true, "https://example.com/x": true, "http://localhost:3000/": true,
		"http://secret.example.com/x": false, "http://SECRET.example.com./x": false, "https://secret.example.com:8443/": false, "http://a.internal.example.com": false, "http://ask.example.com/": false,
		"http://127.0.0.1/": false, "http://169.254.169.254/latest": false, "http://localhost/": false, "http://0x7f.1/": false, "http://u@www.example.com/": false, "file:///etc/passwd": false, "http://": false,
	} {
		if err := rs.CheckRedirect(from, to); (err == nil) != follows {
			t.Errorf("a redirect to %s: %v, want it to be followed: %t", to, err, follows)
		}
	}
}

// S2.29: Never always stores something, and what it stores denies the call.
func TestNeverStoresARuleThatDeniesTheCall(t *testing.T) {
	t.Parallel()
	for _, r := range []permission.Request{
		{Tool: "shell", Command: `eval "$X"; rm -rf foo`}, {Tool: "shell", Command: "for f in *; do rm $f; done"}, {Tool: "shell", Command: " sudo sh -c \"$x\" "}, {Tool: "shell", Command: "go test ./..."}, {Tool: "shell", Command: "ls > $x"}, {Tool: "shell", Command: "echo 'a'\\''b' \"$(x)\""}, {Tool: "shell", Command: "cat .env"}, {Tool: "shell", Command: "("},
		{Tool: "shell", Command: "ls\nmake *", Sandbox: run.WithNetwork},
		{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"a[1].go"}}, {Tool: "write", Class: run.Writes, Edits: true, Paths: []string{"x"}, Outside: true}, {Tool: "read", Class: run.Reads, Paths: []string{"/proc/self/environ"}},
		{Tool: "fetch", Class: run.Reads, URL: "http://u@example.com:8080/x"}, {Tool: "fetch", Class: run.Reads, URL: "http://[::1]/"}, {Tool: "post", Class: run.Writes},
	} {
		r.Workspace = "/work"
		p := permission.Rules(nil).Propose(r, permission.Default, nil)
		if len(p.Deny) == 0 {
			t.Errorf("%+v: nothing is stored", r)
			continue
		}
		var stored permission.Rules
		for _, rule := range p.Deny {
			data, err := rule.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			again, err := permission.Load(strings.NewReader(fmt.Sprintf(`{"rules":[%s]}`, data)), "", "x")
			if err != nil {
				t.Errorf("%s %s: %s cannot be stored: %v", r.Tool, r.Command, rule, err)
			}
			stored = append(stored, again...)
		}
		for _, mode := range []permission.Mode{permission.Default, permission.Bypass} {
			if d := stored.Decide(r, mode); d.Verdict != permission.Deny {
				t.Errorf("%+v with %q stored in mode %s: %s (%s)", r, texts(p.Deny), mode, d.Verdict, d.Reason)
			}
		}
		if len(p.Rules) == 0 && p.Reason == "" {
			t.Errorf("%s %s: always stores nothing and does not say why", r.Tool, r.Command)
		}
		// A program that may run what is denied asks, and no other is touched.
		for command, want := range map[string]permission.Verdict{"mkdir build": permission.Allow, "cargo build": permission.Ask} {
			other := permission.Request{Tool: "shell", Command: command, Workspace: "/work"}
			if d := stored.Decide(other, permission.Bypass); strictness[d.Verdict] > strictness[want] {
				t.Errorf("with %q %s: %s (%s)", texts(p.Deny), command, d.Verdict, d.Reason)
			}
		}
	}
}

// H70 and its like: what is made to take long is decided soon, and asks.
func TestALongCommandIsDecidedSoonAndAsks(t *testing.T) {
	t.Parallel()
	rs := slices.Concat(rules(t, permission.Allow, "*", "find *"), rules(t, permission.Deny, "rm *"))
	for name, command := range longCommands() {
		done := make(chan permission.Decision, 1)
		go func() {
			done <- rs.Decide(permission.Request{Tool: "shell", Command: command, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true}, permission.Default)
		}()
		select {
		case d := <-done:
			if d.Verdict == permission.Allow && name != "a long word" && name != "patterns" { // those are what the rules say
				t.Errorf("%s: allowed: %s", name, d.Reason)
			}
		case <-time.After(time.Minute): // a broken bound takes longer than anybody waits
			t.Errorf("%s: no decision", name)
		}
	}
}

func longCommands() map[string]string {
	return map[string]string{
		"H70":             "find " + strings.Repeat("-exec find . ", 2_000) + "x ;",
		"wrappers":        strings.Repeat("timeout 5 ", 5_000) + "ls",
		"words":           "env --x " + strings.Repeat("a ", 25_000),
		"xargs":           strings.Repeat("xargs -n1 ", 5_000) + "rm",
		"a long word":     "ls " + strings.Repeat("a/", 30_000),
		"patterns":        "ls " + strings.Repeat("*.go ", 12_000),
		"100 kB":          strings.Repeat("ls a.go; ", 12_000),
		"100 kB quoted":   "ls '" + strings.Repeat("x", 100_000) + "'",
		"folders":         "cd a; cd b; cd c; cd d; cp " + strings.Repeat("src ", 8_000),
		"inputs":          "cd a; cd b; cd c; cd d; cat " + strings.Repeat("<a ", 10_000),
		"a here-document": "cat > a.go <<E\n" + strings.Repeat("func f() {}\n", 1_300) + "E",
		"loops":           strings.Repeat("for f in a b c d e f g h; do ", 12) + "ls" + strings.Repeat("; done", 12),
	}
}

// The bar is 100 µs for what people and models run every day.
func BenchmarkDecideEveryday(b *testing.B) {
	rs := slices.Concat(rules(b, permission.Allow, "go test *", "npm run *", "make *"), rules(b, permission.Deny, "rm *", "git push *"))
	commands := everyday(b)
	requests := make([]permission.Request, len(commands))
	for i, c := range commands {
		requests[i] = permission.Request{Tool: "shell", Command: c, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true}
	}
	for i := 0; b.Loop(); i++ {
		rs.Decide(requests[i%len(requests)], permission.Default)
	}
}

func BenchmarkDecideLong(b *testing.B) {
	rs := slices.Concat(rules(b, permission.Allow, "*"), rules(b, permission.Deny, "rm *"))
	for name, command := range longCommands() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				rs.Decide(permission.Request{Tool: "shell", Command: command, Workspace: "/work"}, permission.Default)
			}
		})
	}
}
