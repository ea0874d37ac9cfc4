package output

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/internal/lazy"
	"pawl/output/jsonpath"
)

// A Format is what an output is written in. It is guessed from the output's beginning,
// and JSON is known only when all of it has been read.
type Format string

const (
	JSON       Format = "json"
	JSONLines  Format = "json lines" // questions see one array of all lines
	CSV        Format = "csv"        // questions see an array of objects by the names of the first line
	YAML       Format = "yaml"       // questions see the same as JSON; several documents are an array
	Diff       Format = "diff"
	Log        Format = "log"
	TestOutput Format = "test output"
	Text       Format = "text"
	Binary     Format = "binary" // images too
	Empty      Format = "empty"
)

// IsJSON reports whether questions with paths can be asked.
func (f Format) IsJSON() bool { return f == JSON || f == JSONLines || f == CSV || f == YAML }

// looksJSON reports whether a text that begins with head may be JSON.
func looksJSON(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\uFEFF")), " \t\r\n")
	if len(head) == 0 {
		return false
	}
	switch c := head[0]; {
	case c == '{' || c == '[' || c == '"' || c-'0' <= 9:
		return true
	case c == '-':
		return len(head) > 1 && head[1]-'0' <= 9
	}
	word := head[:len(head)-len(bytes.TrimLeft(head, "aeflnrstu"))]
	return slices.Contains([]string{"true", "false", "null"}, string(word))
}

