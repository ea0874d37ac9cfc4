package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/text"
	"pawl/run"
)

// A Kept is a conversation that a person had in a program, as the program keeps it.
type Kept struct {
	Kind  Kind
	ID    string    // the program's own, with which it resumes the conversation
	Words string    // the beginning of what the person said first, on one line
	Began time.Time // when that was said
	Last  time.Time
	File  string // which has it
}

// A KeptTurn is what a person said in a conversation, and what the program did then.
type KeptTurn struct {
	Began, Ended time.Time
	Words        string
	Observed     []run.Observed // before the answer
	Answer       string         // empty: it gave none
}

// A keeper knows how a program keeps its conversations. The forms are those of the versions in [Kinds], as these
// programs wrote them against a model on loopback on 2026-11-28; none is documented.
type keeper interface {
	// find returns the conversations of a folder. Those that cannot be read are in the error; the others are returned
	// beside it.
	find(env func(name string) string, workspace string) ([]Kept, error)
	turns(Kept) ([]KeptTurn, error)
}

// Keeps returns the conversations that the program keeps of a workspace, the last one first. The error says which of
// them cannot be read; the others are returned with it.
func (k Kind) Keeps(env func(name string) string, workspace string) (all []Kept, err error) {
	keeper, ok := k.adapter.(keeper)
	if !ok {
		return nil, nil
	}
	all, err = keeper.find(env, workspace)
	for i := range all {
		all[i].Kind = k
		all[i].Words = text.OneLine(plain(all[i].Words), maxKeptWords)
	}
	all = slices.DeleteFunc(all, func(c Kept) bool { return c.Words == "" || c.ID == "" })
	slices.SortFunc(all, func(a, b Kept) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID)) })
	return all, err
}

