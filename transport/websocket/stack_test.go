package websocket

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"troupe/messages"
	"troupe/transport"
)

// whoReads is an acceptor and handler that tells which goroutine calls it.
type whoReads struct {
	mute
	by    chan string
	ended chan struct{}
}

func (w *whoReads) Accept(transport.Conn) (transport.Handler, messages.CloseReason) { return w, 0 }

func (w *whoReads) OnUnit([]byte) {
	var text [64]byte
	name, _, _ := strings.Cut(string(text[:runtime.Stack(text[:], false)]), " [")
	w.by <- name
}

func (w *whoReads) OnClosed(transport.End) { close(w.ended) }

// The stack of the goroutine that handles the LOGIN has grown, and would never shrink below
// twice its first size. So another one reads on, and stays.
func TestTheLoginLeavesNoStackBehind(t *testing.T) {
	l, err := Listen(Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	w := &whoReads{by: make(chan string, 3), ended: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- l.Serve(w) }()
	cl := dial(t, l.Addr().String(), "/websocket")
	cl.write([]byte(string(binaryFrame("login")) + string(binaryFrame("one")) + string(binaryFrame("two"))))
	var by []string
	for range 3 {
		select {
		case name := <-w.by:
			by = append(by, name)
		case <-time.After(patience):
			t.Fatalf("only %q have read", by)
		}
	}
	if by[0] == by[1] || by[1] != by[2] {
		t.Errorf("the messages were read by %q", by)
	}
	_ = cl.conn.Close()
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	<-w.ended
	<-served
}
