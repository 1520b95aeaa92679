package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"troupe/cmd/internal/config/pages"
	"troupe/transport/host"
)

const root = "../../.."

func TestFilesAreCurrent(t *testing.T) {
	files, err := pages.Generate(root)
	if err != nil || len(files) != 2 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for name, text := range files {
		have, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !bytes.Equal(bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n")), text) {
			t.Errorf("%s is not current: go run ./cmd/internal/configdoc (%v)", name, err)
		}
	}
}

// The number of common keys stays between 30 and 40, so that a user can read about all keys that most hosts need.
func TestFewKeysAreCommon(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "configuration.md"))
	if n := strings.Count(string(page), " | **common** | "); err != nil || n < 30 || n > 40 {
		t.Errorf("%d keys are common, %v", n, err)
	}
}

// fits reports whether a value matches a schema. It supports only the schema keywords that schema.go uses, and fails
// the test for others.
func fits(t *testing.T, schema map[string]any, v any) bool {
	t.Helper()
	for word, want := range schema {
		ok := true
		switch word {
		case "description", "default", "title", "$schema", "properties":
		case "type":
			names, several := want.([]any)
			if !several {
				names = []any{want}
			}
			ok = slices.ContainsFunc(names, func(name any) bool { return isType(name.(string), v) })
		case "additionalProperties":
			o, _ := v.(map[string]any)
			properties := schema["properties"].(map[string]any)
			for name, inner := range o {
				p, known := properties[name].(map[string]any)
				ok = ok && known && fits(t, p, inner)
			}
		case "items":
			list, _ := v.([]any)
			for _, e := range list {
				ok = ok && fits(t, want.(map[string]any), e)
			}
		case "enum":
			ok = slices.Contains(want.([]any), v)
		case "const":
			ok = v == want
		case "pattern":
			text, isText := v.(string)
			ok = isText && regexp.MustCompile(want.(string)).MatchString(text)
		case "anyOf":
			ok = slices.ContainsFunc(want.([]any), func(s any) bool { return fits(t, s.(map[string]any), v) })
		default:
			t.Fatalf("the schema has %q, of which this test knows nothing", word)
		}
		if !ok {
			return false
		}
	}
	return true
}

func isType(name string, v any) bool {
	n, isNumber := v.(float64)
	switch name {
	case "null":
		return v == nil
	case "number":
		return isNumber
	case "integer":
		return isNumber && n == float64(int64(n))
	}
	return v != nil && reflect.TypeOf(v).Kind() == map[string]reflect.Kind{
		"string": reflect.String, "boolean": reflect.Bool, "object": reflect.Map, "array": reflect.Slice}[name]
}

// The schema accepts a file if and only if the loader accepts each key and the kind of each value. Only the loader
// checks further restrictions on values.
func TestSchemaAgreesWithTheLoader(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(Schema, &schema); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"": true, "region: a\n": true, "region: 1\n": false, "region:\n": false, "regoin: a\n": false, "reconnect:\n": true, "reconnect: {}\n": true,
		"reconnect: {window: 10s}\n": true, "reconnect: {window: 1m30.5s}\n": true, "reconnect: {window: 0}\n": true, "reconnect: {window: 10}\n": false,
		"reconnect: {window: '0'}\n": true, "reconnect: {window: soon}\n": false, "reconnect: {window: ''}\n": false, "reconnect: {window: .5s}\n": true,
		"reconnect: {window: 10 s}\n": false, "reconnect: {rejoin: false}\n": true, "reconnect: {rejoin: 'false'}\n": false, "reconnect: 3\n": false,
		"workers: 2\n": true, "workers: 1.5\n": false, "workers: '2'\n": false, "limits: {playerMessagesPerSecond: 1.5}\n": true,
		"limits: {playerMessagesPerSecond: 2}\n": true, "fleets: [{id: fleet-a, gameSessionsMax: 1}]\n": true, "fleets: [{id: fleet-a, gameSessionMax: 1}]\n": false,
		"fleets: []\naliases: []\nqueues: []\n": true, "fleets: fleet-a\n": false, "fleets: [fleet-a]\n": false,
		"fleets: [{id: fleet-a, gameSessionsMax: 1, locations: [{name: us-east-1}]}]\n": true,
		"websocket: {proxies: [10.0.0.0/8]}\n":                                          true, "websocket: {proxies: [1]}\n": false, "log: {level: warn}\n": true,
	} {
		var raw any
		if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(asJSON, &raw); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "troupe.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, loads := Resolve(Sources{Defaults: host.Defaults(), File: file, Environ: []string{}})
		if taken := fits(t, schema, raw); taken != want || (loads == nil) != want {
			t.Errorf("%q: the schema takes it: %v, the loader: %v, and it should be %v", text, taken, loads, want)
		}
	}
}

// The loader accepts every value that the schema lists for a key.
func TestListedValuesAreTaken(t *testing.T) {
	type keys struct {
		Properties map[string]keys
		Items      *keys
		Enum       []string
	}
	var schema keys
	if err := json.Unmarshal(Schema, &schema); err != nil {
		t.Fatal(err)
	}
	// What else must be set so that a value of this key is valid.
	with := map[string]string{
		"api.auth":              `{"api": {"auth": VALUE, "keys": [{"id": "TRPEA", "secret": "a-secret-of-the-test"}]}}`,
		"fleets[].certificates": `{"fleets": [{"id": "fleet-a", "gameSessionsMax": 1, "certificates": VALUE}]}`,
		"fleets[].engine":       `{"fleets": [{"id": "fleet-a", "gameSessionsMax": 1, "script": "a.js", "engine": VALUE}]}`,
		"fleets[].nodeVersion":  `{"fleets": [{"id": "fleet-a", "gameSessionsMax": 1, "script": "a.js", "nodeVersion": VALUE}]}`,
	}
	loads := func(key, value string) error {
		text, ok := with[key]
		if !ok {
			section, name, _ := strings.Cut(key, ".")
			text = `{"` + section + `": {"` + name + `": VALUE}}`
		}
		file := filepath.Join(t.TempDir(), "troupe.yaml")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "VALUE", `"`+value+`"`)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(Sources{Defaults: host.Defaults(), File: file, Environ: []string{}})
		return err
	}
	seen := 0
	var walk func(k keys, path string)
	walk = func(k keys, path string) {
		for name, inner := range k.Properties {
			walk(inner, strings.TrimPrefix(path+"."+name, "."))
		}
		if k.Items != nil {
			walk(*k.Items, path+"[]")
		}
		if seen += len(k.Enum); k.Enum == nil || path == "events.sinks[].type" { // each type of sink requires different keys
			return
		}
		for _, v := range append(k.Enum, "none-of-them") {
			if err := loads(path, v); (err == nil) != slices.Contains(k.Enum, v) {
				t.Errorf("%s: %q: listed %v, and: %v", path, v, k.Enum, err)
			}
		}
	}
	if walk(schema, ""); seen < 25 {
		t.Errorf("only %d values", seen)
	}
}
