package run

import (
	"slices"
	"time"
)

// A HookPoint is a moment of a run at which commands of people can run: hooks. The names are those of Claude Code
// (npm @anthropic-ai/claude-agent-sdk 0.3.330, sdk.d.ts, read 2026-11-23), so that hooks made for it work here.
type HookPoint string

const (
	SessionStart       HookPoint = "SessionStart"       // before the first request of a process, and after a summary
	UserPromptSubmit   HookPoint = "UserPromptSubmit"   // before words of the person go to the model
	PreToolUse         HookPoint = "PreToolUse"         // before a call is decided on
	PermissionRequest  HookPoint = "PermissionRequest"  // before a person is asked about a call
	PostToolUse        HookPoint = "PostToolUse"        // after a call that has run
	PostToolUseFailure HookPoint = "PostToolUseFailure" // the same, after one that has failed
	PreCompact         HookPoint = "PreCompact"         // before the model summarizes the context
	Stop               HookPoint = "Stop"               // before the turn is completed
	SubagentStart      HookPoint = "SubagentStart"      // before the first request of a child run
	SubagentStop       HookPoint = "SubagentStop"       // Stop, of a child run
	TaskCreated        HookPoint = "TaskCreated"        // before a task is added; it is of no run
	TaskCompleted      HookPoint = "TaskCompleted"      // before the report that completes the task of a run is accepted
	Notification       HookPoint = "Notification"       // when a call begins to wait for a person; nothing waits for it
	SessionEnd         HookPoint = "SessionEnd"         // when a process lets go of the run; nothing waits for it

	// JudgeModel is no moment of hooks, and no person can have a command there: a model is asked about a call before a
	// person is, in permission mode auto. It answers once, after the hooks, and what it says counts as what they say.
	JudgeModel HookPoint = "JudgeModel"
)

// HookPoints are all of them, in the order of a run.
var HookPoints = []HookPoint{SessionStart, SubagentStart, UserPromptSubmit, PreToolUse, PermissionRequest, PostToolUse,
	PostToolUseFailure, PreCompact, Stop, SubagentStop, TaskCreated, TaskCompleted, Notification, SessionEnd}

// aside reports whether nothing waits for the hooks of a point, and they have no say in what happens.
func (p HookPoint) aside() bool { return p == Notification || p == SessionEnd }

// HookStarted says that the hooks of a point are about to run. It is durable before they do.
type HookStarted struct {
	Point HookPoint `json:"point"`
	Call  CallID    `json:"call,omitempty"` // of the points around a call
	Hooks []string  `json:"hooks"`          // what runs: where it stands, and its command
	// Through is, of UserPromptSubmit, the last of the messages that they are shown.
	Through string `json:"through,omitempty"`
	// Digest identifies, of JudgeModel, what the model is asked about; see [Decision].
	Digest string `json:"digest,omitempty"`
}

// HookSettled is what the hooks of a point came to, all of them together.
type HookSettled struct {
	Point HookPoint  `json:"point"`
	Call  CallID     `json:"call,omitempty"`
	Runs  []HookRun  `json:"runs,omitempty"` // in the order of [HookStarted]
	Says  HookAnswer `json:"says,omitempty"` // the strictest of their answers
	// Reason is why: a sentence, for the person and of HookDenies for the model.
	Reason string `json:"reason,omitempty"`
	// Arguments are those that the call has from here on, a JSON object; empty: as it has them.
	Arguments string `json:"arguments,omitempty"`
	Context   string `json:"context,omitempty"` // what they tell the model
	// Halt is why the turn has to end; empty: it goes on.
	Halt string `json:"halt,omitempty"`
	// Usage is what JudgeModel has used.
	Usage Usage `json:"usage,omitzero"`
}

// A HookAnswer is what hooks say to what is about to happen.
type HookAnswer string

const (
	HookPasses HookAnswer = ""      // nothing: what would happen without them happens
	HookAllows HookAnswer = "allow" // the call need not be asked about
	HookAsks   HookAnswer = "ask"   // a person has to be asked about the call
	HookDenies HookAnswer = "deny"  // it does not happen. Of Stop: the turn goes on
)

// A HookRun is how one hook ended.
type HookRun struct {
	Hook     string        `json:"hook"`
	ExitCode *int          `json:"exit_code,omitempty"` // of a command that has ended; of a request the status
	Output   string        `json:"output,omitempty"`    // what it printed, cut
	Message  string        `json:"message,omitempty"`   // to the person
	Problem  string        `json:"problem,omitempty"`   // why what it says does not count
	Took     time.Duration `json:"took_ns,omitempty"`
}

