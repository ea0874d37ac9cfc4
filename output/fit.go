package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxResult is how many characters of values a question returns. With what stands
// around them the result stays below the 65,536 at which every result is cut.
const maxResult = 48_000

// A basket collects values until there is no more room.
type basket struct {
	room int // characters left
	cut  bool
}

// put returns a value as it is to be returned, or what stands for it if it is too large
// for what is left. ok is false if there is no room for even that. at is the value's
// path, for advice.
func (b *basket) put(n node, at string) (value json.RawMessage, ok bool) {
	if n.raw != nil {
		if value, ok = b.fit(n.raw, len(at)+8); ok {
			return value, true
		}
	}
	b.cut = true
	if n.size < maxResult/4 { // it would have fitted into an empty basket
		return nil, false
	}
	var sign struct {
		Cut string `json:"$cut"`
		Try string `json:"try,omitempty"`
	}
	sign.Cut = fmt.Sprintf("%s of %s, too large to return", n.kind, byteSize(n.size))
	switch n.kind {
	case isArray:
		sign.Try = "extract " + at + "[0:10], or sample"
	case isObject:
		sign.Try = "stats with this path, then extract what is below it"
	case isString:
		sign.Try = "search in it, or pass it to a tool by its handle"
	}
	return b.fit([]byte(mustJSON(sign)), len(at)+8)
}

// fit takes room for a value that is as written, and for extra characters around it.
func (b *basket) fit(raw []byte, extra int) (json.RawMessage, bool) {
	if b.room < extra || len(raw) > 4*(b.room-extra)+1024 {
		return nil, false
	}
	var compact bytes.Buffer
	if tooDeep(raw) || json.Compact(&compact, raw) != nil {
		return nil, false
	}
	value := compact.Bytes()
	if !utf8.Valid(value) {
		value = bytes.ToValidUTF8(value, []byte("\uFFFD"))
	}
	need := utf8.RuneCount(value) + extra
	if need > b.room {
		return nil, false
	}
	b.room -= need
	return value, true
}

// tooDeep reports whether a value may have more in one another than encoding/json
// takes (10,000) or anyone reads.
func tooDeep(raw []byte) bool {
	const most = 200
	if bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) <= most {
		return false
	}
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest > most
}

// CutInline cuts the text of a result that is never stored at most characters, with a
// mark that says how much is missing and what to do.
func CutInline(text string, most int) string {
	total := utf8.RuneCountInString(text)
	if total <= most {
		return text
	}
	mark := fmt.Sprintf("\n[cut: %s characters of %s are here; ask for less, with limit, offset or a narrower path]", "%s", thousands(int64(total)))
	room := max(0, most-len(mark)-12)
	return strings.ToValidUTF8(firstChars(text, room), "\uFFFD") + fmt.Sprintf(mark, thousands(int64(room)))
}
