package fast

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport/dtls"
)

const (
	// verifyTimeout is how long a DTLS association may exist without a VERIFY_IDENTITY.
	verifyTimeout = 10 * time.Second
	// tokenLifetime is how long a connectToken is valid after the login (reliability.md 6).
	tokenLifetime = time.Minute
)

// SecuredOptions configure the secured channel.
type SecuredOptions struct {
	// DTLS configures the DTLS endpoint. Its Certificate must be set.
	DTLS dtls.Options
	// Anchors returns the PEM trust anchors that are announced as caCert. They must not be empty.
	Anchors func() []byte
	// Enabled enables the channel. If it is false, a port is announced that refuses every association, so
	// clients stay on WebSocket (realtime.md 8.4).
	Enabled  bool
	Log      zerolog.Logger
	Counters *counters.Set
}

// Secured is the fast channel of the secured mode (realtime.md 8). All methods are safe for concurrent use.
type Secured struct {
	o        SecuredOptions
	endpoint *dtls.Endpoint

	mu     sync.Mutex
	tokens map[string]*SecuredAssociation // open channels by connectToken
	closed bool
}

// SecuredHandler receives the packets of a SecuredAssociation.
type SecuredHandler interface {
	Handler
	// OnVerified is called when the association is bound. The answer has been sent over DTLS. The handler also sends it
	// over the WebSocket. It takes over one reference to answer. It must not block.
	OnVerified(answer *wire.Frame)
}

// ListenSecured binds the socket and serves it until Close.
func ListenSecured(o SecuredOptions) (*Secured, error) {
	o.Counters = cmp.Or(o.Counters, new(counters.Set))
	if o.Anchors == nil {
		return nil, errors.New("fast: no trust anchors for the secured channel")
	}
	s := &Secured{o: o, tokens: make(map[string]*SecuredAssociation)}
	o.DTLS.Channel, o.DTLS.Counters, o.DTLS.Log = counters.DTLS, o.Counters, o.Log
	endpoint, err := dtls.Listen(o.DTLS, s)
	if err != nil {
		return nil, err
	}
	s.endpoint = endpoint
	return s, nil
}

// Port returns the port to announce as fastPort.
func (s *Secured) Port() uint16 { return s.endpoint.Port() }

// Anchors returns the PEM trust anchors to announce as caCert.
func (s *Secured) Anchors() []byte { return s.o.Anchors() }

// Close ends all associations, closes the socket, and waits for all goroutines. A handler must not call it.
func (s *Secured) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.endpoint.Close()
}

// Open creates the channel and the token of a logged-in peer. One DTLS association may present the token. Before
// that, and after the association has ended, the channel is not ready, and the peer is served by WebSocket. Every
// login opens a new channel, with numbers from 0.
func (s *Secured) Open(peer messages.PeerID, h SecuredHandler) (*SecuredAssociation, error) {
	if peer <= messages.NoPeer {
		return nil, ErrPeer
	}
	var secret [32]byte
	rand.Read(secret[:])
	a := &SecuredAssociation{s: s, peer: peer, handler: h, since: time.Now(), token: base64.RawURLEncoding.EncodeToString(secret[:]), highest: -1}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.tokens[a.token] = a
	return a, nil
}

// Accept implements dtls.Acceptor.
func (s *Secured) Accept(a *dtls.Association) dtls.Handler {
	if !s.o.Enabled {
		return nil
	}
	v := &recordHandler{s: s, a: a}
	v.timer = time.AfterFunc(verifyTimeout, v.late)
	return v
}

// claim marks the channel of a token as claimed. It returns nil if the token is unknown, expired or
// already claimed, or belongs to another peer id.
func (s *Secured) claim(id wire.VerifyIdentity) *SecuredAssociation {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.tokens[id.ConnectToken]
	if c == nil || int32(c.peer) != id.PeerID || c.claimed || time.Since(c.since) > tokenLifetime {
		return nil
	}
	c.claimed = true
	return c
}

// recordHandler handles the records of one DTLS association. The association is unauthenticated until VERIFY_IDENTITY succeeds.
type recordHandler struct {
	s     *Secured
	a     *dtls.Association
	timer *time.Timer

	bound atomic.Pointer[SecuredAssociation] // written once, by OnRecord
}

// late ends an association that has not sent VERIFY_IDENTITY in time.
func (v *recordHandler) late() {
	if v.bound.Load() == nil {
		v.s.o.Counters.Identities.Add(counters.IdentityLate, 1)
		v.a.Close()
	}
}

// OnRecord implements dtls.Handler. It ignores bytes after the unit (realtime.md 2).
func (v *recordHandler) OnRecord(plain []byte) {
	var h wire.Header
	packet, err := h.ParseUnit(plain)
	c := v.bound.Load()
	switch {
	case err != nil:
		v.drop(counters.DropFastMalformed)
	case h.OpCode == wire.OpVerifyIdentity && h.Command == wire.CommandVerifyIdentity:
		v.verify(c, &h)
	case c == nil:
		v.drop(counters.DropBeforeLogin)
	case h.OpCode == wire.OpUDPConnect || h.OpCode == wire.OpClientAck:
		v.drop(counters.DropWrongChannel) // RT-34: the plain handshake has no effect over DTLS
	case !c.fresh(h.Sequence):
		v.drop(counters.DropFastStale)
	default:
		c.handler.OnFast(packet)
	}
}

