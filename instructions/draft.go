package instructions

import (
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// Bounds of a draft: commands, and characters of a note.
const (
	maxCommands = 24
	maxClip     = 140
)

// Draft returns the text of a first AGENTS.md for a repository: what it is, the commands that
// build, test and check it, and what else to read. It has only what is in the files of the
// repository, or follows from the kind of a file (a go.mod is tested with go test), and
// is the same for the same files. It runs nothing.
//
// The text is empty if nothing was found. Draft does not look for an AGENTS.md that is there
// already, and it writes nothing. Other files with instructions, as CLAUDE.md, are
// imported, because an AGENTS.md beside them would hide them.
func Draft(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	return draft(root.FS(), filepath.Base(dir)), nil
}

// draft is [Draft] for any file system; name is what the project is called if nothing
// in it says.
func draft(fsys fs.FS, name string) string {
	s := survey{fsys}
	title, about := s.readme()
	about = shorten(cmp.Or(about, s.description()), 2*maxClip)
	var sections []string
	if about != "" {
		sections = append(sections, about)
	}
	if commands := s.commandLines(); len(commands) > 0 {
		sections = append(sections, "## Commands\n\n"+strings.Join(commands, "\n"))
	}
	if others := s.otherInstructions(); len(others) > 0 {
		sections = append(sections, "## More instructions\n\n"+strings.Join(others, "\n"))
	}
	if len(sections) == 0 {
		return ""
	}
	return "# " + cmp.Or(shorten(title, maxClip), name) + "\n\n" + strings.Join(sections, "\n\n") + "\n"
}

// A survey reads a repository.
type survey struct{ fsys fs.FS }

// foreign are folders of other people's code and of what a build makes.
var foreign = strings.Fields("node_modules vendor third_party bower_components Pods target dist build out coverage venv __pycache__ testdata")

// folders returns the folders of the first two levels, in order.
func (s survey) folders() []string {
	all := s.below(".")
	for _, dir := range slices.Clone(all) {
		all = append(all, s.below(dir)...)
	}
	slices.Sort(all)
	return all
}

// below returns the folders in a folder. Those that cannot be read have none.
func (s survey) below(dir string) []string {
	var folders []string
	entries, _ := fs.ReadDir(s.fsys, dir)
	for _, entry := range entries {
		name := entry.Name()
		plain := name[0] != '.' && visible.Strip(name) == name && !strings.ContainsAny(name, "\n\t")
		if entry.IsDir() && plain && !slices.Contains(foreign, name) {
			folders = append(folders, path.Join(dir, name))
		}
	}
	return folders
}

// maxFile bounds what is read of a file, in bytes.
const maxFile = 128 << 10

// read returns the beginning of a file as text, or "" if it cannot be read.
func (s survey) read(name string) string {
	if info, err := fs.Stat(s.fsys, name); err != nil || !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return ""
	}
	f, err := s.fsys.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return visible.Strip(strings.ReplaceAll(strings.ToValidUTF8(string(content), ""), "\r\n", "\n"))
}

// first returns the first of some files of a folder that is there, or "".
func (s survey) first(dir string, names ...string) string {
	for _, name := range names {
		name = path.Join(dir, name)
		if info, err := fs.Lstat(s.fsys, name); err == nil && !info.IsDir() {
			return name
		}
	}
	return ""
}

var (
	image       = lazy.Regexp(`!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])`)
	link        = lazy.Regexp(`\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])`)
	tag         = lazy.Regexp(`<[^>]*>`)
	description = lazy.Regexp(`(?m)^description\s*=\s*"([^"\n]*)"`)

	// A heading, a quote, a table, a list item, a line under a heading, a badge.
	notParagraph = lazy.Regexp(`^(?:#|>|\||[-*+]\s|\d+[.)]\s|[-=~*_]{3,}$|\[|:)`)
)

// readme returns the first heading and the first paragraph of the README. Badges,
// pictures, lists, tables, quotes and code are not paragraphs, nor is a line of three words.
func (s survey) readme() (title, paragraph string) {
	fence := false
	var words []string
	content := s.read(s.first(".", "README.md", "readme.md", "Readme.md", "README.rst", "README.txt", "README"))
	for line := range strings.SplitSeq(content+"\n", "\n") {
		line = strings.TrimSpace(line)
		marks := strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
		if marks {
			fence = !fence
		}
		plain := strings.TrimSpace(tag().ReplaceAllString(link().ReplaceAllString(image().ReplaceAllString(line, ""), "$1"), ""))
		if !marks && !fence && plain != "" && !notParagraph().MatchString(plain) {
			words = append(words, strings.Fields(plain)...)
			continue
		}
		if len(words) > 3 {
			break
		}
		if title == "" {
			title = strings.Join(words, " ")
		}
		words = nil
		if heading, ok := strings.CutPrefix(plain, "# "); ok && title == "" && !fence {
			title = strings.TrimSpace(heading)
		}
	}
	return title, strings.Join(words, " ")
}

// description returns the description in package.json, Cargo.toml or pyproject.toml.
func (s survey) description() string {
	var manifest struct {
		Description string `json:"description"`
	}
	_ = json.Unmarshal([]byte(s.read("package.json")), &manifest) // one that cannot be read has none
	for _, name := range []string{"Cargo.toml", "pyproject.toml"} {
		if m := description().FindStringSubmatch(s.read(name)); m != nil && manifest.Description == "" {
			return m[1]
		}
	}
	return manifest.Description
}

// otherInstructions imports the files with instructions for other agents, and names those
// that say how to work on the project.
func (s survey) otherInstructions() []string {
	var lines []string
	for _, name := range []string{"CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".cursorrules", ".windsurfrules"} {
		content := s.read(name)
		imports := slices.ContainsFunc(findImports(content), func(imported string) bool { return path.Clean(imported) == "AGENTS.md" })
		if strings.TrimSpace(content) != "" && !imports {
			lines = append(lines, "@"+name)
		}
	}
	for _, guide := range []struct{ about, files string }{
		{"Rules for contributions", "CONTRIBUTING.md CONTRIBUTING.rst CONTRIBUTING .github/CONTRIBUTING.md docs/CONTRIBUTING.md"},
		{"Design", "ARCHITECTURE.md docs/ARCHITECTURE.md docs/architecture.md DESIGN.md"},
	} {
		if file := s.first(".", strings.Fields(guide.files)...); file != "" {
			lines = append(lines, "- "+guide.about+": "+code(file))
		}
	}
	return lines
}

// code returns s as a Markdown code span.
func code(s string) string {
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// shorten returns s on one line of at most n characters. An @ that [Load] would take for an
// import is escaped.
func shorten(s string, n int) string {
	return text.OneLine(strings.TrimPrefix(strings.ReplaceAll(" "+strings.Join(strings.Fields(s), " "), " @", ` \@`), " "), n)
}
