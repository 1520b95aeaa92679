package faults

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"troupe/messages/lazy"
)

// Find returns the plan with the given name. If the name ends in .yaml or .yml, Find reads the plan from that file.
func Find(name string) (Plan, error) {
	if slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(name))) {
		return readPlan(name)
	}
	for _, p := range slices.Concat(Scenarios(), ClusterScenarios(), Matrix()) {
		if p.Name == name {
			return p, nil
		}
	}
	return Plan{}, fmt.Errorf("there is no scenario %q: troupe faults list shows them; a plan of your own is a file that ends in .yaml", name)
}

// planBytesMax bounds the size of a plan file in bytes.
const planBytesMax = 1 << 20

func readPlan(file string) (p Plan, err error) {
	f, err := os.Open(file)
	if err != nil {
		return p, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, planBytesMax+1))
	if err != nil {
		return p, err
	}
	if len(text) > planBytesMax {
		return p, fmt.Errorf("%s is larger than %d bytes", file, planBytesMax)
	}
	base := filepath.Base(file)
	if p, err = parse(text, strings.TrimSuffix(base, filepath.Ext(base))); err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// Parse reads a plan from YAML. Unknown keys and invalid values are errors, which give the line.
func Parse(text []byte) (Plan, error) { return parse(text, "") }

// parse reads a plan. name is used for a plan without a name; it may be empty.
func parse(text []byte, name string) (p Plan, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return p, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(document.Content) == 0 {
		return p, errors.New("line 1: the plan is empty")
	}
	root := document.Content[0]
	var steps *yaml.Node
	err = eachKey(root, "a plan", func(key string, value *yaml.Node) error {
		if key == "faults" {
			steps = value
			return nil
		}
		return set(&p, "a plan", key, value)
	})
	if err != nil {
		return p, err
	}
	if steps == nil || steps.Kind != yaml.SequenceNode || len(steps.Content) == 0 {
		return p, at(cmp.Or(steps, root), errors.New("a plan needs faults, a list"))
	}
	p.Name, p.About = cmp.Or(p.Name, name), cmp.Or(p.About, "a plan of your own")
	var end Duration
	for _, node := range steps.Content {
		s := Step{Times: 1}
		if err := eachKey(node, "a fault", func(key string, value *yaml.Node) error { return set(&s, "a fault", key, value) }); err != nil {
			return p, err
		}
		if err := s.check(); err != nil {
			return p, at(node, err)
		}
		end = max(end, s.end())
		if p.Length > 0 && s.end() > p.Length {
			return p, at(node, fmt.Errorf("the fault is not over at the end of the plan, whose length is %v: it may last until %v", time.Duration(p.Length), time.Duration(s.end())))
		}
		p.Faults = append(p.Faults, s)
	}
	p.Length = cmp.Or(p.Length, end, Duration(time.Second))
	switch {
	case len(p.Faults) > 1 && slices.ContainsFunc(p.Faults, func(s Step) bool { return s.Fault == Kills }):
		return p, at(steps, errors.New("kills must be the only fault of its plan"))
	case p.Nodes != 0 && (p.Nodes < 2 || p.Nodes > nodesMax):
		return p, at(root, fmt.Errorf("nodes must be 2 to %d", nodesMax))
	case slices.ContainsFunc(p.Faults, func(s Step) bool { return clusterTarget().MatchString(s.Target) != (p.Nodes > 0) }):
		return p, at(steps, errors.New("a plan with nodes has faults of its processes only, and no other plan has those"))
	case !planName().MatchString(p.Name):
		return p, at(root, fmt.Errorf("the name %q must be 1 to 64 letters, digits, dots, dashes and underscores", p.Name))
	case time.Duration(p.Length) > lengthMax:
		return p, at(root, fmt.Errorf("the plan takes %v, and %v is the most", time.Duration(p.Length), lengthMax))
	}
	return p, nil
}

// planName matches valid names of plans. File names are derived from them.
var planName = lazy.Regexp(`^[\w.-]{1,64}$`)

// at adds the line of a node to an error.
func at(node *yaml.Node, err error) error { return fmt.Errorf("line %d: %w", node.Line, err) }

// eachKey calls do for each key of a mapping. what names the mapping in errors.
func eachKey(node *yaml.Node, what string, do func(key string, value *yaml.Node) error) error {
	if node.Kind != yaml.MappingNode {
		return at(node, fmt.Errorf("%s must be keys and values", what))
	}
	known := make(map[string]bool)
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if known[key.Value] {
			return at(key, fmt.Errorf("%q appears twice", key.Value))
		}
		known[key.Value] = true
		if err := do(key.Value, value); err != nil {
			return at(key, err)
		}
	}
	return nil
}

// set sets one field of a plan or a step. It converts the value to JSON, because the JSON decoder knows the field names
// and rejects unknown ones.
func set(target any, what, key string, value *yaml.Node) error {
	if value.Kind != yaml.ScalarNode {
		return fmt.Errorf("%s must be one value", key)
	}
	var content any
	if err := value.Decode(&content); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{key: content})
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(target)
	wrong := new(json.UnmarshalTypeError)
	switch {
	case errors.As(err, &wrong) && wrong.Type.Kind().String() == "string":
		return fmt.Errorf("%s must be a text, not %s", key, value.Value)
	case errors.As(err, &wrong) && strings.HasSuffix(wrong.Type.Name(), "Duration"):
		return fmt.Errorf("%s must be a time such as 500ms or 2s, not %s", key, value.Value)
	case errors.As(err, &wrong):
		return fmt.Errorf("%s must be a number, not %s", key, value.Value)
	case err != nil && strings.HasPrefix(err.Error(), "json: unknown field"):
		return fmt.Errorf("%s has no %q", what, key)
	case err != nil:
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}
