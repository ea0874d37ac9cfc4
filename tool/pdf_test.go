package tool_test

import (
	"fmt"
	"strings"
	"testing"

	"pawl/internal/pdf/pdftest"
	"pawl/tool"
	"pawl/tool/tooltest"
)

func TestReadShowsTheTextOfPDFDocuments(t *testing.T) {
	t.Parallel()
	three := string(pdftest.Text("One\nis two lines", "Two", "Three").Bytes(""))
	var numbered []string
	for i := range 400 {
		numbered = append(numbered, fmt.Sprintf("line %d of it", i+1))
	}
	long := pdftest.Text(strings.Repeat(strings.Join(numbered, "\n")+"\n", 10), "Last").Bytes("")
	pages := strings.Split(strings.Repeat(strings.Repeat("words and words ", 100)+"|", 60), "|")[:60]
	scan := pdftest.Pages("/XObject << /I 5 0 R >>", "/I Do")
	scan.Stream("/Subtype /Image", "x")
	mixed := pdftest.Pages("/XObject << /I 9 0 R >> "+pdftest.Helvetica, "", "/I Do", "BT /F1 10 Tf (text) Tj ET")
	mixed.Stream("/Subtype /Image", "x")
	hurt := pdftest.Text("One", "Two")
	hurt.Add("<< /Type /Page /Contents 8 0 R >>")
	hurt.Deflated("", strings.Repeat("[", 1000))
	bomb := strings.Replace(string(hurt.Bytes("")), "/Kids [3 0 R 5 0 R ]", "/Kids [3 0 R 7 0 R ]", 1)
	unknown := pdftest.Pages("/Font << /F1 << /Subtype /Type0 /Encoding /Identity-H >> >>", "BT /F1 10 Tf <00010002> Tj ET")
	tooltest.Run(t, tool.Read(),
		tooltest.Case{Name: "by page", Files: map[string]string{"a.pdf": three}, Args: `{"path":"a.pdf"}`,
			Check: text("a.pdf is a PDF document of 3 pages. The text of its pages:\n\n[page 1]\nOne\nis two lines\n\n[page 2]\nTwo\n\n[page 3]\nThree\n")},
		tooltest.Case{Name: "some pages", Files: map[string]string{"a.pdf": three}, Args: `{"path":"a.pdf","pages":"2-9"}`, Want: []string{"pages:\n\n[page 2]\nTwo\n\n[page 3]\nThree\n"}},
		tooltest.Case{Name: "one page", Files: map[string]string{"a.pdf": three}, Args: `{"path":"a.pdf","pages":"2"}`, Check: text("a.pdf is a PDF document of 3 pages. The text of its pages:\n\n[page 2]\nTwo\n")},
		tooltest.Case{Name: "a page that is not there", Files: map[string]string{"a.pdf": three}, Args: `{"path":"a.pdf","pages":"4"}`, Wrong: true, Want: []string{"a.pdf has 3 pages: there is no page 4."}},
		tooltest.Case{Name: "whatever it is named", Files: map[string]string{"a": three}, Args: `{"path":"a"}`, Want: []string{"a is a PDF document"}},
		tooltest.Case{Name: "many pages say how to continue", Files: map[string]string{"a.pdf": string(pdftest.Text(pages...).Bytes(""))}, Args: `{"path":"a.pdf"}`, Want: []string{"[pages 20 to 60 left: continue with pages 20-60]\n"}},
		tooltest.Case{Name: "a long page too", Files: map[string]string{"a.pdf": string(long)}, Args: `{"path":"a.pdf"}`, Want: []string{"[page 1 continues: pages 1-2 with offset 2001]"}},
		tooltest.Case{Name: "and goes on by line", Files: map[string]string{"a.pdf": string(long)}, Args: `{"path":"a.pdf","pages":"1-2","offset":3999}`, Want: []string{"[page 1 from line 3999]\nline 399 of it\nline 400 of it\n\n[page 2]\nLast\n"}},
		tooltest.Case{Name: "a line that is not there", Files: map[string]string{"a.pdf": three}, Args: `{"path":"a.pdf","pages":"2","offset":5}`, Want: []string{"[page 2 has 1 line: there is none at offset 5]"}},
		tooltest.Case{Name: "a scan says what it is and what to do", Files: map[string]string{"a.pdf": string(scan.Bytes(""))}, Args: `{"path":"a.pdf"}`, Wrong: true, Want: []string{"a.pdf has no text on page 1 of 1, only pictures: it is probably a scan", "pdftoppm", "tesseract"}},
		tooltest.Case{Name: "pages without text are told among others", Files: map[string]string{"a.pdf": string(mixed.Bytes(""))}, Args: `{"path":"a.pdf"}`, Want: []string{"[page 1 is empty]\n[page 2 has no text but 1 picture]\n\n[page 3]\ntext\n"}},
		tooltest.Case{Name: "characters that nobody knows are counted", Files: map[string]string{"a.pdf": string(unknown.Bytes(""))}, Args: `{"path":"a.pdf"}`, Want: []string{"\uFFFD\uFFFD", "[2 characters are shown as \uFFFD"}},
		tooltest.Case{Name: "an encrypted one says so", Files: map[string]string{"a.pdf": string(pdftest.Text("x").Bytes("/Encrypt << /V 5 >>"))}, Args: `{"path":"a.pdf"}`, Wrong: true, Want: []string{"a.pdf is an encrypted PDF document", "qpdf --decrypt"}},
		tooltest.Case{Name: "a damaged one says how", Files: map[string]string{"a.pdf": "%PDF-1.7\n"}, Args: `{"path":"a.pdf"}`, Wrong: true, Want: []string{"a.pdf is a damaged PDF document: its catalog, which lists the pages, is missing"}},
		tooltest.Case{Name: "a hostile page ends the reading, not what was read", Files: map[string]string{"a.pdf": bomb}, Args: `{"path":"a.pdf"}`, Want: []string{"[page 1]\nOne\n", "[stopped at page 2: a.pdf is a PDF document beyond what can be read safely: an object in it nests deeper than 100 levels.]"}},
		tooltest.Case{Name: "a hostile document is refused", Files: map[string]string{"a.pdf": bomb}, Args: `{"path":"a.pdf","pages":"2"}`, Wrong: true, Want: []string{"beyond what can be read safely"}},
	)
}
