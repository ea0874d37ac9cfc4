package gemini

import (
	"strconv"
	"strings"
)

// generation returns the generation of a Gemini model by its name, such as 2.5; 0 if the
// name has none.
func generation(model string) float64 {
	_, rest, ok := strings.Cut(model, "gemini-")
	if !ok {
		return 0
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(rest)
	}
	g, _ := strconv.ParseFloat(rest[:end], 64) // 0 for "flash-latest"
	return g
}

// thinks reports whether a model may be asked to show its thinking: others refuse
// the request ("Thinking is not enabled for models/…", lobehub issue 7985). Gemini
// thinks since 2.5; models for images and sound do not. It returns false for a name that is
// not Google's.
func thinks(model string) bool {
	for _, other := range []string{"image", "tts", "audio", "live", "embedding", "robotics", "computer-use"} {
		if strings.Contains(model, other) {
			return false
		}
	}
	return generation(model) >= 2.5 || strings.Contains(model, "gemini-") && strings.HasSuffix(model, "-latest")
}

// outputWithFunctions reports whether a model takes the schema of an answer and
// functions in one request. Those before Gemini 3 refuse it ("Function calling with a
// response mime type: 'application/json' is unsupported"; pydantic-ai,
// profiles/google.py, google_supports_tool_combination; read 2026-11-20). Of a name
// that does not tell its generation the newest is expected.
func outputWithFunctions(model string) bool {
	g := generation(model)
	return g == 0 || g >= 3
}
