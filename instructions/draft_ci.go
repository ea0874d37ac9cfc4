package instructions

import (
	"maps"
	"path"
	"slices"
	"strings"

	"pawl/internal/lazy"

	"go.yaml.in/yaml/v3"
)

// ciTools are the first words of the commands of a CI that a person would run too.
var ciTools = strings.Fields(`bazel bun bundle cargo cmake composer ctest dart deno dotnet flutter go gofmt golangci-lint gradle hatch just make meson mix
	mvn mypy ninja node nox npm npx pdm phpunit pnpm poetry pre-commit pyright pytest python python3 rake ruff sbt staticcheck swift task tox uv yarn zig`)

// ciLines returns the commands of the CI that are not among those that are listed.
func (s *survey) ciLines(commands []command) []string {
	known := map[string]bool{}
	for _, c := range commands {
		known[c.line] = true
	}
	var lines []string
	for _, file := range s.ciFiles() {
		for _, line := range ciCommands(s.read(file)) {
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
		if workflow && !publishes().MatchString(path.Base(name)) || name == ".gitlab-ci.yml" || name == ".circleci/config.yml" {
			files = append(files, name)
		}
	}
	return files
}

var publishes = lazy.Regexp(`(?i)release|publish|deploy|stale|label|pages`)

// ciCommands returns the commands in a file that configures CI, in order: the values of
// certain keys, wherever they are. Only lines that are a whole command on their own and depend
// on no variable are taken.
func ciCommands(content string) []string {
	var document yaml.Node
	if yaml.Unmarshal([]byte(content), &document) != nil {
		return nil
	}
	var found []string
	var walk func(n *yaml.Node, commands bool)
	walk = func(n *yaml.Node, commands bool) {
		switch n.Kind {
		case yaml.MappingNode:
			for pair := range slices.Chunk(n.Content, 2) {
				walk(pair[1], slices.Contains([]string{"run", "command", "script", "before_script"}, pair[0].Value))
			}
		case yaml.DocumentNode, yaml.SequenceNode:
			for _, item := range n.Content {
				walk(item, commands)
			}
		case yaml.ScalarNode:
			if !commands || n.Style == yaml.FoldedStyle {
				return
			}
			continued := false // by the line before
			for line := range strings.Lines(n.Value) {
				line = strings.TrimSpace(line)
				continues := strings.HasSuffix(line, `\`)
				if !continued && !continues && isCICommand(line) {
					found = append(found, line)
				}
				continued = continues
			}
		}
	}
	walk(&document, false)
	return found
}

// isCICommand reports whether a line is a command that can be run as it is. Commands that
// install tools are the CI's own.
func isCICommand(line string) bool {
	words := strings.Fields(line)
	if len(words) == 0 || len(line) > maxClip || slices.Contains(words, "install") || strings.ContainsAny(line, "$`<>{}\\\"'#") || strings.HasSuffix(line, "|") || strings.HasSuffix(line, "&&") {
		return false
	}
	first := words[0]
	return slices.Contains(ciTools, first) || plainName().MatchString(strings.TrimPrefix(strings.TrimPrefix(first, "./"), ".")) && strings.Contains(first, "/") && !strings.HasPrefix(first, "/")
}
