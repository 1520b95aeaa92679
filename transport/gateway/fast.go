package gateway

import (
	"troupe/actors/player"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// OpenFast implements connection.Edge. A connection that carries datagrams is its own
// fast channel. Beside other connections the fast channel is DTLS if the connection is
// encrypted and the host serves DTLS, and plain UDP otherwise.
func (p *peer) OpenFast(peer messages.PeerID) player.FastOffer {
	if own, ok := p.conn.(transport.FastCarrier); ok {
		p.fast = p.channel
		return player.FastOffer{Link: own.OpenFast(p.OnFast), Channel: p.channel, Port: p.gateway.o.Fast.Port()} // LOGIN_RESPONSE must name a port; the client does not use it
	}
	if p.conn.Kind().Encrypted() && p.gateway.o.Secured != nil {
		p.fast = counters.DTLS
		return p.openSecured(peer)
	}
	p.fast = counters.UDP
	return p.openPlain(peer)
}

func (p *peer) openPlain(peer messages.PeerID) player.FastOffer {
	pool := p.gateway.o.Fast
	a, err := pool.Open(peer, p.ip(), p)
	if err != nil {
		p.noFast(err)
		return player.FastOffer{Port: pool.Port()}
	}
	p.beside.Store(a)
	return player.FastOffer{Link: a, Channel: counters.UDP, Port: a.Port()}
}

func (p *peer) openSecured(peer messages.PeerID) player.FastOffer {
	s := p.gateway.o.Secured
	offer := player.FastOffer{Channel: counters.DTLS, Port: s.Port(), Anchors: s.Anchors()}
	a, err := s.Open(peer, p.ip(), p)
	if err != nil {
		p.noFast(err)
		return offer
	}
	p.beside.Store(a)
	offer.Link, offer.Token = a, a.Token()
	return offer
}

// restartFast handles a -5 that came over the WebSocket and is not marked reliable: the peer
// receives nothing on the fast channel, and is about to repeat the handshake. Stock clients
// never send one.
func (p *peer) restartFast() {
	beside, ok := p.beside.Load().(interface{ Restart() })
	if !ok {
		p.drop(counters.DropWrongChannel)
		return
	}
	beside.Restart()
}

func (p *peer) noFast(err error) {
	p.gateway.o.Log.Warn().Err(err).Str("remote", p.ip().String()).EmbedObject(p).Msg("no fast channel for a player")
}

// OnVerified implements fast.SecuredHandler: it sends the answer over the WebSocket, too.
// Otherwise one lost datagram would keep the client on WebSocket for ever.
func (p *peer) OnVerified(answer *wire.Frame) {
	p.conn.Send(answer) // D-108
	p.conn.Flush()
}