// Turns reads the conversation.
func (c Kept) Turns() ([]KeptTurn, error) {
	all, err := c.Kind.adapter.(keeper).turns(c)
	if err == nil && len(all) == 0 {
		err = errors.New("it has nothing that a person said")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	return all, nil
}

// Bounds of what is read of conversations.
const (
	maxKeptWords = 200
	maxKeptHead  = 1 << 20 // of a file, to find out what it is about
)

// A reading collects the turns of a conversation.
type reading struct {
	all []KeptTurn
	*report
}

// prompt begins a turn.
func (r *reading) prompt(words string, at time.Time) {
	if words = strings.TrimSpace(plain(words)); words == "" {
		return
	}
	r.end()
	r.all = append(r.all, KeptTurn{Began: at, Ended: at, Words: words})
	r.report = newReport()
}

// at is when what is read next happened.
func (r *reading) at(t time.Time) {
	if n := len(r.all); n > 0 && t.After(r.all[n-1].Ended) {
		r.all[n-1].Ended = t
	}
}

func (r *reading) end() []KeptTurn {
	if n := len(r.all); n > 0 && r.report != nil {
		last := &r.all[n-1]
		last.Answer = cutPart(strings.TrimSpace(r.said.String()))
		last.Observed = r.news
	}
	r.report = nil
	return r.all
}

// linesOf calls do with each line of a file, up to its first most bytes (0: all), until it wants no more. The last line may
// be half written.
func linesOf(path string, most int64, do func(line []byte) (more bool)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var from io.Reader = f
	if most > 0 {
		from = io.LimitReader(f, most)
	}
	for line := range lines(from) {
		if !do(line) {
			break
		}
	}
	return nil
}

// filesIn returns the files in a folder that fit, none if there is no folder.
func filesIn(dir, pattern string) (paths []string) {
	entries, _ := os.ReadDir(dir) // one that is not there has none
	for _, e := range entries {
		if ok, _ := filepath.Match(pattern, e.Name()); ok && e.Type().IsRegular() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// A keptClaude is a line of Claude Code's.
type keptClaude struct {
	claudeLine
	ID        string    `json:"uuid"`
	Parent    string    `json:"parentUuid"`
	Logical   string    `json:"logicalParentUuid"` // across a summary
	Sidechain bool      `json:"isSidechain"`       // of a sub-agent
	Meta      bool      `json:"isMeta"`            // the program's own words
	Summary   bool      `json:"isCompactSummary"`
	Cwd       string    `json:"cwd"`
	At        time.Time `json:"timestamp"`
}

// words returns what a line says in the name of the person; "" if nothing.
func (l keptClaude) words() string {
	if l.Type != "user" || l.Sidechain || l.Meta || l.Summary {
		return ""
	}
	var words string
	if json.Unmarshal(l.Message.Content, &words) == nil {
		return words
	}
	var blocks []claudeBlock
	_ = json.Unmarshal(l.Message.Content, &blocks) // what is no list says nothing
	for _, b := range blocks {
		switch b.Type {
		case "text":
			words += b.Text + "\n"
		case "tool_result":
			return ""
		}
	}
	return words
}

func (claude) find(env func(string) string, workspace string) (all []Kept, err error) {
	dir := ownDir(env, "CLAUDE_CONFIG_DIR", ".claude")
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, workspace)
	for _, path := range filesIn(filepath.Join(dir, "projects", name), "*.jsonl") {
		c := Kept{ID: strings.TrimSuffix(filepath.Base(path), ".jsonl"), File: path, Last: modified(path)}
		elsewhere := false
		wrong := linesOf(path, maxKeptHead, func(line []byte) bool {
			var l keptClaude
			if json.Unmarshal(line, &l) == nil {
				elsewhere = elsewhere || l.Cwd != "" && l.Cwd != workspace // another folder with the same name
				c.Words, c.Began = strings.TrimSpace(l.words()), l.At
			}
			return c.Words == ""
		})
		if err = errors.Join(err, named(path, wrong)); !elsewhere {
			all = append(all, c)
		}
	}
	return all, err
}

func (claude) turns(c Kept) ([]KeptTurn, error) {
	// A file has all branches of a conversation; the last line is on the one that counts.
	above, last := map[string]string{}, ""
	err := linesOf(c.File, 0, func(line []byte) bool {
		var l keptClaude
		if json.Unmarshal(line, &l) == nil && l.ID != "" && !l.Sidechain {
			above[l.ID] = cmp.Or(l.Parent, l.Logical)
			last = l.ID
		}
		return true
	})
	counts := map[string]bool{}
	for id := last; id != "" && !counts[id]; id = above[id] {
		counts[id] = true
	}
	var r reading
	stream := &claudeStream{}
	err = errors.Join(err, linesOf(c.File, 0, func(line []byte) bool {
		var l keptClaude
		if json.Unmarshal(line, &l) != nil || !counts[l.ID] {
			return true
		}
		if words := l.words(); words != "" {
			r.prompt(words, l.At)
		} else if r.report != nil && !l.Meta && !l.Summary {
			stream.line(line, r.report)
			r.at(l.At)
		}
		return true
	}))
	return r.end(), err
}

// A keptCodex is a line of a rollout of Codex'.
type keptCodex struct {
	At      time.Time `json:"timestamp"`
	Type    string    `json:"type"`
	Payload struct {
		Type    string          `json:"type"`
		ID      string          `json:"id"`
		Cwd     string          `json:"cwd"`
		Source  json.RawMessage `json:"source"`  // a sub-agent's is an object
		Message string          `json:"message"` // of versions before 0.150
		Role    string          `json:"role"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Item struct {
			Type    string `json:"type"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"item"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"`
		Input     string          `json:"input"`
		Call      string          `json:"call_id"`
		Output    json.RawMessage `json:"output"`
		Summary   []struct {
			Text string `json:"text"`
		} `json:"summary"`
	} `json:"payload"`
}

func (l keptCodex) words() string {
	switch p := l.Payload; {
	case l.Type != "event_msg":
	case p.Type == "user_message":
		return p.Message
	case p.Type == "item_completed" && p.Item.Type == "UserMessage":
		words := ""
		for _, c := range p.Item.Content {
			words += c.Text + "\n"
		}
		return words
	}
	return ""
}

func (codex) find(env func(string) string, workspace string) (all []Kept, err error) {
	root := filepath.Join(ownDir(env, "CODEX_HOME", ".codex"), "sessions")
	wrong := filepath.WalkDir(root, func(path string, e fs.DirEntry, problem error) error {
		switch {
		case problem != nil && path == root:
			return nil // there are none
		case problem != nil:
			err = errors.Join(err, problem)
			return nil
		case !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), "rollout-") || !strings.HasSuffix(e.Name(), ".jsonl"):
			return nil
		}
		c := Kept{File: path, Last: modified(path)}
		here := false // as the first line says
		wrong := linesOf(path, maxKeptHead, func(line []byte) bool {
			var l keptCodex
			if json.Unmarshal(line, &l) != nil {
				return here
			}
			if l.Type == "session_meta" {
				c.ID = l.Payload.ID
				here = l.Payload.Cwd == workspace && !bytes.HasPrefix(l.Payload.Source, []byte("{"))
			}
			c.Words, c.Began = strings.TrimSpace(l.words()), l.At
			return here && c.Words == ""
		})
		if err = errors.Join(err, named(path, wrong)); here {
			all = append(all, c)
		}
		return nil
	})
	return all, errors.Join(err, wrong)
}

func (codex) turns(c Kept) ([]KeptTurn, error) {
	var r reading
	err := linesOf(c.File, 0, func(line []byte) bool {
		var l keptCodex
		if json.Unmarshal(line, &l) != nil {
			return true
		}
		if words := l.words(); words != "" {
			r.prompt(words, l.At)
		}
		if p := l.Payload; l.Type == "response_item" && r.report != nil {
			r.at(l.At)
			switch p.Type {
			case "message":
				for _, c := range p.Content {
					if p.Role == "assistant" {
						r.text(c.Text)
					}
				}
			case "reasoning":
				for _, s := range p.Summary {
					r.thinking(s.Text)
				}
			case "function_call":
				r.call(p.Call, p.Name, false, json.RawMessage(cmp.Or(p.Arguments, "{}")))
			case "custom_tool_call":
				args, _ := json.Marshal(map[string]string{"input": p.Input}) // a string
				r.call(p.Call, p.Name, false, args)
			case "function_call_output", "custom_tool_call_output":
				r.result(p.Call, claudeText(p.Output), false, nil)
			}
		}
		return true
	})
	return r.end(), err
}