// A Hook asks for the hooks of a point to be run: append [HookStarted], which must be durable before they run, then
// [HookSettled]. What it is about waits for them.
type Hook struct {
	Point   HookPoint
	Call    CallID
	Through string
	N       int // how many there were before it in the turn; of those that nothing waits for, in the run
}

func (c Hook) Key() string {
	return "hook/" + string(c.Point) + "/" + string(c.Call) + "/" + itoa(c.N)
}

// hookLostText is the problem of a hook whose process was killed. It is not run again: what it did is not known.
const hookLostText = "pawl ended while it ran, and what it said is not known"

// hookState is hooks of a point that run, or have run before or after a call.
type hookState struct {
	Hook
	hooks  []string
	done   bool
	says   HookAnswer
	reason string
	digest string // of JudgeModel
	deaths int    // of processes while JudgeModel was asked
}

// hooking is what a turn remembers of hooks.
type hooking struct {
	hooks    []hookState // that run, and those of the calls of the last message
	hooked   int         // started in the turn
	screened string      // the last of the person's messages that UserPromptSubmit has seen
	stopped  string      // the message after which Stop has run
	blocks   int         // how often in a row Stop has let the turn go on
	summary  string      // the message after which PreCompact has run
	halt     Ended       // how the turn has to end, as a hook wants it
	// disallowed is how often in a row JudgeModel has refused, since it allowed a call or a person decided on one.
	disallowed int
}

// MaxDisallowed is how often in a row a model may refuse calls before the person is asked: the number of Claude Code's
// auto mode (code.claude.com/docs/en/permission-modes, read 2026-11-29).
const MaxDisallowed = 3

// A ModelJudgement is what JudgeModel came to for a call.
type ModelJudgement struct {
	Model  string
	Digest string // of what it was asked about
	Says   HookAnswer
	Reason string
}

// Judged returns which model was asked about a call and what it has said, if it has.
func (t *Turn) Judged(call CallID) (j ModelJudgement, has bool) {
	i := t.hook(JudgeModel, call)
	if i < 0 {
		return ModelJudgement{}, false
	}
	h := t.hooks[i]
	return ModelJudgement{Model: h.hooks[0], Digest: h.digest, Says: h.says, Reason: h.reason}, h.done
}

// MayJudge reports whether a model may be asked about a call before a person is: it was not asked about it, nor is it
// about another, its limits of tokens and cost are not used up, and it has not refused too often.
func (s *State) MayJudge(call CallID) bool {
	t := &s.Turn
	atWork := t.Phase == Calling || t.Phase == Requesting // else nothing waits for what it says
	return atWork && t.hook(JudgeModel, call) < 0 && t.disallowed < MaxDisallowed && s.overspent().End == ""
}

// Judging reports whether a model is asked about a call.
func (t *Turn) Judging() bool {
	return slices.ContainsFunc(t.hooks, func(h hookState) bool { return h.Point == JudgeModel && !h.done })
}

// MaxStopBlocks is how often in a row hooks may keep a turn from ending: the number of Claude Code (anthropics/claude-code
// CHANGELOG, read 2026-11-23).
const MaxStopBlocks = 8

// hook returns the index of the hooks of a point, or -1.
func (t *Turn) hook(p HookPoint, call CallID) int {
	return slices.IndexFunc(t.hooks, func(h hookState) bool { return h.Point == p && h.Call == call })
}

// Hooked reports whether the hooks of a point before or after a call were started, and what they have said, with the
// reason, if they have ended.
func (t *Turn) Hooked(p HookPoint, call CallID) (says HookAnswer, reason string, started bool) {
	i := t.hook(p, call)
	if i < 0 {
		return HookPasses, "", false
	}
	return t.hooks[i].says, t.hooks[i].reason, true
}

// Hooking reports whether hooks run that a call waits for; of "" whether any run.
func (t *Turn) Hooking(call CallID) bool {
	return slices.ContainsFunc(t.hooks, func(h hookState) bool { return !h.done && (call == "" || h.Call == call) })
}

// StopBlocks returns how often in a row hooks have kept the turn from ending.
func (t *Turn) StopBlocks() int { return t.blocks }

// hooksOwed returns the hooks that run.
func (t *Turn) hooksOwed() (owed []Command) {
	for _, h := range t.hooks {
		if !h.done {
			owed = append(owed, h.Hook)
		}
	}
	return owed
}

// refused reports whether hooks refuse a call, and why.
func (t *Turn) refused(call CallID) (reason string, yes bool) {
	for _, p := range []HookPoint{PreToolUse, PermissionRequest, TaskCompleted} {
		if says, reason, _ := t.Hooked(p, call); says == HookDenies {
			return reason, true
		}
	}
	return "", false
}

