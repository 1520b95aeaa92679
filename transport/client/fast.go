package client

import (
	"errors"
	"sync"
	"time"

	"troupe/messages/wire"
)

// Intervals between repetitions of a handshake packet. The official clients use the same for UDP (realtime.md 7.1).
const (
	repeatFirst = 100 * time.Millisecond
	repeatMax   = 5 * time.Second
)

// fastPath carries the fast channel's datagrams: a UDP socket, a separate DTLS association,
// or the association of KCP. write does not retain unit and does not block. It reports
// whether the datagram was sent.
type fastPath struct {
	write func(unit []byte) bool
	close func()
}

// fastChannel is the fast channel of one login. It may go down and come up again. Its packet numbers continue then.
type fastChannel struct {
	c *connection

	mu sync.Mutex
	// guarded by mu, so that datagrams are sent in the order of their numbers
	path     *fastPath // nil if there is none
	state    fastState
	awaits   int32         // op code of the expected answer
	answered chan struct{} // closed when the host has answered; created by open
	next     int32         // number of the next packet to send
	highest  int32         // highest number received
	buf      []byte
	err      error     // why the channel is not up; nil before the first failure, and while it is up
	heard    time.Time // when the last datagram arrived
	repeats  bool      // the host has answered a handshake again that was already complete
	toldDown bool      // the program was notified that the channel is down
	wasUp    bool      // the channel was up at some time before it went down or was closed
}

type fastState uint8

const (
	fastNew fastState = iota // there is no path, or no longer
	fastAsked
	fastUp
	fastDown // closed for good
)

// open starts to use path. It returns false if the channel is closed or has a path already. awaits is the op code of
// the host's answer, or 0 if no answer is needed.
func (f *fastChannel) open(path *fastPath, awaits int32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != fastNew {
		return false
	}
	f.path, f.awaits, f.state, f.answered = path, awaits, fastAsked, make(chan struct{})
	if awaits == 0 {
		f.state = fastUp
	}
	return true
}

// answer processes the host's answer to a handshake. It returns again=true if the channel was up already, so the
// answer shows only that the host is alive.
func (f *fastChannel) answer(op int32, accepted bool) (again bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case op != f.awaits:
	case f.state == fastUp:
		f.repeats = true
		return true
	case f.state == fastAsked && accepted:
		f.state, f.err = fastUp, nil
		close(f.answered)
	case f.state == fastAsked:
		f.state, f.err = fastDown, ErrFastRefused
		close(f.answered)
	}
	return false
}

// ask repeats a packet, with new numbers, until the host answers, lost is closed or the connection
// ends. It reports whether the channel is up.
func (f *fastChannel) ask(lost <-chan struct{}, packet func(dst []byte, seq int32) []byte) bool {
	f.mu.Lock()
	answered := f.answered
	f.mu.Unlock()
	for delay := repeatFirst; ; delay = min(2*delay, repeatMax) {
		f.send(packet)
		select {
		case <-time.After(delay):
			continue
		case <-answered:
		case <-lost:
		case <-f.c.alive.Done():
		}
		return f.up()
	}
}

// send numbers and sends one packet. It reports no error, because packets may be lost anyway.
func (f *fastChannel) send(packet func(dst []byte, seq int32) []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == nil {
		return
	}
	f.buf = packet(f.buf[:0], f.next)
	f.next++
	if !f.path.write(f.buf) {
		f.c.client.datagrams.unsent.Add(1)
		return
	}
	f.c.client.datagrams.countSent(len(f.buf))
}

// fresh records that a packet has arrived. It returns false if its number is not higher than all before.
func (f *fastChannel) fresh(seq int32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard = time.Now()
	if seq <= f.highest {
		return false
	}
	f.highest = seq
	return true
}

func (f *fastChannel) up() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state == fastUp
}

// takeDown reports whether the program still believes that the channel is up. If so, the caller must emit EventFastDown.
func (f *fastChannel) takeDown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	seemed := (f.state == fastUp || f.wasUp) && !f.toldDown
	f.toldDown = f.toldDown || seemed
	return seemed
}

func (f *fastChannel) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// announce notifies the program that the channel is up. A helper calls it, because it may block.
func (f *fastChannel) announce() {
	f.mu.Lock()
	f.toldDown = false
	f.mu.Unlock()
	f.c.client.emit(f.c, Event{Kind: EventFastUp, Sender: wire.ServerPeer})
}

// fail closes the channel for good and notifies the program. The connection continues. A helper calls it, because it
// may block. If the host has refused the channel before, that stays the reason.
func (f *fastChannel) fail(err error) {
	f.close()
	if f.c.ending() {
		return
	}
	f.mu.Lock()
	if !errors.Is(f.err, ErrFastRefused) {
		f.err = err
	}
	f.mu.Unlock()
	f.tellDown()
}

// tellDown notifies the program that the channel is down, unless that has been done already.
func (f *fastChannel) tellDown() {
	f.mu.Lock()
	told := f.toldDown
	f.toldDown = true
	f.mu.Unlock()
	if !told {
		f.c.client.emit(f.c, Event{Kind: EventFastDown, Sender: wire.ServerPeer})
	}
}

// close ends the channel for good. It is idempotent.
func (f *fastChannel) close() {
	f.mu.Lock()
	path := f.path
	f.wasUp = f.wasUp || f.state == fastUp
	f.path, f.state = nil, fastDown
	f.mu.Unlock()
	if path != nil {
		path.close()
	}
}
