package player

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// A world is one player session with the production code (Actor, Machine, Outbox, tokens) in a minimal environment: the
// game session's mailbox, connections with data in transit, and clients written according to reliability.md 2. Nothing
// happens by itself: the test makes each move explicitly, and it continues a copy of the world for every possible move.
// Each move checks the oracles. A violated oracle panics with its text.

// client is the behaviour of a device.
type client uint8

const (
	extended client = iota + 1 // uses the extension
	echoing                    // a stock client that echoes pings
	mute                       // a stock client that answers pings with other payloads
	kcpStock                   // a stock client on a transport without marks
)

// plan limits a world: it says who takes part, and how often each move may happen.
type plan struct {
	name    string
	devices []client
	rules   Rules
	skip    bool // SkipAmbiguous
	gap     bool // reconnect.overflow = gap
	limit   Budget
	long    bool
	late    bool // the remains of older connections may arrive at any time, not only at once
	budget
}

// budget says how often each kind of move may still happen.
type budget struct{ dials, pushes, fasts, sends, cuts, pings, windows, leaves int8 }

type itemKind uint8

const (
	login itemKind = iota + 1
	response
	message
	pureAck
	ping
	pong
	goodbye // close frame
)

// transit is something in transit in a connection, or a message in the game session's mailbox.
type transit struct {
	kind    itemKind
	n, ack  uint64 // number and ack; for ping and pong, n is the mark
	content int8   // identifies the message: the op code of a message of the host, or the sequence number of a message of a device
	device  int8
	fast    bool // unreliable
	login   *Login
	result  *wire.LoginResult
	reason  messages.CloseReason
	after   time.Duration // retry delay of a refusal
	clean   bool          // of an ended connection: the player left
	epoch   messages.Epoch
}

// wireup is one connection.
type wireup struct {
	device   int8
	up, down []transit // in transit to the host and to the client
	cut      bool      // nothing gets through any more
	closed   bool      // closed by the host
	ended    bool      // the host knows that the connection has ended
	source   bool      // the connection drains the outbox
	bound    *Attachment
	told     uint64 // for oracle RL-6: the host's last ack
	begun    bool   // stock client: a message has arrived
	silent   bool   // silent from the host's point of view
	mute     bool   // the client was known not to echo when it was attached
}

// device is one client object. Its numbers are described in reliability.md 2.4.
type device struct {
	kind     client
	conn     int8 // -1 if there is no connection
	live     bool // the login has been answered
	met      bool // the device knows its numbers
	over     bool // the device must not reconnect
	token    string
	received uint64
	ackTold  uint64
	last     uint64 // number of its last message
	pending  []transit
	acked    uint64 // highest number confirmed by the host
	made     int8   // number of messages made
}

type world struct {
	plan    *plan
	left    budget
	actor   *Actor
	out     *Outbox
	session []transit // mailbox of the game session, in order
	conns   []wireup
	devices []device

	gate      uint64 // the attempt that waits for the game's decision; 0 if there is none
	leaving   bool   // LeaveHandled must be sent
	window    messages.Epoch
	challenge messages.Epoch
	full      bool // outboxFull must be handled
	in        bool // the player is in the game session
	stopped   bool

	// State of the oracles.
	pushed    int8 // number of messages made by the host
	app       [3]int8
	given     uint64 // stock: highest number that any connection has taken
	mutely    uint64 // highest number taken since the client is known not to echo
	confirmed uint64 // stock: highest mark that was echoed
	seen      uint64 // stock: highest number that the client has received
	fastGot   int8
	fastGiven int8
	fastMade  int8
	fastOld   int8 // how many of fastMade were made before the current connection
	accepts   int8
	leavings  int8
	status    messages.PlayerSessionStatus
	tokenNow  string // token in the newest answer
	tokenUsed string // the token before that, which is valid until the newer one is proved
	proved    bool
	lostByGap uint64
}

// contents are the host's messages, with op codes 1, 2, 3 ... Messages for the fast channel begin at fastOp. They are
// never released, and all copies of a world share them.
var contents = func() (all [80]*wire.Frame) {
	for i := range all {
		all[i] = wire.NewFrame(&wire.Header{OpCode: int32(i), Payload: fmt.Appendf(nil, "message %d", i)})
	}
	return all
}()

