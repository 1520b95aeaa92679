package transporttest

import (
	"sync/atomic"
	"time"

	"troupe/messages"
)

// heldMax is the maximum number of bytes of a source that may be buffered for a client that does not read: in
// the connection and in the layers below it.
const heldMax = 1 << 20

// stoppedReader checks a client that does not read: it costs a bounded amount of memory, delays no one, and
// is disconnected in the end.
func stoppedReader(e *env) {
	e.start()
	p, l := e.login()
	other, ol := e.login()
	p.hold(true)
	src := newOutbox(e.TB)
	l.SetSource(src)
	s := series{id: 1, sizes: []int{4096}}
	const n = 1000
	begun := time.Now()
	for i := range n {
		src.put(s.frame(i))
		if i >= n/2 {
			e.flush(l)
		}
	}
	for !l.closed() && !e.Failed() {
		e.flush(l)
		e.echoes(other, ol)
		if _, _, taken := src.state(); taken > heldMax {
			e.Fatalf("%d bytes are on their way to a client that reads nothing", taken)
		}
		if time.Since(begun) > 3*e.opt.WriteTimeout+e.patience {
			e.Fatalf("the connection is open after %v", time.Since(begun))
		}
		time.Sleep(e.opt.WriteTimeout / 50)
	}
	took, end := time.Since(begun), l.how()
	if end.ByHost != messages.CloseWriteTimeout || end.Clean || took < e.opt.WriteTimeout || took > 2*e.opt.WriteTimeout+2*e.soon+e.opt.CloseLinger {
		e.Errorf("after %v, with a write timeout of %v, the end is %+v", took, e.opt.WriteTimeout, end)
	}
	if waiting, taken, _ := src.state(); waiting+taken != n {
		e.Errorf("%d taken and %d waiting, of %d", taken, waiting, n)
	}
	e.echoes(other, ol)
}

// slowReader checks that a client that reads slowly receives everything, however long it takes.
func slowReader(e *env) {
	e.start()
	p, l := e.login()
	s := series{id: 1, sizes: []int{4096}}
	p.expects(s)
	p.set(func(p *peer) { p.pace = e.opt.WriteTimeout / 64 })
	src := newOutbox(e.TB)
	l.SetSource(src)
	const n = 200 // takes about three write timeouts
	for i := range n {
		src.put(s.frame(i))
		e.flush(l)
	}
	e.await("all messages arrive", func() bool {
		got, _ := p.counts()
		return got >= n || l.closed()
	})
	if l.closed() {
		got, _ := p.counts()
		e.Errorf("closed after %d of %d messages: %+v", got, n, l.how())
	}
}

// slowHandler checks that a blocked method of a Handler delays only its own peer, and that the data waiting
// for it is bounded.
func slowHandler(e *env) {
	gate := make(chan struct{})
	var slow atomic.Pointer[link]
	e.hub.onUnit = func(l *link, _ []byte) {
		if l == slow.Load() {
			<-gate
		}
	}
	open := func() {
		select {
		case <-gate:
		default:
			close(gate)
		}
	}
	e.start()
	e.Cleanup(open)
	p, l := e.login()
	other, ol := e.login()
	slow.Store(l)
	s := series{id: 1, sizes: []int{4096}}
	l.expects(s)
	const n = 400 // 1.5 times heldMax
	var sent atomic.Int64
	done := goes(func() {
		for i := range n {
			if err := p.Send(s.message(i)); err != nil {
				e.Errorf("send of message %d: %v", i, err)
				return
			}
			sent.Add(4096)
		}
	})
	for begun := time.Now(); time.Since(begun) < e.stuck; time.Sleep(e.stuck / 12) {
		e.echoes(other, ol)
	}
	if b := sent.Load(); b > heldMax {
		e.Errorf("%d bytes wait for a handler that takes none", b)
	}
	open()
	e.await("all messages arrive", func() bool { units, _, _ := l.counts(); return units >= n || e.Failed() })
	e.join("the client has sent everything", done)
}

// halfOpenPeer interrupts a path silently, in one or both directions. If the host has something to write, it
// must notice, and report a loss.
func halfOpenPeer(e *env) {
	e.start()
	both := func(p *peer, l *link) { e.net.Isolate(p.Addr().Addr(), true) }
	for name, cut := range map[string]func(p *peer, l *link){
		"both directions": both,
		"host to client":  func(p *peer, l *link) { e.net.BlockTo(p.Addr().Addr(), true) },
		"client to host":  func(p *peer, l *link) { e.net.BlockFrom(p.Addr().Addr(), true) },
	} {
		p, l := e.login()
		e.echoes(p, l)
		time.Sleep(e.awaitIdle) // until nothing is in transit
		cut(p, l)
		src := newOutbox(e.TB)
		l.SetSource(src)
		s := series{id: 1, sizes: []int{4096}}
		begun := time.Now()
		for i := range 512 {
			src.put(s.frame(i))
			e.flush(l)
		}
		end := e.ends(l)
		if took := time.Since(begun); end.Clean || end.ByHost != messages.CloseWriteTimeout || end.Code != 0 ||
			took > 2*e.opt.WriteTimeout+2*e.soon+e.opt.CloseLinger {
			e.Errorf("%s black: the end after %v is %+v", name, took, end)
		}
	}
	e.echoes(e.login())
}
