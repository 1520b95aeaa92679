package loadgen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// errClosedByServer is the error for a close frame. It is wrapped with the close code.
var errClosedByServer = errors.New("closed by the server")

// conn is one logged-in player.
type conn struct {
	link
	// set once by dial
	peer int32
	room int
	rec  *recorder
	// number is the player's number in its room
	number int
	// seen is set for ToAnything only; nil: the answers are the swarm's own messages
	seen *seen
	// ticks is set for ToTicks only
	ticks bool
	// tick is the arrival of the last tick; owned by the reader
	tick int64

	prepared bool        // the message is made; owned by Run
	ready    atomic.Bool // the fast channel is up; set by the reader
	dead     atomic.Bool // set by the reader or pacer when it meets an error
}

// link is the connection of a player: a bare WebSocket, or Troupe's Go client.
type link interface {
	// prepare makes the message that the player sends. Once the pacer has started, only the pacer may call send.
	prepare(cfg *Config)
	// send sends the message with its intended send time.
	send(nanos int64) error
	// read receives messages until the connection ends, and returns the reason.
	read(now func() int64, w *window) error
	// interrupt aborts a blocked send. All later sends fail.
	interrupt()
	leave()
}

// webSocket is a player's link without a client library. It costs the generator as little as possible.
type webSocket struct {
	of *conn
	// set once by dial
	net net.Conn
	key [4]byte
	// protocol is nil for Realtime
	protocol Protocol

	parser frameParser // owned by dial, then by the reader
	msg    *message    // owned by Run, then by the pacer
}

func (c *webSocket) prepare(cfg *Config) { c.msg = newMessage(cfg, c) }

func (c *webSocket) interrupt() { _ = c.net.SetWriteDeadline(time.Unix(1, 0)) }

func (c *webSocket) read(now func() int64, w *window) error {
	defer c.net.Close()
	var b batch
	for {
		// Bytes that arrived with the login answer are parsed before the first read.
		if err := c.drain(&b, now(), w); err != nil {
			return err
		}
		n, err := c.net.Read(c.parser.space())
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		c.parser.filled(n)
	}
}

// drain handles every complete frame in the parser.
func (c *webSocket) drain(b *batch, now int64, w *window) error {
	for {
		op, payload, ok, err := c.parser.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if op != opBinary {
			if err := c.control(op, payload); err != nil {
				return err
			}
			continue
		}
		if c.protocol != nil {
			if err := c.parts(payload, b, now, w); err != nil {
				return err
			}
			continue
		}
		p, err := ParseUnit(payload)
		if err != nil {
			return err
		}
		if c.of.seen != nil {
			c.answer(p.Payload, b, now, w)
		} else if c.of.ticks && p.OpCode > 0 {
			c.of.ticked(b, now)
		} else if stamp, own := stampOf(p); own {
			b.stamps[b.n] = stamp
			b.n++
		} else {
			b.other++
		}
		if b.n == len(b.stamps) {
			c.of.rec.add(b, now, w)
		}
	}
	if b.n > 0 || b.other > 0 {
		c.of.rec.add(b, now, w)
	}
	return nil
}

// ticked counts a tick, from the second one on.
func (c *conn) ticked(b *batch, now int64) {
	if c.tick != 0 {
		b.stamps[b.n] = c.tick
		b.n++
	}
	c.tick = now
}

// answer counts one packet that a script has sent. The packet may contain any number of send times.
func (c *webSocket) answer(payload []byte, b *batch, now int64, w *window) {
	b.other++
	for {
		stamp, rest, ok := c.of.seen.take(payload, now)
		if !ok {
			return
		}
		if b.n == len(b.stamps) {
			c.of.rec.add(b, now, w)
		}
		b.stamps[b.n], payload = stamp, rest
		b.n++
	}
}

// send writes the player's next message.
func (c *webSocket) send(nanos int64) error {
	_, err := c.net.Write(c.msg.stamped(nanos))
	return err
}

// control answers a ping with the same payload and turns a close frame into an error.
func (c *webSocket) control(op byte, payload []byte) error {
	switch op {
	case opPing:
		// One Write call per frame: net.Conn serialises this write and the pacer's writes.
		if _, err := c.net.Write(appendFrame(nil, opPong, c.key, payload)); err != nil {
			return fmt.Errorf("send pong: %w", err)
		}
		return nil
	case opPong:
		return nil
	case opClose:
		code := 1005
		if len(payload) >= 2 {
			code = int(binary.BigEndian.Uint16(payload))
		}
		return fmt.Errorf("%w: code %d", errClosedByServer, code)
	default:
		return fmt.Errorf("frame with op code %d", op)
	}
}

// leave sends a close frame with code 1000 and closes the socket.
func (c *webSocket) leave() {
	if !c.of.dead.Load() {
		_, _ = c.net.Write(appendFrame(nil, opClose, c.key, []byte{0x03, 0xe8}))
	}
	_ = c.net.Close()
}