var contentBytes = func() (all [len(contents)][]byte) {
	for i, f := range contents {
		all[i] = slices.Clone(f.Unit())
	}
	return all
}()

const fastOp = 70

// stand is what the fakes operate on: the current world. All copies share the fakes.
type stand struct {
	*world
	count counters.Set
	links []*standLink
	timer stage.Timer
}

type standLink struct {
	s *stand
	i int
}

func newStand() *stand {
	s := &stand{}
	for i := range 32 {
		s.links = append(s.links, &standLink{s, i})
	}
	return s
}

// begin puts a new player session on the stand.
func (s *stand) begin(p *plan) {
	limit := p.limit
	if limit.BytesMax == 0 {
		limit = Budget{BytesMax: 1 << 20, MessagesMax: 100}
	}
	limit.Gap = p.gap
	h := &Handle{ID: "psess-1"}
	h.Out = newOutbox(&limit, &s.count, func() { s.full = true })
	a := &Actor{d: NewDurable(h), told: s.onTold, o: &Options{Rules: p.rules, Window: 30 * time.Second, Acknowledge: true, SkipAmbiguous: p.skip}}
	s.world = &world{plan: p, left: p.budget, actor: a, out: h.Out, status: messages.PlayerSessionReserved}
	for _, kind := range p.devices {
		s.devices = append(s.devices, device{kind: kind, conn: -1})
	}
	a.setGauge(s)
}

// shallow copies a struct that must normally not be copied. This is safe here, because no lock is held and no other
// goroutine is running.
//
//go:norace
func shallow[T any](p *T) *T {
	n := new(T)
	reflect.ValueOf(n).Elem().Set(reflect.ValueOf(p).Elem())
	return n
}

// clone copies a world. The copy adds references to frames that are never released.
//
//go:norace
func (w *world) clone() *world {
	n := shallow(w)
	n.actor = shallow(w.actor)
	n.actor.d = shallow(w.actor.d)
	n.actor.d.Handle = shallow(w.actor.d.Handle)
	n.out = shallow(w.out)
	n.actor.d.Handle.Out = n.out
	if t := w.actor.d.tokens; t != nil {
		n.actor.d.tokens = shallow(t)
	}
	q := &n.out.queue
	q.ring = slices.Clone(q.ring)
	if q.backlog != nil {
		q.backlog = shallow(q.backlog)
	}
	if q.gap != nil {
		q.gap = shallow(q.gap)
	}
	for i := range n.out.queue.n {
		if it := n.out.queue.at(i); it.f != nil {
			it.f.Retain()
		}
	}
	if n.out.attachment.loginResponse != nil {
		n.out.attachment.loginResponse.Retain()
	}
	n.session = slices.Clone(w.session)
	n.conns = slices.Clone(w.conns)
	for i := range n.conns {
		c := &n.conns[i]
		c.up, c.down = slices.Clone(c.up), slices.Clone(c.down)
		if c.bound != nil {
			c.bound = shallow(c.bound)
			c.bound.Player = n.actor.d.Handle
		}
	}
	n.devices = slices.Clone(w.devices)
	for i := range n.devices {
		n.devices[i].pending = slices.Clone(n.devices[i].pending)
	}
	return n
}

// broken is the text of a violated oracle.
type broken string

func breaks(format string, args ...any) { panic(broken(fmt.Sprintf(format, args...))) }

// Implementation of actorContext.

func (s *stand) Counters() *counters.Set { return &s.count }
func (s *stand) Unknown(any)             { s.count.ActorMessages.Add(1) }
func (s *stand) StopSelf()               { s.stopped = true }

func (s *stand) AfterAwake(d time.Duration, msg any) *stage.Timer { return s.After(d, msg) }

func (s *stand) After(_ time.Duration, msg any) *stage.Timer {
	switch m := msg.(type) {
	case windowOver:
		s.window = m.epoch
	case challengeOver:
		s.challenge = m.epoch
	}
	return &s.timer
}

