package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pawl/internal/text"
	"pawl/run"
)

var tools = AvailableTools(func(tool string) string { return "tool_outputs." + tool })

func TestTheModelIsToldOfTheToolsInTheseWords(t *testing.T) {
	t.Parallel()
	same(t, "available_tools", tools[:4], []string{
		"tool_outputs.read — load full output into context",
		"tool_outputs.extract — extract fields via JSONPath",
		"tool_outputs.stats — get schema, field types, counts",
		"tool_outputs.list — list all stored outputs",
	})
	same(t, "on a wire that refuses dots, and without search", AvailableTools(func(tool string) string {
		if tool != "count" {
			return ""
		}
		return "tool_outputs_" + tool
	}), []string{"tool_outputs_count — count elements, keys or matches, with filters"})
}

func deliver(t *testing.T, text string, mode Mode) (string, Delivery) {
	t.Helper()
	parts, d := Deliver(Result{Output: stored(t, text), Tools: tools}, mode, DefaultLimits)
	return run.PlainText(parts), d
}

func TestDeliveryFollowsTheTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		characters int
		mode       Mode
		want       Delivery
	}{
		{0, Auto, Inlined}, {32_768, Auto, Inlined}, {32_769, Auto, Stored}, {10, Persist, Stored},
		{65_536, Inline, Inlined}, {65_537, Inline, Forced}, {200_000, "", Stored},
	} {
		text := strings.Repeat("ä", c.characters)
		got, d := deliver(t, text, c.mode)
		if d != c.want {
			t.Errorf("%d characters, %q: %s, want %s", c.characters, c.mode, d, c.want)
		}
		if d == Inlined {
			if got != text {
				t.Errorf("%d characters, %q: not the whole result", c.characters, c.mode)
			}
			continue
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(got), &e); err != nil {
			t.Fatal(err)
		}
		if e["persisted"] != true || e["size_chars"] != float64(c.characters) || asJSON(t, e["output_ref"]) != `{"id":"c_1","storage":"app_data"}` {
			t.Errorf("envelope %s", got)
		}
		if forced := e["forced_reason"] == "inline_size_exceeds_hard_limit" && e["forced_persist"] == true; forced != (c.want == Forced) {
			t.Errorf("forced is %t: %s", forced, got)
		}
	}
}

func TestAnEnvelopeShowsAllLevelsOfADocument(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	writeItems(&b, 50_000)
	got, _ := deliver(t, b.String(), Auto)
	var e struct {
		Preview   string   `json:"preview"`
		Truncated bool     `json:"preview_truncated"`
		Tools     []string `json:"available_tools"`
		Metadata  struct {
			Format   string            `json:"format"`
			RootType string            `json:"root_type"`
			KeyCount int               `json:"key_count"`
			Keys     map[string]string `json:"keys"`
			Arrays   []ArrayFigures    `json:"arrays"`
			Shape    []string          `json:"shape"`
			Omitted  int               `json:"shape_omitted"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal([]byte(got), &e); err != nil {
		t.Fatal(err)
	}
	if len(e.Tools) != 8 || !e.Truncated || e.Metadata.RootType != "object" || e.Metadata.KeyCount != 2 || !strings.HasPrefix(e.Metadata.Keys["items"], "array(") {
		t.Errorf("%s", got)
	}
	if !strings.HasPrefix(e.Preview, `{"items": [{"id": 0, "name": `) || !strings.Contains(e.Preview, "more]") || !strings.HasSuffix(e.Preview, `"complete": true}}`) {
		t.Errorf("the preview is not cut by shape: %s", e.Preview)
	}
	if !strings.HasPrefix(e.Metadata.Shape[0], "$.items array(") || e.Metadata.Omitted == 0 {
		t.Errorf("shape: %q", e.Metadata.Shape)
	}
}

func TestTheMetadataOfAnEnvelopeCanStandApart(t *testing.T) {
	t.Parallel()
	got, _ := deliver(t, `{"a<b": [`+strings.Repeat(`"<metadata>", `, 5000)+`1]}`, Auto)
	rest, metadata := TakeMetadata(got + "\n[exit code 3]")
	var e map[string]json.RawMessage
	if err := json.Unmarshal([]byte(strings.TrimSuffix(rest, "\n[exit code 3]")), &e); err != nil || e["metadata"] != nil || e["preview"] == nil {
		t.Errorf("%v: %s", err, rest)
	}
	has(t, "metadata", metadata, `"format":"json"`, `"root_type":"object"`)
	if len(rest)+len(`,"metadata":`)+len(metadata) != len(got)+len("\n[exit code 3]") {
		t.Errorf("something else changed: %s", rest)
	}
	for _, text := range []string{"", "plain", `{"metadata": 1}`, `{"persisted": true}`} {
		if rest, metadata := TakeMetadata(text); rest != text || metadata != "" {
			t.Errorf("%q becomes %q and %q", text, rest, metadata)
		}
	}
}

func TestEnvelopesNeverExceedTheirLimits(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	texts := []string{
		strings.Repeat(`"\`, 40_000), strings.Repeat("\x01", 40_000), strings.Repeat("line\n", 40_000), strings.Repeat("x", 1_000_000),
		`{"` + strings.Repeat("k", 50_000) + `": [1]}`, "[" + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + "]",
		"name,value\n" + strings.Repeat("a \"quoted\" thing,1\n", 4000), strings.Repeat("key: value\n", 4000),
		strings.Repeat("\xff\xfe", 20_000), strings.Repeat("{\"a\": \"\\u0000\"}\n", 9000),
	}
	for range 40 {
		texts = append(texts, randomJSON(rnd, 6))
	}
	for _, text := range texts {
		o := stored(t, text)
		parts, d := Deliver(Result{Output: o, Tools: tools}, Persist, DefaultLimits)
		if got := run.PlainText(parts); utf8.RuneCountInString(got) > 2500 || !json.Valid([]byte(got)) || d != Stored {
			t.Errorf("%.40q: an envelope of %d characters: %s", text, utf8.RuneCountInString(got), got)
		}
		if p, whole := o.Preview(1200); utf8.RuneCountInString(p) > 1200 || whole && o.Meta.Format == JSON && len(p) < len(text)/4 {
			t.Errorf("%.40q: preview of %d characters, whole %t", text, utf8.RuneCountInString(p), whole)
		}
		if n := jsonChars(o.metadata(1600, true)); n > 1600 {
			t.Errorf("%.40q: metadata of %d characters", text, n)
		}
		if m := asJSON(t, o.metadata(300, false)); utf8.RuneCountInString(m) > 450 {
			t.Errorf("%.40q: metadata does not shrink: %s", text, m)
		}
	}
}

func TestATextIsShownByItsFirstAndLastLines(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "2026-11-20T10:00:00Z INFO step %d\n", i)
	}
	o := stored(t, b.String())
	p, whole := o.Preview(1200)
	if whole || o.Meta.Format != Log || !strings.HasPrefix(p, "2026-11-20T10:00:00Z INFO step 0\n") || !strings.HasSuffix(p, "step 4999") || !strings.Contains(p, "\n… 4,982 lines …\n") {
		t.Errorf("%s preview, whole %t:\n%s", o.Meta.Format, whole, p)
	}
	same(t, "figures", []int64{o.Text.Lines, o.Text.Longest, o.Characters()}, []int64{5000, 35, int64(b.Len())})
}

