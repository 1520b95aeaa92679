package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/counters"
	"troupe/messages/peer"
	"troupe/transport"
	"troupe/transport/transporttest/memnet"
)

var _ cluster.Peers = (*Client)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// certs creates the authority of a cluster, and certificates for nodes.
func certs(t testing.TB, of string, nodes ...string) (all []*Certs) {
	t.Helper()
	dir := t.TempDir()
	if err := InitAuthority(dir, of); err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		if err := Issue(dir, node, nil); err != nil {
			t.Fatal(err)
		}
		c, err := LoadCerts(of, node, files(dir, node), zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func files(dir, node string) Files {
	return Files{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, node+".pem"), Key: filepath.Join(dir, node+".key")}
}

// machine is the network as one machine sees it.
type machine struct {
	memnet.Machine
	addr netip.Addr
}

func (m machine) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return m.Dial(ctx, network, m.addr, address)
}

// process is a running server.
type process struct {
	*Server
	addr string
	stop func()
}

func start(t testing.TB, o Options, d messages.Doer, addr string, incarnation int64) *process {
	t.Helper()
	l, err := o.Network.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(o, d)
	s.SetIncarnation(incarnation)
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.Serve(l); err != nil {
			t.Error(err)
		}
	})
	p := &process{s, l.Addr().String(), sync.OnceFunc(func() { s.Close(); served.Wait() })}
	t.Cleanup(p.stop)
	return p
}

func client(t testing.TB, o Options) *Client {
	c := NewClient(o)
	t.Cleanup(c.Close)
	return c
}

// setting contains the options of nodes a, b and c and of a stranger. Either each has its certificate, or none has one.
type setting struct {
	a, b, c, stranger Options
}

func settings(t testing.TB, network func(node byte) transport.Network, secure bool) (s setting) {
	for i, o := range []*Options{&s.a, &s.b, &s.c, &s.stranger} {
		*o = Options{Node: string("abcx"[i]), Network: network(byte(i + 1)), Count: new(counters.Set), Log: zerolog.Nop()}
	}
	if secure {
		all := certs(t, "prod", "a", "b", "c")
		s.a.Certs, s.b.Certs, s.c.Certs = all[0], all[1], all[2]
		all = certs(t, "prod", "a") // the same names, signed by another authority
		s.stranger.Certs = all[0]
		s.stranger.Certs.now.roots = s.a.Certs.now.roots
	}
	return s
}

// newPlace creates the environment for the conformance checks of Peers.
func newPlace(t *testing.T, s setting, addr string, d messages.Doer) *clustertest.PeerPlace {
	now := start(t, s.b, d, addr, 7)
	b := coord.Node{Name: "b", Peers: now.addr, Incarnation: 7}
	p := &clustertest.PeerPlace{
		A: client(t, s.a), B: b,
		Begin:  func(i int64) { now.stop(); now = start(t, s.b, d, b.Peers, i) },
		Become: func(i int64) { now.SetIncarnation(i) },
		Stop:   func() { now.stop() },
		Other:  func() { now.stop(); now = start(t, s.c, d, b.Peers, 7) },
		Refused: func() int64 {
			return s.b.Count.PeersRefused.Total()
		},
	}
	if s.stranger.Certs != nil {
		p.Stranger = client(t, s.stranger)
	}
	return p
}

// virtual runs a test in virtual time on a network in memory. The nodes have addresses 10.0.0.1 to 10.0.0.4.
func virtual(t *testing.T, secure bool, f func(t *testing.T, n *memnet.Network, s setting)) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		t.Cleanup(n.Close)
		f(t, n, settings(t, func(node byte) transport.Network { return machine{n.Machine(), at(node)} }, secure))
	})
}

func at(node byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, node}) }

const addrB = "10.0.0.2:33480"

// All checks, with TLS and in virtual time.
func TestConformance(t *testing.T) {
	for _, c := range clustertest.PeerChecks() {
		t.Run(c.Name, func(t *testing.T) {
			virtual(t, true, func(t *testing.T, n *memnet.Network, s setting) {
				c.Run(t, func(t *testing.T, d messages.Doer) *clustertest.PeerPlace {
					p := newPlace(t, s, addrB, d)
					p.Cut = func(requests, answers bool) {
						n.Path(at(1), at(2)).Block(requests)
						n.Path(at(2), at(1)).Block(answers)
					}
					return p
				})
			})
		})
	}
}

type doer func(ctx context.Context, q messages.Request) (any, error)

func (d doer) Do(ctx context.Context, q messages.Request) (any, error) { return d(ctx, q) }

