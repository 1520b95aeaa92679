package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/messages"
)

const (
	nameMax = 1024
	// createMax is how long a creation waits for its game session to become ACTIVE. createPoll is the
	// interval at which it checks the status.
	createMax  = 15 * time.Second
	createPoll = 20 * time.Millisecond
)

// createGameSession creates a game session. It responds when the game session is no longer ACTIVATING.
func (c *Console) createGameSession(w http.ResponseWriter, r *http.Request, q query) *problem {
	name := q.text("name")
	if len(name) > nameMax {
		return invalid("name is longer than %d bytes", nameMax)
	}
	ctx, cancel := context.WithTimeout(r.Context(), createMax)
	defer cancel()
	g, err := messages.Do(ctx, c.o.Backend, messages.CreateGameSession{
		FleetID: messages.FleetID(q.text("fleet")), Location: q.text("location"), Name: name, MaxPlayers: q.numbers["maxPlayers"],
	})
	if err != nil {
		return refused(err)
	}
	look := time.NewTicker(createPoll)
	defer look.Stop()
	for g.Status == messages.GameSessionActivating && ctx.Err() == nil {
		select {
		case <-look.C:
		case <-ctx.Done():
		}
		if g, err = messages.Do(r.Context(), c.o.Backend, messages.GameSessionQuery{ID: g.ID}); err != nil {
			return refused(err)
		}
	}
	return answer(w, shownGameSession(g))
}

// seat is a reserved player session with its complete id, which allows its holder to log in.
type seat struct {
	PlayerSessionID string `json:"playerSessionId"`
	PlayerID        string `json:"playerId"`
	GameSessionID   string `json:"gameSessionId"`
	// addresses of the listeners that browsers can use; the one that the game session's fleet announces comes
	// first
	URLs []string `json:"urls"`
}

// createPlayerSession reserves a player session for the operator. Without a login, it expires after 60 s
// (service-api.md 2.7).
func (c *Console) createPlayerSession(w http.ResponseWriter, r *http.Request, q query) *problem {
	if c.o.Cluster != nil && q.text("node") == "" { // the node of the game session knows its own addresses
		g, err := messages.Do(r.Context(), c.o.Backend, messages.GameSessionQuery{ID: messages.GameSessionID(q.text("gameSession"))})
		if err != nil {
			return refused(err)
		}
		if g.Node != c.nodeName() {
			return c.passOn(w, r, q, g.Node, true)
		}
	}
	made, err := messages.Do(r.Context(), c.local(), messages.CreatePlayerSessions{
		GameSessionID: messages.GameSessionID(q.text("gameSession")),
		Players:       []messages.NewPlayer{{PlayerID: messages.PlayerID(q.text("player")), PlayerData: q.text("data")}},
	})
	if err != nil {
		return refused(err)
	}
	s := made[0]
	urls := slices.Clone(c.o.GameURLs())
	if len(urls) == 2 && strings.HasSuffix(urls[1], ":"+strconv.Itoa(s.Port)) {
		slices.Reverse(urls)
	}
	return answer(w, seat{string(s.ID), string(s.PlayerID), string(s.GameSessionID), urls})
}

// policyMax is the maximum length of the addresses of other nodes in a policy, in bytes. Proxies such as nginx refuse
// answers whose headers are longer than 4 KiB. About fifty nodes fit.
const policyMax = 3000

// pagePolicy returns the content security policy of the HTML document. In addition to policy, it allows
// connections to the game listeners, for the playground: those of this host, and those of the other nodes that are
// known when the page is loaded, because a game session may run there. It names each address instead of allowing all
// (ws: wss:), so that a script that got into the page could send data to no other place. The price: the page must be
// loaded again to reach a node that joins later, or one beyond policyMax. A policy cannot contain an IPv6 address
// (CSP 3, 2.3.1 host-source). In that case the playground says that public.host must be set.
func (c *Console) pagePolicy() string {
	var listeners strings.Builder
	for _, u := range c.o.GameURLs() {
		if sourceExpression(u) {
			listeners.WriteString(" " + u)
		}
	}
	if c.o.Cluster != nil {
		most := listeners.Len() + policyMax
		for _, u := range c.o.Cluster.GameURLs() {
			if sourceExpression(u) && listeners.Len()+1+len(u) <= most {
				listeners.WriteString(" " + u)
			}
		}
	}
	return strings.Replace(policy, "connect-src 'self'", "connect-src 'self'"+listeners.String(), 1)
}

// sourceExpression reports whether u is a valid source in a policy and cannot add anything else to it.
func sourceExpression(u string) bool {
	scheme, rest, ok := strings.Cut(u, "://")
	return ok && (scheme == "ws" || scheme == "wss") && rest != "" && !strings.ContainsFunc(rest, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == ':')
	})
}
