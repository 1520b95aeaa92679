package client

import "sync"

// outbox holds accepted packets, encoded and in order, until they can no longer be needed for a resend. It is a
// ring buffer that grows up to its limits.
type outbox struct {
	ring  []kept
	head  int // index of the oldest packet
	count int
	bytes int
	// written is how many packets, starting with the oldest, were written on this connection.
	written int
}

// kept is one packet, without its length and its ack.
type kept struct {
	packet *[]byte // nil after release; the entry stays in the ring as long as an older packet does
	number uint64  // 0 if not numbered
	fast   bool    // not kept for the next connection
}

// packets pools the bytes of kept packets.
var packets = sync.Pool{New: func() any { return new([]byte) }}

func (b *outbox) at(i int) *kept { return &b.ring[(b.head+i)%len(b.ring)] }

// add takes ownership of a packet.
func (b *outbox) add(k kept) {
	if b.count == len(b.ring) {
		grown := make([]kept, max(16, 2*b.count))
		for i := range b.count {
			grown[i] = *b.at(i)
		}
		b.ring, b.head = grown, 0
	}
	b.count++
	*b.at(b.count - 1) = k
	b.bytes += len(*k.packet)
}

// release frees the bytes of one packet. It also removes all released packets at the head of the ring.
func (b *outbox) release(k *kept) {
	b.bytes -= len(*k.packet)
	packets.Put(k.packet)
	k.packet = nil
	for b.count > 0 && b.at(0).packet == nil {
		b.head = (b.head + 1) % len(b.ring)
		b.count--
		b.written = max(0, b.written-1)
	}
}

// next returns the first packet that was not written on this connection, or nil.
func (b *outbox) next() *kept {
	for ; b.written < b.count; b.written++ {
		if k := b.at(b.written); k.packet != nil {
			return k
		}
	}
	return nil
}

// trim releases the acknowledged packets: those with numbers up to the given one.
func (b *outbox) trim(number uint64) {
	for b.count > 0 && b.at(0).number != 0 && b.at(0).number <= number {
		b.release(b.at(0))
	}
}

// rewind marks all packets as unwritten for the next connection, and releases the fast ones.
func (b *outbox) rewind() {
	b.written = 0
	for i := b.count - 1; i >= 0; i-- { // start with the newest, because release moves the head
		if k := b.at(i); k.fast && k.packet != nil {
			b.release(k)
		}
	}
}
