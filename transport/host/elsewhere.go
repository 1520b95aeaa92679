package host

import (
	"net"
	"slices"
	"strconv"
	"time"

	"troupe/actors/cluster"
	"troupe/actors/player"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/wire"
	"troupe/transport/gateway"
)

// ownerAwayFor is how long a client waits before it asks again for a game session whose node does not answer.
const ownerAwayFor = 2 * time.Second

// rebuildMax is how long a node may take to write its game sessions to the directory again, one after the other.
const rebuildMax = 30 * time.Second

// elsewhere implements gateway.Options.Elsewhere.
func (n *clusterNode) elsewhere(id messages.PlayerSessionID) gateway.Elsewhere {
	tag, ok := coord.TagIn(id)
	if !ok {
		return gateway.Elsewhere{Over: wire.OverUnknown}
	}
	for _, fresh := range []bool{false, true} { // the cached owner may have been lost since
		at, err := n.directory.ForLogin(n.ctx, tag, fresh)
		if err != nil {
			break
		}
		if at.Owner == "" && !at.Ended {
			if n.registeredWithin(rebuildMax) || !n.self.Leased() { // etcd may have been restored
				break
			}
			if !fresh && n.registeredWithin(rebuildMax+cluster.AbsentFor) { // read while the directory was incomplete
				continue
			}
		}
		if at.Owner == "" || at.Owner == n.name { // this node would know the player session
			return gateway.Elsewhere{Over: overOf(at)}
		}
		m := n.self.View().Member(at.Owner)
		if m != nil && (m.State == cluster.Live || m.State == cluster.Adrift) && m.Players != "" {
			return gateway.Elsewhere{Endpoints: m.Players}
		}
	}
	return gateway.Elsewhere{RetryAfter: ownerAwayFor}
}

// registeredWithin reports whether a node has registered within the time d. The directory may lack its game sessions.
func (n *clusterNode) registeredWithin(d time.Duration) bool {
	return slices.ContainsFunc(n.self.View().Members, func(m cluster.Member) bool { return m.State == cluster.Live && time.Since(m.Since) < d })
}

// overOf says why nobody plays in a game session.
func overOf(at cluster.Whereabouts) wire.Over {
	switch {
	case at.Lost:
		return wire.OverHostLost
	case at.Ended:
		return wire.OverEnded
	}
	return wire.OverUnknown
}

// tellAlternates chooses the nodes that players ask when they cannot reach this node. Each node chooses the ones that
// follow its own name, so that the players of a lost node ask different ones.
func (n *clusterNode) tellAlternates(v *cluster.View) {
	var before, after []string
	for _, m := range v.Members {
		switch {
		case m.State != cluster.Live || m.Players == "" || m.Name == n.name:
		case m.Name < n.name:
			before = append(before, m.Players)
		default:
			after = append(after, m.Players)
		}
	}
	all := append(after, before...)
	all = all[:min(len(all), wire.AlternatesMax)]
	if old := n.alternates.Load(); old == nil || !slices.Equal(*old, all) {
		n.alternates.Store(&all)
	}
}

// takePlayers publishes the addresses of the listeners for players, which are open.
func (n *clusterNode) takePlayers(c *Config, l *listeners) error {
	plain, err := c.advertised(l.ws, c.Public.Host)
	if err != nil {
		return err
	}
	e, named := wire.Endpoints{WS: net.JoinHostPort(plain.IPAddress, strconv.Itoa(plain.Port))}, plain.IPAddress
	if l.certs != nil { // clients of secured channels check the name
		named = c.secureName()
	}
	if l.wss != nil {
		e.WSS = net.JoinHostPort(named, strconv.Itoa(l.wss.Addr().(*net.TCPAddr).Port))
	}
	if l.kcpUDP != nil {
		e.KCP = net.JoinHostPort(named, strconv.Itoa(int(l.kcpUDP.Port())))
	}
	n.self.SetPlayers(e.String())
	return nil
}

// playersOf returns the Alternates of a node's players, or nil if the host is not part of a cluster.
func (n *clusterNode) playersOf() *player.Alternates {
	if n == nil {
		return nil
	}
	return &n.alternates
}
