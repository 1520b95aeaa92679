package peers

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	reached "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/peer"
	"troupe/transport"
)

// Client calls other nodes. It implements cluster.Peers. Its methods may be called from any goroutine.
type Client struct {
	o       Options
	ctx     context.Context // context of the attempts to connect
	cancel  context.CancelFunc
	running sync.WaitGroup // counts attempts to connect, and connections that are being closed

	mu    sync.Mutex
	links map[place]*link // nil once the client is closed
}

// place is the name and the address of a node.
type place struct{ node, addr string }

// link is a connection to a node, or an attempt to connect. The first fields are set when done is closed.
type link struct {
	calls       *grpc.ClientConn
	err         error     // why the attempt failed
	until       time.Time // time until which callers get err without a new attempt
	done        chan struct{}
	place       place
	incarnation int64
}

// NewClient returns a client that has no connections.
func NewClient(o Options) *Client {
	o.Network = cmp.Or(o.Network, transport.System)
	c := &Client{o: o, links: map[place]*link{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Close ends all calls and connections, and returns when they have ended.
func (c *Client) Close() {
	c.mu.Lock()
	links := c.links
	c.links = nil
	c.mu.Unlock()
	c.cancel()
	for _, l := range links {
		l.close()
	}
	c.running.Wait()
}

func (l *link) close() {
	<-l.done
	if l.calls != nil {
		_ = l.calls.Close()
	}
}

// Call implements cluster.Peers.
func (c *Client) Call(ctx context.Context, to coord.Node, q messages.Request) (any, error) {
	name, body, err := peer.Encode(q)
	if err != nil {
		return nil, err
	}
	if len(body) > messageMax {
		return nil, messages.Errorf(messages.Internal, "%s has %d bytes, at most %d are allowed between nodes", name, len(body), messageMax)
	}
	began := time.Now()
	var answer any
	if body, err = c.call(ctx, to, name, body); err == nil {
		answer, err = peer.DecodeAnswer(q, body)
	}
	c.o.Count.PeerLatency.Observe(time.Since(began))
	c.o.Count.PeerCalls.Add(name, outcome(err), 1)
	return answer, err
}

// outcome returns the metric label for the result of a call.
func outcome(err error) string {
	var refusal *messages.Error
	switch {
	case err == nil:
		return "answered"
	case errors.As(err, &refusal):
		return "error"
	case errors.Is(err, coord.ErrRefused):
		return "refused"
	case errors.Is(err, coord.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, coord.ErrUnknown):
		return "unknown"
	}
	return "given_up"
}

// call sends a body and returns the body of the answer. If the connection turns out to have ended before the request was
// sent, call replaces the connection and tries again, once.
func (c *Client) call(ctx context.Context, to coord.Node, name string, body []byte) (answer []byte, err error) {
	ctx = metadata.AppendToOutgoingContext(ctx, headerNode, to.Name, headerIncarnation, strconv.FormatInt(to.Incarnation, 10))
	if key := messages.ReplayKey(ctx); key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, headerReplay, key)
	}
	for again := false; ; again = true {
		l, err := c.link(ctx, to)
		if err != nil {
			return nil, err
		}
		var sent reached.Peer // remains empty if no connection was used for the request
		err = l.calls.Invoke(ctx, service+name, &body, &answer, grpc.Peer(&sent))
		if err == nil {
			return answer, nil
		}
		if sent.Addr == nil && !again && ctx.Err() == nil {
			c.forget(l)
			continue
		}
		return nil, failure(ctx, to, sent.Addr != nil, err)
	}
}

// failure converts the error of a call to an error that cluster.Peers specifies.
func failure(ctx context.Context, to coord.Node, sent bool, err error) error {
	kind := coord.ErrUnavailable
	switch code := status.Code(err); {
	case ctx.Err() != nil:
		return ctx.Err()
	case code == codes.DeadlineExceeded: // the other node noticed the deadline first
		return context.DeadlineExceeded
	case code == codes.FailedPrecondition:
		kind = coord.ErrRefused
	case code != codes.Aborted && sent:
		kind = coord.ErrUnknown
	}
	return fmt.Errorf("%w: node %s at %s: %s", kind, to.Name, to.Peers, status.Convert(err).Message())
}

// link returns a connection to a node. It waits for an attempt in progress.
func (c *Client) link(ctx context.Context, to coord.Node) (*link, error) {
	l := c.find(to)
	if l == nil {
		return nil, fmt.Errorf("%w: this node has stopped", coord.ErrUnavailable)
	}
	select {
	case <-l.done:
		return l, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// find returns the link to a node. If there is none, it starts an attempt to connect. In that case it also drops stale
// links, and links to older incarnations of the node.
func (c *Client) find(to coord.Node) *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.links == nil {
		return nil
	}
	at := place{to.Name, to.Peers}
	if l := c.links[at]; l != nil && !l.stale() {
		return l
	}
	for p, l := range c.links {
		if l.stale() || p.node == to.Name && l.incarnation < to.Incarnation {
			c.drop(l)
		}
	}
	l := &link{place: at, incarnation: to.Incarnation, done: make(chan struct{})}
	c.links[at] = l
	c.running.Go(func() {
		defer close(l.done)
		if l.calls, l.err = c.connect(l); l.err != nil {
			l.until = time.Now().Add(redialAfter)
		}
	})
	return l
}

// stale reports whether a link has failed and its error has expired.
func (l *link) stale() bool { return l.finished() && l.err != nil && !time.Now().Before(l.until) }

func (l *link) finished() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// forget drops a link whose connection has ended. It keeps a failed attempt, whose error is returned to callers until it
// expires.
func (c *Client) forget(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.links[l.place] == l && l.finished() && l.err == nil {
		c.drop(l)
	}
}

func (c *Client) drop(l *link) {
	delete(c.links, l.place)
	c.running.Go(l.close)
}

// connect makes the connection of a link, including all handshakes. The grpc.ClientConn uses only this connection and
// never dials another one.
func (c *Client) connect(l *link) (*grpc.ClientConn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, dialMax)
	defer cancel()
	conn, err := c.dial(ctx, l.place)
	if err != nil {
		kind := coord.ErrUnavailable
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errOther) {
			kind = coord.ErrRefused
		}
		return nil, fmt.Errorf("%w: node %s at %s: %w", kind, l.place.node, l.place.addr, err)
	}
	wire := &watched{Conn: conn, closed: func() { c.forget(l) }, silence: silenceMax}
	var taken atomic.Bool
	calls, err := grpc.NewClient("passthrough:///"+l.place.addr,
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			if taken.Swap(true) {
				return nil, net.ErrClosed
			}
			return wire, nil
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the connection already uses TLS
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(messageMax), grpc.MaxCallSendMsgSize(messageMax)),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window), // without the pings of an estimate at each answer
		grpc.WithIdleTimeout(unusedMax), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithNoProxy(),
	)
	if err == nil {
		if err = ready(ctx, calls); err == nil {
			return calls, nil
		}
		_ = calls.Close()
	}
	_ = conn.Close()
	return nil, fmt.Errorf("%w: node %s at %s: %w", coord.ErrUnavailable, l.place.node, l.place.addr, err)
}

