package console

import (
	"net/http"
	"slices"
	"time"

	"troupe/messages"
)

// Setting is a key of the configuration in force.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // as text or JSON; never a secret
	Origin string `json:"origin"`
	Reload bool   `json:"reload"` // whether a reload applies changes of it
}

// Listener is a socket of the host.
type Listener struct {
	Name        string     `json:"name"`
	Address     string     `json:"address"` // empty if it is off
	Encrypted   bool       `json:"encrypted"`
	Connections int64      `json:"connections"`
	Certificate string     `json:"certificate"` // names in its certificate; empty without one
	Expires     *time.Time `json:"expires"`     // expiry of its certificate; null without one
}

func (c *Console) settings(w http.ResponseWriter, _ *http.Request, _ query) *problem {
	return answer(w, map[string][]Setting{"settings": append([]Setting{}, c.o.Operations.Settings()...)})
}

func (c *Console) listeners(w http.ResponseWriter, _ *http.Request, _ query) *problem {
	return answer(w, map[string][]Listener{"listeners": append([]Listener{}, c.o.Operations.Listeners()...)})
}

type closedConnection struct {
	At            *time.Time `json:"at"`
	Node          string     `json:"node"`
	LastedSeconds float64    `json:"lastedSeconds"`
	Transport     string     `json:"transport"`
	Address       string     `json:"address"`
	PlayerID      string     `json:"playerId"`      // empty if nobody has logged in on the connection
	PlayerSession string     `json:"playerSession"` // shortened; empty if nobody has logged in
	Peer          int        `json:"peer"`
	Reason        string     `json:"reason"`
	By            string     `json:"by"` // host, client or network
	Detail        string     `json:"detail"`
}

type closedList struct {
	Connections []closedConnection `json:"connections"`
	Matched     int                `json:"matched"`
	SilentNodes []string           `json:"silentNodes"` // nodes that did not answer; their connections are missing
}

// closedConnections lists the most recently closed connections, of all players or of one.
func (c *Console) closedConnections(w http.ResponseWriter, r *http.Request, q query) *problem {
	list := c.closedHere(q)
	if q.text("node") == "" {
		var others []closedList
		others, list.SilentNodes = gather[closedList](r.Context(), c, r.Method, "connections/closed", q)
		for _, o := range others {
			list.Connections, list.Matched = append(list.Connections, o.Connections...), list.Matched+o.Matched
		}
		slices.SortStableFunc(list.Connections, func(a, b closedConnection) int { return timeIn(b.At).Compare(timeIn(a.At)) })
		list.Connections = list.Connections[:min(len(list.Connections), q.numbers["limit"])]
	}
	return answer(w, list)
}

// timeIn is the inverse of timeOf.
func timeIn(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func (c *Console) closedHere(q query) closedList {
	by, limit := q.words["by"], q.numbers["limit"]
	all, matched := []closedConnection{}, 0
	for _, one := range c.o.Operations.ClosedConnections() {
		if player := q.text("player"); player != "" && player != string(one.PlayerID) || by != "any" && by != one.By {
			continue
		}
		if matched++; len(all) == limit {
			continue
		}
		shown := closedConnection{
			At: timeOf(one.At), Node: c.nodeName(), LastedSeconds: one.Lasted.Seconds(), Transport: one.Transport, Address: one.Address.String(), PlayerID: string(one.PlayerID),
			Peer: int(one.Peer), Reason: one.Reason, By: one.By, Detail: one.Detail,
		}
		if one.PlayerSession != "" {
			shown.PlayerSession = "psess-" + one.PlayerSession.Short()
		}
		all = append(all, shown)
	}
	return closedList{all, matched, []string{}}
}

type alias struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	FleetID string     `json:"fleetId"` // empty for a TERMINAL alias, which has message instead
	Message string     `json:"message"`
	Created *time.Time `json:"created"`
	Updated *time.Time `json:"updated"`
}

func (c *Console) aliases(w http.ResponseWriter, r *http.Request, _ query) *problem {
	return answerList(c, w, r, messages.AliasQuery{}, "aliases", func(a *messages.Alias) alias {
		return alias{string(a.ID), a.Name, string(a.FleetID), a.Message, timeOf(a.Created), timeOf(a.Updated)}
	})
}

type location struct {
	Name            string     `json:"name"`
	Custom          bool       `json:"custom"`          // created through the API
	GameSessionsMax int        `json:"gameSessionsMax"` // 0 means no limit
	Cost            float64    `json:"cost"`
	Created         *time.Time `json:"created"`
}

func (c *Console) locations(w http.ResponseWriter, r *http.Request, _ query) *problem {
	return answerList(c, w, r, messages.LocationQuery{}, "locations", func(l messages.Location) location {
		return location{l.Name, messages.CustomLocation(l.Name), l.GameSessionsMax, l.Cost, timeOf(l.Created)}
	})
}

// fleetEvent is an event of a fleet, for example that its script cannot be started.
type fleetEvent struct {
	At      *time.Time `json:"at"`
	Code    string     `json:"code"`
	Message string     `json:"message"`
	Count   int        `json:"count"` // number of occurrences; at is the time of the last one
}

// fleetEvents returns the last events of a fleet, newest first.
func (c *Console) fleetEvents(w http.ResponseWriter, r *http.Request, q query) *problem {
	return answerAsked(c, w, r, messages.FleetEventQuery{ID: messages.FleetID(q.text("id"))}, func(events []messages.FleetEvent) map[string][]fleetEvent {
		last := slices.Clone(events[max(len(events)-q.numbers["limit"], 0):])
		slices.Reverse(last)
		return map[string][]fleetEvent{"events": shownAll(last, func(e messages.FleetEvent) fleetEvent {
			return fleetEvent{timeOf(e.Time), e.Code, e.Message, e.Count}
		})}
	})
}

type moment struct {
	At       *time.Time `json:"at"`
	Kind     string     `json:"kind"` // reserved, joined, cut, resumed, left or refused
	PlayerID string     `json:"playerId"`
	Peer     int        `json:"peer"` // 0 before the first login
	Text     string     `json:"text"`
}

func shownMoments(all []messages.Moment) []moment {
	shown := make([]moment, 0, len(all))
	for i := len(all) - 1; i >= 0; i-- { // newest first
		m := &all[i]
		shown = append(shown, moment{timeOf(m.At), m.Kind.String(), string(m.Player), int(m.Peer), m.Text})
	}
	return shown
}
