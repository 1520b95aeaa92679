package pages

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"troupe/transport/host"
)

// Write writes the files into a module's folder. With check it writes none, and fails if one is not current.
func Write(root string, check bool) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	for name, text := range files {
		name = filepath.Join(root, name)
		if !check {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				return err
			}
			continue
		}
		have, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Equal(bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n")), text) {
			return fmt.Errorf("%s is not current: go run ./cmd/internal/configdoc", name)
		}
	}
	return nil
}

// generate returns the text of each file, by its name in the module.
func generate(root string) (map[string][]byte, error) {
	texts, err := readComments(filepath.Join(root, "transport", "host"))
	if err != nil {
		return nil, err
	}
	defaults := host.Defaults()
	defaults.Store.Memory = false // of troupe serve
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
