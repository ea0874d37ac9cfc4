package cli

import (
	"fmt"

	"pawl/internal/text"
)

// didYouMean returns a question that names what is nearest to got, or nothing when
// nothing is near.
func didYouMean(got string, names []string) string {
	near := text.Typo(got, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}
