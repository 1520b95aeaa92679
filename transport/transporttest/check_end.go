package transporttest

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
)

// cleanEnd checks that everything a client sent before it left is delivered, and that the end is then
// reported as a leave, even if frames for the client were in transit.
func cleanEnd(e *env) {
	e.start()
	for id, flood := range []bool{false, true} {
		p, l := e.login()
		s := series{id: id, sizes: sizes}
		l.expects(s)
		if flood {
			src := newOutbox(e.TB)
			l.SetSource(src)
			for i := range 200 {
				src.put(s.frame(7 * i))
			}
			e.flush(l)
		}
		n := 2 * len(sizes)
		for i := range n {
			if err := p.Send(s.message(i)); err != nil {
				e.Fatalf("send of message %d: %v", i, err)
			}
		}
		e.join("the client has left", goes(p.Close))
		end := e.ends(l)
		if units, _, _ := l.counts(); units != n {
			e.Errorf("%d of the %d messages before the leave were delivered", units, n)
		}
		if !end.Clean || end.Code != uint16(messages.CloseNormal) || end.ByHost != 0 || end.Err != nil {
			e.Errorf("a leave (flood %v) ends as %+v", flood, end)
		}
	}
	if n := e.opt.Counters.Closed.Get(counters.ClosedByPeer); n != 2 {
		e.Errorf("%d leaves counted, want 2", n)
	}
}

// abruptEnd checks that a client that disappears without a close is reported as a loss, whatever it was
// doing.
func abruptEnd(e *env) {
	e.start()
	for _, busy := range []bool{false, true} {
		p, l := e.login()
		e.echoes(p, l)
		if busy {
			s := series{id: 1, sizes: smallSizes}
			sending := goes(func() {
				for i := 0; p.Send(s.message(i)) == nil; i++ {
					time.Sleep(time.Millisecond)
				}
			})
			time.Sleep(10 * time.Millisecond)
			defer func() { <-sending }()
		}
		p.Abort()
		if end := e.dies(l); end.Clean || end.Code != 0 {
			e.Errorf("an abrupt end (busy %v) is %+v", busy, end)
		}
	}
	if n := e.opt.Counters.Closed.Get(counters.ClosedByPeer); n != 0 {
		e.Errorf("%d leaves counted, nobody left", n)
	}
}

// hostClose checks that the client receives everything queued, and then the number and the name of the
// reason. If Close is called several times, the first reason applies.
func hostClose(e *env) {
	e.start()
	for id, reason := range []messages.CloseReason{messages.CloseNormal, messages.CloseGoingAway, messages.CloseTakenOver, messages.CloseKicked} {
		p, l := e.login()
		p.set(func(p *peer) { p.keep = true })
		s := series{id: id, sizes: []int{100, 1201, 20}}
		src := newOutbox(e.TB)
		const n = 150 // more than a KCP window
		for i := range n {
			src.put(s.frame(i + 2))
		}
		l.SetSource(src)
		l.Send(s.frame(0))
		l.Send(s.frame(1))
		e.atOnce("Close", func() { l.Close(reason) })
		l.Close(messages.CloseInternalError)
		if end := e.ends(l); end.Clean || end.ByHost != reason {
			e.Errorf("closed by the host as %d, the end is %+v", reason, end)
		}
		e.await("the client sees the end", p.closed)
		e.wants(p, reason)
		got := tags(p.payloads())
		if len(got) != n+2 || !slices.IsSorted(got) {
			e.Errorf("%d of %d queued messages arrived, in order: %v", len(got), n+2, slices.IsSorted(got))
		}
		if c := e.opt.Counters.CloseReasons[reason].Load(); c != 1 {
			e.Errorf("close reason %d counted %d times", reason, c)
		}
	}
	if n := e.opt.Counters.Closed.Get(counters.ClosedByHost); n != 4 {
		e.Errorf("%d closed by the host counted, want 4", n)
	}
}

