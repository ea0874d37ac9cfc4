package instructions

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A command is one that a person runs in a repository.
type command struct {
	kind string // one of kinds
	line string
	dir  string // where; "." is the root
	note string // what it does, or ""
}

// kinds are the labels of commands, in the order of a draft. The last is for commands that
// are none of the others and has no label.
var kinds = []string{"Install", "Generate", "Build", "Test", "Check", "Lint", "Format", "Run", ""}

// kindOf tells the kind of a script or target from its name, as test or lint:fix.
func kindOf(name string) string {
	first, _, _ := strings.Cut(strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-./", r) {
			return ':'
		}
		return r
	}, strings.ToLower(name)), ":")
	switch first {
	case "install", "setup", "bootstrap", "deps":
		return "Install"
	case "generate", "gen", "codegen":
		return "Generate"
	case "build", "compile":
		return "Build"
	case "test", "tests", "unittest", "e2e":
		return "Test"
	case "check", "typecheck", "verify", "validate":
		return "Check"
	case "lint", "vet":
		return "Lint"
	case "fmt", "format", "prettier":
		return "Format"
	case "run", "start", "dev", "serve":
		return "Run"
	}
	return ""
}

// A detector returns the commands that a folder's files tell of. It is run on the root and
// on folders below that have its file when the root has not.
type detector struct {
	files  []string
	detect func(s *survey, dir string) []command
}