var nothing = doer(func(context.Context, messages.Request) (any, error) { return nil, nil })

func node(name, addr string) coord.Node { return coord.Node{Name: name, Peers: addr, Incarnation: 7} }

func hello(t testing.TB, c *Client, to coord.Node) error {
	_, err := c.Call(t.Context(), to, coord.Hello{})
	return err
}

func wants(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// CL-30: one caller has no certificate, one has a certificate of another cluster, and one has a certificate that names no
// node. Each is refused and counted. No caller concludes that the node is gone.
func TestStrangers(t *testing.T) {
	virtual(t, true, func(t *testing.T, n *memnet.Network, s setting) {
		asked := 0
		b := start(t, s.b, doer(func(context.Context, messages.Request) (any, error) { asked++; return nil, nil }), addrB, 7)
		shows := func(own tls.Certificate) *Certs {
			c := s.a.Certs
			return &Certs{files: c.files, times: c.times, now: &credentials{cluster: c.now.cluster, roots: c.now.roots, own: own}}
		}
		test := shows(certs(t, "test", "a")[0].now.own)
		for i, c := range []*Certs{shows(tls.Certificate{}), test, shows(hostCert(t))} {
			o := s.a
			o.Certs = c
			err := hello(t, client(t, o), node("b", b.addr))
			wants(t, "a stranger", err, coord.ErrUnavailable)
			wants(t, "a stranger", err, coord.ErrUntrusted)
			if n := s.b.Count.PeersRefused.Get(counters.PeerCertificate); n != int64(i+1) {
				t.Errorf("%d were counted", n)
			}
		}
		// In the other direction, the listener is not a node of this cluster.
		o := s.c
		o.Certs = test
		o.Node = "b"
		b.stop()
		start(t, o, nothing, addrB, 7)
		err := hello(t, client(t, s.a), node("b", addrB))
		wants(t, "a strange server", err, coord.ErrUnavailable)
		wants(t, "a strange server", err, coord.ErrUntrusted)
		if asked != 0 {
			t.Errorf("b was asked %d times", asked)
		}
	})
}

// CL-30: the certificate determines the identity of a node, regardless of what the node claims in headers.
func TestImpostor(t *testing.T) {
	virtual(t, true, func(t *testing.T, n *memnet.Network, s setting) {
		o := s.c
		o.Node = "b"
		start(t, o, doer(func(context.Context, messages.Request) (any, error) { t.Error("c was asked"); return nil, nil }), addrB, 7)
		err := hello(t, client(t, s.a), node("b", addrB))
		wants(t, "c at the address of b", err, coord.ErrRefused)
		wants(t, "c at the address of b", err, errOther)
	})
}

// A connection that has ended unnoticed is replaced.
func TestEndedConnection(t *testing.T) {
	virtual(t, true, func(t *testing.T, n *memnet.Network, s setting) {
		start(t, s.b, nothing, addrB, 7)
		a, b := client(t, s.a), node("b", addrB)
		wants(t, "the first call", hello(t, a, b), nil)
		l := a.find(b)
		_ = l.calls.Close()
		synctest.Wait()
		a.mu.Lock()
		a.links[l.place] = l
		a.mu.Unlock()
		wants(t, "the next call", hello(t, a, b), nil)
	})
}

func TestFailures(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		code codes.Code
		sent bool
		want error
	}{
		{t.Context(), codes.Unavailable, false, coord.ErrUnavailable}, {t.Context(), codes.Unavailable, true, coord.ErrUnknown},
		{t.Context(), codes.Canceled, false, coord.ErrUnavailable}, {t.Context(), codes.Canceled, true, coord.ErrUnknown},
		{t.Context(), codes.Internal, true, coord.ErrUnknown}, {t.Context(), codes.ResourceExhausted, true, coord.ErrUnknown},
		{t.Context(), codes.FailedPrecondition, true, coord.ErrRefused}, {t.Context(), codes.Aborted, true, coord.ErrUnavailable},
		{t.Context(), codes.DeadlineExceeded, true, context.DeadlineExceeded}, {over, codes.Unavailable, true, context.Canceled},
	} {
		wants(t, fmt.Sprint(c.code, c.sent), failure(c.ctx, node("b", addrB), c.sent, status.Error(c.code, "text")), c.want)
	}
}

