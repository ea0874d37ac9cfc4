package instructions

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestImportsAreFoundInTextAndNotInCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"a line of its own", "@docs/a.md", "docs/a.md"},
		{"in a sentence", "See @README for the project, and @package.json.", "README package.json"},
		{"in a list", "- git: @docs/git.md\n  1. @b.md", "docs/git.md b.md"},
		{"in a list, deep", "- a\n    - @b.md\n\n        @c.md\n", "b.md c.md"},
		{"in a quote and a heading", "> @a.md\n# @b.md\n", "a.md b.md"},
		{"in a table", "| rules |\n|---|\n| @a.md |\n", "a.md"},
		{"home and absolute", "@~/x.md @/etc/x.md @../x.md @./x.md", "~/x.md /etc/x.md ../x.md ./x.md"},
		{"once each", "@a.md @a.md", "a.md"},
		{"a blank in the path", `@my\ notes/a.md`, "my notes/a.md"},
		{"without fragment and punctuation", "@a.md#usage, @b.md). \"@c.md\" @d.md\"", "a.md b.md d.md"},
		{"letters of other scripts", "@документы/a.md", "документы/a.md"},
		{"an address", "write to me@example.org", ""},
		{"not a path", "@ @@x @#x @~ @/ @~/ (@a.md)", ""},
		{"escaped", `\@a.md`, ""},
		{"a code span", "run `npm i @types/node` and `` ` @a.md ``, then @b.md", "b.md"},
		{"a code span over lines", "`a\n@b.md` @c.md", "c.md"},
		{"a backtick alone", "the ` character, @a.md", "a.md"},
		{"a backtick alone in an item", "- a ` b\n- @a.md ` c", "a.md"},
		{"a backtick alone, next paragraph", "a ` b\n\n@a.md ` c", "a.md"},
		{"an escaped backtick", "\\`@a.md\\` @b.md", "b.md"},
		{"a fence", "```sh\n@a.md\n```\n@b.md", "b.md"},
		{"a fence of tildes", "~~~\n@a.md\n```\n@b.md\n~~~\n@c.md", "c.md"},
		{"a longer fence", "````\n```\n@a.md\n```\n````\n@b.md", "b.md"},
		{"a fence without end", "@a.md\n```\n@b.md\n\n@c.md", "a.md"},
		{"a fence in a list", "- x\n\n  ```\n  @a.md\n  ```\n- @b.md", "b.md"},
		{"a fence after the marker", "- ```\n  @a.md\n  ```\n- @b.md", "b.md"},
		{"a fence in a quote", "> ```\n> @a.md\n> ```\n> @b.md", "b.md"},
		{"a fence is not closed by a deeper one", "```\n    ```\n@a.md\n```\n@b.md", "b.md"},
		{"not a fence", "``` x ` y\n@a.md", "a.md"},
		{"indented code", "text:\n\n    @a.md\n\n    @b.md\n\n@c.md", "c.md"},
		{"indented code by a tab", "\t@a.md\n@b.md", "b.md"},
		{"not indented code, but a line that goes on", "text\n    @a.md", "a.md"},
		{"indented code after a list", "- x\n\ntext\n\n    @a.md", ""},
		{"a comment", "<!-- @a.md\n\n```\n@b.md --> @c.md", "c.md"},
		{"a comment without end", "@a.md <!-- @b.md\n\n@c.md", "a.md"},
		{"a comment in code", "`<!--` @a.md", "a.md"},
	} {
		if diff := cmp.Diff(strings.Fields(strings.ReplaceAll(c.want, "my notes", "my_notes")), fields(findImports(c.text))); diff != "" {
			t.Errorf("%s: %q (-want +got)\n%s", c.name, c.text, diff)
		}
	}
}

// fields is what strings.Fields makes of the same paths.
func fields(paths []string) []string {
	all := []string{}
	for _, p := range paths {
		all = append(all, strings.ReplaceAll(p, " ", "_"))
	}
	return all
}

func FuzzFindImports(f *testing.F) {
	for _, seed := range []string{"@a.md", "`@a` @b", "```\n@a\n```", "<!-- @a --> @b", "- x\n\n      @a\n", "~~~ `\n@a", `@a\ b`, "@~/x#y", "> > ``` \n@x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found := findImports(text)
		for i, name := range found {
			switch {
			case name == "", len(name) > maxImport, !utf8.ValidString(name), strings.ContainsAny(name, "\n\x00`#"):
				t.Errorf("%q: %q is not a path", text, name)
			case !strings.Contains(text, "@"+strings.ReplaceAll(name, " ", `\ `)):
				t.Errorf("%q: %q is not in the text", text, name)
			case slices.Contains(found[:i], name):
				t.Errorf("%q: %q is there twice", text, name)
			}
		}
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		if in := findImports(fence + "\n" + text + "\n" + fence + "\n"); len(in) > 0 {
			t.Errorf("%q in a code block: %q", text, in)
		}
		if in := findImports("@before.md\n\n" + fence + "\n" + text + "\n" + fence + "\n\n@after.md"); !slices.Equal(in, []string{"before.md", "after.md"}) {
			t.Errorf("around %q in a code block: %q", text, in)
		}
	})
}