var detectors = []detector{
	{[]string{"Makefile", "GNUmakefile", "makefile"}, makeCommands},
	{[]string{"justfile", "Justfile", ".justfile"}, justCommands},
	{[]string{"Taskfile.yml", "Taskfile.yaml"}, taskCommands},
	{[]string{"go.mod"}, goCommands},
	{[]string{"package.json"}, nodeCommands},
	{[]string{"pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "requirements.txt", "noxfile.py"}, pythonCommands},
	{[]string{"Cargo.toml"}, simple("Build", "cargo build", "Test", "cargo test")},
	{[]string{"rustfmt.toml", ".rustfmt.toml"}, simple("Format", "cargo fmt")},
	{[]string{"clippy.toml", ".clippy.toml"}, simple("Lint", "cargo clippy")},
	{[]string{"pom.xml"}, wrapped("mvnw", "mvn", "Build", "package", "Test", "test")},
	{[]string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}, wrapped("gradlew", "gradle", "Build", "build", "Test", "test")},
	{[]string{"mix.exs"}, simple("Install", "mix deps.get", "Build", "mix compile", "Test", "mix test")},
	{[]string{"Gemfile"}, simple("Install", "bundle install")},
	{[]string{".rspec"}, simple("Test", "bundle exec rspec")},
	{[]string{"composer.json"}, simple("Install", "composer install")},
	{[]string{"Package.swift"}, simple("Build", "swift build", "Test", "swift test")},
	{[]string{"build.zig"}, simple("Build", "zig build")},
	{[]string{"CMakeLists.txt"}, simple("Build", "cmake -S . -B build && cmake --build build")},
	{[]string{".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"}, simple("Lint", "golangci-lint run")},
	{[]string{"staticcheck.conf"}, simple("Lint", "staticcheck ./...")},
	{[]string{".pre-commit-config.yaml"}, simple("Lint", "pre-commit run --all-files")},
}

// commands returns those of the root, then those of folders below.
func (s *survey) commands() []command {
	var all []command
	for _, d := range detectors {
		if s.first(".", d.files...) != "" {
			all = append(all, d.detect(s, ".")...)
			continue
		}
		for _, dir := range s.folders {
			if s.first(dir, d.files...) != "" {
				all = append(all, d.detect(s, dir)...)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b command) int { return slices.Index(kinds, a.kind) - slices.Index(kinds, b.kind) })
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(c command) bool {
		twice := seen[c.dir+"\n"+c.line]
		seen[c.dir+"\n"+c.line] = true
		return twice
	})
}

func commandLines(commands []command) []string {
	var lines []string
	for _, c := range commands {
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
	return bounded(lines, maxCommands, "command")
}

// simple detects commands that follow from the kind of a file alone: kind, line, kind, line.
func simple(pairs ...string) func(*survey, string) []command {
	return func(_ *survey, dir string) []command {
		var all []command
		for pair := range slices.Chunk(pairs, 2) {
			all = append(all, command{kind: pair[0], line: pair[1], dir: dir})
		}
		return all
	}
}

// wrapped is simple for build tools that a repository can have a wrapper of.
func wrapped(wrapper, tool string, pairs ...string) func(*survey, string) []command {
	return func(s *survey, dir string) []command {
		name := tool
		if s.first(dir, wrapper) != "" {
			name = "./" + wrapper
		}
		all := simple(pairs...)(s, dir)
		for i := range all {
			all[i].line = name + " " + all[i].line
		}
		return all
	}
}

func goCommands(_ *survey, dir string) []command {
	return []command{
		{kind: "Build", line: "go build ./...", dir: dir},
		{kind: "Test", line: "go test ./...", dir: dir, note: "one test: go test ./PACKAGE -run NAME"},
		{kind: "Lint", line: "go vet ./...", dir: dir},
	}
}

// plainName is a name that needs no quoting in a shell.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/-]*$`)

// A target is one of a Makefile, a justfile or a Taskfile.
type target struct{ name, note string }

func targetCommands(tool, dir string, targets []target) []command {
	var all []command
	for _, t := range targets {
		if plainName.MatchString(t.name) && t.name != "help" && t.name != "default" {
			all = append(all, command{kind: kindOf(t.name), line: tool + " " + t.name, dir: dir, note: t.note})
		}
	}
	return all
}

var (
	makeTarget = regexp.MustCompile(`^([A-Za-z0-9][\w./ -]*?)\s*::?(?:[^=:]|$)`)
	justRecipe = regexp.MustCompile(`^@?([A-Za-z][\w-]*)(?:\s+[^:]*)?:(?:[^=]|$)`)
)

// makeCommands returns the targets of a Makefile: those that it calls phony, because the
// others make files. If it calls none so, those that are not named like a file.
func makeCommands(s *survey, dir string) []command {
	lines := s.lines(s.first(dir, "Makefile", "GNUmakefile", "makefile"))
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
		m := makeTarget.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		_, note, ok := strings.Cut(line, "## ")
		if !ok {
			note = cmp.Or(commentAbove(lines, i), recipe(lines, i))
		}
		for name := range strings.FieldsSeq(m[1]) {
			if phony[name] || len(phony) == 0 && !strings.ContainsAny(name, "./") {
				targets = append(targets, target{name, note})
			}
		}
	}
	return targetCommands("make", dir, targets)
}

// recipe returns the first command of the target in line i, if it is whole and has no
// variables of make.
func recipe(lines []string, i int) string {
	_, command, ok := strings.Cut(lines[i], ";")
	if !ok && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\t") {
		command = lines[i+1]
	}
	if command = strings.TrimLeft(strings.TrimSpace(command), "@-+"); strings.HasSuffix(command, `\`) || strings.Contains(command, "$") {
		return ""
	}
	return command
}

func justCommands(s *survey, dir string) []command {
	lines := s.lines(s.first(dir, "justfile", "Justfile", ".justfile"))
	var targets []target
	for i, line := range lines {
		if m := justRecipe.FindStringSubmatch(line); m != nil {
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

var (
	taskName = regexp.MustCompile(`^(\s+)['"]?([\w:.-]+)['"]?:`)
	taskDesc = regexp.MustCompile(`^(\s+)desc:\s*(.+)$`)
)

// taskCommands reads the keys below tasks: and the desc of each.
func taskCommands(s *survey, dir string) []command {
	var targets []target
	in, indent := false, ""
	for _, line := range s.lines(s.first(dir, "Taskfile.yml", "Taskfile.yaml")) {
		if line != "" && line[0] != ' ' && line[0] != '#' {
			in = strings.HasPrefix(line, "tasks:")
			continue
		}
		if !in {
			continue
		}
		if m := taskName.FindStringSubmatch(line); m != nil && (indent == "" || m[1] == indent) {
			indent = m[1]
			targets = append(targets, target{name: m[2]})
		} else if m := taskDesc.FindStringSubmatch(line); m != nil && len(targets) > 0 {
			targets[len(targets)-1].note = strings.Trim(strings.TrimSpace(m[2]), `'"`)
		}
	}
	return targetCommands("task", dir, targets)
}

// nodeCommands reads the scripts of a package.json.
func nodeCommands(s *survey, dir string) []command {
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
		if !plainName.MatchString(name) || strings.Contains(script, "no test specified") { // what npm init writes
			continue
		}
		all = append(all, command{kind: kindOf(name), line: manager + " run " + name, dir: dir, note: script})
	}
	return all
}

// pythonCommands reads which tools are configured, and which one runs them.
func pythonCommands(s *survey, dir string) []command {
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
	add := func(kind, line string, found bool) {
		if found {
			all = append(all, command{kind: kind, line: prefix + line, dir: dir})
		}
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return sections[name] })
	}
	file := func(names ...string) bool { return s.first(dir, names...) != "" }
	add("Test", "pytest", has("tool.pytest.ini_options", "tool.pytest", "tool:pytest", "pytest") || file("pytest.ini", "conftest.py", "tests/conftest.py"))
	add("Lint", "ruff check", has("tool.ruff", "tool.ruff.lint") || file("ruff.toml", ".ruff.toml"))
	add("Lint", "flake8", has("flake8") || file(".flake8"))
	add("Check", "mypy .", has("tool.mypy", "mypy") || file("mypy.ini", ".mypy.ini"))
	add("Check", "pyright", has("tool.pyright") || file("pyrightconfig.json"))
	add("Format", "ruff format", has("tool.ruff.format"))
	add("Format", "black .", has("tool.black"))
	prefix = "" // these make environments of their own
	add("Test", "tox", has("tox", "testenv", "tool.tox"))
	add("Test", "nox", file("noxfile.py"))
	return all
}

// sections returns the names of the tables of a TOML or INI file.
func (s *survey) sections(name string) map[string]bool {
	found := map[string]bool{}
	for _, line := range s.lines(name) {
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
