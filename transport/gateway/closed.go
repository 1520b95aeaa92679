package gateway

import (
	"sync"
	"time"

	"troupe/messages"
	"troupe/transport"
)

// closedMax bounds the connections that are remembered.
const closedMax = 1000

// closedRing remembers the connections that ended last. Safe for concurrent use.
type closedRing struct {
	mu   sync.Mutex
	all  []messages.ClosedConnection
	next int // of all, once it is full: the oldest
}

func (c *closedRing) add(one messages.ClosedConnection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) < closedMax {
		c.all = append(c.all, one)
		return
	}
	c.all[c.next] = one
	c.next = (c.next + 1) % closedMax
}

// Closed returns the connections that ended last, at most 1000, the newest first.
func (g *Gateway) Closed() []messages.ClosedConnection {
	c := &g.closed
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]messages.ClosedConnection, 0, len(c.all))
	for i := range c.all {
		all = append(all, c.all[(c.next+len(c.all)-1-i)%len(c.all)])
	}
	return all
}

// errorMax bounds the text of an error that is remembered.
const errorMax = 200

// remember keeps the end of a connection for operators, and logs it at the level debug. The caller has not ended its handle yet.
func (p *peer) remember(end transport.End) {
	one := messages.ClosedConnection{At: time.Now(), Lasted: p.gateway.clock() - p.openedAt, Transport: p.channel.String(), Address: p.conn.RemoteAddr(), Reason: reasonOf(end), By: "client"}
	switch {
	case end.ByHost != 0:
		one.By = "host"
	case end.Err != nil && !end.Clean:
		one.By = "network"
	}
	if end.Err != nil {
		one.Detail = end.Err.Error()
		one.Detail = one.Detail[:min(len(one.Detail), errorMax)]
	}
	if a := p.handle.Attachment(); a != nil {
		one.PlayerID, one.PlayerSession, one.Peer = a.Player.PlayerID, a.Player.ID, a.Player.Peer
		if end.ByHost == messages.CloseKicked {
			one.Detail = a.Player.RemovedBecause()
		}
	}
	p.gateway.closed.add(one)
	if e := p.gateway.o.Log.Debug(); e.Enabled() {
		e.Uint64("conn_id", p.conn.ID()).Stringer("remote", one.Address).Str("transport", one.Transport).Str("reason", one.Reason).Str("by", one.By).
			Uint16("code", end.Code).Str("cause", one.Detail).EmbedObject(p).Msg("connection ended")
	}
}
