package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/internal/lazy"
	"pawl/permission"
)

// The flags and commands of other agents are not accepted under their own names: pawl has
// one name for each thing, and a flag that means nearly the same would change what may run
// without a word. They are recognised, and the error has the command line that says it here.

// A foreignFlag is a flag of another agent. Sources, read 2026-11-22:
// code.claude.com/docs/en/cli-reference, developers.openai.com/codex/cli/reference,
// opencode.ai/docs/cli, geminicli.com/docs/cli/cli-reference, aider.chat/docs/config/options.html.
type foreignFlag struct {
	value  bool                  // it has one
	values func() *regexp.Regexp // that it can have, where it also stands alone; nil: any
	more   bool                  // and takes the rules that follow as well
	// ours are the arguments that say it here; nil: nothing does, and the flag is left out.
	ours func(value string) []string
	// remark says what is different here, or why the flag is left out.
	remark string
}

var foreignFlags = map[string]foreignFlag{
	"--output-format":                      {value: true, ours: withFlag("--output")},
	"--json":                               {ours: fixed("--output", "json"), remark: "--output stream-json prints a line for each event"},
	"--experimental-json":                  {ours: fixed("--output", "stream-json")},
	"--format":                             {value: true, ours: outputOf},
	"--include-partial-messages":           {remark: "--output stream-json has them"},
	"--verbose":                            {remark: "progress is on standard error; `pawl runs log` has every event"},
	"--debug":                              {remark: "PAWL_LOG=debug writes diagnostics to the state folder"},
	"--output-last-message":                {value: true, ours: func(v string) []string { return []string{redirect, v} }, remark: "only the result is on standard output"},
	"--json-schema":                        {value: true, ours: withFlag("--output-schema")},
	"--allowedTools":                       {value: true, more: true, ours: rulesFor("--allow")},
	"--allowed-tools":                      {value: true, more: true, ours: rulesFor("--allow")},
	"--disallowedTools":                    {value: true, more: true, ours: rulesFor("--deny")},
	"--disallowed-tools":                   {value: true, more: true, ours: rulesFor("--deny")},
	"--permission-mode":                    {value: true, ours: modeOf},
	"--approval-mode":                      {value: true, ours: modeOf},
	"--approval-policy":                    {value: true, ours: approvalOf, remark: "on a terminal pawl asks; elsewhere --on-ask says what happens"},
	"--ask-for-approval":                   {value: true, ours: approvalOf, remark: "on a terminal pawl asks; elsewhere --on-ask says what happens"},
	"-a":                                   {value: true, values: approvalPolicy, ours: approvalOf, remark: "on a terminal pawl asks; elsewhere --on-ask says what happens"},
	"--sandbox":                            {value: true, values: sandboxPolicy, ours: sandboxOf, remark: sandboxRemark},
	"-s":                                   {value: true, values: sandboxOrSession, ours: sandboxOf, remark: sandboxRemark},
	"--full-auto":                          {ours: fixed("--mode", "accept-edits"), remark: "--allow shell lets commands run without a question too, sandboxed"},
	"--yolo":                               {ours: fixed("--mode", "bypass"), remark: bypassRemark},
	"-y":                                   {ours: fixed("--mode", "bypass"), remark: bypassRemark},
	"--auto":                               {ours: fixed("--mode", "bypass"), remark: bypassRemark},
	"--yes-always":                         {ours: fixed("--mode", "accept-edits"), remark: "--allow RULE lets commands run without a question"},
	"--dangerously-skip-permissions":       {ours: fixed("--mode", "bypass"), remark: bypassRemark},
	"--allow-dangerously-skip-permissions": {remark: "--mode bypass chooses that mode, and nothing has to allow it before"},
	"--dangerously-bypass-approvals-and-sandbox": {ours: fixed("--mode", "bypass"), remark: bypassRemark},
	"--max-turns":                {value: true, ours: withFlag("--max-steps")},
	"--max-budget-usd":           {value: true, ours: withFlag("--max-cost")},
	"--cd":                       {value: true, ours: withFlag("-C")},
	"--cwd":                      {value: true, ours: withFlag("-C")},
	"--session":                  {value: true, ours: withFlag("--resume")},
	"--session-id":               {value: true, remark: "pawl chooses the id of a run; --output json has it, as \"run\""},
	"--fork-session":             {remark: "fork first: pawl run --resume \"$(pawl runs fork last)\""},
	"--fork":                     {remark: "fork first: pawl run --resume \"$(pawl runs fork last)\""},
	"--message":                  {value: true, ours: withFlag("-p")},
	"--oss":                      {ours: fixed("--model", "ollama/NAME"), remark: "without a key the server is found by itself"},
	"--list-sessions":            {remark: "pawl runs list"},
	"--delete-session":           {value: true, remark: "pawl runs rm ID"},
	"--skip-git-repo-check":      {remark: "pawl works in any folder"},
	"--ephemeral":                {remark: "pawl runs rm ID removes a run"},
	"--no-session-persistence":   {remark: "pawl runs rm ID removes a run"},
	"--color":                    {value: true, remark: "NO_COLOR=1 turns colours off"},
	"--no-color":                 {remark: "NO_COLOR=1 turns colours off"},
	"--mcp-config":               {value: true, remark: "pawl has no MCP client yet"},
	"--strict-mcp-config":        {remark: "pawl has no MCP client yet"},
	"--allowed-mcp-server-names": {value: true, remark: "pawl has no MCP client yet"},
	"--input-format":             {value: true, remark: "one prompt for each pawl run; pawl run --continue has the next one"},
	"--system-prompt":            {value: true, remark: "AGENTS.md holds instructions"},
	"--settings":                 {value: true, remark: "settings are flags, PAWL_… variables and config.toml; see pawl config"},
	"--profile":                  {value: true, remark: "settings are flags, PAWL_… variables and config.toml; see pawl config"},
	"--config":                   {value: true, remark: "settings are flags, PAWL_… variables and config.toml; see pawl config"},
	"--tools":                    {value: true, remark: "--deny TOOL forbids a tool"},
	"--last":                     {ours: fixed("--resume", "last")},
	"--provider":                 {value: true, remark: "--model PROVIDER/NAME names both"},
	"--api-key":                  {value: true, remark: "keys are variables such as ANTHROPIC_API_KEY"},
	"--no-session":               {remark: "pawl runs rm ID removes a run"},
	"--list-models":              {remark: "pawl models"},
	"--approve":                  {ours: fixed("--trust")},
	"--skip-trust":               {ours: fixed("--trust")},
	"--no-tools":                 {remark: "--deny TOOL forbids a tool"},
	"--exclude-tools":            {value: true, ours: rulesFor("--deny")},
	"--permission-prompt-tool":   {value: true, ours: fixed("--on-ask", "wait"), remark: "pawl runs decide answers, from any process"},
	"--worktree":                 {value: true, values: worktreeName, remark: "git worktree add makes one; -C works in it"},
	"-w":                         {value: true, values: worktreeName, remark: "git worktree add makes one; -C works in it"},
	"--setting-sources":          {value: true, remark: "settings are flags, PAWL_… variables and config.toml; see pawl config"},
	"--share":                    {remark: "pawl runs export ID --format html makes a page"},
	"--search":                   {remark: "pawl has no web search; fetch reads a page"},
}

