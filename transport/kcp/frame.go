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
	// dataMax is the largest data frame, including its type. With the headers of DTLS, UDP
	// and IPv6 it fits the 1280 bytes that every IPv6 path carries.
	dataMax = 1200
	// controlMax is the largest payload of a ping, as with WebSocket.
	controlMax = 125
	// byeTextMax is the largest reason text: controlMax without the code.
	byeTextMax = controlMax - 2
)

// datagram is a buffer for one datagram.
type datagram [datagramMax]byte

var datagrams = sync.Pool{New: func() any { return new(datagram) }}

// appendBye appends a bye frame; text is cut at byeTextMax.
func appendBye(dst []byte, code uint16, text string) []byte {
	dst = binary.BigEndian.AppendUint16(append(dst, byte(frameBye)), code)
	return append(dst, text[:min(len(text), byeTextMax)]...)
}

// parseBye reads the body of a bye frame.
func parseBye(body []byte) (code uint16, text string, ok bool) {
	if len(body) < 2 || len(body) > 2+byeTextMax {
		return 0, "", false
	}
	return binary.BigEndian.Uint16(body), string(body[2:]), true
}
