package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// check returns what is wrong with a value: fields that are unknown, missing or of another type.
func (f file) check(at string, s *schema, v any) (wrong []string) {
	if s.Ref != "" {
		s = f.Definitions[s.Ref]
	}
	quantity := s == f.Definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]
	is := false
	switch v := v.(type) {
	case map[string]any:
		is = s.Type == "object"
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				wrong = append(wrong, at+"."+name+" is missing")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			member := s.Properties[name]
			if member == nil {
				member = s.AdditionalProperties
			}
			if member == nil {
				wrong = append(wrong, at+"."+name+" is unknown")
				continue
			}
			wrong = append(wrong, f.check(at+"."+name, member, v[name])...)
		}
	case []any:
		is = s.Type == "array"
		for i, item := range v {
			if s.Items != nil {
				wrong = append(wrong, f.check(fmt.Sprintf("%s[%d]", at, i), s.Items, item)...)
			}
		}
	case string:
		is = s.Type == "string"
	case bool:
		is = s.Type == "boolean"
	case int:
		is = s.Type == "integer" || s.Type == "number" || s.Format == "int-or-string" || quantity
	case float64:
		is = s.Type == "number" || quantity
	}
	if !is {
		wrong = append(wrong, fmt.Sprintf("%s is %T, not %s", at, v, s.Type))
	}
	return wrong
}

// checkAll returns what is wrong with the objects of a file, and how many there are of each kind.
func (f file) checkAll(t *testing.T, text []byte) (wrong []string, found map[string]int) {
	t.Helper()
	found = make(map[string]int)
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var object map[string]any
		if err := d.Decode(&object); errors.Is(err, io.EOF) {
			return wrong, found
		} else if err != nil {
			t.Fatal(err)
		}
		kind := fmt.Sprint(object["apiVersion"], " ", object["kind"])
		definition := f.Definitions[f.Kinds[kind]]
		if definition == nil {
			wrong = append(wrong, fmt.Sprintf("there is no %q in the schema (%s)", kind, f.Source))
			continue
		}
		found[kind]++
		wrong = append(wrong, f.check(fmt.Sprint(object["kind"]), definition, object)...)
	}
}

func read(t *testing.T) (f file, manifests []byte) {
	t.Helper()
	text, err := os.ReadFile("testdata/schema.json")
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	if manifests, err = os.ReadFile("../../../docs/packaging/kubernetes.yaml"); err != nil {
		t.Fatal(err)
	}
	return f, manifests
}

func TestTheManifestsFitTheSchemaOfKubernetes(t *testing.T) {
	f, manifests := read(t)
	wrong, found := f.checkAll(t, manifests)
	for _, w := range wrong {
		t.Error(w)
	}
	if !maps.Equal(f.Kinds, kinds) || len(found) != len(kinds) {
		t.Errorf("the manifests have %v, the schema %v: run go run ./cmd/internal/kubeschema", found, f.Kinds)
	}
}

func TestWrongManifestsAreFound(t *testing.T) {
	f, manifests := read(t)
	for _, c := range []struct{ old, new, want string }{
		{"readinessProbe:", "readyProbe:", "StatefulSet.spec.template.spec.containers[0].readyProbe is unknown"},
		{"hostPort: 1900", `hostPort: "1900"`, "StatefulSet.spec.template.spec.containers[0].ports[1].hostPort is string, not integer"},
		{"value: 1600MiB", "value: 1600", "StatefulSet.spec.template.spec.containers[0].env[2].value is int, not string"},
		{"serviceName: troupe", "serviceNames: troupe", "StatefulSet.spec.serviceNames is unknown"},
		{"containerPort: 8080, ", "", "StatefulSet.spec.template.spec.containers[0].ports[0].containerPort is missing"},
		{"drop: [ALL]", "drop: ALL", "StatefulSet.spec.template.spec.containers[0].securityContext.capabilities.drop is string, not array"},
		{"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: 1", "StatefulSet.spec.template.spec.containers[0].securityContext.readOnlyRootFilesystem is int, not boolean"},
		{"  maxUnavailable: 1", "  maxUnavailable: [1]", "PodDisruptionBudget.spec.maxUnavailable is []interface {}, not string"},
		{"apiVersion: policy/v1\n", "apiVersion: policy/v1beta1\n", `there is no "policy/v1beta1 PodDisruptionBudget" in the schema`},
		{"  clusterIP: None", "  clusterIP:", "Service.spec.clusterIP is <nil>, not string"},
		{"data:\n  troupe.yaml:", "data:\n  more: {a: b}\n  troupe.yaml:", "ConfigMap.data.more is map[string]interface {}, not string"},
	} {
		if !bytes.Contains(manifests, []byte(c.old)) {
			t.Errorf("the manifests have no %q", c.old)
			continue
		}
		wrong, _ := f.checkAll(t, bytes.Replace(manifests, []byte(c.old), []byte(c.new), 1))
		if !slices.ContainsFunc(wrong, func(w string) bool { return strings.HasPrefix(w, c.want) }) {
			t.Errorf("%s: found %q, want %q", c.new, wrong, c.want)
		}
	}
	if wrong, _ := f.checkAll(t, bytes.ReplaceAll(manifests, []byte(`cpu: "1"`), []byte("cpu: 1.5"))); len(wrong) > 0 {
		t.Errorf("quantities may be numbers: %q", wrong)
	}
}

func TestCut(t *testing.T) {
	definitions := `"used": {"type": "object", "description": "D", "properties": {"next": {"$ref": "#/definitions/next"}}},
		"next": {"type": "object", "properties": {"again": {"type": "array", "items": {"$ref": "#/definitions/used"}}}}, "unused": {"type": "string"}`
	for _, name := range kinds {
		definitions += fmt.Sprintf(`, %q: {"type": "object", "properties": {"spec": {"$ref": "#/definitions/used"}, "status": {"$ref": "#/definitions/unused"}}}`, name)
	}
	f, err := cut([]byte(`{"definitions": {`+definitions+`}}`), "a test")
	if err != nil || len(f.Definitions) != len(kinds)+2 || f.Definitions["next"].Properties["again"].Items.Ref != "used" {
		t.Errorf("%s %v", print(f), err)
	}
	var again file
	if err := json.Unmarshal(print(f), &again); err != nil || len(again.Definitions) != len(f.Definitions) || bytes.Contains(print(f), []byte("description")) {
		t.Errorf("%s %v", print(f), err)
	}
	if _, err := cut([]byte(`{"definitions": {}}`), "a test"); err == nil || !strings.Contains(err.Error(), "no definition") {
		t.Errorf("%v", err)
	}
}
