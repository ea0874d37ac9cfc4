package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl/permission"
	"pawl/sandbox"
	"pawl/store"
	"pawl/tool"
)

// sandbox returns what confines the commands of runs in a place; nil where nothing
// can: the rules are stricter then, and the person is told.
func (inv *invocation) sandbox(p place, sockets string) (*sandbox.Policy, error) {
	if !sandbox.Probe().Confines() {
		fmt.Fprintln(inv.Stderr, "pawl: no sandbox can be had here: commands have your own authority, and more of them ask (`pawl doctor` says why)")
		return nil, nil
	}
	policy, err := sandbox.For(p.workspace, inv.sandboxOptions(sockets))
	if err != nil {
		return nil, usage("%w", err)
	}
	return policy, inv.putBack(policy)
}

// putBack undoes what commands have changed whose pawl was killed, and says what.
func (inv *invocation) putBack(policy *sandbox.Policy) error {
	undone, err := policy.Recover()
	for _, u := range undone {
		fmt.Fprintln(inv.Stderr, "pawl: "+u)
	}
	return err
}

// recoverWorkspace does so before the workspace's configuration and rules are read:
// those that a killed command has left must neither count, nor be trusted, nor keep
// a run from starting.
func (inv *invocation) recoverWorkspace(workspace string) error {
	if !sandbox.Probe().Confines() {
		return nil
	}
	sockets, _ := store.RuntimeDir() // without one there is nothing to keep from commands
	policy, err := sandbox.For(workspace, inv.sandboxOptions(sockets))
	if err != nil {
		return nil // no command has run confined here; a run says why
	}
	return inv.putBack(policy)
}

// sandboxOptions returns what the policy of every workspace is made from; sockets is
// the folder of pawl's own.
func (inv *invocation) sandboxOptions(sockets string) sandbox.Options {
	return sandbox.Options{StateDir: inv.stateDir(), RuntimeDir: sockets, ConfigDir: filepath.Dir(inv.userFile()), Getenv: inv.getenv,
		IsSecret: func(path string) bool { return permission.SecretName(path) != "" }}
}

// getenv returns a variable of the environment; "" if it is not set.
func (inv *invocation) getenv(name string) string {
	v, _ := inv.Env(name)
	return v
}

// checkSandbox says what of the sandbox is in force.
func checkSandbox() []check {
	var checks []check
	report := sandbox.Probe()
	for _, p := range report.Parts {
		c := check{Topic: "sandbox", Name: p.Name, State: good, Detail: p.By, Next: p.Missing}
		if !p.InForce {
			c.State, c.Detail, c.Next = absent, "not in force", p.Missing
		}
		checks = append(checks, c)
	}
	if !report.Confines() {
		checks = append(checks, check{Topic: "sandbox", Name: "commands", State: absent,
			Detail: "they have your own authority, so more of them ask"})
	}
	return checks
}

// checkVariables says which variables of this environment commands do not get.
func (inv *invocation) checkVariables() check {
	s := settings{values: map[string][]sourced{}}
	s.table, _ = inv.models() // checkFiles has said what is wrong with it
	fromFile, _ := readFile(inv.userFile())
	fromEnv, _ := inv.Env("PAWL_PASS_ENV")
	for _, name := range append(fromFile["pass_env"], strings.Fields(fromEnv)...) {
		s.values["pass_env"] = append(s.values["pass_env"], sourced{value: name})
	}
	c := check{Topic: "sandbox", Name: "variables", State: good, Detail: "none of this environment is kept from commands",
		Next: "Kept are the keys of providers, values that look like keys, and names like " + strings.Join(tool.SecretVariables(), " ") + ". To pass one on purpose: pass_env = [\"NAME\"] in " + inv.userFile()}
	if names := s.shellOptions().Withheld(os.Environ()); len(names) > 0 {
		c.Detail = "kept from commands: " + strings.Join(names, ", ")
	}
	return c
}

// mayBypass refuses mode bypass where a slip of the model has the whole machine: as
// root, with nothing that confines commands.
func mayBypass(mode permission.Mode, root bool, confinement *sandbox.Policy, force string) error {
	if mode != permission.Bypass || !root || confinement != nil || force == "1" {
		return nil
	}
	return usage("--mode bypass as root and without a sandbox: every command would have the whole machine; run as another user, or set PAWL_BYPASS_AS_ROOT=1 if this machine is one to lose")
}

// own returns pawl's own folders and files, where no call writes.
func (inv *invocation) own(p place) []string {
	var own []string
	for _, path := range []string{inv.stateDir(), p.state, filepath.Dir(inv.userFile())} {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			own = append(own, resolved)
		} else if abs, err := filepath.Abs(path); err == nil {
			own = append(own, abs) // not there yet
		}
	}
	return own
}
