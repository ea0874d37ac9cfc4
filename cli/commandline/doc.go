// Package commandline reads a command line before its flags are parsed. Words without a command are
// a task for pawl run. What was mistyped, or is a flag or a command of another program, is an error
// with the command line of pawl's that says the same: see [Read] and foreign.txt.
package commandline
