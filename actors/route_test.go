package actors

import (
	"reflect"
	"testing"

	"troupe/messages"
	"troupe/messages/peer"
)

// gameSessionOf knows each request that goes to the owner of a game session.
func TestEachRequestNamesItsGameSession(t *testing.T) {
	const id = messages.GameSessionID("arn")
	routed := 0
	for _, name := range peer.Names() {
		empty, err := peer.Decode(name, []byte("{}"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		filled := reflect.New(reflect.TypeOf(empty)).Elem()
		for i := range filled.NumField() {
			if f := filled.Field(i); f.Type() == reflect.TypeFor[messages.GameSessionID]() {
				f.Set(reflect.ValueOf(id))
			}
		}
		q := filled.Interface().(messages.Request)
		if q.Route() != messages.RouteGameSession {
			continue
		}
		routed++
		if got := gameSessionOf(q); got != id {
			t.Errorf("the game session of %s is %q", name, got)
		}
	}
	if routed < 11 {
		t.Errorf("%d requests go to the owner of a game session", routed)
	}
}
