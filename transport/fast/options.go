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

// Options configure a Pool. With the zero value the channel is disabled.
type Options struct {
	// Addr is "host:port" of the main socket. Without a host, or with [::], one port serves IPv4 and IPv6; with 0.0.0.0
	// only IPv4. Port 0 means any free port, also for the extra sockets.
	Addr string
	// Enabled enables the channel. If it is false, the main port is bound and announced, but never answers (realtime.md 7.5).
	Enabled bool
	// SameIP requires that datagrams come from the IP address of the peer's WebSocket. Switch it off only if a NAT
	// sends UDP and TCP from different addresses: then the peer id alone identifies a player.
	SameIP bool
	// ExtraPortsMin and ExtraPortsMax are the range of ports for extra sockets, unless Addr has port 0. If
	// both are 0, the range is 33403 to 33500.
	ExtraPortsMin, ExtraPortsMax uint16
	// ListenPacket opens the sockets. If nil, the operating system's are used.
	ListenPacket func(network, address string) (transport.PacketConn, error)

	Log      zerolog.Logger
	Counters *counters.Set    // nil for a private Set
	Now      func() time.Time // nil for time.Now; it must be monotonic
}

const (
	// extraSocketsMax is how many extra sockets may be opened. When they are used up, one more is opened, which only discards input.
	extraSocketsMax = 64
	// queueMax is how many datagrams a socket may queue, at most 512 KiB. Further ones are dropped and counted.
	queueMax = 8192
)

// filled returns a copy of o in which zero values are replaced by the defaults.
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

// validate checks filled options and splits Addr.
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
