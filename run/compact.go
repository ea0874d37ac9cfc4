package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// window estimates how full the model's context window is.
type window struct {
	used          int64 // tokens of the last step's request and answer, by the provider's own figures
	grown         int64 // bytes added to the context since
	compactions   int   // in a row, without a settled step between
	tooLong       bool  // the provider refused the context as too long
	learned       int64 // tokens that were too many, when it is not known how many fit
	summaryFailed bool
	asked         bool // a person wants the context to be compacted before the next request
}

// bytesPerToken turns bytes into tokens where no provider has counted: a guess on
// the low side for English and code (about 4), so that the estimate errs towards
// compacting early. Only the tail since the last answer is guessed.
const bytesPerToken = 3

func (w *window) grow(parts []Part) {
	for i := range parts {
		w.grown += int64(size(&parts[i]))
	}
}

func (w *window) measured(u Usage) {
	if u.Total() > 0 {
		// The answer is about to be added by say; its tokens are counted there.
		w.used, w.grown = u.Total()-u.Output, 0
	}
}

// refused records that the provider rejected the context as too long.
func (w *window) refused() {
	w.tooLong = true
	w.learned = w.fill()
}

func (w *window) fill() int64 { return w.used + w.grown/bytesPerToken }

// size estimates the bytes that p takes on the wire.
func size(p *Part) int {
	n := len(p.Text) + len(p.Signature) + len(p.Raw)
	if p.Call != nil {
		n += len(p.Call.Tool) + len(p.Call.Arguments) + 60
	}
	if p.Image != nil {
		n += imageBytes
	}
	if p.Result != nil {
		n += 60
		for i := range p.Result.Content {
			n += size(&p.Result.Content[i])
		}
	}
	return n
}

// imageBytes is the assumed size of an image: 1,600 tokens, a guess on the high side
// that the provider's count replaces with the next answer.
const imageBytes = 1600 * bytesPerToken

// keepLatest is how many of the latest messages compaction keeps, tried in this order
// until enough is freed: a small window may hold no more than eight messages.
var keepLatest = []int{8, 4, 2}

// Stage 1 replaces results of at least stage1Min bytes, and arguments of settled calls
// of at least stage1Args bytes: what they wrote to a file can be read there.
const (
	stage1Min  = 600
	stage1Args = 8000
)

// SummaryPrompt asks the model for the summary of a compaction. It is sent with that
// request only and is not part of the context.
const SummaryPrompt = "The conversation is about to be shortened. Write the notes that you need to continue without it: the task and what the person asked for, decisions taken and why, files read and changed with what matters in them, commands run and what they showed, what is done, what is open, and the very next step. Be exact with names, paths and figures. Do not call tools."

// compaction returns the command that must come before the next request because the
// window is nearly full; nil if none.
//
// It cannot loop: a compaction that frees less than a fifth of the window is not made,
// and the turn ends after two without a settled step between them.
func (s *State) compaction() Command {
	t, w := &s.Turn, &s.window
	limit := s.limit()
	if t.Phase == Summarized {
		return s.stage2(t.reply.summary)
	}
	over := w.tooLong || limit > 0 && float64(w.fill()) >= cmp.Or(s.Config.CompactAt, DefaultCompactAt)*float64(limit)
	if w.asked && !over {
		return s.compactionAsked()
	}
	if !over || t.Request.Attempt > 0 && !w.tooLong && t.Request.Purpose == ForStep {
		return nil
	}
	if w.compactions >= 2 {
		return s.finish(Ended{End: LimitReached, Reason: "context_full",
			Detail: "the context was compacted twice in a row and is full again; continue with a model that has a larger window, or start a new run"})
	}
	for _, keep := range keepLatest {
		if calls, freed := s.stage1(keep); freed >= limit/5 {
			return Derive{Compacted{Stage: 1, Calls: calls, Freed: freed}}
		}
	}
	if _, freed := s.cutPoint(limit / 5); freed < limit/5 {
		return s.finish(Ended{End: LimitReached, Reason: "context_full",
			Detail: "the context is full and too little of it can be removed; continue with a model that has a larger window, or start a new run"})
	}
	if w.summaryFailed || w.tooLong {
		return s.stage2(s.deterministicSummary())
	}
	return s.request(ForSummary)
}

