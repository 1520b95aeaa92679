package fast

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
	"troupe/transport"
)

// Options configure a Pool. The zero value has the channel switched off.
type Options struct {
	// Addr is "host:port" of the main socket. Without a host, or with [::], it listens on both families on one port; with 0.0.0.0
	// on IPv4 only. Port 0 takes any free port, here and for the further sockets.
	Addr string
	// Enabled false keeps the main port bound, announced and silent (realtime.md 7.5).
	Enabled bool
	// SameIP demands that datagrams come from the IP address of the peer's WebSocket. It is off only where a NAT sends UDP and TCP
	// from different addresses: then the peer id alone identifies a player.
	SameIP bool
	// ExtraPortsMin and ExtraPortsMax are the ports of further sockets, unless Addr has port 0; 0 is 33403 and 33500.
	ExtraPortsMin, ExtraPortsMax uint16
	// ListenPacket opens the sockets; nil: those of the operating system.
	ListenPacket func(network, address string) (transport.PacketConn, error)

	Log      zerolog.Logger
	Counters *counters.Set    // nil: counted nowhere
	Now      func() time.Time // nil: time.Now. Steps of the wall clock must not show
}

const (
	// extraSocketsMax is how many further sockets may be opened. One more, silent, is opened when they run out.
	extraSocketsMax = 64
	// queueMax is how many datagrams may wait per socket, 512 KiB at most; newer ones are dropped and counted.
	queueMax = 8192
)

// filled returns a copy in which zero values are replaced by their meaning.
func (o Options) filled() Options {
	if o.ExtraPortsMin == 0 && o.ExtraPortsMax == 0 {
		o.ExtraPortsMin, o.ExtraPortsMax = 33403, 33500
	}
	o.Counters = cmp.Or(o.Counters, new(counters.Set))
	if o.ListenPacket == nil {
		o.ListenPacket = func(_, address string) (transport.PacketConn, error) { return transport.ListenUDP(address) }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// validate reports what is wrong with filled options and splits Addr.
func (o Options) validate() (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return "", 0, fmt.Errorf("fast: address: %w", err)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("fast: port of %q: %w", o.Addr, err)
	}
	if o.ExtraPortsMin == 0 || o.ExtraPortsMin > o.ExtraPortsMax {
		return "", 0, fmt.Errorf("fast: port range %d to %d is empty", o.ExtraPortsMin, o.ExtraPortsMax)
	}
	return host, uint16(n), nil
}
