package console

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"troupe/messages"
	"troupe/messages/search"
)

type gameSession struct {
	ID             string            `json:"id"`
	Name           string            `json:"name"`
	FleetID        string            `json:"fleetId"`
	Location       string            `json:"location"`
	Address        string            `json:"address"` // that its players are told: IP address and port
	Status         string            `json:"status"`
	StatusReason   string            `json:"statusReason"`
	EndText        string            `json:"endText"`
	Players        int               `json:"players"` // player sessions RESERVED or ACTIVE
	MaxPlayers     int               `json:"maxPlayers"`
	AcceptsPlayers bool              `json:"acceptsPlayers"`
	CreatorID      string            `json:"creatorId"`
	Properties     map[string]string `json:"properties"`
	ScriptVersion  string            `json:"scriptVersion"`
	Created        *time.Time        `json:"created"`
	Terminated     *time.Time        `json:"terminated"` // null while it runs
}

func shownGameSession(g *messages.GameSession) gameSession {
	s := gameSession{
		ID: string(g.ID), Name: g.Name, FleetID: string(g.FleetID), Location: g.Location, Status: g.Status.String(), StatusReason: g.StatusReason,
		EndText: g.EndText, Players: g.CurrentPlayers, MaxPlayers: g.MaxPlayers, AcceptsPlayers: g.AcceptsPlayers, CreatorID: g.CreatorID,
		Properties: map[string]string{}, ScriptVersion: g.ScriptVersion, Created: timeOf(g.Created), Terminated: timeOf(g.Terminated),
	}
	if g.IPAddress != "" {
		s.Address = net.JoinHostPort(g.IPAddress, strconv.Itoa(g.Port))
	}
	for _, p := range g.Properties {
		s.Properties[p.Key] = p.Value
	}
	return s
}

// gameSessions lists game sessions with the grammar of SearchGameSessions (service-api.md 4), in pages.
func (c *Console) gameSessions(w http.ResponseWriter, r *http.Request, q query) *problem {
	at, p := placeIn[position](q)
	if p != nil {
		return p
	}
	var after *messages.GameSessionPosition
	if at != nil {
		after = &messages.GameSessionPosition{Absent: at.Absent, Number: at.Number, Text: string(at.Text), ID: at.ID, Cut: at.Cut}
	}
	wanted, _ := messages.ParseGameSessionStatus(q.words["status"]) // 0, any
	found, p := c.find(r, messages.FindGameSessions{
		FleetID: messages.FleetID(q.text("fleet")), AliasID: messages.AliasID(q.text("alias")), Location: q.text("location"), Status: wanted,
		Filter: q.text("filter"), Sort: cmp.Or(q.text("sort"), "creationTimeMillis DESC"), After: after, Limit: q.numbers["limit"], TextMax: nextTextMax,
	})
	if p != nil {
		return p
	}
	out := struct {
		GameSessions []gameSession `json:"gameSessions"`
		Matched      int           `json:"matched"`
		Next         *string       `json:"next"`
	}{GameSessions: shownAll(found.GameSessions, shownGameSession), Matched: found.Matched}
	if at := found.Next; at != nil {
		out.Next = nextOf(position{at.Absent, at.Number, []byte(at.Text), at.ID, at.Cut})
	}
	return answer(w, out)
}

const nextTextMax = 600 // bounds the text of an operand in next, in bytes: a name may be longer than a parameter

// position is what next contains: the place of the last game session of a page in the order.
type position struct {
	Absent bool                   `json:"a"`
	Number int64                  `json:"n"`
	Text   []byte                 `json:"t"` // the end of a cut one need not be UTF-8
	ID     messages.GameSessionID `json:"g"`
	Cut    bool                   `json:"c"`
}

// nextOf is a place in a list as an answer has it, for the next page.
func nextOf(place any) *string {
	raw, _ := json.Marshal(place) // texts and numbers only
	return new(base64.RawURLEncoding.EncodeToString(raw))
}

var errNext = invalid("next must be the next of an earlier answer")

// placeIn is the place in a query, nil for the first page.
func placeIn[T any](q query) (*T, *problem) {
	next := q.text("next")
	if next == "" {
		return nil, nil
	}
	at := new(T)
	raw, err := base64.RawURLEncoding.DecodeString(next)
	if err != nil || json.Unmarshal(raw, at) != nil {
		return nil, errNext
	}
	return at, nil
}

func (c *Console) find(r *http.Request, q messages.FindGameSessions) (messages.FoundGameSessions, *problem) {
	if q.FleetID != "" && q.AliasID != "" {
		return messages.FoundGameSessions{}, invalid("give fleet or alias, not both")
	}
	if _, err := search.ParseFilter(q.Filter); q.Filter != "" && err != nil {
		return messages.FoundGameSessions{}, invalid("filter: %v", err)
	}
	if _, err := search.ParseSort(q.Sort); q.Sort != "" && err != nil {
		return messages.FoundGameSessions{}, invalid("sort: %v", err)
	}
	found, err := messages.Do(r.Context(), c.o.Backend, q)
	if err != nil {
		return found, refused(err)
	}
	return found, nil
}

func (c *Console) active(r *http.Request, fleet messages.FleetID) ([]*messages.GameSession, *problem) {
	found, p := c.find(r, messages.FindGameSessions{FleetID: fleet, Status: messages.GameSessionActive})
	return found.GameSessions, p
}

