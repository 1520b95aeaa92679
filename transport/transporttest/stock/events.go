package stock

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Channel is a channel of packets. A client has the WebSocket and one of the others.
type Channel int

// The channels.
const (
	ChannelWebSocket Channel = iota + 1
	ChannelUDP
	ChannelDTLS
)

// String returns the name of the channel.
func (c Channel) String() string {
	switch c {
	case ChannelWebSocket:
		return "WebSocket"
	case ChannelUDP:
		return "UDP"
	case ChannelDTLS:
		return "DTLS"
	}
	return fmt.Sprintf("Channel(%d)", int(c))
}

// Event is one received message or datagram. The log and all readers share its bytes, so they must not be
// modified.
type Event struct {
	Packet            // as the stock client would decode it; zero if Err is set
	Order    int      // index among all received packets, from 0
	Channel  Channel  // channel of arrival
	From     net.Addr // source of a datagram or record; nil on the WebSocket
	At       time.Time
	Raw      []byte // the complete message or datagram
	Trailing int    // number of bytes after the first unit; should be 0

	// Stale means that the datagram was dropped because of its sequence number. It is in the log, but not in
	// the queue.
	Stale bool
	// Err says why the bytes could not be decoded. On UDP, the .NET client fails permanently in this case.
	Err error
}

// IsData reports whether the C# client passes the packet to the game. It does so for all op codes except four
// built-in ones.
func (e Event) IsData() bool {
	switch e.OpCode {
	case OpLoginResponse, OpServerAck, OpGroupMembershipUpdate, OpVerifyIdentityResponse:
		return false
	}
	return e.Err == nil
}

// isHandshake reports whether the packet belongs to the login or to the setup of the fast channel.
func (e Event) isHandshake() bool {
	return e.Err == nil && (e.OpCode == OpLoginResponse || e.OpCode == OpServerAck || e.OpCode == OpVerifyIdentityResponse)
}

// String describes the event in one line, for test failures.
func (e Event) String() string {
	if e.Err != nil {
		return fmt.Sprintf("#%d %v undecodable %x: %v", e.Order, e.Channel, e.Raw, e.Err)
	}
	return fmt.Sprintf("#%d %v op %d seq %d target %d group %d sender %d reliable %v inner %q payload %d bytes",
		e.Order, e.Channel, e.OpCode, e.SequenceNumber, e.TargetPlayer, e.TargetGroup, e.Sender, e.Reliable,
		e.InnerName(), len(e.Payload))
}

// Op returns a function for [Client.Expect] that matches packets with the op code.
func Op(opCode int32) func(Event) bool {
	return func(e Event) bool { return e.Err == nil && e.OpCode == opCode }
}

// OpVia returns a function for [Client.Expect] that matches packets with the op code that arrived on the
// channel.
func OpVia(opCode int32, via Channel) func(Event) bool {
	return func(e Event) bool { return e.Err == nil && e.OpCode == opCode && e.Channel == via }
}

// decodeEvent decodes raw bytes like a client of the given flavor.
func decodeEvent(flavor Flavor, raw []byte, text bool) Event {
	e := Event{Raw: raw, At: time.Now()}
	var body, rest []byte
	if body, rest, e.Err = SplitUnit(raw); text {
		e.Err = fmt.Errorf("%w: text message", ErrMalformed) // the C# client accepts JSON text, but no host sends it
	}
	if e.Err == nil {
		e.Trailing = len(rest)
		if flavor == TypeScript {
			// This client skips the length and decodes everything after it, so trailing bytes become fields.
			body = raw[len(raw)-len(body)-len(rest):]
		}
		e.Packet, e.Err = DecodePacket(body)
		if u := e.GroupMembershipUpdate; flavor == TypeScript && u != nil && u.Unpacked {
			e.Err = fmt.Errorf("%w: this client cannot read unpacked players", ErrMalformed)
		}
	}
	if e.Err != nil {
		e.Packet = Packet{}
	}
	return e
}

// recordLocked appends the event to the log and, unless it is stale, to the queue. The caller holds the lock.
func (c *Client) recordLocked(e Event) {
	e.Order = c.received
	c.received++
	if len(c.log) < c.opts.EventsMax {
		c.log = append(c.log, e)
	} else {
		c.stats.LogDropped++
	}
	if e.Stale {
		return
	}
	if len(c.pending) < c.opts.EventsMax {
		c.pending = append(c.pending, e)
	} else {
		c.stats.QueueDropped++
	}
}

// Log returns everything received so far in order of arrival, including stale packets and packets that were
// taken from the queue. It has the first [Options].EventsMax entries only.
func (c *Client) Log() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Event(nil), c.log...)
}

