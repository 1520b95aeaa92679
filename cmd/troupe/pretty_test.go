package main

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/transport/host"
)

// Each entry is one line with the short id, the position in the script, and durations with a unit. The JSON log has the
// full id.
func TestPrettyLog(t *testing.T) {
	const arn = "arn:aws:gamelift:us-east-1::gamesession/fleet-dev/gsess-b14cd949-224f-43cb-bb28-86a2c081ea81"
	say := func(log zerolog.Logger) {
		log.Info().Str("game_session_id", arn).Dur("away_ms", 1500*time.Millisecond).Dur("took_ms", 350123*time.Nanosecond).Int("resent", 3).Msg("player resumed")
		log.Info().Str("game_session_id", "arn:aws:gamelift:us-east-1::gamesession/fleet-dev/327f8a0e-b048-4276-aab5-2e6b4d7a3f7d").Msg("of a placement")
		sink := gamesession.HostLog(&log, arn)
		sink.Write(script.Line{Level: script.LevelInfo, File: "game.js", Row: 3, Text: "hello"})
		sink.Write(script.Line{Level: script.LevelWarn, File: script.HostFile, Text: "a setting is wrong"})
		sink.Write(script.Line{Level: script.LevelInfo, File: script.HostFile, Text: "ended: x", Echo: true})
		log.Warn().Str("game_session_id", arn).Str("reason", "no room in "+arn).Msg("game session crashed")
	}
	var out strings.Builder
	say(newLog(host.Log{Level: "info", Format: "pretty"}, &out, nil))
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.TrimSpace(line[len("15:04:05 "):]))
	}
	want := []string{
		"INF player resumed away=1.5s game=gsess-b14cd949 resent=3 took=350us",
		"INF of a placement game=327f8a0e",
		"INF hello at=game.js:3 game=gsess-b14cd949",
		"WRN a setting is wrong game=gsess-b14cd949",
		`WRN game session crashed game=gsess-b14cd949 reason="no room in gsess-b14cd949"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	out.Reset()
	say(newLog(host.Log{Level: "info", Format: "json"}, &out, nil))
	if n := strings.Count(out.String(), `"game_session_id":"`+arn+`"`); n != 4 || !strings.Contains(out.String(), `"took_ms":0.350123`) {
		t.Errorf("the JSON log has the ARN %d times:\n%s", n, out.String())
	}
}
