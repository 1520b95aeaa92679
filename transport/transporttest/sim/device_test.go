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

// flavor is the protocol variant of a player.
type flavor uint8

const (
	v2 flavor = iota
	stockish
	mute // a stock player whose pongs have no payload
)

func (f flavor) String() string { return [...]string{"v2", "stock", "mute"}[f] }

// pongsTold is the number of pongs of one connection after which a host knows that the client does not return
// the payload.
const pongsTold = 2

const (
	ackEvery = 16
	ackAfter = 200 * time.Millisecond
)

// player is one player session with all devices that play it. The run's lock guards it.
type player struct {
	*run
	index  int
	flavor flavor
	game   *game
	id     messages.PlayerSessionID
	nodes  [2]*memnet.Node // of two devices

	dev      *device // the device that plays
	all      []*link // all connections that have tried to play
	links    int     // number of connections so far, over all devices
	wants    bool    // whether it wants to be in the game
	retryAt  time.Time
	refusals int               // logins that the game's OnPlayerConnect still has to refuse
	units    uint16            // last uid.unit that was given to a device
	groups   map[int32][]int32 // members of groups, as last reported to the device that plays
	burned   map[int32]bool    // groups that it has requested to leave in this presence

	// The fields below are the game's state.
	peer      messages.PeerID
	presence  *presence
	presences []*presence
	heard     uid       // last message that the game has received from this player
	marks     []mark    // stock: marks whose echo has arrived; v2: acknowledged messages
	lost      int       // number of messages that were reported to the game as lost
	muteSince time.Time // mute: time when the host could first know; zero: the host cannot know

	// The fields below say what is allowed to happen.
	mayLeave string       // why its presence may end: it has asked for the end
	lostAt   time.Time    // when the loss was reported to the game; zero: it is attached
	spoke    time.Time    // last time that it sent something to the host
	spokeKCP atomic.Int64 // the same for what its KCP connections send by themselves, in ns
	brokenAt time.Time    // time since when its path or connection may be faulty; zero: it is not

	outrunAt time.Time // when an abandoned login was last sent, or the connection of one ended

	cut bool // whether its path is blocked

	ways     *rand.Rand // randomness for the transport of its connections
	sessions *dtls.Sessions
	wasKCP   bool // whether its last successful login was over KCP
}

// device is a client object. A new device knows nothing of an earlier one.
type device struct {
	*player
	node *memnet.Node
	link *link // current connection, or nil

	inAt time.Time // time of its first successful login
	unit uint16    // uid.unit of its messages
	sent uint32    // number of application messages in that unit
	cur  *presence // presence from which it has received messages
	at   int       // number of messages received from it, in order

	// The fields below are for v2 only.
	token    string
	old      string // previous token, valid until something is acknowledged
	dead     []deadToken
	received uint64
	ackedOut uint64 // last acknowledgement sent on this connection
	last     uint64 // last sequence number sent
	acked    uint64
	held     []numbered
	gap      bool // whether it was told that messages are lost, and has received none since
	missing  int  // maximum number of messages that may still be missing
	dropped  uint64
	ackTimer *time.Timer
	known    bool // whether it has logged in, so that token and numbers are valid
}

// deadToken is a token that the host refuses once it has received what the device sent at that time.
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
	at       int       // number of messages; v2: the sequence number
	when     time.Time // time of sending
}

// link is one connection of a device.
type link struct {
	dev      *device
	number   int
	opened   time.Time
	kcp      bool   // whether it uses KCP; otherwise it is a WebSocket
	sock     socket // nil while dialing
	fastNext int32  // lowest datagram number that is accepted
	loggedIn bool   // whether LOGIN was sent
	in       bool   // whether LOGIN_RESPONSE was a success
	inAt     time.Time
	fresh    bool                 // whether it logged in without a token
	passive  bool                 // an attempt that must fail and never plays
	expect   messages.CloseReason // reason with which the host must close it
	since    time.Time
	fenced   bool // its device uses another connection
	ended    bool
	refused  bool
	code     uint16 // code in the host's close frame
	presence *presence
	at       int
	ackSeen  uint64
	lastSeen time.Time // time of the last arrival
	twice    bool      // after its login, the device opens another connection immediately
	slowTill time.Time
	doubtful bool      // its path failed during the login, so a close may follow LOGIN_RESPONSE
	pongs    int       // number of pongs of a mute player
	lossAt   time.Time // time since when the previous connection may have been faulty
	next     *link     // connection that followed it
	givenUp  *lateLogin
}

