package store

import "fmt"

func (e *OwnedError) Error() string {
	return fmt.Sprintf("run %s is driven by process %d", e.Run, e.PID)
}

func (e *UnreadableError) Error() string {
	by := e.Writer
	if by == "" {
		by = "a newer pawl"
	}
	return fmt.Sprintf("run %s: event %d (%s, version %d) was written by %s and cannot be read by this one: "+
		"the run is open for reading up to there; drive it with the pawl that wrote it", e.Run, e.Seq, e.Type, e.Version, by)
}