func (s *stand) onTold(msg any) bool {
	w := s.world
	if w.stopped {
		breaks("RL-13: %T after the end", msg)
	}
	switch m := msg.(type) {
	case GateAsked:
		w.gate = m.Attempt
	case Accepted:
		if w.accepts++; w.accepts > 1 {
			breaks("RL-13: accepted twice")
		}
		w.in = true
	case IsLeaving:
		if w.leavings++; w.leavings > 1 || w.accepts == 0 {
			breaks("RL-13: told %d times of a leave", w.leavings)
		}
		if m.Reason == "" {
			breaks("RL-2: a leave without a reason")
		}
		w.in, w.leaving = false, true
	case CameBack:
		if w.leavings > 0 {
			breaks("RL-14: came back after the leave")
		}
	case StatusChanged:
		if m.Status <= w.status {
			breaks("RL-16: %v after %v", m.Status, w.status)
		}
		w.status = m.Status
	}
	return true
}

// A standLink is a connection's LoginConn, Link and wire.Sink.

func (l *standLink) c() *wireup                { return &l.s.conns[l.i] }
func (l *standLink) Link() Link                { return l }
func (l *standLink) SetSource(src wire.Source) { l.c().source = src != nil }
func (l *standLink) Flush()                    {}
func (l *standLink) Challenge()                {}
func (l *standLink) Gone() bool                { return l.c().ended }
func (l *standLink) PongsInOrder() bool        { return l.s.devices[l.c().device].kind != kcpStock }
func (l *standLink) Channel() counters.Channel {
	if l.PongsInOrder() {
		return counters.WS
	}
	return counters.KCP
}
func (l *standLink) OpenFast(messages.PeerID) FastOffer { return FastOffer{Port: 1} }

func (l *standLink) Silence() time.Duration {
	if l.c().silent {
		return time.Hour
	}
	return 0
}

func (l *standLink) Bind(a *Attachment) bool {
	c := l.c()
	if c.ended || c.closed {
		return false
	}
	if c.bound != nil {
		breaks("RL-8: bound twice")
	}
	c.bound = a
	return true
}

func (l *standLink) SetRefusal(wire.Refusal)            {}
func (l *standLink) CountRefusal(counters.LoginRefusal) {}

func (l *standLink) Refuse(after time.Duration) {
	l.send(transit{kind: response, result: &wire.LoginResult{}, after: after})
	l.c().closed, l.c().ended = true, true
}

func (l *standLink) Close(reason messages.CloseReason) {
	if c := l.c(); !c.closed {
		l.send(transit{kind: goodbye, reason: reason})
		c.closed = true
	}
}

func (l *standLink) send(t transit) {
	if c := l.c(); !c.cut && !c.closed {
		c.down = append(c.down, t)
	}
}

func (l *standLink) Append(f *wire.Frame) bool { return l.append(f, 0, 0, f.AppendReliable(nil)) }

func (l *standLink) AppendNumbered(f *wire.Frame, n, ack uint64) bool {
	return l.append(f, n, ack, f.AppendNumbered(nil, n, ack))
}

// append records a frame as it appears on the wire. It takes one frame at a time.
func (l *standLink) append(f *wire.Frame, n, ack uint64, unit []byte) (room bool) {
	s, c := l.s, l.c()
	packet, err := wire.SplitUnit(unit)
	var h wire.Header
	if err == nil {
		err = h.Parse(packet)
	}
	if err != nil || h.RelSeq != n || h.Ack != ack {
		breaks("RL-4: %v, number %d for %d, ack %d for %d", err, h.RelSeq, n, h.Ack, ack)
	}
	numbered := c.bound.Numbered
	if !numbered && (n != 0 || ack != 0) {
		breaks("numbers for a stock client")
	}
	if ack != 0 {
		if ack < c.told || ack > s.out.confirmation.received.Load() {
			breaks("RL-6: ack %d after %d, received %d", ack, c.told, s.out.confirmation.received.Load())
		}
		c.told = ack
	}
	t := transit{kind: message, n: n, ack: ack, content: int8(h.OpCode)}
	switch {
	case h.OpCode == wire.OpLoginResponse:
		t = transit{kind: response, result: resultOf(f)}
		c.told = t.result.LastReceived
	case h.OpCode == 0:
		t.kind = pureAck
	default:
		if !bytes.Equal(f.Unit(), contentBytes[h.OpCode]) || !bytes.Equal(h.Payload, fmt.Appendf(nil, "message %d", h.OpCode)) {
			breaks("RL-4: message %d is sent as %q", h.OpCode, h.Payload)
		}
		if h.OpCode >= fastOp {
			if t.fast = true; n != 0 || int8(h.OpCode)-fastOp < s.fastOld {
				breaks("RL-5: fast message %d of %d, number %d, is for an older connection, or counts", h.OpCode-fastOp, s.fastMade, n)
			}
			s.fastGiven++
			break
		}
		s.onGiven(c, t)
	}
	l.send(t)
	return false
}

