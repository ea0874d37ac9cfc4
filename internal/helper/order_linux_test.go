package helper

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var orders = []Order{
	{Dir: "/", Argv: []string{"/bin/true"}},
	{Dir: "/w", Env: []string{"A=", "B=two\nlines"}, Argv: []string{"/bin/sh", "-c", "", "confined"}},
	{Dir: "/w", Argv: []string{"x"}, Beats: true, Memory: 12_000_000_000, Disk: 1},
	{Dir: "", Argv: []string{"x"}, Confine: &Confinement{Network: ClosedNetwork}},
	{Confine: &Confinement{Network: OwnNetwork, Mounts: []Mount{{ReadOnly, "/usr", "/usr", ""}}}},
	{Dir: "/w", Argv: []string{"x"}, Confine: &Confinement{
		Network: OwnNetwork,
		Mounts:  []Mount{{ReadOnly, "/usr", "/usr", ""}, {Devices, "", "/dev", ""}, {Overlay, "/c", "/c", "/s/0"}, {Link, "usr/bin", "/bin", ""}},
		Read:    []string{"/a b", "/c"}, Write: []string{"/d"},
	}},
}

func TestAnOrderComesOutAsItWentIn(t *testing.T) {
	t.Parallel()
	for _, want := range orders {
		got, ok := parseOrder(want.Strings())
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); !ok || diff != "" {
			t.Errorf("%v (-want +got)\n%s", ok, diff)
		}
	}
}

func FuzzNoTextBreaksTheHelper(f *testing.F) {
	for _, o := range orders {
		f.Add(o.Strings())
	}
	f.Add([]byte("/\x0099999999999999999999\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		o, ok := parseOrder(text)
		if ok && len(o.Argv) == 0 && o.Confine == nil {
			t.Error("an order with neither a program nor a sandbox")
		}
	})
}
