package sim

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"time"

	"troupe/transport/transporttest/memnet"
	"troupe/transport/transporttest/stock"
)

// dialTimeout is the timeout of connecting, and that of the opening handshake.
const dialTimeout = 2 * time.Second

// socket is the client side of a connection. Other transports represent control messages as WebSocket frames.
type socket interface {
	write(op byte, b []byte) error // never blocks
	read() (op byte, b []byte, err error)
	reset()               // ends the connection without a leave
	sleep()               // from now on, sends nothing except what is written
	lastHeard() time.Time // time of the last arrival; zero if only frames show it
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
	_ = stream.SetDeadline(time.Now().Add(dialTimeout))
	in, err := stock.Upgrade(stream, "sim", "/websocket", nil)
	if err != nil {
		stream.Reset()
		return nil, err
	}
	_ = stream.SetDeadline(time.Time{})
	return &webSocket{stream, in}, nil
}

func (s *webSocket) reset() { s.stream.Reset() }

// sleep does nothing, because a device answers pings itself.
func (s *webSocket) sleep() {}

func (s *webSocket) lastHeard() time.Time { return time.Time{} }

func (s *webSocket) write(op byte, b []byte) error {
	_, err := s.stream.Write(stock.Frame{Final: true, OpCode: op, Masked: true, Payload: b}.Encode())
	return err
}

// read returns the next frame. The host does not fragment messages.
func (s *webSocket) read() (op byte, b []byte, err error) {
	f, err := stock.ReadFrame(s.in)
	if err == nil && !f.Final {
		err = fmt.Errorf("fragment with op code %d", f.OpCode)
	}
	return f.OpCode, f.Payload, err
}
