// Package permissions has the commands about what may run: the rules (pawl permissions), the trust
// in a workspace (pawl trust) and the answers to calls that need approval (pawl runs decide).
package permissions