// opensJSON reports whether a text begins as an array or object does.
func opensJSON(head []byte) bool {
	return looksJSON(head) && bytes.ContainsAny(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\uFEFF")), " \t\r\n")[:1], "{[")
}

// detected is how many bytes of the beginning are looked at.
const detected = 64 << 10

// detectNamed is detect for a file with a name: a short text is YAML if the name says so.
func detectNamed(name string, head []byte, complete bool) Format {
	f := detect(head, complete)
	ending := strings.ToLower(filepath.Ext(name))
	if f == Text && complete && (ending == ".yaml" || ending == ".yml") {
		if _, err := yamlJSON(head); err == nil {
			return YAML
		}
	}
	return f
}

// detect guesses the format of what is not JSON. complete says that head is all of it.
func detect(head []byte, complete bool) Format {
	if len(head) > detected {
		head, complete = head[:detected], false
	}
	if len(head) == 0 {
		return Empty
	}
	if mediaType(head) != "" {
		return Binary
	}
	lines := firstLines(head, complete)
	switch {
	case isDiff(lines):
		return Diff
	case isTestOutput(lines):
		return TestOutput
	case share(lines, logLine()) >= 0.5:
		return Log
	case opensJSON(head):
		return Text // until it has been read
	case csvComma(lines) != 0:
		return CSV
	case len(lines) >= 3 && share(lines, yamlLine()) >= 0.9 && yamlKey().MatchString(strings.Join(lines, "\n")):
		return YAML
	}
	return Text
}

// firstLines returns the lines of the beginning of a text; complete says that it is all of it.
func firstLines(head []byte, complete bool) []string {
	lines := strings.Split(strings.TrimSuffix(string(head), "\n"), "\n")
	if !complete && len(lines) > 1 {
		lines = lines[:len(lines)-1]
	}
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// IsBinary reports whether an output that begins with head is binary: it is then described
// and never shown as text.
func IsBinary(head []byte) bool { return mediaType(head) != "" }

// mediaType returns what a binary output is, empty for text.
func mediaType(head []byte) string {
	const sniffed = 512 // bytes that DetectContentType looks at
	cut := head[:min(len(head), sniffed)]
	t := http.DetectContentType(cut)
	switch {
	case strings.HasPrefix(t, "image/") && t != "image/svg+xml", strings.HasPrefix(t, "audio/"), strings.HasPrefix(t, "video/"),
		t == "application/pdf", t == "application/zip", t == "application/x-gzip", t == "application/wasm":
		return t
	}
	if bytes.IndexByte(head[:min(len(head), detected)], 0) >= 0 {
		return "application/octet-stream"
	}
	// Text in another encoding has a few odd bytes, and is readable all the same.
	bad := 0
	for i := 0; i < len(cut); {
		r, n := utf8.DecodeRune(cut[i:])
		if r == utf8.RuneError && n == 1 && i+utf8.UTFMax <= len(cut) {
			bad++
		}
		i += n
	}
	if bad*4 > len(cut) {
		return "application/octet-stream"
	}
	return ""
}

var (
	hunk    = lazy.Regexp(`^@@ -\d+(,\d+)? \+\d+(,\d+)? @@`)
	logLine = lazy.Regexp(`^\W{0,3}(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d|` +
		`(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b|(trace|debug|info|warn|warning|error|fatal)\b[\]:|]|` +
		`time="?\d{4}|level=|ts=)|^[\d.]+ \S+ \S+ \[\d+/[A-Z][a-z]{2}/\d{4}`)
	yamlLine = lazy.Regexp(`^\s*$|^\s*#|^---|^\s*(- +)*("[^"]*"|'[^']*'|[\w./$-][\w./$ -]*):( |$)|^\s*- +\S|^\s*-$`)
	yamlKey  = lazy.Regexp(`(?m)^(- +)?("[^"]*"|'[^']*'|[\w./$-]+):( |$)`)
	testLine = lazy.Regexp(`^(=== RUN |\s*--- (PASS|FAIL|SKIP): |ok\s+\S+\s+([\d.]+s|\(cached\))|FAIL\s+\S+\s+[\d.]+s|PASS$|FAIL$|` +
		`={3,} (test session starts|FAILURES|short test summary|\d+ (passed|failed))|\S+::\S+ (PASSED|FAILED)|Tests?: +\d+|Test Suites: |` +
		`test \S+ \.\.\. (ok|FAILED|ignored)|test result: |\s*(✓|✔|✗|✘|×) |not ok \d+|ok \d+ |TAP version|Ran \d+ tests? in )`)
)

func isDiff(lines []string) bool {
	files, hunks := 0, 0
	for i, l := range lines {
		switch {
		case strings.HasPrefix(l, "diff --git "):
			files += 2
		case strings.HasPrefix(l, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ "):
			files++
		case hunk().MatchString(l):
			hunks++
		}
	}
	return hunks > 0 && files > 0
}

func isTestOutput(lines []string) bool {
	n := 0
	for _, l := range lines {
		if testLine().MatchString(l) {
			n++
		}
	}
	return n >= 2 || n == 1 && len(lines) <= 3
}

// share returns how many of the lines that are not blank match.
func share(lines []string, re *regexp.Regexp) float64 {
	const most = 500
	n, of := 0, 0
	for _, l := range lines[:min(len(lines), most)] {
		if strings.TrimSpace(l) == "" {
			continue
		}
		of++
		if re.MatchString(l) {
			n++
		}
	}
	if of < 2 {
		return 0
	}
	return float64(n) / float64(of)
}

// csvComma returns what separates the fields, 0 if the lines are not CSV: the first
// line has different names, and the others as many fields.
func csvComma(lines []string) byte {
	if len(lines) < 2 {
		return 0
	}
	for _, comma := range []byte{',', '\t', ';', '|'} {
		names := csvFields(lines[0], comma)
		if len(names) < 2 || !areNames(names) {
			continue
		}
		good, of := 0, 0
		quoted := false
		for _, l := range lines[1:min(len(lines), 101)] {
			if l == "" {
				continue
			}
			of++
			fields := csvFields(l, comma)
			quoted = quoted || strings.Contains(l, `"`)
			if len(fields) == len(names) {
				good++
			}
		}
		// A quoted field may go over several lines.
		if of > 0 && (good == of || quoted && good*10 >= of*8) {
			return comma
		}
	}
	return 0
}

// areNames reports whether the fields of a first line can be names.
func areNames(fields []string) bool {
	seen := map[string]bool{}
	for _, f := range fields {
		f = strings.TrimSpace(f)
		const longest = 60 // a sentence with commas is not a header
		if f == "" || len(f) > longest || seen[f] || jsonpath.IsNumber(f) || strings.ContainsAny(f, "{}<>()=") {
			return false
		}
		if strings.Count(f, " ") > 3 {
			return false
		}
		seen[f] = true
	}
	return true
}

// csvFields splits one line, to count its fields.
func csvFields(line string, comma byte) []string {
	in := csv.NewReader(strings.NewReader(line))
	in.Comma, in.LazyQuotes = rune(comma), true
	fields, _ := in.Read()
	return fields
}
