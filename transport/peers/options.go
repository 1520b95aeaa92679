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

// Options configure a Client or a Server.
type Options struct {
	Node    string            // name of this node
	Certs   *Certs            // nil means no TLS, and only loopback addresses
	Network transport.Network // nil means the system's network
	Count   *counters.Set
	Log     zerolog.Logger
}

const (
	messageMax  = 8 << 20                // maximum size of a request or an answer in bytes; a script's archive of 5,000,000 bytes is 6.7 MB in base64
	window      = 4 << 20                // maximum number of bytes of answers that are on the way to a client
	silenceMax  = 3 * time.Second        // a connection is closed when the other side has been silent for this long
	pingAfter   = time.Second            // silence after which a server pings; silenceMax leaves time for two lost pings
	dialMax     = 3 * time.Second        // maximum time to connect, including the handshakes
	redialAfter = 100 * time.Millisecond // how long callers get the error of a failed attempt without a new attempt
	unusedMax   = 10 * time.Minute       // an unused connection is closed after this time
)

// The name of a gRPC method is the name of the request, below the service. Headers identify the node, its incarnation
// and the replay key.
const (
	service           = "/troupe.Peers/"
	headerNode        = "troupe-node"
	headerIncarnation = "troupe-incarnation"
	headerReplay      = "troupe-replay-bin"
)

// errPlain is the error for a connection without TLS to an address that is not loopback.
var errPlain = errors.New("peers: without certificates only loopback addresses are allowed: set cluster.peers.ca, cert and key")

func loopback(a net.Addr) bool {
	at, err := netip.ParseAddrPort(a.String())
	return err == nil && at.Addr().IsLoopback()
}

// codec passes bodies on unchanged. Messages have type *[]byte.
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
