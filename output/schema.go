package output

import "encoding/json"

// A schema is a JSON Schema (draft 2020-12) of what was seen: types, members, and which
// of them every object has.
type schema struct {
	Type       any            `json:"type,omitempty"` // a name or several
	Properties orderedSchemas `json:"properties,omitempty"`
	Required   []string       `json:"required,omitempty"`
	Additional *schema        `json:"additionalProperties,omitempty"` // of a map
	Items      *schema        `json:"items,omitempty"`
	AnyOf      []*schema      `json:"anyOf,omitempty"` // of several paths
	Comment    string         `json:"$comment,omitempty"`
}

type orderedSchemas []namedSchema

type namedSchema struct {
	name   string
	schema *schema
}

// MarshalJSON writes an object with members in their order.
func (o orderedSchemas) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, m.name), ':')
		s, err := json.Marshal(m.schema)
		if err != nil {
			return nil, err
		}
		b = append(b, s...)
	}
	return append(b, '}'), nil
}

// schemaParts bounds the parts of one schema: a few hundred characters each at most.
const schemaParts = 300

func (s *shape) schema(depth int, parts *int) *schema {
	*parts++
	out := &schema{}
	var types []string
	for k, n := range s.Kinds {
		if n > 0 {
			types = append(types, kind(k).String())
		}
	}
	switch len(types) {
	case 0:
	case 1:
		out.Type = types[0]
	default:
		out.Type = types
	}
	inside := len(s.Names) > 0 || s.Any != nil || s.Element != nil
	if depth <= 1 || *parts >= schemaParts {
		if inside {
			out.Comment = "not all that is below is shown"
		}
		return out
	}
	for _, n := range s.Names {
		if *parts >= schemaParts {
			out.Comment = "not all that is below is shown"
			break
		}
		out.Properties = append(out.Properties, namedSchema{n.Name, n.Shape.schema(depth-1, parts)})
		if n.Shape.count() == s.Kinds[isObject] && !s.Sampled {
			out.Required = append(out.Required, n.Name)
		}
	}
	if s.Any != nil {
		out.Additional = s.Any.schema(depth-1, parts)
	}
	if s.Element != nil {
		out.Items = s.Element.schema(depth-1, parts)
	}
	return out
}
