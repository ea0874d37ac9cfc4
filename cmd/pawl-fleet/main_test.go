//go:build unix

package main

import (
	"reflect"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pawl/store/postgres/pgtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pawl-fleet": main})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("DATABASE", server.Address(t))
			return nil
		},
	})
}

func TestTheStoreIsTakenOutOfTheArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, rest []string
		address    string
	}{
		{[]string{"--store", "postgres://a", "runs"}, []string{"runs"}, "postgres://a"},
		{[]string{"serve", "--store=postgres://a", "--port", "1"}, []string{"serve", "--port", "1"}, "postgres://a"},
		{[]string{"run", "--", "--store", "x"}, []string{"run", "--", "--store", "x"}, ""},
		{[]string{"run", "--store"}, []string{"run", "--store"}, ""},
	} {
		rest, address := takeFlag(c.args, "--store")
		if !reflect.DeepEqual(rest, c.rest) || address != c.address {
			t.Errorf("%q: %q and %q", c.args, rest, address)
		}
	}
}
