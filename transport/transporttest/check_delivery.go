package transporttest

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
)

// exchange is a connection with a series in each direction.
type exchange struct {
	p        *peer
	l        *link
	src      *outbox
	up, down series
	n        int
}

func (e *env) exchange(id, n int, sizes []int) *exchange {
	e.Helper()
	x := &exchange{src: newOutbox(e.TB), n: n, up: series{2 * id, sizes}, down: series{2*id + 1, sizes}}
	x.p, x.l = e.login()
	x.l.expects(x.up)
	x.p.expects(x.down)
	x.l.SetSource(x.src)
	return x
}

// run sends in both directions at once.
func (x *exchange) run(e *env) {
	for i := range x.n {
		x.src.put(x.down.frame(i))
		if i%3 != 1 { // lets some frames accumulate
			e.flush(x.l)
		}
	}
	e.flush(x.l)
}

func (x *exchange) send(e *env) {
	for i := range x.n {
		if err := x.p.Send(x.up.message(i)); err != nil {
			e.Errorf("send of message %d: %v", i, err)
			return
		}
	}
}

func (x *exchange) done() bool {
	units, _, _ := x.l.counts()
	got, _ := x.p.counts()
	return units >= x.n && got >= x.n
}

// exchangeAll runs all exchanges at once. It checks that every message arrived once, in order and unchanged,
// with its boundaries.
func (e *env) exchangeAll(all []*exchange) {
	e.Helper()
	var senders sync.WaitGroup
	for _, x := range all {
		senders.Go(func() { x.send(e) })
		senders.Go(func() { x.run(e) })
	}
	for _, x := range all {
		e.await("all messages arrive", func() bool { return x.done() || e.Failed() })
	}
	senders.Wait()
	time.Sleep(e.awaitIdle) // lets duplicates arrive
	for _, x := range all {
		units, _, _ := x.l.counts()
		if got, _ := x.p.counts(); units != x.n || got != x.n {
			e.Errorf("sent %d either way, host got %d and client %d", x.n, units, got)
		}
	}
}

// reliableBothWays checks that messages of any size arrive exactly once, in order and unchanged, with their
// boundaries.
func reliableBothWays(e *env) {
	e.start()
	e.exchangeAll([]*exchange{
		e.exchange(1, 3*len(sizes), sizes),
		e.exchange(2, 2*len(sizes), slices.Concat(sizes[3:], sizes[:3])),
		e.exchange(3, 300, []int{100, 20}),
	})
}

// manyConnections checks that connections do not affect each other.
func manyConnections(e *env) {
	e.start()
	var all []*exchange
	for i := range 12 {
		all = append(all, e.exchange(i, 25, smallSizes))
	}
	e.exchangeAll(all)
}

// tags returns the numbers of the messages of a series, in order of arrival.
func tags(payloads [][]byte) (numbers []int) {
	for _, b := range payloads {
		if len(b) >= 8 {
			numbers = append(numbers, int(binary.BigEndian.Uint32(b[4:])))
		}
	}
	return numbers
}

// stall stops the client from reading and fills a source until the connection accepts no more. It returns the
// number of frames that the connection accepted.
func (e *env) stall(l *link, src *outbox) (taken int) {
	e.Helper()
	s := series{id: 1, sizes: []int{16 << 10}}
	for i := range 128 { // 2 MiB
		src.put(s.frame(i))
		e.flush(l)
	}
	for since := time.Now(); time.Since(since) < e.stuck; time.Sleep(time.Millisecond) {
		if _, now, _ := src.state(); now != taken {
			taken, since = now, time.Now()
		}
	}
	if waiting, _, _ := src.state(); waiting == 0 {
		e.Fatalf("a client that reads nothing took 2 MiB")
	}
	return taken
}

// sendGoesFirst checks that frames passed to Send leave before the source is drained again.
func sendGoesFirst(e *env) {
	e.start()
	p, l := e.login()
	p.set(func(p *peer) { p.keep = true })
	src := newOutbox(e.TB)
	l.SetSource(src)
	own := series{id: 2, sizes: []int{100}}
	src.put(own.frame(2))
	src.put(own.frame(3))
	l.Send(own.frame(0))
	l.Send(own.frame(1))
	e.flush(l)
	e.await("four messages arrive", func() bool { got, _ := p.counts(); return got >= 4 })
	if got := tags(p.payloads()); !slices.Equal(got, []int{0, 1, 2, 3}) {
		e.Errorf("two frames sent and two of the source: order %v", got)
	}

	p.set(func(p *peer) { p.kept = nil })
	p.hold(true)
	taken := e.stall(l, src) - 2
	l.Send(own.frame(1000))
	e.flush(l)
	p.hold(false)
	e.await("all arrive", func() bool { got, _ := p.counts(); return got >= 4+128+1 })
	if at := slices.Index(tags(p.payloads()), 1000); at < 0 || at > taken {
		e.Errorf("the frame sent after %d of the source came in place %d", taken, at)
	}
}

