package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/schema"
)

// An underway is a call under way on a connection.
type underway struct {
	token    string
	progress func(string) // nil: nobody is shown what it does
	ask      func(ctx context.Context, question string, options ...string) (string, error)
	ctx      context.Context // of the call
	limit    *time.Timer     // fires when it has taken too long
	patience time.Duration   // of limit: the time that a person takes does not count
	notes    []string        // for the model: what was not answered
	task     string          // that carries it out; empty: none
	asking   sync.Mutex      // held while the server waits for an answer
}

type callKey struct{}

// asking returns the call that a server asks for: the one whose context ctx is of, or the one that was
// made last. The revisions before 2026-07-28 do not say which call a question is for.
func (l *link) asking(ctx context.Context) *underway {
	if u, is := ctx.Value(callKey{}).(*underway); is {
		return u
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) == 0 {
		return nil
	}
	return l.calls[len(l.calls)-1]
}

// forTask returns the call of the task that metadata names; nil: there is none.
func (l *link) forTask(m sdk.Meta) *underway {
	of, _ := m[relatedTask].(map[string]any)
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.calls, func(u *underway) bool { return u.task != "" && u.task == of["taskId"] })
	if i < 0 {
		return nil
	}
	return l.calls[i]
}

// Words with which a person answers the question of a server, beside values.
const (
	declines  = "decline"
	leavesOut = "leave out"
	opened    = "opened"
)

// errDeclined says that the person has declined to answer.
var errDeclined = errors.New("declined")

// elicit asks the person what a server wants to know. Where there is none it is declined.
func (r *Remote) elicit(ctx context.Context, l *link, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	u := l.asking(ctx)
	if u == nil {
		return &sdk.ElicitResult{Action: declines}, nil // no call is under way that could ask
	}
	message := visible.Escape(clip(p.Message, maxQuestion))
	if u.ask == nil {
		l.mu.Lock()
		if len(u.notes) == 0 {
			r.all.opt.notice(fmt.Sprintf("the server %s asked, and nobody is there to answer, so it was declined: %s", r.Name, text.OneLine(message, 300)))
		}
		if len(u.notes) < maxNotes {
			u.notes = append(u.notes, "[the server asked the person, and nobody is there to answer, so it was declined: "+message+"]")
		}
		l.mu.Unlock()
		return &sdk.ElicitResult{Action: declines}, nil
	}
	u.asking.Lock()
	defer u.asking.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(u.ctx, func() { cancel(context.Cause(u.ctx)) })()
	u.limit.Stop()
	defer u.limit.Reset(u.patience)
	ask := func(question string, options ...string) (string, error) {
		answer, err := u.ask(ctx, question, options...)
		if answer = strings.TrimSpace(answer); strings.EqualFold(answer, declines) {
			err = errDeclined
		}
		return answer, err
	}
	asks := "The server " + r.Name + " asks: " + message
	var content map[string]any
	var err error
	if p.Mode == "url" {
		err = askToOpen(asks, p.URL, ask)
	} else {
		content, err = fill(asks, p.RequestedSchema, ask)
	}
	switch {
	case errors.Is(err, errDeclined):
		return &sdk.ElicitResult{Action: declines}, nil
	case ctx.Err() != nil:
		return &sdk.ElicitResult{Action: "cancel"}, nil
	case err != nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}, nil
}

// maxNotes is the maximum number of notes about unanswered questions in a result.
const maxNotes = 5

// maxQuestion bounds what is shown of a server's question, in bytes.
const maxQuestion = 4 << 10

type asker func(question string, options ...string) (string, error)

// askToOpen asks the person to open a page of a server's: pawl opens none by itself.
func askToOpen(asks, link string, ask asker) error {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%s is no address of a web page", visible.Quote(clip(link, 200)))
	}
	question := fmt.Sprintf("%s\n\nIt wants you to open a page of %s in a browser, and to say here when you have done there what it needs:\n%s",
		asks, visible.Escape(u.Host), visible.Escape(link))
	if strings.Contains(u.Host, "xn--") || strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }) {
		question += "\nThe name of the host has letters that may look like others."
	}
	for {
		answer, err := ask(question, opened, declines)
		if err != nil || strings.EqualFold(answer, opened) {
			return err
		}
	}
}

