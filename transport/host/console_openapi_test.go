package host

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// schema is the part of a schema of OpenAPI that the console's document uses.
type schema struct {
	Ref                  string             `yaml:"$ref"`
	Type                 any                `yaml:"type"`
	Required             []string           `yaml:"required"`
	Properties           map[string]*schema `yaml:"properties"`
	AdditionalProperties *schema            `yaml:"additionalProperties"`
	Items                *schema            `yaml:"items"`
}

type openAPI struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name     string `yaml:"name"`
			Required bool   `yaml:"required"`
		} `yaml:"parameters"`
		Responses map[string]struct {
			Content map[string]struct {
				Schema *schema `yaml:"schema"`
			} `yaml:"content"`
		} `yaml:"responses"`
	} `yaml:"paths"`
	Components struct {
		Schemas map[string]*schema `yaml:"schemas"`
	} `yaml:"components"`
}

// check returns how a value differs from its schema: every property is documented, and every
// documented one is there.
func (o *openAPI) check(at string, s *schema, v any) (wrong []string) {
	for s != nil && s.Ref != "" {
		s = o.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if s == nil {
		return []string{at + " has no schema"}
	}
	kinds := map[string]bool{}
	switch t := s.Type.(type) {
	case string:
		kinds[t] = true
	case []any:
		for _, one := range t {
			kinds[fmt.Sprint(one)] = true
		}
	}
	kind := "null"
	switch v := v.(type) {
	case bool:
		kind = "boolean"
	case string:
		kind = "string"
	case float64:
		if kind = "number"; v == float64(int64(v)) && kinds["integer"] {
			kind = "integer"
		}
	case []any:
		kind = "array"
		for i, one := range v {
			wrong = append(wrong, o.check(fmt.Sprintf("%s[%d]", at, i), s.Items, one)...)
		}
	case map[string]any:
		kind = "object"
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				wrong = append(wrong, at+"."+name+" is missing")
			}
		}
		for name, one := range v {
			of := s.Properties[name]
			if of == nil {
				of = s.AdditionalProperties
			} else if !slices.Contains(s.Required, name) {
				wrong = append(wrong, at+"."+name+" is not required, and always there")
			}
			wrong = append(wrong, o.check(at+"."+name, of, one)...)
		}
	}
	if !kinds[kind] {
		wrong = append(wrong, fmt.Sprintf("%s is a %s, not %v", at, kind, s.Type))
	}
	return wrong
}

// TestTheConsoleAnswersAsDocumented: its OpenAPI file has exactly the paths and parameters that
// the host takes, and each answer has its schema.
func TestTheConsoleAnswersAsDocumented(t *testing.T) {
	h := consoleHost(t)
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	call := func(method, path string, q url.Values) (int, []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, h.Addrs().APIURL+"/admin/v1"+path+"?"+q.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		if strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
			return a.StatusCode, nil
		}
		body, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, body
	}
	_, text := call("GET", "/openapi.yaml", nil)
	var doc openAPI
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var list struct{ GameSessions []struct{ ID string } }
	_, games := call("GET", "/game-sessions", nil)
	if err := json.Unmarshal(games, &list); err != nil || len(list.GameSessions) != 1 {
		t.Fatalf("%v: %s", err, games)
	}
	values := map[string]string{"id": list.GameSessions[0].ID, "player": "ann", "fleet": "fleet-dev", "ticket": "ticket-1"}
	idOf := map[string]string{"/placement": "waits", "/fleet/events": "fleet-dev"}
	for path, methods := range doc.Paths {
		values["id"] = list.GameSessions[0].ID
		if id := idOf[path]; id != "" {
			values["id"] = id
		}
		for method, op := range methods {
			q := url.Values{}
			for _, p := range op.Parameters {
				if v := values[p.Name]; v != "" || p.Required {
					q.Set(p.Name, v)
				}
				// A parameter that the host does not know is refused as such.
				if status, body := call(strings.ToUpper(method), path, url.Values{p.Name: {"x"}}); status == http.StatusBadRequest && strings.Contains(string(body), "there is no parameter") {
					t.Errorf("%s %s does not know %s", method, path, p.Name)
				}
			}
			status, body := call(strings.ToUpper(method), path, q)
			if method != "get" { // refused without a token, so that nothing ends
				if status != http.StatusForbidden && path != "/login" {
					t.Errorf("%s %s: %d %s", method, path, status, body)
				}
				continue
			}
			if status != http.StatusOK {
				t.Errorf("%s: %d %s", path, status, body)
				continue
			}
			for kind, content := range op.Responses["200"].Content {
				if kind != "application/json" {
					continue
				}
				var v any
				if err := json.Unmarshal(body, &v); err != nil {
					t.Errorf("%s: %v", path, err)
				}
				for _, wrong := range doc.check(path, content.Schema, v) {
					t.Error(wrong)
				}
			}
		}
	}
	for _, refused := range []string{"/none", "/overview?x=1", "/game-session"} {
		path, raw, _ := strings.Cut(refused, "?")
		q, _ := url.ParseQuery(raw)
		_, body := call("GET", path, q)
		var v any
		_ = json.Unmarshal(body, &v)
		for _, wrong := range doc.check(refused, &schema{Ref: "#/components/schemas/Problem"}, v) {
			t.Error(wrong)
		}
	}
}
