package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages/wire"
)

const (
	// closePatience is how long Close waits for the host's part of the goodbye.
	closePatience = time.Second
	// writePatience is how long an answer to a ping may take to be written.
	writePatience = 10 * time.Second
)

// Client is one connection of one player. It is made by Dial; its methods may be
// called from any goroutine. Close or Abort must be called at the end.
type Client struct {
	// set once
	ws     *socket
	peer   int32
	udp    *fastChannel // nil without Options.Fast
	events chan Event
	loops  sync.WaitGroup // of the fast channel

	leaving   chan struct{} // closed by Close and Abort: nobody takes events any more
	leaveOnce sync.Once
	stopping  chan struct{} // closed when the reading has ended
	done      chan struct{} // closed when every goroutine has ended
	end       End           // valid once done is closed

	stats struct {
		sentReliable, sentFast, receivedReliable, receivedFast, stale, dropped, malformed atomic.Uint64
	}
}

// Dial opens a connection and logs in. The context bounds this alone. A login
// that the host does not accept is ErrRefused.
func Dial(ctx context.Context, o Options) (*Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		conn.SetDeadline(time.Unix(1, 0))
		close(cut)
	})
	c, result, err := login(ctx, conn, &o)
	if !stop() {
		<-cut
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	if o.Fast {
		if c.udp, err = c.openFast(conn, int(result.FastPort)); err != nil {
			conn.Close()
			return nil, fmt.Errorf("client: fast channel: %w", err)
		}
	}
	go c.run()
	return c, nil
}

// login makes the WebSocket of an open connection and sends LOGIN.
func login(ctx context.Context, conn net.Conn, o *Options) (*Client, wire.LoginResult, error) {
	ws, err := upgrade(conn, o.Addr)
	if err != nil {
		return nil, wire.LoginResult{}, fmt.Errorf("client: opening handshake: %w", err)
	}
	events := o.EventsMax
	if events == 0 {
		events = eventsMaxDefault
	}
	c := &Client{
		ws: ws, events: make(chan Event, events),
		leaving: make(chan struct{}), stopping: make(chan struct{}), done: make(chan struct{}),
	}
	unit := wire.AppendLogin(nil, &wire.Login{PlayerSessionID: o.PlayerSessionID, ClientVersion: wire.ClientVersion}, o.Payload)
	if err := c.sendReliable(ctx, unit); err != nil {
		return nil, wire.LoginResult{}, fmt.Errorf("client: login: %w", err)
	}
	result, err := c.awaitLogin()
	if err != nil {
		return nil, wire.LoginResult{}, fmt.Errorf("client: login: %w", err)
	}
	if !result.Success {
		ws.writeControl(opClose, closePayload(codeNormal), closePatience)
		return nil, wire.LoginResult{}, ErrRefused
	}
	c.peer = result.PeerID
	return c, result, nil
}

// awaitLogin reads up to LOGIN_RESPONSE, which is the first packet there is.
func (c *Client) awaitLogin() (wire.LoginResult, error) {
	for {
		op, payload, err := c.ws.read()
		if err != nil {
			return wire.LoginResult{}, err
		}
		switch op {
		case opPing:
			if err := c.ws.writeControl(opPong, payload, writePatience); err != nil {
				return wire.LoginResult{}, err
			}
		case opClose:
			code, reason := closeFrame(payload)
			return wire.LoginResult{}, fmt.Errorf("%w: %s", ErrClosed, End{Code: code, Reason: reason})
		case opBinary:
			c.stats.receivedReliable.Add(1)
			var h wire.Header
			packet, err := wire.SplitUnit(payload)
			if err == nil {
				err = h.Parse(packet)
			}
			if err != nil {
				return wire.LoginResult{}, err
			}
			if h.OpCode != wire.OpLoginResponse || h.Command != wire.CommandLoginResult {
				return wire.LoginResult{}, fmt.Errorf("the host began with op code %s", wire.OpCode(h.OpCode))
			}
			return wire.ParseLoginResult(h.Inner)
		}
	}
}

// PeerID is the player's number in the game session.
func (c *Client) PeerID() int32 { return c.peer }

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

// FastUp reports whether unreliable messages go by the fast channel.
func (c *Client) FastUp() bool { return c.udp != nil && c.udp.up() }

// Stats returns what was counted so far.
func (c *Client) Stats() Stats {
	s := &c.stats
	return Stats{
		SentReliable: s.sentReliable.Load(), SentFast: s.sentFast.Load(),
		ReceivedReliable: s.receivedReliable.Load(), ReceivedFast: s.receivedFast.Load(),
		FastStale: s.stale.Load(), FastDropped: s.dropped.Load(), Malformed: s.malformed.Load(),
	}
}

// Send sends one message. By WebSocket it waits until the kernel takes it; a
// context that ends while it waits may leave half a message behind and so ends
// the connection. That a message was sent does not mean that it arrives: the
// connection may end before.
func (c *Client) Send(ctx context.Context, m Message) error {
	if len(m.Payload) > PayloadMax {
		return ErrTooLarge
	}
	h := wire.Header{
		OpCode: m.OpCode, Sender: c.peer, TargetPlayer: m.TargetPlayer, TargetGroup: m.TargetGroup, Payload: m.Payload,
	}
	if !m.Reliable && len(m.Payload) <= FastPayloadMax && c.FastUp() {
		return c.udp.send(func(seq int32) []byte {
			h.Sequence = seq
			return wire.AppendMessage(nil, &h)
		})
	}
	h.Reliable = true
	return c.sendReliable(ctx, wire.AppendMessage(nil, &h))
}

