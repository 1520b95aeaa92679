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
	// createMax is how long a creation waits for its game session to become ACTIVE, createPoll how often it looks.
	createMax  = 15 * time.Second
	createPoll = 20 * time.Millisecond
)

// createGameSession creates a game session, and answers when it is not ACTIVATING any more.
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

// seat is a player session that was reserved, with its whole id: who has it may log in.
type seat struct {
	PlayerSessionID string   `json:"playerSessionId"`
	PlayerID        string   `json:"playerId"`
	GameSessionID   string   `json:"gameSessionId"`
	URLs            []string `json:"urls"` // of the listeners that browsers can use; that of the game session's fleet first
}

// createPlayerSession reserves a seat for an operator to play. It is free again after 60 s without a login (service-api.md 2.7).
func (c *Console) createPlayerSession(w http.ResponseWriter, r *http.Request, q query) *problem {
	made, err := messages.Do(r.Context(), c.o.Backend, messages.CreatePlayerSessions{
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

// pagePolicy is the policy of the document, whose playground connects to the host's own game listeners as well. A policy cannot name an
// IPv6 address (CSP 3, 2.3.1 host-source): for one, the playground says that public.host is needed.
func (c *Console) pagePolicy() string {
	var listeners strings.Builder
	for _, u := range c.o.GameURLs() {
		if sourceExpression(u) {
			listeners.WriteString(" " + u)
		}
	}
	return strings.Replace(policy, "connect-src 'self'", "connect-src 'self'"+listeners.String(), 1)
}

// sourceExpression reports whether an address can stand in a policy, and is nothing but one of it.
func sourceExpression(u string) bool {
	scheme, rest, ok := strings.Cut(u, "://")
	return ok && (scheme == "ws" || scheme == "wss") && rest != "" && !strings.ContainsFunc(rest, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == ':')
	})
}
