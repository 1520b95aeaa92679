package kcp

import (
	"encoding/binary"
	"sync"

	"troupe/transport/dtls"
)

// frameType is the first byte of a datagram.
type frameType byte

const (
	frameData frameType = iota + 1
	frameFast
	framePing
	framePong
	frameBye
	frameByeAck
)

const (
	// datagramMax is the largest datagram, in bytes.
	datagramMax = dtls.PlainMax
	// dataMax is the largest data frame, in bytes. With DTLS, UDP and IPv6 headers it fits 1280 bytes, the minimum MTU of IPv6.
	dataMax = 1200
	// controlMax is the largest payload of a ping, in bytes. It is the same as for WebSocket.
	controlMax = 125
	// byeTextMax is the largest reason text, in bytes: controlMax minus the two bytes of the code.
	byeTextMax = controlMax - 2
)

type datagram [datagramMax]byte

var datagrams = sync.Pool{New: func() any { return new(datagram) }}

// appendBye appends a bye frame. It truncates text to byeTextMax bytes.
func appendBye(dst []byte, code uint16, text string) []byte {
	dst = binary.BigEndian.AppendUint16(append(dst, byte(frameBye)), code)
	return append(dst, text[:min(len(text), byeTextMax)]...)
}

func parseBye(body []byte) (code uint16, text string, ok bool) {
	if len(body) < 2 || len(body) > 2+byeTextMax {
		return 0, "", false
	}
	return binary.BigEndian.Uint16(body), string(body[2:]), true
}

const (
	smallBuffer = 2 << 10  // fits nearly all messages of clients
	largeBuffer = 64 << 10 // fits the largest message that a host accepts by default
)

// buffer holds one message while it is handed up.
type buffer struct{ b []byte }

var (
	smallBuffers = sync.Pool{New: func() any { return &buffer{make([]byte, smallBuffer)} }}
	largeBuffers = sync.Pool{New: func() any { return &buffer{make([]byte, largeBuffer)} }}
)

// takeBuffer returns a buffer of at least n bytes. Buffers over largeBuffer are not pooled.
func takeBuffer(n int) *buffer {
	switch {
	case n <= smallBuffer:
		return smallBuffers.Get().(*buffer)
	case n <= largeBuffer:
		return largeBuffers.Get().(*buffer)
	}
	return &buffer{make([]byte, n)}
}

func giveBuffer(b *buffer) {
	switch len(b.b) {
	case smallBuffer:
		smallBuffers.Put(b)
	case largeBuffer:
		largeBuffers.Put(b)
	}
}
