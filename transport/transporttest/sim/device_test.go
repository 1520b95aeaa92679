package sim

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"troupe/messages"
	"troupe/transport/dtls"
	"troupe/transport/transporttest/memnet"
	"troupe/transport/transporttest/stock"
)

// flavor is what a player speaks.
type flavor uint8

const (
	v2 flavor = iota
	stockish
	mute // a stock player whose pongs are empty
)

func (f flavor) String() string { return [...]string{"v2", "stock", "mute"}[f] }

// pongsTold is how many pongs of one connection tell a host that a client does not
// echo.
const pongsTold = 2

const (
	ackEvery = 16
	ackAfter = 200 * time.Millisecond
)

// player is one player session and all devices that play it. The run's lock
// guards it.
type player struct {
	*run
	index  int
	flavor flavor
	game   *game
	id     messages.PlayerSessionID
	nodes  [2]*memnet.Node // of two devices

	dev      *device // the one that plays
	all      []*link // that tried to play
	links    int     // made so far, over all devices
	wants    bool    // to be in the game
	retryAt  time.Time
	refusals int               // logins the gate is to refuse
	units    uint16            // of uid, given out to devices
	groups   map[int32][]int32 // members, as last told to the device that plays
	burned   map[int32]bool    // groups that it asked to leave in this presence

	// what the game says
	peer      messages.PeerID
	presence  *presence
	presences []*presence
	heard     uid       // the game's last of this player
	marks     []mark    // stock: echoed; v2: acknowledged
	lost      int       // messages that the game was told of as lost
	muteSince time.Time // mute: when the host could know; zero: it cannot

	// what may happen
	mayLeave string       // why its presence may end: it asked for it
	lostAt   time.Time    // when the game was told of a loss; zero: it is attached
	spoke    time.Time    // when it last said something to the host
	spokeKCP atomic.Int64 // the same of what its KCP connections say by themselves, in ns
	brokenAt time.Time    // since when its path or connection may be faulty; zero: it is not

	outrunAt time.Time // when a login that was given up last set out, or its connection ended

	cut bool // its path is blocked

	ways     *rand.Rand // which transport a connection uses
	sessions *dtls.Sessions
	wasKCP   bool // the connection on which it was in last
}

// device is one client object. A new one knows nothing of the one before.
type device struct {
	*player
	node *memnet.Node
	link *link // the one that is in use, nil for none

	inAt time.Time // the first time
	unit uint16    // of uid
	sent uint32    // application messages in it
	cur  *presence // the presence that it has messages of
	at   int       // how many, in order

	// v2
	token    string
	old      string // the token before, good until something is acked
	dead     []deadToken
	received uint64
	ackedOut uint64 // what the host was told on this link
	last     uint64 // the last number given out
	acked    uint64
	held     []numbered
	gap      bool // it was told that messages are lost, and had none since
	missing  int  // how many at most, of those that it did not find missing yet
	dropped  uint64
	ackTimer *time.Timer
	known    bool // it has been in: token and numbers mean something
}

// deadToken is a token that the host no longer takes, once it has read what the
// device sent then.
type deadToken struct {
	token string
	since time.Time
}

type numbered struct {
	n uint64
	p packet
}

type mark struct {
	presence *presence
	at       int       // messages; v2: the number
	when     time.Time // it was sent
}

// link is one connection of a device.
type link struct {
	dev      *device
	number   int
	opened   time.Time
	kcp      bool   // over KCP; else a WebSocket
	sock     socket // nil while it is dialing
	fastNext int32  // number of the next datagram that is not too old
	loggedIn bool   // LOGIN was sent
	in       bool   // LOGIN_RESPONSE said yes
	inAt     time.Time
	fresh    bool                 // it logged in as a device that knows nothing
	passive  bool                 // an attempt that must fail: it never plays
	expect   messages.CloseReason // the host must end it so
	since    time.Time
	fenced   bool // its device uses another one
	ended    bool
	refused  bool
	code     uint16 // of the host's close frame
	presence *presence
	at       int
	ackSeen  uint64
	lastSeen time.Time // something arrived
	twice    bool      // once in, another follows at once
	slowTill time.Time
	doubtful bool      // its path failed while it logged in: a close may follow LOGIN_RESPONSE
	pongs    int       // of a mute player
	lossAt   time.Time // since when the connection before may have been faulty
	next     *link     // that came after it
	givenUp  *lateLogin
}

