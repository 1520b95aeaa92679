package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages/wire"
)

// Client is one player. Dial creates it; the program ends it with Close or Abort. All methods are safe for concurrent
// use. Unless Options.Reconnect is off, a Client reconnects when its connection is lost.
type Client struct {
	// set once, by Dial
	o      Options
	open   opener
	events chan Event
	life   context.Context // ends with Close, Abort or the end of the Client
	leave  context.CancelFunc
	done   chan struct{} // closed when every goroutine has ended
	end    End           // valid after done is closed

	// inbox and moves are locks: each holds one token. The holder of inbox may emit events and change the current
	// connection. The holder of moves may perform a Move. The lock order is moves, inbox, mu.
	inbox, moves chan struct{}
	nudge        chan struct{} // interrupts the pause between two attempts

	current atomic.Pointer[connection] // nil while detached; written under mu
	peer    atomic.Int32

	// The booleans below are independent of each other. They record a request of the program, the end, a Move and a timer.
	mu           sync.Mutex
	numbers      numbers
	closing      bool          // Close or Abort was called
	leaving      bool          // Close was called: if the host may have accepted a pending login, the Client leaves
	over         bool          // there will be no more connections
	moving       bool          // a Move is logging in
	abandonedAt  time.Time     // when the last LOGIN was abandoned; the host may still receive it
	changed      chan struct{} // closed at the next change; nil while no goroutine waits
	ackTimer     *time.Timer   // nil until it is needed
	ackArmed     bool
	away         *absence         // nil while attached
	last         Transport        // transport of the newest connection
	prefer       Transport        // transport for reconnecting; may be Auto
	home         *Options         // o, with the addresses of the node that is believed to run the game session
	alternates   []wire.Endpoints // other nodes of the cluster, in random order
	window       time.Duration    // the host's reconnect window; 0 if it announced none
	tries        int              // number of the next attempt; see recentLosses.next
	recentLosses recentLosses
	violated     int       // violations of the numbering since numbers.progress last increased
	progress     uint64    // value of numbers.progress at the first of these violations
	notBefore    time.Time // no attempt starts before this time, and an attempt that began earlier does not succeed
	stop         context.CancelFunc
	replaced     []*connection // connections that Move has replaced and that may not have ended yet

	reliable, datagrams channelCounters
	resumes             resumeCounters
}

// absence is the time between the loss of a connection and the next connection.
type absence struct {
	// set once
	since time.Time
	end   End
	fast  bool // a Move was running: the program must still be told that the fast channel is down

	// guarded by mu
	told      bool // the loss was reported to the program
	attempts  int
	unreached int           // attempts in a row that have not reached the owner
	silence   time.Duration // how long the host may be silent in the current attempt over KCP
}

func newClient(o *Options, open opener) *Client {
	c := &Client{
		o: *o, open: open, events: make(chan Event, o.EventsMax), done: make(chan struct{}),
		inbox: make(chan struct{}, 1), moves: make(chan struct{}, 1), nudge: make(chan struct{}, 1),
		prefer:  o.Transport,
		numbers: numbers{bytesMax: o.SendBufferBytes, messagesMax: o.SendBufferMessages},
	}
	c.home = &c.o
	c.life, c.leave = context.WithCancel(context.Background())
	return c
}

// PeerID returns the player's number in the game session.
func (c *Client) PeerID() int32 { return c.peer.Load() }

// Transport returns the transport of the newest connection: WS, WSS or KCP.
func (c *Client) Transport() Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Attached reports whether the Client has a connection and has not noticed that it is lost.
func (c *Client) Attached() bool {
	cn := c.current.Load()
	if cn == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return cn.cause == nil
}

// Events returns the channel of received events. They are in order, also across connections. The channel is closed
// after Done, when the Client has ended. Events that are still in its buffer can be read after that.
func (c *Client) Events() <-chan Event { return c.events }

// Done returns a channel that is closed when the Client has ended. It stays open while a lost connection may be
// resumed. Events is closed right after it.
func (c *Client) Done() <-chan struct{} { return c.done }

// End returns how the Client ended. It is zero before Done is closed.
func (c *Client) End() End {
	if isClosed(c.done) {
		return c.end
	}
	return End{}
}

// FastUp reports whether messages with intent Fast use the fast channel.
func (c *Client) FastUp() bool { return c.current.Load().fastUp() }

// FastErr returns why the current connection has no working fast channel. It returns nil while the channel is up, while
// it is being set up for the first time, and without Options.Fast.
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
// arrives exactly once, or the Client ends. (For hosts that do not number messages, the
// package comment describes an exception.) Send waits while the send buffer is full. The
// wait may last until the program takes events. If the connection is lost and the buffer
// is full, Send fails with ErrBufferFull.
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

// JoinGroup asks to join a group, which is a positive number. The host answers with an
// EventMembership. JoinGroup, LeaveGroup and RequestMembership are sent like reliable messages.
func (c *Client) JoinGroup(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpJoinGroup, group, 1)
}

// LeaveGroup asks to leave a group. The remaining members get an EventMembership.
func (c *Client) LeaveGroup(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpLeaveGroup, group, 1)
}

// RequestMembership asks for an EventMembership of a group, which may be AllPlayers.
func (c *Client) RequestMembership(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpRequestGroupMembership, group, AllPlayers)
}

// group sends a group command. It always uses the reliable channel. Official clients prefer the
// fast channel, where the command may be lost.
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

// Close sends the queued messages and leaves the game session with close code 1000. It returns when all goroutines have
// ended, after about three seconds at most. While the connection is lost, Close cannot notify the host. The host then
// reserves the player's seat until its reconnect window ends, unless it has accepted a new login in the meantime.
func (c *Client) Close() {
	if cn := c.depart(true); cn != nil {
		c.awaitWritten(cn)
		cn.link.close()
	}
	<-c.done
}

// Abort drops the connection without a close frame and ends the Client. It returns when all goroutines have
// ended. The player may log in again later.
func (c *Client) Abort() {
	if cn := c.depart(false); cn != nil {
		cn.link.abort()
	}
	<-c.done
}

// depart starts the end from this side. After it, the program can send nothing more and gets no more events.
func (c *Client) depart(leave bool) *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving = c.leaving || leave && !c.closing
	c.closing = true
	c.wake()
	c.leave()
	return c.current.Load()
}

// awaitWritten waits until everything is written, at most for closeTimeout.
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
