package websocket

import (
	"bufio"
	"encoding/binary"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

func unitOf(p []byte) string { return string(frame(p).AppendReliable(nil)) }

func numbered(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }

func TestFlushWritesFramesOfEverySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { flushesEverySize(t, serve(t, Options{}, newRecorder())) })
}

func flushesEverySize(t *testing.T, h *host) {
	cl, p := h.connect(t)
	src := new(queue)
	p.SetSource(src)
	sizes := []int{0, 1, 100, 125, 126, 1000, 4096, 5000, 30000, 40000, 65536, 200000, 10, 65536, 65536, 3}
	for _, n := range sizes {
		src.put(frame([]byte(strings.Repeat("p", n))))
	}
	p.Flush()
	for _, n := range sizes {
		cl.expect(0x82, unitOf([]byte(strings.Repeat("p", n))))
	}
	if n := h.count.Writes.Get(counters.WS); n == 0 || n > int64(len(sizes))+5 {
		t.Errorf("%d writes", n)
	}
	p.SetSource(nil)
	src.put(frame(nil))
	p.Flush()
	p.Ping([]byte("end"))
	cl.expect(0x89, "end")
	if src.len() != 1 {
		t.Error("a released source was drained")
	}
}

func TestOrderOfControlSendAndSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		cl, p := h.connect(t)
		src := new(queue)
		src.put(frame([]byte("source")))
		p.SetSource(src)
		p.Send(frame([]byte("send 1")))
		p.Send(frame([]byte("send 2")))
		p.Ping([]byte("ping"))
		cl.expect(0x89, "ping")
		cl.expect(0x82, unitOf([]byte("send 1")))
		cl.expect(0x82, unitOf([]byte("send 2")))
		cl.expect(0x82, unitOf([]byte("source")))
		if n := h.count.Writes.Get(counters.WS); n != 1 {
			t.Errorf("%d writes", n)
		}
		want := int64(0)
		for _, b := range []string{"ping", unitOf([]byte("send 1")), unitOf([]byte("send 2")), unitOf([]byte("source"))} {
			want += 2 + int64(len(b))
		}
		if n := h.count.BytesOut.Get(counters.WS); n != want {
			t.Errorf("%d bytes out, want %d", n, want)
		}
	})
}

// outlastsASlowReader lets the peer stall until the kernel accepts no more. Flush must still return at once, and
// everything must arrive in order when the peer reads again.
func outlastsASlowReader(t *testing.T, h *host) {
	cl, p := h.connect(t)
	src := new(queue)
	p.SetSource(src)
	const stalled = 100
	payload := make([]byte, 4096)
	n := 0
	for ; src.len() < stalled; n++ { // until the kernel's buffers are full
		binary.BigEndian.PutUint32(payload, uint32(n))
		src.put(frame(payload))
		p.Flush()
	}
	p.Ping([]byte("late"))
	pings := 0
	for i := 0; i < n; {
		first, b := cl.frame()
		if first == 0x89 {
			pings++
			continue
		}
		h, err := packetPayload(b)
		if err != nil || len(h) != 4096 || binary.BigEndian.Uint32(h) != uint32(i) {
			t.Fatalf("frame %d: %v", i, err)
		}
		i++
	}
	if pings != 1 {
		t.Errorf("%d pings", pings)
	}
	// Now writes happen in the caller's goroutine again.
	p.Conn.(*Conn).awaitWriter()
	before := h.count.Writes.Get(counters.WS)
	src.put(frame(numbered(1)))
	p.Flush()
	if writes := h.count.Writes.Get(counters.WS) - before; writes != 1 {
		t.Errorf("%d writes by a flush that need not wait", writes)
	}
	cl.expect(0x82, unitOf(numbered(1)))
}

// packetPayload returns the payload of a frame's unit: at most its last 4096 bytes.
func packetPayload(unit []byte) ([]byte, error) {
	b, err := wire.SplitUnit(unit)
	if err != nil {
		return nil, err
	}
	return b[max(0, len(b)-4096):], nil
}

// manyProducers queues frames from several goroutines. Each numbers its own frames, which must arrive in order.
func manyProducers(t *testing.T, h *host) {
	cl, p := h.connect(t)
	src := new(queue)
	p.SetSource(src)
	const producers, each = 5, 2000
	var wg sync.WaitGroup
	for id := range producers {
		wg.Go(func() {
			for i := range each {
				src.put(frame(append([]byte{byte(id)}, numbered(i)...)))
				if i%3 == 0 || i == each-1 {
					p.Flush()
				}
			}
		})
	}
	var next [producers]uint32
	for range producers * each {
		_, b := cl.frame()
		tail := b[len(b)-5:]
		if got := binary.BigEndian.Uint32(tail[1:]); got != next[tail[0]] {
			t.Fatalf("producer %d: %d, want %d", tail[0], got, next[tail[0]])
		}
		next[tail[0]]++
	}
	wg.Wait()
}

