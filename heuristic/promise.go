package heuristic

import "strings"

// promises are the openings that announce work (spec/run.md, "Answers that promise
// and do not act"). The list is a signal, bounded in its effect by the run; it decides
// nothing else.
var promises = []string{
	"let me", "i'll now", "i will now", "next, i", "continuing with", "moving on to", "i'll proceed", "let's", "i need to", "i should",
}

// asides are what may follow a signal that announces no work after all: a remark, a
// summary, a no, something else of that name.
var asides = []string{
	"know", "be", "summarize", "recap", "explain", "clarify", "say", "ask", "note", "mention", "add that", "point out", "point to", "emphasize", "stress", "warn", "admit",
	"not", "'ve", "have", "stop here", "hope", "keep in touch", "encrypt", "recommend", "suggest", "no further",
}

// closers, in the same sentence, take the promise back: an offer, a wait for the
// person, another time.
var closers = []string{
	"if you", "once you", "when you", "whenever you", "after you", "until you", "unless you", "as soon as", "would you",
	"from you", "for your", "your approval", "your confirmation", "your review", "tell me", "say the word", "please", "feel free", "happy to",
	"don't think", "later", "in the future", "another time",
}

// results, in a sentence after the promise, say that it was kept or is waited for.
var results = []string{"done", "complete", "completed", "finished", "fixed", "pass", "passes", "passed", "works", "green", "ready", "let me know", "if you", "feel free"}

// A promise is still heard through two sentences of explanation, no more: what
// stands before a longer text is its introduction.
const heardThrough = 2

// Promises reports whether an answer that ends a turn says that work will follow:
// its last paragraph is no question and announces something, and nothing after
// that says it was done. Text in code or in quotation is not a promise. It
// hears English alone, as its signals are; an answer in another language is taken
// for what it is, the end.
func Promises(text string) bool {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if strings.HasSuffix(text, "```") {
		return false // it ends with what it announced
	}
	if i := strings.LastIndex(text, "\n\n"); i >= 0 {
		text = text[i+2:] // its indent says whether it is code
	}
	text = strings.ToLower(strings.NewReplacer("’", "'", "‘", "'", "*", "").Replace(unquote(text)))
	if strings.HasSuffix(strings.TrimSpace(text), "?") {
		return false
	}
	said := sentences(text)
	for i := len(said) - 1; i >= max(0, len(said)-1-heardThrough); i-- {
		if announces(said[i]) {
			return true
		}
		if reports(said[i]) {
			return false
		}
	}
	return false
}

// announces reports whether a sentence promises work.
func announces(s string) bool {
	switch first, rest, _ := strings.Cut(s, " "); first {
	case "if":
		return false // on a condition
	case "unless", "until", "once", "should", "with":
		if strings.Contains(" "+rest, " you") {
			return false // on one that the person fulfils
		}
	}
	for _, c := range closers {
		if strings.Contains(s, c) {
			return false
		}
	}
	for _, p := range promises {
		for from := 0; ; {
			i := indexWord(s[from:], p)
			if i < 0 {
				break
			}
			before := s[:from+i]
			if from += i + len(p); opens(before, p) && !aside(s[from:]) {
				return true
			}
		}
	}
	return false
}

// aside reports whether what follows a signal makes it none. To have a look is work.
func aside(s string) bool {
	s = strings.TrimLeft(s, " ")
	for _, also := range []string{"also ", "just "} {
		s = strings.TrimPrefix(s, also)
	}
	for _, a := range asides {
		if strings.HasPrefix(s, a) && (len(s) == len(a) || !letter(s[len(a)])) {
			return !strings.HasPrefix(s, "have a ")
		}
	}
	return false
}

// opens reports whether p begins what is said: "I" after a word that ties it to
// what stands before ("what I should do") does not, and what has no subject ("let
// me", "moving on to") does only where a clause begins.
func opens(before, p string) bool {
	before = strings.TrimRight(before, " ")
	if before == "" || !letter(before[len(before)-1]) || before[len(before)-1] >= 0x80 { // a dash, an emoji
		return true
	}
	switch before[strings.LastIndexByte(before, ' ')+1:] {
	case "now", "so", "but", "then", "first", "also", "next":
		return true
	case "and":
		return p != "moving on to" && p != "continuing with"
	case "that", "which", "what", "where", "how", "why", "whether", "if", "as", "all", "everything", "nothing", "anything", "more", "else", "said", "when":
		return false
	}
	return strings.HasPrefix(p, "i")
}

// reports reports whether a sentence says how something came out.
func reports(s string) bool {
	if indexWord(s, "will") >= 0 || indexWord(s, "should") >= 0 || indexWord(s, "then") >= 0 {
		return false // it is yet to come
	}
	for _, r := range results {
		if indexWord(s, r) >= 0 {
			return true
		}
	}
	return false
}

// sentences splits a paragraph. What stands below a line that ends in a colon
// belongs to it; quoted lines and indented code belong to none.
func sentences(p string) []string {
	var all []string
	list := false
	for line := range strings.Lines(p) {
		if strings.HasPrefix(line, ">") || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
			continue
		}
		line = strings.TrimSpace(line)
		if item := line != "" && (strings.IndexByte("-+#|", line[0]) >= 0 || line[0] >= '0' && line[0] <= '9'); list && item {
			all[len(all)-1] += " " + line
			continue
		}
		list = strings.HasSuffix(line, ":")
		from := 0
		for i := 0; i+1 < len(line); i++ {
			if strings.IndexByte(".!?", line[i]) >= 0 && line[i+1] == ' ' {
				all = append(all, strings.TrimSpace(line[from:i+1]))
				from = i + 1
			}
		}
		if rest := strings.TrimSpace(line[from:]); rest != "" {
			all = append(all, rest)
		}
	}
	return all
}

// unquote takes out what stands in code marks or double quotation marks, if they
// are in pairs.
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
	if in != 0 {
		return s // never closed: an inch, a slip
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
		if (i == 0 || !letter(s[i-1])) && (end == len(s) || s[end] == '\'' || !letter(s[end])) {
			return i
		}
		from = i + 1
	}
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c == '\'' || c == '_' || c >= 0x80 }
