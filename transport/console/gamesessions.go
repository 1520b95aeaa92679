package console

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"troupe/messages"
	"troupe/transport/serviceapi/search"
)

// gameSession is a game session in a list.
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

func shownGameSession(g *messages.GameSession, players int) gameSession {
	s := gameSession{
		ID: string(g.ID), Name: g.Name, FleetID: string(g.FleetID), Location: g.Location, Status: g.Status.String(), StatusReason: g.StatusReason,
		EndText: g.EndText, Players: players, MaxPlayers: g.MaxPlayers, AcceptsPlayers: g.AcceptsPlayers, CreatorID: g.CreatorID,
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

const (
	limitDefault = 50
	limitMax     = 200
)

// gameSessions lists game sessions with the search grammar of SearchGameSessions
// (service-api.md 4), in pages.
func (c *Console) gameSessions(w http.ResponseWriter, r *http.Request, q query) *problem {
	status, p := q.oneOf("status", "ACTIVE", "ACTIVATING", "TERMINATING", "TERMINATED", "ERROR", "any")
	if p != nil {
		return p
	}
	limit, p := q.number("limit", limitDefault, limitMax)
	if p != nil {
		return p
	}
	filter, order, p := expressions(q)
	if p != nil {
		return p
	}
	behind, p := positionOf(q.text("next"))
	if p != nil {
		return p
	}
	all, p := c.find(r, selection{messages.FleetID(q.text("fleet")), messages.AliasID(q.text("alias")), q.text("location")}, status)
	if p != nil {
		return p
	}
	matched := 0
	counted := func(yield func(*messages.GameSession, int) bool) {
		for g, players := range all {
			if filter.Matches(g, players) {
				matched++
				if !yield(g, players) {
					return
				}
			}
		}
	}
	found := order.First(limit+1, counted, nil, behind.in(order, all))
	out := struct {
		GameSessions []gameSession `json:"gameSessions"`
		Matched      int           `json:"matched"`
		Next         *string       `json:"next"`
	}{GameSessions: []gameSession{}, Matched: matched}
	if len(found) > limit {
		found = found[:limit]
		last := found[limit-1]
		next := nextOf(order, last.GameSession, last.Players)
		out.Next = &next
	}
	for _, f := range found {
		out.GameSessions = append(out.GameSessions, shownGameSession(f.GameSession, f.Players))
	}
	return answer(w, out)
}

func expressions(q query) (filter *search.Filter, order *search.Sort, p *problem) {
	var err error
	if text := q.text("filter"); text != "" {
		if filter, err = search.ParseFilter(text); err != nil {
			return nil, nil, invalid("filter: %v", err)
		}
	}
	order = newest
	if text := q.text("sort"); text != "" {
		if order, err = search.ParseSort(text); err != nil {
			return nil, nil, invalid("sort: %v", err)
		}
	}
	return filter, order, nil
}

// newest is the order without a sort expression.
var newest = func() *search.Sort {
	s, err := search.ParseSort("creationTimeMillis DESC")
	if err != nil {
		panic(err) // it is written here
	}
	return s
}()

// nextTextMax bounds the text of an operand in next, in bytes: a name may be longer than a parameter.
const nextTextMax = 600

// position is what next contains: the place of the last game session of a page in the order.
type position struct {
	Absent bool                   `json:"a"`
	Number int64                  `json:"n"`
	Text   []byte                 `json:"t"` // the end of a cut one need not be UTF-8
	ID     messages.GameSessionID `json:"g"`
	Cut    bool                   `json:"c"`
}

func nextOf(order *search.Sort, g *messages.GameSession, players int) string {
	at, cut := order.Shorten(order.Position(g, players), nextTextMax)
	raw, _ := json.Marshal(position{at.Absent, at.Number, []byte(at.Text), at.ID, cut}) // texts and numbers only
	return base64.RawURLEncoding.EncodeToString(raw)
}

// in returns the place behind which a page begins; nil means from the start. A text that was cut is read from the game
// session, if that is still there with the same beginning.
func (p *position) in(order *search.Sort, all func(func(*messages.GameSession, int) bool)) *search.Position {
	if p == nil {
		return nil
	}
	at := search.Position{Absent: p.Absent, Number: p.Number, Text: string(p.Text), ID: p.ID}
	if !p.Cut {
		return &at
	}
	for g, players := range all {
		if g.ID == p.ID {
			whole := order.Position(g, players)
			if short, _ := order.Shorten(whole, nextTextMax); short == at {
				return &whole
			}
			break
		}
	}
	return &at
}

func positionOf(next string) (*position, *problem) {
	if next == "" {
		return nil, nil
	}
	at := new(position)
	raw, err := base64.RawURLEncoding.DecodeString(next)
	if err != nil || json.Unmarshal(raw, at) != nil {
		return nil, invalid("next must be the next of an earlier answer")
	}
	return at, nil
}

// selection are the game sessions of one fleet, by its id or by an alias, or of all; in one
// location or in all.
type selection struct {
	fleet    messages.FleetID
	alias    messages.AliasID
	location string
}

// selected returns the selections of single fleets that a selection is made of.
func (c *Console) selected(r *http.Request, s selection) ([]selection, *problem) {
	switch {
	case s.fleet != "" && s.alias != "":
		return nil, invalid("give fleet or alias, not both")
	case s.fleet != "" || s.alias != "":
		return []selection{s}, nil
	}
	all, err := messages.Do(r.Context(), c.o.Backend, messages.FleetQuery{})
	if err != nil {
		return nil, refused(err)
	}
	var fleets []selection
	for _, f := range all {
		if s.location == "" || slices.Contains(f.Locations, s.location) {
			fleets = append(fleets, selection{fleet: f.ID, location: s.location})
		}
	}
	if s.location != "" && len(fleets) == 0 {
		return nil, &problem{http.StatusNotFound, "NotFound", "no fleet has the location " + clip(s.location)}
	}
	return fleets, nil
}

// find returns the game sessions of a selection.
func (c *Console) find(r *http.Request, of selection, status string) (func(func(*messages.GameSession, int) bool), *problem) {
	fleets, p := c.selected(r, of)
	if p != nil {
		return nil, p
	}
	// gone: it was deleted after the list of all was made
	gone := func(err error) bool {
		return of.fleet == "" && of.alias == "" && errors.Is(err, &messages.Error{Code: messages.NotFound})
	}
	var seqs []func(func(*messages.GameSession, int) bool)
	wanted, _ := messages.ParseGameSessionStatus(status)
	for _, f := range fleets {
		if wanted == messages.GameSessionActive {
			seq, err := c.o.Backend.ActiveGameSessions(r.Context(), messages.ActiveGameSessionQuery{FleetID: f.fleet, AliasID: f.alias, Location: f.location})
			if err == nil {
				seqs = append(seqs, seq)
			} else if !gone(err) {
				return nil, refused(err)
			}
			continue
		}
		list, err := messages.Do(r.Context(), c.o.Backend, messages.GameSessionQuery{FleetID: f.fleet, AliasID: f.alias, Location: f.location, Status: wanted})
		if err != nil {
			if gone(err) {
				continue
			}
			return nil, refused(err)
		}
		seqs = append(seqs, func(yield func(*messages.GameSession, int) bool) {
			for _, g := range list {
				if !yield(g, g.CurrentPlayers) {
					return
				}
			}
		})
	}
	return func(yield func(*messages.GameSession, int) bool) {
		more := true
		for _, seq := range seqs {
			seq(func(g *messages.GameSession, players int) bool {
				more = yield(g, players)
				return more
			})
			if !more {
				return
			}
		}
	}, nil
}

// player is a player of a running game session.
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
		rtt := p.RTT.Seconds()
		s.RTTSeconds = &rtt
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

// gameSession shows one game session with its players and groups.
func (c *Console) gameSession(w http.ResponseWriter, r *http.Request, q query) *problem {
	text, p := q.needed("id")
	if p != nil {
		return p
	}
	id := messages.GameSessionID(text)
	found, err := messages.Do(r.Context(), c.o.Backend, messages.GameSessionQuery{ID: id})
	if err != nil {
		return refused(err)
	}
	if len(found) != 1 {
		return &problem{http.StatusNotFound, "NotFound", "there is no game session " + clip(text)}
	}
	g := found[0]
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
	}{shownGameSession(g, g.CurrentPlayers), []player{}, []group{}, shownMoments(state.Moments), silent}
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

// terminate ends a game session.
func (c *Console) terminate(w http.ResponseWriter, r *http.Request, q query) *problem {
	id, p := q.needed("id")
	if p != nil {
		return p
	}
	force, p := q.oneOf("force", "false", "true")
	if p != nil {
		return p
	}
	g, err := messages.Do(r.Context(), c.o.Backend, messages.TerminateGameSession{GameSessionID: messages.GameSessionID(id), Force: force == "true"})
	if err != nil {
		return refused(err)
	}
	return answer(w, shownGameSession(g, g.CurrentPlayers))
}
