package peers

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/mem"

	"troupe/messages/counters"
	"troupe/transport"
)

// Options are those of a Client and of a Server.
type Options struct {
	Node    string            // the name of this node
	Certs   *Certs            // nil: no TLS, and loopback addresses only
	Network transport.Network // nil: the system's
	Count   *counters.Set
	Log     zerolog.Logger
}

const (
	messageMax  = 8 << 20                // bytes of a request or an answer: a script's archive of 5,000,000 bytes is 6.7 MB in base64
	silenceMax  = 3 * time.Second        // after which the other side is given up
	pingAfter   = time.Second            // of silence a server pings; shorter than silenceMax by two lost pings
	dialMax     = 3 * time.Second        // for a connection, with its handshakes
	redialAfter = 100 * time.Millisecond // a failed attempt stands for callers that come within this time
	unusedMax   = 10 * time.Minute       // after which a connection is closed
)

// The method of a request is its name below the service. What a call is for is in headers: the node, its incarnation, and the replay key.
const (
	service           = "/troupe.Peers/"
	headerNode        = "troupe-node"
	headerIncarnation = "troupe-incarnation"
	headerReplay      = "troupe-replay-bin"
)

// errPlain is why a connection without TLS is refused.
var errPlain = errors.New("peers: without certificates only loopback addresses are allowed: set cluster.peers.ca, cert and key")

func loopback(a net.Addr) bool {
	at, err := netip.ParseAddrPort(a.String())
	return err == nil && at.Addr().IsLoopback()
}

// codec passes bodies through: messages are of type *[]byte.
type codec struct{}

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "troupe" }
