package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"pawl/controller"
)

// The bar is 50 µs for an object of 2 KB.
func BenchmarkParse(b *testing.B) {
	object := func(size int) string {
		const form = `{"action":"next_step","thinking":{"task":"Find it","facts":["a fact","another"],"decisions":["look first"],"risks":[],"confidence":0.8},"type":"tool","description":"Write a file","tool":"write","args":%q}`
		line := `a line with \"quotes\" and more;\n`
		return fmt.Sprintf(form, `{"path":"a.go","text":"`+strings.Repeat(line, size/len(line)-8)+`"}`)
	}
	for _, c := range []struct{ name, answer string }{
		{"2KB", object(2 << 10)},
		{"2KB in a fence", "Here:\n```json\n" + object(2<<10) + "\n```\n"},
		{"256KB", object(256 << 10)},
		{"braces of prose, 1MB", strings.Repeat("{ x ", 1<<18)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.answer)))
			for b.Loop() {
				_, _, _ = controller.Parse(c.answer)
			}
		})
	}
}
