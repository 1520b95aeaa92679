package websocket

import (
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/messages"
	"troupe/transport"
)

// whoReads is an acceptor and handler that reports which goroutine calls it.
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

// The stack of the goroutine that handles the LOGIN has grown. It would never shrink below twice its initial size. So
// another goroutine takes over reading, and only that one stays.
func TestTheLoginLeavesNoStackBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		w := &whoReads{by: make(chan string, 3), ended: make(chan struct{})}
		l := newListener(Options{}.withDefaults())
		l.acceptor = w
		l.start(l.newConn(ours, netip.AddrPort{}, nil, nil))
		for _, message := range []string{"login", "one", "two"} {
			if _, err := theirs.Write(binaryFrame(message)); err != nil {
				t.Fatal(err)
			}
		}
		_ = theirs.Close()
		<-w.ended
		if login, one, two := <-w.by, <-w.by, <-w.by; login == one || one != two {
			t.Errorf("the messages were read by %q, %q and %q", login, one, two)
		}
	})
}
