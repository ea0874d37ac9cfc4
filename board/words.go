package board

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/internal/text"
	"pawl/run"
	"pawl/tool"
)

// How much of attached files an agent is given with its words: bytes of texts, all together and
// with a mark where they are cut, and pictures.
const (
	maxInlineText     = 128 << 10
	maxInlinePictures = 20
)

// inline makes parts of a prompt out of attached files, within the bounds.
type inline struct{ text, pictures int }

// parts returns what the agent is told of a file. Texts and pictures are part of it; of other
// files the agent knows the name.
func (in *inline) parts(ctx context.Context, name string, content []byte) []run.Part {
	if isText(content) {
		shown, cut := string(content), ""
		if room := maxInlineText - in.text; len(shown) > room {
			shown, cut = strings.ToValidUTF8(shown[:room], ""), fmt.Sprintf("\n[cut: %d of %d bytes are shown]", room, len(content))
		}
		in.text += len(shown)
		return []run.Part{run.Text(text.Tagged("attachment", fmt.Sprintf("name=%q", name), shown+cut))}
	}
	if in.pictures < maxInlinePictures && len(content) <= tool.MaxPicture {
		if parts, err := tool.Picture(ctx, name, content); err == nil {
			in.pictures++
			return parts
		}
	}
	return []run.Part{run.Text(fmt.Sprintf("The attached file %s is neither a text nor a picture that can be shown here.", name))}
}

// isText reports whether content is a text.
func isText(content []byte) bool { return utf8.Valid(content) && !slices.Contains(content, 0) }

// A File is a file that is attached to words.
type File struct {
	Name    string
	Content []byte
}

// Words returns what is said to an agent, a text, with files attached; without words, the files alone.
func Words(ctx context.Context, words run.Part, files []File) []run.Part {
	var parts []run.Part
	if words.Text != "" || len(files) == 0 {
		parts = []run.Part{words}
	}
	var in inline
	for _, f := range files {
		for _, p := range in.parts(ctx, safeName(f.Name), f.Content) {
			p.Typed = run.NotTyped
			parts = append(parts, p)
		}
	}
	return parts
}

// maxName bounds the name of an attachment, in bytes.
const maxName = 120

// safeName returns the last element of a name with letters, digits and .-_ alone, not hidden.
func safeName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	safe := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name, "_"))
	if safe = strings.TrimLeft(safe, "."); safe == "" {
		safe = "file"
	}
	for len(safe) > maxName {
		_, size := utf8.DecodeLastRuneInString(safe)
		safe = safe[:len(safe)-size]
	}
	return safe
}