// openPages asks the person to open the pages that an error of a call names: the form that the revision 2025-11-25 has
// for what has to happen first. It reports whether the call is to be made again.
func (r *Remote) openPages(ctx context.Context, l *link, err error) bool {
	needed, is := errors.AsType[*jsonrpc.Error](err)
	if !is || needed.Code != sdk.CodeURLElicitationRequired {
		return false
	}
	var pages struct {
		Elicitations []*sdk.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(needed.Data, &pages) != nil || len(pages.Elicitations) == 0 {
		return false
	}
	for _, p := range pages.Elicitations {
		p.Mode = "url"
		if answer, err := r.elicit(ctx, l, p); err != nil || answer.Action != "accept" {
			return false
		}
	}
	return true
}

// A field is a field of the form that a server wants to have filled in.
type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Format      string   `json:"format"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []choice `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []choice `json:"anyOf"`
	} `json:"items"`
	Default any `json:"default"`

	name     string
	required bool
	fits     *schema.Compiled
}

type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// fill asks for the fields of a form, one after the other: those that are required first. An answer that is a JSON
// object fills in all of them.
func fill(asks string, requested any, ask asker) (map[string]any, error) {
	if requested == nil {
		requested = map[string]any{}
	}
	raw, err := json.Marshal(requested)
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &form)
	}
	if err != nil {
		return nil, fmt.Errorf("the form that it wants to have filled in cannot be read: %w", err)
	}
	whole, err := compileForm(raw)
	if err != nil {
		return nil, err
	}
	var fields []*field
	for name, property := range form.Properties {
		f := &field{name: name, required: slices.Contains(form.Required, name)}
		if err := json.Unmarshal(property, f); err != nil {
			return nil, fmt.Errorf("the field %s of the form cannot be read: %w", visible.Quote(name), err)
		}
		if f.fits, err = compileForm(property); err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	slices.SortFunc(fields, func(a, b *field) int {
		if a.required != b.required {
			return map[bool]int{true: -1, false: 1}[a.required]
		}
		return cmp.Compare(a.name, b.name)
	})
	content := map[string]any{}
	if len(fields) == 0 {
		_, err := ask(asks, "accept", declines)
		return content, err
	}
	for i, f := range fields {
		wrong := ""
		for {
			question := asks + "\n\n" + f.words(i, len(fields))
			if wrong != "" {
				question = wrong + "\n\n" + question
			}
			answer, err := ask(question, f.options()...)
			if err != nil {
				return nil, err
			}
			if all, is := filled(answer, fields); is {
				if wrong = problems(whole, all); wrong == "" {
					return all, nil
				}
				continue
			}
			value, given := f.value(answer)
			if !given && (!f.required || f.Default != nil) {
				value, given = f.Default, f.Default != nil
			} else if !given {
				wrong = "An answer is needed."
				continue
			}
			if given {
				if wrong = problems(f.fits, value); wrong != "" {
					continue
				}
				content[f.name] = value
			}
			break
		}
	}
	return content, nil
}

// compileForm reads the schema of a form or of a field of it, by a draft in which formats are checked.
func compileForm(raw json.RawMessage) (*schema.Compiled, error) {
	var form map[string]json.RawMessage
	if err := json.Unmarshal(raw, &form); err != nil || form == nil {
		return nil, errors.New("the form that it wants to have filled in is no object")
	}
	form["$schema"] = json.RawMessage(`"http://json-schema.org/draft-07/schema#"`)
	raw, err := json.Marshal(form)
	if err != nil {
		return nil, err
	}
	return schema.Compile(raw)
}

