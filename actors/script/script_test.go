package script_test

import (
	"testing"

	"troupe/actors/script"
)

// realtime.md 15.2, column "if missing".
func TestBaseAnswersAsAScriptThatLacksTheCallback(t *testing.T) {
	var b script.Base
	for i, d := range []script.Decision{b.OnProcessStarted(nil), b.OnHealthCheck(), b.OnPlayerConnect(nil), b.OnSendToPlayer(nil),
		b.OnSendToGroup(nil), b.OnPlayerJoinGroup(1, 1), b.OnPlayerLeaveGroup(1, 1), b.OnStartGameSession(nil),
		b.OnProcessTerminate(), b.OnPlayerDetached(1, "")} {
		if d != script.Allow {
			t.Errorf("gate %d is closed", i)
		}
	}
	if b.Init(nil) != nil || b.Configuration() != (script.Configuration{}) {
		t.Error("a default is wrong")
	}
	b.OnPlayerAccepted(script.Player{})
	b.OnPlayerDisconnect(1)
	b.OnMessage(nil)
}

func TestARelayHasNoMaximumOfItsOwn(t *testing.T) {
	if n := (script.Relay{}).Configuration().MaxPlayers; n < 200 {
		t.Errorf("%d players", n)
	}
}

func TestTextIsThePayload(t *testing.T) {
	if m := (script.Message{Payload: []byte("žluť")}); m.Text() != "žluť" {
		t.Error(m.Text())
	}
}
