// Command configdoc writes docs/configuration.md and the JSON schema of the configuration. With --check
// it fails if a file is not current, and writes nothing.
package main

import (
	"flag"
	"fmt"
	"os"

	"troupe/cmd/internal/config/pages"
)

func main() {
	root := flag.String("root", ".", "the folder of the module")
	check := flag.Bool("check", false, "write nothing, and fail if a file is not current")
	flag.Parse()
	if err := pages.Write(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "configdoc:", err)
		os.Exit(1)
	}
}