// hostCloseStopped checks that a client that does not read cannot delay the end of its connection.
func hostCloseStopped(e *env) {
	e.opt.CloseLinger = e.opt.WriteTimeout / 10
	e.start()
	p, l := e.login()
	p.hold(true)
	src := newOutbox(e.TB)
	l.SetSource(src)
	e.stall(l, src)
	begun := time.Now()
	e.atOnce("Close", func() { l.Close(messages.CloseKicked) })
	end := e.ends(l)
	if took := time.Since(begun); end.Clean || end.ByHost != messages.CloseKicked || took > 4*e.opt.CloseLinger+e.soon {
		e.Errorf("with a linger of %v the end after %v is %+v", e.opt.CloseLinger, took, end)
	}
}

// closedIgnores checks that calls after the end are no errors and have no effect.
func closedIgnores(e *env) {
	e.start()
	p, l := e.login()
	src := newOutbox(e.TB)
	l.SetSource(src)
	e.join("the client has left", goes(p.Close))
	e.ends(l)
	src.resting.Store(true)
	s := series{id: 1, sizes: smallSizes}
	src.put(s.frame(0))
	own := s.frame(1).Retain()
	l.Send(own)
	l.Flush()
	l.Ping([]byte("mark"))
	l.LoggedIn()
	l.SetSource(src)
	l.Flush()
	l.Close(messages.CloseKicked)
	l.SetSource(nil)
	time.Sleep(e.awaitIdle)
	if own.Release(); !released(own) {
		e.Errorf("a frame sent after the end is still held")
	}
	if end := l.how(); !end.Clean {
		e.Errorf("the end turned into %+v", end)
	}
}

// oversized checks that a message above the limit closes the connection with a reason. The limit is smaller
// before the login.
func oversized(e *env) {
	e.start()
	for _, c := range []struct {
		loggedIn bool
		limit    int
	}{{false, e.opt.PendingMessageBytesMax}, {true, e.opt.MessageBytesMax}} {
		p, l := e.connect()
		if c.loggedIn {
			l.LoggedIn()
		}
		if err := p.Send(make([]byte, c.limit)); err != nil {
			e.Fatalf("send of %d bytes: %v", c.limit, err)
		}
		e.await("a message of the limit's size arrives", func() bool { units, _, _ := l.counts(); return units == 1 })
		_ = p.Send(make([]byte, c.limit+1)) // may return an error, because the connection ends
		if end := e.ends(l); end.Clean || end.ByHost != messages.CloseMessageTooBig {
			e.Errorf("after %d bytes too many the end is %+v", 1, end)
		}
		if units, _, _ := l.counts(); units != 1 {
			e.Errorf("a message over the limit of %d bytes was delivered", c.limit)
		}
		e.await("the client sees the end", p.closed)
		e.wants(p, messages.CloseMessageTooBig)
	}
}

// garbage checks that invalid bytes are counted, that they are dropped or end the connection, that they cost
// no memory, and that they do not affect other connections.
func garbage(e *env) {
	e.start()
	other, ol := e.login()
	rng := rand.New(rand.NewPCG(5, 6))
	heap := heapBytes()
	for i := range 12 {
		p, l := e.connect()
		if i%2 == 1 {
			l.LoggedIn()
			e.echoes(p, l)
		}
		before := e.trouble()
		for range 64 {
			b := make([]byte, 1+rng.IntN(4000))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			if p.Raw(b) != nil {
				break
			}
		}
		e.await("garbage is counted", func() bool { return e.trouble() > before })
		e.echoes(other, ol)
		p.Abort()
		if end := e.dies(l); end.Clean {
			e.Errorf("garbage ended as a leave: %+v", end)
		}
	}
	if grown := heapBytes() - heap; grown > 16<<20 {
		e.Errorf("garbage left %d bytes on the heap", grown)
	}
	e.echoes(other, ol)
}

// trouble returns the number of errors that were counted.
func (e *env) trouble() int64 {
	c := e.opt.Counters
	return c.Closed.Total() + c.Dropped.Total() + c.Records.Total() + c.Refused.Total()
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
