package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"troupe/messages/wire"
)

// ackDelay is how long an ack waits to be sent with a packet (reliability.md 2.4).
const ackDelay = 200 * time.Millisecond

// buffers is a pool of buffers. Each holds one unit while it is written.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// put queues a packet for the reliable channel. It blocks while there is no room.
func (c *Client) put(ctx context.Context, h *wire.Header, fast bool) error {
	for {
		changed, err := c.offer(ctx, h, fast)
		if changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// offer queues a packet. If there is no room, it returns a channel to wait on before the next try.
func (c *Client) offer(ctx context.Context, h *wire.Header, fast bool) (changed <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cn := c.current.Load()
	switch {
	case c.closing || c.over:
		return nil, ErrClosed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case fast && cn == nil:
	case c.numbers.put(h, fast):
		if cn != nil {
			c.kick(cn)
		}
		return nil, nil
	case !fast && cn == nil:
		return nil, ErrBufferFull
	case !fast:
		return c.change(), nil
	}
	c.datagrams.unsent.Add(1)
	return nil, nil
}

// change returns a channel that is closed at the next change. The caller holds mu.
func (c *Client) change() <-chan struct{} {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// wake closes the channel that change has returned. The caller holds mu.
func (c *Client) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// kick starts the writer if something is queued. The caller holds mu.
func (c *Client) kick(cn *connection) {
	if cn.writes != writerIdle || c.numbers.idle() {
		return
	}
	cn.mu.Lock()
	defer cn.mu.Unlock()
	if cn.alive.Err() == nil {
		cn.writes = writerRunning
		cn.helpers.Add(1)
		go cn.writer()
	}
}

// write is the writer goroutine, which runs while packets are queued. After the login only it writes. So numbers are
// sent in order, and no ended context cuts a unit short.
func (cn *connection) write() {
	defer cn.helpers.Done()
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	for cn.nextUnit(b) {
		if err := cn.link.send(context.Background(), *b); err != nil {
			cn.fail(err)
		}
	}
}

// nextUnit fills b with the next unit. It returns false if the writer must end.
func (cn *connection) nextUnit(b *[]byte) (ok bool) {
	c := cn.client
	c.mu.Lock()
	defer c.mu.Unlock()
	again, bytes := false, c.numbers.out.bytes
	if c.current.Load() == cn && cn.writes != writerBroken {
		*b, again, ok = c.numbers.next((*b)[:0])
	}
	if !ok {
		if cn.writes == writerRunning {
			cn.writes = writerIdle
		}
		c.wake()
		return false
	}
	if c.numbers.out.bytes < bytes {
		c.wake()
	}
	c.reliable.countSent(len(*b))
	if again {
		c.resumes.replayed.Add(1)
	}
	return true
}

// fail records that the link can no longer be written to. It drops the connection, unless err is
// ErrClosed: then the connection ends by itself.
func (cn *connection) fail(err error) {
	cn.client.mu.Lock()
	cn.writes = writerBroken
	cn.client.mu.Unlock()
	if !errors.Is(err, ErrClosed) {
		cn.drop(err)
	}
}

// scheduleAck sends an ack that is due, or arms the timer that sends it. The caller holds mu.
func (c *Client) scheduleAck(cn *connection) {
	switch {
	case c.numbers.ackDue():
		c.kick(cn)
	case c.numbers.ackOpen() && !c.ackArmed:
		c.ackArmed = true
		if c.ackTimer == nil {
			c.ackTimer = time.AfterFunc(ackDelay, c.onAckTimer)
		} else {
			c.ackTimer.Reset(ackDelay)
		}
	}
}

// onAckTimer sends the ack, unless it has been sent since the timer was armed.
func (c *Client) onAckTimer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ackArmed = false
	if cn := c.current.Load(); cn != nil && c.numbers.ackOpen() {
		c.numbers.ackOverdue = true
		c.kick(cn)
	}
}
