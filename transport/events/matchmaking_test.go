package events

import (
	"encoding/json"
	"testing"
	"time"

	"troupe/messages"
)

// FM-34, and who gets the events of matchmaking.
func TestMatchmakingEvents(t *testing.T) {
	e := messages.Event{
		ID: "x", Kind: messages.EventMatchmaking, Type: "MatchmakingSearching", Time: time.Date(2026, 3, 1, 12, 0, 52, 421e6, time.UTC),
		Name: "m", ARN: "arn:m", Target: "topic", Detail: []byte(`{"tickets":[]}`),
	}
	var v envelope
	if err := json.Unmarshal(origin{"us-east-1", "000000000000"}.render(&e), &v); err != nil {
		t.Fatal(err)
	}
	if v.DetailType != "GameLift Matchmaking Event" || v.Source != "aws.gamelift" || v.Time != "2026-03-01T12:00:52.421Z" || v.Resources[0] != "arn:m" {
		t.Errorf("%+v", v)
	}
	if got := about(&e); got != "m" { // tickets of one configuration meet in one event
		t.Errorf("the subject is %q", got)
	}
	for name, c := range map[string]struct {
		o    SinkOptions
		want bool
	}{
		"all":            {SinkOptions{All: true}, true},
		"its target":     {SinkOptions{Targets: []string{"top*"}}, true},
		"another target": {SinkOptions{Targets: []string{"other"}}, false},
		"another kind":   {SinkOptions{All: true, Kinds: []messages.EventKind{messages.EventPlacement}}, false},
	} {
		if got := c.o.takes(&e); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	shown := shown{kind: e.Kind, name: e.Name, arn: e.ARN, typ: e.Type}
	for want, f := range map[bool]filter{true: {matchmakers: []string{"m"}}, false: {queues: []string{"m"}}} {
		if f.takes(&shown) != want {
			t.Errorf("%+v", f)
		}
	}
}
