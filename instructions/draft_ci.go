package instructions

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ciTools are the first words of the commands of a CI that a person would run too.
var ciTools = func() map[string]bool {
	tools := map[string]bool{}
	for tool := range strings.FieldsSeq(`bazel bun bundle cargo cmake composer ctest dart deno dotnet flutter go gofmt golangci-lint gradle hatch just make meson mix
		mvn mypy ninja node nox npm npx pdm phpunit pnpm poetry pre-commit pyright pytest python python3 rake ruff sbt staticcheck swift task tox uv yarn zig`) {
		tools[tool] = true
	}
	return tools
}()

// ciLines returns the commands of the CI that are not among those that are listed.
func (s *survey) ciLines(commands []command) []string {
	known := map[string]bool{}
	for _, c := range commands {
		known[c.line] = true
	}
	var lines []string
	for _, file := range s.ciFiles() {
		for _, line := range ciCommands(s.lines(file)) {
			if !known[line] {
				known[line] = true
				lines = append(lines, "- "+code(line)+" ("+code(file)+")")
			}
		}
	}
	return bounded(lines, maxCI, "command")
}

// ciFiles returns the files that configure CI, but not those that publish.
func (s *survey) ciFiles() []string {
	var files []string
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		ext := path.Ext(name)
		workflow := path.Base(path.Dir(name)) == "workflows" && ciFolders[path.Dir(name)] && (ext == ".yml" || ext == ".yaml")
		if workflow && !publishes.MatchString(path.Base(name)) || name == ".gitlab-ci.yml" || name == ".circleci/config.yml" {
			files = append(files, name)
		}
	}
	return files
}

var publishes = regexp.MustCompile(`(?i)release|publish|deploy|stale|label|pages`)

// ciStep is a key whose value is a command, or the first of a list of them.
var ciStep = regexp.MustCompile(`^(\s*(?:-\s+)?)(?:run|command|script|before_script):\s*(.*?)\s*$`)

// ciCommands returns the commands in a file that configures CI, in order. Only lines that are
// a whole command on their own and depend on no variable are taken.
func ciCommands(lines []string) []string {
	var found []string
	add := func(line string) {
		if line = strings.TrimSpace(line); isCICommand(line) {
			found = append(found, line)
		}
	}
	for i := 0; i < len(lines); i++ {
		m := ciStep.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		indent, value := len(m[1]), m[2]
		if value != "" && value[0] != '|' && value[0] != '>' {
			add(unquote(value))
			continue
		}
		broken := false // the line before goes on in this one
		for ; i+1 < len(lines); i++ {
			next := lines[i+1]
			item, isItem := strings.CutPrefix(strings.TrimSpace(next), "- ")
			depth := len(next) - len(strings.TrimLeft(next, " "))
			if strings.TrimSpace(next) != "" && depth <= indent && !(value == "" && isItem && depth == indent) {
				break
			}
			goesOn := strings.HasSuffix(next, `\`)
			if !broken && !goesOn && value == "" && isItem {
				add(unquote(item))
			} else if !broken && !goesOn && value != "" && value[0] == '|' {
				add(next)
			}
			broken = goesOn
		}
	}
	return found
}

// unquote removes the quotes of a YAML value.
func unquote(s string) string {
	if n := len(s); n > 1 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}

// isCICommand reports whether a line is a command that can be run as it is. Commands that
// install tools are the CI's own.
func isCICommand(line string) bool {
	words := strings.Fields(line)
	if len(words) == 0 || len(line) > maxClip || slices.Contains(words, "install") || strings.ContainsAny(line, "$`<>{}\\\"'#") || strings.HasSuffix(line, "|") || strings.HasSuffix(line, "&&") {
		return false
	}
	first := words[0]
	return ciTools[first] || plainName.MatchString(strings.TrimPrefix(strings.TrimPrefix(first, "./"), ".")) && strings.Contains(first, "/") && !strings.HasPrefix(first, "/")
}