const (
	bypassRemark  = "deny rules and the sandbox hold in mode bypass"
	sandboxRemark = "commands are sandboxed in every mode; pawl permissions add RULE --sandbox network lifts that for some"
	// redirect stands in a translated line for the shell's >, which is not quoted.
	redirect = "\x00>"
)

var (
	sandboxPolicy    = lazy.Regexp(`^(read-only|workspace-write|danger-full-access)$`)
	approvalPolicy   = lazy.Regexp(`^(untrusted|on-request|on-failure|never)$`)
	worktreeName     = lazy.Regexp(`^[A-Za-z0-9._-]+$`) // a name, and no task
	sandboxOrSession = lazy.Regexp(`^(read-only|workspace-write|danger-full-access|ses_.*)$`)
)

func fixed(args ...string) func(string) []string { return func(string) []string { return args } }

func withFlag(name string) func(string) []string {
	return func(value string) []string { return []string{name, value} }
}

func outputOf(format string) []string {
	switch format {
	case "json":
		return []string{"--output", "stream-json"} // OpenCode prints events
	case "default":
		return []string{}
	}
	return []string{"--output", format}
}

// rulesFor returns the rules of a list in the form of Claude Code: divided by commas or blanks
// outside of parentheses.
func rulesFor(flag string) func(string) []string {
	return func(list string) []string {
		var args []string
		depth := 0
		for _, rule := range strings.FieldsFunc(list, func(r rune) bool {
			switch r {
			case '(':
				depth++
			case ')':
				depth--
			}
			return depth == 0 && (r == ',' || r == ' ')
		}) {
			args = append(args, flag, rule) // typedRule translates it
		}
		return args
	}
}

