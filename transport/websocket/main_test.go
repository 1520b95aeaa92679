package websocket

import (
	"flag"
	"fmt"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests with each engine of this system.
func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(engines{m})
}

type engines struct{ *testing.M }

// goroutinesOnly are tests that do not depend on the engine, because it reads for TCP sockets without TLS only, and those that
// choose it themselves.
const goroutinesOnly = "InMemory|WSS|^TestParse|^Fuzz|Blocks$|NobodyElse$|TestALoop"

// Run implements goleak.TestingM.
func (e engines) Run() int {
	if code := e.M.Run(); code != 0 || EngineEpoll.Check() != nil {
		return code
	}
	if list, skip := flag.Lookup("test.list").Value.String(), flag.Lookup("test.skip"); list == "" && skip.Value.String() == "" {
		fmt.Println("again with the engine epoll, without", goroutinesOnly)
		auto = EngineEpoll
		_ = skip.Value.Set(goroutinesOnly)
		return e.M.Run()
	}
	return 0
}
