package instructions

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// Bounds of a draft, in lines, with what they add up to. Each section that is full says
// how many entries it leaves out.
const (
	maxLines       = 60
	maxCommands    = 16
	maxCI          = 5
	maxConventions = 8
	maxOther       = 5
	minLayout      = maxLines - 5*4 - maxCommands - maxCI - maxConventions - maxOther // five sections with titles, and the head
	maxLayout      = 20
)

// maxClip bounds a description, in characters.
const maxClip = 140

// Draft returns the text of a first AGENTS.md for a repository: what it is, the commands that
// build, test and check it, its folders, and its conventions. It has only what is in the
// files of the repository, or follows from the kind of a file (a go.mod is tested with
// go test), has at most 60 lines, and is the same for the same files. It runs nothing.
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
	s := takeSurvey(fsys)
	var sections []string
	add := func(title string, lines []string) {
		if len(lines) > 0 {
			sections = append(sections, "## "+title+"\n\n"+strings.Join(lines, "\n")+"\n")
		}
	}
	found := s.commands()
	commands, ci := commandLines(found), s.ciLines(found)
	add("Commands", commands)
	add("What CI runs", ci)
	conventions, others := s.conventionLines(), s.otherInstructions()
	taken := 5*4 + len(commands) + len(ci) + len(conventions) + len(others)
	add("Layout", bounded(s.layoutLines(), max(minLayout, min(maxLayout, maxLines-taken)), "folder"))
	add("Conventions", conventions)
	add("More instructions", others)
	title, about := s.about()
	intro := s.languageLine()
	if about != "" {
		intro = strings.TrimSpace(about + "\n\n" + intro)
	}
	if intro == "" && len(sections) == 0 {
		return ""
	}
	head := "# " + cmp.Or(title, name) + "\n"
	if intro != "" {
		head += "\n" + intro + "\n"
	}
	return strings.Join(append([]string{head}, sections...), "\n")
}

// A survey is what is known of a repository.
type survey struct {
	fsys      fs.FS
	files     map[string]bool // regular files and links, by path
	folders   []string        // of the first two levels, in order
	languages map[string]int  // number of files
	inFolder  map[string]map[string]int
}

// maxWalk bounds the files and folders that are looked at.
const maxWalk = 20_000

var errEnough = errors.New("enough")

func takeSurvey(fsys fs.FS) *survey {
	s := &survey{fsys: fsys, files: map[string]bool{}, languages: map[string]int{}, inFolder: map[string]map[string]int{}}
	seen := 0
	// What cannot be read is not in the draft.
	_ = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if seen++; seen > maxWalk {
			return errEnough
		}
		switch {
		case name == ".":
			return nil
		case err != nil:
			return fs.SkipDir
		case strings.ContainsFunc(path.Base(name), func(r rune) bool { return visible.Hidden(r) || r == '\n' || r == '\t' }):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			depth := strings.Count(name, "/")
			if foreign[path.Base(name)] || strings.HasPrefix(path.Base(name), ".") && !ciFolders[name] {
				return fs.SkipDir
			}
			if depth < 2 && !strings.HasPrefix(name, ".") {
				s.folders = append(s.folders, name)
			}
			return nil
		}
		s.files[name] = true
		if language := languages[path.Ext(name)]; language != "" {
			s.count(name, language)
		}
		return nil
	})
	return s
}

func (s *survey) count(name, language string) {
	if !documents[language] {
		s.languages[language]++
	}
	top, _, ok := strings.Cut(name, "/")
	if !ok {
		return
	}
	if s.inFolder[top] == nil {
		s.inFolder[top] = map[string]int{}
	}
	s.inFolder[top][language]++
}

// foreign are folders of other people's code and of what a build makes.
var foreign = map[string]bool{
	"node_modules": true, "vendor": true, "third_party": true, "bower_components": true, "Pods": true,
	"target": true, "dist": true, "build": true, "out": true, "coverage": true, "venv": true, "__pycache__": true, "testdata": true,
}

