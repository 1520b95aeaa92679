package gateway

import (
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/connection"
	"troupe/actors/gamesession"
	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// peer handles the input of one connection. It is the transport.Handler of the connection and the fast.Handler of its player.
type peer struct {
	// set once
	gateway  *Gateway
	conn     transport.Conn
	handle   *connection.Handle
	channel  counters.Channel
	openedAt time.Duration    // on the gateway's clock
	fast     counters.Channel // counter of the fast channel; set before that is opened

	// owned by the connection's reader
	tried     bool // a LOGIN has been read
	malformed int32
	share     roomShare

	// set before the LOGIN is passed on or refused
	unknown bool          // the player session id of the LOGIN does not exist
	readAt  time.Duration // when the LOGIN was read, on the gateway's clock

	rate   inputRate
	told   atomic.Uint64 // bit set of the drop reasons so far, so that each limit is reported only once to the game session
	beside atomic.Value  // the separate fast channel of a WebSocket; empty until it is opened
}

// ip returns the address of the peer.
func (p *peer) ip() netip.Addr { return p.conn.RemoteAddr().Addr().Unmap() }

// idMax is the maximum length of a player session id and of a reconnect token, in bytes. Valid ones have 42 or 59, and 43 bytes.
const idMax = 128

// readPauseMax is the longest single pause of a reader (reliability.md 5.1).
const readPauseMax = time.Second

// OnUnit implements transport.Handler.
func (p *peer) OnUnit(unit []byte) {
	p.handle.Busy(true)
	defer p.handle.Busy(false)
	if p.handle.Attachment() == nil {
		if _, ok := p.pace(1, len(unit)); !ok {
			return
		}
	}
	packet, err := wire.SplitUnit(unit)
	if err != nil {
		p.onMalformed()
		return
	}
	p.onPacket(packet, len(unit))
}

// OnAlive implements transport.Handler. It slows down a peer that sends too many pings.
func (p *peer) OnAlive(pong []byte) {
	if wait := p.rate.sign(&p.gateway.rates, p.gateway.clock()); wait > 0 {
		p.handle.Busy(true)
		time.Sleep(min(wait, readPauseMax))
		p.handle.Busy(false)
	}
	if pong == nil {
		p.handle.Alive()
	} else {
		p.handle.Pong(pong)
	}
}

// OnClosed implements transport.Handler.
func (p *peer) OnClosed(end transport.End) {
	p.remember(end) // records the end here, because the transport does not know the player
	p.handle.Ended(end.Clean, reasonOf(end))
}

// reasonOf returns how a connection ended, in the form that scripts get. Details of a network error are only in the log.
func reasonOf(end transport.End) string {
	switch {
	case end.ByHost != 0:
		return end.ByHost.String()
	case end.Clean:
		return "left"
	case end.Err != nil:
		return "connection_lost"
	case end.Code == 0:
		return "client_closed"
	default: // CloseReason.String would return the meaning of codes sent by the host
		return "client_closed_" + strconv.Itoa(int(end.Code))
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
		p.pace(1, size) // dropped packets count against the rate, too
		return
	}
	count := p.gateway.o.Counters
	count.MessagesIn.Add(p.channel, 1)
	count.BytesIn.Add(p.channel, int64(size))
	now, ok := p.pace(1, size)
	if !ok {
		in.Release()
		return
	}
	if in.Kind == gamesession.Application && !in.ToOnePlayer() {
		if wait := p.share.take(att.Inflow, now, size); wait > 0 {
			time.Sleep(wait) // reading stops for this peer only
		}
	}
	for err := in.PostRun(att.Session); err != nil; err = in.PostRun(att.Session) {
		if err == stage.ErrStopped {
			p.drop(counters.DropPlayerGone)
			in.Release()
			return
		}
		att.Session.AwaitRoom(readPauseMax) // reading stops: back-pressure on this peer
	}
}

// numbers handles the ack of a packet from a client that numbers packets. It reports whether the packet contains more
// than an ack. Acks are accepted only on the reliable channel, because datagrams of plain UDP can be forged.
func (p *peer) numbers(att *player.Attachment, h *wire.Header, size int) (more bool) {
	switch {
	case h.Ack != 0 && !att.Player.Out.Acked(att.Epoch, h.Ack):
	case h.RelSeq != 0, !h.Reliable, h.Command == wire.CommandLogin: // a second LOGIN is dropped (D-129)
		return true
	case h.OpCode == 0 && h.Ack != 0 && len(h.Payload) == 0 && h.Command == wire.CommandNone:
		p.pace(ackCost, size)
		return false
	}
	p.drop(counters.DropOutOfOrder)
	p.conn.Close(messages.CloseOutOfOrder)
	return false
}

// OnFast implements fast.Handler: it handles a verified packet of this peer. It must not block.
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

// inbound turns a packet into a message for the game session. It returns nil if the packet is dropped.
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
		kind = gamesession.Nothing // the game session must still process the packet's number
	}
	in := gamesession.NewInbound()
	in.From, in.Kind, in.Group, in.Reliable = att.Player, kind, group, reliable
	in.Number, in.Epoch = number, att.Epoch
	if kind == gamesession.Application {
		out := delivered(h, att.Peer)
		in.Carry(&out)
	}
	return in
}

