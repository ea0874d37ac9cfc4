package lazy

import (
	"regexp"
	"sync"
	"testing"
)

func TestAnExpressionIsCompiledOnceAndByItsFirstUser(t *testing.T) {
	t.Parallel()
	digits := Regexp(`^\d+$`)
	var users sync.WaitGroup
	found := make([]*regexp.Regexp, 8)
	for i := range found {
		users.Go(func() { found[i] = digits() })
	}
	users.Wait()
	for _, re := range found {
		if re != found[0] || !re.MatchString("42") || re.MatchString("x") {
			t.Fatalf("got %v and %v", re, found[0])
		}
	}
}