// dial opens a new connection for a device, which forgets the one it has: that one
// stays open, unheard.
func (d *device) dial() *link {
	d.player.links++
	l := &link{dev: d, number: d.player.links, opened: time.Now(), fresh: !d.known, lastSeen: time.Now(), kcp: d.overKCP()}
	if d.link != nil {
		d.link.fence()
		if d.plan.window == 0 {
			d.broken() // the host refuses the new one, and has to find out that the old one is of no use
		}
	}
	d.link = l
	d.unsure()
	d.all = append(d.all, l)
	d.note(d.player, "dial", int64(l.number), 0)
	go l.run()
	return l
}

func (l *link) open() (socket, error) {
	p := l.dev.player
	if l.kcp {
		return openKCPSocket(p, l.dev.node, p.host.Addr(), l.fast)
	}
	return openSocket(l.dev.node, p.host)
}

// fence has the device give up a connection, which stays open.
func (l *link) fence() {
	l.fenced = true
	if l.sock != nil {
		l.sock.sleep()
	}
}

// run is the life of a connection.
func (l *link) run() {
	p := l.dev.player
	sock, err := l.open()
	p.mu.Lock()
	if err != nil {
		l.ends(err)
		p.mu.Unlock()
		return
	}
	l.sock = sock
	if l.idle() && !l.passive && l.givenUp == nil {
		sock.reset()
		l.ends(errFenced)
		p.mu.Unlock()
		return
	}
	if l.givenUp == nil {
		l.login()
	}
	p.mu.Unlock()
	if l.givenUp != nil {
		l.loginLate()
	}
	for err == nil {
		var op byte
		var b []byte
		op, b, err = sock.read()
		p.mu.Lock()
		till := l.slowTill
		p.mu.Unlock()
		if wait := time.Until(till); wait > 0 {
			time.Sleep(wait)
		}
		if err == nil {
			p.mu.Lock()
			err = l.frame(op, b)
			p.mu.Unlock()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	sock.reset()
	l.ends(err)
}

var (
	errFenced = errors.New("another connection is in use")
	errClosed = errors.New("close frame")
)

func (l *link) login() {
	d := l.dev
	p := packet{Packet: stock.LoginPacket(stock.CSharp, string(d.id), nil)}
	if d.flavor == v2 || d.plan.window == 0 { // where the host does without the extension
		p.login.caps = 1
		if d.known {
			p.login.token, p.login.lastReceived = d.token, d.received
		}
		d.ackedOut = d.received
	}
	d.note(d.player, "login", int64(l.number), int64(p.login.lastReceived))
	l.loggedIn = true
	l.write(&p)
}

func (l *link) write(p *packet) {
	if l.sock == nil || l.ended {
		return
	}
	l.dev.spoke = time.Now()
	_ = l.sock.write(stock.FrameBinary, p.encode())
}

// frame handles one frame of the host.
func (l *link) frame(op byte, b []byte) error {
	d := l.dev
	l.lastSeen = time.Now()
	if l.doubtful && d.link == l && op != stock.FrameClose && !d.cut && time.Since(l.inAt) > time.Second && time.Since(d.outrunAt) > time.Second {
		l.doubtful, d.brokenAt = false, time.Time{}
	}
	switch op {
	case stock.FramePing:
		return l.ping(b)
	case stock.FrameClose:
		if len(b) >= 2 {
			l.code = uint16(b[0])<<8 | uint16(b[1])
		}
		_ = l.sock.write(stock.FrameClose, b)
		return errClosed
	case stock.FrameBinary:
	default:
		d.failf("a frame with op code %d reached player %d", op, d.index)
		return errClosed
	}
	m, err := decode(b)
	switch {
	case err != nil:
		d.failf("RL-4: player %d cannot read what it got: %v", d.index, err)
	case l.idle() && !l.passive:
		l.late(&m)
	case m.OpCode == stock.OpLoginResponse && !l.in:
		l.answered(&m)
	case !l.in:
		d.failf("RL-11: a packet with op code %d reached player %d before its login was answered", m.OpCode, d.index)
	default:
		l.packet(&m)
	}
	return nil
}

// late checks what arrives on a connection that its device has given up: nothing
// that was routed after the next one was attached (RL-8).
func (l *link) late(m *packet) {
	d := l.dev
	if m.OpCode == stock.OpLoginResponse {
		l.inAt = time.Now()
		l.sock.sleep() // also a login that was given up while it was dialing: else KCP answers pings for ever
	}
	if m.OpCode != opReliable {
		return
	}
	_, id, _ := parsePayload(m.Payload)
	st, at := d.find(id)
	for _, next := range d.all {
		if st != nil && next.in && l.inAt.Before(next.opened) && st.want[at].at.After(next.inAt) {
			d.failf("RL-8: message %v reached connection %d of player %d, long after connection %d took over", id, l.number, d.index, next.number)
			return
		}
	}
}

// overKCP draws the transport of the next connection, in some plans. A stock player resumes
// otherwise over KCP, where pongs are not in order; so it uses it where nobody resumes.
func (p *player) overKCP() bool {
	return p.plan.kcp && (p.flavor == v2 || p.plan.window == 0) && p.ways.IntN(2) == 0
}

// idle reports whether nobody uses the connection any more. Its owner keeps it
// open and does nothing with it, as a sleeping phone does.
func (l *link) idle() bool { return l.fenced || l.dev.player.dev != l.dev }

// ping answers a ping; for a stock player it is a receipt mark.
func (l *link) ping(b []byte) error {
	d := l.dev
	if l.idle() {
		return nil
	}
	d.spoke = time.Now()
	switch d.flavor {
	case mute:
		if l.pongs++; l.pongs == pongsTold && l.in && d.muteSince.IsZero() {
			d.muteSince = time.Now()
		}
		return l.sock.write(stock.FramePong, nil)
	case stockish:
		if l.in && l.presence != nil && d.brokenAt.IsZero() {
			d.marks = append(d.marks, mark{l.presence, l.at, time.Now()})
			d.note(d.player, "echoes a mark", int64(l.number), int64(l.at))
		}
	}
	return l.sock.write(stock.FramePong, b)
}

// ends notes that a connection is gone.
func (l *link) ends(err error) {
	d := l.dev
	l.ended = true
	d.note(d.player, ending(err, messages.CloseReason(l.code)), int64(l.number), int64(l.code))
	if d.link != l || l.idle() {
		return
	}
	d.link = nil
	d.dropAck()
	d.broken()
	if code := messages.CloseReason(l.code); l.expect != 0 && code != 0 && code != l.expect && !d.game.ending && d.mayLeave == "" && d.plan.budget == 0 &&
		(code != messages.CloseTakenOver || l.outrun() == nil) {
		d.failf("RL-6: connection %d of player %d is closed with %d, not %d", l.number, d.index, l.code, l.expect)
	}
	switch messages.CloseReason(l.code) {
	case messages.CloseTakenOver:
		switch by := l.outrun(); {
		case by == nil:
			d.failf("RL-12: connection %d of player %d is closed as taken over, by nobody", l.number, d.index)
			d.anew()
		case by.givenUp != nil && by.dev == d: // it comes back with the token that it has, as Troupe's client does
			d.note(d.player, "taken over by itself", int64(l.number), int64(by.number))
		default:
			d.anew() // its token is another's now
		}
	case messages.CloseGameEnded, messages.CloseGameCrashed, messages.CloseKicked:
		d.wants = false
	}
	if d.retryAt.IsZero() {
		d.retryAt = time.Now().Add(300 * time.Millisecond)
	}
}

// ending names how a connection ended.
func ending(err error, code messages.CloseReason) string {
	switch {
	case code == messages.CloseTakenOver:
		return "taken over"
	case code == messages.CloseOutOfOrder:
		return "closed for its numbers"
	case code == messages.ClosePingTimeout:
		return "too slow for pings"
	case errors.Is(err, errClosed):
		return "closed"
	default:
		return "ended"
	}
}

// answered handles LOGIN_RESPONSE.
func (l *link) answered(m *packet) {
	d := l.dev
	r := m.LoginResult
	switch {
	case r == nil || m.relSeq != 0:
		d.failf("RL-1: LOGIN_RESPONSE of player %d without its inner message, or numbered", d.index)
		return
	case !r.Success:
		l.refuse(m)
		return
	case l.passive:
		d.failf("RL-12: player %d is let in with a token that is dead", d.index)
		return
	}
	l.in, l.inAt = true, time.Now()
	if d.inAt.IsZero() {
		d.inAt = l.inAt
	}
	if d.mayLeave == "left" || d.mayLeave == "left too late" {
		d.mayLeave = "" // it is in again, or its leave came too late to count
	}
	d.note(d.player, "in", int64(l.number), int64(m.result.outcome))
	if d.known && l.kcp != d.wasKCP {
		d.note(d.player, "moved", int64(l.number), 0)
	}
	d.wasKCP = l.kcp
	peer := messages.PeerID(r.PeerID)
	if d.game.owner[peer] != d.player || peer != d.peer {
		d.failf("RL-9: player %d, peer %d, is told that it is peer %d", d.index, d.peer, peer)
	}
	l.lossAt = l.opened
	if !d.brokenAt.IsZero() {
		l.lossAt = d.brokenAt
	}
	// The host writes LOGIN_RESPONSE at once, and gives up a connection that stays silent. If the
	// path failed in between, both may arrive together when it is well again.
	l.doubtful = d.brokenAt.After(l.opened) || d.outrunAt.After(l.opened)
	if !d.cut && !l.doubtful {
		d.brokenAt = time.Time{}
	}
	if d.flavor != v2 && m.result != (resultFields{}) {
		d.failf("RL-7: player %d does not speak the extension and is answered with %+v", d.index, m.result)
	}
	if d.flavor == v2 {
		d.resume(l, m)
	} else {
		d.unit, d.sent = uint16(l.number), 0
	}
	if l.twice {
		d.dial()
	}
}

// refuse checks that the host may refuse a login: not of a player in the game (RL-2,
// RL-7), nor of one that rejoins after a leave (D-2).
func (l *link) refuse(m *packet) {
	d := l.dev
	l.refused = true
	d.note(d.player, "refused", int64(l.number), int64(m.result.retryAfterMs))
	switch {
	case l.passive:
		d.note(d.player, "dead login refused", int64(l.number), 0)
	case m.result.retryAfterMs > 0:
		d.retryAt = time.Now().Add(time.Duration(m.result.retryAfterMs) * time.Millisecond)
	case d.known && d.outrunByAnother(): // then its token is dead: the other's follows from the one before
		d.note(d.player, "outrun by another device", int64(l.number), 0)
		d.anew()
		d.retryAt = time.Now().Add(500 * time.Millisecond)
	case d.player.presence == nil: // by the gate; the seat is still reserved
		d.retryAt = time.Now().Add(500 * time.Millisecond)
	case d.plan.window == 0 && !d.player.presence.over && d.mayLeave == "" && !d.brokenAt.IsZero(): // a second login, or the host has not noticed the loss
		d.note(d.player, "refused in strict mode", int64(l.number), 0)
		d.retryAt = time.Now().Add(500 * time.Millisecond)
	case !d.player.presence.over && !d.game.ending && d.mayLeave == "":
		d.failf("RL-7: player %d is in the game and is refused", d.index)
	case d.mayLeave == "left" && !d.game.ending && d.plan.window > 0:
		if since := time.Since(d.player.presence.overAt); d.player.presence.over && since > time.Second {
			d.failf("RL-7: player %d has left %v ago and is refused", d.index, since)
		}
		d.retryAt = time.Now().Add(500 * time.Millisecond)
	default:
		d.wants = false
	}
}
