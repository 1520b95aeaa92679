package fleet

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"troupe/messages"
)

// Events of game sessions and player sessions (service-api.md 5.3, at its end). They are
// made only with Options.OwnEvents, committed with the change they report, and published after.

// The types of these events, by status.
var (
	gameSessionEvents = map[messages.GameSessionStatus]string{
		1: "GameSessionActivating", 2: "GameSessionActive", 3: "GameSessionTerminating", 4: "GameSessionTerminated",
	}
	playerSessionEvents = map[messages.PlayerSessionStatus]string{
		1: "PlayerSessionReserved", 2: "PlayerSessionActive", 3: "PlayerSessionCompleted", 4: "PlayerSessionTimedOut",
	}
)

type gameSessionDetail struct {
	Type       string `json:"type"`
	ARN        string `json:"gameSessionArn"`
	FleetID    string `json:"fleetId"`
	Location   string `json:"location"`
	Status     string `json:"status"`
	Reason     string `json:"statusReason,omitempty"`
	IPAddress  string `json:"ipAddress"`
	Port       int    `json:"port"`
	Players    int    `json:"currentPlayerSessionCount"`
	PlayersMax int    `json:"maximumPlayerSessionCount"`
}

type playerSessionDetail struct {
	Type     string `json:"type"`
	ID       string `json:"playerSessionId"`
	PlayerID string `json:"playerId"`
	ARN      string `json:"gameSessionArn"`
	Status   string `json:"status"`
}

// eventsOfRecord returns the event of a game session's status, unless the status has had one. TERMINATED comes with the events of
// the player sessions that end with the game session, and with the event of TERMINATING if that is missing.
func (gs *games) eventsOfRecord(e *entry, g *messages.GameSession) (n []messages.Event) {
	if !gs.o.OwnEvents || gs.o.OnEvent == nil || g.Status <= e.told || g.Status > messages.GameSessionTerminated {
		return nil
	}
	now := gs.context.Now()
	last := e.told // zero: this process has sent no event of it
	e.told = g.Status
	if g.Status == messages.GameSessionTerminated {
		if last != 0 && last < messages.GameSessionTerminating {
			n = append(n, gameEvent(now, e, g, messages.GameSessionTerminating))
		}
		n = append(n, gs.eventsOfEnd(e)...)
	}
	return append(n, gameEvent(gs.context.Now(), e, g, g.Status)) // not before those of its players
}

// eventsOfEnd returns the events of the player sessions that have ended with their game session.
func (gs *games) eventsOfEnd(e *entry) []messages.Event {
	ended := e.published.Players(func(id messages.PlayerSessionID, _ messages.PlayerID, _ messages.PlayerSessionStatus) bool {
		return e.open[id]
	})
	e.opened(gs.o.OwnEvents, ended...)
	return gs.eventsOfPlayerSessions(e, ended...)
}

func gameEvent(now time.Time, e *entry, g *messages.GameSession, status messages.GameSessionStatus) messages.Event {
	d := gameSessionDetail{
		Type: gameSessionEvents[status], ARN: string(g.ID), FleetID: string(g.FleetID), Location: g.Location, Status: status.String(),
		Reason: g.StatusReason, IPAddress: g.IPAddress, Port: g.Port, Players: g.CurrentPlayers, PlayersMax: g.MaxPlayers,
	}
	return event(now, messages.EventGameSession, d.Type, e, d)
}

// eventsOfPlayerSessions returns the events of the statuses of player sessions.
func (gs *games) eventsOfPlayerSessions(e *entry, sessions ...*messages.PlayerSession) (n []messages.Event) {
	if !gs.o.OwnEvents || gs.o.OnEvent == nil {
		return nil
	}
	now := gs.context.Now()
	for _, s := range sessions {
		d := playerSessionDetail{
			Type: playerSessionEvents[s.Status], ID: string(s.ID), PlayerID: string(s.PlayerID), ARN: string(e.id), Status: s.Status.String(),
		}
		n = append(n, event(now, messages.EventPlayerSession, d.Type, e, d))
	}
	return n
}

// opened adds player sessions to those whose end has had no event, or removes those that are final.
func (e *entry) opened(ownEvents bool, sessions ...*messages.PlayerSession) {
	if !ownEvents {
		return
	}
	if e.open == nil {
		e.open = make(map[messages.PlayerSessionID]bool)
	}
	for _, s := range sessions {
		if s.Status.Final() {
			delete(e.open, s.ID)
		} else {
			e.open[s.ID] = true
		}
	}
}

// event returns an event. UUIDs of version 7 keep the order of events that have the same time.
func event(now time.Time, kind messages.EventKind, name string, e *entry, detail any) messages.Event {
	text, err := json.Marshal(detail)
	if err != nil {
		panic("fleet: " + err.Error()) // texts and numbers only
	}
	return messages.Event{ID: uuid.Must(uuid.NewV7()).String(), Kind: kind, Type: name, Time: now, Name: string(e.fleet.id), ARN: string(e.id), Detail: text}
}
