package gateway

import (
	"troupe/actors/player"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/fast"
)

// OpenFast implements connection.Edge. A connection that carries datagrams provides the fast channel itself. For other
// connections, the fast channel is DTLS if the connection is encrypted and the host serves DTLS, otherwise plain UDP.
func (p *peer) OpenFast(peer messages.PeerID) (offer player.FastOffer) {
	var err error
	plain, secured := p.gateway.o.Fast, p.gateway.o.Secured
	if own, ok := p.conn.(transport.FastCarrier); ok {
		p.fast = p.channel
		// LOGIN_RESPONSE must name a port, although the client does not use it.
		return player.FastOffer{Link: own.OpenFast(p.OnFast), Channel: p.channel, Port: plain.Port()}
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

// restartFast handles a -5 that came over the WebSocket and is not marked reliable. It means that the peer receives
// nothing on the fast channel and will repeat the handshake. Stock clients never send one.
func (p *peer) restartFast() {
	if beside, ok := p.beside.Load().(interface{ Restart() }); ok {
		beside.Restart()
	} else {
		p.drop(counters.DropWrongChannel)
	}
}

// OnVerified implements fast.SecuredHandler. It sends the answer over the WebSocket as well. Otherwise the loss of one
// datagram would keep the client on the WebSocket for ever.
func (p *peer) OnVerified(answer *wire.Frame) {
	p.conn.Send(answer) // D-108
	p.conn.Flush()
}
