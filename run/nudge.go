package run

import "strings"

// What pawl says to the model by itself.
const (
	CutText      = "Your answer was cut off at the output limit. Go on exactly where it stopped, without repeating what is there."
	EmptyText    = "Your last answer had neither words nor a call. Call a tool to go on with the task, or say that you are done and what came of it."
	PromisedText = "You said what you would do next and did not do it. Do it now by calling a tool, or, if you are done, say so."
)

// promises are the openings that announce work. The list is a signal, bounded in
// its effect by maxNudges; it decides nothing else.
var promises = []string{
	"let me", "i'll now", "i will now", "next, i", "continuing with", "moving on to", "i'll proceed", "let's", "i need to", "i should",
}

// closers, in the same sentence, take the promise back: an offer, a condition on
// the person, a remark, or a negation.
var closers = []string{
	"let me know", "let me summarize", "let me recap", "let me explain", "let me say", "if you", "once you", "when you", "whenever you", "would you",
	"do you want", "should i", "after you", "until you", "unless you", "from you", "your approval", "your confirmation", "before i",
	"i should note", "i should mention", "i should add", "i should point", "i should say", "i should emphasize", "i should warn", "i should have", "i should not", "i shouldn't",
	"i need to know", "i need to point", "i need to mention", "i need to note", "don't", "do not", "nothing", "no longer", "didn't", "not need", "all i need", "everything i need",
	"let's say", "let's keep in touch", "happy to", "feel free", "as i need to", "could", "later", "in the future", "another time",
}

// Promises reports whether an answer that ends a turn says that work will follow:
// its last paragraph is no question, and its last sentence announces something.
// Words in code or in quotation marks are nobody's promise.
func Promises(text string) bool {
	last := text
	if i := strings.LastIndex(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "\n\n"); i >= 0 {
		last = strings.ReplaceAll(text, "\r\n", "\n")[i:]
	}
	if strings.Count(text, "```")%2 == 0 && strings.HasSuffix(strings.TrimSpace(last), "```") {
		return false // it ends with what it announced
	}
	last = strings.ToLower(strings.NewReplacer("’", "'", "‘", "'").Replace(unquote(last)))
	last = strings.TrimSpace(last)
	if strings.HasSuffix(last, "?") {
		return false
	}
	sentence := lastSentence(last)
	for _, c := range closers {
		if strings.Contains(sentence, c) {
			return false
		}
	}
	for _, p := range promises {
		if i := indexWord(sentence, p); i >= 0 {
			return true
		}
	}
	return false
}

// lastSentence returns the last sentence of a paragraph, in which the last line
// of a list counts as one.
func lastSentence(p string) string {
	p = strings.TrimRight(p, " \n.:…!")
	cut := 0
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '.', '!', '?':
			if i+1 < len(p) && (p[i+1] == ' ' || p[i+1] == '\n') {
				cut = i + 1
			}
		case '\n':
			cut = i + 1
		}
	}
	return strings.TrimSpace(p[cut:])
}

// unquote takes out what stands in code marks or double quotation marks.
func unquote(s string) string {
	var b strings.Builder
	var in rune
	for _, c := range s {
		switch {
		case in == 0 && (c == '`' || c == '"'):
			in = c
		case in == 0 && c == '“':
			in = '”'
		case in != 0 && c == in:
			in = 0
			b.WriteByte(' ')
		case in == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// indexWord is strings.Index at word boundaries.
func indexWord(s, w string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], w)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(w)
		if (i == 0 || !letter(s[i-1])) && (end == len(s) || !letter(s[end])) {
			return i
		}
		from = i + 1
	}
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c == '\'' || c >= 0x80 }
