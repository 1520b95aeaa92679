// Command configdoc writes what is generated from the configuration's structs in
// transport/host: docs/configuration.md, and the JSON schema that `troupe config schema`
// prints. With --check it fails if a file is not current, and writes nothing.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"troupe/transport/host"
)

func main() {
	root := flag.String("root", ".", "the folder of the module")
	check := flag.Bool("check", false, "write nothing, and fail if a file is not current")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "configdoc:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
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
