// Package report says what is known of runs, and of what they need on this machine: statistics, what edits
// have changed, where a run stands, its events in words, what rules would decide now, what doctor has found.
// It reads, and changes nothing.
package report
