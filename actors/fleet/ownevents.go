package fleet

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"troupe/messages"
)

// Events about game sessions and player sessions (service-api.md 5.3, at the end). They are created only with
// Options.OwnEvents. They are committed together with the change that they report and published afterwards.

// Types of these events, by status.
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

// eventsOfRecord returns the event for a game session's status, unless that event has already been created. The event
// for TERMINATED comes with the events of the player sessions that end with the game session, and with the event for
// TERMINATING if that was skipped.
func (gs *games) eventsOfRecord(e *entry, g *messages.GameSession) (n []messages.Event) {
	if !gs.o.OwnEvents || gs.o.OnEvent == nil || g.Status <= e.told || g.Status > messages.GameSessionTerminated {
		return nil
	}
	now := gs.context.Now()
	last := e.told // zero if this process has not created an event for the game session
	e.told = g.Status
	if g.Status == messages.GameSessionTerminated {
		if last != 0 && last < messages.GameSessionTerminating {
			n = append(n, gameEvent(now, e, g, messages.GameSessionTerminating))
		}
		n = append(n, gs.eventsOfEnd(e)...)
	}
	return append(n, gameEvent(gs.context.Now(), e, g, g.Status)) // a new time, so that it is not before those of the player sessions
}

// eventsOfEnd returns the events of the player sessions that have ended together with their game session.
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

// eventsOfPlayerSessions returns one event per player session, for its current status.
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

// opened adds player sessions to e.open, which lists those whose end has not been reported as an event. It removes
// player sessions that have a final status.
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

// event returns an event. UUIDs of version 7 preserve the order of events with the same time.
func event(now time.Time, kind messages.EventKind, name string, e *entry, detail any) messages.Event {
	text, err := json.Marshal(detail)
	if err != nil {
		panic("fleet: " + err.Error()) // cannot happen: the detail contains only strings and numbers
	}
	return messages.Event{ID: uuid.Must(uuid.NewV7()).String(), Kind: kind, Type: name, Time: now, Name: string(e.fleet.id), ARN: string(e.id), Detail: text}
}
