package policy

// For tests: the kinds of errors.
var (
	ErrNoRule  = errNoRule
	ErrNotText = errNotText
)
