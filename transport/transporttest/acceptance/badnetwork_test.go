package acceptance_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/memnet"
	"troupe/transport/transporttest/stock"
)

var errNoSocket = errors.New("too many open files")

// faulty is a network whose sockets fail, either when they are opened or later.
type faulty struct {
	memnet.Machine
	failAt, opened int           // number of the socket that fails, counted from 1; number of sockets so far
	slow           time.Duration // time to open a socket
	open           atomic.Int64
	broken         atomic.Bool // no connection is accepted, and datagrams are lost with an error
}

func newFaulty(t *testing.T) *faulty { return &faulty{Machine: newNetwork(t)} }

func (f *faulty) next() error {
	time.Sleep(f.slow)
	if f.opened++; f.opened == f.failAt {
		return errNoSocket
	}
	f.open.Add(1)
	return nil
}

func (f *faulty) Listen(network, address string) (net.Listener, error) {
	if err := f.next(); err != nil {
		return nil, err
	}
	l, err := f.Machine.Listen(network, address)
	return &faultyListener{Listener: l, f: f}, err
}

func (f *faulty) ListenPacket(network, address string) (transport.PacketConn, error) {
	if err := f.next(); err != nil {
		return nil, err
	}
	c, err := f.Machine.ListenPacket(network, address)
	return &faultyPackets{PacketConn: c, f: f}, err
}

type faultyListener struct {
	net.Listener
	f      *faulty
	closed atomic.Bool
}

func (l *faultyListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil && l.f.broken.Load() {
		c.Close()
		return nil, errNoSocket
	}
	return c, err
}

func (l *faultyListener) Close() error {
	if !l.closed.Swap(true) {
		l.f.open.Add(-1)
	}
	return l.Listener.Close()
}

type faultyPackets struct {
	transport.PacketConn
	f      *faulty
	closed atomic.Bool
}

func (c *faultyPackets) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	n, from, err := c.PacketConn.ReadFromUDPAddrPort(b)
	if err == nil && c.f.broken.Load() {
		return 0, netip.AddrPort{}, errNoSocket
	}
	return n, from, err
}

func (c *faultyPackets) Close() error {
	if !c.closed.Swap(true) {
		c.f.open.Add(-1)
	}
	return c.PacketConn.Close()
}

// sockets are the configuration keys of a host's listeners, in the order in which the sockets are opened.
var sockets = []string{"websocket.addr", "fast.addr", "wss.addr", "dtls.addr", "api.addr", "kcp.addr"}

// If a host cannot open one of its sockets, its start fails with an error that names the key. The sockets
// opened before are closed.
func TestAHostWithoutASocketDoesNotStart(t *testing.T) {
	for i, key := range sockets {
		bubble(t, key, func(t *testing.T) {
			f := newFaulty(t)
			f.failAt = i + 1
			c := hosttest.Config(t)
			secure(t)(&c)
			h, err := host.Start(host.Options{Config: c, Network: f})
			if err == nil {
				h.Close()
			}
			if !errors.Is(err, errNoSocket) || !strings.Contains(err.Error(), " "+key+": ") {
				t.Errorf("the host says: %v", err)
			}
			if n := f.open.Load(); n != 0 || f.opened != i+1 {
				t.Errorf("%d sockets are open of %d", n, f.opened)
			}
		})
	}
}

// If sockets open slowly, the host starts late, and players notice nothing afterwards.
func TestAHostWhoseNetworkIsSlowStartsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(t)
		f.slow = time.Minute
		begun := time.Now()
		h := startHostWith(t, secure(t), func(o *host.Options) { o.Network = f })
		if took := time.Since(begun); took != time.Duration(len(sockets))*f.slow || f.opened != len(sockets) {
			t.Errorf("it has %d sockets after %v", f.opened, took)
		}
		f.slow = 0
		p := h.fastPlayers(2, stock.Options{})
		h.talk(p[0], p[1])
		h.host.Close()
		if n := f.open.Load(); n != 0 {
			t.Errorf("%d sockets are open after the host", n)
		}
	})
}

// While a host receives no connections and no datagrams, players can still play over their WebSockets.
// Afterwards everything works again.
func TestAHostWhoseSocketsFailGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(t)
		h := startHostWith(t, nil, func(o *host.Options) { o.Network = f })
		game := h.newGame(3)
		ids := h.seats(game, 3)
		p := []*stock.Client{h.join(ids[0], stock.Options{}), h.join(ids[1], stock.Options{})}
		h.awaitFast(0, p...)
		f.broken.Store(true)
		for n := range 20 {
			if c, err := stock.Dial(h.context(), h.host.Addrs().WS, ids[2], stock.Options{Network: f}); err == nil {
				c.Kill()
				t.Fatal("somebody is accepted")
			}
			// this message is lost
			h.send(p[0], stock.Message{OpCode: 10, TargetPlayer: 2, Payload: fmt.Append(nil, n), Via: stock.ChannelUDP})
			h.talk(p[0], p[1])
			time.Sleep(time.Second)
		}
		f.broken.Store(false)
		late := h.join(ids[2], stock.Options{})
		h.awaitFast(2, late)
		h.talk(late, p[0])
		h.send(p[0], stock.Message{OpCode: 11, TargetPlayer: 3, Via: stock.ChannelUDP})
		if e := h.expect(late, stock.Op(11)); e.Channel != stock.ChannelUDP {
			t.Errorf("got %v", e)
		}
		h.gotNone(10, p[1])
		if n := h.host.Counters().Connections.Get(counters.WS); n != 3 {
			t.Errorf("%d connections", n)
		}
		h.checkReceived(p[0], p[1], late)
	})
}

// A host whose API fails reports it to the process, and stops in an orderly way.
func TestAHostWithoutItsAPISaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, said := newFaulty(t), make(chan string, 2)
		h := startHostWith(t, nil, func(o *host.Options) {
			failure(said)(o)
			o.Network = f
		})
		p := h.players(2, stock.Options{})
		f.broken.Store(true)
		h.Web.CloseIdleConnections()
		if r, err := h.Web.Get("http://" + h.host.Addrs().API + "/healthz"); err == nil {
			r.Body.Close()
			t.Error("the API answers")
		}
		synctest.Wait()
		if len(said) != 1 {
			t.Fatalf("the host said %d times that it cannot go on", len(said))
		}
		if reason := <-said; reason != "api listener failed: "+errNoSocket.Error() {
			t.Error(reason)
		}
		h.talk(p[0], p[1]) // players still play until the process stops the host
		h.host.Close()
		if n := f.open.Load(); n != 0 {
			t.Errorf("%d sockets are open after the host", n)
		}
		h.checkReceived(p...)
	})
}
