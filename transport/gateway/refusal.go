package gateway

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"troupe/messages"
	"troupe/transport"
)

// A valid login is never refused because of earlier logins, of other players behind the
// same address or of the same player: limits on logins only delay (D-9). An index in memory
// says whether the id exists, so that guessed ids reach no actor and no queue.

const (
	// loginPause delays a login over the limit of its player session id. The player actor shortens it if the player would lose its seat.
	loginPause = time.Second
	// refusalStep rounds the time of a refusal after the LOGIN was read, so that it does not show which check failed.
	refusalStep = 50 * time.Millisecond
	// guessPause delays guessesHeldMax refusals at a time to an address with too many failed logins. A connection whose refusal is delayed
	// still counts as one without a login.
	guessPause     = time.Second
	guessesHeldMax = 4
)

// pauseOf counts a login of an id that exists and returns how long it has to wait.
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

// Refused implements connection.Edge. Logins with unknown ids count against the address.
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

// heldGuesses counts delayed refusals per address. Each guessPause begins with an empty map. Safe for concurrent use.
type heldGuesses struct {
	mu    sync.Mutex
	since time.Time
	of    map[netip.Prefix]int
}

// enter counts a refusal to source, and reports whether it is delayed.
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
