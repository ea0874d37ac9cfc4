package app

import (
	"context"

	"pawl/config"
	"pawl/provider"
	"pawl/run"
)

// Models returns the providers and models that can be used here.
func (w *Workspace) Models() (*provider.Providers, error) {
	s, err := w.load()
	if err != nil {
		return nil, err
	}
	return s.models, nil
}

// choose settles which model works in a new run, and says what is missing before anything
// is recorded.
func (w *Workspace) choose(ctx context.Context, s *settings) error {
	model, source, note, err := s.models.Choose(ctx, s.Get("model"), w.Dir)
	if note != "" {
		w.opt.Notice(note)
	}
	if err != nil {
		return err
	}
	if source != "" {
		s.Set("model", config.Value{Text: model, Source: source})
	}
	return nil
}

// modelChange returns the change to another model: with it come the size of its window, and
// how it is asked for what to do.
func modelChange(model, control string, ps *provider.Providers) run.ConfigChange {
	window := ps.Window(model)
	control = controlOf(control, model, ps)
	return run.ConfigChange{Model: &model, Window: &window, Control: &control}
}

// controlOf resolves auto for the models of the table; any other model is first asked by
// tool calling.
func controlOf(how, model string, ps *provider.Providers) string {
	if m, ok := ps.Lookup(model); how == run.Auto && ok && m.Control != "" {
		return m.Control
	}
	return how
}
