package stock

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Message is a game message to other players or to the server.
type Message struct {
	OpCode       int32
	TargetPlayer int32
	TargetGroup  int32 // 0 means no group; in the TypeScript flavor, it means the default, group -1
	Payload      []byte
	Reliable     bool // the intent; fast is the default of stock messages

	Via      Channel // channel to use instead of the chosen one; UDP and DTLS both mean the fast channel
	Sender   *int32  // forged sender; nil means the own id
	Sequence *int32  // forged sequence number on UDP, which does not change the counter; nil means the next number
	NoLimit  bool    // allow a payload above PayloadMax, which the SDKs refuse
}

// Send sends a message. It uses the WebSocket if the intent is reliable, if the fast channel is not up, or if
// the payload is above FastPayloadMax. Otherwise it uses UDP or DTLS. The packet's reliable flag says which
// channel was used.
func (c *Client) Send(m Message) error {
	if len(m.Payload) > PayloadMax && !m.NoLimit {
		return fmt.Errorf("stock: send: %w: %d bytes", ErrPayloadTooLarge, len(m.Payload))
	}
	p := Packet{
		OpCode: m.OpCode, TargetPlayer: m.TargetPlayer, TargetGroup: m.TargetGroup,
		Sender: c.PeerID(), Payload: m.Payload,
	}
	if m.Sender != nil {
		p.Sender = *m.Sender
	}
	if c.opts.Flavor == TypeScript && p.TargetGroup == 0 {
		p.TargetGroup = AllPlayers
	}
	via := m.Via
	if via == 0 {
		via = c.choose(m.Reliable, len(m.Payload))
	}
	p.Reliable = via == ChannelWebSocket
	return c.sendVia(p, via, m.Sequence)
}

// SendEvent sends a message without payload to the server with intent fast, like the SDK call of the same
// name.
func (c *Client) SendEvent(opCode int32) error {
	return c.Send(Message{OpCode: opCode, TargetPlayer: ServerID})
}

// choose returns the channel that the stock client would use for a message.
func (c *Client) choose(reliable bool, payload int) Channel {
	if reliable || payload > FastPayloadMax || c.Status() != StatusConnectedSendFast {
		return ChannelWebSocket
	}
	return c.fastVia()
}

// fastVia returns the kind of this client's fast channel.
func (c *Client) fastVia() Channel {
	if c.opts.secured() {
		return ChannelDTLS
	}
	return ChannelUDP
}

func (c *Client) sendVia(p Packet, via Channel, sequence *int32) error {
	if via == ChannelWebSocket {
		return c.SendRawReliable(EncodeUnit(p))
	}
	fast := c.fastChannel()
	if fast == nil {
		return fmt.Errorf("stock: send: %w", ErrNoFast)
	}
	return wrapSend(fast.send(p, sequence))
}

// SendPacket sends p unchanged on the given channel: the WebSocket, or the fast channel (UDP or DTLS). On the
// fast channel it gets the next sequence number.
func (c *Client) SendPacket(p Packet, via Channel) error { return c.sendVia(p, via, nil) }

// SendLogin sends the LOGIN of this flavor. Dial has already done so, unless Options.NoLogin is set.
func (c *Client) SendLogin() error {
	unit := EncodeUnit(LoginPacket(c.opts.Flavor, c.session, c.opts.Payload))
	if c.opts.FragmentLogin > 0 {
		return c.SendFragmented(unit, c.opts.FragmentLogin)
	}
	return c.SendRawReliable(unit)
}

// SendUDPConnect sends one UDP_CONNECT in addition to those of the handshake.
func (c *Client) SendUDPConnect() error {
	fast := c.fastChannel()
	if fast == nil {
		return fmt.Errorf("stock: send: %w", ErrNoFast)
	}
	return wrapSend(fast.sendConnect())
}

// SendClientAck sends one CLIENT_ACK, for use with Options.NoClientAck.
func (c *Client) SendClientAck() error {
	return c.SendPacket(c.handshakePacket(OpClientAck), c.fastVia())
}

// SendPing sends the packet ping (op code -2) on the given channel. No known client sends it.
func (c *Client) SendPing(via Channel) error {
	return c.SendPacket(Packet{
		OpCode: OpPing, TargetPlayer: ServerID, Sender: c.PeerID(), Reliable: via == ChannelWebSocket, Ping: &Empty{},
	}, via)
}

// JoinGroup requests to join a group. Like the SDK, it has the intent fast and uses UDP (DTLS) if that is up,
// unless via names a channel. The TypeScript flavor has no groups and returns [ErrUnsupported].
func (c *Client) JoinGroup(group int32, via ...Channel) error {
	return c.sendGroup(Packet{OpCode: OpJoinGroup, JoinGroup: &GroupRef{Group: group}}, via, func() {
		c.setGroupLocked(group, true)
	})
}

// LeaveGroup requests to leave a group. See [Client.JoinGroup] for the channel.
func (c *Client) LeaveGroup(group int32, via ...Channel) error {
	return c.sendGroup(Packet{OpCode: OpLeaveGroup, LeaveGroup: &GroupRef{Group: group}}, via, func() {
		c.setGroupLocked(group, false)
	})
}