// A keptGemini is a message of Gemini CLI's.
type keptGemini struct {
	ID       string          `json:"id"`
	At       time.Time       `json:"timestamp"`
	Type     string          `json:"type"`
	Content  json.RawMessage `json:"content"` // text, or a list of parts
	Thoughts []struct {
		Subject     string `json:"subject"`
		Description string `json:"description"`
	} `json:"thoughts"`
	Calls []struct {
		ID     string          `json:"id"`
		Name   string          `json:"name"`
		Args   json.RawMessage `json:"args"`
		Status string          `json:"status"`
		Result []struct {
			Response struct {
				Response struct {
					Output string `json:"output"`
					Error  string `json:"error"`
				} `json:"response"`
			} `json:"functionResponse"`
		} `json:"result"`
	} `json:"toolCalls"`
}

func (m keptGemini) words() string {
	var words string
	if json.Unmarshal(m.Content, &words) == nil {
		return words
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &parts) // what is no list says nothing
	for _, p := range parts {
		words += p.Text + "\n"
	}
	return words
}

// geminiOwnWords begin what Gemini CLI says in the name of the person.
const geminiOwnWords = "<session_context>"

// geminiMessages reads a conversation: a line has a message, which can come again with more, or sets all of them, then
// without what their calls came to.
func geminiMessages(path string, most int64) (id string, all []keptGemini, err error) {
	known := map[string]keptGemini{}
	put := func(m keptGemini) {
		if len(m.Calls) == 0 {
			m.Calls = known[m.ID].Calls
		}
		known[m.ID] = m
		if i := slices.IndexFunc(all, func(o keptGemini) bool { return o.ID == m.ID }); i >= 0 {
			all[i] = m
		} else if m.ID != "" {
			all = append(all, m)
		}
	}
	err = linesOf(path, most, func(line []byte) bool {
		var l struct {
			keptGemini
			Session string `json:"sessionId"`
			Kind    string `json:"kind"`
			Set     struct {
				Messages []keptGemini `json:"messages"`
			} `json:"$set"`
		}
		if json.Unmarshal(line, &l) != nil {
			return true
		}
		if l.Session != "" && l.Kind == "main" {
			id = l.Session
		}
		if l.Set.Messages != nil {
			all = nil
		}
		for _, m := range append(l.Set.Messages, l.keptGemini) {
			put(m)
		}
		return true
	})
	return id, slices.DeleteFunc(all, func(m keptGemini) bool { return strings.HasPrefix(m.words(), geminiOwnWords) }), err
}

func (gemini) find(env func(string) string, workspace string) (all []Kept, err error) {
	root := filepath.Join(cmp.Or(env("GEMINI_CLI_HOME"), env("HOME")), ".gemini")
	var projects struct {
		Projects map[string]string `json:"projects"`
	}
	content, err := atomicfile.Read(filepath.Join(root, "projects.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err = errors.Join(err, json.Unmarshal(content, &projects)); err != nil {
		return nil, named(filepath.Join(root, "projects.json"), err)
	}
	name := projects.Projects[workspace]
	if name == "" || !filepath.IsLocal(name) {
		return nil, nil
	}
	for _, path := range filesIn(filepath.Join(root, "tmp", name, "chats"), "session-*.jsonl") {
		id, messages, wrong := geminiMessages(path, maxKeptHead)
		c := Kept{ID: id, File: path, Last: modified(path)}
		for _, m := range messages {
			if c.Words == "" && m.Type == "user" {
				c.Words, c.Began = strings.TrimSpace(m.words()), m.At
			}
		}
		all, err = append(all, c), errors.Join(err, named(path, wrong))
	}
	return all, err
}

func (gemini) turns(c Kept) ([]KeptTurn, error) {
	var r reading
	_, messages, err := geminiMessages(c.File, 0)
	for _, m := range messages {
		switch {
		case m.Type == "user":
			r.prompt(m.words(), m.At)
		case m.Type == "gemini" && r.report != nil:
			r.at(m.At)
			for _, t := range m.Thoughts {
				r.thinking(strings.TrimSpace(t.Subject + "\n" + t.Description))
			}
			if words := m.words(); strings.TrimSpace(words) != "" {
				r.text(words)
			}
			for _, call := range m.Calls {
				r.call(call.ID, call.Name, false, call.Args)
				for _, res := range call.Result {
					r.result(call.ID, cmp.Or(res.Response.Response.Output, res.Response.Response.Error), call.Status == "error", nil)
				}
			}
		}
	}
	return r.end(), err
}

// ownDir returns the folder in which a program keeps its things.
func ownDir(env func(string) string, variable, name string) string {
	return cmp.Or(env(variable), filepath.Join(env("HOME"), name))
}

func named(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}
