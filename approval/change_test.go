package approval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/approval"
	"pawl/permission"
	"pawl/render"
	"pawl/run"
)

// What an external agent asks for is shown as a call of pawl's own would be: a command as it is written, and the change
// of a file as a diff. Of a tool that pawl knows nothing of all of the input is shown.
func TestWhatAnExternalAgentAsksForIsShownAsACallOfPawls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("one\ntwo\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"tool_name":"Bash","input":{"command":"rm -rf build","description":"cleans"}}`:                                        "Bash rm -rf build",
		`{"tool_name":"WebFetch","input":{"url":"http://a.example"}}`:                                                           "WebFetch http://a.example",
		`{"tool_name":"mcp__db__run","input":{"command":"select","database":"live"}}`:                                           `mcp__db__run {"command":"select","database":"live"}`,
		`{"tool_name":"Write","input":{"file_path":"/w/new","content":"one\n"}}`:                                                "@@ -0,0 +1 @@\n+one",
		`{"tool_name":"Edit","input":{"file_path":"/w/a.go","old_string":"one","new_string":"1"}}`:                              "@@ -1,3 +1,3 @@\n-one\n+1\n two\n two",
		`{"tool_name":"Edit","input":{"file_path":"/w/a.go","old_string":"two","new_string":"2","replace_all":true}}`:           "@@ -1,3 +1,3 @@\n one\n-two\n-two\n+2\n+2",
		`{"tool_name":"Edit","input":{"file_path":"/w/a.go","old_string":"two","new_string":"2"}}`:                              "-two\n+2",
		`{"tool_name":"Edit","input":{"file_path":"/w/a.go","old_string":"","new_string":"2"}}`:                                 "+2",
		`{"tool_name":"MultiEdit","input":{"file_path":"/x","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c"}]}}`: "-a\n+b\n-c",
		`{"tool_name":"Edit","input":{"file_paths":["a"],"patch":"*** Begin Patch\n*** Add File: a\n+b\n"}}`:                    "*** Begin Patch\n*** Add File: a\n+b\n",
		`{"command":"nothing that names a tool"}`:                                                                               "permission nothing that names a tool",
	} {
		c := run.Call{Tool: "permission", Arguments: strings.ReplaceAll(arguments, "/w/", dir+"/")}
		r := permission.Request{Workspace: dir, Paths: []string{dir + "/a.go", dir + "/new", "other.go"}, Resolved: []string{"a.go", "new", dir}}
		got := approval.ChangeOf(c, r)
		if got == "" {
			got = render.WholeCall(c)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
	}
	// A relative name is of the folder that the agent works in, which the call does not say.
	c := run.Call{Tool: "permission", Arguments: `{"tool_name":"Write","input":{"file_path":"a.go","content":"one\n"}}`}
	if got, want := approval.ChangeOf(c, permission.Request{Workspace: dir, Paths: []string{dir + "/sub/a.go"}, Resolved: []string{"a.go"}}), "@@ -1,3 +1 @@\n one\n-two\n-two"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