// RequestMembership requests the members of a group. See [Client.JoinGroup] for the channel.
func (c *Client) RequestMembership(group int32, via ...Channel) error {
	return c.sendGroup(Packet{
		OpCode: OpRequestGroupMembership, RequestGroupMembership: &GroupRef{Group: group},
	}, via, func() {})
}

func (c *Client) sendGroup(p Packet, via []Channel, remember func()) error {
	if c.opts.Flavor == TypeScript {
		return fmt.Errorf("stock: groups: %w", ErrUnsupported)
	}
	channel := c.choose(false, 0)
	if len(via) > 0 {
		channel = via[0]
	}
	p.TargetPlayer, p.Sender, p.Reliable = ServerID, c.PeerID(), channel == ChannelWebSocket
	c.mu.Lock()
	remember() // before sending, so that an update in response comes later
	c.mu.Unlock()
	return c.sendVia(p, channel, nil)
}

// SendRawReliable sends bytes as one binary WebSocket message. A valid message is the result of [Unit].
func (c *Client) SendRawReliable(unit []byte) error {
	return c.sentMessage(c.ws.writeFrame(FrameBinary, unit))
}

// SendFragmented sends bytes as one binary message in frames of at most size bytes.
func (c *Client) SendFragmented(unit []byte, size int) error {
	if size <= 0 {
		return errors.New("stock: fragment size must be positive")
	}
	return c.sentMessage(c.ws.writeFragmented(FrameBinary, unit, size))
}

// SendRawFast sends bytes as one datagram from the socket of the fast channel, or as one DTLS record.
func (c *Client) SendRawFast(datagram []byte) error {
	fast := c.fastChannel()
	if fast == nil {
		return fmt.Errorf("stock: send: %w", ErrNoFast)
	}
	return wrapSend(fast.sendRaw(datagram))
}

// SendFrames writes bytes to the TCP stream unchanged, for invalid WebSocket frames; see [Frame].
func (c *Client) SendFrames(raw []byte) error { return wrapSend(c.ws.write(raw, false)) }

// Ping sends a WebSocket ping frame, like the C# client's library, and waits for the pong with the same
// payload.
func (c *Client) Ping(ctx context.Context, payload string) error {
	pong := make(chan struct{})
	c.mu.Lock()
	if c.pings[payload] != nil {
		c.mu.Unlock()
		return fmt.Errorf("stock: ping %q is under way", payload)
	}
	c.pings[payload] = pong
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pings[payload] == pong {
			delete(c.pings, payload)
		}
	}()
	if err := c.ws.writeFrame(FramePing, []byte(payload)); err != nil {
		return wrapSend(err)
	}
	select {
	case <-pong:
		return nil
	case <-c.done:
		return fmt.Errorf("stock: ping: %w", c.closedError())
	case <-ctx.Done():
		return fmt.Errorf("stock: ping: %w", context.Cause(ctx))
	}
}

// PauseReading stops reading the WebSocket, including pings, until [Client.ResumeReading]. It imitates a slow
// reader, or a client that has vanished silently. One frame and a few kilobytes may still be read from the
// kernel.
func (c *Client) PauseReading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused == nil {
		c.paused = make(chan struct{})
	}
}

// ResumeReading ends PauseReading.
func (c *Client) ResumeReading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused != nil {
		close(c.paused)
		c.paused = nil
	}
}

// RebindUDP continues on another local socket with the same sequence numbers, as after a NAT rebinding. It
// sends nothing. An empty local address means the same IP address and any port. With DTLS it returns
// [ErrUnsupported].
func (c *Client) RebindUDP(local string) error {
	fast := c.fastChannel()
	if fast == nil {
		return fmt.Errorf("stock: rebind: %w", ErrNoFast)
	}
	if fast.via == ChannelDTLS {
		return fmt.Errorf("stock: rebind: %w", ErrUnsupported)
	}
	if local == "" {
		local = c.udpLocal()
	}
	conn, err := c.openUDP(local)
	if err != nil {
		return fmt.Errorf("stock: rebind: %w", err)
	}
	if !fast.rebind(conn) {
		_ = conn.Close()
		return fmt.Errorf("stock: rebind: %w", ErrNoFast)
	}
	c.startLoops(fast, conn, false)
	return nil
}

// CloseUDP closes only the fast channel; for DTLS it sends a close-notify. As in the SDK, the status does not
// change.
func (c *Client) CloseUDP() {
	if fast := c.fastChannel(); fast != nil {
		fast.shut(false)
	}
}

// UDPLocalAddr returns the local address of the fast channel. It returns nil without a fast channel, and with
// DTLS.
func (c *Client) UDPLocalAddr() net.Addr {
	if fast := c.fastChannel(); fast != nil {
		return fast.localAddr()
	}
	return nil
}

func (c *Client) sentMessage(err error) error {
	if err == nil {
		c.count(func(s *Stats) { s.SentWebSocket++ })
	}
	return wrapSend(err)
}

func wrapSend(err error) error {
	if err != nil {
		return fmt.Errorf("stock: send: %w", err)
	}
	return nil
}
