package fast

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

func TestTwoGameSessionsOneIP(t *testing.T) {
	h := newHost(t, nil)
	a, inA := h.open(1, local)
	b, inB := h.open(1, local)
	if a.Port() == b.Port() {
		t.Fatal("one port for two peers that look the same")
	}
	ca, cb := h.confirm(a, "127.0.0.1"), h.confirm(b, "127.0.0.1")
	for n := range int32(20) { // RL-11: each payload names its recipient
		send(a, "for a")
		send(b, "for b")
		ca.message("for a", n+1)
		cb.message("for b", n+1)
		ca.data("from a")
		cb.data("from b")
		if got := inA.next(t); string(got.Payload) != "from a" {
			t.Fatalf("a got %q", got.Payload)
		}
		if got := inB.next(t); string(got.Payload) != "from b" {
			t.Fatalf("b got %q", got.Payload)
		}
	}
	// A client that sends to the other's port has a wrong address there.
	ca.to = netip.AddrPortFrom(local, b.Port())
	ca.data("stray")
	h.dropped(counters.DropFastWrongAddress, 1)
	inB.empty(t)
}

func TestPlacesAreReused(t *testing.T) {
	h := newHost(t, nil)
	main, _ := h.open(1, local)
	extra, _ := h.open(1, local)
	other, _ := h.open(1, local.Next()) // another IP is another key
	two, _ := h.open(2, local)
	if main.Port() != h.Port() || other.Port() != h.Port() || two.Port() != h.Port() || extra.Port() == h.Port() {
		t.Fatal("not the first socket with a free place")
	}
	main.Close()
	main.Close()
	again, _ := h.open(1, local)
	if again.Port() != h.Port() {
		t.Fatal("a closed place is not free")
	}
	main.Close() // closes the earlier association again
	if st := h.Stats(); st.Associations != 4 || st.Sockets != 2 {
		t.Fatalf("%+v", st)
	}
	h.confirm(again, "127.0.0.1")
}

// A reader that found the association just before Close must not deliver to it.
func TestCloseBetweenFindAndReceive(t *testing.T) {
	p, conn := quietPool(t, nil)
	in := make(inbox, 1)
	a, err := p.Open(1, local, in)
	if err != nil {
		t.Fatal(err)
	}
	p.main.handle(clientAddr(1), wire.AppendUDPConnect(nil, 1, 0))
	conn.drain(p.main)
	a.Close()
	for _, h := range []wire.Header{{OpCode: 7, Sequence: 1}, {OpCode: wire.OpUDPConnect, Sequence: 2}} {
		a.receive(clientAddr(1), &h, nil, 100, p.now())
	}
	conn.drain(p.main)
	in.empty(t)
	if a.Ready() || len(conn.written) != 1 || p.opt.Counters.Dropped.Get(counters.DropFastUnknownSender) != 2 {
		t.Fatal("alive after Close")
	}
}

// When the sockets run out, a peer stays on WebSocket. Its handshakes go to a port where they disturb no other peer.
func TestNoPlaceLeft(t *testing.T) {
	h := newHost(t, nil)
	h.socketsMax = 3
	var placed []*Association
	for range 3 {
		a, _ := h.open(1, local)
		placed = append(placed, a)
	}
	owner := h.confirm(placed[0], "127.0.0.1")
	late, in := h.open(1, local)
	for _, a := range placed {
		if late.Port() == a.Port() || late.Port() == 0 {
			t.Fatalf("announced %d", late.Port())
		}
	}
	c := h.client("127.0.0.1", late.Port(), 1)
	c.seq = owner.seq
	c.connect()
	h.dropped(counters.DropFastOff, 1)
	owner.data("x")
	if late.Ready() || !placed[0].Ready() || send(late, "x") {
		t.Fatal("the late one disturbs")
	}
	in.empty(t)
	if st := h.Stats(); st.Sockets != 3 || st.Associations != 3 || late.sock != nil {
		t.Fatalf("%+v", st)
	}
	late.Close()
	more, _ := h.open(1, local)
	if more.Port() != late.Port() {
		t.Fatal("another silent port")
	}
}

func TestNoAddressNoPlace(t *testing.T) {
	h := newHost(t, nil)
	a, _ := h.open(1, netip.Addr{})
	if a.Ready() || a.Port() == 0 || a.Port() == h.Port() {
		t.Fatal("a peer without an address has a place")
	}
}