type player struct {
	GameSessionID string     `json:"gameSessionId"`
	PlayerSession string     `json:"playerSession"` // shortened
	PlayerID      string     `json:"playerId"`
	Status        string     `json:"status"`
	State         string     `json:"state"` // reserved, attached, detached or gone
	Peer          int        `json:"peer"`  // 0 before the first login
	Transport     string     `json:"transport"`
	Address       string     `json:"address"`
	RTTSeconds    *float64   `json:"rttSeconds"` // null if it is not known
	Fast          bool       `json:"fast"`
	Waiting       int        `json:"waiting"`
	Unconfirmed   int        `json:"unconfirmed"`
	QueueBytes    int        `json:"queueBytes"`
	Slow          bool       `json:"slow"`
	MessagesIn    uint64     `json:"messagesIn"`   // from the player, since it came into the game
	MessagesOut   uint64     `json:"messagesOut"`  // to the player
	InPerSecond   *float64   `json:"inPerSecond"`  // null until two answers about all players are a second apart
	OutPerSecond  *float64   `json:"outPerSecond"` // null as well
	Reason        string     `json:"reason"`
	ReasonAt      *time.Time `json:"reasonAt"`
	Created       *time.Time `json:"created"`
	Terminated    *time.Time `json:"terminated"`
}

func shownPlayer(game messages.GameSessionID, p *messages.PlayerState) player {
	s := player{
		GameSessionID: string(game), PlayerSession: "psess-" + p.ID.Short(), PlayerID: string(p.PlayerID), Status: p.Status.String(), State: stateOf(p),
		Peer: int(p.Peer), Transport: p.Transport, Fast: p.Fast, Waiting: p.Waiting, Unconfirmed: p.Unconfirmed, QueueBytes: p.QueueBytes, Slow: p.Slow,
		MessagesIn: p.Received, MessagesOut: p.Sent,
		Reason: p.Reason, ReasonAt: timeOf(p.ReasonAt), Created: timeOf(p.Created), Terminated: timeOf(p.Terminated),
	}
	if p.Address.IsValid() {
		s.Address = p.Address.String()
	}
	if p.RTT > 0 {
		s.RTTSeconds = new(p.RTT.Seconds())
	}
	return s
}

func stateOf(p *messages.PlayerState) string {
	switch {
	case p.Attached:
		return "attached"
	case p.InGame:
		return "detached"
	case p.Status == messages.PlayerSessionReserved:
		return "reserved"
	}
	return "gone"
}

type group struct {
	ID    int   `json:"id"`
	Peers []int `json:"peers"`
}

func (c *Console) gameSession(w http.ResponseWriter, r *http.Request, q query) *problem {
	id := messages.GameSessionID(q.text("id"))
	g, err := messages.Do(r.Context(), c.o.Backend, messages.GameSessionQuery{ID: id})
	if err != nil {
		return refused(err)
	}
	state := new(messages.GameSessionState)
	inspected, silent, err := c.inspect(r.Context(), id)
	if g.Status == messages.GameSessionTerminated {
		silent = false
		if err == nil {
			state.Moments = inspected.Moments
		}
	} else {
		if err == nil {
			state = inspected
		} else if !errors.Is(err, &messages.Error{Code: messages.InvalidGameSessionStatus}) { // it has ended meanwhile
			return refused(err)
		}
	}
	out := struct {
		gameSession
		PlayerList []player `json:"playerList"`
		Groups     []group  `json:"groups"`
		Moments    []moment `json:"moments"` // its time line, the newest first; of one that has ended, while it is among the last 200 since the start of the host
		Silent     bool     `json:"silent"`  // it runs, and does not answer: players are from their records
	}{shownGameSession(g), []player{}, []group{}, shownMoments(state.Moments), silent}
	for i := range state.Players {
		out.PlayerList = append(out.PlayerList, shownPlayer(id, &state.Players[i]))
	}
	if len(state.Players) == 0 { // it has ended, or is silent: what its records say
		records, err := messages.Do(r.Context(), c.o.Backend, messages.PlayerSessionQuery{GameSessionID: id})
		if err != nil {
			return refused(err)
		}
		for _, s := range records {
			out.PlayerList = append(out.PlayerList, recordedPlayer(s))
		}
	}
	for _, one := range state.Groups {
		members := group{int(one.ID), []int{}}
		for _, peer := range one.Members {
			members.Peers = append(members.Peers, int(peer))
		}
		out.Groups = append(out.Groups, members)
	}
	return answer(w, out)
}

// recordedPlayer is a player session of which only the record is known.
func recordedPlayer(s *messages.PlayerSession) player {
	p := shownPlayer(s.GameSessionID, &messages.PlayerState{ID: s.ID, PlayerID: s.PlayerID, Status: s.Status, Created: s.Created, Terminated: s.Terminated})
	if s.Status == messages.PlayerSessionActive {
		p.State = "active"
	}
	return p
}

func (c *Console) terminate(w http.ResponseWriter, r *http.Request, q query) *problem {
	return answerAsked(c, w, r, messages.TerminateGameSession{
		GameSessionID: messages.GameSessionID(q.text("id")), Force: q.words["force"] == "true",
	}, shownGameSession)
}
