package gateway

import (
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"troupe/actors/connection"
	"troupe/actors/gamesession"
	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// peer is one connection's input: a transport.Handler, and the fast.Handler of
// the player that comes to be behind it.
type peer struct {
	// set once
	gateway *Gateway
	conn    transport.Conn
	channel counters.Channel
	ip      netip.Addr
	source  netip.Prefix // of ip: who answers for failed logins
	handle  *connection.Handle
	rate    inputRate
	fast    counters.Channel       // of the fast channel; set before there is one
	restart atomic.Pointer[func()] // of the fast channel beside a WebSocket; nil until that is opened

	// owned by the connection's reader
	malformed int
	tried     bool // a LOGIN was passed on
	share     roomShare

	// set before a LOGIN is passed on or refused
	readAt  time.Time // when it was read
	unknown bool      // nobody has its player session id
}

// idMax bounds a player session id and a reconnect token in bytes; real ones
// have 42 and 43.
const idMax = 128

// readPauseMax is how long a reader stops at a time (reliability.md 5.1).
const readPauseMax = time.Second

// OnUnit implements transport.Handler.
func (p *peer) OnUnit(unit []byte) {
	p.handle.Busy(true)
	defer p.handle.Busy(false)
	if p.handle.Attachment() == nil && !p.pace(1, len(unit)) {
		return
	}
	packet, err := wire.SplitUnit(unit)
	if err != nil {
		p.onMalformed()
		return
	}
	p.onPacket(packet, len(unit))
}

// OnText implements transport.Handler: proto3 JSON of a Packet (D-102). It costs far
// more to read than a packet, so before the login it is a LOGIN, once, or malformed.
func (p *peer) OnText(text []byte) {
	p.handle.Busy(true)
	defer p.handle.Busy(false)
	if p.handle.Attachment() == nil {
		p.textBeforeLogin(text)
		return
	}
	packet, err := wire.FromJSON(text)
	if err != nil {
		p.onMalformed()
		return
	}
	p.onPacket(packet, len(text))
}

// textBeforeLogin takes a LOGIN. Anything else counts as malformed, and the reader
// rests after it.
func (p *peer) textBeforeLogin(text []byte) {
	if !p.tried {
		packet, err := wire.FromJSON(text)
		var h wire.Header
		if err == nil {
			err = h.Parse(packet)
		}
		if err == nil && h.OpCode == wire.OpLogin && h.Command == wire.CommandLogin {
			p.onPacket(packet, len(text))
			return
		}
	}
	p.onMalformed()
	time.Sleep(unauthenticatedTextPause)
}

// unauthenticatedTextPause is how long a reader rests after a text before the login that
// is no LOGIN.
const unauthenticatedTextPause = 100 * time.Millisecond

// OnAlive implements transport.Handler. A peer that sends pings without end is held
// up.
func (p *peer) OnAlive(pong []byte) {
	if wait := p.rate.sign(&p.gateway.rates, p.gateway.clock()); wait > 0 {
		p.handle.Busy(true)
		time.Sleep(min(wait, readPauseMax))
		p.handle.Busy(false)
	}
	if pong == nil {
		p.handle.Alive()
		return
	}
	p.handle.Pong(pong)
}

// OnClosed implements transport.Handler.
func (p *peer) OnClosed(end transport.End) {
	p.handle.Ended(end.Clean, reasonOf(end))
}

// lostReason is the reason of a connection that nobody has closed. What the network said
// is in the transport's log: scripts are told reasons, too.
const lostReason = "connection_lost"

// clientClosed is the reason of a connection that the client has closed, and not as one
// who leaves; its number follows.
const clientClosed = "client_closed"

func reasonOf(end transport.End) string {
	switch {
	case end.ByHost != 0:
		return end.ByHost.String()
	case end.Clean:
		return "left"
	case end.Err != nil:
		return lostReason
	case end.Code == 0:
		return clientClosed
	default: // the numbers of CloseReason are what the host means by them, not the client
		return clientClosed + "_" + strconv.Itoa(int(end.Code))
	}
}

// onPacket handles one packet of the reliable channel.
func (p *peer) onPacket(packet []byte, size int) {
	var h wire.Header
	if err := h.Parse(packet); err != nil {
		p.onMalformed()
		return
	}
	att := p.handle.Attachment()
	if att == nil {
		p.beforeLogin(&h)
		return
	}
	if att.Numbered && !p.numbers(att, &h, size) {
		return
	}
	if h.OpCode == wire.OpUDPConnect && !h.Reliable {
		p.restartFast()
		p.pace(1, size)
		return
	}
	in := p.inbound(att, &h, true)
	if in == nil {
		p.pace(1, size) // what is dropped counts against the rate as well
		return
	}
	count := p.gateway.o.Counters
	count.MessagesIn.Add(p.channel, 1)
	count.BytesIn.Add(p.channel, int64(size))
	if !p.pace(1, size) {
		in.Release()
		return
	}
	if in.Frame != nil && in.Frame.TargetPlayer() <= 0 {
		if wait := p.share.take(att.Inflow, p.gateway.clock(), size); wait > 0 {
			time.Sleep(wait) // the read stops, for this peer alone
		}
	}
	for err := in.PostRun(att.Session); err != nil; err = in.PostRun(att.Session) {
		if err == stage.ErrStopped {
			p.drop(counters.DropPlayerGone)
			in.Release()
			return
		}
		att.Session.AwaitRoom(readPauseMax) // the read stops: back-pressure on this peer
	}
}

// numbers takes the ack of a packet of a client of the extension, and reports
// whether there is more to it. Acks count on the reliable channel only: datagrams
// of plain UDP can be forged.
func (p *peer) numbers(att *player.Attachment, h *wire.Header, size int) (more bool) {
	if h.Ack != 0 && !att.Player.Out.Acked(att.Epoch, h.Ack) {
		p.outOfOrder()
		return false
	}
	switch {
	case h.RelSeq != 0, !h.Reliable, h.Command == wire.CommandLogin: // a second LOGIN is dropped (D-129)
		return true
	case h.OpCode == 0 && h.Ack != 0 && len(h.Payload) == 0 && h.Command == wire.CommandNone:
		p.pace(ackCost, size)
		return false
	}
	p.outOfOrder()
	return false
}

func (p *peer) outOfOrder() {
	p.drop(counters.DropOutOfOrder)
	p.conn.Close(messages.CloseOutOfOrder)
}

// OnFast implements fast.Handler: a verified packet of this peer. It must not
// wait.
func (p *peer) OnFast(packet []byte) {
	att := p.handle.Attachment()
	if att == nil {
		return
	}
	p.handle.Alive()
	var h wire.Header
	if err := h.Parse(packet); err != nil {
		p.drop(counters.DropFastMalformed)
		return
	}
	in := p.inbound(att, &h, false)
	if in == nil {
		return
	}
	count := p.gateway.o.Counters
	count.MessagesIn.Add(p.fast, 1)
	count.BytesIn.Add(p.fast, int64(len(packet)))
	if !p.rate.fast(&p.gateway.rates, p.gateway.clock(), len(packet)) {
		p.drop(counters.DropFastRate)
		in.Release()
		return
	}
	if err := in.Post(att.Session); err != nil {
		p.drop(counters.DropSessionBusy)
		in.Release()
	}
}

// inbound turns a packet into a message for the game session, nil if it is
// dropped.
func (p *peer) inbound(att *player.Attachment, h *wire.Header, reliable bool) *gamesession.Inbound {
	kind, group, drop := classify(h)
	switch {
	case drop == counters.DropMalformed && reliable:
		p.onMalformed()
	case drop != 0:
		p.drop(drop)
	case kind.GroupOperation() && !p.rate.groupOp(&p.gateway.rates, p.gateway.clock()):
		drop = counters.DropGroupRate
		p.drop(drop)
	}
	number := uint64(0)
	if att.Numbered && reliable {
		number = h.RelSeq
	}
	if drop != 0 {
		if number == 0 {
			return nil
		}
		kind = gamesession.Nothing // its number counts all the same
	}
	in := gamesession.NewInbound()
	in.From, in.Kind, in.Group, in.Reliable = att.Player, kind, group, reliable
	in.Number, in.Epoch = number, att.Epoch
	if kind == gamesession.Application {
		out := delivered(h, att.Peer)
		in.Frame = wire.NewFrame(&out)
	}
	return in
}

// ackCost is what an ack alone costs of a player's rate of messages.
const ackCost = 1.0 / 8

// pace waits until the player's rate allows a reliable packet that counts as so
// many messages, and closes a player that has been over it for too long.
func (p *peer) pace(cost float64, size int) bool {
	wait, over := p.rate.reliable(&p.gateway.rates, p.gateway.clock(), cost, size)
	if wait == 0 {
		return true
	}
	if limit := p.gateway.o.Limits.TooFastFor; limit > 0 && over > limit {
		p.drop(counters.DropInboundRate)
		p.conn.Close(messages.CloseTooFast)
		return false
	}
	for ; wait > 0; wait -= readPauseMax {
		time.Sleep(min(wait, readPauseMax))
	}
	return true
}

// beforeLogin takes a LOGIN and drops everything else (RT-7).
func (p *peer) beforeLogin(h *wire.Header) {
	if h.OpCode != wire.OpLogin || h.Command != wire.CommandLogin {
		p.drop(counters.DropBeforeLogin)
		return
	}
	if p.tried {
		p.drop(counters.DropSecondLogin) // D-129
		return
	}
	p.tried, p.readAt = true, time.Now()
	l, err := wire.ParseLogin(h.Inner)
	if err != nil {
		p.onMalformed()
		return
	}
	id := messages.PlayerSessionID(l.PlayerSessionID)
	if id == "" || len(id) > idMax || len(l.ReconnectToken) > idMax || len(h.Payload) > wire.PayloadMax {
		p.unknown = true
		p.handle.Refuse(0)
		return
	}
	status := p.gateway.o.System.PlayerSession(id)
	if status == 0 {
		p.unknown = true
		p.handle.Refuse(0)
		return
	}
	p.handle.Caps(l.Caps)
	p.conn.LoginRead()
	p.handle.LoginSeen()
	login := &player.Login{
		ID: id, Payload: append([]byte(nil), h.Payload...), From: p.handle, At: p.readAt, Pause: p.gateway.pauseOf(id, l.ReconnectToken, p.readAt),
		Caps: l.Caps, Token: l.ReconnectToken, LastReceived: l.LastReceived,
	}
	p.gateway.loginLimiter.pass(login, loginClassOf(status, l.Caps), func() { p.handle.Login(login) })
}

// onMalformed counts a packet that cannot be read; too many close (D-130).
func (p *peer) onMalformed() {
	p.drop(counters.DropMalformed)
	p.malformed++
	if most := p.gateway.o.Limits.MalformedMax; most > 0 && p.malformed >= most {
		p.conn.Close(messages.CloseMalformed)
	}
}

// drop counts what goes no further, and logs some of it.
func (p *peer) drop(d counters.Drop) {
	p.gateway.o.Counters.Dropped.Add(d, 1)
	e := p.gateway.drops.Warn().Str("reason", d.String()).Uint64("conn_id", p.conn.ID()).Str("remote", p.ip.String())
	if att := p.handle.Attachment(); att != nil {
		e = e.Int32("peer", int32(att.Peer)).Str("player_session", att.Player.ID.Short())
	}
	e.Msg("packet dropped")
}
