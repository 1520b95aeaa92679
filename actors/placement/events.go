package placement

import (
	"encoding/json"
	"strconv"

	"github.com/google/uuid"

	"troupe/messages"
)

// detail is the content of the event about the end of a placement (service-api.md 5.2).
type detail struct {
	Type              string       `json:"type"`
	PlacementID       string       `json:"placementId"`
	Port              string       `json:"port,omitempty"`
	GameSessionARN    string       `json:"gameSessionArn,omitempty"`
	IPAddress         string       `json:"ipAddress,omitempty"`
	DNSName           string       `json:"dnsName,omitempty"`
	StartTime         string       `json:"startTime"`
	EndTime           string       `json:"endTime"`
	GameSessionRegion string       `json:"gameSessionRegion,omitempty"`
	Placed            *[]placement `json:"placedPlayerSessions,omitempty"` // nil unless FULFILLED; may be empty if FULFILLED
	CustomEventData   string       `json:"customEventData,omitempty"`
	Reason            string       `json:"reason,omitempty"` // not in GameLift's events: the reason why the queue had no destination
}

type placement struct {
	PlayerID        string `json:"playerId"`
	PlayerSessionID string `json:"playerSessionId"`
}

var eventTypes = map[messages.PlacementStatus]string{
	messages.PlacementFulfilled: "PlacementFulfilled",
	messages.PlacementCancelled: "PlacementCancelled",
	messages.PlacementTimedOut:  "PlacementTimedOut",
	messages.PlacementFailed:    "PlacementFailed",
}

// eventOf returns the event about the end of a placement. reason says why the queue had no destination. It is empty if
// the queue had one.
func eventOf(q *messages.Queue, p *messages.Placement, reason string) messages.Event {
	d := detail{
		Type: eventTypes[p.Status], PlacementID: string(p.Request.ID), CustomEventData: q.CustomEventData, Reason: reason,
		StartTime: messages.EventTime(p.Started), EndTime: messages.EventTime(p.Ended),
	}
	if p.Status == messages.PlacementFulfilled {
		d.Port, d.GameSessionARN, d.IPAddress, d.DNSName = strconv.Itoa(p.Port), string(p.GameSessionID), p.IPAddress, p.DNSName
		d.GameSessionRegion = p.Location
		placed := make([]placement, len(p.Placed))
		for i, s := range p.Placed {
			placed[i] = placement{string(s.PlayerID), string(s.PlayerSessionID)}
		}
		d.Placed = &placed
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic("placement: " + err.Error()) // cannot happen: the detail contains only strings
	}
	return messages.Event{
		ID: uuid.Must(uuid.NewV7()).String(), Kind: messages.EventPlacement, Type: d.Type, Time: p.Ended, Name: string(q.Name), ARN: q.ARN, Target: q.Notify, Detail: text,
	}
}
