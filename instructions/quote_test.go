package instructions

import (
	"os/exec"
	"strings"
	"testing"
)

// What a person types is a word of the command, or a part of one, and nothing else: wherever its mark stands.
func TestAnArgumentIsOnlyItselfInACommand(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	const typed = "a \"$(echo ran)\" `echo ran` \\'$'x\\n' ; echo ran # $HOME \\\\ !"
	oneLine := strings.NewReplacer("\n", " ")
	for line, want := range map[string]string{
		`printf '%s|' $1`:                                      typed + "|",
		`printf '%s|' "$1"`:                                    typed + "|",
		`printf '%s|' '$1'`:                                    typed + "|",
		`printf '%s|' $'$1'`:                                   typed + "|",
		`printf '%s|' --x="$1" y$1`:                            "--x=" + typed + "|y" + typed + "|",
		`printf '%s|' "$(printf '%s' "$1")" '"' "$1"`:          typed + `|"|` + typed + "|",
		`printf '%s|' "$(printf %s '$1')x"`:                    typed + "x|",
		`printf '%s|' "\"$1" \"$1`:                             `"` + typed + `|"` + typed + "|",
		"printf 'x|' # it's $1\nprintf '%s|' $1":               "x|" + typed + "|",
		`(printf '%s|' "$1"); printf '%s|' $1`:                 typed + "|" + typed + "|",
		"cat <<< $1":                                           typed + "\n",
		"cat <<EOF\n$1\nEOF":                                   oneLine.Replace(typed) + "\n",
		`printf '%s|' "$(case x in x) printf %s "$1";; esac)"`: typed + "|",
		"printf '%s|' \"${none:-$1}\"":                         "a echo ran echo ran xn  echo ran  HOME  |",
		"printf '%s|' `printf %s $1 | tr ' ' _`":               strings.ReplaceAll(typed, " ", "_") + "|",
		"printf '%s|' \"`printf %s $1`\" $1":                   typed + "|" + typed + "|",
		"printf '%s|' \"`printf %s '$1'`x$1\"":                 typed + "x" + typed + "|",
		"printf '%s|' \"`printf %s \"$1\"`\"":                  typed + "|",
		"printf '%s|' \"$(printf %s `printf x`\"$1\")\"":       "x" + typed + "|",
		"cat <<EOF > /dev/null\nEOF\n: $1":                     "",
	} {
		c := Command{body: "!`x`"}
		got, err := exec.Command(bash, "-c", c.fill(Piece{Text: line, Shell: true}, &given{all: typed, words: []string{typed}})).CombinedOutput()
		if err != nil || string(got) != want {
			t.Errorf("%s prints %q, want %q: %v", line, got, want, err)
		}
	}
	for _, line := range []string{`echo $(( $1 ))`, `x[$1]=1`, `for $1`, `echo "${x[$1]}"`} { // numbers are evaluated, and what is broken may run in part
		const attack = "a[$(echo ran)]`echo ran`;\n"
		if got := (Command{}).fill(Piece{Text: line, Shell: true}, &given{words: []string{attack}}); strings.ContainsAny(strings.ReplaceAll(got, line[:strings.Index(line, "$1")], ""), "`;\n") || strings.Contains(got, "$(echo") {
			t.Errorf("%s is %q", line, got)
		}
	}
	for line, want := range map[string]string{`grep "$ARGUMENTS" $ARGUMENTS`: `grep "a \"b c\"" a 'b c'`, `grep '$ARGUMENTS'`: `grep 'a "b c"'`} {
		if got := (Command{}).fill(Piece{Text: line, Shell: true}, &given{all: `a "b c"`, words: []string{"a", "b c"}}); got != want {
			t.Errorf("%s is %s, want %s", line, got, want)
		}
	}
}
