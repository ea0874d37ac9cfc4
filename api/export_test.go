package api

import "time"

// SetSlowest sets how long a client may take to accept what was sent.
func SetSlowest(s *Server, d time.Duration) { s.slowest = d }