// OnClosed implements dtls.Handler.
func (v *recordHandler) OnClosed(error) {
	v.timer.Stop()
	if c := v.bound.Load(); c != nil {
		c.lost(v.a)
	}
}

func (v *recordHandler) drop(why counters.Drop) { v.s.o.Counters.Dropped.Add(why, 1) }

// verify answers VERIFY_IDENTITY (realtime.md 8.2). If the peer missed the answer and asks again, it answers again.
func (v *recordHandler) verify(c *SecuredAssociation, h *wire.Header) {
	id, err := wire.ParseVerifyIdentity(h.Inner)
	again := c != nil && err == nil && id.ConnectToken == c.token && id.PeerID == int32(c.peer)
	if c == nil && err == nil {
		c = v.s.claim(id)
	}
	if err != nil || c == nil || v.bound.Load() != nil && !again {
		v.s.o.Counters.Identities.Add(counters.IdentityRefused, 1)
		answer := wire.NewVerifyIdentityResult(wire.VerifyIdentityResult{})
		defer answer.Release()
		v.a.Write(answer.AppendFast(nil, 0))
		v.a.Close()
		return
	}
	answer := wire.NewVerifyIdentityResult(wire.VerifyIdentityResult{Success: true, PeerID: int32(c.peer)})
	c.fresh(h.Sequence)
	if again {
		c.write(answer)
		answer.Release()
		return
	}
	if !c.bind(v.a, answer) {
		answer.Release()
		v.a.Close()
		return
	}
	v.bound.Store(c)
	v.timer.Stop()
	v.s.o.Counters.Identities.Add(counters.IdentityVerified, 1)
	aboutPeer(v.s.o.Log.Debug(), c.handler, c.peer).Stringer("remote", v.a.RemoteAddr()).Msg("secured fast channel verified")
	c.handler.OnVerified(answer)
}

// SecuredAssociation is the secured channel of a logged-in peer. No method blocks. All methods are safe for
// concurrent use. After Close they have no effect.
type SecuredAssociation struct {
	s       *Secured
	peer    messages.PeerID
	handler SecuredHandler
	token   string
	since   time.Time // when the token became valid; guarded by s.mu
	claimed bool      // guarded by s.mu
	ready   atomic.Bool

	mu      sync.Mutex
	under   *dtls.Association // nil until bound
	number  int32             // number of the next datagram to the peer
	highest int32             // highest received number
	closed  bool
	buf     []byte
}

// Token returns the connectToken to announce.
func (c *SecuredAssociation) Token() string { return c.token }

// Ready reports whether fast messages to the peer use DTLS. It costs one atomic load.
func (c *SecuredAssociation) Ready() bool { return c.ready.Load() }

// Send encrypts and sends f with the next number of the peer's series (realtime.md 9). It takes no reference to f. It
// returns false if the channel is not ready, if f is too large for a datagram, or if the kernel did not accept the
// datagram. The last two cases are counted.
func (c *SecuredAssociation) Send(f *wire.Frame) bool {
	if !c.ready.Load() {
		return false
	}
	if f.Len()+numberSize+1 > dtls.PlainMax {
		c.s.o.Counters.Dropped.Add(counters.DropPayloadTooLarge, 1)
		return false
	}
	return c.write(f)
}

func (c *SecuredAssociation) write(f *wire.Frame) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeLocked(f)
}

func (c *SecuredAssociation) writeLocked(f *wire.Frame) bool {
	if c.under == nil || c.closed || c.number == math.MaxInt32 { // clients do not support wrap-around
		return false
	}
	c.buf = f.AppendFast(c.buf[:0], c.number)
	if !c.under.Write(c.buf) {
		return false
	}
	c.number++
	return true
}

// bind sets the peer's association and sends the answer, as the first packet of the channel.
func (c *SecuredAssociation) bind(a *dtls.Association, answer *wire.Frame) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.under != nil {
		return false
	}
	c.under = a
	c.writeLocked(answer)
	c.ready.Store(true)
	c.s.o.Counters.Connections.Add(counters.DTLS, 1)
	return true
}

// lost takes the channel down after the given association has ended. With nil it does so for any association. The login continues.
func (c *SecuredAssociation) lost(ended *dtls.Association) (under *dtls.Association) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if under = c.under; under == nil || ended != nil && ended != under {
		return nil
	}
	c.under = nil
	c.ready.Store(false)
	c.s.o.Counters.Connections.Add(counters.DTLS, -1)
	return under
}

// Restart is called when the peer reports, over its WebSocket, that it receives nothing here. It ends the association.
// Then another association may present the token, as after a login. Until that happens the channel is not ready.
func (c *SecuredAssociation) Restart() {
	under := c.lost(nil)
	c.s.mu.Lock()
	c.claimed, c.since = false, time.Now()
	c.s.mu.Unlock()
	if under != nil {
		under.Close()
		c.s.o.Counters.Fallbacks.Add(counters.DTLS, 1)
	}
}

// fresh records a number. It returns false if the number is not above all earlier ones.
func (c *SecuredAssociation) fresh(number int32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number <= c.highest { // D-109
		return false
	}
	c.highest = number
	return true
}

// Close ends the channel and its association, and invalidates the token. It is idempotent.
func (c *SecuredAssociation) Close() {
	c.s.mu.Lock()
	delete(c.s.tokens, c.token)
	c.s.mu.Unlock()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	if under := c.lost(nil); under != nil {
		under.Close()
	}
}
