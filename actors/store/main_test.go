package store

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// children are what a process of a test may do: those that commit and die.
var children = map[string]func(){"commit": commitUnderLoad}

func TestMain(m *testing.M) {
	if what := os.Getenv(childVariable); what != "" {
		children[what]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