// TestConcurrentUse calls all methods concurrently.
func TestConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{CloseLinger: 50 * time.Millisecond}, newRecorder())
		for range 20 {
			cl, p := h.connect(t)
			go func() {
				for {
					if _, _, err := readFrame(cl.br); err != nil {
						return
					}
				}
			}()
			a, b := new(queue), new(queue)
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					for j := range 200 {
						a.put(frame(numbered(j)))
						b.put(frame(numbered(j)))
						switch (i + j) % 6 {
						case 0:
							p.SetSource(a)
						case 1:
							p.SetSource(b)
						case 2:
							p.Ping(numbered(j))
						case 3:
							p.Send(frame(nil))
						case 4:
							p.SetSource(nil)
						}
						p.Flush()
					}
				})
			}
			wg.Go(func() {
				_, _ = cl.conn.Write(binaryFrame("x"))
				time.Sleep(time.Millisecond)
				p.Close(messages.CloseKicked)
				p.Close(messages.CloseGameEnded)
				p.LoggedIn()
			})
			wg.Wait()
			if end := p.awaitEnd(t); end.ByHost != messages.CloseKicked && end.ByHost != messages.CloseSlowConsumer {
				t.Errorf("end %+v", end)
			}
			c := p.Conn.(*Conn)
			if c.SetSource(a); c.out.source != nil {
				t.Error("a source after the end")
			}
		}
	})
}

// greedy is a source that reports more frames but never provides any.
type greedy struct{}

func (greedy) Drain(wire.Sink) bool { return true }

func TestSourceThatGivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		cl, p := h.connect(t)
		p.SetSource(greedy{})
		p.Flush()
		p.Ping([]byte("alive"))
		cl.expect(0x89, "alive")
	})
}

func TestPingFloodIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		cl, p := h.connect(t)
		var raw []byte
		const n = 20000
		for i := range n {
			raw = append(raw, masked(0x89, numbered(i))...)
		}
		go func() { _, _ = cl.conn.Write(raw) }()
		last := -1
		pongs := 0
		for last != n-1 {
			first, b := cl.frame()
			got := int(binary.BigEndian.Uint32(b))
			if first != 0x8A || got <= last {
				t.Fatalf("frame %#x %d after %d", first, got, last)
			}
			last = got
			pongs++
		}
		if pongs > n/10 {
			t.Errorf("%d pongs for %d pings: not coalesced", pongs, n)
		}
		p.await(t, "alive", func() bool { return p.alive == n })
	})
}

func TestPongPayload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		cl, p := h.connect(t)
		long := strings.Repeat("m", 200)
		p.Ping([]byte(long))
		cl.expect(0x89, long[:125])
		cl.write(masked(0x8A, []byte("mark 1")))
		cl.write(masked(0x8A, nil))
		p.await(t, "pongs", func() bool { return len(p.pongs) == 2 })
		if p.pongs[0] != "mark 1" || p.pongs[1] != "" {
			t.Errorf("pongs %q", p.pongs)
		}
	})
}

// The tests below run on net.Pipe, which buffers nothing, with a fake clock.

// TestSlowButAlive reads one byte every nine seconds. That is progress, so there is no timeout.
func TestSlowButAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		r := newRecorder()
		c := piped(t, Options{}, r, ours)
		p := <-r.conns
		src := new(queue)
		src.put(frame([]byte("slow")))
		c.SetSource(src)
		c.Flush()
		want := unitOf([]byte("slow"))
		got := make([]byte, 2+len(want))
		for i := range got {
			time.Sleep(9 * time.Second)
			if _, err := theirs.Read(got[i : i+1]); err != nil {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
		if string(got[2:]) != want {
			t.Errorf("got %q", got)
		}
		_ = theirs.Close()
		<-p.ended
		if p.end.ByHost != 0 || p.end.Clean {
			t.Errorf("end %+v", p.end)
		}
	})
}

// TestCloseWhileTheSourceIsFed keeps the source full. The close frame must still come after CloseLinger.
func TestCloseWhileTheSourceIsFed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		r := newRecorder()
		c := piped(t, Options{}, r, ours)
		p := <-r.conns
		c.SetSource(endless{})
		begun := time.Now()
		c.Close(messages.CloseKicked)
		br := bufio.NewReader(theirs)
		for {
			first, _, err := readFrame(br)
			if err != nil {
				t.Fatal(err)
			}
			if first == 0x88 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(begun); took < time.Second || took > 1100*time.Millisecond {
			t.Errorf("close frame after %v", took)
		}
		_, _ = theirs.Write(closeFrame(4006, ""))
		<-p.ended
		if p.end.Code != 4006 || p.end.ByHost != messages.CloseKicked || p.end.Err != nil {
			t.Errorf("end %+v", p.end)
		}
	})
}

// endless is a source that is never empty and fills the buffer with small frames.
type endless struct{}

func (endless) Drain(sink wire.Sink) bool {
	f := frame([]byte("more"))
	defer f.Release()
	for range 4 {
		sink.Append(f)
	}
	return true
}

func TestViolationIsToldAndInputDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		r := newRecorder()
		piped(t, Options{}, r, ours)
		p := <-r.conns
		var flood sync.WaitGroup
		defer flood.Wait()
		flood.Go(func() {
			_, _ = theirs.Write(masked(0x83, nil))
			for {
				if _, err := theirs.Write(binaryFrame("more and more")); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
		begun := time.Now()
		cl := &client{t: t, conn: theirs, br: bufio.NewReader(theirs)}
		cl.expect(0x88, "\x03\xeaprotocol_error")
		<-p.ended
		if took := time.Since(begun); took != time.Second {
			t.Errorf("ended after %v", took)
		}
		if len(p.units) != 0 || p.end.ByHost != messages.CloseProtocolError {
			t.Errorf("units %q, end %+v", p.units, p.end)
		}
	})
}

var _ transport.Acceptor = (*recorder)(nil)
