package instructions

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/stable"
	"pawl/internal/text"

	"go.yaml.in/yaml/v3"
)

// A command is one that a person runs in a repository.
type command struct {
	kind string // one of kinds
	line string
	dir  string // where; "." is the root
	note string // what it does, or ""
}

// kinds are the labels of commands in the order of a draft, each with the names of scripts
// and targets that have it. The last is for commands that are none of the others and has no
// label.
var kinds = []struct {
	label string
	names []string
}{
	{"Install", []string{"install", "setup", "bootstrap", "deps"}},
	{"Generate", []string{"generate", "gen", "codegen"}},
	{"Build", []string{"build", "compile"}},
	{"Test", []string{"test", "tests", "unittest", "e2e"}},
	{"Check", []string{"check", "typecheck", "verify", "validate"}},
	{"Lint", []string{"lint", "vet"}},
	{"Format", []string{"fmt", "format", "prettier"}},
	{"Run", []string{"run", "start", "dev", "serve"}},
	{"", nil},
}

// kindOf returns the kind of a script or target by its name, as test or lint:fix.
func kindOf(name string) string {
	first := name
	if i := strings.IndexAny(name, ":_-./"); i >= 0 {
		first = name[:i]
	}
	for _, k := range kinds {
		if slices.Contains(k.names, strings.ToLower(first)) {
			return k.label
		}
	}
	return ""
}

func kindOrder(c command) int {
	for i, k := range kinds {
		if k.label == c.kind {
			return i
		}
	}
	return len(kinds) // unreachable: every kind is there
}

// A detector knows the commands that follow from a file, by its name or by what is in it. It
// is run on the root, and on folders below that have the file when the root has not.
type detector struct {
	files    string                               // names that the file can have
	commands []string                             // kind, line, kind, line, …; "{WRAPPER TOOL} …" is run by the wrapper if that is there
	read     func(s survey, dir string) []command // nil: what is in the file does not matter
}

var detectors = []detector{
	{"Makefile GNUmakefile makefile", nil, makeCommands},
	{"justfile Justfile .justfile", nil, justCommands},
	{"Taskfile.yml Taskfile.yaml", nil, taskCommands},
	{"go.mod", nil, goCommands},
	{"package.json", nil, nodeCommands},
	{"pyproject.toml setup.py setup.cfg tox.ini pytest.ini requirements.txt noxfile.py", nil, pythonCommands},
	{"Cargo.toml", []string{"Build", "cargo build", "Test", "cargo test"}, nil},
	{"rustfmt.toml .rustfmt.toml", []string{"Format", "cargo fmt"}, nil},
	{"clippy.toml .clippy.toml", []string{"Lint", "cargo clippy"}, nil},
	{"pom.xml", []string{"Build", "{mvnw mvn} package", "Test", "{mvnw mvn} test"}, nil},
	{"build.gradle build.gradle.kts settings.gradle settings.gradle.kts", []string{"Build", "{gradlew gradle} build", "Test", "{gradlew gradle} test"}, nil},
	{"mix.exs", []string{"Install", "mix deps.get", "Build", "mix compile", "Test", "mix test"}, nil},
	{"Gemfile", []string{"Install", "bundle install"}, nil},
	{".rspec", []string{"Test", "bundle exec rspec"}, nil},
	{"composer.json", []string{"Install", "composer install"}, nil},
	{"Package.swift", []string{"Build", "swift build", "Test", "swift test"}, nil},
	{"build.zig", []string{"Build", "zig build"}, nil},
	{"CMakeLists.txt", []string{"Build", "cmake -S . -B build && cmake --build build"}, nil},
	{".golangci.yml .golangci.yaml .golangci.toml .golangci.json", []string{"Lint", "golangci-lint run"}, nil},
	{"staticcheck.conf", []string{"Lint", "staticcheck ./..."}, nil},
	{".pre-commit-config.yaml", []string{"Lint", "pre-commit run --all-files"}, nil},
}

// in returns the commands for a folder that has the file.
func (d detector) in(s survey, dir string) []command {
	if d.read != nil {
		return d.read(s, dir)
	}
	var all []command
	for pair := range slices.Chunk(d.commands, 2) {
		line := pair[1]
		if names, rest, ok := strings.Cut(strings.TrimPrefix(line, "{"), "}"); ok {
			wrapper, tool, _ := strings.Cut(names, " ")
			if s.first(dir, wrapper) != "" {
				tool = "./" + wrapper
			}
			line = tool + rest
		}
		all = append(all, command{kind: pair[0], line: line, dir: dir})
	}
	return all
}

