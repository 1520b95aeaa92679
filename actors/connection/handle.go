package connection

import (
	"strconv"
	"sync/atomic"
	"time"

	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Link is what is needed of a transport's connection. Methods may be called from
// any goroutine and do not block.
type Link interface {
	player.Link
	Send(f *wire.Frame)
	Ping(payload []byte)
	// Reached tells how many bytes of output the peer's system has acknowledged, and
	// whether it has the oldest ping that is not answered.
	Reached() (acked uint64, ping bool)
	LoggedIn()
}

// Edge is what the layer that accepted a connection does for it. Methods may be
// called from any goroutine and do not block.
type Edge interface {
	// OpenFast sets up the fast channel for the peer that the connection serves.
	OpenFast(peer messages.PeerID) player.FastOffer
	// Refused tells that the connection's LOGIN is answered with no, and for good. It
	// returns how long that answer has to wait.
	Refused() time.Duration
}

// Handle is one connection. It implements player.Newcomer.
type Handle struct {
	ref     *stage.Ref
	link    Link
	edge    Edge
	count   *counters.Set
	opened  time.Time
	alive   atomic.Int64 // nanoseconds after opened
	busy    atomic.Bool  // the reader is in the host's own hands
	bound   atomic.Pointer[player.Attachment]
	channel counters.Channel
	why     atomic.Uint64 // a wire.Refusal
	caps    uint64        // of the LOGIN; set before it is passed on
}

// ended marks a Handle whose connection is gone.
var ended = new(player.Attachment)

// NewHandle makes the handle of a fresh connection. The actor behind it is
// spawned by the Supervisor.
func NewHandle(s *stage.Stage, link Link, channel counters.Channel, edge Edge, count *counters.Set) *Handle {
	return &Handle{ref: s.NewRef(counters.ActorConnection, stage.LaneLimits{}), link: link, channel: channel,
		edge: edge, count: count, opened: time.Now()}
}

// Attachment returns whom the connection serves, nil before the login is
// accepted and after the end.
func (h *Handle) Attachment() *player.Attachment {
	if a := h.bound.Load(); a != ended {
		return a
	}
	return nil
}

// Alive notes a sign of life.
func (h *Handle) Alive() { h.alive.Store(int64(time.Since(h.opened))) }

// Pong notes the answer to a ping: a sign of life, and what came before the ping
// has arrived (reliability.md 2.5). The payload is valid during the call.
func (h *Handle) Pong(payload []byte) {
	h.Alive()
	if a := h.Attachment(); a != nil {
		a.Player.Out.Echoed(a.Epoch, payload)
	}
}

// Gone implements player.Newcomer.
func (h *Handle) Gone() bool { return h.bound.Load() == ended }

// Busy tells that the connection's reader is held up by the host, from now until
// it is told otherwise: the peer's signs of life wait unread, so it does not
// count as silent (reliability.md 2.7).
func (h *Handle) Busy(busy bool) {
	h.busy.Store(busy)
	if !busy {
		h.Alive()
	}
}

// Silence implements player.Newcomer: how long there was no sign of life.
func (h *Handle) Silence() time.Duration {
	if h.busy.Load() {
		return 0
	}
	return time.Since(h.opened) - time.Duration(h.alive.Load())
}

// Caps notes what the client understands. To be called before Login and Refuse.
func (h *Handle) Caps(caps uint64) { h.caps = caps }

// LoginSeen notes that a LOGIN was read, which Login or Refuse follows: the connection
// has kept its time, however long it waits for its turn.
func (h *Handle) LoginSeen() { h.ref.Tell(loginSeen{}) }

// Login passes on a LOGIN that was read.
func (h *Handle) Login(l *player.Login) { h.ref.Tell(loginRead{l}) }

// Challenge implements player.Newcomer.
func (h *Handle) Challenge() {
	var payload [20]byte
	h.link.Ping(h.mark(payload[:0], time.Time{}))
}

// mark appends what a ping sent now is to carry: how far the player is served
// (reliability.md 2.5). It is short ASCII text, because the official C# library
// passes it through UTF-8 (D-4). ReachedAt is since when the peer's system is known
// to have a ping.
func (h *Handle) mark(dst []byte, reachedAt time.Time) []byte {
	n := uint64(0)
	if a := h.Attachment(); a != nil {
		n = a.Player.Out.Mark(a.Epoch, reachedAt, h.opened.Add(time.Duration(h.alive.Load())))
	}
	return strconv.AppendUint(dst, n, 10)
}

// Ended notes that the transport's connection is gone, after all that was read
// from it was posted. Clean is a leave.
func (h *Handle) Ended(clean bool, reason string) {
	if a := h.bound.Swap(ended); a != nil && a != ended {
		a.Session.TellInOrder(player.Ended{Player: a.Player, Epoch: a.Epoch, Clean: clean, Reason: reason})
		a.Player.Out.Abandon(h.link)
	}
	h.ref.Tell(gone{})
}

// Link implements player.Newcomer.
func (h *Handle) Link() player.Link { return h.link }

// Channel implements player.Newcomer.
func (h *Handle) Channel() counters.Channel { return h.channel }

// OpenFast implements player.Newcomer.
func (h *Handle) OpenFast(peer messages.PeerID) player.FastOffer {
	return h.edge.OpenFast(peer)
}

// Bind implements player.Newcomer.
func (h *Handle) Bind(a *player.Attachment) bool {
	if !h.bound.CompareAndSwap(nil, a) {
		return false
	}
	h.link.LoggedIn()
	h.ref.Tell(attached{a})
	return true
}

// Because implements player.Newcomer.
func (h *Handle) Because(why wire.Refusal) { h.why.Store(uint64(why)) }

// Refuse implements player.Newcomer: LOGIN_RESPONSE with false, then a normal
// close (D-105), or one that says to try later. The close code is all that a stock client
// has to tell the two apart.
func (h *Handle) Refuse(after time.Duration) {
	h.count.Logins.Add(counters.LoginRefused, 1)
	if after > 0 {
		h.answer(&wire.LoginResult{Caps: h.caps, RetryAfterMs: uint64(after.Milliseconds())}, messages.CloseTryLater)
		return
	}
	if wait := h.edge.Refused(); wait > 0 {
		h.ref.Tell(refuseLater{h, wait})
		return
	}
	h.refuse()
}

func (h *Handle) refuse() {
	var no wire.LoginResult
	if why := h.why.Load(); why != 0 {
		no.Caps, no.Outcome = h.caps, why
	}
	h.answer(&no, messages.CloseNormal)
}

func (h *Handle) answer(no *wire.LoginResult, reason messages.CloseReason) {
	h.link.Send(wire.NewLoginResult(no))
	h.link.Close(reason)
}
