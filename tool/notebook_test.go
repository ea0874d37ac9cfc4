package tool_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

func TestReadShowsTheCellsOfNotebooks(t *testing.T) {
	t.Parallel()
	png := base64.StdEncoding.EncodeToString([]byte(picture(3, 2)))
	four := `{"nbformat":4,"nbformat_minor":5,"metadata":{"kernelspec":{"language":"python"}},"cells":[
		{"cell_type":"markdown","metadata":{},"source":["# Title\n","text"]},
		{"cell_type":"code","execution_count":3,"metadata":{},"source":"print(1)\nx","outputs":[
			{"output_type":"stream","name":"stdout","text":["1\n"]},
			{"output_type":"stream","name":"stderr","text":"careful"},
			{"output_type":"execute_result","execution_count":3,"metadata":{},"data":{"text/plain":["2"],"text/html":"<b>2</b>"}},
			{"output_type":"display_data","metadata":{},"data":{"image/png":"` + png + `\n","text/plain":"<Figure>"}},
			{"output_type":"display_data","metadata":{},"data":{"application/vnd.x":{}}},
			{"output_type":"error","ename":"ValueError","evalue":"bad","traceback":["\u001b[31mTraceback\u001b[0m\n","  line 1\n"]}]},
		{"cell_type":"code","execution_count":null,"metadata":{},"source":[],"outputs":[]},
		{"cell_type":"raw","metadata":{},"source":"raw"}]}`
	three := `{"nbformat":3,"worksheets":[{"cells":[
		{"cell_type":"heading","level":2,"source":"Head"},
		{"cell_type":"code","language":"python","prompt_number":1,"input":["y = 2\n","y"],"outputs":[
			{"output_type":"stream","stream":"stdout","text":"out"},
			{"output_type":"pyout","prompt_number":1,"text":["2"]},
			{"output_type":"display_data","png":"` + png + `"},
			{"output_type":"pyerr","ename":"E","evalue":"v","traceback":["a\n","b"]}]}]}]}`
	tooltest.Run(t, tool.Read(),
		tooltest.Case{Name: "of format 4, with what came of them", Files: map[string]string{"a.ipynb": four}, Args: `{"path":"a.ipynb"}`,
			Check: func(t *testing.T, env tool.Env, r tool.Result) {
				text("a.ipynb is a Jupyter notebook (format 4, python) of 4 cells.\n"+
					"\n[cell 1, markdown]\n# Title\ntext\n"+
					"\n[cell 2, code, run 3]\nprint(1)\nx\n[stdout]\n1\n[stderr]\ncareful\n[result]\n2\n[picture 1 below: a PNG image of 3×2 pixels]\n[an output that is neither text nor a picture]\n[error ValueError: bad]\nTraceback\n  line 1\n"+
					"\n[cell 3, code]\n\n[cell 4, raw]\nraw\n"+
					"[to change a cell use edit on the file's JSON; read with an offset shows that]\n")(t, env, r)
				shown("image/png", 3, 2, nil)(t, env, r)
			}},
		tooltest.Case{Name: "of format 3", Files: map[string]string{"a.ipynb": three}, Args: `{"path":"a.ipynb"}`,
			Check: func(t *testing.T, env tool.Env, r tool.Result) {
				text("a.ipynb is a Jupyter notebook (format 3, python) of 2 cells.\n\n[cell 1, heading]\n## Head\n"+
					"\n[cell 2, code, run 1]\ny = 2\ny\n[stdout]\nout\n[result]\n2\n[picture 1 below: a PNG image of 3×2 pixels]\n[error E: v]\na\nb\n"+
					"[to change a cell use edit on the file's JSON; read with an offset shows that]\n")(t, env, r)
				shown("image/png", 3, 2, nil)(t, env, r)
			}},
		tooltest.Case{Name: "some of them", Files: map[string]string{"a.ipynb": four}, Args: `{"path":"a.ipynb","pages":"3-"}`, Want: []string{"of 4 cells.\n\n[cell 3, code]\n\n[cell 4, raw]\nraw\n"}},
		tooltest.Case{Name: "a cell that is not there", Files: map[string]string{"a.ipynb": four}, Args: `{"path":"a.ipynb","pages":"5"}`, Wrong: true, Want: []string{"a.ipynb has 4 cells: there is no cell 5."}},
		tooltest.Case{Name: "with an offset the lines of the JSON", Files: map[string]string{"a.ipynb": four}, Args: `{"path":"a.ipynb","offset":1,"limit":1}`, Want: []string{"     1\t{\"nbformat\":4", "[lines 1 to 1 of 11"}},
		tooltest.Case{Name: "a long output is cut in its middle", Files: map[string]string{"a.ipynb": outputs(30_000)}, Args: `{"path":"a.ipynb"}`, Want: []string{"[stdout]\nBEGIN00", "[cut: 28,008 bytes; read this cell alone to see more]", "00END\n"}},
		tooltest.Case{Name: "and less so when its cell is read alone", Files: map[string]string{"a.ipynb": outputs(30_000, 10)}, Args: `{"path":"a.ipynb","pages":"1"}`, Want: []string{"BEGIN00", "[cut: 14,008 bytes"}},
		tooltest.Case{Name: "many cells say how to continue", Files: map[string]string{"a.ipynb": outputs(make([]int, 2000)...)}, Args: `{"path":"a.ipynb"}`, Want: []string{" to 2000 left: continue with pages "}},
		tooltest.Case{Name: "a cell that is too long is cut", Files: map[string]string{"a.ipynb": `{"nbformat":4,"cells":[{"cell_type":"code","source":"` + strings.Repeat("é", 50_000) + `"}]}`}, Args: `{"path":"a.ipynb"}`, Want: []string{"é\n[this cell is cut here: read with an offset shows the JSON]"}},
		tooltest.Case{Name: "an empty one says so", Files: map[string]string{"a.ipynb": `{"nbformat":4,"cells":[]}`}, Args: `{"path":"a.ipynb"}`, Want: []string{"of 0 cells"}},
		tooltest.Case{Name: "what is none is text, with a note", Files: map[string]string{"a.ipynb": "{\"cells\": oops\n"}, Args: `{"path":"a.ipynb"}`, Check: text("     1\t{\"cells\": oops\n[it is not a notebook that can be read (nbformat 3 or 4): these are its lines]\n")},
		tooltest.Case{Name: "so is one of a format that nobody has", Files: map[string]string{"a.ipynb": "{\"nbformat\":2}\n"}, Args: `{"path":"a.ipynb","pages":"2"}`, Want: []string{"{\"nbformat\":2}", "not a notebook that can be read"}},
		tooltest.Case{Name: "what is not even text is refused", Files: map[string]string{"a.ipynb": "{\x00\x01"}, Args: `{"path":"a.ipynb"}`, Wrong: true, Want: []string{"a.ipynb is a binary file"}},
		tooltest.Case{Name: "a damaged picture is told", Files: map[string]string{"a.ipynb": `{"nbformat":4,"cells":[{"cell_type":"code","source":"","outputs":[{"output_type":"display_data","data":{"image/png":"????"}},{"output_type":"display_data","data":{"image/png":"aGVsbG8="}}]}]}`}, Args: `{"path":"a.ipynb"}`,
			Want: []string{"[a picture that is damaged]", "it begins like a PNG image but is damaged"}},
	)
}

