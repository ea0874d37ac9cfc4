// Package console shows a run on a terminal or as lines while it goes on, and asks the person who
// sits there what the run asks: whether a call may run, and the questions of the agent.
package console
