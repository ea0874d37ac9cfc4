// Package owngit makes the commands by which pawl itself calls git, outside of any sandbox.
// They run no program that a configuration names: a repository may have come with its .git.
package owngit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// options come before the arguments of every call: no hook, no monitor of the file system, no
// program that a configuration names but for the network, no maintenance in the background. From git-config(1) of
// git 2.51, read 2026-11-23.
var options = []string{
	"--no-pager", "--no-optional-locks",
	"-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "-c", "core.alternateRefsCommand=:",
	"-c", "diff.external=", "-c", "commit.gpgSign=false", "-c", "log.showSignature=false", "-c", "gpg.program=false",
	"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false",
}

// environment overrides what a configuration says, also where a more specific setting would
// win over options: protocol.ext.allow over protocol.allow.
var environment = []string{
	"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ATTR_NOSYSTEM=1", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false",
	"GIT_PAGER=cat",
}

// A Call says where git is called.
type Call struct {
	Program string // the path of git
	Dir     string
	// Own: the repository is pawl's, or there is none. The configuration of the user and of the
	// system, which may name filters and other programs, is not read.
	Own bool
	// Network: git may speak with another machine, by the programs that the user's configuration and variables name for
	// it. The repository must be pawl's own.
	Network bool
	Env     []string // further variables
}

// offline are options, and offlineEnvironment variables, that keep git from speaking with other machines.
var (
	offline            = []string{"-c", "core.sshCommand=false", "-c", "core.gitProxy=", "-c", "core.askPass=", "-c", "credential.helper="}
	offlineEnvironment = []string{"GIT_ALLOW_PROTOCOL=file", "GIT_ASKPASS=false", "GIT_SSH_COMMAND=false", "GIT_PROXY_COMMAND=false"}
)

// ofUser are variables of the user's that count for [Call].Network.
var ofUser = []string{"GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY"}

// Command returns the command that calls git. None of pawl's own variables for git reaches it.
func (c Call) Command(ctx context.Context, args ...string) *exec.Cmd {
	given, env := options, environment
	if !c.Network {
		given, env = slices.Concat(given, offline), slices.Concat(env, offlineEnvironment)
	}
	cmd := exec.CommandContext(ctx, c.Program, slices.Concat(given, args)...)
	cmd.Dir = c.Dir
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(v, "GIT_") || c.Network && slices.Contains(ofUser, name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	if c.Own {
		cmd.Env = append(cmd.Env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	}
	cmd.Env = append(cmd.Env, c.Env...)
	return cmd
}

// ListFilters are the arguments of a call that lists the settings of filters for
// [WithoutFilters], and ends with 1 if there are none.
var ListFilters = []string{"config", "--name-only", "--null", "--get-regexp", `^filter\.`}

// WithoutFilters returns variables that switch off every filter of a list that git made with
// [ListFilters].
func WithoutFilters(list string) []string {
	var env []string
	for key := range strings.SplitSeq(list, "\x00") {
		if key != "" {
			n := len(env) / 2
			env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=", n))
		}
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(env)/2))
}
