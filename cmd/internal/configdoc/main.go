// Command configdoc writes docs/configuration.md and the JSON schema of the configuration. It must run in the module's
// root.
package main

import (
	"fmt"
	"os"

	"troupe/cmd/internal/config/pages"
)

func main() {
	files, err := pages.Generate(".")
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(name, text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "configdoc:", err)
		os.Exit(1)
	}
}