var foreignModes = map[string]string{
	"default": "default", "manual": "default", "acceptedits": "accept-edits", "auto_edit": "accept-edits", "auto": "accept-edits",
	"plan": "plan", "bypasspermissions": "bypass", "yolo": "bypass",
}

func modeOf(mode string) []string {
	if strings.EqualFold(mode, "dontAsk") {
		return []string{"--on-ask", "deny"}
	}
	if ours := foreignModes[strings.ToLower(mode)]; ours != "" {
		mode = ours
	}
	return []string{"--mode", mode}
}

func approvalOf(policy string) []string {
	if policy == "never" {
		return []string{"--on-ask", "deny"}
	}
	return []string{}
}

func sandboxOf(policy string) []string {
	switch policy {
	case "read-only":
		return []string{"--mode", "plan"}
	case "workspace-write":
		return []string{"--mode", "accept-edits"}
	case "danger-full-access":
		return []string{"--mode", "bypass"}
	}
	if strings.HasPrefix(policy, "ses_") { // OpenCode's -s is a session
		return []string{"--resume", policy}
	}
	return []string{}
}

// foreignValues says of values of --mode, --output and --resume that another agent has what
// they are here.
func foreignValues(cmd *cobra.Command, r runRequest) error {
	mode := ""
	if f := cmd.Flags().Lookup("mode"); f != nil && f.Changed {
		mode = f.Value.String()
	}
	switch ours := foreignModes[strings.ToLower(mode)]; {
	case mode == "json" || mode == "text":
		return usage("--mode %s: the form of the result is --output %s here; --mode says what may run without a question", mode, mode)
	case strings.EqualFold(mode, "dontAsk"):
		return usage("--mode %s: use --on-ask deny", mode)
	case ours != "" && ours != mode:
		return usage("--mode %s: use --mode %s", mode, ours)
	}
	if cmd.Flags().Changed("output") && strings.ContainsAny(r.output, "./") {
		return usage("--output is a form (text, json, stream-json) and no file: > %s writes the result there", shellWord(r.output))
	}
	if r.resume == "latest" {
		return usage("--resume latest: use --resume last")
	}
	return nil
}

// foreignRule is the form of a rule of Claude Code.
var foreignRule = lazy.Regexp(`^[A-Z][A-Za-z]+(\(.*\))?$|^mcp__`)

// translate returns a command line of pawl that says what args say with the flags of other
// agents, and remarks on what is different. cmd has the flags that are pawl's own.
func translate(cmd *cobra.Command, args []string) (ours, remarks []string) {
	remark := func(text string) {
		if text != "" && !slices.Contains(remarks, text) {
			remarks = append(remarks, text)
		}
	}
	var after []string // the redirection
	end := flagsEnd(args)
	for i := 0; i < end; i++ {
		name, value, joined := strings.Cut(args[i], "=")
		f, ok := foreignFlags[name]
		if !ok || isOwnFlag(cmd, name) {
			ours = append(ours, args[i])
			continue
		}
		values := []string{value}
		if f.value && !joined && i+1 < end && !flagForm().MatchString(args[i+1]) && (f.values == nil || f.values().MatchString(args[i+1])) {
			i++
			values = []string{args[i]}
		}
		for f.more && i+1 < end && foreignRule().MatchString(args[i+1]) {
			i++
			values = append(values, args[i])
		}
		remark(f.remark)
		if f.ours == nil {
			continue
		}
		for _, v := range values {
			if said := f.ours(v); len(said) > 0 && said[0] == redirect {
				after = said
			} else {
				ours = append(ours, said...)
			}
		}
	}
	ours = append(ours, args[end:]...)
	return append(typedRules(ours), after...), remarks
}