// JoinGroup asks to join a group, a positive number. An EventMembership tells
// what came of it.
func (c *Client) JoinGroup(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpJoinGroup, group)
}

// LeaveGroup asks to leave a group.
func (c *Client) LeaveGroup(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpLeaveGroup, group)
}

// RequestMembership asks who is in a group; the answer is an EventMembership.
func (c *Client) RequestMembership(ctx context.Context, group int32) error {
	return c.group(ctx, wire.OpRequestGroupMembership, group)
}

// group sends a group command, always by WebSocket: official clients prefer the
// fast channel, where it may be lost.
func (c *Client) group(ctx context.Context, op, group int32) error {
	return c.sendReliable(ctx, wire.AppendGroupCommand(nil, op, group, c.peer, 0, true))
}

func (c *Client) sendReliable(ctx context.Context, unit []byte) error {
	if err := c.ws.acquire(ctx); err != nil {
		return err
	}
	defer c.ws.release()
	err := c.ws.write(ctx, opBinary, unit)
	if err == nil {
		c.stats.sentReliable.Add(1)
	}
	return err
}

// Close leaves the game session, with close code 1000, and returns when no
// goroutine is left: at most about two seconds later.
func (c *Client) Close() {
	c.leaveOnce.Do(func() { close(c.leaving) })
	if c.ws.writeControl(opClose, closePayload(codeNormal), closePatience) == nil {
		timer := time.NewTimer(closePatience)
		defer timer.Stop()
		select {
		case <-c.done:
		case <-timer.C:
		}
	}
	c.ws.conn.Close()
	<-c.done
}

// Abort drops the connection without a goodbye, by a TCP reset, and returns when
// no goroutine is left. To the host it is a loss: the player may come back.
func (c *Client) Abort() {
	c.leaveOnce.Do(func() { close(c.leaving) })
	if tcp, ok := c.ws.conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.ws.conn.Close()
	<-c.done
}

// run is the reader. It ends with the connection and takes the rest with it.
func (c *Client) run() {
	end := c.readAll()
	c.ws.conn.Close()
	close(c.stopping)
	if c.udp != nil {
		c.udp.close()
	}
	c.loops.Wait()
	select {
	case <-c.leaving:
		end.Local, end.Err = true, nil
	default:
	}
	c.end = end
	close(c.events)
	close(c.done)
}

func (c *Client) readAll() End {
	for {
		op, payload, err := c.ws.read()
		if err != nil {
			if errors.Is(err, errProtocol) {
				c.ws.writeControl(opClose, closePayload(codeProtocolError), closePatience)
			}
			return End{Err: err}
		}
		switch op {
		case opBinary:
			c.stats.receivedReliable.Add(1)
			c.packet(payload, nil)
		case opText:
			c.stats.malformed.Add(1) // no host sends text
		case opPing:
			if err := c.ws.writeControl(opPong, payload, writePatience); err != nil && !errors.Is(err, ErrClosed) {
				return End{Err: err}
			}
		case opClose:
			return c.goodbye(payload)
		}
	}
}

// goodbye answers the host's close frame and gives it a moment to close TCP,
// which is its part.
func (c *Client) goodbye(payload []byte) End {
	code, reason := closeFrame(payload)
	c.ws.writeControl(opClose, payload[:min(2, len(payload))], closePatience)
	c.ws.conn.SetReadDeadline(time.Now().Add(closePatience))
	io.Copy(io.Discard, c.ws.br)
	return End{Code: code, Reason: reason}
}

// packet handles one unit; via is nil for the WebSocket.
func (c *Client) packet(unit []byte, via *fastChannel) {
	var h wire.Header
	packet, err := wire.SplitUnit(unit)
	if err == nil {
		err = h.Parse(packet)
	}
	if err != nil {
		c.stats.malformed.Add(1)
		return
	}
	fast := via != nil
	if fast && !via.fresh(h.Sequence) {
		c.stats.stale.Add(1)
		return
	}
	switch h.OpCode {
	case wire.OpServerAck:
		if via == nil {
			via = c.udp // the handshake may be answered by WebSocket
		}
		if via != nil && via.acknowledge() {
			c.emit(Event{Kind: EventFastUp, Sender: h.Sender, Fast: fast})
		}
	case wire.OpGroupMembershipUpdate:
		m, err := wire.ParseMembership(h.Inner)
		if err != nil {
			c.stats.malformed.Add(1)
			return
		}
		c.emit(Event{Kind: EventMembership, Sender: h.Sender, Fast: fast, Group: m.Group, Players: m.Players})
	case wire.OpLoginResponse, wire.OpPingResult, wire.OpVerifyIdentityResponse:
		// nothing to do
	default:
		c.emit(Event{
			Kind: EventMessage, Sender: h.Sender, Fast: fast, OpCode: h.OpCode, TargetPlayer: h.TargetPlayer,
			TargetGroup: h.TargetGroup, Payload: append([]byte(nil), h.Payload...),
		})
	}
}

// emit hands on an event, by the policy of the package comment.
func (c *Client) emit(e Event) {
	if e.Fast && e.Kind != EventFastUp {
		select {
		case c.events <- e:
		default:
			c.stats.dropped.Add(1)
		}
		return
	}
	select {
	case c.events <- e:
	case <-c.leaving:
	case <-c.stopping:
	}
}