// compactionAsked is compaction for a person who wants it: all that a summary can stand for is
// summarized. Where nothing is gained by it, nothing is done.
func (s *State) compactionAsked() Command {
	if _, freed := s.cutPoint(s.window.fill()); freed <= 0 || s.Turn.Request.Attempt > 0 && s.Turn.Request.Purpose == ForStep {
		return nil
	}
	if s.window.summaryFailed {
		return s.stage2(s.deterministicSummary())
	}
	return s.request(ForSummary)
}

// Context returns how many tokens of the model's window the context takes, estimated, and how
// many fit; 0 if that is not known.
func (s *State) Context() (used, limit int64) { return s.window.fill(), s.limit() }

// CompactionAsked reports whether a person wants the context to be compacted.
func (s *State) CompactionAsked() bool { return s.window.asked }

// limit returns how many tokens fit the window: the configured number, or else the size
// of a context that the provider rejected; 0 if neither is known.
func (s *State) limit() int64 {
	if s.Config.Window > 0 {
		return s.Config.Window
	}
	return s.window.learned
}

// stage1 returns the calls whose results or very long arguments can be replaced by a
// reference, and an estimate of the tokens freed.
func (s *State) stage1(keep int) ([]CallID, int64) {
	var calls []CallID
	freed := 0
	for i := range s.Messages {
		for j := range s.Messages[i].Parts {
			p := &s.Messages[i].Parts[j]
			switch n := size(p) - keptSize(p.Result); {
			case p.Result != nil && !p.Result.Kept && n >= stage1Min && i < len(s.Messages)-keep:
				calls = append(calls, p.Result.Call)
				freed += n - 150
			case p.Call != nil && len(p.Call.Arguments) >= stage1Args:
				calls = append(calls, p.Call.ID)
				freed += n - 150
			}
		}
	}
	return calls, int64(freed / bytesPerToken)
}

// cutPoint returns the index of the last message that a summary may replace, and an
// estimate of the tokens freed: at least enough if possible. No call may have its result
// after that message. It returns -1 if there is no such message.
func (s *State) cutPoint(enough int64) (through int, freed int64) {
	through = -1
	for _, keep := range keepLatest {
		for i := len(s.Messages) - 1 - keep; i >= 1; i-- {
			if m := s.Messages[i]; m.Role == User || countCalls(m.Parts) == 0 {
				through, freed = i, s.freedThrough(i)
				break
			}
		}
		if through >= 0 && freed >= enough {
			break
		}
	}
	return through, freed
}

// summaryTokens is the assumed size of a summary.
const summaryTokens = 500

func (s *State) freedThrough(i int) int64 {
	n := 0
	for _, m := range s.Messages[:i+1] {
		if m.ID == s.task || m.ID == s.Turn.prompt {
			continue // kept; see summarize
		}
		for j := range m.Parts {
			n += size(&m.Parts[j])
		}
	}
	return int64(n/bytesPerToken) - summaryTokens
}

func (s *State) stage2(summary string) Command {
	through, freed := s.cutPoint(s.limit() / 5)
	if through < 0 {
		return s.finish(Ended{End: LimitReached, Reason: "context_full", Detail: "the context is full and nothing of it can be removed; start a new run"})
	}
	return Derive{Compacted{Stage: 2, Through: s.Messages[through].ID, Summary: summary, Freed: freed}}
}

// deterministicSummary replaces a summary that the model could not make.
func (s *State) deterministicSummary() string {
	var b strings.Builder
	b.WriteString("Earlier steps were left out to save room. What was done, from the log:\n")
	lines := s.Turn.lines()
	if len(lines) > 60 {
		fmt.Fprintf(&b, "(the first %d calls are left out)\n", len(lines)-60)
		lines = lines[len(lines)-60:]
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "- %s %s %s: %s%s\n", l.Call, l.Tool, l.Args, outcomeWords[l.Outcome], l.stored())
	}
	return strings.TrimRight(b.String(), "\n")
}

func (s *State) applyCompacted(f Compacted) error {
	t := &s.Turn
	if s.Created.External || t.Phase != Ready && t.Phase != Spoken && t.Phase != Summarized || t.open > 0 {
		return refuse("compacted in the middle of a step")
	}
	switch f.Stage {
	case 1:
		s.replaceResults(f.Calls)
	case 2:
		i := slices.IndexFunc(s.Messages, func(m Message) bool { return m.ID == f.Through })
		if i < 0 || f.Summary == "" {
			return refuse("compacted through a message that is not there")
		}
		s.summarize(i, f.Summary)
		s.Summarized = s.Seq + 1
		s.planMode = s.planMode && s.Config.Mode != PlanMode // a summary may not say it: it is told again
	default:
		return refuse("compacted in stage %d", f.Stage)
	}
	w := &s.window
	w.compactions++
	w.tooLong, w.summaryFailed, w.asked = false, false, false
	w.used, w.grown = max(0, w.fill()-f.Freed), 0
	t.reply.summary = ""
	if t.Phase == Summarized {
		t.Phase = Ready
	}
	return nil
}

