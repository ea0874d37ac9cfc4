package tooltest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/tool"
)

// PortableSchema returns what in a schema not every provider takes. The subset is
// what the schema transforms of the official SDKs of Anthropic, OpenAI and Google
// keep as it is (as of November 2026), except that optional fields are left out
// of required, from where a wire can make them nullable. A field that text, which says what the tool does, does not name
// in backquotes needs words of its own.
func PortableSchema(schema json.RawMessage, text string) []string {
	var doc map[string]any
	if err := json.Unmarshal(schema, &doc); err != nil {
		return []string{fmt.Sprintf("the schema is no JSON object: %v", err)}
	}
	if doc["type"] != "object" {
		return []string{"the schema's root is no object"}
	}
	return portable("$", doc, text, 1)
}

var portableKeywords = []string{"type", "properties", "required", "items", "enum", "anyOf", "description", "additionalProperties"}

func portable(at string, doc map[string]any, text string, level int) (problems []string) {
	if level > 5 {
		return []string{at + ": deeper than 5 levels"}
	}
	for keyword := range doc {
		if !slices.Contains(portableKeywords, keyword) {
			problems = append(problems, fmt.Sprintf("%s: the keyword %s is not portable", at, keyword))
		}
	}
	switch doc["type"] {
	case "object":
		if doc["additionalProperties"] != false {
			problems = append(problems, at+": additionalProperties is not false")
		}
		props, _ := doc["properties"].(map[string]any)
		required, ok := doc["required"].([]any)
		if !ok {
			problems = append(problems, at+": required is missing")
		}
		for _, name := range required {
			if _, ok := props[fmt.Sprint(name)]; !ok {
				problems = append(problems, fmt.Sprintf("%s: %v is required and no property", at, name))
			}
		}
		for name, p := range props {
			sub, ok := p.(map[string]any)
			if !ok {
				problems = append(problems, at+"."+name+": no schema")
				continue
			}
			if s, _ := sub["description"].(string); s == "" && !strings.Contains(text, "`"+name+"`") {
				problems = append(problems, at+"."+name+": no description")
			}
			problems = append(problems, portable(at+"."+name, sub, text, level+1)...)
		}
	case "array":
		items, ok := doc["items"].(map[string]any)
		if !ok {
			return append(problems, at+": an array without typed items")
		}
		problems = append(problems, portable(at+"[]", items, text, level+1)...)
	case "string", "integer", "number", "boolean":
		if enum, ok := doc["enum"].([]any); ok {
			for _, v := range enum {
				if _, ok := v.(string); !ok {
					problems = append(problems, fmt.Sprintf("%s: the enum value %v is no string", at, v))
				}
			}
		}
	default:
		problems = append(problems, fmt.Sprintf("%s: the type %v is not portable", at, doc["type"]))
	}
	return problems
}

// HashFile returns the SHA-256 of a file of the workspace as a
// [pawl/run.FileChange] has it; empty when there is none.
func HashFile(t testing.TB, env tool.Env, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(env.Workspace, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
