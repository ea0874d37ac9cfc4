package policy

// ErrNoRule is errNoRule, for tests.
var ErrNoRule = errNoRule