// ByModel is the source of a decision of JudgeModel's.
const ByModel = "judge"

// refusal returns the decision on a call that hooks or a model refuse; nil: none does.
func (t *Turn) refusal(call CallID) Payload {
	if reason, refused := t.refused(call); refused {
		return CallDecided{call, Decision{Answer: Deny, Source: "hook", Reason: "a hook refused it: " + reason}, refusedByHook + reason}
	}
	if j, asked := t.Judged(call); asked && j.Says == HookDenies {
		return CallDecided{call, Decision{Answer: Deny, Source: ByModel, By: j.Model, Reason: "judged by " + j.Model + ": " + j.Reason, Digest: j.Digest}, refusedByModel + j.Reason}
	}
	return nil
}

// countJudged counts what JudgeModel refuses in a row.
func (t *Turn) countJudged(d Decision) {
	switch {
	case d.Source == ByModel && !d.Allows():
		t.disallowed++
	case d.Source == ByModel, d.Source == "person":
		t.disallowed = 0
	}
}

// Unscreened returns the person's words that the next request would deliver and UserPromptSubmit has not let pass, and
// the id of the last of them; "" if there are none. Prompts of turns that ended before a request are among them.
func (s *State) Unscreened() (parts []Part, through string) {
	t := &s.Turn
	for _, id := range s.undelivered {
		if i := slices.IndexFunc(s.Messages, func(m Message) bool { return m.ID == id }); i >= 0 {
			parts, through = append(parts, s.Messages[i].Parts...), id
		}
	}
	words := t.Words
	if i := indexWords(words, t.screened); t.screened != "" && i >= 0 {
		words = words[i+1:]
	}
	for _, w := range words {
		if !w.own {
			parts, through = append(parts, w.Parts...), w.ID
		}
	}
	return parts, through
}

func (s *State) applyHookStarted(p HookStarted) error {
	if p.Point.aside() {
		return s.startAside(p)
	}
	t := &s.Turn
	c, isCall := t.Call(p.Call)
	fits := !isCall && p.Call == "" && t.open == 0 && (t.Phase == Ready || t.Phase == Spoken || t.Phase == Ending)
	switch p.Point {
	case PreToolUse, PermissionRequest, JudgeModel:
		fits = isCall && c.Status == CallIsInspected && !c.Question && c.Problem == ""
	case PostToolUse, PostToolUseFailure:
		fits = isCall && c.Status == CallDone && c.Attempt > 0
	case TaskCompleted: // an external agent submits during its turn
		fits = isCall && c.Status == CallAllowed && c.Submits
	}
	during := p.Point == TaskCompleted || p.Point == JudgeModel
	switch {
	case !t.Open() || t.Phase == Interrupting || !during && (t.Phase == Requesting || s.Created.External):
		return refuse("hooks started outside of the steps of a turn")
	case !slices.Contains(HookPoints, p.Point) && p.Point != JudgeModel || len(p.Hooks) == 0:
		return refuse("hooks without a point or a name")
	case !fits:
		return refuse("hooks of %s started where they have no place", p.Point)
	case t.hook(p.Point, p.Call) >= 0:
		return refuse("the hooks of %s %s have run", p.Point, p.Call)
	}
	t.hooked++
	t.hooks = append(slices.Clip(t.hooks), hookState{Hook: Hook{p.Point, p.Call, p.Through, t.hooked}, hooks: p.Hooks, digest: p.Digest})
	return nil
}

// startAside records the start of hooks that nothing waits for.
func (s *State) startAside(p HookStarted) error {
	c, isCall := s.Turn.Call(p.Call)
	fits := !isCall && p.Call == ""
	if p.Point == Notification {
		fits = isCall && c.Status == CallIsInspected && s.Turn.Phase != Interrupting
	}
	switch {
	case !fits || len(p.Hooks) == 0:
		return refuse("hooks of %s started where they have no place", p.Point)
	case s.Notified(p.Call) || slices.ContainsFunc(s.aside, func(h hookState) bool { return h.Point == SessionEnd }):
		return refuse("the hooks of %s %s have run", p.Point, p.Call)
	}
	s.asides++
	s.aside = append(slices.Clip(s.aside), hookState{Hook: Hook{p.Point, p.Call, "", s.asides}, hooks: p.Hooks})
	if p.Point == Notification {
		s.Turn.own(s.Turn.find(p.Call)).notified = true
	}
	return nil
}

