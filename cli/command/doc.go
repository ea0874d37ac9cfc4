// Package command is what the commands of pawl share: the invocation with its process, signals and
// exit codes, how a command opens the workspace, reads standard input and settings, completes
// arguments, and prints tables and JSON.
package command