func TestPortRange(t *testing.T) {
	// A range of three ports: one is in use by another program, and one becomes the silent one.
	opt := defaults()
	opt.Addr, opt.ExtraPortsMin, opt.ExtraPortsMax = "127.0.0.1:5", 10, 12
	opt.Now = new(clock).now
	var tried []string
	opt.ListenPacket = func(network, address string) (transport.PacketConn, error) {
		tried = append(tried, network+" "+address)
		if strings.HasSuffix(address, ":10") || len(tried) > 4 {
			return nil, errors.New("in use")
		}
		return &fakeConn{closed: make(chan struct{})}, nil
	}
	p, err := Listen(opt)
	if err != nil {
		t.Fatal(err)
	}
	unplaced := 0
	for range 10 {
		a, err := p.Open(1, local, inbox(nil))
		if err != nil {
			t.Fatal(err)
		}
		if a.sock == nil {
			unplaced++
		}
	}
	st := p.Stats()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := "[udp 127.0.0.1:5 udp 127.0.0.1:10 udp 127.0.0.1:11 udp 127.0.0.1:12 " + // main, silent, one more
		"udp 127.0.0.1:10 udp 127.0.0.1:11 udp 127.0.0.1:12]" // then none is free; the next attempt follows after 10 s
	if got := fmt.Sprint(tried); got != want {
		t.Fatalf("tried %v, want %v", got, want)
	}
	if st.Sockets != 2 || unplaced != 8 || p.muted == nil {
		t.Fatalf("%+v", st)
	}
}

func TestPortRangeAtTheEnd(t *testing.T) {
	p := &Pool{opt: Options{ExtraPortsMin: 65534, ExtraPortsMax: 65535}, next: 65534}
	var tried []string
	p.opt.ListenPacket = func(_, address string) (transport.PacketConn, error) {
		tried = append(tried, address)
		return nil, errors.New("in use")
	}
	if _, err := p.bindFurther(); err == nil || fmt.Sprint(tried) != "[:65534 :65535]" {
		t.Fatal(err, tried)
	}
}

func TestOptions(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.Addr = "nowhere" },
		func(o *Options) { o.Addr = ":http" },
		func(o *Options) { o.Addr = ":70000" },
		func(o *Options) { o.ExtraPortsMin, o.ExtraPortsMax = 5, 4 },
		func(o *Options) { o.ExtraPortsMin = 0 },
	} {
		opt := defaults()
		change(&opt)
		if p, err := Listen(opt); err == nil {
			_ = p.Close()
			t.Errorf("accepted %+v", opt)
		}
	}
	if o := (Options{}).filled(); o.Enabled || o.Now == nil || o.Counters == nil || o.ExtraPortsMax != 33500 {
		t.Errorf("filled %+v", o)
	}
}

func TestListenOnATakenPort(t *testing.T) {
	h := newHost(t, nil)
	opt := defaults()
	opt.Addr, opt.ListenPacket = netip.AddrPortFrom(local, h.Port()).String(), h.net.ListenPacket
	if p, err := Listen(opt); err == nil {
		_ = p.Close()
		t.Fatal("no error")
	} else if oe := new(net.OpError); !errors.As(err, &oe) {
		t.Fatalf("not wrapped: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	h := newHost(t, nil)
	for _, peer := range []messages.PeerID{0, -1} {
		if _, err := h.Open(peer, local, inbox(nil)); !errors.Is(err, ErrPeer) {
			t.Fatal(err)
		}
	}
	a, _ := h.open(1, local)
	h.confirm(a, "127.0.0.1")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if a.Ready() || send(a, "x") {
		t.Fatal("alive after Close of the pool")
	}
	a.Close()
	if _, err := h.Open(1, local, inbox(nil)); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

// All methods are called concurrently, for the race detector.
func TestConcurrentUse(t *testing.T) {
	h := newHost(t, nil)
	var wg sync.WaitGroup
	for peer := messages.PeerID(1); peer <= 4; peer++ {
		wg.Go(func() {
			for range 10 {
				a, err := h.Open(peer, local, discardAll{})
				if err != nil {
					t.Error(err)
					return
				}
				conn, err := h.net.DialContext(t.Context(), "udp4", netip.AddrPortFrom(local, a.Port()).String())
				if err != nil {
					t.Error(err)
					return
				}
				var senders sync.WaitGroup
				for range 2 {
					senders.Go(func() {
						for range 20 {
							send(a, "x")
							a.Ready()
							a.Addr()
						}
					})
				}
				for _, unit := range [][]byte{wire.AppendUDPConnect(nil, int32(peer), 0), wire.AppendClientAck(nil, int32(peer), 1), message(int32(peer), 2, "x")} {
					if _, err := conn.Write(unit); err != nil {
						t.Error(err)
					}
				}
				senders.Wait()
				a.Close()
				_ = conn.Close()
			}
		})
	}
	wg.Wait()
	if st := h.Stats(); st.Associations != 0 {
		t.Fatalf("%+v", st)
	}
}

type discardAll struct{}

func (discardAll) OnFast([]byte) {}
