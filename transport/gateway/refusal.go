package gateway

import (
	"net/netip"
	"sync"
	"time"

	"troupe/messages"
)

// A valid login is never refused for earlier logins, neither of others behind the same
// address nor of the same player: limits on logins only delay (D-9). An index in
// memory is asked first whether the id exists, so that guesses reach no actor and no queue.

const (
	// loginPause is how long a login waits that is over the limit of its id. The player
	// shortens it where its seat would be lost meanwhile.
	loginPause = time.Second
	// refusalStep: refusals are answered at a whole multiple of it after the LOGIN was
	// read, so that the time says nothing about which check failed.
	refusalStep = 50 * time.Millisecond
	// guessPause is how much later an address with too many failures gets its answers.
	guessPause = time.Second
	// guessesHeldMax is how many answers per address wait that long within one guessPause;
	// further ones do not wait. A connection whose answer waits still counts as one without
	// a login, of which an address may have 20 by default.
	guessesHeldMax = 4
)

// pauseOf counts a login of an id that exists and returns how long it has to wait.
func (g *Gateway) pauseOf(id messages.PlayerSessionID, token string, now time.Time) time.Duration {
	perID := g.logins
	if token != "" {
		perID = g.resumes
	}
	over := perID.over(now, id)
	perID.add(now, id)
	if over {
		return loginPause
	}
	return 0
}

// Refused implements connection.Edge. Ids that nobody has count against the address.
func (p *peer) Refused() time.Duration {
	now := time.Now()
	wait := refusalStep - now.Sub(p.readAt)%refusalStep
	g := p.gateway
	if g.failures.over(now, p.source) && g.held.enter(now, p.source) {
		wait += guessPause
	}
	if p.unknown {
		g.failures.add(now, p.source)
	}
	return wait
}

// heldGuesses counts the answers that wait, per address. Each guessPause begins with an empty
// map. Safe for concurrent use.
type heldGuesses struct {
	mu    sync.Mutex
	since time.Time
	of    map[netip.Prefix]int
}

// enter reports whether an answer to source may wait.
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
