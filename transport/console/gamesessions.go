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
	Node           string            `json:"node"`    // the node of a cluster that runs it, or ran it; empty without a cluster
	Address        string            `json:"address"` // IP address and port that players get
	Status         string            `json:"status"`
	StatusReason   string            `json:"statusReason"`
	EndText        string            `json:"endText"`
	Players        int               `json:"players"` // number of player sessions RESERVED or ACTIVE
	MaxPlayers     int               `json:"maxPlayers"`
	AcceptsPlayers bool              `json:"acceptsPlayers"`
	CreatorID      string            `json:"creatorId"`
	Properties     map[string]string `json:"properties"`
	ScriptVersion  string            `json:"scriptVersion"`
	Created        *time.Time        `json:"created"`
	Terminated     *time.Time        `json:"terminated"` // null while it is running
}

func shownGameSession(g *messages.GameSession) gameSession {
	s := gameSession{
		ID: string(g.ID), Name: g.Name, FleetID: string(g.FleetID), Location: g.Location, Node: g.Node, Status: g.Status.String(), StatusReason: g.StatusReason,
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

// gameSessions lists game sessions in pages, with the filter and sort grammar of SearchGameSessions
// (service-api.md 4).
func (c *Console) gameSessions(w http.ResponseWriter, r *http.Request, q query) *problem {
	at, p := placeIn[position](q)
	if p != nil {
		return p
	}
	var after *messages.GameSessionPosition
	if at != nil {
		after = &messages.GameSessionPosition{Absent: at.Absent, Number: at.Number, Text: string(at.Text), ID: at.ID, Cut: at.Cut}
	}
	wanted, _ := messages.ParseGameSessionStatus(q.words["status"]) // 0 means any status
	found, p := find(r, c.o.Backend, messages.FindGameSessions{
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
		SilentNodes  []string      `json:"silentNodes"` // nodes that did not answer; their game sessions are missing
	}{GameSessions: shownAll(found.GameSessions, shownGameSession), Matched: found.Matched, SilentNodes: c.silentNodes(found.Silent)}
	if at := found.Next; at != nil {
		out.Next = nextOf(position{at.Absent, at.Number, []byte(at.Text), at.ID, at.Cut})
	}
	return answer(w, out)
}

const nextTextMax = 600 // maximum bytes of a sort value in next; a game session's name may be longer than a parameter

// position is the content of next: the sort key of the last game session of a page.
type position struct {
	Absent bool                   `json:"a"`
	Number int64                  `json:"n"`
	Text   []byte                 `json:"t"` // may end within a UTF-8 sequence if it was cut
	ID     messages.GameSessionID `json:"g"`
	Cut    bool                   `json:"c"`
}

// nextOf encodes a position in a list as next.
func nextOf(place any) *string {
	raw, _ := json.Marshal(place) // cannot fail: the fields are texts and numbers
	return new(base64.RawURLEncoding.EncodeToString(raw))
}

var errNext = invalid("next must be the next of an earlier answer")

// placeIn decodes the next parameter. It returns nil for the first page.
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

func find(r *http.Request, from messages.Doer, q messages.FindGameSessions) (messages.FoundGameSessions, *problem) {
	if q.FleetID != "" && q.AliasID != "" {
		return messages.FoundGameSessions{}, invalid("give fleet or alias, not both")
	}
	if _, err := search.ParseFilter(q.Filter); q.Filter != "" && err != nil {
		return messages.FoundGameSessions{}, invalid("filter: %v", err)
	}
	if _, err := search.ParseSort(q.Sort); q.Sort != "" && err != nil {
		return messages.FoundGameSessions{}, invalid("sort: %v", err)
	}
	found, err := messages.Do(r.Context(), from, q)
	if err != nil {
		return found, refused(err)
	}
	return found, nil
}

// active returns the ACTIVE game sessions of a fleet, or of all fleets, that from has. silent are the nodes that did
// not answer from.
func active(r *http.Request, from messages.Doer, fleet messages.FleetID) (all []*messages.GameSession, silent []string, p *problem) {
	found, p := find(r, from, messages.FindGameSessions{FleetID: fleet, Status: messages.GameSessionActive})
	return found.GameSessions, found.Silent, p
}

type player struct {
	GameSessionID string     `json:"gameSessionId"`
	PlayerSession string     `json:"playerSession"` // shortened
	PlayerID      string     `json:"playerId"`
	Node          string     `json:"node"` // that of the game session
	Status        string     `json:"status"`
	State         string     `json:"state"` // reserved, attached, detached or gone
	Peer          int        `json:"peer"`  // 0 before the first login
	Transport     string     `json:"transport"`
	Address       string     `json:"address"`
	RTTSeconds    *float64   `json:"rttSeconds"` // null if unknown
	Fast          bool       `json:"fast"`
	Waiting       int        `json:"waiting"`
	Unconfirmed   int        `json:"unconfirmed"`
	QueueBytes    int        `json:"queueBytes"`
	Slow          bool       `json:"slow"`
	MessagesIn    uint64     `json:"messagesIn"`   // from the player, since the player entered the game
	MessagesOut   uint64     `json:"messagesOut"`  // to the player
	InPerSecond   *float64   `json:"inPerSecond"`  // null until two lists of all players are a second apart
	OutPerSecond  *float64   `json:"outPerSecond"` // null like inPerSecond
	Reason        string     `json:"reason"`
	ReasonAt      *time.Time `json:"reasonAt"`
	Created       *time.Time `json:"created"`
	Terminated    *time.Time `json:"terminated"`
}

func shownPlayer(game messages.GameSessionID, node string, p *messages.PlayerState) player {
	s := player{
		GameSessionID: string(game), PlayerSession: "psess-" + p.ID.Short(), PlayerID: string(p.PlayerID), Node: node, Status: p.Status.String(), State: stateOf(p),
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
	inspected, silent, err := c.inspect(r.Context(), c.o.Backend, id)
	if g.Status == messages.GameSessionTerminated {
		silent = false
		if err == nil {
			state.Moments = inspected.Moments
		}
	} else {
		if err == nil {
			state = inspected
			// the game session has ended meanwhile
		} else if !errors.Is(err, &messages.Error{Code: messages.InvalidGameSessionStatus}) {
			return refused(err)
		}
	}
	out := struct {
		gameSession
		PlayerList []player `json:"playerList"`
		Groups     []group  `json:"groups"`
		// timeline, newest first; for an ended game session, only while it is one of the last 200 since the
		// start of the host
		Moments []moment `json:"moments"`
		Silent  bool     `json:"silent"` // the game session is running but did not respond; its players are from their records
	}{shownGameSession(g), []player{}, []group{}, shownMoments(state.Moments), silent}
	for i := range state.Players {
		out.PlayerList = append(out.PlayerList, shownPlayer(id, g.Node, &state.Players[i]))
	}
	if len(state.Players) == 0 { // the game session has ended or is silent: use the records
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

// recordedPlayer converts a player session for which only the record is available.
func recordedPlayer(s *messages.PlayerSession) player {
	p := shownPlayer(s.GameSessionID, s.Node, &messages.PlayerState{ID: s.ID, PlayerID: s.PlayerID, Status: s.Status, Created: s.Created, Terminated: s.Terminated})
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
