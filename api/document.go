package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"pawl/task"
)

// finishDocument describes what Go types do not say: the events of tasks, each type with its data, and that responses
// may have more members than are named.
func (s *Server) finishDocument() {
	schemas := s.document.Components.Schemas.Map()
	line := schemas["TaskLine"]
	union := &huma.Schema{Discriminator: &huma.Discriminator{PropertyName: "type"}}
	for name, payload := range task.EventTypes() {
		of := *line
		of.Properties = map[string]*huma.Schema{}
		for member, schema := range line.Properties {
			of.Properties[member] = schema
		}
		of.Properties["type"] = &huma.Schema{Type: huma.TypeString, Enum: []any{name}}
		of.Properties["data"] = s.schema(reflect.TypeOf(payload), "")
		component := "TaskLine_" + name
		schemas[component] = &of
		ref := "#/components/schemas/" + component
		union.OneOf = append(union.OneOf, &huma.Schema{Ref: ref})
		if union.Discriminator.Mapping == nil {
			union.Discriminator.Mapping = map[string]string{}
		}
		union.Discriminator.Mapping[name] = ref
	}
	*line = *union
	strict := map[*huma.Schema]bool{}
	for _, path := range s.document.Paths {
		for _, op := range []*huma.Operation{path.Post, path.Put, path.Patch, path.Delete} {
			if op == nil || op.RequestBody == nil {
				continue
			}
			for _, media := range op.RequestBody.Content {
				s.reach(media.Schema, strict)
			}
		}
	}
	for _, schema := range schemas {
		if !strict[schema] && schema.AdditionalProperties == false {
			schema.AdditionalProperties = nil
		}
	}
}

// reach adds to found what a schema refers to.
func (s *Server) reach(schema *huma.Schema, found map[*huma.Schema]bool) {
	if schema != nil && schema.Ref != "" {
		schema = s.document.Components.Schemas.SchemaFromRef(schema.Ref)
	}
	if schema == nil || found[schema] {
		return
	}
	found[schema] = true
	s.reach(schema.Items, found)
	for _, p := range schema.Properties {
		s.reach(p, found)
	}
	for _, p := range schema.OneOf {
		s.reach(p, found)
	}
}
