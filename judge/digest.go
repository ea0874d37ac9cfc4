package judge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"

	"pawl/permission"
)

// digestOf returns what a decision about a call is bound to, as the hexadecimal
// SHA-256 of a canonical form of: the tool, its arguments, the folder, what it
// touches and where that leads, the hash of each file before (files, by path), and
// the sandbox asked for. If one of them differs when the call starts, it has to be
// asked about again.
//
// The arguments are those that will be used, outputs put in for their handles.
// Order of keys, blanks and escapes make no difference; the spelling of a number
// does, so that no two numbers can be taken for one.
func digestOf(r permission.Request, args json.RawMessage, files map[string]string) string {
	h := sha256.New()
	// Each field with its length before it, so that nothing can move from one into
	// the next.
	field := func(values ...string) {
		h.Write([]byte(strconv.Itoa(len(values)) + ";"))
		for _, v := range values {
			h.Write([]byte(strconv.Itoa(len(v)) + ":" + v))
		}
	}
	dir := r.Dir
	if dir == "" {
		dir = r.Workspace
	}
	field("pawl decision 1", r.Tool, r.Command, r.URL, path.Clean("/"+dir), path.Clean("/"+r.Workspace), string(r.Sandbox))
	field(canonical(args))
	field(r.Paths...)
	field(r.Resolved...)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		field(name, files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical returns JSON with its keys sorted and no blanks; what is no JSON stays
// as it is, marked.
func canonical(data json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil && !d.More() && json.Valid(data) {
		var out []byte
		if out, err = json.Marshal(v); err == nil {
			return "json " + string(out)
		}
	}
	return "text " + string(data)
}
