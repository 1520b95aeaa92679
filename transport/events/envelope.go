package events

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"troupe/messages"
)

// envelope is an event in the format of EventBridge, as it is delivered (service-api.md 5.1).
type envelope struct {
	Version    string          `json:"version"`
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Account    string          `json:"account"`
	Time       string          `json:"time"`
	Region     string          `json:"region"`
	Resources  []string        `json:"resources"`
	Detail     json.RawMessage `json:"detail"`
}

const (
	sourceVendor = "aws.gamelift"
	sourceHost   = "selfhosted.gamelift"

	seconds      = "2006-01-02T15:04:05Z"
	milliseconds = "2006-01-02T15:04:05.000Z"
)

// origin has the fields of an envelope that depend on the host.
type origin struct{ region, account string }

// render returns the envelope of an event. It returns the same bytes each time.
func (o origin) render(e *messages.Event) []byte {
	v := envelope{
		Version: "0", ID: publicID(e), Source: sourceHost, Account: o.account, Time: timestamp(e.Time),
		Region: o.region, Resources: []string{e.ARN}, Detail: detail(e),
	}
	switch e.Kind {
	case messages.EventPlacement:
		v.DetailType, v.Source, v.Time = "GameLift Queue Placement Event", sourceVendor, e.Time.UTC().Format(seconds)
	case messages.EventMatchmaking:
		v.DetailType, v.Source = "GameLift Matchmaking Event", sourceVendor
	case messages.EventGameSession:
		v.DetailType = "GameLift Game Session Event"
	case messages.EventOperator:
		v.DetailType = "Troupe Operator Event"
	case messages.EventPlayerSession:
		v.DetailType = "GameLift Player Session Event"
	}
	return encode(v)
}

// encode encodes JSON without escaping characters for HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("events: " + err.Error()) // cannot happen: the fields are plain, and details have been checked
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// detail returns the event's detail on one line, with its type added.
func detail(e *messages.Event) json.RawMessage {
	var has struct {
		Type string `json:"type"`
	}
	typed := encode(map[string]string{"type": e.Type})
	var b bytes.Buffer
	given := bytes.TrimSpace(e.Detail)
	if len(given) == 0 || given[0] != '{' || json.Unmarshal(given, &has) != nil || json.Compact(&b, given) != nil {
		return typed
	}
	if has.Type != "" {
		return b.Bytes()
	}
	if rest := b.Bytes()[1:]; rest[0] != '}' {
		return append(append(typed[:len(typed)-1], ','), rest...)
	}
	return typed
}

// idSpace is the UUID namespace for event ids that are not UUIDs.
var idSpace = uuid.MustParse("8f0f6a5e-6a0b-4d0e-9a53-5d3f1c7b2a10")

// publicID returns the event's UUID for receivers.
func publicID(e *messages.Event) string {
	if id, err := uuid.Parse(e.ID); err == nil {
		return id.String()
	}
	return uuid.NewSHA1(idSpace, []byte(e.ID)).String()
}

// about returns the subject of an event. Events with the same subject are delivered in order.
func about(e *messages.Event) string {
	if isFIFO(e.Target) || e.Kind == messages.EventMatchmaking { // an event of matchmaking may be about several tickets
		return e.Name
	}
	var subject struct{ PlacementID, GameSessionARN string } // encoding/json ignores the case of field names
	if json.Unmarshal(e.Detail, &subject) != nil {
		return e.Name
	}
	if e.Kind == messages.EventPlacement && subject.PlacementID != "" {
		return e.Name + "/" + subject.PlacementID
	}
	return e.Name + "/" + subject.GameSessionARN
}

func timestamp(t time.Time) string { return messages.Shown(t).UTC().Format(milliseconds) }
