package loadgen

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
)

// Protocol implements the WebSocket protocol of a server other than Troupe. Its methods may be called from any
// goroutine. Each player is in one room. A message of a player goes to all players of that room, including itself.
type Protocol interface {
	// Path returns the path, with query, of the player's WebSocket. If the server requires it, Path reserves a place
	// for the player first.
	Path(ctx context.Context, addr string, login Login) (string, error)
	// Hello returns the player's first message, or nil if the server sends first.
	Hello(login Login) []byte
	// Joining handles a message that arrived before the player is in its room. The player sends each of the answers.
	// joined reports whether the player is now in its room.
	Joining(login Login, message []byte) (answers [][]byte, joined bool, err error)
	// Message returns the message with which the player sends payload to its room. The payload is the last part of the
	// message.
	Message(payload []byte) []byte
	// Next splits the first part off the content of a WebSocket message. It must not allocate.
	Next(message []byte) (part Part, rest []byte, err error)
}

// Part is one of the parts of a WebSocket message from the server.
type Part struct {
	Payload []byte // payload of a message to the room; nil for any other part
	Answer  []byte // what the player must answer, for example to a ping
}

// enter performs the handshakes of a protocol other than Realtime.
func (c *webSocket) enter(ctx context.Context, addr string, login Login) error {
	path, err := c.protocol.Path(ctx, addr, login)
	if err != nil {
		return err
	}
	if err := c.upgrade(addr, path); err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	if hello := c.protocol.Hello(login); hello != nil {
		if err := c.write(hello); err != nil {
			return err
		}
	}
	for {
		message, err := c.awaitMessage()
		if err != nil {
			return err
		}
		answers, joined, err := c.protocol.Joining(login, message)
		if err != nil {
			return err
		}
		for _, answer := range answers {
			if err := c.write(answer); err != nil {
				return err
			}
		}
		if joined {
			return nil
		}
	}
}

func (c *webSocket) write(message []byte) error {
	_, err := c.net.Write(appendFrame(nil, opBinary, c.key, message))
	return err
}

// errShortPayload means that a message to the room has no send time.
var errShortPayload = errors.New("a message without the send time")

// parts handles a WebSocket message in a protocol other than Realtime.
func (c *webSocket) parts(message []byte, b *batch, now int64, w *window) error {
	for len(message) > 0 {
		part, rest, err := c.protocol.Next(message)
		if err != nil {
			return err
		}
		message = rest
		if part.Answer != nil {
			if err := c.write(part.Answer); err != nil && !errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("answer: %w", err)
			}
		}
		switch {
		case part.Payload == nil:
			b.other++
		case c.of.ticks:
			c.of.ticked(b, now)
		case len(part.Payload) < stampBytes:
			return errShortPayload
		default:
			b.stamps[b.n] = int64(binary.LittleEndian.Uint64(part.Payload))
			b.n++
		}
		if b.n == len(b.stamps) {
			c.of.rec.add(b, now, w)
		}
	}
	return nil
}