// Notified reports whether Notification has begun for a call.
func (s *State) Notified(call CallID) bool {
	c, _ := s.Turn.Call(call)
	return c.notified
}

func (s *State) applyHookSettled(p HookSettled) error {
	if p.Point.aside() {
		i := slices.IndexFunc(s.aside, func(h hookState) bool { return h.Point == p.Point && h.Call == p.Call })
		if i < 0 {
			return refuse("the hooks of %s %s do not run", p.Point, p.Call)
		}
		s.aside = slices.Delete(slices.Clone(s.aside), i, i+1)
		return nil
	}
	t := &s.Turn
	i := t.hook(p.Point, p.Call)
	if i < 0 || t.hooks[i].done {
		return refuse("the hooks of %s %s do not run", p.Point, p.Call)
	}
	h := t.hooks[i]
	if t.hooks = slices.Clone(t.hooks); p.Call == "" || t.Phase == Interrupting {
		t.hooks = slices.Delete(t.hooks, i, i+1)
	} else {
		t.hooks[i].done, t.hooks[i].says, t.hooks[i].reason = true, p.Says, p.Reason
	}
	if t.Phase == Interrupting {
		return nil
	}
	if p.Halt != "" && p.Point == TaskCompleted { // its turn goes on: what was refused can be done
		p.Says, p.Reason, p.Halt = HookDenies, joined(p.Reason, p.Halt), ""
		t.hooks[i].says, t.hooks[i].reason = p.Says, p.Reason
	}
	if p.Halt != "" {
		t.halt = Ended{End: GuardrailStopped, Reason: "hook", Detail: "a hook stopped the turn: " + p.Halt}
	}
	switch p.Point {
	case PreToolUse, PermissionRequest:
		s.hookedCall(p)
	case TaskCompleted:
		t.hooks[i].reason = joined(p.Reason, p.Context)
		return nil
	case PostToolUse, PostToolUseFailure:
		c := t.own(t.find(p.Call))
		text := p.Context
		if p.Says == HookDenies {
			text = joined(p.Reason, text)
		}
		if text != "" {
			c.Result.Content = append(slices.Clip(c.Result.Content), Text(hookNote+text))
		}
		return nil
	case SessionStart, SubagentStart:
		s.SessionStarted = s.Seq + 1
	case UserPromptSubmit:
		if t.screened = h.Through; p.Says == HookDenies {
			s.refuseWords(h.Through, p.Reason)
			return nil
		}
		s.undelivered = nil
	case PreCompact:
		// One that is needed is made all the same: without it there is no next request.
		if t.summary = s.lastID(); p.Says == HookDenies {
			s.window.asked = false
		}
		return nil
	case Stop, SubagentStop:
		if t.stopped = s.lastID(); p.Says != HookDenies {
			return nil // there is no next request that context could go with
		}
		t.blocks++
		t.Phase = Ready
		p.Context = joined(p.Reason, p.Context)
	}
	if p.Context != "" {
		t.tell(hookText(p.Point, p.Context))
	}
	return nil
}

// hookedCall records what hooks before a call have said.
func (s *State) hookedCall(p HookSettled) {
	t := &s.Turn
	c := t.own(t.find(p.Call))
	if p.Arguments == "" || p.Says == HookDenies || c.Status != CallIsInspected {
		return
	}
	c.Arguments, c.changed = p.Arguments, true
	t.advance(c, CallNamed) // it is inspected and decided on as what it is now
}

// refuseWords takes back the person's words that hooks have refused, so that no model sees them: through is the last.
func (s *State) refuseWords(through, reason string) {
	t := &s.Turn
	if len(s.undelivered) > 0 {
		t.halt = Ended{End: GuardrailStopped, Reason: "hook", Detail: "a hook refused the prompt: " + reason}
		s.Messages = slices.Clone(s.Messages)
	}
	for i := range s.Messages {
		if m := &s.Messages[i]; slices.Contains(s.undelivered, m.ID) {
			s.Returned = append(slices.Clip(s.Returned), Words{ID: m.ID, Parts: m.Parts})
			m.Parts = []Part{Text("[A hook of the person refused these words, and they are not shown.]")}
		}
	}
	s.undelivered = nil
	last := indexWords(t.Words, through)
	kept := slices.Clone(t.Words[last+1:])
	for i := last; i >= 0; i-- {
		if w := t.Words[i]; w.own {
			kept = slices.Insert(kept, 0, w)
		} else {
			s.Returned = append(slices.Clip(s.Returned), w)
		}
	}
	t.Words = kept
}

// hookNote precedes what hooks say after a call, in its result.
const hookNote = "[Not part of the result: a hook of the person says this about the call.]\n\n"

