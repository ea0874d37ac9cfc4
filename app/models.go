package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"pawl/config"
	"pawl/external"
	"pawl/llm/limit"
	"pawl/permission"
	"pawl/provider"
	"pawl/run"
	"pawl/store"
)

// Models returns the providers and models that can be used here. Rules that are wrong do not
// keep them from being looked at.
func (w *Workspace) Models() (*provider.Providers, error) {
	s, err := w.load()
	if s == nil || s.models == nil {
		return nil, err
	}
	return s.models, nil
}

// Model returns the model that a new run would have, or what is missing before there can be
// one. It may ask servers on this machine.
func (w *Workspace) Model(ctx context.Context) (string, error) {
	s, err := w.load()
	if err != nil {
		return "", err
	}
	model, _, err := w.findModel(ctx, s, "")
	return model, err
}

// CheckModel returns what is missing before a model, with the name of its provider, can be used here.
func (w *Workspace) CheckModel(model string) error {
	s, err := w.load()
	if err != nil {
		return err
	}
	return w.checkModel(s, model)
}

// choose returns the model that works in a new run - the one named, or else that of the
// settings, or else what is found on this machine - or what is missing before anything is
// recorded.
func (w *Workspace) choose(ctx context.Context, s *settings, model string) (string, error) {
	model, note, err := w.findModel(ctx, s, model)
	if note != "" {
		w.opt.Notice(note)
	}
	return model, err
}

// findModel returns the model of choose, and what a person should know of the choice.
func (w *Workspace) findModel(ctx context.Context, s *settings, model string) (chosen, note string, err error) {
	if values := s.Values("model"); model == "" && len(values) > 0 && values[0].Source != config.FromFlag {
		defer func() {
			if err != nil && values[0].Source != config.FromDefault {
				err = config.Errorf("%s: %w", values[0].Source, err)
			}
		}()
	}
	if model = cmp.Or(model, s.Get("model")); s.programs.Is(model) {
		if err := w.checkModel(s, model); err != nil {
			return model, "", err
		}
		return model, "", w.checkLogin(s, model)
	}
	chosen, note, err = s.models.Choose(ctx, model, w.Dir)
	if errors.Is(err, provider.ErrNoModel) {
		if k, ok := external.LoggedIn(w.env.Get); ok {
			return k.Name + "/" + external.DefaultModel, fmt.Sprintf("works with %s, which is installed and logged in, because no key is set and no server on this machine answers; --model names another model", k.Title), nil
		}
	}
	return chosen, note, err
}

// modelChange returns the change to another model: with it come the size of its window, and
// how it is asked for what to do.
func modelChange(programs external.Registry, model, control string, ps *provider.Providers) run.ConfigChange {
	if programs.Is(model) { // its window and how it is asked are its own
		window, control := int64(0), run.Native
		return run.ConfigChange{Model: &model, Window: &window, Control: &control}
	}
	window := ps.Window(model)
	control = controlOf(control, model, ps)
	return run.ConfigChange{Model: &model, Window: &window, Control: &control}
}

// checkOtherModels returns what is missing before the judge model of the settings, in mode auto, and the fallback model of a
// change can be used.
func (w *Workspace) checkOtherModels(s *settings, c run.ConfigChange) error {
	if model := s.Get("judge_model"); model != "" && s.Get("mode") == string(permission.Auto) {
		if err := s.models.Check(model, w.Dir); err != nil {
			return config.Errorf("the setting judge_model: %w", err)
		}
	}
	if c.Fallback == nil || c.Fallback.Model == "" {
		return nil
	}
	if err := s.models.Check(c.Fallback.Model, w.Dir); err != nil {
		return config.Errorf("the fallback model: %w", err)
	}
	return nil
}

// controlOf resolves auto for the models of the table; any other model is first asked by
// tool calling.
func controlOf(how, model string, ps *provider.Providers) string {
	if m, ok := ps.Lookup(model); how == run.Auto && ok && m.Control != "" {
		return m.Control
	}
	return how
}

// ownIn gives places of requests as leases of a store.
func ownIn(st store.Store) limit.Own {
	return func(ctx context.Context, place string) (func() error, error) {
		lease, err := st.Own(ctx, run.ID(place), "")
		if errors.As(err, new(*store.OwnedError)) {
			return nil, limit.ErrTaken
		}
		if err != nil {
			return nil, err
		}
		return lease.Release, nil
	}
}