// dial opens a new connection of a device. The device abandons its current connection, which stays open and
// is ignored.
func (d *device) dial() *link {
	d.player.links++
	l := &link{dev: d, number: d.player.links, opened: time.Now(), fresh: !d.known, lastSeen: time.Now(), kcp: d.overKCP()}
	if d.link != nil {
		d.link.fence()
		if d.plan.window == 0 {
			d.broken() // the host refuses the new connection until it notices that the old one is unused
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

// fence makes the device abandon a connection, which stays open.
func (l *link) fence() {
	l.fenced = true
	if l.sock != nil {
		l.sock.sleep()
	}
}

// run handles a connection from the dial to its end.
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
	if d.flavor == v2 || d.plan.window == 0 { // for a host without the extension, it has no effect
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

// frame handles a frame from the host.
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

// late checks what arrives on an abandoned connection: nothing may arrive that was routed after the next
// connection was attached (RL-8).
func (l *link) late(m *packet) {
	d := l.dev
	if m.OpCode == stock.OpLoginResponse {
		l.inAt = time.Now()
		l.sock.sleep() // the connection may have been abandoned while dialing: without sleep, KCP would answer pings forever
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

// overKCP chooses the transport of the next connection. Only plans with kcp use KCP. A stock player resumes
// differently over KCP, where pongs are not ordered. So it uses KCP only in plans without resuming.
func (p *player) overKCP() bool {
	return p.plan.kcp && (p.flavor == v2 || p.plan.window == 0) && p.ways.IntN(2) == 0
}

// idle reports whether the connection is abandoned. Its device keeps it open without using it, like a
// sleeping phone.
func (l *link) idle() bool { return l.fenced || l.dev.player.dev != l.dev }

// ping answers a ping. For a stock player, the payload is a receipt mark.
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

// ends records the end of a connection.
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
		case by.givenUp != nil && by.dev == d: // the device resumes with its token, like Troupe's client
			d.note(d.player, "taken over by itself", int64(l.number), int64(by.number))
		default:
			d.anew() // another device has taken over its token
		}
	case messages.CloseGameEnded, messages.CloseGameCrashed, messages.CloseKicked:
		d.wants = false
	}
	if d.retryAt.IsZero() {
		d.retryAt = time.Now().Add(300 * time.Millisecond)
	}
}

// ending returns a name for how a connection ended.
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
		d.mayLeave = "" // it is in again, or its leave came too late
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
	// The host sends LOGIN_RESPONSE immediately, and closes a connection that stays silent. If the path
	// failed in between, both may arrive together after the repair.
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

// refuse checks that the host was allowed to refuse a login. It must not refuse a player in the game (RL-2,
// RL-7), nor a player that rejoins after a leave (D-2).
func (l *link) refuse(m *packet) {
	d := l.dev
	l.refused = true
	d.note(d.player, "refused", int64(l.number), int64(m.result.retryAfterMs))
	switch {
	case l.passive:
		d.note(d.player, "dead login refused", int64(l.number), 0)
	case m.result.retryAfterMs > 0:
		d.retryAt = time.Now().Add(time.Duration(m.result.retryAfterMs) * time.Millisecond)
	case d.known && d.outrunByAnother(): // its token is invalid, because the other device's token replaced it
		d.note(d.player, "outrun by another device", int64(l.number), 0)
		d.anew()
		d.retryAt = time.Now().Add(500 * time.Millisecond)
	case d.player.presence == nil: // the game refused it; the player session is still reserved
		d.retryAt = time.Now().Add(500 * time.Millisecond)
	// a second login, or the host has not noticed the loss yet
	case d.plan.window == 0 && !d.player.presence.over && d.mayLeave == "" && !d.brokenAt.IsZero():
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
