package websocket

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs all tests with each engine of this system.
func TestMain(m *testing.M) { goleak.VerifyTestMain(engines{m}) }

type engines struct{ *testing.M }

// Run implements goleak.TestingM.
func (e engines) Run() int {
	for _, auto = range []Engine{EngineGoroutine, EngineEpoll} {
		if auto.Check() != nil {
			continue
		}
		fmt.Println("engine", auto)
		if code := e.M.Run(); code != 0 {
			return code
		}
	}
	return 0
}
