package kcp

import (
	"math"
	"sync"
	"sync/atomic"

	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// fastFrameMax is the largest Len of a frame that Fast.Send accepts, in bytes. The overhead is the type (1), the
// number (6) and a longer length field (1).
const fastFrameMax = datagramMax - 1 - 6 - 1

// Fast is the fast channel of one connection. No method blocks, and after Close no method has an effect.
// All methods are safe for concurrent use.
type Fast struct {
	e    *engine
	live atomic.Bool

	onPacket func(packet []byte)
	highest  int32 // number of the newest received packet; owned by the carrier's reader

	mu     sync.Mutex
	number int32 // number of the next packet to send
}

// OpenFast implements transport.FastCarrier. The datagrams use KCP's DTLS association. Their numbers start
// at 0. The socket's reader calls onPacket.
func (c *Conn) OpenFast(onPacket func(packet []byte)) transport.FastLink {
	f := &Fast{e: c.e, onPacket: onPacket, highest: -1}
	c.e.lock()
	f.live.Store(c.e.phase == phaseOpen)
	if old := c.fast.Swap(f); old != nil {
		old.Close()
	}
	c.e.leave()
	return f
}

// Ready reports whether Send can succeed. It is true until Close or the connection's end.
func (f *Fast) Ready() bool { return f.live.Load() }

// Send sends fr with the next number of the fast channel (realtime.md 9). It takes no reference to fr. It returns false
// if the channel is not ready, if fr.Len() is over 1392 bytes (which is counted), or if the kernel refused the datagram.
func (f *Fast) Send(fr *wire.Frame) bool {
	if !f.live.Load() {
		return false
	}
	if fr.Len() > fastFrameMax {
		f.e.set.count.Dropped.Add(counters.DropPayloadTooLarge, 1)
		return false
	}
	f.mu.Lock() // numbers go out in order
	defer f.mu.Unlock()
	if f.number == math.MaxInt32 { // clients do not support a wrap-around
		return false
	}
	d := datagrams.Get().(*datagram)
	defer datagrams.Put(d)
	if !f.e.write(fr.AppendFast(append(d[:0], byte(frameFast)), f.number)) {
		return false
	}
	f.number++
	return true
}

// Close ends the channel. A packet that is being delivered may still reach onPacket. Close is idempotent.
func (f *Fast) Close() { f.live.Store(false) }

// onDatagram implements owner. It handles one unit of the fast channel. The carrier's reader calls it.
func (c *Conn) onDatagram(unit []byte) {
	f := c.fast.Load()
	switch {
	case f == nil:
		c.dropFast(counters.DropBeforeLogin)
		return
	case !f.live.Load():
		c.dropFast(counters.DropFastOff)
		return
	}
	var h wire.Header
	packet, err := h.ParseUnit(unit)
	switch {
	case err != nil:
		c.dropFast(counters.DropFastMalformed)
	case h.Sequence <= f.highest:
		c.dropFast(counters.DropFastStale)
	default:
		f.highest = h.Sequence
		f.onPacket(packet)
	}
}

func (c *Conn) dropFast(why counters.Drop) { c.l.opt.Counters.Dropped.Add(why, 1) }
