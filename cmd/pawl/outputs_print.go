package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"pawl/output"
)

// maxCell is how many characters of a value are shown in a table.
const maxCell = 2 * maxTitle

// printStats prints what is in a document: some figures, and a tree of what is where.
func printStats(w io.Writer, tell tell, r output.StatsResult) error {
	s := r.Structure
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(what, format string, args ...any) {
		fmt.Fprintf(out, "%s\t%s\n", what, visible(fmt.Sprintf(format, args...)))
	}
	line("format", "%s", r.Format)
	line("size", "%s, %s characters", r.Size.Formatted, grouped(r.Size.Characters))
	if r.Types == nil {
		if r.Lines > 0 {
			line("lines", "%s, the longest with %s characters", grouped(r.Lines), grouped(r.LongestLine))
		}
		tell(r.Hints...)
		return out.Flush()
	}
	line("root", "%s, %s deep", s.RootType, plural(s.MaxDepth, "level"))
	line("keys", "%s", grouped(s.TotalKeys))
	t := r.Types
	var kinds []string
	for _, k := range []struct {
		n    int64
		word string
	}{{t.Object, "objects"}, {t.Array, "arrays"}, {t.String, "strings"}, {t.Number, "numbers"}, {t.Boolean, "booleans"}, {t.Null, "nulls"}} {
		if k.n > 0 {
			kinds = append(kinds, grouped(k.n)+" "+k.word)
		}
	}
	line("values", "%s: %s", grouped(s.TotalValues), strings.Join(kinds, ", "))
	if err := out.Flush(); err != nil {
		return err
	}
	if branches := treeOf(r); len(branches) > 0 {
		fmt.Fprintln(w)
		for _, b := range branches {
			fmt.Fprintf(out, "%s%s\t%s\n", strings.Repeat("  ", max(0, len(b.at)-1)), visible(b.at[len(b.at)-1]), visible(b.what))
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if r.Schema != nil {
		text, err := json.MarshalIndent(r.Schema, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s\n", visibleJSON(text))
	}
	if n := r.ArraysOmitted + r.ObjectsOmitted; n > 0 {
		tell(many(int64(n), "path") + " not shown; --path shows a part")
	}
	if r.Estimated {
		tell("what long arrays hold is seen from their first elements; --all looks at all of them")
	}
	for _, p := range r.MissingPaths {
		tell("nothing is at " + p)
	}
	tell(r.Hints...)
	if len(r.MissingPaths) > 0 && s.TotalValues == 0 {
		return exit{code: exitFailed}
	}
	return nil
}

// A branch is a line of the tree.
type branch struct {
	at   []string // the steps of its path
	what string
}

// treeOf returns the paths of a document with what is at them, what is below a path
// right behind it.
func treeOf(r output.StatsResult) []branch {
	var all []branch
	add := func(path, what string) {
		at := steps(path)
		if i := slices.IndexFunc(all, func(b branch) bool { return slices.Equal(b.at, at) }); i >= 0 {
			all[i].what += "; " + what
			return
		}
		all = append(all, branch{at, what})
	}
	for _, o := range r.Objects {
		what := strings.Join(o.Keys, ", ")
		switch {
		case o.Map:
			what = fmt.Sprintf("a map of %s names, as %s", grouped(o.KeysOmitted+int64(len(o.Keys))), what)
		case o.KeysOmitted > 0:
			what += fmt.Sprintf(" and %s more", grouped(o.KeysOmitted))
		}
		if o.Objects > 1 {
			what = fmt.Sprintf("%s objects: %s", grouped(o.Objects), what)
		} else {
			what = "object: " + what
		}
		add(o.Path, what)
	}
	for _, f := range r.Arrays {
		what := grouped(f.Length)
		if f.ItemType != "" {
			what += " × " + f.ItemType
		}
		switch {
		case f.Arrays > 1 && f.Shortest == f.Longest:
			what = fmt.Sprintf("%s arrays of %s, together %s", grouped(f.Arrays), grouped(f.Shortest), what)
		case f.Arrays > 1:
			what = fmt.Sprintf("%s arrays of %s to %s, together %s", grouped(f.Arrays), grouped(f.Shortest), grouped(f.Longest), what)
		default:
			what = "array of " + what
		}
		add(f.Path, what)
	}
	slices.SortStableFunc(all, func(x, y branch) int { return slices.Compare(x.at, y.at) })
	return all
}

// step is one step of a path: a name, a name in brackets, or what else is in brackets.
var step = regexp.MustCompile(`^(?:\$|\.[^.\[]+|\[(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\]'"]*)\])`)

// steps splits a path.
func steps(path string) (all []string) {
	for path != "" {
		s := step.FindString(path)
		if s == "" {
			s = path
		}
		all, path = append(all, s), path[len(s):]
	}
	return all
}

func printCounts(w io.Writer, tell tell, r output.CountResult) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range r.Counts {
		fmt.Fprintf(out, "%s\t%d\n", visible(c.Name), c.N)
	}
	tell(r.Hints...)
	return out.Flush()
}

func printSample(w io.Writer, tell tell, r output.SampleResult) error {
	for _, item := range r.Sample {
		if _, err := fmt.Fprintf(w, "%s\n", visibleJSON(item)); err != nil {
			return err
		}
	}
	if len(r.Sample) == 0 && r.Cut == 0 {
		return nothing(append(r.Hints, "there are no items to choose from")...)
	}
	about := fmt.Sprintf("%s of %s at %s", many(int64(len(r.Sample)), "item"), grouped(r.TotalItems), r.Path)
	if r.Seed != nil {
		about += fmt.Sprintf("; --seed %d chooses the same again", *r.Seed)
	}
	tell(about)
	for _, s := range r.Strata {
		tell(fmt.Sprintf("%s: %d of %s", shownJSON(s.Value), s.Sampled, many(s.Items, "item")))
	}
	tell(r.Hints...)
	return nil
}

func printFound(w io.Writer, tell tell, r output.SearchResult) error {
	for i, f := range r.Matches {
		if f.Path != "" {
			value := shownFound(f)
			if _, err := fmt.Fprintf(w, "%s: %s\n", visible(f.Path), value); err != nil {
				return err
			}
			if len(f.Within) > 0 {
				fmt.Fprintf(w, "  in %s\n", visibleJSON(f.Within))
			}
			continue
		}
		if i > 0 && len(f.Before)+len(f.After) > 0 {
			fmt.Fprintln(w, "--")
		}
		for j, text := range f.Before {
			fmt.Fprintf(w, "%d-%s\n", f.Line-int64(len(f.Before)-j), visible(text))
		}
		if _, err := fmt.Fprintf(w, "%d:%s\n", f.Line, visible(f.Text)); err != nil {
			return err
		}
		for j, text := range f.After {
			fmt.Fprintf(w, "%d-%s\n", f.Line+int64(j)+1, visible(text))
		}
	}
	if r.Total == 0 {
		return nothing(nonEmpty(r.Hint)...)
	}
	tell(r.Hint)
	return nil
}

// shownFound is what a match in JSON is: its value, or that its name matches.
func shownFound(f output.Found) string {
	value := string(visibleJSON(f.Value))
	switch {
	case f.Name && value == "":
		return "(the name)"
	case f.Name:
		return value + " (the name)"
	}
	return value
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func printFigures(w io.Writer, tell tell, r output.AggregateResult) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, f output.Figure) {
		fmt.Fprintf(out, "%s\t%s\t%s\n", name, shownJSON(f.Value), many(f.Count, "value"))
	}
	for _, f := range r.Groups {
		row(shownJSON(f.Group), f)
	}
	if r.Others != nil {
		row("(all other groups)", *r.Others)
	}
	if len(r.Groups) > 0 {
		row("(all)", r.All)
	} else {
		fmt.Fprintf(out, "%s\n", shownJSON(r.All.Value))
	}
	var notes []string
	if r.Missing > 0 {
		notes = append(notes, many(r.Missing, "item")+" without a value")
	}
	if r.Estimated {
		notes = append(notes, "the figures are estimated")
	}
	tell(fmt.Sprintf("%s of %s at %s%s", r.Op, many(r.Items, "item"), r.Path, strings.Join(append([]string{""}, notes...), "; ")))
	tell(r.Hints...)
	return out.Flush()
}

// shownJSON is a value in a table: a string without its quotes.
func shownJSON(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	if text, ok := plainString(raw); ok {
		return oneLine(text, maxCell)
	}
	return oneLine(string(visibleJSON(raw)), maxCell)
}

// plainString returns what a JSON string says.
func plainString(raw []byte) (string, bool) {
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	return text, true
}

// visibleJSON makes JSON safe to print, as [visible] does for text, and keeps it JSON:
// what is not to be seen can only be in strings, and is escaped there.
func visibleJSON(raw []byte) []byte {
	clean := true
	for _, c := range raw {
		if c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' || c == 0x7F {
			clean = false
			break
		}
	}
	if clean {
		return raw
	}
	out := make([]byte, 0, len(raw)+64)
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		switch {
		case visibleRune(r):
			out = utf8.AppendRune(out, r)
		case r == '\r': // only between values
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}

// visibleRune reports whether [visible] leaves r as it is.
func visibleRune(r rune) bool {
	return r == '\n' || r == '\t' || !unicode.IsControl(r) && !unseen(r)
}

// many returns "1 item", "2,000 items".
func many(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return grouped(n) + " " + word + "s"
}

// grouped is a number for people: 1,234,567.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