// commands returns those of the root, then those of folders below.
func (s survey) commands() []command {
	var all []command
	below := s.folders()
	for _, d := range detectors {
		folders := below
		if s.first(".", strings.Fields(d.files)...) != "" {
			folders = []string{"."}
		}
		for _, dir := range folders {
			if s.first(dir, strings.Fields(d.files)...) != "" {
				all = append(all, d.in(s, dir)...)
			}
		}
	}
	stable.Sort(all, func(a, b command) int { return kindOrder(a) - kindOrder(b) })
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(c command) bool {
		twice := seen[c.dir+"\n"+c.line]
		seen[c.dir+"\n"+c.line] = true
		return twice
	})
}

// commandLines returns a line for each command, and one for those that there is no room for.
func (s survey) commandLines() []string {
	var lines []string
	commands := s.commands()
	for i, c := range commands {
		if i == maxCommands-1 && len(commands) > maxCommands {
			return append(lines, "- "+text.Count(int64(len(commands)-i), "more command", "more commands"))
		}
		line := "- "
		if c.kind != "" {
			line += c.kind + ": "
		}
		line += code(c.line)
		if c.dir != "." {
			line += " in " + code(c.dir+"/")
		}
		if note := shorten(c.note, maxClip); note != "" {
			line += " (" + note + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func goCommands(_ survey, dir string) []command {
	return []command{
		{kind: "Build", line: "go build ./...", dir: dir},
		{kind: "Test", line: "go test ./...", dir: dir, note: "one test: go test ./PACKAGE -run NAME"},
		{kind: "Lint", line: "go vet ./...", dir: dir},
	}
}

// plainName is a name that needs no quoting in a shell.
var plainName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_.:/-]*$`)

// A target is one of a Makefile, a justfile or a Taskfile.
type target struct{ name, note string }

func targetCommands(tool, dir string, targets []target) []command {
	var all []command
	for _, t := range targets {
		if plainName().MatchString(t.name) && t.name != "help" && t.name != "default" {
			all = append(all, command{kind: kindOf(t.name), line: tool + " " + t.name, dir: dir, note: t.note})
		}
	}
	return all
}

var (
	makeTarget = lazy.Regexp(`^([A-Za-z0-9][\w./ -]*?)\s*::?(?:[^=:]|$)`)
	justRecipe = lazy.Regexp(`^@?([A-Za-z][\w-]*)(?:\s+[^:]*)?:(?:[^=]|$)`)
)

// makeCommands returns the targets of a Makefile: those that it calls phony, because the
// others make files. If it calls none so, those that are not named like a file.
func makeCommands(s survey, dir string) []command {
	lines := strings.Split(s.read(s.first(dir, "Makefile", "GNUmakefile", "makefile")), "\n")
	phony := map[string]bool{}
	goesOn := false
	for _, line := range lines {
		rest, is := strings.CutPrefix(line, ".PHONY:")
		if !is && !goesOn {
			continue
		}
		rest, goesOn = strings.CutSuffix(rest, `\`)
		for name := range strings.FieldsSeq(rest) {
			phony[name] = true
		}
	}
	var targets []target
	for i, line := range lines {
		m := makeTarget().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		_, note, ok := strings.Cut(line, "## ")
		if !ok {
			note = commentAbove(lines, i)
		}
		for name := range strings.FieldsSeq(m[1]) {
			if phony[name] || len(phony) == 0 && !strings.ContainsAny(name, "./") {
				targets = append(targets, target{name, note})
			}
		}
	}
	return targetCommands("make", dir, targets)
}

func justCommands(s survey, dir string) []command {
	lines := strings.Split(s.read(s.first(dir, "justfile", "Justfile", ".justfile")), "\n")
	var targets []target
	for i, line := range lines {
		if m := justRecipe().FindStringSubmatch(line); m != nil {
			targets = append(targets, target{m[1], commentAbove(lines, i)})
		}
	}
	return targetCommands("just", dir, targets)
}

// commentAbove returns the comment in the line before line i, if it is one line.
func commentAbove(lines []string, i int) string {
	comment := func(i int) string {
		if i < 0 || !strings.HasPrefix(lines[i], "#") {
			return ""
		}
		return strings.TrimSpace(strings.TrimLeft(lines[i], "#"))
	}
	if comment(i-2) != "" {
		return ""
	}
	return comment(i - 1)
}

// taskCommands reads the names and descriptions of the tasks of a Taskfile.
func taskCommands(s survey, dir string) []command {
	var file struct{ Tasks yaml.Node }
	if yaml.Unmarshal([]byte(s.read(s.first(dir, "Taskfile.yml", "Taskfile.yaml"))), &file) != nil {
		return nil
	}
	var targets []target
	for pair := range slices.Chunk(file.Tasks.Content, 2) {
		var task struct{ Desc string }
		if len(pair) == 2 {
			_ = pair[1].Decode(&task) // a task in short form has no description
			targets = append(targets, target{pair[0].Value, task.Desc})
		}
	}
	return targetCommands("task", dir, targets)
}

// nodeCommands reads the scripts of a package.json.
func nodeCommands(s survey, dir string) []command {
	var manifest struct {
		Scripts        map[string]string `json:"scripts"`
		PackageManager string            `json:"packageManager"`
	}
	if json.Unmarshal([]byte(s.read(path.Join(dir, "package.json"))), &manifest) != nil {
		return nil
	}
	// The lock file tells the package manager, unless package.json names it.
	manager, install := "npm", "npm install"
	for _, m := range []struct{ file, name, install string }{
		{"pnpm-lock.yaml", "pnpm", "pnpm install"},
		{"yarn.lock", "yarn", "yarn install"},
		{"bun.lock", "bun", "bun install"},
		{"bun.lockb", "bun", "bun install"},
		{"package-lock.json", "npm", "npm ci"},
	} {
		named, _, _ := strings.Cut(manifest.PackageManager, "@")
		if named == m.name || named == "" && s.first(dir, m.file) != "" {
			manager, install = m.name, m.install
			break
		}
	}
	all := []command{{kind: "Install", line: install, dir: dir}}
	for _, name := range slices.Sorted(maps.Keys(manifest.Scripts)) {
		script := manifest.Scripts[name]
		if !plainName().MatchString(name) || strings.Contains(script, "no test specified") { // what npm init writes
			continue
		}
		all = append(all, command{kind: kindOf(name), line: manager + " run " + name, dir: dir, note: script})
	}
	return all
}

// pythonCommands reads which tools are configured, and which one runs them.
func pythonCommands(s survey, dir string) []command {
	sections := s.sections(path.Join(dir, "pyproject.toml"))
	for _, name := range []string{"setup.cfg", "tox.ini", "pytest.ini"} {
		for section := range s.sections(path.Join(dir, name)) {
			sections[section] = true
		}
	}
	var all []command
	prefix := ""
	for _, m := range []struct{ file, install, prefix string }{
		{"uv.lock", "uv sync", "uv run "},
		{"poetry.lock", "poetry install", "poetry run "},
		{"pdm.lock", "pdm install", "pdm run "},
		{"Pipfile.lock", "pipenv sync", "pipenv run "},
		{"requirements.txt", "pip install -r requirements.txt", ""},
	} {
		if s.first(dir, m.file) != "" {
			all, prefix = append(all, command{kind: "Install", line: m.install, dir: dir}), m.prefix
			break
		}
	}
	for _, t := range pythonTools {
		found := s.first(dir, t.files...) != "" || slices.ContainsFunc(t.sections, func(name string) bool { return sections[name] })
		if t.own { // it makes an environment of its own
			prefix = ""
		}
		if found {
			all = append(all, command{kind: t.kind, line: prefix + t.line, dir: dir})
		}
	}
	return all
}

// pythonTools are the tools of a Python project, with the tables and the files that
// configure each.
var pythonTools = []struct {
	kind, line string
	sections   []string
	files      []string
	own        bool
}{
	{"Test", "pytest", []string{"tool.pytest.ini_options", "tool.pytest", "tool:pytest", "pytest"}, []string{"pytest.ini", "conftest.py", "tests/conftest.py"}, false},
	{"Lint", "ruff check", []string{"tool.ruff", "tool.ruff.lint"}, []string{"ruff.toml", ".ruff.toml"}, false},
	{"Lint", "flake8", []string{"flake8"}, []string{".flake8"}, false},
	{"Check", "mypy .", []string{"tool.mypy", "mypy"}, []string{"mypy.ini", ".mypy.ini"}, false},
	{"Check", "pyright", []string{"tool.pyright"}, []string{"pyrightconfig.json"}, false},
	{"Format", "ruff format", []string{"tool.ruff.format"}, nil, false},
	{"Format", "black .", []string{"tool.black"}, nil, false},
	{"Test", "tox", []string{"tox", "testenv", "tool.tox"}, nil, true},
	{"Test", "nox", nil, []string{"noxfile.py"}, true},
}

// sections returns the names of the tables of a TOML or INI file.
func (s survey) sections(name string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.SplitSeq(s.read(name), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && !strings.HasPrefix(line, "[[") {
			section, _, ok := strings.Cut(line[1:], "]")
			if ok {
				found[strings.TrimSpace(section)] = true
			}
		}
	}
	return found
}
