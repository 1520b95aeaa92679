package wire

import (
	"net"
	"strconv"
	"strings"
)

// Endpoints are the addresses at which a node of a cluster accepts players, each as host:port. An empty one means that
// the node does not offer that transport.
type Endpoints struct{ WS, WSS, KCP string }

const (
	// EndpointsMax is the maximum length of the text of Endpoints, in bytes. Three of the longest DNS names fit.
	EndpointsMax = 1024
	// AlternatesMax is the maximum number of LoginResult.Alternates. Parsing drops further ones.
	AlternatesMax = 3
)

// String returns the form in LoginResult, such as "ws=127.0.0.1:1900 kcp=a.example:33402". It is "" if e is empty.
func (e Endpoints) String() string {
	var all []string
	for _, one := range []struct{ name, addr string }{{"ws=", e.WS}, {"wss=", e.WSS}, {"kcp=", e.KCP}} {
		if one.addr != "" {
			all = append(all, one.name+one.addr)
		}
	}
	return strings.Join(all, " ")
}

// ParseEndpoints parses the result of String. It ignores transports that it does not know. If the text is too long, has
// an address that is not host:port, or no known transport, the error is ErrEndpoints.
func ParseEndpoints(text string) (e Endpoints, err error) {
	if len(text) > EndpointsMax {
		return Endpoints{}, ErrEndpoints
	}
	for one := range strings.FieldsSeq(text) {
		name, addr, _ := strings.Cut(one, "=")
		to := map[string]*string{"ws": &e.WS, "wss": &e.WSS, "kcp": &e.KCP}[name]
		if to == nil {
			continue
		}
		host, port, err := net.SplitHostPort(addr)
		if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 || host == "" {
			return Endpoints{}, ErrEndpoints
		}
		*to = addr
	}
	if e == (Endpoints{}) {
		return e, ErrEndpoints
	}
	return e, nil
}