// onGiven checks a reliable message that a connection has taken.
func (s *stand) onGiven(c *wireup, t transit) {
	n := uint64(t.content)
	switch kind := s.devices[c.device].kind; {
	case kind == extended && t.n != n:
		breaks("RL-1: message %d has number %d", n, t.n)
	case kind == kcpStock && n <= s.given && !s.second():
		breaks("RL-3: message %d is written again to a client that confirms nothing", n)
	case kind == mute && s.out.confirmation.client == clientMute && n <= s.mutely:
		breaks("RL-3: message %d is written again to a client that does not echo", n)
	case kind == echoing && n <= s.confirmed:
		breaks("RL-3: message %d is sent again after mark %d", n, s.confirmed)
	case kind != extended && s.plan.skip && n <= s.given && !s.second():
		breaks("RL-3: message %d is sent again although it is ambiguous", n)
	}
	s.given = max(s.given, n)
	if s.out.confirmation.client == clientMute {
		s.mutely = n
	}
}

// second reports whether several devices share the player.
func (w *world) second() bool { return len(w.plan.devices) > 1 }

func (l *standLink) Mark(n uint64) bool {
	l.send(transit{kind: ping, n: n})
	return true
}

// The host's handling of what arrives.

func (s *stand) tell(msg any) {
	epoch := s.actor.d.machine.Epoch
	s.actor.receive(s, msg)
	m := s.actor.d.machine
	switch {
	case m.Epoch > epoch+1:
		breaks("RL-8: epoch %d after %d", m.Epoch, epoch)
	case m.Epoch > epoch && m.State == Attached:
		used := ""
		if l, ok := msg.(*Login); ok {
			used = l.Token
		}
		s.onAttached(s.actor.d.current.(*standLink).i, used)
	}
	if s.leaving {
		s.leaving = false
		s.tell(LeaveHandled{})
	}
}

// onLoginArrives handles a LOGIN as the game session does.
func (s *stand) onLoginArrives(t transit) {
	w := s.world
	if w.stopped {
		t.login.From.Refuse(0)
		return
	}
	token, before := t.login.Token, ""
	good := token != "" && (token == w.tokenNow || token == w.tokenUsed && !w.proved)
	if token != "" && !good {
		before = w.hostKey()
	}
	s.tell(t.login)
	c := &w.conns[t.login.From.(*standLink).i]
	switch {
	case before != "" && (before != w.hostKey() || !c.closed || c.bound != nil):
		breaks("RL-12: a dead token is not without effect")
	case good && w.in && w.plan.rules.Window && c.bound == nil:
		breaks("RL-7: a good token is refused")
	}
}

// onAttached records, for the oracles, that a connection was accepted.
func (s *stand) onAttached(i int, used string) {
	w := s.world
	c := &w.conns[i]
	if c.bound == nil || c.bound.Epoch != w.actor.d.machine.Epoch || !c.source || w.out.attachment.loginResponse == nil {
		breaks("RL-8: the connection that was let in is not the one that serves")
	}
	w.fastOld = w.fastMade
	for j := range w.conns {
		if other := &w.conns[j]; j != i && other.source {
			breaks("RL-8: connection %d still drains", j)
		}
	}
	if w.devices[c.device].kind == extended {
		if w.tokenUsed = used; used == "" {
			w.tokenUsed = w.tokenNow
		}
		w.tokenNow, w.proved = resultOf(w.out.attachment.loginResponse).ReconnectToken, false
	}
}

