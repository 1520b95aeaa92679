package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/lazy"
)

// prettyLog writes the log for a person at a terminal: short ids of game sessions, source positions as file:line, and
// durations with their unit. The JSON log contains the full values.
func prettyLog(out io.Writer) io.Writer {
	return zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: terminal(out) == nil, FormatPrepare: prettyFields}
}

// gameSessionARN matches the ARN of a game session. Its group is a prefix of the last part. That prefix is long enough
// to distinguish game sessions, and troupe logs accepts it.
var gameSessionARN = lazy.Regexp(`arn:aws[a-z-]*:gamelift:[a-z0-9-]*:\d*:gamesession/[^/\s"]+/(?:[^/\s"]+/)?((?:gsess-)?[^/\s"-]+)[^/\s"]*`)

// shortIDs replaces the ARNs of game sessions in a text.
func shortIDs(s string) string {
	if !strings.Contains(s, ":gamesession/") {
		return s
	}
	return gameSessionARN().ReplaceAllString(s, "$1")
}

// prettyFields converts the fields of one log line.
func prettyFields(fields map[string]any) error {
	for key, value := range fields {
		switch v := value.(type) {
		case string:
			fields[key] = shortIDs(v)
		case json.Number:
			name, isDuration := strings.CutSuffix(key, "_ms")
			if ms, err := v.Float64(); isDuration && err == nil {
				delete(fields, key)
				d := time.Duration(ms * float64(time.Millisecond)).Round(10 * time.Microsecond)
				fields[name] = strings.Replace(d.String(), "µ", "u", 1) // zerolog would quote µ
			}
		}
	}
	if id, ok := fields["game_session_id"]; ok {
		delete(fields, "game_session_id")
		fields["game"] = id
	}
	if file, ok := fields["file"]; ok && fields["line"] != nil {
		fields["at"] = fmt.Sprintf("%v:%v", file, fields["line"])
		delete(fields, "file")
		delete(fields, "line")
	}
	return nil
}
