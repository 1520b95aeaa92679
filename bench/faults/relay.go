package faults

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
)

// Addresses of the layer of network namespaces. Each player dials an address of its own, which its NAT translates into the host's; outside it
// has one of 128 addresses, one after the other.
var (
	playersAddr = netip.MustParsePrefix("10.1.0.1/8") // of all players
	hostAddr    = netip.MustParsePrefix("10.2.0.1/8")
)

const (
	dialedNet  = 3   // 10.3.0.0/16: a player's name for the host
	outsideNet = 128 // 10.128.0.0/9: what the host sees of a player
)

func dialedAddr(player int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, dialedNet, byte(player >> 8), byte(player)})
}

func outsideAddr(player, epoch int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, outsideNet + byte(epoch%outsideNet), byte(player >> 8), byte(player)})
}

// playerOf is the player whose dialed or outside address it is; false if it is none.
func playerOf(addr netip.Addr) (int, bool) {
	a := addr.As4()
	return int(a[2])<<8 | int(a[3]), a[0] == 10 && (a[1] == dialedNet || a[1] >= outsideNet)
}

// relay carries IP packets between the players' network and the host's. What is neither TCP nor UDP, fragments, and what goes to addresses
// that nobody has is dropped. Packets between the addresses of the namespaces themselves pass as they are.
type relay struct {
	players, host io.ReadWriteCloser // TUN devices
	work          sync.WaitGroup

	mu     sync.RWMutex // guards what follows
	routes map[int]*route
	nats   map[int]*nat // also of routes that were closed, so that ports are not used twice
	failed error
	gone   relayed // by routes that were closed
}

// relayed counts packets.
type relayed struct{ carried, dropped uint64 }

// packetMax is more than a TUN device gives at once.
const packetMax = 64 << 10

// newRelay starts to carry packets between two TUN devices, which it closes in the end.
func newRelay(players, host io.ReadWriteCloser) *relay {
	r := &relay{players: players, host: host, routes: make(map[int]*route), nats: make(map[int]*nat)}
	r.work.Go(func() { r.read(players, r.fromPlayers) })
	r.work.Go(func() { r.read(host, r.fromHost) })
	return r
}

// read hands on packets until the device is closed.
func (r *relay) read(device io.Reader, take func(*packet)) {
	b := make([]byte, packetMax)
	for {
		n, err := device.Read(b)
		if errors.Is(err, os.ErrClosed) || errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			r.mu.Lock()
			r.failed = err
			r.mu.Unlock()
			return
		}
		if p, ok := parsePacket(b[:n]); ok {
			take(&p)
		}
	}
}

func (r *relay) route(addr netip.Addr) *route {
	player, ok := playerOf(addr)
	if !ok {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.routes[player]
}

func (r *relay) fromPlayers(p *packet) {
	to := p.dst().Addr()
	if to == hostAddr.Addr() {
		_, _ = r.host.Write(p.b) // as below: a packet that a device does not take is lost
		return
	}
	w := r.route(to)
	if w == nil {
		return
	}
	w.mu.Lock()
	passes, answer := w.nat.up(p)
	w.mu.Unlock()
	if answer != nil {
		_, _ = r.players.Write(answer)
	}
	if passes {
		w.up.take(p.b, len(p.b))
	}
}

func (r *relay) fromHost(p *packet) {
	to := p.dst().Addr()
	if to == playersAddr.Addr() {
		_, _ = r.players.Write(p.b)
		return
	}
	if w := r.route(to); w != nil {
		w.down.take(p.b, len(p.b))
	}
}

// arrive takes a packet of the host's at the player's end of its way.
func (r *relay) arrive(w *route, b []byte) {
	p, ok := parsePacket(b)
	if !ok {
		return
	}
	w.mu.Lock()
	passes, answer := w.nat.down(&p)
	w.mu.Unlock()
	if answer != nil {
		_, _ = r.host.Write(answer)
	}
	if passes {
		_, _ = r.players.Write(b)
	}
}

// close ends the relay, and says what went wrong meanwhile.
func (r *relay) close() error {
	err := errors.Join(r.players.Close(), r.host.Close())
	r.work.Wait()
	return errors.Join(r.failed, err)
}

// counts are the packets of players until now.
func (r *relay) counts() relayed {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := r.gone
	for _, w := range r.routes {
		all.add(w)
	}
	return all
}

func (c *relayed) add(w *route) {
	c.carried += w.up.carried.Load() + w.down.carried.Load()
	c.dropped += w.up.dropped.Load() + w.down.dropped.Load()
}

// route is a player's way to the host through the relay.
type route struct {
	relay    *relay
	player   int
	tcp, udp string // what the player dials
	up, down lane

	mu  sync.Mutex // guards nat
	nat *nat
}

// open gives a player a way to the host. tcp and udp are host:port of the host; udp may be empty. The way that the player had must be closed.
func (r *relay) open(seed uint64, player int, tcp, udp string) (way, error) {
	w := &route{relay: r, player: player}
	for _, one := range []struct {
		addr   string
		dialed *string
	}{{tcp, &w.tcp}, {udp, &w.udp}} {
		if one.addr == "" {
			continue
		}
		_, port, err := net.SplitHostPort(one.addr)
		if err != nil {
			return nil, fmt.Errorf("way of player %d: %w", player, err)
		}
		*one.dialed = net.JoinHostPort(dialedAddr(player).String(), port)
	}
	w.up = lane{d: newDirection(seed, uint64(2*player)), send: func(b []byte) { _, _ = r.host.Write(b) }}
	w.down = lane{d: newDirection(seed, uint64(2*player+1)), send: func(b []byte) { r.arrive(w, b) }}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nats[player] == nil {
		r.nats[player] = newNAT(hostAddr.Addr(), func(epoch int) netip.Addr { return outsideAddr(player, epoch) })
	}
	w.nat = r.nats[player]
	w.nat.rebind()
	r.routes[player] = w
	return w, nil
}

// TCP and UDP are the addresses that the player connects to.
func (w *route) TCP() string { return w.tcp }

// UDP is the address for datagrams.
func (w *route) UDP() string { return w.udp }

// Retarget does nothing: a host that is started again has the same addresses, because nobody else is in its namespace.
func (w *route) Retarget(string, string) {}

// Begin begins a fault, as that of Path does.
func (w *route) Begin(e Event) (end func()) {
	var toPlayer, toHost [][]byte
	w.mu.Lock()
	switch e.Fault {
	case Reset:
		toPlayer, toHost = w.nat.reset(true)
	case Handover:
		toPlayer = w.nat.handover()
	case Rebind:
		w.nat.rebind()
	default:
		end = beginLink(w.up.d, w.down.d, e)
	}
	w.mu.Unlock()
	for _, b := range toPlayer {
		_, _ = w.relay.players.Write(b)
	}
	for _, b := range toHost {
		_, _ = w.relay.host.Write(b)
	}
	return end
}

// Close lets nothing pass any more.
func (w *route) Close() error {
	w.up.close()
	w.down.close()
	w.relay.mu.Lock()
	defer w.relay.mu.Unlock()
	if w.relay.routes[w.player] == w {
		delete(w.relay.routes, w.player)
		w.relay.gone.add(w)
	}
	return nil
}
