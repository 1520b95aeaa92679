package store

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
