package connection

import (
	"cmp"
	"strconv"
	"sync/atomic"
	"time"

	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Link is the interface of a transport's connection. Any goroutine may call its methods. They do not block.
type Link interface {
	player.Link
	Send(f *wire.Frame)
	Ping(payload []byte)
	// Reached returns how many bytes of output the peer's system has acknowledged. ping says whether the oldest
	// unanswered ping has reached that system.
	Reached() (acked uint64, ping bool)
	LoggedIn()
}

// Edge is the layer that accepted the connection. Any goroutine may call its methods. They do not block.
type Edge interface {
	// OpenFast opens the fast channel for the player with the given peer id.
	OpenFast(peer messages.PeerID) player.FastOffer
	// Refused records that the connection's LOGIN is finally refused. It returns for how long the answer must be
	// delayed.
	Refused() time.Duration
}

// Handle is one connection. It implements player.LoginConn.
type Handle struct {
	ref     *stage.Ref
	link    Link
	edge    Edge
	count   *counters.Set
	opened  time.Time
	alive   atomic.Int64 // time of the last sign of life, in nanoseconds after opened
	bound   atomic.Pointer[player.Attachment]
	busy    atomic.Bool // the host currently keeps the reader from reading
	channel counters.Channel
	why     atomic.Uint32 // a wire.Refusal
	counted atomic.Uint32 // a counters.LoginRefusal that overrides the one derived from why; 0 if not set
	caps    uint64        // capabilities in the LOGIN; set before the LOGIN is forwarded
	over    wire.Over     // set before the LOGIN is refused
}

// ended is the value of bound after the connection has ended.
var ended = new(player.Attachment)

// NewHandle creates the handle of a new connection. The Supervisor spawns its actor.
func NewHandle(s *stage.Stage, link Link, channel counters.Channel, edge Edge, count *counters.Set) *Handle {
	return &Handle{ref: s.NewRef(counters.ActorConnection, stage.LaneLimits{}), link: link, channel: channel,
		edge: edge, count: count, opened: time.Now()}
}

// Attachment returns the player that the connection serves. It returns nil before the login is accepted and after the
// connection has ended.
func (h *Handle) Attachment() *player.Attachment {
	if a := h.bound.Load(); a != ended {
		return a
	}
	return nil
}

func (h *Handle) age() time.Duration { return time.Since(h.opened) }

// at converts an age to a time. 0 becomes the zero time.
func (h *Handle) at(age time.Duration) time.Time {
	if age == 0 {
		return time.Time{}
	}
	return h.opened.Add(age)
}

// Alive records a sign of life.
func (h *Handle) Alive() { h.alive.Store(int64(h.age())) }

// Pong records the answer to a ping. It is a sign of life and proves that earlier output has arrived. The payload is
// valid only during the call.
func (h *Handle) Pong(payload []byte) {
	h.Alive()
	if a := h.Attachment(); a != nil {
		a.Player.Out.Echoed(a.Epoch, payload)
	}
}

// Gone implements player.LoginConn.
func (h *Handle) Gone() bool { return h.bound.Load() == ended }

// Busy sets whether the host currently keeps the reader from reading. While it does, the peer does not count as silent,
// because its signs of life remain unread (reliability.md 2.7).
func (h *Handle) Busy(busy bool) {
	h.busy.Store(busy)
	if !busy {
		h.Alive()
	}
}

// Silence implements player.LoginConn. It returns the time since the last sign of life.
func (h *Handle) Silence() time.Duration {
	if h.busy.Load() {
		return 0
	}
	return time.Since(h.opened) - time.Duration(h.alive.Load())
}

// Caps records the capabilities of the client. It must be called before Login and Refuse.
func (h *Handle) Caps(caps uint64) { h.caps = caps }

// LoginSeen records that a LOGIN was read. Login or Refuse follows. LoginSeen ends the login timeout, so that the LOGIN
// may wait in a queue for any time.
func (h *Handle) LoginSeen() { h.ref.Tell(loginSeen{}) }

// Login forwards a LOGIN.
func (h *Handle) Login(l *player.Login) { h.ref.Tell(loginRead{l}) }

// Challenge implements player.LoginConn.
func (h *Handle) Challenge() {
	var payload [20]byte
	h.link.Ping(h.mark(payload[:0], time.Time{}))
}

// mark appends the payload of a ping: the number of the last message that was sent to the player (reliability.md 2.5).
// It is in ASCII because the official C# library converts payloads to UTF-8. reachedAt is the time since which the
// peer's system is known to have received a ping.
func (h *Handle) mark(dst []byte, reachedAt time.Time) []byte {
	n := uint64(0)
	if a := h.Attachment(); a != nil {
		n = a.Player.Out.Mark(a.Epoch, reachedAt, h.opened.Add(time.Duration(h.alive.Load())))
	}
	return strconv.AppendUint(dst, n, 10)
}

// Ended records the end of the connection. It must be called after everything that was read has been posted. clean says
// that the player left.
func (h *Handle) Ended(clean bool, reason string) {
	if a := h.bound.Swap(ended); a != nil && a != ended {
		if clean {
			a.Player.Leaves(a.Epoch)
		}
		a.Session.TellInOrder(player.Ended{Player: a.Player, Epoch: a.Epoch, Clean: clean, Reason: reason})
		a.Player.Out.Abandon(h.link)
	}
	h.ref.Tell(gone{})
}

// Link implements player.LoginConn.
func (h *Handle) Link() player.Link { return h.link }

// Channel implements player.LoginConn.
func (h *Handle) Channel() counters.Channel { return h.channel }

// OpenFast implements player.LoginConn.
func (h *Handle) OpenFast(peer messages.PeerID) player.FastOffer {
	return h.edge.OpenFast(peer)
}

// Bind implements player.LoginConn.
func (h *Handle) Bind(a *player.Attachment) bool {
	if !h.bound.CompareAndSwap(nil, a) {
		return false
	}
	h.link.LoggedIn()
	h.ref.Tell(attached{a})
	return true
}

// SetRefusal implements player.LoginConn.
func (h *Handle) SetRefusal(why wire.Refusal) { h.why.Store(uint32(why)) }

// CountRefusal implements player.LoginConn.
func (h *Handle) CountRefusal(as counters.LoginRefusal) { h.counted.Store(uint32(as)) }

// Refuse implements player.LoginConn. It answers with a negative LOGIN_RESPONSE and closes the connection. The close
// code is either the normal one or the one for "try later". A stock client can tell the two cases apart only by that
// code.
func (h *Handle) Refuse(after time.Duration) {
	h.count.Logins.Add(counters.LoginRefused, 1)
	if after > 0 {
		h.count.LoginsRefused.Add(counters.LoginTryLater, 1)
		h.answer(&wire.LoginResult{Caps: h.caps, RetryAfterMs: uint64(after.Milliseconds())}, messages.CloseTryLater)
		return
	}
	h.count.LoginsRefused.Add(cmp.Or(counters.LoginRefusal(h.counted.Load()), refusals[wire.Refusal(h.why.Load())], counters.LoginOtherReason), 1)
	if wait := h.edge.Refused(); wait > 0 {
		h.ref.Tell(refuseLater{h, wait})
		return
	}
	h.refuse()
}

// RefuseOver is Refuse for a player whose game session is over, as the cluster knows. A client with CapMoves gets the
// reason. Caps must be called first.
func (h *Handle) RefuseOver(why wire.Over) {
	if h.caps&wire.CapMoves != 0 {
		h.over = why
	}
	h.Refuse(0)
}

// Redirect refuses a LOGIN whose game session runs on another node, which has the endpoints (see
// wire.LoginResult.Endpoints). The client must have CapMoves.
func (h *Handle) Redirect(endpoints string) {
	h.count.Logins.Add(counters.LoginRefused, 1)
	h.count.LoginsRefused.Add(counters.LoginMoved, 1)
	h.answer(&wire.LoginResult{Caps: h.caps, Endpoints: endpoints}, messages.CloseMoved)
}

// refusals maps reasons to metric labels. All other reasons count as LoginOtherReason. If there is no reason, the
// player session id is usually unknown.
var refusals = map[wire.Refusal]counters.LoginRefusal{
	wire.RefusedGameSessionEnded:   counters.LoginGameSessionEnded,
	wire.RefusedFull:               counters.LoginFull,
	wire.RefusedByGame:             counters.LoginByGame,
	wire.RefusedPlayerSessionEnded: counters.LoginPlayerSessionEnded,
	wire.RefusedToken:              counters.LoginToken,
	wire.RefusedInUse:              counters.LoginInUse,
}

func (h *Handle) refuse() {
	var no wire.LoginResult
	if why := h.why.Load(); why != 0 || h.over != 0 {
		no.Caps, no.Outcome, no.Over = h.caps, uint64(why), h.over
	}
	h.answer(&no, messages.CloseNormal) // D-105
}

func (h *Handle) answer(no *wire.LoginResult, reason messages.CloseReason) {
	h.link.Send(wire.NewLoginResult(no))
	h.link.Close(reason)
}