// resultOf parses a LOGIN_RESPONSE.
func resultOf(f *wire.Frame) *wire.LoginResult {
	packet, err := wire.SplitUnit(f.Unit())
	var h wire.Header
	if err == nil {
		err = h.Parse(packet)
	}
	r, err2 := wire.ParseLoginResult(h.Inner)
	if err != nil || err2 != nil {
		breaks("LOGIN_RESPONSE: %v %v", err, err2)
	}
	return &r
}

// onPosted handles a message from a connection as the game session does.
func (s *stand) onPosted(t transit) {
	w := s.world
	if t.kind == goodbye {
		before := ""
		if old := t.epoch != w.actor.d.machine.Epoch; old && !w.stopped {
			before = w.hostKey()
		}
		if !w.stopped {
			s.tell(Ended{Player: w.actor.d.Handle, Epoch: t.epoch, Clean: t.clean, Reason: "lost"})
		}
		if before != "" && before != w.hostKey() {
			breaks("RL-8: the end of connection %d changes something", t.epoch)
		}
		return
	}
	if !w.in {
		return
	}
	if t.n != 0 {
		w.proved = w.proved || t.epoch == w.actor.d.machine.Epoch
		switch w.out.Receive(t.epoch, t.n) {
		case Duplicate, Late:
			return
		case Violation:
			breaks("RL-1: number %d of a correct client after %d", t.n, w.out.confirmation.received.Load())
		}
	}
	switch got := &w.app[t.device]; {
	case t.content <= *got:
		breaks("RL-3: message %d of device %d reaches the game again", t.content, t.device)
	case t.n != 0 && t.content != *got+1:
		breaks("RL-1: message %d of device %d after %d", t.content, t.device, *got)
	default:
		*got = t.content
	}
}

// The client's side.

func (s *stand) client(i int8) *device { return &s.devices[i] }

// lose makes a device notice that its connection has ended.
func (s *stand) lose(i int) {
	c := &s.conns[i]
	if c.cut = true; len(c.up) > 0 && c.up[0].kind == login {
		c.ended = true // nobody knows about this connection
	}
	c.down, c.up = nil, nil
	if d := s.client(c.device); int(d.conn) == i {
		d.conn, d.live = -1, false
	}
}

func (s *stand) dial(i int8) {
	d, at := s.client(i), int8(len(s.conns))
	l := &Login{ID: "psess-1", From: s.links[at], At: time.Now()}
	if d.kind == extended {
		l.Caps, l.Token, l.LastReceived = wire.CapNumbers, d.token, d.received
	}
	d.conn, d.live = at, false
	s.conns = append(s.conns, wireup{device: i, up: []transit{{kind: login, login: l}}})
}

// sendUp makes a device send a message.
func (s *stand) sendUp(i int8) {
	d := s.client(i)
	d.made++
	t := transit{kind: message, content: d.made, device: i}
	if d.kind == extended {
		d.last++
		t.n = d.last
		d.pending = append(d.pending, t)
	}
	if d.live {
		s.put(d, t)
	}
}

// put passes a message, possibly with an ack, to the device's connection.
func (s *stand) put(d *device, t transit) {
	if d.kind == extended && d.received > d.ackTold {
		d.ackTold = d.received
		t.ack = d.received
	}
	c := &s.conns[d.conn]
	c.up = append(c.up, t)
}

// onDown handles data that arrives at a device.
func (s *stand) onDown(i int, t transit) {
	c := &s.conns[i]
	d := s.client(c.device)
	if int(d.conn) != i {
		return // the device has left this connection
	}
	switch t.kind {
	case response:
		s.onResponse(i, d, t)
	case ping:
		if d.kind == mute {
			t.n = ^uint64(0)
		}
		c.up = append(c.up, transit{kind: pong, n: t.n})
	case goodbye:
		if t.reason.Retry() == messages.RetryNever {
			d.over = true
		}
		s.lose(i)
	case pureAck, message:
		if !d.live {
			breaks("realtime.md 6.2: a packet before LOGIN_RESPONSE")
		}
		if t.ack != 0 {
			s.onAck(d, t.ack)
		}
		if t.kind == message {
			s.onMessage(c, d, t)
		}
	}
}

