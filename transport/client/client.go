package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages/wire"
)

// Client is one player. Dial makes it; call Close or Abort at the end. Its methods may be called from any goroutine.
// It outlives its connections, unless Options.Reconnect is off.
type Client struct {
	// set once, by Dial
	o      Options
	open   opener
	events chan Event
	life   context.Context // until Close, Abort or the end
	leave  context.CancelFunc
	done   chan struct{} // closed when every goroutine has ended
	end    End           // valid once done is closed

	// Each holds one token. The holder of inbox may emit events, and decides from which connection they come; that of moves may
	// make a Move. The lock order is moves, inbox, mu.
	inbox, moves chan struct{}
	nudge        chan struct{} // ends the wait between two attempts

	current atomic.Pointer[connection] // nil while detached; written under mu
	peer    atomic.Int32

	// The booleans below are independent: the program's wish, the end, a Move and a timer.
	mu           sync.Mutex
	numbers      numbers
	closing      bool          // Close or Abort was called
	leaving      bool          // Close was called: a login that the host may have accepted ends as a leave
	over         bool          // there will be no other connection
	moving       bool          // a Move logs in
	abandonedAt  time.Time     // when the last LOGIN was abandoned; it may still reach the host
	changed      chan struct{} // closed at the next change; nil while nobody waits
	ackTimer     *time.Timer   // nil until it is needed
	ackArmed     bool
	away         *absence      // nil while attached
	last         Transport     // of the newest connection
	prefer       Transport     // transport for reconnecting; may be Auto
	window       time.Duration // the host's reconnect window, 0 if it announced none
	tries        int           // attempts since the last loss or before, see recentLosses
	recentLosses recentLosses
	violated     int       // violations of the numbering since numbers.progress last grew
	progress     uint64    // numbers.progress at the first of these violations
	notBefore    time.Time // no attempt before this time, and none that began before it succeeds
	stop         context.CancelFunc
	replaced     []*connection // connections that Move has replaced; some may not have ended yet

	reliable, datagrams channelCounters
	resumes             resumeCounters
}

// absence is the time between two connections.
type absence struct {
	// set once
	since time.Time
	end   End
	fast  bool // during a Move: the program has to be told that the fast channel is down

	// guarded by mu
	told     bool // the program knows
	attempts int
	silence  time.Duration // of a host, that the current attempt over KCP bears
}

func newClient(o *Options, open opener) *Client {
	c := &Client{
		o: *o, open: open, events: make(chan Event, o.EventsMax), done: make(chan struct{}),
		inbox: make(chan struct{}, 1), moves: make(chan struct{}, 1), nudge: make(chan struct{}, 1),
		prefer:  o.Transport,
		numbers: numbers{bytesMax: o.SendBufferBytes, messagesMax: o.SendBufferMessages},
	}
	c.life, c.leave = context.WithCancel(context.Background())
	return c
}

// PeerID is the player's number in the game session.
func (c *Client) PeerID() int32 { return c.peer.Load() }

// Transport returns the transport of the newest connection: WS, WSS or KCP.
func (c *Client) Transport() Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Attached reports whether the Client has a connection that it does not know to be lost.
func (c *Client) Attached() bool {
	cn := c.current.Load()
	if cn == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return cn.cause == nil
}

// Events returns the channel of received events, in order, across connections. It is closed after Done, at the end of the
// Client; events that are still in its buffer can be taken then.
func (c *Client) Events() <-chan Event { return c.events }

// Done is closed when the Client has ended, not while a lost connection may be resumed. Then only Events is to be closed.
func (c *Client) Done() <-chan struct{} { return c.done }

// End returns how the Client ended. It is zero before Done is closed.
func (c *Client) End() End {
	if isClosed(c.done) {
		return c.end
	}
	return End{}
}

// FastUp reports whether messages of intent Fast go by the fast channel.
func (c *Client) FastUp() bool { return c.current.Load().fastUp() }