// ackCost is what a packet that contains only an ack costs, as a fraction of a message.
const ackCost = 1.0 / 8

// pace waits until the player's rate allows a reliable packet that counts as cost messages. It returns the time on the gateway's
// clock after the wait. If the player has been over its rate for too long, pace closes the connection and returns false.
func (p *peer) pace(cost float64, size int) (now time.Duration, ok bool) {
	now = p.gateway.clock()
	wait, over := p.rate.reliable(&p.gateway.rates, now, cost, size)
	if wait == 0 {
		return now, true
	}
	if limit := p.gateway.o.Limits.TooFastFor; limit > 0 && over > limit {
		p.drop(counters.DropInboundRate)
		p.conn.Close(messages.CloseTooFast)
		return now, false
	}
	for ; wait > 0; wait -= readPauseMax {
		time.Sleep(min(wait, readPauseMax))
	}
	return p.gateway.clock(), true
}

// beforeLogin handles a LOGIN and drops everything else.
func (p *peer) beforeLogin(h *wire.Header) {
	switch {
	case h.OpCode != wire.OpLogin || h.Command != wire.CommandLogin: // RT-7
		p.drop(counters.DropBeforeLogin)
		return
	case p.tried:
		p.drop(counters.DropSecondLogin) // D-129
		return
	}
	now := time.Now()
	p.tried, p.readAt = true, now.Sub(p.gateway.started)
	l, err := wire.ParseLogin(h.Inner)
	if err != nil {
		p.onMalformed()
		return
	}
	id := messages.PlayerSessionID(l.PlayerSessionID)
	if len(h.Payload) > wire.PayloadMax {
		p.drop(counters.DropPayloadTooLarge)
	}
	var status messages.PlayerSessionStatus // 0 if the id is unknown
	if id != "" && len(id) <= idMax && len(l.ReconnectToken) <= idMax && len(h.Payload) <= wire.PayloadMax {
		status = p.gateway.o.System.PlayerSession(id)
	}
	if status == 0 {
		p.refuseUnknown(id, l.Caps)
		return
	}
	p.handle.Caps(l.Caps)
	p.conn.LoginRead()
	p.handle.LoginSeen()
	login := &player.Login{
		ID: id, Payload: append([]byte(nil), h.Payload...), From: p.handle, At: now, Pause: p.gateway.pauseOf(id, l.ReconnectToken, now),
		Caps: l.Caps, Token: l.ReconnectToken, LastReceived: l.LastReceived,
	}
	p.gateway.loginLimiter.pass(login, loginClassOf(status, l.Caps), func() { p.handle.Login(login) })
}

// refuseUnknown refuses a LOGIN with a player session id that is not valid or not known here. If another node of the
// cluster knows it, a client that can move is sent there.
func (p *peer) refuseUnknown(id messages.PlayerSessionID, caps uint64) {
	find := p.gateway.o.Elsewhere
	if find == nil {
		p.unknown = true
		p.handle.Refuse(0)
		return
	}
	p.handle.Caps(caps)
	p.handle.LoginSeen()
	switch to := find(id); {
	case to.RetryAfter > 0:
		p.handle.Refuse(to.RetryAfter)
	case to.Endpoints != "" && caps&wire.CapMoves != 0:
		p.handle.Redirect(to.Endpoints)
	default:
		p.unknown = true
		p.handle.RefuseOver(to.Over)
	}
}

// onMalformed counts a malformed packet, and closes the connection after too many.
func (p *peer) onMalformed() {
	p.drop(counters.DropMalformed)
	p.malformed++
	if most := p.gateway.o.Limits.MalformedMax; most > 0 && int(p.malformed) >= most { // D-130
		p.conn.Close(messages.CloseMalformed)
	}
}

// drop counts a dropped packet and logs some of them. The first time a player exceeds a limit, it reports that to the game session.
func (p *peer) drop(d counters.Drop) {
	p.gateway.o.Counters.Dropped.Add(d, 1)
	att := p.handle.Attachment()
	line, first := p.gateway.drops.Warn(), att != nil && p.told.Or(1<<d)&(1<<d) == 0
	if line == nil && !first {
		return
	}
	limit := p.gateway.o.Limits.exceeded(d)
	if limit != "" {
		line.Str("limit", limit)
	}
	line.Str("reason", d.String()).Uint64("conn_id", p.conn.ID()).Str("remote", p.ip().String()).EmbedObject(p).Msg("packet dropped")
	if limit != "" && first {
		att.Session.Tell(gamesession.Limited{From: att.Player, Why: d, Text: limit})
	}
}

// MarshalZerologObject adds the player to a log line, once a player has logged in.
func (p *peer) MarshalZerologObject(e *zerolog.Event) {
	if att := p.handle.Attachment(); att != nil {
		e.Str("player_id", string(att.Player.PlayerID)).Str("player_session", att.Player.ID.Short()).Int32("peer", int32(att.Peer))
	}
}