func (s *stand) onAck(d *device, n uint64) {
	if n < d.acked || n > d.last {
		breaks("RL-6: ack %d after %d, sent %d", n, d.acked, d.last)
	}
	d.acked = n
	for len(d.pending) > 0 && d.pending[0].n <= n {
		if t := d.pending[0]; s.app[t.device] < t.content && s.in {
			breaks("RL-2: message %d of device %d is acknowledged, and lost", t.content, t.device)
		}
		d.pending = d.pending[1:]
	}
}

func (s *stand) onMessage(c *wireup, d *device, t transit) {
	n := uint64(t.content)
	switch {
	case t.fast:
		if s.fastGot++; s.fastGot > s.fastGiven {
			breaks("RL-5: a fast message arrives again")
		}
	case d.kind == extended && t.n != d.received+1:
		breaks("RL-1: number %d after %d", t.n, d.received)
	case d.kind == extended:
		d.received = t.n
	case c.begun && n != d.received+1:
		breaks("RL-1: message %d after %d on one connection", n, d.received)
	case n > s.seen+1 && d.kind == echoing && !s.plan.skip && !s.second():
		breaks("RL-2: message %d after %d: a gap", n, s.seen)
	case n <= s.seen && n <= s.confirmed:
		breaks("RL-3: message %d again after mark %d", n, s.confirmed)
	default:
		c.begun, d.received, s.seen = true, n, max(s.seen, n)
	}
}

func (s *stand) onResponse(i int, d *device, t transit) {
	r := t.result
	if d.live {
		breaks("realtime.md 6.2: a second LOGIN_RESPONSE")
	}
	if !r.Success {
		d.over = d.over || t.after == 0
		s.lose(i)
		return
	}
	d.live = true
	if d.kind != extended {
		if r.Caps != 0 {
			breaks("the extension for a stock client")
		}
		d.met = true
		return
	}
	if r.Caps != wire.CapNumbers || r.ReconnectToken == "" || r.ReconnectToken == d.token {
		breaks("LOGIN_RESPONSE says %+v", r)
	}
	if d.met {
		switch {
		case r.Outcome == wire.OutcomeReplayLost && r.Base > d.received && (s.second() || s.plan.gap):
			s.lostByGap += r.Base - d.received // an explicitly reported gap
		case r.Outcome != wire.OutcomeResumed || r.Base != d.received:
			breaks("RL-2: outcome %d, base %d, received %d", r.Outcome, r.Base, d.received)
		case r.LastReceived > d.last || r.LastReceived < d.acked:
			breaks("RL-6: the host has %d of %d, acknowledged %d", r.LastReceived, d.last, d.acked)
		}
		d.token, d.received, d.ackTold = r.ReconnectToken, r.Base, r.Base
		s.onAck(d, r.LastReceived)
		for _, t := range d.pending {
			s.put(d, t)
		}
		return
	}
	if r.Outcome == wire.OutcomeReplayLost || r.Outcome == wire.OutcomeNew && r.Base+r.LastReceived != 0 {
		breaks("a fresh client hears of outcome %d, base %d, received %d", r.Outcome, r.Base, r.LastReceived)
	}
	d.token, d.received, d.ackTold, d.last, d.acked, d.met = r.ReconnectToken, r.Base, r.Base, r.LastReceived, r.LastReceived, true
}

// hostKey identifies the state of the player session on the host.
func (w *world) hostKey() string { return string(w.appendHost(nil)) }

