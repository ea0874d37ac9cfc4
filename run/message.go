package run

import (
	"cmp"
	"fmt"
	"strings"
)

// An ID names a run. The creator of the run chooses it; that of a child run is derived
// from its parent by [ChildID].
type ID string

// ChildID returns the id of the child run that a call starts. It is derived, so that a
// call which is resumed after a kill finds its child.
func ChildID(parent ID, call CallID) ID {
	return ID(string(parent) + "-" + strings.ReplaceAll(string(call), "_", ""))
}

// AgentID returns the name of the child run that a call of the last message starts, within its
// parent: agent_<n>_<id of the message> for the nth child that the message starts. It is the same
// after a restart. An id of a run may be long; this one is for people and for their notes.
func (s State) AgentID(call CallID) string {
	n := 1
	for _, c := range s.Turn.Calls {
		if c.ID == call {
			break
		}
		if c.StartsChild() {
			n++
		}
	}
	return fmt.Sprintf("agent_%d_%s", n, s.lastID())
}

// A CallID names a call within its run: c_1, c_2, … in the order the calls
// were first seen. It is pawl's own; the provider's id is kept beside it and is
// used on that provider's wire only, because some repeat ids and some send none.
type CallID string

// A Role says who speaks.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is what one side said: text, thinking, calls, results, images, in
// the order they came. Results stand before words.
type Message struct {
	ID    string // unique in the run: m_1, m_2, …; synthesis_<id of the last message> for a synthesis
	Role  Role
	Parts []Part
	// Rev counts how often compaction has rewritten the message: ID and Rev
	// together name its content, so an encoding of it can be kept.
	Rev int
}

// A PartType says which fields of a [Part] count.
type PartType string

const (
	TextPart     PartType = "text"
	ThinkingPart PartType = "thinking"
	CallPart     PartType = "call"
	ResultPart   PartType = "result"
	ImagePart    PartType = "image"
	// OpaquePart is a block that must be sent back to its provider byte for byte and that
	// pawl does not interpret (redacted thinking, the provider's server-side tools).
	OpaquePart PartType = "opaque"
)

// A Part is one piece of a message. It must not be changed after it was put into an event.
type Part struct {
	Type PartType `json:"type"`
	Text string   `json:"text,omitempty"` // text and thinking
	Cut  bool     `json:"cut,omitempty"`  // text: the stream ended here before the model had finished
	// Attached is what a person attached and this is the content of, such as the path of a
	// file; empty: words. Faces show it instead of the content.
	Attached string `json:"attached,omitempty"`
	// Typed is what a person typed, where Text has more: what a command made of it, or standard input, [NotTyped]. Empty:
	// all of Text, if it is words.
	Typed string `json:"typed,omitempty"`

	// Signature is what the provider wants back with the part as it came: over
	// thinking, and on some wires on text and calls too.
	Signature string `json:"signature,omitempty"`
	Wire      string `json:"wire,omitempty"` // that made the thinking, the opaque part or the signature; they are sent to no other
	Raw       string `json:"raw,omitempty"`  // opaque: the block as JSON, as it came

	Call   *Call   `json:"call,omitempty"`
	Result *Result `json:"result,omitempty"`
	Image  *Image  `json:"image,omitempty"`
}

// NotTyped is what a person typed of words that came from standard input or another program.
const NotTyped = "-"

// A Call is one tool use the model asked for.
type Call struct {
	ID         CallID `json:"id"`
	ProviderID string `json:"provider_id,omitempty"` // as the provider named it; may be empty or repeat
	Tool       string `json:"tool,omitempty"`
	// Arguments is a JSON object as text, as it came; {} when the call has a
	// Fault, so that the history stays one that a provider accepts.
	Arguments string `json:"arguments,omitempty"`
	Fault     Fault  `json:"fault,omitempty"`
	Raw       string `json:"raw,omitempty"` // with a Fault: what had come instead of an object, bounded by the provider to 2,000 bytes
}

// A Fault says why a call as it came can never run.
type Fault string

const (
	NoFault      Fault = ""
	FaultCut     Fault = "cut"      // the answer ended inside the call (max_tokens)
	FaultNotJSON Fault = "not_json" // the arguments are not a JSON object
	FaultEmpty   Fault = "no_name"  // the call names no tool
)

// A Result is the answer to a call.
type Result struct {
	Call    CallID `json:"call"`
	Content []Part `json:"content,omitempty"` // text, images
	IsError bool   `json:"is_error,omitempty"`
	// ExitCode is that of a command that has ended; nil: there is none.
	ExitCode *int `json:"exit_code,omitempty"`
	// Delivery is the form in which the model has a result that is stored under the
	// call's id: inline, stored, forced, image. Empty: it is not stored.
	Delivery string `json:"delivery,omitempty"`
	// Files are what a tool of an external agent's has changed, and Diff how: of several files each with a head as git has it.
	Files []FileChange `json:"files,omitempty"`
	Diff  string       `json:"diff,omitempty"`
	// Kept: what it says holds for the work that follows, as that of a skill. It stays when the context is compacted.
	Kept bool `json:"kept,omitempty"`
}

// Succeeded reports whether a call did what it was to do: it has no error, and the command
// that it ran, if it ran one, ended with exit code 0.
func Succeeded(isError bool, exitCode *int) bool {
	return !isError && (exitCode == nil || *exitCode == 0)
}

// ExitWords says an exit code.
func ExitWords(code int) string {
	if code > 128 && code < 128+65 {
		return fmt.Sprintf("exit code %d (signal %d)", code, code-128)
	}
	return fmt.Sprintf("exit code %d", code)
}

// An Image is a picture as a content block. Base64 never enters text.
type Image struct {
	MediaType string `json:"media_type,omitempty"` // image/png, …
	Data      []byte `json:"data,omitempty"`
}

// Text returns a text part.
func Text(s string) Part { return Part{Type: TextPart, Text: s} }

// TextOf returns a text part of which a person typed something else; see [Part.Typed].
func TextOf(s, typed string) Part { return Part{Type: TextPart, Text: s, Typed: typed} }

// TypedText returns what a person typed of parts that are words of theirs.
func TypedText(parts []Part) string {
	var typed []string
	for _, p := range parts {
		if words := cmp.Or(p.Typed, p.Text); p.Type == TextPart && p.Attached == "" && words != NotTyped && (len(typed) == 0 || p.Typed == "" || words != typed[len(typed)-1]) {
			typed = append(typed, words)
		}
	}
	return strings.Join(typed, "\n")
}

// ShownText returns the text parts of a person's message, joined by newlines, with the names of
// what is attached in place of its content: what a face shows of it.
func ShownText(parts []Part) string {
	var lines []string
	attached := ""
	for _, p := range parts {
		switch {
		case p.Attached == "" && p.Type == TextPart:
			lines = append(lines, p.Text)
		case p.Attached != "" && p.Attached != attached:
			lines = append(lines, "[attached: "+p.Attached+"]")
		}
		attached = p.Attached
	}
	return strings.Join(lines, "\n")
}

// PlainText returns the text parts of parts joined by newlines; other parts
// are left out.
func PlainText(parts []Part) string {
	text := ""
	for _, p := range parts {
		if p.Type != TextPart {
			continue
		}
		if text != "" {
			text += "\n"
		}
		text += p.Text
	}
	return text
}
