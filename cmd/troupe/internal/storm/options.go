package storm

import (
	"crypto/tls"
	"errors"
	"time"

	"troupe/transport/client"
)

// Options say what to measure.
type Options struct {
	API       string   // URL of a running host's service API; empty: a host is started
	Host      []string // settings KEY=VALUE of the host that is started
	Region    string
	Fleet     string
	Transport client.Transport
	KCPAddr   string      // of a running host
	TLS       *tls.Config // of a running host

	Players int           // altogether
	Room    int           // players per game session
	Rate    float64       // messages per second and player, each to the whole room
	Payload int           // bytes
	Single  int           // how many cuts, one at a time
	Every   time.Duration // between two of them
	Seed    uint64        // of who is cut
	// Patience is how long everybody may take to come back, and the last messages
	// to arrive.
	Patience time.Duration
}

func (o *Options) validate() error {
	switch {
	case o.Players < 2 || o.Room < 2 || o.Room > seatsMax:
		return errors.New("there must be at least 2 players, and 2 to 200 in a room")
	case o.Rate < 0 || o.Payload < stampBytes || o.Payload > client.PayloadMax:
		return errors.New("the rate must not be negative, the payload 12 to 4096 bytes")
	case o.Single < 0 || o.Single > 0 && o.Every <= 0:
		return errors.New("single cuts need a time between them")
	}
	return nil
}

// Result is what was measured, as it is stored.
type Result struct {
	Machine   string  `json:"machine"`
	Players   int     `json:"players"`
	Transport string  `json:"transport"`
	Rate      float64 `json:"messages_per_second_and_player"`
	// Single are the cuts one at a time, Storm the one of all.
	Single Resumes `json:"single"`
	Storm  Resumes `json:"storm"`
	// StormSeconds is from the cut of all until the last one was back.
	StormSeconds float64 `json:"storm_seconds"`

	Resumed    int    `json:"resumed"`    // in both
	Failed     int    `json:"failed"`     // players that did not come back
	Sent       uint64 `json:"sent"`       // messages
	Expected   uint64 `json:"expected"`   // deliveries
	Received   uint64 `json:"received"`   // of them
	Lost       uint64 `json:"lost"`       // of them
	Duplicated uint64 `json:"duplicated"` // on top
	Unsent     uint64 `json:"unsent"`     // messages that could not be sent, and are not among the others
	Replayed   uint64 `json:"replayed"`   // messages sent again after a cut, by players and by the host's own count
	Gaps       uint64 `json:"gaps"`       // that the host told of
}

// Resumes are players that came back.
type Resumes struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}