//go:norace
func (w *world) appendHost(b []byte) []byte {
	a, d, o := w.actor, w.actor.d, w.out
	m := d.machine
	b = append(b, byte(m.State), byte(m.Epoch), byte(m.Attempt), byte(m.Reservation), flags(m.Left, m.Challenged, d.waiting != nil, d.challenger != nil, a.gauge != 0))
	b = append(b, byte(o.attachment.state), byte(o.attachment.epoch), byte(o.confirmation.how), byte(o.confirmation.position), byte(o.queue.sent), byte(o.queue.last), byte(o.queue.base), byte(o.queue.n), byte(o.queue.next),
		byte(o.confirmation.ack), byte(o.confirmation.marks.mark), byte(o.confirmation.marks.foreign), byte(o.confirmation.received.Load()), byte(o.confirmation.ackTold.Load()), byte(o.queue.makeGap().numbered),
		flags(o.attachment.loginResponse != nil, o.confirmation.proved, o.confirmation.ackNow, o.queue.refused, o.queue.slow), byte(o.queue.overflow), byte(o.confirmation.client))
	for i := range o.queue.n {
		it := o.queue.at(i)
		b = append(b, byte(it.n), flags(it.f != nil))
	}
	return b
}

//go:norace
func flags(fs ...bool) (b byte) {
	for i, f := range fs {
		if f {
			b |= 1 << i
		}
	}
	return b
}

// rank reduces a token to its only relevant property: which of the valid tokens it is.
//
//go:norace
func (w *world) rank(token string) byte {
	t := w.actor.d.tokens
	if t == nil {
		t = new(tokens)
	}
	switch h := hash(sha256.Sum256([]byte(token))); {
	case token == "":
		return 0
	case t.good(token, false):
		return 1
	case h == t.previous:
		return 2
	}
	return 3
}

// key returns a string that differs for worlds that may behave differently.
//
//go:norace
func (w *world) key(b []byte) []byte {
	l := w.left
	b = w.appendHost(b)
	b = append(b, byte(l.dials), byte(l.pushes), byte(l.fasts), byte(l.sends), byte(l.cuts), byte(l.pings), byte(l.windows), byte(l.leaves),
		byte(w.gate), byte(w.window), byte(w.challenge), flags(w.full, w.in, w.stopped, w.proved),
		byte(w.app[0]), byte(w.app[1]), byte(w.app[2]), byte(w.given), byte(w.mutely), byte(w.confirmed), byte(w.seen), byte(w.fastGot), byte(w.fastGiven), byte(w.fastMade), byte(w.fastOld),
		byte(w.accepts), byte(w.leavings), byte(w.status))
	b = append(b, w.rank(w.tokenUsed))
	b = w.appendTransits(b, w.session)
	for i := range w.conns {
		c := &w.conns[i]
		bound := byte(0)
		if c.bound != nil {
			bound = byte(c.bound.Epoch)
		}
		if c.cut && c.ended {
			b = append(b, flags(c.source))
			continue
		}
		b = append(b, byte(c.device), bound, byte(c.told), flags(c.cut, c.closed, c.ended, c.source, c.begun))
		b = w.appendTransits(b, c.up)
		b = w.appendTransits(b, c.down)
	}
	for i := range w.devices {
		d := &w.devices[i]
		b = append(b, byte(d.conn), flags(d.live, d.met, d.over), w.rank(d.token), byte(d.received), byte(d.ackTold), byte(d.last), byte(d.acked), byte(d.made), byte(len(d.pending)))
	}
	return b
}

//go:norace
func (w *world) appendTransits(b []byte, all []transit) []byte {
	b = append(b, byte(len(all)))
	for i := range all {
		t := &all[i]
		b = append(b, byte(t.kind), byte(t.n), byte(t.ack), byte(t.content), byte(t.device), byte(t.reason), byte(t.epoch), flags(t.clean, t.fast, t.after > 0))
		if t.login != nil {
			b = append(b, w.rank(t.login.Token), byte(t.login.LastReceived))
		}
		if r := t.result; r != nil {
			b = append(b, w.rank(r.ReconnectToken), byte(r.Base), byte(r.LastReceived), byte(r.Outcome), flags(r.Success))
		}
	}
	return b
}

func pongOf(n uint64) []byte {
	if n == ^uint64(0) {
		return []byte("mangled")
	}
	return strconv.AppendUint(nil, n, 10)
}