// typedRules translates the rules of --allow, --ask and --deny.
func typedRules(args []string) []string {
	var ours []string
	end := flagsEnd(args)
	for i := 0; i < len(args); i++ {
		name, rule, joined := strings.Cut(args[i], "=")
		if i >= end || name != "--allow" && name != "--ask" && name != "--deny" || !joined && i+1 == end {
			ours = append(ours, args[i])
			continue
		}
		if !joined {
			i++
			rule = args[i]
		}
		translated, why := permission.Translate(rule, app.ToolNames())
		switch {
		case len(translated) > 0:
			for _, r := range translated {
				ours = append(ours, name, r)
			}
		case why == "": // else pawl has no such tool
			ours = append(ours, name, rule)
		}
	}
	return ours
}

// isOwnFlag reports whether cmd has the flag, as --name or -n.
func isOwnFlag(cmd *cobra.Command, name string) bool {
	if strings.HasPrefix(name, "--") {
		return cmd.Flags().Lookup(name[2:]) != nil
	}
	return len(name) == 2 && cmd.Flags().ShorthandLookup(name[1:]) != nil
}

// foreignFlagError is the error for a flag that another agent has, with the command line
// that says the same here; nil if none is known to have it. Only pawl run has counterparts.
func foreignFlagError(cmd *cobra.Command, args []string, name string) error {
	f, ok := foreignFlags[name]
	runs := cmd
	if !cmd.HasParent() {
		runs, _, _ = cmd.Find([]string{"run"})
		args = append([]string{"run"}, withoutPrint(args)...)
	}
	if !ok || runs == nil || runs.Flags().Lookup("prompt") == nil {
		return nil
	}
	line, remarks := translate(runs, args)
	said := fmt.Sprintf("unknown flag %s. Use:\n  %s", name, foreignLine(line))
	if f.ours == nil {
		said = fmt.Sprintf("unknown flag %s (%s). Without it:\n  %s", name, f.remark, foreignLine(line))
		remarks = slices.DeleteFunc(remarks, func(r string) bool { return r == f.remark })
	}
	if len(remarks) > 0 {
		said += "\n(" + strings.Join(remarks, "; ") + ")"
	}
	return usage("%s", said)
}

// foreignLine is a translated line to be copied.
func foreignLine(args []string) string {
	if i := slices.Index(args, redirect); i >= 0 {
		return "pawl " + shellLine(args[:i]) + " > " + shellLine(args[i+1:])
	}
	return "pawl " + shellLine(args)
}

// A foreignVerb is a command of another agent, or one of pawl's in the wrong place.
type foreignVerb struct {
	// ours is the command line that does it here. The words after the command follow it where
	// it ends with a blank. Empty: nothing does.
	ours   string
	remark string
	// always: the word is the command also in front of several words, and never the beginning
	// of a task.
	always bool
}

const noKeys = "pawl has no log-in: keys are variables such as ANTHROPIC_API_KEY"