// hostCert returns a certificate that the cluster's authority has signed and that names no node.
func hostCert(t *testing.T) tls.Certificate {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(InitAuthority(dir, "other"), Issue(dir, "a", []string{"a.example"})); err != nil {
		t.Fatal(err)
	}
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "a.pem"), filepath.Join(dir, "a.key"))
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// counting counts the connections that are made.
type counting struct {
	transport.Network
	dialled atomic.Int64
	open    atomic.Int64
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

func (c *counting) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c.dialled.Add(1)
	conn, err := c.Network.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.open.Add(1)
	return &countedConn{conn, sync.OnceFunc(func() { c.open.Add(-1) })}, nil
}

func (c *counting) want(t *testing.T, what string, dialled, open int64) {
	t.Helper()
	if d, o := c.dialled.Load(), c.open.Load(); d != dialled || o != open {
		t.Errorf("%s: %d connections made, %d open, want %d and %d", what, d, o, dialled, open)
	}
}

// One connection serves all callers. It is closed when there has been no call for ten minutes, or when the node has a
// newer process at another address.
func TestConnections(t *testing.T) {
	virtual(t, true, func(t *testing.T, n *memnet.Network, s setting) {
		count := &counting{Network: s.a.Network}
		s.a.Network = count
		start(t, s.b, nothing, addrB, 7)
		a, b := client(t, s.a), node("b", addrB)
		calls := func() {
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() { wants(t, "a call", hello(t, a, b), nil) })
			}
			all.Wait()
		}
		calls()
		count.want(t, "twenty callers", 1, 1)
		time.Sleep(unusedMax - time.Second)
		calls()
		count.want(t, "in use", 1, 1)
		time.Sleep(unusedMax - time.Second)
		count.want(t, "not used for long", 1, 1)
		time.Sleep(unusedMax + 2*time.Second) // unused connections are checked once per unusedMax
		count.want(t, "not used for too long", 1, 0)
		calls()
		count.want(t, "in use again", 2, 1)

		const elsewhere = "10.0.0.2:33481"
		start(t, s.b, nothing, elsewhere, 8)
		moved := b
		moved.Peers, moved.Incarnation = elsewhere, 8
		wants(t, "the newer process", hello(t, a, moved), nil)
		synctest.Wait()
		count.want(t, "a newer process elsewhere", 3, 1)
		a.Close()
		count.want(t, "after Close", 3, 0)
		wants(t, "after Close", hello(t, a, b), coord.ErrUnavailable)
	})
}

// Callers of a node that is gone do not each make their own attempt to connect.
func TestRedial(t *testing.T) {
	virtual(t, true, func(t *testing.T, n *memnet.Network, s setting) {
		count := &counting{Network: s.a.Network}
		s.a.Network = count
		a, b := client(t, s.a), node("b", addrB)
		for range 100 {
			wants(t, "nobody listens", hello(t, a, b), coord.ErrRefused)
			time.Sleep(10 * time.Millisecond)
		}
		count.want(t, "a second of calls", 10, 0)
		start(t, s.b, nothing, addrB, 7)
		time.Sleep(redialAfter)
		wants(t, "it is there", hello(t, a, b), nil)
		o := s.a
		o.Certs = s.stranger.Certs
		x := client(t, o)
		count.dialled.Store(0)
		for range 10 {
			wants(t, "a stranger", hello(t, x, b), coord.ErrUnavailable)
		}
		count.want(t, "a stranger's calls", 1, 1)
	})
}

// A connection without calls stays open, because the client receives the server's pings. This also holds while the
// client sends all the time and the server sends nothing else.
func TestQuiet(t *testing.T) {
	virtual(t, true, func(t *testing.T, n *memnet.Network, s setting) {
		count := &counting{Network: s.a.Network}
		s.a.Network = count
		var waiting atomic.Int64
		start(t, s.b, doer(func(ctx context.Context, q messages.Request) (any, error) {
			waiting.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}), addrB, 7)
		a, b := client(t, s.a), node("b", addrB)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				_, err := a.Call(ctx, b, messages.AwaitRoom{})
				wants(t, "a call that waits", err, context.Canceled)
			})
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(5 * time.Minute)
		count.want(t, "calls that wait", 1, 1)
		if n := waiting.Load(); n != 100 {
			t.Errorf("%d calls wait", n)
		}
		cancel()
		all.Wait()
	})
}

