//go:build !unix

package policy_test

import "testing"

func pipe(t *testing.T, _ string) {
	t.Helper()
	t.Skip("needs named pipes")
}
