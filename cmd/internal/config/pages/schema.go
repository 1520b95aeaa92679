package pages

import (
	"errors"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// durationPattern matches what time.ParseDuration accepts.
const durationPattern = `^[+-]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSONTo implements json.MarshalerTo.
func (o object) MarshalJSONTo(e *jsontext.Encoder) error {
	err := e.WriteToken(jsontext.BeginObject)
	for _, m := range o {
		err = errors.Join(err, e.WriteToken(jsontext.String(m.name)), json.MarshalEncode(e, m.value))
	}
	return errors.Join(err, e.WriteToken(jsontext.EndObject))
}

// schemaFile returns the JSON schema of a configuration file (draft 2020-12).
func (n *node) schemaFile() ([]byte, error) {
	head := object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Configuration of a Troupe host"}}
	// An empty file is null in YAML. The loader also treats each empty section as a section without keys.
	text, err := json.Marshal(append(head, n.sectionSchema("object", "null")...), jsontext.WithIndent("  "))
	return append(text, '\n'), err
}

func (n *node) schema() object {
	o := object{{"description", n.text}}
	switch {
	case n.list && n.children != nil:
		o = append(o, member{"type", "array"}, member{"items", n.sectionSchema("object")})
	case n.list:
		element := node{kind: n.kind, values: n.values}
		o = append(o, member{"type", "array"}, member{"items", element.valueSchema()})
	case n.children != nil:
		o = append(o, n.sectionSchema("object", "null")...)
	default:
		o = append(o, n.valueSchema()...)
	}
	if n.fallback != nil && (n.children == nil || n.list) {
		o = append(o, member{"default", plain(reflect.ValueOf(n.fallback))})
	}
	return o
}

func (n *node) sectionSchema(types ...string) object {
	properties := object{}
	for _, c := range n.children {
		properties = append(properties, member{c.name, c.schema()})
	}
	var kind any = types
	if len(types) == 1 {
		kind = types[0]
	}
	return object{{"type", kind}, {"properties", properties}, {"additionalProperties", false}}
}

func (n *node) valueSchema() object {
	switch {
	case n.values != nil:
		return object{{"type", "string"}, {"enum", n.values}}
	case n.kind == boolean:
		return object{{"type", "boolean"}}
	case n.kind == whole:
		return object{{"type", "integer"}}
	case n.kind == number:
		return object{{"type", "number"}}
	case n.kind == duration:
		return object{{"anyOf", []object{{{"type", "string"}, {"pattern", durationPattern}}, {{"const", 0}}}}}
	}
	return object{{"type", "string"}}
}

// plain returns a value in the form in which a configuration file contains it. In a section inside a list, only the
// keys that are set are included.
func plain(v reflect.Value) any {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		return durationText(time.Duration(v.Int()))
	case v.Kind() == reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	case v.Kind() == reflect.Struct:
		o := object{}
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() && (f.Kind() != reflect.Slice || f.Len() > 0) {
				o = append(o, member{v.Type().Field(i).Tag.Get("config"), plain(f)})
			}
		}
		return o
	}
	return v.Interface()
}
