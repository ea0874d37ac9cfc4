package api

import (
	"context"
	"net/http"

	"pawl/internal/build"
	"pawl/metrics"
	"pawl/report"
)

// healthPages registers /healthz and /metrics. Both need the token, as everything does that
// tells of the workspace; a scraper sends it as Authorization: Bearer.
func (s *Server) healthPages() {
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		h := report.HealthOf(r.Context(), s.ws)
		w.Header().Set("Content-Type", "application/json")
		if !h.OK {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = strictJSON.Marshal(w, h) // a client that is gone needs no answer
	})
	s.mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		gauges, err := s.gauges(r.Context())
		if err != nil {
			s.writeProblem(w, r, s.problem(r.Context(), err))
			return
		}
		m := s.ws.Options().Metrics
		if m == nil { // nothing is driven here
			m = metrics.New()
		}
		w.Header().Set("Content-Type", metrics.ContentType)
		_ = m.Write(w, gauges...) // a client that is gone needs no answer
	})
}

// mcpServer registers /mcp, if there is such a server. It needs the token, too.
func (s *Server) mcpServer() {
	if s.opt.MCP == nil {
		return
	}
	s.mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.stopped, cancel)()
		s.opt.MCP.ServeHTTP(w, r.WithContext(ctx))
	})
}

// gauges returns the figures as they are now.
func (s *Server) gauges(ctx context.Context) ([]metrics.Gauge, error) {
	gauges, err := s.ws.Gauges(ctx)
	if err != nil {
		return nil, err
	}
	s.feed.mu.Lock()
	streams := float64(s.feed.streams)
	s.feed.mu.Unlock()
	gauges = append(gauges, metrics.Gauge{Name: "pawl_event_streams", Help: "Event streams that are open.", Values: map[string]float64{"": streams}})
	return append(gauges, metrics.Process(build.Version())...), nil
}