// A server at its limit refuses calls and connections, counts them, and does not read the refused requests.
func TestFull(t *testing.T) {
	virtual(t, true, func(t *testing.T, n *memnet.Network, s setting) {
		b := start(t, s.b, doer(func(ctx context.Context, q messages.Request) (any, error) {
			if _, waits := q.(messages.AwaitRoom); waits {
				<-ctx.Done()
			}
			return nil, ctx.Err()
		}), addrB, 7)
		b.calls = make(chan struct{}, 2)
		a, to := client(t, s.a), node("b", b.addr)
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for range 2 {
			waiting.Go(func() { _, _ = a.Call(ctx, to, messages.AwaitRoom{}) })
		}
		synctest.Wait()
		for range 3 {
			wants(t, "a full server", hello(t, a, to), coord.ErrUnavailable)
		}
		cancel()
		waiting.Wait()
		synctest.Wait()
		wants(t, "a server with room", hello(t, a, to), nil)
		if n := s.b.Count.PeersRefused.Get(counters.PeerFull); n != 3 {
			t.Errorf("%d were counted", n)
		}

		// Silent connections of strangers are closed and do not accumulate.
		var strangers []net.Conn
		for range connsMax + 10 {
			c, err := s.c.Network.DialContext(t.Context(), "tcp", addrB)
			if err != nil {
				t.Fatal(err)
			}
			strangers = append(strangers, c)
			synctest.Wait()
		}
		if n := s.b.Count.PeersRefused.Get(counters.PeerFull); n != 3+11 {
			t.Errorf("%d were counted", n)
		}
		wants(t, "a connection that was there", hello(t, a, to), nil)
		time.Sleep(dialMax + time.Second)
		wants(t, "a new connection", hello(t, client(t, s.a), to), nil)
		for _, c := range strangers {
			_ = c.Close()
		}
	})
}

// A request that is unknown or malformed, for example from a node of another version, is answered with an error. A request
// that is too large fails without an answer.
func TestOddCalls(t *testing.T) {
	virtual(t, true, func(t *testing.T, n *memnet.Network, s setting) {
		start(t, s.b, nothing, addrB, 7)
		a, b := client(t, s.a), node("b", addrB)
		send := func(name string, body []byte) error {
			answer, err := a.call(t.Context(), b, name, body)
			if err == nil {
				_, err = peer.DecodeAnswer(coord.Hello{}, answer)
			}
			return err
		}
		for name, body := range map[string]string{"FreezeGame": "{}", "a/b": "", "DeleteFleet": "no JSON"} {
			err := send(name, []byte(body))
			if wants(t, name, err, &messages.Error{Code: messages.Internal}); !strings.Contains(err.Error(), name) {
				t.Error(err)
			}
		}
		err := send("Hello", make([]byte, messageMax+1))
		wants(t, "too many bytes", err, coord.ErrUnknown)
		wants(t, "the next call", hello(t, a, b), nil)
	})
}

// Calls are counted by request and outcome.
func TestCounts(t *testing.T) {
	virtual(t, true, func(t *testing.T, n *memnet.Network, s setting) {
		start(t, s.b, doer(func(_ context.Context, q messages.Request) (any, error) {
			return nil, messages.Errorf(messages.NotFound, "none")
		}), addrB, 7)
		a := client(t, s.a)
		_ = hello(t, a, node("b", addrB))
		_ = hello(t, a, node("c", addrB))
		_ = hello(t, a, node("b", "10.0.0.2:1"))
		got := map[string]int64{}
		s.a.Count.PeerCalls.All(func(method, outcome string, n int64) { got[method+" "+outcome] = n })
		if len(got) != 2 || got["Hello error"] != 1 || got["Hello refused"] != 2 {
			t.Error(got)
		}
		if n, _, _ := s.a.Count.PeerLatency.Snapshot(); n != 3 {
			t.Errorf("%d durations", n)
		}
	})
}

// Without certificates, only loopback addresses are served and called.
func TestPlaintext(t *testing.T) {
	virtual(t, false, func(t *testing.T, n *memnet.Network, s setting) {
		s.a.Network, s.b.Network = n.Machine(), n.Machine()
		for _, addr := range []string{"127.0.0.1:1", "[::1]:1"} {
			b := start(t, s.b, nothing, addr, 7)
			wants(t, addr, hello(t, client(t, s.a), node("b", addr)), nil)
			wants(t, "another name", hello(t, client(t, s.a), node("c", addr)), coord.ErrRefused)
			b.stop()
		}
		l, err := s.b.Network.Listen("tcp", "10.0.0.2:1")
		if err != nil {
			t.Fatal(err)
		}
		wants(t, "a server", NewServer(s.b, nothing).Serve(l), errPlain)
		l, err = s.b.Network.Listen("tcp", "10.0.0.2:1")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		err = hello(t, client(t, s.a), node("b", "10.0.0.2:1"))
		wants(t, "a client", err, errPlain)
		wants(t, "a client", err, coord.ErrUnavailable)
	})
}
