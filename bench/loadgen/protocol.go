package loadgen

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
)

// Protocol is how the players of another server than Troupe speak, over WebSocket. Its methods may be called from any
// goroutine. Each player is in one room, and what it says goes to all players of that room, itself included.
type Protocol interface {
	// Path reserves a place for the player if the server wants that, and returns the path, with query, of its WebSocket.
	Path(ctx context.Context, addr string, login Login) (string, error)
	// Hello is what the player sends first, nil if the server speaks first.
	Hello(login Login) []byte
	// Joining takes a message that arrived before the player is in its room. The player sends each answer.
	Joining(login Login, message []byte) (answers [][]byte, joined bool, err error)
	// Message is what the player says to its room. The payload is its last part.
	Message(payload []byte) []byte
	// Next takes the first part off what arrived in one WebSocket message. It does not allocate.
	Next(message []byte) (part Part, rest []byte, err error)
}

// Part is one of the things that a server says in one WebSocket message.
type Part struct {
	Payload []byte // of a message to the room; nil: it is something else
	Answer  []byte // what the player answers, to a ping for example
}

// enter does the handshakes of another protocol than Realtime.
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

// errShortPayload is a message to the room without the send time.
var errShortPayload = errors.New("a message without the send time")

// parts handles a message in another protocol than Realtime.
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
