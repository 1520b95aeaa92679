package gateway

import (
	"troupe/actors/player"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/kcp"
)

// OpenFast implements connection.Edge: beside ws it is plain UDP, beside wss it
// is DTLS, and kcp brings its own.
func (p *peer) OpenFast(peer messages.PeerID) player.FastOffer {
	switch p.conn.Kind() {
	case transport.KCP:
		if own, ok := p.conn.(*kcp.Conn); ok {
			p.fast = counters.KCP
			return player.FastOffer{Link: own.OpenFast(p.OnFast), Channel: counters.KCP, Port: p.gateway.o.Fast.Port()} // a port is required; none is needed
		}
	case transport.WSS:
		if s := p.gateway.o.Secured; s != nil {
			p.fast = counters.DTLS
			return p.openSecured(peer)
		}
	}
	p.fast = counters.UDP
	return p.openPlain(peer)
}

func (p *peer) openPlain(peer messages.PeerID) player.FastOffer {
	pool := p.gateway.o.Fast
	a, err := pool.Open(peer, p.ip, p)
	if err != nil {
		p.noFast(err)
		return player.FastOffer{Port: pool.Port()}
	}
	restart := a.Restart
	p.restart.Store(&restart)
	return player.FastOffer{Link: a, Channel: counters.UDP, Port: a.Port()}
}

func (p *peer) openSecured(peer messages.PeerID) player.FastOffer {
	s := p.gateway.o.Secured
	offer := player.FastOffer{Channel: counters.DTLS, Port: s.Port(), Anchors: s.Anchors()}
	a, err := s.Open(peer, p.ip, p)
	if err != nil {
		p.noFast(err)
		return offer
	}
	restart := a.Restart
	p.restart.Store(&restart)
	offer.Link, offer.Token = a, a.Token()
	return offer
}

// restartFast is for a -5 that came by the WebSocket and does not claim to be a
// reliable packet: the peer hears nothing by the fast channel, and is about to shake
// hands again. Stock clients never send one.
func (p *peer) restartFast() {
	restart := p.restart.Load()
	if restart == nil {
		p.drop(counters.DropWrongChannel)
		return
	}
	(*restart)()
}

func (p *peer) noFast(err error) {
	p.gateway.o.Log.Warn().Err(err).Str("remote", p.ip.String()).Msg("no fast channel for a player")
}

// OnVerified implements fast.SecuredHandler: a lost datagram must not leave the
// client on WebSocket for ever (D-108).
func (p *peer) OnVerified(answer *wire.Frame) {
	p.conn.Send(answer)
	p.conn.Flush()
}
