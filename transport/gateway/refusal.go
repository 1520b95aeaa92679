package gateway

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"troupe/messages"
	"troupe/transport"
)

// A valid login is never refused because of earlier logins, neither of other players from
// the same address nor of the same player: limits on logins only delay them (D-9). An index
// in memory tells whether an id exists, so guessed ids reach no actor and no queue.

const (
	// loginPause is the delay of a login that exceeds the limit of its player session id. The player actor shortens it
	// if the player would otherwise lose its seat.
	loginPause = time.Second
	// refusalStep is the unit of the time between a LOGIN and its refusal. The time is rounded up to it, so
	// that it does not show which check failed.
	refusalStep = 50 * time.Millisecond
	// guessPause is the additional delay of refusals to an address with too many failed logins. At most guessesHeldMax
	// refusals to one address are delayed at a time. Meanwhile their connections still count as connections without a login.
	guessPause     = time.Second
	guessesHeldMax = 4
)

// pauseOf counts a login with an existing id and returns how long the login must wait.
func (g *Gateway) pauseOf(id messages.PlayerSessionID, token string, now time.Time) time.Duration {
	perID := g.logins
	if token != "" {
		perID = g.resumes
	}
	key := maphash.String(g.seed, string(id))
	over := perID.over(now, key)
	perID.add(now, key)
	if over {
		return loginPause
	}
	return 0
}

// Refused implements connection.Edge. It counts logins with unknown ids against the address.
func (p *peer) Refused() time.Duration {
	g, now, source := p.gateway, time.Now(), transport.SourceOf(p.ip())
	wait := refusalStep - (now.Sub(g.started)-p.readAt)%refusalStep
	if g.failures.over(now, source) && g.held.enter(now, source) {
		wait += guessPause
	}
	if p.unknown {
		g.failures.add(now, source)
	}
	return wait
}

// heldGuesses counts the delayed refusals per address. It is cleared after each guessPause. It is safe for concurrent use.
type heldGuesses struct {
	mu    sync.Mutex
	since time.Time
	of    map[netip.Prefix]int
}

// enter counts a refusal to source, and reports whether to delay it.
func (h *heldGuesses) enter(now time.Time, source netip.Prefix) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil || now.Sub(h.since) >= guessPause {
		h.of, h.since = make(map[netip.Prefix]int), now
	}
	if h.of[source] >= guessesHeldMax {
		return false
	}
	h.of[source]++
	return true
}
