// Package lazy makes values when they are first used, such as regular expressions. Compiling
// those of all packages took a tenth of the start of every command.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the compiled expression. The function may be
// called concurrently, and panics if the expression is not valid.
func Regexp(expr string) func() *regexp.Regexp {
	e := &expression{expr: expr}
	return e.compiled
}

type expression struct {
	expr string
	once sync.Once
	re   *regexp.Regexp
}

func (e *expression) compiled() *regexp.Regexp {
	e.once.Do(func() { e.re = regexp.MustCompile(e.expr) })
	return e.re
}

// Value returns a function that returns what build returned when it was first needed. The
// function may be called concurrently.
func Value[T any](build func() T) func() T { return sync.OnceValue(build) }
