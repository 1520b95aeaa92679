package transporttest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"troupe/messages/wire"
)

// sizes are sizes of payloads and messages: the smallest, sizes around the limits of a datagram and of a
// client's message, and the largest.
var sizes = []int{1, 100, 1200, 1201, 4096, 5000, 65536}

// smallSizes are within the limit for a peer that has not logged in.
var smallSizes = []int{1, 100, 1200, 1201, 4096}

// noise has the random bytes that messages consist of.
var noise = func() []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, 66<<10)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}()

// series is a numbered sequence of messages whose bytes both ends can compute.
type series struct {
	id    int
	sizes []int // sizes of the messages, used cyclically
}

// message returns message i. It begins with a tag of 8 bytes if there is room, followed by noise.
func (s series) message(i int) []byte {
	b := make([]byte, s.sizes[i%len(s.sizes)])
	copy(b, noise[(s.id*31+i*7)%256:])
	if len(b) >= 8 {
		binary.BigEndian.PutUint32(b, uint32(s.id))
		binary.BigEndian.PutUint32(b[4:], uint32(i))
	}
	return b
}

// frame returns message i as a frame from the host.
func (s series) frame(i int) *wire.Frame {
	return wire.NewFrame(&wire.Header{OpCode: 7, Sender: wire.ServerPeer, Payload: s.message(i)})
}

// unit returns the bytes of frame i.
func (s series) unit(i int) []byte {
	f := s.frame(i)
	defer f.Release()
	return f.AppendReliable(nil)
}

// payload returns the payload of a unit from the host.
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

// reader compares received messages with a series.
type reader struct {
	want func(i int) []byte
	next int
}

// take returns an error if b is not the next message.
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
