package faults

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"troupe/bench/faults/netns"
)

// Ports of a host in a namespace, where nobody else has any.
const (
	wsPort   = 33400
	wssPort  = 33401
	kcpPort  = 33402
	fastPort = 33403
	dtlsPort = 33404
)

// hostSets have the host listen in its namespace.
func hostSets() (sets []string) {
	for key, port := range map[string]int{"websocket": wsPort, "wss": wssPort, "kcp": kcpPort, "fast": fastPort, "dtls": dtlsPort} {
		sets = append(sets, key+".addr="+net.JoinHostPort(hostAddr.Addr().String(), strconv.Itoa(port)))
	}
	return append(sets, "api.auth=none") // nobody else is there
}

// namespaces is the layer of network namespaces: this process with the players is in one, the host in another, and the relay is all that is between.
type namespaces struct {
	players, host *netns.Namespace
	relay         *relay
}

// openNamespaces makes the host's namespace, and a TUN device in each. This process must be alone in a new one (netns.Start).
func openNamespaces() (_ *namespaces, err error) {
	here, err := netns.Here()
	if err != nil {
		return nil, err
	}
	host, err := netns.New()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, host.Close())
		}
	}()
	players, err := here.TUN("players", playersAddr)
	if err != nil {
		return nil, err
	}
	other, err := host.TUN("host", hostAddr)
	if err != nil {
		return nil, errors.Join(err, players.Close())
	}
	return &namespaces{players: here, host: host, relay: newRelay(players, other)}, nil
}

func (n *namespaces) close() error { return errors.Join(n.relay.close(), n.host.Close()) }

// figures are those until now.
func (n *namespaces) figures() (*Network, error) {
	c := n.relay.counts()
	f := &Network{Packets: c.carried, Dropped: c.dropped}
	for _, side := range []*netns.Namespace{n.players, n.host} {
		resent, err := side.Resent()
		if err != nil {
			return nil, fmt.Errorf("count segments: %w", err)
		}
		f.Resent += resent
	}
	return f, nil
}