// Pending returns the packets in the queue without removing them.
func (c *Client) Pending() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Event(nil), c.pending...)
}

// Next takes the oldest packet from the queue. If the queue is empty, it waits. It returns every kind of
// packet, including LOGIN_RESPONSE and SERVER_ACK unless [Client.AwaitLogin] or [Client.AwaitFast] has taken
// them. After the end of the connection, it first returns the packets in the queue, and then an error that
// wraps [ErrClosed].
func (c *Client) Next(ctx context.Context) (Event, error) {
	return c.find(ctx, func(Event) bool { return true }, true)
}

// NextData is Next for packets that the game would receive: see [Event.IsData].
func (c *Client) NextData(ctx context.Context) (Event, error) { return c.find(ctx, Event.IsData, true) }

// Expect takes the first matching packet from the queue. If there is none, it waits. Packets that do not
// match stay in the queue in their order. Packets that arrived before the call are included.
func (c *Client) Expect(ctx context.Context, match func(Event) bool) (Event, error) {
	return c.find(ctx, match, true)
}

// ExpectSilence waits for d and returns nil if no matching packet is or arrives in the queue. A nil match
// matches all packets except those of the login and of the fast channel's setup. A matching packet stays in
// the queue. The end of the connection is an error, too.
func (c *Client) ExpectSilence(d time.Duration, match func(Event) bool) error {
	if match == nil {
		match = func(e Event) bool { return !e.isHandshake() }
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	e, err := c.find(ctx, match, false)
	switch {
	case err == nil:
		return fmt.Errorf("stock: wanted silence, got %v", e)
	case errors.Is(err, ErrClosed):
		return err
	}
	return nil
}

// find calls match once for each packet, without holding the lock.
func (c *Client) find(ctx context.Context, match func(Event) bool, take bool) (Event, error) {
	var look []Event
	for seen, some := -1, 1; ; some = min(2*some, 256) { // batches grow, because usually the first packet matches
		c.mu.Lock()
		at := c.atLocked(seen + 1)
		end := min(at+some, len(c.pending))
		look = append(look[:0], c.pending[at:end]...)
		more, over, changed := end < len(c.pending), c.over, c.waitLocked()
		c.mu.Unlock()

		for _, e := range look {
			seen = e.Order
			if match(e) && (!take || c.take(e.Order)) {
				return e, nil
			}
		}
		if more {
			continue
		}
		if over {
			return Event{}, fmt.Errorf("stock: no matching packet%s: %w", c.describePending(), c.closedError())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, fmt.Errorf("stock: no matching packet%s: %w", c.describePending(), context.Cause(ctx))
		}
	}
}

// take removes the packet from the queue. It returns false if the packet is no longer there.
func (c *Client) take(order int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch i := c.atLocked(order); {
	case i == len(c.pending) || c.pending[i].Order != order:
		return false
	case i == 0:
		c.pending = c.pending[1:] // the usual case; it must not move the other packets
	default:
		c.pending = append(c.pending[:i], c.pending[i+1:]...)
	}
	return true
}

// atLocked returns the index in the queue of the packet with that order, or of the next one.
func (c *Client) atLocked(order int) int {
	i, _ := slices.BinarySearchFunc(c.pending, order, func(e Event, order int) int { return cmp.Compare(e.Order, order) })
	return i
}

func (c *Client) describePending() string {
	pending := c.Pending()
	if len(pending) == 0 {
		return ", none pending"
	}
	const shown = 8
	var b strings.Builder
	fmt.Fprintf(&b, " among %d pending", len(pending))
	for _, e := range pending[:min(shown, len(pending))] {
		fmt.Fprintf(&b, "; %v", e)
	}
	return b.String()
}

// CheckReceived searches the log for packets that no server may send to a stock client in any test. It
// returns all findings: a first packet other than LOGIN_RESPONSE, a second LOGIN_RESPONSE, contradictions
// inside it, text, bytes that cannot be decoded, trailing bytes, packets that are not in the shortest
// encoding or have unknown fields, a reliable flag that contradicts the channel, a sequence number on the
// WebSocket, a payload that is too large for UDP or DTLS, a record that is too large for the stock client's
// buffer, a built-in packet without its inner message or of the other mode, unpacked players, caCert in the
// unsecured mode or no caCert in the secured mode, and datagrams from a port other than fastPort.
func (c *Client) CheckReceived() error {
	var all []error
	logins, fastPort := 0, 0
	for _, e := range c.Log() {
		if e.Order == 0 && e.OpCode != OpLoginResponse {
			all = append(all, fmt.Errorf("the first packet is not LOGIN_RESPONSE: %v", e))
		}
		if e.LoginResult != nil {
			logins++
			fastPort = int(e.LoginResult.FastPort)
			if logins > 1 {
				all = append(all, fmt.Errorf("LOGIN_RESPONSE number %d: %v", logins, e))
			}
		}
		for _, fault := range faults(e, fastPort, c.opts.TLS != nil) {
			all = append(all, fmt.Errorf("%s: %v", fault, e))
		}
	}
	return errors.Join(all...)
}

// innerFits reports whether the packet has the inner message of its op code. Packets with the two presence
// codes may also be messages of a script, which have no inner message.
func innerFits(e Event) bool {
	name := e.InnerName()
	switch e.OpCode {
	case OpLoginResponse:
		return name == "loginResult"
	case OpPingResult:
		return name == "pingResult"
	case OpServerAck:
		return name == "udpConnect"
	case OpGroupMembershipUpdate:
		return name == "groupMembershipUpdate"
	case OpVerifyIdentityResponse:
		return name == "verifyIdentityResult"
	case OpPlayerConnect:
		return name == "playerConnect" || name == ""
	case OpPlayerDisconnect:
		return name == "playerDisconnect" || name == ""
	}
	return name == ""
}

func faults(e Event, fastPort int, secured bool) (found []string) {
	add := func(bad bool, what string) {
		if bad {
			found = append(found, what)
		}
	}
	add(e.Channel == ChannelDTLS && len(e.Raw) > recordMax, fmt.Sprintf("record of %d bytes, more than %d", len(e.Raw), recordMax))
	if add(e.Err != nil, "undecodable"); e.Err != nil {
		return found
	}
	// A lost VERIFY_IDENTITY_RESPONSE is repeated unchanged on the WebSocket.
	repeated := e.OpCode == OpVerifyIdentityResponse && e.Channel == ChannelWebSocket
	add(e.Trailing > 0, "bytes after the unit")
	add(len(e.UnknownFields) > 0, fmt.Sprintf("unknown fields %v", e.UnknownFields))
	add(e.Trailing == 0 && !bytes.Equal(EncodeUnit(e.Packet), e.Raw), "not the shortest encoding")
	add(!innerFits(e), "inner message does not fit the op code")
	add(e.Reliable != (e.Channel == ChannelWebSocket) && !repeated, "reliable flag does not name the channel")
	if e.Channel == ChannelWebSocket {
		add(e.SequenceNumber != 0 && !repeated, "sequence number on WebSocket")
	} else {
		add(len(e.Payload) > FastPayloadMax, "payload too large for UDP")
		from, ok := e.From.(*net.UDPAddr)
		add(ok && fastPort != 0 && from.Port != fastPort, fmt.Sprintf("datagram from %v, not from fastPort", e.From))
	}
	add(e.OpCode == OpServerAck && secured, "SERVER_ACK in the secured mode")
	add(e.OpCode == OpVerifyIdentityResponse && !secured, "VERIFY_IDENTITY_RESPONSE in the unsecured mode")
	if u := e.GroupMembershipUpdate; u != nil {
		add(u.Unpacked, "unpacked players")
	}
	if r := e.LoginResult; r != nil {
		add(e.Sender != ServerID, "sender of LOGIN_RESPONSE is not the server")
		add(e.TargetPlayer != r.PeerID, "peer id differs between Packet.targetPlayer and loginResult")
		add(r.Success && r.PeerID <= 0, "success without a peer id")
		add(r.Success && (r.FastPort < 1 || r.FastPort > 65535), "fastPort is not a port")
		add(!r.Success && r.PeerID != 0, "refusal with a peer id")
		add(!secured && len(r.CACert) > 0, "caCert in the unsecured mode")
		add(secured && r.Success && checkAnchors(r.CACert) != nil, fmt.Sprintf("caCert: %v", checkAnchors(r.CACert)))
		add(secured && r.Success && r.ConnectToken == "", "no connectToken in the secured mode")
	}
	return found
}

// CheckSequences returns an error unless the datagrams in the log, including stale ones, are numbered 0, 1, 2
// and so on without gaps and repetitions. A lost datagram is a gap, so use it on loopback only.
func (c *Client) CheckSequences() error {
	var want int32
	for _, e := range c.Log() {
		if e.Channel == ChannelWebSocket || e.Err != nil {
			continue
		}
		if e.SequenceNumber != want {
			return fmt.Errorf("stock: datagram numbered %d where %d was due: %v", e.SequenceNumber, want, e)
		}
		want++
	}
	return nil
}
