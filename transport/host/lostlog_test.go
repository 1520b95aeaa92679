package host

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"troupe/transport/client"
)

// sharedLog is a log that several goroutines write.
type sharedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *sharedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *sharedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Each line about a player's connection names the player, and the one about a kick says who did it and why.
func TestLinesAboutAConnectionNameItsPlayer(t *testing.T) {
	log := new(sharedLog)
	h, call := consoleWith(t, Options{Config: storeConfig(t), Log: zerolog.New(log).Level(zerolog.DebugLevel), Dev: true})
	a := joined(t, 200, must(call(h, "POST", devJoinPath, `{"playerId": "ann"}`)))
	ann, err := client.Dial(t.Context(), client.Options{Addr: strings.TrimPrefix(a.URL, "ws://"), PlayerSessionID: a.PlayerSessionID, Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ann.Close()
	until(t, "her fast channel", func() bool { return strings.Contains(log.String(), `"message":"fast channel confirmed"`) })
	if status, body := call(h, "POST", "/admin/v1/players/kick?player=ann&reason=rude", ""); status != 200 {
		t.Fatal(status, body)
	}
	<-ann.Done()
	until(t, "the end", func() bool { return strings.Contains(log.String(), `"message":"connection ended"`) })
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