// replaceResults replaces results and long arguments by references. Messages are copied
// before they are changed: encodings and older states still use them.
func (s *State) replaceResults(calls []CallID) {
	gone := make(map[CallID]bool, len(calls))
	for _, c := range calls {
		gone[c] = true
	}
	s.Messages = slices.Clone(s.Messages)
	for i := range s.Messages {
		m := &s.Messages[i]
		copied := false
		for j := range m.Parts {
			r, c := m.Parts[j].Result, m.Parts[j].Call
			long := c != nil && gone[c.ID] && len(c.Arguments) >= stage1Args
			if !long && (r == nil || !gone[r.Call] || size(&m.Parts[j])-keptSize(r) < stage1Min) {
				continue
			}
			if !copied {
				m.Parts, copied = slices.Clone(m.Parts), true
				m.Rev++
			}
			if long {
				short := *c
				short.Arguments = fmt.Sprintf(`{"left_out":"%d bytes, to save room"}`, len(c.Arguments))
				m.Parts[j].Call = &short
				continue
			}
			text := fmt.Sprintf("[The result of %s was left out to save room: %d bytes. Make the call again if you need it.]", r.Call, size(&m.Parts[j]))
			if r.Delivery != "" {
				text = fmt.Sprintf("[The result of %s was left out to save room: %d bytes. It is stored as output %s: ask it with tool_outputs.]", r.Call, size(&m.Parts[j]), r.Call)
			}
			m.Parts[j].Result = &Result{Call: r.Call, Content: append([]Part{Text(text)}, keptOf(r)...), IsError: r.IsError, ExitCode: r.ExitCode, Delivery: r.Delivery}
		}
	}
}

// summarize replaces the messages up to i by the run's task, the turn's prompt
// and a summary.
func (s *State) summarize(i int, summary string) {
	var kept []Message
	for _, m := range s.Messages[:i+1] {
		if m.ID == s.task || m.ID == s.Turn.prompt && m.Role == User {
			kept = append(kept, m)
		}
	}
	if s.planned() {
		summary += "\n\n" + s.Plan.text()
	}
	s.messages++
	kept = append(kept, Message{ID: "m_" + itoa(s.messages), Role: User,
		Parts: append([]Part{Text("[Earlier steps, in summary]\n\n" + summary)}, s.kept(i)...)})
	s.Messages = append(kept, s.Messages[i+1:]...)
}

// maxKept bounds what is kept of results when messages become a summary, in bytes, as does a quarter of the window: of more
// the oldest are left out.
const maxKept = 64 << 10

// keptName marks what stays of a result, and what a summary has beside its own words.
const keptName = "kept"

// keptOf returns the parts of a result that stay when the result is left out.
func keptOf(r *Result) (parts []Part) {
	for _, p := range r.Content {
		if p.Attached == keptName {
			parts = append(parts, p)
		}
	}
	return parts
}

// keptSize returns the size of those parts; r may be nil.
func keptSize(r *Result) (n int) {
	if r != nil {
		for _, p := range keptOf(r) {
			n += size(&p)
		}
	}
	return n
}

// kept returns what the messages up to i have that stays, each once.
func (s *State) kept(i int) (parts []Part) {
	room := maxKept
	if limit := s.limit(); limit > 0 {
		room = min(room, int(limit)*bytesPerToken/4)
	}
	for _, m := range slices.Backward(s.Messages[:i+1]) {
		for _, p := range m.Parts {
			text := p.Text
			switch {
			case p.Result != nil && p.Result.Kept:
				text = PlainText(p.Result.Content)
			case p.Result != nil && keptSize(p.Result) > 0:
				text = PlainText(keptOf(p.Result))
			case p.Attached != keptName:
				continue
			}
			part := Part{Type: TextPart, Text: text, Attached: keptName}
			if len(text) <= room && !slices.ContainsFunc(parts, func(other Part) bool { return other.Text == text }) {
				room -= len(text)
				parts = append(parts, part)
			}
		}
	}
	slices.Reverse(parts)
	return parts
}
