package permission_test

import (
	"strings"
	"testing"

	"pawl/permission"
	"pawl/run"
)

// A rule may be written with ./ and in other capitals than the file, on a disk that does not
// tell them apart.
func TestADenyRuleWithADotHoldsForAFolderAboveTheFile(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"edit(./src/keep.txt)", "edit(SRC/Keep.txt)"} {
		r, err := permission.ParseRule(rule)
		if err != nil {
			t.Fatal(err)
		}
		r.Effect = permission.Deny
		request := permission.Request{Tool: "shell", Command: "rm -rf src", Class: run.Writes, Workspace: "/work", Sandboxed: true}
		if d := (permission.Rules{r}).Decide(request, permission.Bypass); d.Verdict == permission.Allow {
			t.Errorf("%s: rm -rf src runs: %s", rule, d.Reason)
		}
	}
}

// What braces expand to is one command, with each word once.
func TestADenyRuleOfSeveralWordsHoldsForWordsInBraces(t *testing.T) {
	t.Parallel()
	deny := rules(t, permission.Deny, "git push origin *")
	for _, command := range []string{"git push origin {a,b}", "git {push,origin} x", "{git,push} origin x"} {
		if d := ask(deny, command, "/work"); d.Verdict != permission.Deny {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}

// A link may lead to a file that must not be changed: then it is not changed, and may be read.
func TestADenyRuleForChangingHoldsWhereALinkLeads(t *testing.T) {
	t.Parallel()
	rule, err := permission.ParseRule("edit(src/**)")
	if err != nil {
		t.Fatal(err)
	}
	rule.Effect = permission.Deny
	rs := append(rules(t, permission.Allow, "touch *"), rule)
	for command, want := range map[string]permission.Verdict{"touch link": permission.Deny, "cat link": permission.Allow} {
		r := permission.Request{Tool: "shell", Command: command, Class: permission.Classify(command).Class, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true,
			Paths: []string{"/work/link"}, Resolved: []string{"src/x"}}
		if d := rs.Decide(r, permission.Default); d.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// Without a sandbox only a variable of the shell itself that is a number may be shown.
func TestWithoutASandboxAVariableIsNotShown(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]permission.Verdict{"echo $?": permission.Allow, "echo $SECRET": permission.Ask, "echo ${SECRET}": permission.Ask, "echo ${?:-$X}": permission.Ask} {
		r := permission.Request{Tool: "shell", Command: command, Class: run.Reads, Workspace: "/work", EnforcesReadOnly: true}
		if d := permission.Rules(nil).Decide(r, permission.Default); d.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// Never stores the whole text of a command whose meaning is not known.
func TestNeverOfACommandThatIsNotKnownIsItsText(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{`eval rm x`: `shell('eval rm x')`, "touch a": "shell(touch a)"} {
		r := permission.Request{Tool: "shell", Command: command, Class: run.Writes, Workspace: "/work"}
		deny := permission.Rules(nil).Propose(r, permission.Default, nil).Deny
		if len(deny) != 1 || deny[0].String() != want {
			t.Errorf("%s: %v, want %s", command, deny, want)
		}
	}
}

// What a pattern of names stands for may be an option, by which a reader writes, unless it begins as
// names of files do.
func TestAPatternThatMayBecomeAnOptionIsNoNameOfAFileThatIsRead(t *testing.T) {
	t.Parallel()
	rule, err := permission.ParseRule("edit(*.go)")
	if err != nil {
		t.Fatal(err)
	}
	rule.Effect = permission.Deny
	for command, want := range map[string]permission.Verdict{"cat ?.go": permission.Ask, "cat *a.go": permission.Ask, "cat a*.go": permission.Allow, "cat ./*.go": permission.Allow, "cat 1*.go": permission.Allow, "cat _*.go": permission.Allow} {
		r := permission.Request{Tool: "shell", Command: command, Class: run.Reads, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true}
		if d := (permission.Rules{rule}).Decide(r, permission.Bypass); d.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// What bash reads in its own way is not read as something simple: quotes with a dollar in [[ ]], any quotes in ${ }.
func TestQuotesWithADollarAreNotPlain(t *testing.T) {
	t.Parallel()
	for command, what := range map[string]string{
		`[[ a == 'a' ]] && ls`: "", `[[ a == "a" ]] && ls`: "", `ls ${x:-a}`: "",
		`[[ a == $'a' ]] && ls`: "an unusual word in [[ ]]", `[[ a == $"a" ]] && ls`: "an unusual word in [[ ]]",
		`ls ${x:-'a'}`: "an expansion with quotes", `ls ${x:-"a"}`: "an expansion with quotes",
	} {
		d := ask(nil, command, "/work")
		if found := strings.Contains(d.Reason, "unusual") || strings.Contains(d.Reason, "an expansion with"); found != (what != "") || !strings.Contains(d.Reason, what) {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}

// Options of git without a command are read to their end, and a folder does not hide which command is run.
func TestOptionsBeforeTheCommandOfGit(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]permission.Verdict{"git --version": permission.Allow, "git": permission.Allow, "git -C": permission.Ask, "git -C sub": permission.Allow, "git -c": permission.Ask} {
		if d := ask(nil, command, "/work"); d.Verdict != want || strings.Contains(d.Reason, "could not be") {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
	for _, command := range []string{"git fetch", "git -C sub fetch", "git --no-pager fetch"} {
		if d := permission.Rules(nil).Decide(contained(command), permission.Default); !strings.HasPrefix(d.Reason, "it needs the network") {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}

// A rule for a subcommand is compared with a command of very many options in no time.
func TestACommandOfManyOptionsIsJudgedAtOnce(t *testing.T) {
	t.Parallel()
	deny := rules(t, permission.Deny, "tool rm *")
	command := "tool" + strings.Repeat(" -a", 200) + " rm x"
	if d := ask(deny, command, "/work"); d.Verdict != permission.Deny {
		t.Errorf("%s (%s)", d.Verdict, d.Reason)
	}
}
