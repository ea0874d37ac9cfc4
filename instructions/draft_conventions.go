package instructions

import (
	"path"
	"slices"
	"strings"
)

// checkers are the files that configure formatters and linters, by what they configure.
// Those whose command a detector knows are not here.
var checkers = []struct{ name, files string }{
	{"Biome", "biome.json biome.jsonc"},
	{"clang-format", ".clang-format"},
	{"clang-tidy", ".clang-tidy"},
	{"Checkstyle", "checkstyle.xml config/checkstyle/checkstyle.xml"},
	{"ESLint", "eslint.config.js eslint.config.mjs eslint.config.cjs eslint.config.ts .eslintrc .eslintrc.js .eslintrc.cjs .eslintrc.json .eslintrc.yml .eslintrc.yaml"},
	{"markdownlint", ".markdownlint.json .markdownlint.yaml .markdownlint.yml .markdownlint.jsonc"},
	{"PHP CS Fixer", ".php-cs-fixer.php .php-cs-fixer.dist.php"},
	{"Prettier", ".prettierrc .prettierrc.json .prettierrc.yml .prettierrc.yaml .prettierrc.js .prettierrc.mjs .prettierrc.cjs .prettierrc.toml prettier.config.js prettier.config.mjs"},
	{"Pylint", ".pylintrc"},
	{"RuboCop", ".rubocop.yml"},
	{"ShellCheck", ".shellcheckrc"},
	{"Stylelint", ".stylelintrc .stylelintrc.json stylelint.config.js"},
	{"SwiftLint", ".swiftlint.yml"},
}

// guides are the files that say how to work on a project, by their subject.
var guides = []struct{ about, files string }{
	{"Commit messages", "commitlint.config.js commitlint.config.mjs commitlint.config.ts .commitlintrc .commitlintrc.json .commitlintrc.yml"},
	{"Rules for contributions", "CONTRIBUTING.md CONTRIBUTING.rst CONTRIBUTING .github/CONTRIBUTING.md docs/CONTRIBUTING.md"},
	{"Design", "ARCHITECTURE.md docs/ARCHITECTURE.md docs/architecture.md DESIGN.md"},
}

// conventionLines returns what the repository says of how its files are written.
func (s *survey) conventionLines() []string {
	lines := s.editorConfig()
	var found []string
	for _, c := range checkers {
		if file := s.first(".", strings.Fields(c.files)...); file != "" {
			found = append(found, c.name+" ("+code(file)+")")
		}
	}
	if len(found) > 0 {
		lines = append(lines, "- Configured: "+strings.Join(found, ", "))
	}
	for _, g := range guides {
		if file := s.first(".", strings.Fields(g.files)...); file != "" {
			lines = append(lines, "- "+g.about+": "+code(file))
		}
	}
	if generated := s.generated(); generated != "" {
		lines = append(lines, "- Generated files, not edited by hand: "+generated)
	}
	return bounded(lines, maxConventions, "convention")
}

// editorConfig returns a line for each of the first sections of .editorconfig.
func (s *survey) editorConfig() []string {
	const most = 4
	const keys = "indent_style indent_size tab_width end_of_line max_line_length"
	section, values := "", ""
	var lines []string
	end := func() {
		if values != "" && len(lines) < most && len(section) <= maxClip {
			lines = append(lines, "- Files "+code(section)+": "+values+" (`.editorconfig`)")
		}
		values = ""
	}
	for _, line := range s.lines(".editorconfig") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			end()
			section = line[1 : len(line)-1]
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		if section != "" && len(values) < maxClip && slices.Contains(strings.Fields(keys), key) && plainName().MatchString(value) {
			if values != "" {
				values += ", "
			}
			values += key + " " + value
		}
	}
	end()
	return lines
}

// generated returns the patterns that .gitattributes marks as generated.
func (s *survey) generated() string {
	const most = 6
	var patterns []string
	for _, line := range s.lines(".gitattributes") {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0][0] != '#' && len(fields[0]) <= maxClip && len(patterns) < most &&
			slices.ContainsFunc(fields[1:], func(f string) bool { return f == "linguist-generated" || f == "linguist-generated=true" }) {
			patterns = append(patterns, code(fields[0]))
		}
	}
	return strings.Join(patterns, ", ")
}

// otherInstructions imports the files with instructions for other agents.
func (s *survey) otherInstructions() []string {
	var lines []string
	for _, name := range []string{"CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".cursorrules", ".windsurfrules"} {
		content := s.read(name)
		imports := slices.ContainsFunc(findImports(content), func(imported string) bool { return path.Clean(imported) == "AGENTS.md" })
		if strings.TrimSpace(content) != "" && !imports {
			lines = append(lines, "@"+name)
		}
	}
	return lines
}
