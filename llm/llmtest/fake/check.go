package fake

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pawl/internal/lazy"
)

// What a request may have in it stands in a JSON Schema for each wire; what its parts must be to
// each other, as a result to its call, is checked in Go. The sentences are those of the API, or,
// where the API corrects what pawl should not send, say what that is.

//go:embed schema
var schemas embed.FS

// schemaOf returns the schema of a wire.
var schemaOf = func() func(wire string) *jsonschema.Schema {
	all := sync.OnceValue(func() map[string]*jsonschema.Schema {
		c := jsonschema.NewCompiler()
		c.AssertContent()
		c.AssertFormat()
		c.RegisterFormat(&jsonschema.Format{Name: "image-url", Validate: checkImageURL})
		compiled := map[string]*jsonschema.Schema{}
		for _, wire := range []string{"anthropic", "chat", "gemini", "responses"} {
			f, err := schemas.Open("schema/" + wire + ".json")
			if err != nil {
				panic(err)
			}
			defer f.Close()
			schema, err := jsonschema.UnmarshalJSON(f)
			if err == nil {
				err = c.AddResource("fake:///"+wire, schema)
			}
			if err != nil {
				panic(err)
			}
			compiled[wire] = c.MustCompile("fake:///" + wire)
		}
		return compiled
	})
	return func(wire string) *jsonschema.Schema { return all()[wire] }
}()

var imageURLs = lazy.Regexp(`^data:image/(?:jpeg|png|gif|webp);base64,(.+)$`)

// checkImageURL checks the format image-url: a picture as a data URL.
func checkImageURL(value any) error {
	url, ok := value.(string)
	if !ok {
		return nil // the type is checked elsewhere
	}
	data := imageURLs().FindStringSubmatch(url)
	if data == nil {
		return errors.New("it is no base64 data URL of an image")
	}
	_, err := base64.StdEncoding.DecodeString(data[1])
	return err
}

// read decodes the body of a request that fits the wire's schema.
func read(wire string, h http.Header, body []byte, into any) error {
	if !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
		return errors.New("Content-Type: must be application/json")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("The request body is not valid JSON: %w", err)
	}
	if err := schemaOf(wire).Validate(value); err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// A part is one of the parts of a request: what it says, and how it is written.
type part[T any] struct {
	raw json.RawMessage
	is  T
}

func (p *part[T]) UnmarshalJSON(data []byte) error {
	p.raw = bytes.Clone(data)
	return json.Unmarshal(data, &p.is)
}

// written returns parts as they are written.
func written[T any](parts []part[T]) [][]byte {
	var all [][]byte
	for _, p := range parts {
		all = append(all, p.raw)
	}
	return all
}

// texts are the texts of a content, which is a string or a list of texts and pictures.
type texts []string

func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	var list []struct {
		Text *string `json:"text"`
	}
	err := json.Unmarshal(data, &list)
	for _, c := range list {
		if c.Text != nil {
			*t = append(*t, *c.Text)
		}
	}
	return err
}

func (t texts) String() string { return strings.Join(t, "\n") }

// unique checks that no two tools have one name.
func unique(names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("tools: Tool names must be unique: %s", name)
		}
	}
	return nil
}

// A strictSchema is a schema that OpenAI enforces.
type strictSchema struct {
	Type       any                     `json:"type"`
	Properties map[string]strictSchema `json:"properties"`
	Required   []string                `json:"required"`
	Additional *bool                   `json:"additionalProperties"`
	Items      *strictSchema           `json:"items"`
	AnyOf      []strictSchema          `json:"anyOf"`
	Defs       map[string]strictSchema `json:"$defs"`
}

// check checks what OpenAI asks of such a schema: an object with all its properties required and
// no others, all the way down.
func (s strictSchema) check() error {
	if s.Type == "object" && (s.Additional == nil || *s.Additional) {
		return errors.New("Invalid schema: 'additionalProperties' is required to be supplied and to be false.")
	}
	below := slices.Clone(s.AnyOf)
	if s.Items != nil {
		below = append(below, *s.Items)
	}
	for _, schema := range s.Defs {
		below = append(below, schema)
	}
	for name, schema := range s.Properties {
		if s.Type == "object" && !slices.Contains(s.Required, name) {
			return fmt.Errorf("Invalid schema: 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", name)
		}
		below = append(below, schema)
	}
	for _, schema := range below {
		if err := schema.check(); err != nil {
			return err
		}
	}
	return nil
}
