package journal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsKnownOfAWorkspaceComesOutAsItWentIn(t *testing.T) {
	t.Parallel()
	files := Files{
		".":              {Mode: 0o40755, Ctime: -1},
		"a\nb":           {Mode: 0o100644, Size: 1 << 40, Mtime: 1_800_000_000_000_000_001, Ctime: 2, Inode: 1 << 63, Hash: Hash([]byte("x")), Kept: true},
		"sub/über":       {Mode: 0o120777, Size: 3, Hash: Hash(nil), Git: "0123456789abcdef0123456789abcdef01234567"},
		"sub/no\xffhash": {Mode: 0o100755},
	}
	whole := appendFiles(nil, "/w", files)
	got, ok := parseFiles(whole)
	if diff := cmp.Diff(files, got); !ok || diff != "" {
		t.Errorf("%v (-want +got)\n%s", ok, diff)
	}
	for i := range whole { // a loss of power may leave a part
		if got, ok := parseFiles(whole[:i]); ok {
			t.Errorf("of %d bytes %d are %v", len(whole), i, got)
		}
	}
	if got, ok := parseFiles(appendFiles(nil, "", nil)); !ok || len(got) != 0 {
		t.Errorf("of nothing: %v %v", got, ok)
	}
}

func FuzzNoBytesBreakWhatIsKnown(f *testing.F) {
	f.Add(appendFiles(nil, "/w", Files{"a": {Hash: Hash(nil)}}))
	f.Add([]byte("\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if files, ok := parseFiles(b); ok {
			if again, ok := parseFiles(appendFiles(nil, "", files)); !ok || len(again) != len(files) {
				t.Errorf("%v", files)
			}
		}
	})
}
