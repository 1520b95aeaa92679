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

// Channel names one of the ways a packet can travel. A client has WebSocket and one of the others.
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

// Event is one received message or datagram. Its bytes are shared between the log and all readers: do not change them.
type Event struct {
	Packet            // as the stock client would read it; zero when Err is set
	Order    int      // position among everything received, from 0
	Channel  Channel  // how it came
	From     net.Addr // source of a datagram or record, nil on WebSocket
	At       time.Time
	Raw      []byte // the whole message or datagram
	Trailing int    // bytes after the first unit; there should be none

	// Stale means that the sequence rule dropped the datagram: it is in the log, but in no queue.
	Stale bool
	// Err says why the bytes could not be decoded. The .NET client does not survive this on UDP.
	Err error
}

// IsData reports whether the C# client raises the packet to the game: every op code but the four built-in ones.
func (e Event) IsData() bool {
	switch e.OpCode {
	case OpLoginResponse, OpServerAck, OpGroupMembershipUpdate, OpVerifyIdentityResponse:
		return false
	}
	return e.Err == nil
}

// isHandshake reports whether the packet belongs to login or to the set-up of the fast channel.
func (e Event) isHandshake() bool {
	return e.Err == nil && (e.OpCode == OpLoginResponse || e.OpCode == OpServerAck || e.OpCode == OpVerifyIdentityResponse)
}

// String describes the event in one line for test failures.
func (e Event) String() string {
	if e.Err != nil {
		return fmt.Sprintf("#%d %v undecodable %x: %v", e.Order, e.Channel, e.Raw, e.Err)
	}
	return fmt.Sprintf("#%d %v op %d seq %d target %d group %d sender %d reliable %v inner %q payload %d bytes",
		e.Order, e.Channel, e.OpCode, e.SequenceNumber, e.TargetPlayer, e.TargetGroup, e.Sender, e.Reliable,
		e.InnerName(), len(e.Payload))
}

// Op matches packets with the op code, for [Client.Expect].
func Op(opCode int32) func(Event) bool {
	return func(e Event) bool { return e.Err == nil && e.OpCode == opCode }
}

// OpVia matches packets with the op code that came by the channel.
func OpVia(opCode int32, via Channel) func(Event) bool {
	return func(e Event) bool { return e.Err == nil && e.OpCode == opCode && e.Channel == via }
}

// decodeEvent reads raw bytes as the given client does.
func decodeEvent(flavor Flavor, raw []byte, text bool) Event {
	e := Event{Raw: raw, At: time.Now()}
	var body, rest []byte
	if body, rest, e.Err = SplitUnit(raw); text {
		e.Err = fmt.Errorf("%w: text message", ErrMalformed) // the C# client reads JSON, but no host sends it
	}
	if e.Err == nil {
		e.Trailing = len(rest)
		if flavor == TypeScript {
			// It takes the length for an offset only and decodes all that follows, so trailing bytes become fields.
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

// recordLocked puts the event into the log and, unless stale, into the queue. The lock is held.
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

// Log returns everything received so far in order of arrival, including what was dropped as stale and what was taken
// from the queue. It keeps the first [Options].EventsMax entries.
func (c *Client) Log() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Event(nil), c.log...)
}

// Pending returns the packets that nobody took yet, without taking them.
func (c *Client) Pending() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Event(nil), c.pending...)
}

// Next takes the oldest packet from the queue, waiting for one if need be. Every packet comes by here, LOGIN_RESPONSE
// and SERVER_ACK included unless [Client.AwaitLogin] or [Client.AwaitFast] took them. Packets received before the
// connection ended can still be taken; then the error wraps [ErrClosed].
func (c *Client) Next(ctx context.Context) (Event, error) {
	return c.find(ctx, func(Event) bool { return true }, true)
}

// NextData is Next for what the game would see: see [Event.IsData].
func (c *Client) NextData(ctx context.Context) (Event, error) { return c.find(ctx, Event.IsData, true) }

// Expect takes the first packet that matches from the queue, waiting for one if need be. Packets that do not match
// stay in the queue in their order, for later calls. It sees packets received before the call.
func (c *Client) Expect(ctx context.Context, match func(Event) bool) (Event, error) {
	return c.find(ctx, match, true)
}

// ExpectSilence returns nil if for the whole of d no matching packet is in the queue. A nil match stands for any
// packet but those of login and the fast channel's set-up. The packet that breaks the silence stays in the queue. The
// end of the connection is an error too.
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

// find calls match once per packet, without holding the lock.
func (c *Client) find(ctx context.Context, match func(Event) bool, take bool) (Event, error) {
	var look []Event
	for seen, some := -1, 1; ; some = min(2*some, 256) { // usually it is the first
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

// take removes the packet from the queue and reports whether it still was there.
func (c *Client) take(order int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch i := c.atLocked(order); {
	case i == len(c.pending) || c.pending[i].Order != order:
		return false
	case i == 0:
		c.pending = c.pending[1:] // the usual case must not move the rest
	default:
		c.pending = append(c.pending[:i], c.pending[i+1:]...)
	}
	return true
}

// atLocked returns where in the queue the packet of that order is, or the next one.
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

// CheckReceived looks over the log for what no server may send to a stock client, whatever the test is about, and
// returns all findings: a first packet other than LOGIN_RESPONSE, a second LOGIN_RESPONSE, contradictions inside it,
// text, undecodable or trailing bytes, packets that are not the shortest encoding or carry unknown fields, a reliable
// flag that does not name the channel, a number on WebSocket, too large a payload on UDP or DTLS, a record that does
// not fit the stock client's buffer, a built-in packet without its inner message or of the other mode, unpacked players,
// caCert in the unsecured mode or none in the secured one, and datagrams from another port than fastPort.
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

// innerFits reports whether the packet carries the inner message of its op code. The two presence codes may also be a
// script's own message, which has none.
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
	// A lost VERIFY_IDENTITY_RESPONSE is repeated on WebSocket as it was.
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

// CheckSequences reports whether the datagrams in the log, stale ones included, are numbered 0, 1, 2 and so on without
// gap or repetition. A datagram lost on the way shows as a gap: use it on the loopback interface only.
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
