package webpage_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/tool/webpage"
)

func TestAPageIsReadAsAPersonWouldReadIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, html, want string }{
		{"headings and paragraphs", "<h1>One <b>big</b> title</h1><p>First\n  line.<p>Second<div>Third</div>", "# One big title\n\nFirst line.\n\nSecond\n\nThird"},
		{"blanks are one, and kept between words of elements", "<p> a <b> b</b><i>c</i>\n<span>d</span> </p>", "a bc d"},
		{"links lead to whole addresses", `<p>See <a href="../x?a=1#y">the <b>docs</b></a>, <a href="#top">up</a>, <a href="javascript:x()">js</a>, <a href="http://[::1">bad</a>, <a></a>.`,
			"See [the docs](https://example.org/x?a=1#y), up, js, bad, ."},
		{"a base moves them", `<base href="https://other.org/a/"><a href="b">b</a>`, "[b](https://other.org/a/b)"},
		{"a link around blocks is in each", `<a href="/x"><h2>Head</h2><p>Text</p></a>`, "## [Head](https://example.org/x)\n\n[Text](https://example.org/x)"},
		{"lists nest, and count", "<ul><li>a<li>b<ol start=3><li>x<li><p>y</ol><li>c</ul>after", "- a\n- b\n  3. x\n  4. y\n- c\n\nafter"},
		{"definitions", "<dl><dt>term<dd>what it is<dt>two<dd>2</dl>", "term\n  what it is\ntwo\n  2"},
		{"quotations", "<blockquote><p>a<p>b</blockquote>", "> a\n\n> b"},
		{"tables", "<table><caption>Cap</caption><tr><th>a<th>b\nc<tr><td>1<td><p>2</p><p>3</p></table>", "Cap\n| a | b c |\n| --- | --- |\n| 1 | 2 3 |"},
		{"tables for the layout are blocks", "<table><tr><td>Menu<td><h1>Head</h1><p>Text<table><tr><td>a<td>b</table></td></tr></table>", "Menu\n\n# Head\n\nText\n\n| a | b |\n| --- | --- |"},
		{"code keeps its blanks and names its language", "<pre><code class='x language-go'>func f() {\n\treturn\n}\n</code></pre><p>Call <code>f()</code>.", "```go\nfunc f() {\n\treturn\n}\n```\n\nCall `f()`."},
		{"code with fences in it", "<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"},
		{"line breaks and rules", "a<br>b<hr>c", "a\nb\n\n---\n\nc"},
		{"pictures with a text", `<img src=x.png><img src=y.png alt="a  cat"><img src="data:image/png;base64,AAAA" alt=inline>`, "![a cat](https://example.org/docs/y.png)[image: inline]"},
		{"entities", "&lt;p&gt; &amp;amp; &eacute;&#x4e2d;", "<p> &amp; é中"},
		{"nothing of scripts, styles, drawings, forms", "a<script>if (a<b) '</p>'</script><style>p{}</style><svg><title>t</title><path/><text>s</text></svg><select><option>o</select><noscript><p>n</p></noscript><!-- c --><template>t</template>b", "ab"},
		{"nothing that is hidden", `a<p hidden>1</p><div style="color:red; Display : NONE">2<div>3</div></div><p style="visibility:hidden!important">4</p><span style="font-size:0">5</span><dialog>6</dialog>b`, "ab"},
		{"nothing of an element of its own that is hidden", `a<my-x hidden>1<my-y>2</my-y></my-x> <my-z>b</my-z>`, "a b"},
		{"what is hidden in what is hidden stays so", `<div hidden><p style="display:block">x</p><b>y</b></div><p>z`, "z"},
		{"ends that are missing or too many", "</p></div><div><p>a</b></ul><table><tr><td>b", "a\n\nb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, read(t.Context(), c.html, true).Text); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTextHasNoAddresses(t *testing.T) {
	t.Parallel()
	got := read(t.Context(), `<p><a href="/x">a</a> <code>b</code> <img src=c alt=d><pre>e</pre>`, false).Text
	if want := "a b [image: d]\n\ne"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheMainPartOfAPageIsThePage(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 60)
	for _, c := range []struct {
		name, html string
		want       string
		main       bool
	}{
		{"main", "<title> A\n page </title><nav>menu</nav><main><h1>Head</h1>" + long + "</main><footer>foot</footer>", "# Head\n\n" + strings.TrimSpace(long), true},
		{"a role", "<div>menu</div><div role=main>" + long + "</div>", strings.TrimSpace(long), true},
		{"an article, with comments in it", "menu<article>" + long + "<article>comment</article></article>", strings.TrimSpace(long) + "\ncomment", true},
		{"one of several articles is not", "menu<article>" + long + "</article><article>b</article>", "menu\n" + strings.TrimSpace(long) + "\nb", false},
		{"a main part that is nearly empty is not", "menu<main>x</main>", "menu\nx", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := read(t.Context(), c.html, true)
			if p.Text != c.want || p.Main != c.main {
				t.Errorf("got %q, main %v; want %q, %v", p.Text, p.Main, c.want, c.main)
			}
		})
	}
	if p := read(t.Context(), "<title> A\n page </title>x", true); p.Title != "A page" {
		t.Errorf("the title is %q", p.Title)
	}
}

func TestHostilePagesAreRead(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"a million open elements":     strings.Repeat("<div><b>", 300_000) + "x",
		"nested lists and quotations": strings.Repeat("<ul><li><blockquote>", 50_000) + "x",
		"formatting that multiplies":  strings.Repeat("<b id=1><i id=2>", 1000) + strings.Repeat("<p>x", 100_000),
		"nested tables":               strings.Repeat("<table><tr><td>", 50_000) + "x",
		"a million attributes":        "<p " + strings.Repeat("a ", 1_000_000) + ">x",
		"a tag without an end":        "x<p " + strings.Repeat("a", 1_000_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := read(t.Context(), source, true).Text
			if !strings.Contains(text, "x") || len(text) > 4<<20 {
				t.Errorf("%d bytes: %.100q", len(text), text)
			}
		})
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if got := read(done, strings.Repeat("<p>x", 1_000_000), true).Text; len(got) > 10_000 {
		t.Errorf("a done context let it read on for %d bytes", len(got))
	}
}

func FuzzRead(f *testing.F) {
	f.Add("<table><tr><td><ul><li>a<pre>b</table></pre><a href=x><p>c</a><main>d</main><svg><p/></svg>")
	f.Fuzz(func(t *testing.T, source string) { read(t.Context(), source, true) })
}

func read(ctx context.Context, source string, links bool) webpage.Page {
	base, err := url.Parse("https://example.org/docs/")
	if err != nil {
		panic(err)
	}
	return webpage.Read(ctx, source, base, links)
}
