package admin

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Snapshot is a host at one moment, as GET /admin/v1/overview and /admin/v1/top answer.
type Snapshot struct {
	Overview Overview
	Top      Top
}

// Overview is what the head of a frame shows.
type Overview struct {
	At            time.Time
	Version       string
	UptimeSeconds float64
	Draining      bool
	Players       map[string]int64
	GameSessions  map[string]int64
	Rates         *struct{ MessagesIn, MessagesDelivered, Logins, Resumes, Dropped, CPU float64 }
	Process       struct {
		Processors    int
		ResidentBytes int64
	}
}

// Top are the first game sessions and players in an order.
type Top struct {
	GameSessions        []GameSession
	GameSessionsRunning int
	GameSessionsSilent  int // do not answer: their players are not known
	Players             []Player
	PlayersInGame       int
}

// GameSession is a row. A nil number is not known.
type GameSession struct {
	ID, Name, FleetID, Location                          string
	Seats, MaxPlayers, Attached, Detached, QueueBytes    int
	InPerSecond, OutPerSecond, RTTSeconds, RTTMaxSeconds *float64
	Silent                                               bool // it does not answer: its players are not known
}

// Player is a row. A nil number is not known.
type Player struct {
	GameSessionID, PlayerID, State, Transport, Address string
	QueueBytes                                         int
	InPerSecond, OutPerSecond, RTTSeconds              *float64
}

// Decode reads the answers of both paths.
func Decode(overview, top json.RawMessage) (*Snapshot, error) {
	s := new(Snapshot)
	if err := json.Unmarshal(overview, &s.Overview); err != nil {
		return nil, fmt.Errorf("overview: %w", err)
	}
	if err := json.Unmarshal(top, &s.Top); err != nil {
		return nil, fmt.Errorf("top: %w", err)
	}
	return s, nil
}

// short is the name of a game session, or the last part of its ARN.
func (g *GameSession) short() string {
	if g.Name != "" {
		return g.Name
	}
	return lastOf(g.ID)
}

func lastOf(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

func rate(f *float64) string {
	if f == nil {
		return "-"
	}
	if *f >= 100 {
		return fmt.Sprintf("%.0f", *f)
	}
	return fmt.Sprintf("%.1f", *f)
}

func trip(f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", *f*1000)
}

func bytesOf(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
