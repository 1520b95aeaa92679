package gateway

import (
	"troupe/actors/player"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/fast"
)

// OpenFast implements connection.Edge. A connection that carries datagrams is its own fast channel. Beside other connections the fast
// channel is DTLS if the connection is encrypted and the host serves DTLS, and plain UDP otherwise.
func (p *peer) OpenFast(peer messages.PeerID) (offer player.FastOffer) {
	var err error
	plain, secured := p.gateway.o.Fast, p.gateway.o.Secured
	if own, ok := p.conn.(transport.FastCarrier); ok {
		p.fast = p.channel
		return player.FastOffer{Link: own.OpenFast(p.OnFast), Channel: p.channel, Port: plain.Port()} // LOGIN_RESPONSE must name a port; the client does not use it
	}
	if p.conn.Channel().Encrypted() && secured != nil {
		p.fast = counters.DTLS
		offer = player.FastOffer{Channel: counters.DTLS, Port: secured.Port(), Anchors: secured.Anchors()}
		var a *fast.SecuredAssociation
		if a, err = secured.Open(peer, p); err == nil {
			p.beside.Store(a)
			offer.Link, offer.Token = a, a.Token()
		}
	} else {
		p.fast = counters.UDP
		offer = player.FastOffer{Port: plain.Port()}
		var a *fast.Association
		if a, err = plain.Open(peer, p.ip(), p); err == nil {
			p.beside.Store(a)
			offer = player.FastOffer{Link: a, Channel: counters.UDP, Port: a.Port()}
		}
	}
	if err != nil {
		p.gateway.o.Log.Warn().Err(err).Str("remote", p.ip().String()).EmbedObject(p).Msg("no fast channel for a player")
	}
	return offer
}

// restartFast handles a -5 that came over the WebSocket and is not marked reliable: the peer receives nothing on the fast channel, and is
// about to repeat the handshake. Stock clients never send one.
func (p *peer) restartFast() {
	if beside, ok := p.beside.Load().(interface{ Restart() }); ok {
		beside.Restart()
	} else {
		p.drop(counters.DropWrongChannel)
	}
}

// OnVerified implements fast.SecuredHandler: it sends the answer over the WebSocket, too, as one lost datagram would keep the client on
// it for ever.
func (p *peer) OnVerified(answer *wire.Frame) {
	p.conn.Send(answer) // D-108
	p.conn.Flush()
}