// dial returns a connection to a node whose certificate has been verified.
func (c *Client) dial(ctx context.Context, at place) (net.Conn, error) {
	conn, err := c.o.Network.DialContext(ctx, "tcp", at.addr)
	if err != nil {
		return nil, err
	}
	if c.o.Certs != nil {
		secured := tls.Client(conn, c.o.Certs.client(at.node))
		if err = secured.HandshakeContext(ctx); err == nil {
			return secured, nil
		}
		if ctx.Err() == nil && !errors.Is(err, errOther) {
			err = fmt.Errorf("%w: %w", coord.ErrUntrusted, err)
		}
	} else if err = errPlain; loopback(conn.RemoteAddr()) {
		return conn, nil
	}
	_ = conn.Close()
	return nil, err
}

// ready waits for the first answer of the other side. The other side answers once it has accepted this node's
// certificate.
func ready(ctx context.Context, calls *grpc.ClientConn) error {
	calls.Connect()
	for {
		switch state := calls.GetState(); {
		case state == connectivity.Ready:
			return nil
		case state == connectivity.TransientFailure || state == connectivity.Shutdown:
			return fmt.Errorf("%w: it closed the connection", coord.ErrUntrusted)
		case !calls.WaitForStateChange(ctx, state):
			return ctx.Err()
		}
	}
}
