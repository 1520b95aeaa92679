package sim

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"troupe/transport/transporttest/memnet"
)

const (
	frameBinary = 0x2
	frameClose  = 0x8
	framePing   = 0x9
	framePong   = 0xA
)

// dialTimeout bounds connecting and the opening handshake, each.
const dialTimeout = 2 * time.Second

var errHandshake = errors.New("no 101 for the opening handshake")

// socket is the client side of a connection. What its transport has no frames for is a WebSocket's frame here.
type socket interface {
	write(op byte, b []byte) error // never waits
	read() (op byte, b []byte, err error)
	reset()               // ends it without a leave
	sleep()               // sends nothing from now on that is not written
	lastHeard() time.Time // when anything came; zero: only frames tell
}

// webSocket is the client side of a WebSocket over a stream.
type webSocket struct {
	stream *memnet.Stream
	in     *bufio.Reader
}

// openSocket connects and upgrades.
func openSocket(from *memnet.Node, to netip.AddrPort) (*webSocket, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	stream, err := from.Dial(ctx, to)
	if err != nil {
		return nil, err
	}
	s := &webSocket{stream, bufio.NewReaderSize(stream, 512)}
	_ = stream.SetDeadline(time.Now().Add(dialTimeout))
	if err := s.upgrade(); err != nil {
		stream.Reset()
		return nil, err
	}
	_ = stream.SetDeadline(time.Time{})
	return s, nil
}

func (s *webSocket) reset() { s.stream.Reset() }

// sleep has nothing to do: a device answers pings by itself.
func (s *webSocket) sleep() {}

func (s *webSocket) lastHeard() time.Time { return time.Time{} }

const upgradeRequest = "GET /websocket HTTP/1.1\r\nHost: sim\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

func (s *webSocket) upgrade() error {
	if _, err := io.WriteString(s.stream, upgradeRequest); err != nil {
		return err
	}
	accepted := false
	for first := true; ; first = false {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		switch {
		case first && !strings.HasPrefix(line, "HTTP/1.1 101 "):
			return fmt.Errorf("%w: %s", errHandshake, line)
		case strings.EqualFold(line, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="):
			accepted = true
		case line == "" && !accepted:
			return errHandshake
		case line == "":
			return nil
		}
	}
}

// write sends one frame, masked with zeros.
func (s *webSocket) write(op byte, b []byte) error {
	f := make([]byte, 0, len(b)+14)
	switch n := len(b); {
	case n <= 125:
		f = append(f, 0x80|op, 0x80|byte(n))
	case n <= 0xFFFF:
		f = binary.BigEndian.AppendUint16(append(f, 0x80|op, 0x80|126), uint16(n))
	default:
		f = binary.BigEndian.AppendUint64(append(f, 0x80|op, 0x80|127), uint64(n))
	}
	_, err := s.stream.Write(append(append(f, 0, 0, 0, 0), b...))
	return err
}

// read returns the next frame. A host does not fragment and does not mask.
func (s *webSocket) read() (op byte, b []byte, err error) {
	var head [8]byte
	if _, err = io.ReadFull(s.in, head[:2]); err != nil {
		return 0, nil, err
	}
	if head[0]&0xF0 != 0x80 || head[1]&0x80 != 0 {
		return 0, nil, fmt.Errorf("frame that begins with %x", head[:2])
	}
	op = head[0] & 0x0F
	n := uint64(head[1])
	switch n {
	case 126:
		_, err = io.ReadFull(s.in, head[:2])
		n = uint64(binary.BigEndian.Uint16(head[:2]))
	case 127:
		_, err = io.ReadFull(s.in, head[:8])
		n = binary.BigEndian.Uint64(head[:8])
	}
	if err != nil || n > 1<<20 {
		return 0, nil, fmt.Errorf("frame of %d bytes: %w", n, err)
	}
	b = make([]byte, n)
	_, err = io.ReadFull(s.in, b)
	return op, b, err
}
