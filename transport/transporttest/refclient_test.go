package transporttest

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"time"

	"troupe/messages"
	"troupe/transport/transporttest/memnet"
)

// refClient is the client of the reference transport.
type refClient struct {
	nc   *memnet.Stream
	in   Inbox
	done chan struct{} // closed when the reading goroutine has ended
	turn chan struct{} // capacity 1: held while writing; a sync.Mutex would stop the bubble's clock
	b    []byte
}

func (s *refServer) Dial(ctx context.Context, in Inbox) (Client, error) {
	nc, err := s.Network.Node().Dial(ctx, s.ln.Addr().(*net.TCPAddr).AddrPort())
	if err != nil {
		return nil, err
	}
	s.keep(nc)
	c := &refClient{nc: nc, in: in, done: make(chan struct{}), turn: make(chan struct{}, 1)}
	s.running.Go(c.read)
	return c, nil
}

func (c *refClient) read() {
	defer close(c.done)
	defer c.nc.Close()
	in := bufio.NewReaderSize(c.nc, 4<<10)
	code, name := uint16(0), ""
	for {
		var head [headBytes]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			break
		}
		b := make([]byte, binary.BigEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(in, b); err != nil {
			break
		}
		switch head[0] {
		case typeMessage:
			c.in.OnMessage(b)
		case typePing:
			c.write(typePong, b)
		case typeBye:
			code, name = binary.BigEndian.Uint16(b), string(b[2:])
		}
	}
	c.in.OnClosed(code, name)
}

func (c *refClient) write(kind byte, b []byte) error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.b = append(appendHead(c.b[:0], kind, len(b)), b...)
	_, err := c.nc.Write(c.b)
	return err
}

func (c *refClient) Addr() netip.AddrPort { return c.nc.LocalAddr().(*net.TCPAddr).AddrPort() }

func (c *refClient) Send(message []byte) error { return c.write(typeMessage, message) }

func (c *refClient) Raw(b []byte) error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	_, err := c.nc.Write(b)
	return err
}

func (c *refClient) Close() {
	_ = c.write(typeBye, binary.BigEndian.AppendUint16(nil, uint16(messages.CloseNormal)))
	limit := time.AfterFunc(time.Minute, func() { _ = c.nc.Close() })
	defer limit.Stop()
	<-c.done
}

func (c *refClient) Abort() { c.nc.Reset() }
