package pages

import (
	"path/filepath"

	"troupe/transport/host"
)

// Generate returns the text of each generated file by its path in the module. root is the module's folder.
func Generate(root string) (map[string][]byte, error) {
	texts, err := readComments(filepath.Join(root, "transport", "host"))
	if err != nil {
		return nil, err
	}
	defaults := host.Defaults()
	defaults.Store.Memory = false // the default of troupe serve
	tree, err := build(texts, defaults)
	if err != nil {
		return nil, err
	}
	schema, err := tree.schemaFile()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"cmd/internal/config/schema.json": schema, "docs/configuration.md": tree.document()}, nil
}