func hookText(p HookPoint, text string) string {
	return "[A hook of the person (" + string(p) + ") says:]\n" + text
}

// joined joins texts that are not empty with a blank line.
func joined(texts ...string) string {
	all := ""
	for _, text := range texts {
		switch {
		case text == "":
		case all == "":
			all = text
		default:
			all += "\n\n" + text
		}
	}
	return all
}

// asksAgain reports whether JudgeModel is asked again after the death of a process that asked it: that changes nothing.
func (t *Turn) asksAgain(h hookState) bool {
	return h.Point == JudgeModel && t.Phase == Calling && h.deaths+1 < maxDeaths
}

// lostHooks returns what settles the hooks that ran when a process died. What may have been refused is: a call is asked
// about, and words do not go out.
func (s *State) lostHooks(problem string) (events []Payload) {
	for _, h := range slices.Concat(s.Turn.hooks, s.aside) {
		if h.done || s.Turn.asksAgain(h) {
			continue
		}
		p := HookSettled{Point: h.Point, Call: h.Call}
		for _, name := range h.hooks {
			p.Runs = append(p.Runs, HookRun{Hook: name, Problem: problem})
		}
		switch h.Point {
		case TaskCompleted:
			p.Says, p.Reason = HookDenies, problem+"; submit it again"
		case PreToolUse:
			p.Says, p.Reason = HookAsks, problem
		case UserPromptSubmit:
			p.Says, p.Reason = HookDenies, problem+"; say it again"
		}
		events = append(events, p)
	}
	return events
}

// hooksDue begins the hooks of what has just happened: after calls.
func (m *maker) hooksDue() error {
	ended := m.ended
	m.ended = nil
	t := &m.s.Turn
	for _, id := range ended {
		c, ok := t.Call(id)
		if !ok || t.Phase != Calling && t.Phase != Ready || c.Attempt == 0 || c.Outcome != OK && c.Outcome != Failed {
			continue
		}
		point := PostToolUse
		if !Succeeded(c.Result.IsError, c.Result.ExitCode) {
			point = PostToolUseFailure
		}
		if _, err := m.hook(Hook{Point: point, Call: id}); err != nil {
			return err
		}
	}
	return nil
}

// hook begins the hooks of a point, unless there are none or they were begun. It reports whether it did.
func (m *maker) hook(at Hook) (bool, error) {
	external := m.s.Created.External && at.Point != TaskCompleted
	if m.in.Closed || external || !m.s.Turn.Open() || m.s.Turn.hook(at.Point, at.Call) >= 0 {
		return false, nil
	}
	names := m.world.Hooks(m.s, at)
	if len(names) == 0 {
		return false, nil
	}
	return true, m.begin(m.s.nextHook(at), HookStarted{Point: at.Point, Call: at.Call, Hooks: names, Through: at.Through})
}

// nextHook returns hooks as the next that begin.
func (s *State) nextHook(at Hook) Hook {
	if at.N = s.Turn.hooked + 1; at.Point.aside() {
		at.N = s.asides + 1
	}
	return at
}

// hooksBefore begins the hooks before a request, one point after the other. It reports whether it did.
func (m *maker) hooksBefore(purpose Purpose, attempt int) (bool, error) {
	t := &m.s.Turn
	if t.Phase == Requesting || attempt > 1 {
		return false, nil
	}
	child := m.s.Created.Parent != ""
	start := SessionStart
	if child {
		start = SubagentStart
	}
	if purpose == ForStep {
		if begun, err := m.hook(Hook{Point: start}); begun || err != nil {
			return begun, err
		}
	}
	// Each request delivers what was said, whatever it is for.
	if _, through := m.s.Unscreened(); through != "" && !child {
		if begun, err := m.hook(Hook{Point: UserPromptSubmit, Through: through}); begun || err != nil {
			return begun, err
		}
	}
	if purpose == ForSummary && t.summary != m.s.lastID() {
		return m.hook(Hook{Point: PreCompact})
	}
	return false, nil
}

// hooksAtEnd begins the hooks before a turn is completed. It reports whether it did.
func (m *maker) hooksAtEnd(end Ended) (bool, error) {
	t := &m.s.Turn
	concludes := end.End == Completed && t.Phase == Spoken && !m.s.submitted()
	if !concludes || t.stopped == m.s.lastID() || t.blocks >= MaxStopBlocks {
		return false, nil
	}
	point := Stop
	if m.s.Created.Parent != "" {
		point = SubagentStop
	}
	return m.hook(Hook{Point: point})
}
