package store

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// children are the tasks of child processes.
var children = map[string]func(){"commit": commitUnderLoad}

func TestMain(m *testing.M) {
	if what := os.Getenv(childVariable); what != "" {
		children[what]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
