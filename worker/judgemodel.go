package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/text"
	"pawl/judge"
	"pawl/llm"
	"pawl/permission"
	"pawl/run"
	"pawl/task"
)

// In mode auto a model may answer the question about a call before a person does. It is one more answerer of the same
// question: it is asked at a point of its own, after the hooks, as an operation whose start and outcome are in the log,
// and it answers what [judge.Judgement.ForModel] says and nothing else. Where it gives no answer the question remains.

// judgePatience is how long a model may take to judge a call.
const judgePatience = time.Minute

// byModel returns what the model makes of the question about a call: an event that decides or begins to ask it, or, if
// waits is false, nothing: then it is a person's.
func (w world) byModel(s run.State, c run.CallState, j *judge.Judgement, d permission.Decision) (p run.Payload, waits bool) {
	if !s.Turn.Open() || !j.ForModel(d) {
		return nil, false
	}
	if said, asked := s.Turn.Judged(c.ID); asked {
		if said.Says != run.HookAllows || said.Digest != j.Digest() {
			return nil, false
		}
		return run.CallDecided{Call: c.ID, Decision: run.Decision{Answer: run.Allow, Source: run.ByModel, By: said.Model, Reason: said.Reason, Digest: said.Digest}}, false
	}
	model := s.Config.Model
	if w.w.JudgeModel != nil {
		model = w.w.JudgeModel(s.Config)
	}
	switch {
	case model == "" || !s.MayJudge(c.ID):
		return nil, false
	case s.Turn.Judging(): // one after the other, so that refusals in a row are counted
		return nil, true
	}
	return run.HookStarted{Point: run.JudgeModel, Call: c.ID, Hooks: []string{model}, Digest: j.Digest()}, false
}

// modelStillDecides reports whether what a model has allowed is still a question that it may answer.
func modelStillDecides(j *judge.Judgement) bool {
	d := j.Decision()
	return d.Verdict == permission.Allow || j.ForModel(d)
}

// judgeCall asks a model about a call, on a goroutine of its own.
func (r *Runner) judgeCall(ctx context.Context, op *operation, at run.Hook) {
	s := r.core.State
	c, _ := s.Turn.Call(at.Call)
	j, _, err := r.judge(s, c)
	asked, _ := s.Turn.Judged(at.Call)
	if err == nil && j.Digest() != asked.Digest {
		err = errors.New("what the call would do has changed")
	}
	var card *task.State
	if r.task != nil {
		of := r.task.Card()
		card = &of
	}
	go func() {
		began := r.w.now()
		p := run.HookSettled{Point: at.Point, Call: at.Call, Runs: []run.HookRun{{Hook: asked.Model}}}
		var given, answer string
		if err == nil {
			var words []string
			if words, err = r.personsWords(s, card); err == nil {
				given, err = j.ForTheModel(words)
			}
		}
		if err == nil {
			answer, p.Usage, err = r.askJudge(ctx, asked.Model, given)
			p.Runs[0].Output = text.Clip(answer, 2000)
			var allow bool
			if err == nil {
				allow, p.Reason, err = judge.ParseModel(answer)
			}
			switch {
			case err != nil:
			case allow:
				p.Says = run.HookAllows
			default:
				p.Says = run.HookDenies
			}
		}
		if stop, stopped := context.Cause(ctx).(Stop); stopped {
			p.Says, p.Reason, err = run.HookPasses, "", errors.New(stop.Interrupted.NotRunText())
		}
		if err != nil {
			p.Runs[0].Problem = err.Error()
		}
		p.Runs[0].Took = max(0, r.w.now().Sub(began))
		r.done <- run.Completion{Key: op.key, Events: []run.Payload{p}}
	}()
}

// askJudge sends what a model is given to judge, and returns the text of its answer.
func (r *Runner) askJudge(ctx context.Context, model, given string) (answer string, used run.Usage, err error) {
	provider, name, err := r.w.Provider(model)
	if err != nil {
		return "", run.Usage{}, err
	}
	body, err := provider.Encode(run.Message{ID: "judged", Role: run.User, Parts: []run.Part{run.Text(given)}})
	if err != nil {
		return "", run.Usage{}, err
	}
	req := llm.Request{Model: name, System: judge.ModelInstructions, Messages: []llm.Message{{Role: run.User, Body: body}}}
	if r.w.Structured != nil && r.w.Structured(model) {
		req.Output, _ = provider.EncodeOutput(json.RawMessage(judge.ModelSchema)) // without one the answer is read as strictly
	}
	limited, cancel := context.WithTimeout(ctx, judgePatience)
	defer cancel()
	defer func() { used = r.priced(model, used) }()
	for delta, err := range provider.Stream(limited, req) {
		switch {
		case err != nil:
			e := llm.AsError(limited, err)
			used = cmp.Or(e.Usage, used)
			if limited.Err() != nil && ctx.Err() == nil {
				return "", used, fmt.Errorf("no answer within %v", judgePatience)
			}
			return "", used, e
		case delta.Usage != nil:
			used = *delta.Usage
		case delta.Answer != nil:
			a := delta.Answer
			if used = a.Usage; a.Cached {
				used = run.Usage{}
			}
			if slices.ContainsFunc(a.Parts, func(p run.Part) bool { return p.Type == run.CallPart }) {
				return "", used, errors.New("the answer is a call")
			}
			return run.PlainText(a.Parts), used, nil
		}
	}
	return "", used, errors.New("the stream ended without an answer")
}

// isOption reports whether an answer is one of the options of its question.
func isOption(options []string, answer string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return strings.TrimSpace(o) == strings.TrimSpace(answer) })
}

// personsWords returns what the person has typed in the conversation of a run, the oldest first: prompts, messages,
// answers, and what they said when they refused a call. Nothing of a model's is among it, such as an answer that was picked
// of those that it offered, nor what was attached, what standard input had or what a command made of what they typed. Of a
// task it is the card, with the same left out, and nothing if another program added it.
func (r *Runner) personsWords(s run.State, card *task.State) (words []string, err error) {
	if card != nil {
		if card.Created.Source.Kind == "mcp" {
			return nil, nil
		}
		add := func(text, typed string) {
			if typed != run.NotTyped {
				words = append(words, cmp.Or(typed, text))
			}
		}
		add(card.Description, card.Created.Typed)
		for _, q := range card.Questions {
			if q.Answered && !isOption(q.Options, q.Answer) { // one is the agent's words
				add(q.Answer, q.Typed)
			}
		}
		for _, m := range card.Messages {
			if m.State != task.MessageIsWithdrawn {
				add(m.Text, m.Typed)
			}
		}
		return words, nil
	}
	for e, err := range r.w.Store.Events(context.Background(), s.Created.Conversation(), 0) {
		if err != nil {
			return nil, err // what is missing may forbid the call
		}
		var typed []run.Part
		switch p := e.Payload.(type) {
		case run.Prompted:
			typed = p.Parts
		case run.Said:
			typed = p.Parts
		case run.CallAnswered:
			typed = p.Parts
		case run.CallDecided:
			if p.Decision.Source == byPerson && !p.Decision.Allows() { // its content has the rule, with words of the call
				_, said, _ := strings.Cut(p.Decision.Reason, ": ")
				words = append(words, strings.TrimSpace("I refused a call. "+said))
			}
		}
		if said := run.TypedText(typed); said != "" {
			words = append(words, said)
		}
	}
	return words, nil
}
