package kcp

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The library starts a scheduler for its own sessions at init.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/xtaci/kcp-go/v5.(*TimedSched).sched"),
		goleak.IgnoreTopFunction("github.com/xtaci/kcp-go/v5.(*TimedSched).prepend"))
}
