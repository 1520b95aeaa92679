package client

import (
	"context"
	"sync"

	"troupe/messages/wire"
)

// Client is one connection of one player. It is made by Dial; its methods may be
// called from any goroutine. Close or Abort must be called at the end.
type Client struct {
	// set once, by Dial
	transport Transport
	link      link
	peer      int32
	fast      *fastChannel // nil without a fast channel
	events    chan Event
	login     chan loginAnswer // holds the answer to LOGIN

	// owned by the caller of onUnit
	answered bool // the first unit has come

	leaving   chan struct{} // closed by Close and Abort: nobody takes events any more
	leaveOnce sync.Once
	alive     context.Context // until the link has ended
	ended     context.CancelFunc
	done      chan struct{} // closed when every goroutine has ended
	end       End           // valid once done is closed

	// mu is held while alive is ended, a helper is started, and a datagram is taken:
	// the last two do not come after it.
	mu      sync.Mutex
	helpers sync.WaitGroup

	reliable, datagrams channelCounters
}

func newClient(t Transport, o *Options) *Client {
	c := &Client{
		transport: t, events: make(chan Event, o.EventsMax), login: make(chan loginAnswer, 1),
		leaving: make(chan struct{}), done: make(chan struct{}),
	}
	c.alive, c.ended = context.WithCancel(context.Background())
	if o.Fast || t == KCP { // a host may use that of KCP unasked
		c.fast = &fastChannel{c: c, highest: -1, answered: make(chan struct{})}
	}
	return c
}

// PeerID is the player's number in the game session.
func (c *Client) PeerID() int32 { return c.peer }

// Transport is what the connection runs over: WS, WSS or KCP.
func (c *Client) Transport() Transport { return c.transport }

// Events are what was received, in order. The channel is closed at the end of
// the connection; what still waits in it can be taken then.
func (c *Client) Events() <-chan Event { return c.events }

// Done is closed when the connection has ended and no goroutine is left.
func (c *Client) Done() <-chan struct{} { return c.done }

// End tells how the connection ended, once Done is closed; before, it is zero.
func (c *Client) End() End {
	select {
	case <-c.done:
		return c.end
	default:
		return End{}
	}
}

// FastUp reports whether messages of intent Fast go by the fast channel.
func (c *Client) FastUp() bool { return c.fast != nil && c.fast.up() }

// FastErr says why there will be no fast channel on this connection, or no
// longer; nil while it is up, being set up, or was not asked for.
func (c *Client) FastErr() error {
	if c.fast == nil {
		return nil
	}
	return c.fast.failure()
}

// Send sends one message. That it was sent does not mean that it arrives: the
// connection may end before. A fast message does not wait for the host. A reliable one waits
// until the kernel takes it (WebSocket) or until there is room in the queue
// (KCP). A context that ends while WebSocket waits may leave half a message
// behind, and so ends the connection; with KCP it does not.
func (c *Client) Send(ctx context.Context, m Message) error {
	if err := m.check(); err != nil {
		return err
	}
	h := wire.Header{
		OpCode: m.OpCode, Sender: c.peer, TargetPlayer: m.TargetPlayer, TargetGroup: m.TargetGroup, Payload: m.Payload,
	}
	if m.Intent == Fast && len(m.Payload) <= FastPayloadMax && c.FastUp() {
		c.fast.send(func(dst []byte, seq int32) []byte {
			h.Sequence = seq
			return wire.AppendMessage(dst, &h)
		})
		return nil
	}
	h.Reliable = true
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	*b = wire.AppendMessage((*b)[:0], &h)
	return c.sendReliable(ctx, *b)
}

// buffers hold one message while it is sent.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// JoinGroup asks to join a group, a positive number. An EventMembership tells
// what came of it.
func (c *Client) JoinGroup(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpJoinGroup, group, 1)
}

// LeaveGroup asks to leave a group. The members that remain get an
// EventMembership.
func (c *Client) LeaveGroup(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpLeaveGroup, group, 1)
}

// RequestMembership asks who is in a group, which may be AllPlayers; the answer
// is an EventMembership.
func (c *Client) RequestMembership(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpRequestGroupMembership, group, AllPlayers)
}

// group sends a group command, always reliably: official clients prefer the fast
// channel, where it may be lost.
func (c *Client) group(ctx context.Context, op, group, least int32) error {
	if err := checkGroup(group, least); err != nil {
		return err
	}
	return c.sendReliable(ctx, wire.AppendGroupCommand(nil, op, group, c.peer, 0, true))
}

func (c *Client) sendReliable(ctx context.Context, unit []byte) error {
	err := c.link.send(ctx, unit)
	if err == nil {
		c.reliable.countSent(len(unit))
	}
	return err
}

// Close leaves the game session, with close code 1000, and returns when no
// goroutine is left: at most about two seconds later.
func (c *Client) Close() {
	c.leaveOnce.Do(func() { close(c.leaving) })
	c.link.close()
	<-c.done
}

// Abort drops the connection without a goodbye and returns when no goroutine is
// left. To the host it is a loss: the player may come back.
func (c *Client) Abort() {
	c.leaveOnce.Do(func() { close(c.leaving) })
	c.link.abort()
	<-c.done
}

// spawn starts a helper that ends soon after alive; none starts after that.
func (c *Client) spawn(helper func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alive.Err() == nil {
		c.helpers.Go(helper)
	}
}

// onEnd is called by the link, last.
func (c *Client) onEnd(end End) {
	c.mu.Lock()
	c.ended()
	c.mu.Unlock()
	if c.fast != nil {
		c.fast.close()
	}
	c.helpers.Wait()
	select {
	case <-c.leaving:
		end.Local, end.Err = true, nil
	default:
	}
	c.end = end
	close(c.events)
	close(c.done)
}
