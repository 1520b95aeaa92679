package admin

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Snapshot is the state of a host at one moment: the answers to GET /admin/v1/overview and /admin/v1/top.
type Snapshot struct {
	Overview Overview
	Top      Top
}

// Overview is the data for the head of a frame.
type Overview struct {
	At            time.Time
	Version       string
	UptimeSeconds float64
	Draining      bool
	Nodes         int // number of nodes of a cluster; 0 without one
	Players       map[string]int64
	GameSessions  map[string]int64
	Rates         *struct{ MessagesIn, MessagesDelivered, Logins, Resumes, Dropped, CPU float64 }
	Process       struct {
		Processors    int
		ResidentBytes int64
	}
}

// Top holds the first game sessions and players in a sort order.
type Top struct {
	GameSessions        []GameSession
	GameSessionsRunning int
	GameSessionsSilent  int // number of sessions that do not answer; their players are unknown
	Players             []Player
	PlayersInGame       int
	SilentNodes         []string // nodes that do not answer; their game sessions are unknown
}

// GameSession is a row of the table. A nil number is unknown.
type GameSession struct {
	ID, Name, FleetID, Location, Node                    string
	Seats, MaxPlayers, Attached, Detached, QueueBytes    int
	InPerSecond, OutPerSecond, RTTSeconds, RTTMaxSeconds *float64
	Silent                                               bool // the session does not answer; its players are unknown
}

// Player is a row of the table. A nil number is unknown.
type Player struct {
	GameSessionID, PlayerID, State, Transport, Address, Node string
	QueueBytes                                               int
	InPerSecond, OutPerSecond, RTTSeconds                    *float64
}

// Decode decodes the answers of both paths.
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

// short returns the name of a game session, or the last part of its ARN if it has no name.
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