// filled returns what an answer that is a JSON object fills in, with the defaults of what it leaves out.
func filled(answer string, fields []*field) (map[string]any, bool) {
	var all map[string]any
	if json.Unmarshal([]byte(answer), &all) != nil || all == nil {
		return nil, false
	}
	for _, f := range fields {
		if _, given := all[f.name]; !given && f.Default != nil {
			all[f.name] = f.Default
		}
	}
	return all, true
}

// problems says in a sentence how a value does not fit; empty if it does.
func problems(fits *schema.Compiled, value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, p := range fits.Validate(raw) {
		all = append(all, p.String())
	}
	if len(all) == 0 {
		return ""
	}
	return "That does not fit: " + strings.Join(all, "; ") + "."
}

// words asks for the field, which is number i of n.
func (f *field) words(i, n int) string {
	var b strings.Builder
	if n > 1 {
		fmt.Fprintf(&b, "%d of %d: ", i+1, n)
	}
	b.WriteString(visible.Escape(text.OneLine(cmp.Or(f.Title, f.name), 200)))
	if f.Description != "" {
		b.WriteString(": " + visible.Escape(text.OneLine(f.Description, 1000)))
	}
	kind := map[string]string{"integer": "a whole number", "number": "a number", "boolean": "yes or no", "array": "several, with commas"}[f.Type]
	if kind = cmp.Or(kind, "text"); f.Format != "" {
		kind += " (" + visible.Escape(clip(f.Format, 40)) + ")"
	}
	b.WriteString("\n" + kind)
	if f.Default != nil {
		value, _ := json.Marshal(f.Default) // it was JSON
		fmt.Fprintf(&b, "; %q gives %s", leavesOut, visible.Escape(clip(string(value), 200)))
	} else if !f.required {
		fmt.Fprintf(&b, "; %q answers without it", leavesOut)
	}
	if len(f.options()) == 0 {
		fmt.Fprintf(&b, "; %q tells the server nothing", declines)
	}
	return b.String()
}

// choices returns the values that the field can have, with what a person reads for each; none: any.
func (f *field) choices() []choice {
	all := append(slices.Clone(f.OneOf), f.Items.AnyOf...)
	for i, value := range append(slices.Clone(f.Enum), f.Items.Enum...) {
		c := choice{Const: value}
		if i < len(f.EnumNames) {
			c.Title = f.EnumNames[i]
		}
		all = append(all, c)
	}
	for i := range all {
		all[i].Title = visible.Escape(text.OneLine(cmp.Or(all[i].Title, all[i].Const), 200))
	}
	return all
}

// options returns the answers to choose from. What is written freely has none: a number is the answer, and not
// that of an option.
func (f *field) options() (all []string) {
	for _, c := range f.choices() {
		all = append(all, c.Title)
	}
	if f.Type == "boolean" {
		all = []string{"yes", "no"}
	}
	if len(all) == 0 {
		return nil
	}
	if !f.required || f.Default != nil {
		all = append(all, leavesOut)
	}
	return append(all, declines)
}

// value returns the value that an answer stands for, as the form has it. A text in JSON's quotes is taken as it stands.
func (f *field) value(answer string) (value any, given bool) {
	if answer == "" || strings.EqualFold(answer, leavesOut) {
		return nil, false
	}
	one := func(word string) string {
		for _, c := range f.choices() {
			if strings.EqualFold(word, c.Title) || word == c.Const {
				return c.Const
			}
		}
		return word
	}
	switch f.Type {
	case "integer", "number":
		if n := 0.0; json.Unmarshal([]byte(answer), &n) == nil {
			return n, true
		}
	case "boolean":
		switch strings.ToLower(answer) {
		case "yes", "y", "true":
			return true, true
		case "no", "n", "false":
			return false, true
		}
	case "array":
		several := []any{}
		for word := range strings.SplitSeq(answer, ",") {
			several = append(several, one(strings.TrimSpace(word)))
		}
		return several, true
	}
	var quoted string
	if json.Unmarshal([]byte(answer), &quoted) == nil {
		return quoted, true
	}
	return one(answer), true
}