func TestImagesAreBlocksAndBytesNeverText(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 9, 9))); err != nil {
		t.Fatal(err)
	}
	parts, d := Deliver(Result{Output: stored(t, b.String())}, Auto, DefaultLimits)
	if d != Picture || len(parts) != 1 || parts[0].Image == nil || parts[0].Image.MediaType != "image/png" || !bytes.Equal(parts[0].Image.Data, b.Bytes()) {
		t.Errorf("%s %+v", d, parts)
	}
	got, d := deliver(t, "ELF\x00\x01\x02 a small binary", Auto)
	if d != Stored || strings.Contains(got, "small") || !strings.Contains(got, `"media_type":"application/octet-stream"`) {
		t.Errorf("%s %s", d, got)
	}
	// Its size is in bytes, and it names no tool that reads text.
	if !strings.Contains(got, `"size_chars":21`) || !strings.Contains(got, `"available_tools":["tool_outputs.stats — get schema, field types, counts","tool_outputs.list — list all stored outputs"]`) {
		t.Error(got)
	}
}

func TestWhatCouldNotBeStoredIsShownWithAWarningOrIsAnError(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for _, mode := range []Mode{Auto, Persist} {
		parts, d := Deliver(Result{Text: "small", Cause: full}, mode, DefaultLimits)
		if got := run.PlainText(parts); d != Inlined || got != "small\n[warning: this result could not be stored, so it cannot be asked for again: no space left on device]" {
			t.Errorf("%s %s", d, got)
		}
	}
	parts, d := Deliver(Result{Text: strings.Repeat("x", 40_000), Cause: full}, Auto, DefaultLimits)
	if got := run.PlainText(parts); d != Failed || !strings.Contains(got, "40,000 characters") || !strings.Contains(got, "no space left") {
		t.Errorf("%s %s", d, got)
	}
}

func TestAResultThatIsNeverStoredIsCutWithAMark(t *testing.T) {
	t.Parallel()
	if got := CutInline("short", 65_536); got != "short" {
		t.Error(got)
	}
	got := CutInline(strings.Repeat("ü", 100_000), 65_536)
	if n := utf8.RuneCountInString(got); n > 65_536 || n < 65_000 || !strings.Contains(got, "of 100,000 are here") {
		t.Errorf("%d characters, ending %s", n, text.Last(got, 100))
	}
}