var foreignVerbs = map[string]foreignVerb{
	"import": {remark: "pawl cannot import a conversation"},
	"agent":  {ours: "agents"},
	"ask":    {ours: "run "}, "chat": {ours: "run ", remark: "pawl alone is the terminal agent"},
	"e": {ours: "run ", always: true}, "exec": {ours: "run ", always: true}, "prompt": {ours: "run "},
	"auth": {ours: "doctor", remark: noKeys}, "login": {ours: "doctor", remark: noKeys}, "setup-token": {ours: "doctor", remark: noKeys},
	"logout":   {ours: "doctor", remark: noKeys},
	"continue": {ours: "run --continue"},
	"resume":   {ours: "run --resume "},
	"list":     {ours: "runs list"}, "ls": {ours: "runs list"}, "history": {ours: "runs list"}, "session": {ours: "runs list"}, "sessions": {ours: "runs list"},
	"delete": {ours: "runs rm "}, "rm": {ours: "runs rm "}, "remove": {ours: "runs rm "},
	"cost": {ours: "stats"}, "usage": {ours: "stats"}, "insights": {ours: "stats"},
	"plugin": {remark: "pawl has no plugins", always: true}, "plugins": {remark: "pawl has no plugins", always: true},
	"extensions": {remark: "pawl has no extensions", always: true}, "skills": {remark: "pawl has no skills yet"}, "hooks": {remark: "pawl has no hooks yet"},
	"review": {ours: "run 'review the changes that are not committed' --mode plan"},
	"rules":  {ours: "permissions list"},
	"web":    {ours: "serve", remark: "it serves the API; there is no page for people yet"}, "acp": {remark: "pawl does not speak ACP yet"},
	"settings": {ours: "config"}, "status": {ours: "doctor"}, "compact": {remark: "pawl compacts by itself; see --compact-at"},
	"update": {ours: "version", remark: "pawl does not update itself: install it again"}, "upgrade": {ours: "version", remark: "pawl does not update itself: install it again"},
}

// foreignCommand returns the error for words that begin with a command of another agent, or
// with a subcommand of pawl runs. Such a word in front of several others may be the
// beginning of a task: then nil.
func foreignCommand(root *cobra.Command, args, words []string) error {
	verb, ok := foreignVerbs[words[0]]
	if runs, _, err := root.Find([]string{"runs"}); !ok && err == nil && slices.Contains(commandNames(runs), words[0]) {
		verb, ok = foreignVerb{ours: "runs " + words[0] + " "}, true
	}
	if !ok || len(words) > 2 && !verb.always {
		return nil
	}
	task := ""
	if len(words) > 1 && !verb.always {
		task = "\nAs a task: pawl run " + shellWord(strings.Join(words, " "))
	}
	if verb.ours == "" {
		return usage("unknown command %q: %s. See pawl --help%s", words[0], verb.remark, task)
	}
	given := words[0]
	rest := without(args, given)
	if len(words) > 1 && (given == "exec" || given == "e") && words[1] == "resume" { // codex exec resume
		verb, words, rest = foreignVerbs["resume"], words[1:], without(rest, "resume")
	}
	if words[0] == "resume" && slices.Contains(rest, "--last") {
		verb.ours, rest = "run --resume last ", without(rest, "--last")
	}
	line := strings.Fields(verb.ours)
	said := ""
	switch {
	case !strings.HasSuffix(verb.ours, " "):
		said = verb.ours
	case line[0] == "run":
		cmd, _, _ := root.Find(line[:1])
		translated, remarks := translate(cmd, rest)
		if len(words) == 1 && len(line) < 3 { // what follows is missing
			missing := map[bool]string{true: "last", false: "\"…\""}[len(line) > 1]
			said = strings.TrimSpace(strings.Join(line, " ") + " " + missing + " " + shellLine(translated))
			break
		}
		said = strings.TrimPrefix(foreignLine(append(line, translated...)), "pawl ")
		if len(remarks) > 0 && verb.remark == "" {
			verb.remark = strings.Join(remarks, "; ")
		}
	case len(words) == 1:
		said = verb.ours + "last"
	default:
		said = verb.ours + shellLine(rest)
	}
	if verb.remark != "" {
		return usage("unknown command %q. Use:\n  pawl %s\n(%s)%s", given, said, verb.remark, task)
	}
	return usage("unknown command %q. Use:\n  pawl %s%s", given, said, task)
}

// without returns args without the first that is word.
func without(args []string, word string) []string {
	i := slices.Index(args, word)
	if i < 0 {
		return args
	}
	return slices.Delete(slices.Clone(args), i, i+1)
}
