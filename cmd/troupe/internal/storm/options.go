package storm

import (
	"crypto/tls"
	"errors"
	"time"

	"troupe/transport/client"
)

// Options configure a measurement.
type Options struct {
	API       string   // URL of a running host's service API; empty: start a host
	Host      []string // settings KEY=VALUE of the started host
	Region    string
	Fleet     string
	Transport client.Transport
	KCPAddr   string      // of a running host
	TLS       *tls.Config // of a running host

	Players int
	Room    int           // players per game session
	Rate    float64       // messages per second and player, each to the whole room
	Payload int           // bytes
	Single  int           // number of single cuts
	Every   time.Duration // time between single cuts
	Seed    uint64        // of the random choice of players to cut
	// Patience is how long all players may take to reconnect, and the last messages to
	// arrive.
	Patience time.Duration
}

func (o *Options) validate() error {
	switch {
	case o.Players < 2 || o.Room < 2 || o.Room > seatsMax:
		return errors.New("there must be at least 2 players, and 2 to 200 in a room")
	case o.Rate < 0 || o.Payload < stampBytes || o.Payload > client.PayloadMax:
		return errors.New("the rate must not be negative, and the payload must be 12 to 4096 bytes")
	case o.Single < 0 || o.Single > 0 && o.Every <= 0:
		return errors.New("the number of single cuts must not be negative, and the time between them must be positive")
	}
	return nil
}

// Result is the result of a measurement, as it is stored.
type Result struct {
	Machine   string  `json:"machine"`
	Players   int     `json:"players"`
	Transport string  `json:"transport"`
	Rate      float64 `json:"messages_per_second_and_player"`
	// Single are the single cuts, Storm is the cut of all players.
	Single Resumes `json:"single"`
	Storm  Resumes `json:"storm"`
	// StormSeconds is the time from the cut of all players until the last has reconnected.
	StormSeconds float64 `json:"storm_seconds"`

	Resumed    int    `json:"resumed"`    // in Single and Storm
	Failed     int    `json:"failed"`     // players that did not reconnect
	Sent       uint64 `json:"sent"`       // messages
	Expected   uint64 `json:"expected"`   // deliveries
	Received   uint64 `json:"received"`   // deliveries
	Lost       uint64 `json:"lost"`       // deliveries
	Duplicated uint64 `json:"duplicated"` // deliveries, not among Received
	Unsent     uint64 `json:"unsent"`     // messages that could not be sent, not among Sent
	Replayed   uint64 `json:"replayed"`   // messages sent again after a cut, by players and by the host
	Gaps       uint64 `json:"gaps"`       // reported by the host
}

// Resumes are the times of reconnects, from the cut to LOGIN_RESPONSE.
type Resumes struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}
