package gateway

import (
	"slices"
	"sync"
	"time"

	"troupe/messages"
	"troupe/transport"
)

// closedMax is how many ended connections are remembered.
const closedMax = 1000

// closedList remembers the connections that ended last, oldest first. It is safe for concurrent use.
type closedList struct {
	mu  sync.Mutex
	all []messages.ClosedConnection
}

func (c *closedList) add(one messages.ClosedConnection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all[max(0, len(c.all)+1-closedMax):], one)
}

// Closed returns the connections that ended last, newest first. There are at most 1000.
func (g *Gateway) Closed() []messages.ClosedConnection {
	g.closed.mu.Lock()
	all := slices.Clone(g.closed.all)
	g.closed.mu.Unlock()
	slices.Reverse(all)
	return all
}

// errorMax is how many bytes of an error's text are remembered.
const errorMax = 200

// remember records the end of a connection for operators, and logs it at debug level. It is called before handle.Ended.
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