// FastErr returns why the current connection has no fast channel, or none any more. It is nil while the channel is up or is
// first being set up, and without Options.Fast.
func (c *Client) FastErr() error {
	cn := c.current.Load()
	if cn == nil || cn.fast == nil {
		return nil
	}
	return cn.fast.failure()
}

// Send sends one message.
//
// A reliable message is kept until the host has it. If Send returns nil, the message
// arrives exactly once, or the Client ends (the package comment has the exception of
// hosts that do not number messages). Send waits while the send buffer is full, which
// may last until events are taken. If the connection is lost and the buffer is full, it
// fails with ErrBufferFull.
//
// A fast message never waits. Without a connection it is dropped, and counted in
// Stats.Fast.Unsent.
func (c *Client) Send(ctx context.Context, m Message) error {
	if err := m.check(); err != nil {
		return err
	}
	h := wire.Header{
		OpCode: m.OpCode, Sender: c.PeerID(), TargetPlayer: m.TargetPlayer, TargetGroup: m.TargetGroup, Payload: m.Payload,
	}
	if cn := c.current.Load(); m.Intent == Fast && len(m.Payload) <= FastPayloadMax && cn.fastUp() {
		cn.fast.send(func(dst []byte, seq int32) []byte {
			h.Sequence = seq
			return wire.AppendMessage(dst, &h)
		})
		return nil
	}
	return c.put(ctx, &h, m.Intent == Fast)
}

// JoinGroup asks to join a group, a positive number. An EventMembership brings the
// result. JoinGroup, LeaveGroup and RequestMembership are sent like reliable messages.
func (c *Client) JoinGroup(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpJoinGroup, group, 1)
}

// LeaveGroup asks to leave a group. The members that remain get an EventMembership.
func (c *Client) LeaveGroup(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpLeaveGroup, group, 1)
}

// RequestMembership asks for an EventMembership of a group, which may be AllPlayers.
func (c *Client) RequestMembership(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpRequestGroupMembership, group, AllPlayers)
}

// group sends a group command, always reliably: official clients prefer the fast channel, where it may be lost.
func (c *Client) group(ctx context.Context, op, group, least int32) error {
	if err := checkGroup(group, least); err != nil {
		return err
	}
	var h wire.Header
	if err := parse(&h, wire.AppendGroupCommand(nil, op, group, c.PeerID(), 0, true)); err != nil {
		return err
	}
	return c.put(ctx, &h, false)
}

// Close sends messages that are still queued, leaves the game session with close code 1000, and returns when no goroutine is
// left, after three seconds or so at most. It cannot tell the host while the connection is lost: then the host holds the seat
// until its window is over, unless it has accepted a new login meanwhile.
func (c *Client) Close() {
	if cn := c.depart(true); cn != nil {
		c.awaitWritten(cn)
		cn.link.close()
	}
	<-c.done
}

// Abort drops the connection without a close frame, ends the Client, and returns when no goroutine is left. The player may come back.
func (c *Client) Abort() {
	if cn := c.depart(false); cn != nil {
		cn.link.abort()
	}
	<-c.done
}

// depart starts the end from this side: the program can send nothing any more, and gets no events.
func (c *Client) depart(leave bool) *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving = c.leaving || leave && !c.closing
	c.closing = true
	c.wake()
	c.leave()
	return c.current.Load()
}

// awaitWritten waits until everything is written, or for closeTimeout.
func (c *Client) awaitWritten(cn *connection) {
	late := time.After(closeTimeout)
	for {
		c.mu.Lock()
		if cn.writes == writerBroken || c.current.Load() != cn || cn.writes == writerIdle && c.numbers.idle() {
			c.mu.Unlock()
			return
		}
		changed := c.change()
		c.mu.Unlock()
		select {
		case <-changed:
		case <-late:
			return
		case <-cn.done:
			return
		}
	}
}
