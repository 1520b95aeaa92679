package fast

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// ICMP errors and other temporary errors of a read do not end the reader. Close does not wait for the pause after errors.
func TestReadErrorsDoNotEndTheReader(t *testing.T) {
	for _, count := range []int{transport.ReadFailuresFree + 4, 1 << 12} { // the last count takes more than a second, at 10 ms for each
		synctest.Test(t, func(t *testing.T) {
			conn := &fakeConn{closed: make(chan struct{})}
			for range count {
				conn.readErrs = append(conn.readErrs, errors.New("connection refused"))
			}
			opt := defaults()
			opt.ListenPacket = func(string, string) (transport.PacketConn, error) { return conn, nil }
			p, err := Listen(opt)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			conn.mu.Lock()
			reads := conn.reads
			conn.mu.Unlock()
			if all := reads > count; all != (count < 1<<12) || reads < transport.ReadFailuresFree+4 {
				t.Errorf("%d reads of %d errors in a second", reads, count)
			}
			began := time.Now()
			if err := p.Close(); err != nil || time.Since(began) != 0 {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	}
}

func TestWriteErrorsAreLosses(t *testing.T) {
	var log bytes.Buffer
	p, conn := quietPool(t, func(o *Options) { o.Log = zerolog.New(&log) })
	conn.writeErr = errors.New("no buffer space")
	if _, err := p.Open(1, local, inbox(nil)); err != nil {
		t.Fatal(err)
	}
	for n := range int32(5) {
		p.main.handle(clientAddr(1), wire.AppendUDPConnect(nil, 1, n))
	}
	conn.drain(p.main)
	count := p.opt.Counters
	if count.Writes.Get(counters.UDP) != 5 || count.BytesOut.Get(counters.UDP) != 0 {
		t.Fatal("writes counted wrong")
	}
	if n := strings.Count(log.String(), "not sent"); n != 1 {
		t.Fatalf("%d log lines, want a sample of one", n)
	}
}

func TestFullQueueDropsTheNewest(t *testing.T) {
	p, conn := quietPool(t, nil)
	p.main.out.limit = 3
	a, err := p.Open(1, local, inbox(nil))
	if err != nil {
		t.Fatal(err)
	}
	p.main.handle(clientAddr(1), wire.AppendUDPConnect(nil, 1, 0))
	p.main.handle(clientAddr(1), wire.AppendClientAck(nil, 1, 1))
	if !send(a, "one") || !send(a, "two") || send(a, "three") {
		t.Fatal("not three places") // the -6 occupies one place of the queue
	}
	p.main.handle(clientAddr(1), wire.AppendUDPConnect(nil, 1, 2)) // no room for the -6
	if n := p.opt.Counters.Dropped.Get(counters.DropFastQueueFull); n != 2 {
		t.Fatalf("counted %d", n)
	}
	conn.drain(p.main)
	if !send(a, "four") {
		t.Fatal("still full")
	}
	conn.drain(p.main)
	var numbers []int32
	for _, w := range conn.written {
		packet, err := wire.SplitUnit(w.bytes)
		if err != nil {
			t.Fatal(err)
		}
		var h wire.Header
		if err := h.Parse(packet); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, h.Sequence)
	}
	for i, n := range numbers { // a dropped datagram does not use up a number
		if n != int32(i) || len(numbers) != 4 {
			t.Fatalf("numbers %v", numbers)
		}
	}
}

// The numbers end at the maximum, because clients do not support wrap-around.
func TestNumbersEnd(t *testing.T) {
	p, conn := quietPool(t, nil)
	a, err := p.Open(1, local, inbox(nil))
	if err != nil {
		t.Fatal(err)
	}
	p.main.handle(clientAddr(1), wire.AppendUDPConnect(nil, 1, 0))
	p.main.handle(clientAddr(1), wire.AppendClientAck(nil, 1, 1))
	a.number = 1<<31 - 2
	if !send(a, "last") || send(a, "beyond") {
		t.Fatal("not one number left")
	}
	conn.drain(p.main)
}

func TestRefusalsAreLoggedAsSamples(t *testing.T) {
	var log bytes.Buffer
	cl := new(clock)
	p, _ := quietPool(t, func(o *Options) { o.Log, o.Now = zerolog.New(&log), cl.now })
	for range 100 {
		p.main.handle(clientAddr(1), wire.AppendUDPConnect(nil, 1, 0))
	}
	cl.advance(logEvery)
	p.main.handle(clientAddr(1), wire.AppendUDPConnect(nil, 1, 0))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], `"skipped":99`) || !strings.Contains(lines[0], "fast_unknown_sender") {
		t.Fatalf("log:\n%s", log.String())
	}
}

func TestQueueKeepsOrderWhenItGrows(t *testing.T) {
	q := newQueue(1000)
	var into [7]datagram
	next, got := int32(0), int32(0)
	for round := range 200 {
		for range round % 23 {
			if !q.push(datagram{number: next}) {
				t.Fatal("full")
			}
			next++
		}
		if q.length() == 0 {
			continue
		}
		n, more := q.take(into[:])
		if !more {
			t.Fatal("ended")
		}
		for _, d := range into[:n] {
			if d.number != got {
				t.Fatalf("got %d, want %d", d.number, got)
			}
			got++
		}
	}
	q.close()
	if q.push(datagram{}) {
		t.Fatal("pushed after close")
	}
	for more := true; more; {
		var n int
		n, more = q.take(into[:])
		got += int32(n)
	}
	if got != next {
		t.Fatalf("%d came out of %d", got, next)
	}
}
