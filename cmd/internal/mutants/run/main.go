// Run tries the deliberate bugs of cmd/internal/mutants.
//
// The tree is not written: the compiler gets the changed file as an overlay. Each test runs without the
// change first, so that a test that fails anyway does not count. Tests run with -short, as make test has them, and
// once more without it if they did not find the bug. The result is a line per bug:
//
//	caught     the test is red with -short: make test finds the bug
//	full only  the test is red without -short: make test-full finds the bug
//	SURVIVED   the test is green: a test is missing
//	STALE      the source has changed, and the bug has no place in it any more
//	BROKEN     the test does not compile, does not exist, or is red without the bug
//
// It exits with 1 unless all are caught. -only REGEXP chooses bugs by name; -v shows what the tests print.
package main

import (
	"flag"
	"fmt"
	"os"

	"troupe/cmd/internal/mutants"
)

func main() {
	only := flag.String("only", "", "regular expression for the names of the bugs to try; empty is all")
	verbose := flag.Bool("v", false, "show what the tests print")
	flag.Parse()
	ok, err := mutants.Run(*only, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}
