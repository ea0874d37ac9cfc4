package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pawl/permission"
)

// A ruleFile is a file with the rules of one scope, as last read.
type ruleFile struct {
	disk
	scope permission.Scope
	rules permission.Rules // those that count; with err the last ones that forbid or ask
	notes []string
	err   error
}

// refresh reads the file again if it changed.
func (f *ruleFile) refresh() {
	content, fresh, err := f.read()
	if !fresh {
		return
	}
	var rules permission.Rules
	var notes []string
	if err == nil && f.sig.found {
		rules, notes, err = parse(content, f.scope, f.path)
	}
	if f.err, f.notes = err, notes; err == nil {
		f.rules = rules
		return
	}
	f.rules = permission.Merge(strict(rules), strict(f.rules))
}

// parse reads a file of rules. The error says that a rule which forbids may be missing;
// notes are about rules that allow and are set aside. The rules have no source: what
// a decision names is their scope.
func parse(content []byte, scope permission.Scope, path string) (rules permission.Rules, notes []string, err error) {
	rules, err = permission.Load(bytes.NewReader(content), scope, path)
	for i := range rules {
		rules[i].Source = ""
	}
	if err == nil {
		return rules, nil, nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil, nil, fmt.Errorf("%w; repair it, or move it away", err)
	}
	var wrong []error
	for _, e := range joined.Unwrap() {
		var one *permission.RuleError
		if errors.As(e, &one) && (one.Counts || onlyAllows(content, one.Line, one.Column)) {
			notes = append(notes, e.Error())
			continue
		}
		wrong = append(wrong, fmt.Errorf("%w, and it may be one that forbids: repair it", e))
	}
	return rules, notes, errors.Join(wrong...)
}

// onlyAllows reports whether the rule that begins at a place of a file, and is wrong,
// would have allowed something beyond doubt: setting it aside makes nothing looser.
func onlyAllows(content []byte, line, column int) bool {
	for ; line > 1; line-- {
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	if column < 1 || column > len(content) {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(content[column-1:]))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return false
	}
	effects := 0
	for d.More() {
		key, _ := d.Token() // no error: [permission.Load] has read the object
		var value any
		_ = d.Decode(&value)
		// The key is compared more loosely than it is read: what somebody may have
		// meant counts here.
		if strings.EqualFold(strings.TrimSpace(key.(string)), "effect") {
			if effects++; value != string(permission.Allow) {
				return false
			}
		}
	}
	return effects == 1
}

// An entry is one rule of a file as it is written, and as it reads; ok is false for
// one that cannot be read, which is kept as it is.
type entry struct {
	raw  json.RawMessage
	rule permission.Rule
	ok   bool
}

// entries cuts a file of rules into its rules. What is no such file is an error: it is
// not written over.
func entries(content []byte, path string) ([]entry, error) {
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, nil
	}
	// Load knows what is a file of rules, and says where it is none.
	_, err := permission.Load(bytes.NewReader(content), "", path)
	var one *permission.RuleError
	if err != nil && !errors.As(err, &one) {
		return nil, fmt.Errorf("%w; repair it, or move it away, and try again", err)
	}
	var file struct {
		Rules []json.RawMessage `json:"rules"`
	}
	_ = json.Unmarshal(content, &file) // no error: Load has read it
	var all []entry
	for _, raw := range file.Rules {
		e := entry{raw: raw}
		e.ok = json.Unmarshal(raw, &e.rule) == nil
		all = append(all, e)
	}
	return all, nil
}

// alike reports whether two rules of one file say the same of the same calls.
func alike(r, q permission.Rule) bool {
	return r.Effect == q.Effect && r.Tool == q.Tool && r.Pattern == q.Pattern && r.Sandbox == q.Sandbox
}

// format writes a file of rules, a rule a line, so that git shows what changed.
func format(all []entry) []byte {
	var b bytes.Buffer
	b.WriteString("{\"rules\": [")
	for i, e := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  ")
		_ = json.Compact(&b, e.raw) // it was read as JSON
	}
	if len(all) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

// newEntry is a rule as a file of its scope has it. It is read back as it will be when
// the file is loaded, its own tests too.
func newEntry(r permission.Rule, path string) (entry, error) {
	scope := r.Scope
	r.Scope, r.Source = "", ""
	raw, err := json.Marshal(r)
	if err != nil {
		return entry{}, err
	}
	e := entry{raw: raw}
	if _, err := permission.Load(bytes.NewReader(format([]entry{e})), scope, path); err != nil {
		var one *permission.RuleError
		if errors.As(err, &one) {
			err = one.Err
		}
		return entry{}, fmt.Errorf("the rule %s cannot be stored: %w", r, err)
	}
	return e, nil
}
