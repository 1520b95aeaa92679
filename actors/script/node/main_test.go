package node_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if source := os.Getenv(hostOnly); source != "" {
		beHost(source)
		return
	}
	goleak.VerifyTestMain(m)
}
