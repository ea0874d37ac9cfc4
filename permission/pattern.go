package permission

import (
	"fmt"
	"strings"
)

// wild is a * of a pattern once it is cut into words; a zero byte is in no
// command, so a * that is quoted stays itself.
const wild = "\x00"

// splitPattern cuts the pattern of a shell rule into words at blanks. Quotes and
// backslashes mean what they mean to a shell, without expansions: in quotes * is
// a star and a blank belongs to the word. So
//
//	find . -name '*.o' -delete
//
// speaks of one command only.
func splitPattern(pattern string) ([]string, error) {
	var words []string
	var b strings.Builder
	started := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if started {
				words = append(words, b.String())
				b.Reset()
			}
			started = false
			continue
		case c == 0:
			return nil, fmt.Errorf("it holds a zero byte")
		case c == '*':
			b.WriteString(wild)
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteByte(pattern[i])
		case c == '\'', c == '"':
			end := i + 1
			for ; end < len(pattern) && pattern[end] != c; end++ {
				if c == '"' && pattern[end] == '\\' && end+1 < len(pattern) {
					end++
				}
				b.WriteByte(pattern[end])
			}
			if end == len(pattern) {
				return nil, fmt.Errorf("a quote %c is not closed; write \\%c for the sign itself", c, c)
			}
			i = end
		default:
			b.WriteByte(c)
		}
		started = true
	}
	if started {
		words = append(words, b.String())
	}
	return words, nil
}

// QuotePattern writes a word so that splitPattern reads that word and no other.
func QuotePattern(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(c rune) bool {
		return strings.ContainsRune(" \t\n\r'\"\\*", c)
	}) {
		return word
	}
	if !strings.Contains(word, "'") {
		return "'" + word + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// matchWords compares a pattern with words, the first of each given apart.
func matchWords(pattern []string, words []word, program, first string) bool {
	if first == wild {
		return matchRest(pattern, words)
	}
	return matchWord(first, program) && matchRest(pattern[1:], words[1:])
}

// matchRest compares a pattern with words.
func matchRest(pattern []string, words []word) bool {
	return wildcards(len(pattern), len(words), func(i int) bool { return pattern[i] == wild }, func(i, j int) bool { return matchWord(pattern[i], words[j].text) })
}

// matchWord is the same over the characters of one word.
func matchWord(pattern, s string) bool {
	if !strings.Contains(pattern, wild) {
		return pattern == s
	}
	return wildcards(len(pattern), len(s), func(i int) bool { return pattern[i] == wild[0] }, func(i, j int) bool { return pattern[i] == s[j] })
}

// wildcards compares a pattern of m parts with n others, in time proportional to the product of both: any is whether a
// part of the pattern stands for any number of the others, same whether one stands for another.
func wildcards(m, n int, any func(i int) bool, same func(i, j int) bool) bool {
	i, j := 0, 0
	star, from := -1, 0
	for j < n {
		switch {
		case i < m && any(i):
			star, from = i, j
			i++
		case i < m && same(i, j):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < m && any(i) {
		i++
	}
	return i == m
}
