package transporttest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"troupe/messages/wire"
)

// sizes are those of payloads and messages: the smallest, those around a
// datagram's limit, a client's limit and more, the largest.
var sizes = []int{1, 100, 1200, 1201, 4096, 5000, 65536}

// smallSizes fit the limit of a peer that has not logged in.
var smallSizes = []int{1, 100, 1200, 1201, 4096}

// noise is what messages are cut from.
var noise = func() []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, 66<<10)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}()

// series is a numbered run of messages whose bytes both ends know.
type series struct {
	id    int
	sizes []int // of the messages in turn
}

// message returns message i: a tag of 8 bytes where there is room, then noise.
func (s series) message(i int) []byte {
	b := make([]byte, s.sizes[i%len(s.sizes)])
	copy(b, noise[(s.id*31+i*7)%256:])
	if len(b) >= 8 {
		binary.BigEndian.PutUint32(b, uint32(s.id))
		binary.BigEndian.PutUint32(b[4:], uint32(i))
	}
	return b
}

// frame returns message i as the host sends it.
func (s series) frame(i int) *wire.Frame {
	return wire.NewFrame(&wire.Header{OpCode: 7, Sender: wire.ServerPeer, Payload: s.message(i)})
}

// unit returns the bytes of frame i.
func (s series) unit(i int) []byte {
	f := s.frame(i)
	defer f.Release()
	return f.AppendReliable(nil)
}

// payload takes the payload out of a unit of the host.
func payload(unit []byte) ([]byte, error) {
	var h wire.Header
	packet, err := wire.SplitUnit(unit)
	if err == nil {
		err = h.Parse(packet)
	}
	if err != nil {
		return nil, fmt.Errorf("not a unit: %w", err)
	}
	return h.Payload, nil
}

// reader holds what arrives against a series.
type reader struct {
	want func(i int) []byte
	next int
}

// take returns what is wrong with the message that comes next.
func (r *reader) take(b []byte) error {
	want := r.want(r.next)
	if !bytes.Equal(b, want) {
		return fmt.Errorf("message %d: got %s, want %s", r.next, describe(b), describe(want))
	}
	r.next++
	return nil
}

func describe(b []byte) string {
	if p, err := payload(b); err == nil && len(p) >= 8 {
		b = p
	}
	if len(b) < 8 {
		return fmt.Sprintf("% x", b)
	}
	return fmt.Sprintf("%d bytes, number %d of series %d", len(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b))
}