// sendIsBounded checks that a connection closes if more than 16 sent frames are pending, and that every frame
// is then released.
func sendIsBounded(e *env) {
	e.start()
	p, l := e.login()
	src := newOutbox(e.TB)
	l.SetSource(src)
	own := series{id: 2, sizes: []int{16 << 10}}
	frames := make([]*wire.Frame, 17)
	for i := range frames { // immediately, because the write timeout has been running since the stall
		frames[i] = own.frame(i).Retain()
	}
	p.hold(true)
	e.stall(l, src)
	for _, f := range frames {
		e.atOnce("Send", func() { l.Send(f) })
	}
	if end := e.ends(l); end.ByHost != messages.CloseSlowConsumer || end.Clean {
		e.Errorf("after 17 frames that waited the end is %+v", end)
	}
	for i, f := range frames {
		if f.Release(); !released(f) {
			e.Errorf("frame %d is still held", i)
		}
	}
}

// released reports whether a frame has no references left. The caller must not hold one.
func released(f *wire.Frame) (yes bool) {
	defer func() { yes = recover() != nil }()
	f.Len()
	return false
}

// setSourceWaits checks that SetSource returns when no drain of the previous source is running, and that none
// begins later.
func setSourceWaits(e *env) {
	e.start()
	p, l := e.login()
	src := newOutbox(e.TB)
	src.yields.Store(500)
	s := series{id: 1, sizes: []int{100}}
	p.expects(s)
	const rounds = 50
	for i := range rounds {
		src.resting.Store(false)
		select {
		case <-src.entered:
		default:
		}
		src.put(s.frame(i))
		l.SetSource(src)
		flushed := goes(l.Flush)
		e.join("the source is drained", src.entered)
		l.SetSource(nil)
		src.resting.Store(true)
		e.join("Flush returns", flushed)
		if i%10 == 0 {
			e.flush(l)
			l.Ping([]byte("x"))
			time.Sleep(e.awaitIdle / 10)
		}
		if e.Failed() {
			return
		}
	}
	e.await("all messages arrive", func() bool { got, _ := p.counts(); return got >= rounds })
}

// sourceMoves checks that moving a source between connections neither loses nor duplicates a frame.
func sourceMoves(e *env) {
	e.start()
	var ps [2]*peer
	var ls [2]*link
	for i := range ps {
		ps[i], ls[i] = e.login()
		ps[i].set(func(p *peer) { p.keep = true })
	}
	src := newOutbox(e.TB)
	s := series{id: 1, sizes: []int{100, 1201, 5000, 20}}
	const n, moves = 600, 60
	filled := goes(func() {
		for i := range n {
			src.put(s.frame(i))
			if i%(n/moves) == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	})
	for i := range moves {
		l := ls[i%2]
		src.resting.Store(false)
		l.SetSource(src)
		e.flush(l)
		time.Sleep(time.Duration(i%3) * time.Millisecond)
		e.flush(l)
		l.SetSource(nil)
		src.resting.Store(true)
	}
	e.join("the source is filled", filled)
	src.resting.Store(false)
	ls[0].SetSource(src)
	e.flush(ls[0])
	total := func() (sum int) {
		for _, p := range ps {
			got, _ := p.counts()
			sum += got
		}
		return sum
	}
	e.await("all messages arrive", func() bool { return total() >= n })
	time.Sleep(e.awaitIdle)
	seen := make([]int, n)
	for i, p := range ps {
		numbers := tags(p.payloads())
		if !slices.IsSorted(numbers) {
			e.Errorf("client %d got messages out of order", i)
		}
		for _, k := range numbers {
			seen[k]++
		}
	}
	for k, times := range seen {
		if times != 1 {
			e.Errorf("message %d arrived %d times", k, times)
		}
	}
}

// anyGoroutine calls all methods of a connection concurrently.
func anyGoroutine(e *env) {
	e.start()
	p, l := e.connect()
	src := newOutbox(e.TB)
	s := series{id: 1, sizes: []int{100, 1201, 20}}
	p.expects(s)
	l.SetSource(src)
	var mu sync.Mutex
	next := 0
	const each = 100
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range each {
				mu.Lock()
				src.put(s.frame(next))
				next++
				mu.Unlock()
				l.Flush()
			}
		})
	}
	all.Go(func() {
		for range each {
			l.Ping([]byte("mark"))
			l.SetSource(src)
			_, _, _ = l.ID(), l.Channel(), l.RemoteAddr()
		}
	})
	all.Go(func() {
		for range each {
			l.LoggedIn()
			l.Flush()
		}
	})
	all.Wait()
	l.Flush()
	e.await("all messages arrive", func() bool { got, _ := p.counts(); return got >= 3*each })
	_, pongs, _ := l.counts()
	if pongs == 0 {
		e.await("a pong arrives", func() bool { _, pongs, _ = l.counts(); return pongs > 0 })
	}
}