func TestFormatsAreRecognized(t *testing.T) {
	t.Parallel()
	for want, texts := range map[Format][]string{
		JSON:      {`{"a": 1}`, ` [1]`, "\uFEFF{}", `"text"`, `12`, `true`},
		JSONLines: {"{\"a\": 1}\n{\"a\": 2}\n", "1\n2\r\n\n3", "[1]\n[2]"},
		CSV:       {"name,age\nAda,36\nBob,41\n", "a;b;c\n1;2;3\n", "id\tname\n1\tx\n", "\"first name\",\"n\"\n\"a, b\",1\n"},
		YAML:      {"name: x\nitems:\n  - a\n  - b: 1\n", "---\na: 1\nb:\n  c: [1, 2]\n"},
		Diff:      {"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"},
		Log: {"2026-11-20 10:00:00 one\n2026-11-20 10:00:01 two\n", "[INFO] a\n[WARN] b\n", "10.0.0.1 - - [20/Nov/2026:10:00:00 +0000] \"GET /\" 200 5\n10.0.0.1 - - [20/Nov/2026:10:00:01 +0000] \"GET /\" 200 5\n",
			"time=2026-11-20 level=info msg=a\ntime=2026-11-20 level=info msg=b"},
		TestOutput: {"=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \tpawl/x\t0.01s\n", "ok  \tpawl/run\t0.5s\nFAIL\tpawl/tool\t1.0s\n"},
		Text:       {"hello", "total 4\n-rw-r--r-- 1 a b 5 x\n", "a, b\nand c\n", "true story", "{not json}", "Error: it failed", "1 2 3", "nullable"},
		Empty:      {""},
		Binary:     {"\x00\x01\x02", "GIF89a..."},
	} {
		for _, s := range texts {
			if got := stored(t, s).Meta.Format; got != want {
				t.Errorf("%q is stored as %s, want %s", s, got, want)
			}
			if got := plain(t, s).format; got != want {
				t.Errorf("%q is read as %s, want %s", s, got, want)
			}
		}
	}
}

// A summary that has to be shorter loses the lines of its shape first, then arrays but one, then keys, and
// that array last. It says how much is gone.
func TestWhatASummaryLosesFirst(t *testing.T) {
	t.Parallel()
	whole := Summary{RootType: "object", KeyCount: 2, Keys: ordered[string]{{"k1", "string"}, {"k2", "string"}},
		Arrays: []ArrayFigures{{Path: "$.a", Length: 3}, {Path: "$.b", Length: 4}}, Shape: []string{"$.a array(3)", "$.b array(4)"}}
	var got []string
	for limit := jsonChars(&whole); limit >= 0; limit-- {
		s := whole.within(limit)
		if n := jsonChars(s); n > limit && len(s.Keys)+len(s.Arrays)+len(s.Shape) > 0 {
			t.Errorf("%d characters are more than %d", n, limit)
		}
		line := fmt.Sprintf("%d lines (%d omitted), %d arrays, %d keys (%d omitted)", len(s.Shape), s.ShapeOmitted, len(s.Arrays), len(s.Keys), s.KeysOmitted)
		if len(got) == 0 || got[len(got)-1] != line {
			got = append(got, line)
		}
	}
	same(t, "from long to short", got, []string{
		"2 lines (0 omitted), 2 arrays, 2 keys (0 omitted)",
		"0 lines (2 omitted), 2 arrays, 2 keys (0 omitted)",
		"0 lines (2 omitted), 1 arrays, 2 keys (0 omitted)",
		"0 lines (2 omitted), 1 arrays, 0 keys (2 omitted)",
		"0 lines (2 omitted), 0 arrays, 0 keys (2 omitted)",
	})
}

// The less room there is, the sparser a preview is; it says of everything that is left out how much it is.
func TestAPreviewBecomesSparserUntilItFits(t *testing.T) {
	t.Parallel()
	document := `{"list": [1, 2, 3, 4], "deep": {"a": {"b": {"c": 1, "d": 2}}, "empty": {}}, "text": "` + strings.Repeat("long ", 40) + `", "n": null}`
	o := stored(t, document)
	var got []string
	for _, limit := range []int{250, 150, 120, 60, 10, 0} {
		preview, whole := o.Preview(limit)
		got = append(got, fmt.Sprintf("%d %t %s", limit, whole, preview))
	}
	same(t, "previews", got, []string{
		`250 false {"list": [1, 2, 3, 4], "deep": {"a": {"b": {"c": 1, "d": 2}}, "empty": {}}, "text": "` + strings.Repeat("long ", 20) + `"…, "n": null}`,
		`150 false {"list": [1, 2, 3, … 1 more], "deep": {"a": {"b": {"c": 1, "d": 2}}, "empty": {}}, "text": "` + strings.Repeat("long ", 8) + `"…, "n": null}`,
		`120 false {"list": [1, … 3 more], "deep": {"a": {"b": {… 2 members}}, "empty": {}}, "text": "` + strings.Repeat("long ", 4) + `"…, "n": null}`,
		`60 false {… 4 members}`,
		`10 false {… 4 membe`,
		`0 false `,
	})
	all, whole := stored(t, `{"a": [[], {}, true]}`).Preview(100)
	same(t, "a small one", fmt.Sprint(all, whole), `{"a": [[], {}, true]}true`)
}
