package api_test

import (
	"net/http"
	"slices"
	"testing"

	"pawl/api"
)

// The lists of roles name operations that there are, each once, and what they leave out is for administrators.
func TestEachOperationNeedsARole(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	administered := []string{}
	listed := api.Listed()
	for _, o := range s.api.Needs() {
		switch {
		case o.Method == http.MethodGet && o.Role != api.See:
			t.Errorf("%s only reads, and needs %s", o.ID, o.Role)
		case o.Method != http.MethodGet && o.Role == api.Administer:
			administered = append(administered, o.ID)
		}
		listed = slices.DeleteFunc(listed, func(id string) bool { return id == o.ID })
	}
	if len(listed) > 0 {
		t.Errorf("there are no operations %q", listed)
	}
	want := []string{"add-rule", "call-task-tool", "create-agent", "create-login-link", "create-run-token", "create-session", "edit-agent", "grant-task-tools", "prove-session",
		"remove-agent", "remove-rule", "remove-run", "remove-task", "revoke-trust", "set-run", "trust-files"}
	got := administered
	for _, id := range got {
		if !slices.Contains(want, id) {
			t.Errorf("%s needs an administrator: is that meant? See the lists in users.go", id)
		}
	}
	for _, id := range want {
		if !slices.Contains(got, id) {
			t.Errorf("%s does not need an administrator", id)
		}
	}
}
