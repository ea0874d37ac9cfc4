package api

import (
	"context"
	"net/http"
	"slices"

	"pawl/forms"
	"pawl/internal/build"
	"pawl/provider"
	"pawl/report"
	"pawl/tool"
)

const tagWorkspace = "workspace"

// A WorkspaceForm is a workspace that is served, as JSON.
type WorkspaceForm struct {
	Workspace string `json:"workspace"` // the folder
	StateDir  string `json:"state_dir"`
	BoardPID  int    `json:"board_pid,omitempty"` // of the process that drives its tasks
}

// workspaceOperations registers what there is in the workspace: tools, providers and models,
// settings, usage, and which pawl serves it.
func (s *Server) workspaceOperations() {
	handle(s, operation{method: http.MethodGet, path: "/workspaces", id: "list-workspaces", tag: tagWorkspace,
		summary: "List the workspaces that this server serves", more: "There is one."},
		func(ctx context.Context, in *OffsetInput) (forms.List[WorkspaceForm], error) {
			w := WorkspaceForm{Workspace: s.ws.Dir, StateDir: s.ws.State}
			if owner, owned, err := s.board.Owner(ctx); err == nil && owned {
				w.BoardPID = owner.PID
			}
			return page([]WorkspaceForm{w}, *in), nil
		})
	handle(s, operation{method: http.MethodGet, path: "/workers", id: "list-workers", tag: tagWorkspace,
		summary: "List the workers of a shared database, and the tasks that they hold", more: "As pawl-fleet fleet status --json; 404 if this server works on its tasks itself."},
		s.listWorkers)
	handle(s, operation{method: http.MethodGet, path: "/tools", id: "list-tools", tag: tagWorkspace,
		summary: "List the tools of runs", more: "Each with the schema of its arguments."},
		func(_ context.Context, in *OffsetInput) (forms.List[forms.ToolForm], error) {
			return page(forms.ToolForms(s.ws.Specs()).Items, *in), nil
		})
	type toolInput struct {
		Tool string `path:"tool" maxLength:"100"`
	}
	handle(s, operation{method: http.MethodGet, path: "/tools/{tool}", id: "get-tool", tag: tagWorkspace,
		summary: "Explain a tool and its arguments"},
		func(_ context.Context, in *toolInput) (ToolHelp, error) {
			specs := s.ws.Specs()
			at := slices.IndexFunc(specs, func(t tool.Spec) bool { return wire(t.Name) == wire(in.Tool) })
			if at < 0 {
				return ToolHelp{}, notFound("there is no tool " + in.Tool)
			}
			help, err := tool.HelpOf(specs, specs[at].Name)
			return ToolHelp{forms.ToolForms(specs[at : at+1]).Items[0], help}, err
		})
	handle(s, operation{method: http.MethodGet, path: "/models", id: "list-models", tag: tagWorkspace,
		summary: "List models, what they cost, and which can be used now", more: "With their providers: what is configured, which servers on this machine answer, and what is missing before one can be used."},
		func(ctx context.Context, _ *struct{}) (provider.Overview, error) {
			ps, err := s.ws.Models()
			if err != nil {
				return provider.Overview{}, err
			}
			return ps.Overview(ctx), nil
		})
	handle(s, operation{method: http.MethodGet, path: "/providers", id: "list-providers", tag: tagWorkspace,
		summary: "List the providers of models", more: "Those that cannot be used say what is missing."},
		func(ctx context.Context, in *OffsetInput) (forms.List[provider.Info], error) {
			ps, err := s.ws.Models()
			if err != nil {
				return forms.List[provider.Info]{}, err
			}
			return page(ps.Overview(ctx).Providers, *in), nil
		})
	type providerInput struct {
		OffsetInput
		Provider string `path:"provider" maxLength:"100"`
	}
	handle(s, operation{method: http.MethodGet, path: "/providers/{provider}/models", id: "list-provider-models", tag: tagWorkspace,
		summary: "Ask a provider which models it has"},
		func(ctx context.Context, in *providerInput) (forms.List[provider.Model], error) {
			none := forms.List[provider.Model]{}
			ps, err := s.ws.Models()
			if err != nil {
				return none, err
			}
			if _, ok := ps.Provider(in.Provider); !ok {
				return none, notFound("there is no provider " + in.Provider)
			}
			all, err := ps.List(ctx, in.Provider)
			if err != nil {
				return none, &Problem{Status: http.StatusBadGateway, Code: "PROVIDER", Message: err.Error()}
			}
			return page(all, in.OffsetInput), nil
		})
	handle(s, operation{method: http.MethodGet, path: "/config", id: "get-config", tag: tagWorkspace,
		summary: "Get every setting and where its value came from"},
		func(context.Context, *struct{}) (forms.ConfigForm, error) { return forms.ConfigFormOf(s.ws) })
	type usageInput struct {
		Since string `query:"since" doc:"Only what happened after this time: 36h or 7d (ago), or a day such as 2026-11-20"`
	}
	handle(s, operation{method: http.MethodGet, path: "/usage", id: "get-usage", tag: tagWorkspace,
		summary: "Get how turns ended, what was decided, and what it cost", more: "As pawl stats --json prints it."},
		func(ctx context.Context, in *usageInput) (report.Stats, error) {
			after, err := since("since", in.Since)
			if err != nil {
				return report.Stats{}, err
			}
			stats, incomplete, err := report.Count(ctx, s.ws, after)
			for _, err := range incomplete {
				s.log.Warn("not all of a run is counted", "request", requestOf(ctx).id, "error", err)
			}
			return stats, err
		})
	type doctorInput struct {
		Online bool `query:"online" doc:"Ask the providers too, which takes up to five seconds"`
	}
	handle(s, operation{method: http.MethodGet, path: "/doctor", id: "get-doctor", tag: tagWorkspace,
		summary: "Get what is there, what is missing and what to do next", more: "As pawl doctor --json prints it."},
		func(ctx context.Context, in *doctorInput) (report.Report, error) {
			return report.Doctor(ctx, s.ws.Options(), !in.Online), nil
		})
	handle(s, operation{method: http.MethodGet, path: "/version", id: "get-version", tag: tagWorkspace,
		summary: "Get the version of the server"},
		func(context.Context, *struct{}) (build.Info, error) { return build.This(), nil })
}

func (s *Server) listWorkers(ctx context.Context, _ *struct{}) (forms.FleetForm, error) {
	if s.opt.Workers == nil {
		return forms.FleetForm{}, notFound("workers: this server works on its tasks itself")
	}
	f, err := s.opt.Workers(ctx)
	if err != nil && problemOf(err) == nil { // Temporal is away
		err = &Problem{Status: http.StatusServiceUnavailable, Code: "WORKERS", Message: "what the workers do is not known: " + err.Error()}
	}
	return f, err
}
