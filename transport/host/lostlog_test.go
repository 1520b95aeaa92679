package host

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
)

// Each line about a player's connection names the player, and the one about a kick says who did it and why.
func TestLinesAboutAConnectionNameItsPlayer(t *testing.T) {
	synctest.Test(t, linesAboutAConnectionNameItsPlayer)
}

func linesAboutAConnectionNameItsPlayer(t *testing.T) {
	log := new(sharedLog)
	h := begin(t, Options{Config: config(t), Log: log.at(zerolog.DebugLevel), Dev: true})
	ann, err := h.dial(h.seat(`{"playerId": "ann"}`).PlayerSessionID, true)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "her fast channel", func() bool { return strings.Contains(log.String(), `"message":"fast channel confirmed"`) })
	if status, body := h.act("POST", "/players/kick?player=ann&reason=rude"); status != 200 {
		t.Fatal(status, body)
	}
	<-ann.Done()
	synctest.Wait()
	said := map[string]map[string]any{}
	for line := range strings.Lines(log.String()) {
		var f map[string]any
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		said[f["message"].(string)] = f
		if _, of := f["peer"]; of && f["player_id"] != "ann" {
			t.Error("a line without the player:", line)
		}
	}
	const why = "by an operator (this machine): rude"
	if f := said["player lost: its player session ends"]; f["player_id"] != "ann" || f["reason"] != "kicked: "+why {
		t.Errorf("%v", f)
	}
	if f := said["connection ended"]; f["player_id"] != "ann" || f["reason"] != "kicked" || f["by"] != "host" || f["cause"] != why {
		t.Errorf("%v", f)
	}
}
