package client

import (
	"errors"
	"sync"
	"time"

	"troupe/messages/wire"
)

// Repeats of a handshake's packet, as the official clients do them for UDP (realtime.md 7.1).
const (
	repeatFirst = 100 * time.Millisecond
	repeatMax   = 5 * time.Second
)

// fastPath carries the fast channel's datagrams: a UDP socket, a DTLS association of its own, or
// the association of KCP. Write does not keep unit, does not block, and reports whether it was sent.
type fastPath struct {
	write func(unit []byte) bool
	close func()
}

// fastChannel is the fast channel of one login. It may go down and come up again; the numbers go on.
type fastChannel struct {
	c *connection

	mu sync.Mutex
	// guarded by mu, so that numbers and datagrams go in the same order
	path     *fastPath // nil while there is none
	state    fastState
	awaits   int32         // op code of the answer
	answered chan struct{} // closed when the host has answered; made by open
	next     int32         // number of the next packet sent
	highest  int32         // highest number received
	buf      []byte
	err      error     // why it is not up; nil before the first reason, and while it is up
	heard    time.Time // when the last datagram came
	repeats  bool      // the host has answered a handshake that was already complete
	toldDown bool      // the program was told that the channel is down
	wasUp    bool      // it was up when it went down or was closed
}

type fastState uint8

const (
	fastNew fastState = iota // there is no path, or not yet
	fastAsked
	fastUp
	fastDown // for good
)

// open makes path the channel's own; false if the channel is closed. Awaits is the op code of the host's answer, 0 if none is needed.
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

// answer processes the host's answer to a handshake. Again: the channel was up already, and this shows only that the host is alive.
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

// ask repeats a packet, with new numbers, until the host answers, lost is closed or the connection ends. True: it is up.
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

// send numbers and sends one packet. A lost packet is no error.
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

// fresh applies the rule of sequence numbers.
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

// takeDown reports whether the program, which the caller tells, takes the channel for up.
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

// announce tells the program that the channel is up. A helper does that, because it may wait.
func (f *fastChannel) announce() {
	f.mu.Lock()
	f.toldDown = false
	f.mu.Unlock()
	f.c.client.emit(f.c, Event{Kind: EventFastUp, Sender: wire.ServerPeer})
}

// fail ends the channel for good, not the connection. A helper tells the program: that may wait. An earlier refusal stays the reason.
func (f *fastChannel) fail(err error) {
	f.close()
	if f.c.alive.Err() != nil {
		return
	}
	f.mu.Lock()
	if !errors.Is(f.err, ErrFastRefused) {
		f.err = err
	}
	f.mu.Unlock()
	f.tellDown()
}

// tellDown tells the program that the channel is down, unless it knows.
func (f *fastChannel) tellDown() {
	f.mu.Lock()
	told := f.toldDown
	f.toldDown = true
	f.mu.Unlock()
	if !told {
		f.c.client.emit(f.c, Event{Kind: EventFastDown, Sender: wire.ServerPeer})
	}
}

// close ends the channel for good. Idempotent.
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