// ciFolders are the folders with a dot that are looked into.
var ciFolders = map[string]bool{".github": true, ".github/workflows": true, ".gitea": true, ".gitea/workflows": true, ".forgejo": true, ".forgejo/workflows": true, ".circleci": true}

var languages = map[string]string{
	".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".cs": "C#", ".clj": "Clojure", ".css": "CSS", ".dart": "Dart", ".ex": "Elixir", ".exs": "Elixir",
	".erl": "Erlang", ".go": "Go", ".hs": "Haskell", ".html": "HTML", ".java": "Java", ".js": "JavaScript", ".jsx": "JavaScript", ".mjs": "JavaScript", ".cjs": "JavaScript",
	".kt": "Kotlin", ".kts": "Kotlin", ".lua": "Lua", ".m": "Objective-C", ".md": "Markdown", ".ml": "OCaml", ".php": "PHP", ".pl": "Perl", ".proto": "Protocol Buffers",
	".py": "Python", ".r": "R", ".rb": "Ruby", ".rs": "Rust", ".rst": "reStructuredText", ".scala": "Scala", ".sh": "Shell", ".sql": "SQL", ".svelte": "Svelte", ".swift": "Swift",
	".tf": "Terraform", ".ts": "TypeScript", ".tsx": "TypeScript", ".vue": "Vue", ".zig": "Zig",
}

// documents are languages that no program is written in.
var documents = map[string]bool{"Markdown": true, "reStructuredText": true}

// languageLine names the languages that have a twentieth of the files or more.
func (s *survey) languageLine() string {
	total := 0
	for _, n := range s.languages {
		total += n
	}
	var parts []string
	for _, language := range byCount(s.languages) {
		if n := s.languages[language]; n*20 >= total && len(parts) < 5 {
			parts = append(parts, fmt.Sprintf("%s (%s)", language, text.Plural(int64(n), "file")))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Languages: " + strings.Join(parts, ", ") + "."
}

// byCount returns the keys, those with the highest counts first.
func byCount(counts map[string]int) []string {
	return stable.Sorted(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// maxFile bounds what is read of a file, in bytes.
const maxFile = 128 << 10

// read returns the beginning of a file as text, or "" if it cannot be read.
func (s *survey) read(name string) string {
	if !s.files[name] {
		return ""
	}
	info, err := fs.Stat(s.fsys, name)
	if err != nil || !info.Mode().IsRegular() { // opening a pipe would wait for its writer
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

// lines returns the lines of a file.
func (s *survey) lines(name string) []string {
	content := s.read(name)
	if content == "" {
		return nil
	}
	return strings.Split(content, "\n")
}

// first returns the first of some files of a folder that is there, or "".
func (s *survey) first(dir string, names ...string) string {
	for _, name := range names {
		if name = path.Join(dir, name); s.files[name] {
			return name
		}
	}
	return ""
}

// code returns s as a Markdown code span.
func code(s string) string {
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// bounded returns at most n lines; the last one then says how many are missing.
func bounded(lines []string, n int, what string) []string {
	if len(lines) <= n {
		return lines
	}
	return append(slices.Clone(lines[:n-1]), "- "+text.Count(int64(len(lines)-n+1), "more "+what, "more "+what+"s"))
}

// shorten returns s on one line of at most n characters, cut after a word. An @ that [Load]
// would take for an import is escaped.
func shorten(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	s = strings.TrimPrefix(strings.ReplaceAll(" "+s, " @", ` \@`), " ")
	short := text.First(s, n)
	if len(short) == len(s) {
		return s
	}
	if i := strings.LastIndexByte(text.First(s, n-1), ' '); i > 0 {
		return strings.TrimRight(s[:i], ",;:-") + " " + text.Mark
	}
	return text.Clip(s, n-1)
}