// outputs returns a notebook with a cell of an output of each length.
func outputs(lengths ...int) string {
	var cells []string
	for _, n := range lengths {
		out, err := json.Marshal("BEGIN" + strings.Repeat("0", n) + "END")
		if err != nil {
			panic(err)
		}
		cells = append(cells, fmt.Sprintf(`{"cell_type":"code","source":"x","outputs":[{"output_type":"stream","name":"stdout","text":%s}]}`, out))
	}
	return `{"nbformat":4,"cells":[` + strings.Join(cells, ",") + `]}`
}

func TestANotebookComesWithFivePicturesAtMost(t *testing.T) {
	t.Parallel()
	cell := `{"cell_type":"code","source":"plot()","outputs":[{"output_type":"display_data","data":{"image/png":"` + base64.StdEncoding.EncodeToString([]byte(picture(3, 2))) + `"}}]}`
	env := tooltest.NewEnv(t, map[string]string{"a.ipynb": `{"nbformat":4,"cells":[` + strings.Repeat(cell+",", 7) + cell + `]}`})
	r := call(t, env, tool.Read(), map[string]any{"path": "a.ipynb"})
	if got := run.PlainText(r.Content); len(r.Content) != 6 || strings.Count(got, "[a picture, not shown here]") != 3 || !strings.Contains(got, "[3 pictures are not shown: read their cells alone]") {
		t.Errorf("%d parts: %s", len(r.Content), got)
	}
}

func TestANotebookThatWasReadCanBeWritten(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"a.ipynb": `{"nbformat":4,"cells":[]}`})
	call(t, env, tool.Read(), map[string]any{"path": "a.ipynb"})
	if r := call(t, env, tool.Write(), map[string]any{"path": "a.ipynb", "content": "{}"}); r.IsError {
		t.Error(run.PlainText(r.Content))
	}
}
