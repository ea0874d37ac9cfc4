package instructions

import (
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// reserve is room in the text for the sentence about what was left out, in bytes.
const reserve = 160

// compose makes the text of the sections and notes in each what became of it.
func (l *loader) compose() string {
	room := l.room - reserve
	shown := map[int]string{}
	left := 0
	for _, i := range l.order() {
		s := &l.sections[i]
		head, note := s.heading(), s.note()
		full := len(head) + len(s.text) + len("\n")
		if !s.more && full <= room {
			s.Bytes = len(s.text)
			shown[i] = head + s.text + "\n"
		} else if space := room - len(head) - len("\n") - len(note); space >= 0 {
			beginning := strings.TrimRight(s.text[:lineEnd(s.text, space)], " \t\n")
			s.Bytes, s.Cut = len(beginning), true
			shown[i] = head + beginning + "\n" + note
		} else {
			s.Skipped = "no room: the limit is 32 KiB for all files"
			left++
			continue
		}
		room -= len(shown[i]) + len("\n")
	}
	var parts []string
	for i := range l.sections {
		if part, ok := shown[i]; ok {
			parts = append(parts, part)
		}
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("[%s with instructions left out: the limit is 32 KiB for all of them]\n", text.Count(int64(left), "more file", "more files")))
	}
	return strings.Join(parts, "\n")
}

// heading is the line before the text of a section.
func (s section) heading() string {
	from := ""
	switch {
	case s.ImportedBy != "":
		from = ", imported by " + printable(s.ImportedBy)
	case s.User:
		from = ", the user's own for every project"
	}
	if len(s.globs) > 0 {
		from += ", for files that match " + visible.Strip(strings.Join(s.globs, ", "))
	}
	return "# Instructions from " + printable(s.Path) + from + "\n\n"
}

// gives reports whether a text that was composed has a file.
func gives(text, path string) bool {
	heading := section{File: File{Path: path}}.heading()
	heading = strings.TrimRight(heading, "\n")
	for {
		_, rest, ok := strings.Cut(text, heading)
		if !ok {
			return false
		}
		if strings.HasPrefix(rest, "\n") || strings.HasPrefix(rest, ", ") {
			return true
		}
		text = rest
	}
}

// likeHeading matches the beginning of lines that could be taken for a heading of ours.
var likeHeading = lazy.Regexp(`(?mi)^([ \t]*)(#+[ \t]*Instructions[ \t]+from\b)`)

// Unheaded returns a text of which no line can be taken for a heading that [Load] has made.
func Unheaded(text string) string { return likeHeading().ReplaceAllString(text, `$1\$2`) }

// note is the line after a text that was cut.
func (s section) note() string {
	return "[cut here: the limit is 32 KiB for all instructions; read the rest of " + printable(s.Path) + " if you need it]\n"
}

// printable returns a path on one line, quoted if it has characters that cannot be seen.
func printable(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return visible.Hidden(r) || r == '\n' || r == '\t' || r == '\uFFFD' }) {
		return strconv.QuoteToGraphic(path)
	}
	return path
}
