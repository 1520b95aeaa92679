// Testreport turns the output of go test -json into what go test prints, and lists
// at the end what was skipped and why: a check that did not run must not look as if
// it had passed. It exits with 1 if a test failed.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	failed, err := report(os.Stdin, out)
	out.Flush()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}
