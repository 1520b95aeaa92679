// Command kubeschema writes the schema that docs/packaging/kubernetes.yaml is checked against: of the API that a version of
// Kubernetes publishes, the kinds that the manifests use and what those consist of, without descriptions. It takes the network;
// its result is in testdata, so that tests do not.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// kinds are those of the manifests, by apiVersion and kind.
var kinds = map[string]string{
	"v1 ConfigMap":                  "io.k8s.api.core.v1.ConfigMap",
	"v1 Service":                    "io.k8s.api.core.v1.Service",
	"policy/v1 PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
	"apps/v1 StatefulSet":           "io.k8s.api.apps.v1.StatefulSet",
}

// schema is one of JSON Schema, as far as Kubernetes uses it.
type schema struct {
	Ref                  string             `json:"$ref,omitempty"`
	Type                 string             `json:"type,omitempty"`
	Format               string             `json:"format,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Properties           map[string]*schema `json:"properties,omitempty"`
	AdditionalProperties *schema            `json:"additionalProperties,omitempty"`
	Items                *schema            `json:"items,omitempty"`
}

// file is what is written: Source names the version, Kinds the definition of each kind.
type file struct {
	Source      string
	Kinds       map[string]string
	Definitions map[string]*schema
}

func main() {
	version := flag.String("version", "v1.34.2", "of Kubernetes")
	to := flag.String("to", "cmd/internal/kubeschema/testdata/schema.json", "the file that is written")
	flag.Parse()
	if err := run(*version, *to); err != nil {
		fmt.Fprintln(os.Stderr, "kubeschema:", err)
		os.Exit(1)
	}
}

func run(version, to string) error {
	c := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@"+version)
	c.Dir, c.Stderr = os.TempDir(), os.Stderr // outside the module, whose dependency it is not
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("download Kubernetes %s: %w", version, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "api", "openapi-spec", "swagger.json"))
	if err != nil {
		return err
	}
	f, err := cut(text, "api/openapi-spec/swagger.json of Kubernetes "+version+" (Apache-2.0), cut by cmd/internal/kubeschema")
	if err != nil {
		return err
	}
	return os.WriteFile(to, print(f), 0o644)
}

// cut returns the definitions that the kinds need. What a server writes (status) is left out: manifests have none.
func cut(swagger []byte, source string) (file, error) {
	var api struct{ Definitions map[string]*schema }
	if err := json.Unmarshal(swagger, &api); err != nil {
		return file{}, err
	}
	f := file{Source: source, Kinds: kinds, Definitions: make(map[string]*schema)}
	var take func(s *schema) error
	define := func(name string) error {
		if f.Definitions[name] != nil {
			return nil
		}
		s := api.Definitions[name]
		if s == nil {
			return fmt.Errorf("there is no definition of %s", name)
		}
		f.Definitions[name] = s
		return take(s)
	}
	take = func(s *schema) error {
		if s == nil {
			return nil
		}
		if s.Ref != "" {
			s.Ref = strings.TrimPrefix(s.Ref, "#/definitions/")
			return define(s.Ref)
		}
		for _, p := range s.Properties {
			if err := take(p); err != nil {
				return err
			}
		}
		if err := take(s.AdditionalProperties); err != nil {
			return err
		}
		return take(s.Items)
	}
	for kind, name := range kinds {
		if s := api.Definitions[name]; s != nil {
			delete(s.Properties, "status")
		}
		if err := define(name); err != nil {
			return file{}, fmt.Errorf("%s: %w", kind, err)
		}
	}
	return f, nil
}

// print writes a line for each definition, so that a newer version can be compared.
func print(f file) []byte {
	var b bytes.Buffer
	line := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // strings and maps of them
		}
		return string(text)
	}
	fmt.Fprintf(&b, "{\"source\": %s,\n\"kinds\": %s,\n\"definitions\": {\n", line(f.Source), line(f.Kinds))
	for i, name := range slices.Sorted(maps.Keys(f.Definitions)) {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "%s: %s", line(name), line(f.Definitions[name]))
	}
	b.WriteString("\n}}\n")
	return b.Bytes()
}
