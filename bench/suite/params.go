package suite

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Params define the size and the duration of a workload. In the caller's parameters, zero means the workload's value.
// In a workload, zero means none.
type Params struct {
	Rooms   int           // number of rooms; each is a game session
	Players int           // players per room
	Hz      float64       // messages per second and player
	Payload int           // message size in bytes
	Warmup  time.Duration // length of the load before the measured part
	Measure time.Duration // length of the measured part
	Rest    time.Duration // wait before memory is read
	Rounds  int           // number of measurements of each subject
	Rate    float64       // joins or calls per second
	Servers int           // game servers with the Server SDK
}

// with returns the parameters with the caller's non-zero values applied.
func (p Params) with(o Params) Params {
	return Params{
		cmp.Or(o.Rooms, p.Rooms), cmp.Or(o.Players, p.Players), cmp.Or(o.Hz, p.Hz), cmp.Or(o.Payload, p.Payload),
		cmp.Or(o.Warmup, p.Warmup), cmp.Or(o.Measure, p.Measure), cmp.Or(o.Rest, p.Rest), cmp.Or(o.Rounds, p.Rounds), cmp.Or(o.Rate, p.Rate), cmp.Or(o.Servers, p.Servers),
	}
}

// params returns the parameters of a run.
func (w *Workload) params(o Options) Params {
	p := w.Params
	if o.Quick {
		p.Rooms, p.Players, p.Hz = min(p.Rooms, 2), min(p.Players, 3), min(p.Hz, 50)
		p.Rate, p.Servers, p.Rounds = min(p.Rate, 50), min(p.Servers, 20), 1
		p.Warmup, p.Measure, p.Rest = min(p.Warmup, 50*time.Millisecond), min(p.Measure, 300*time.Millisecond), min(p.Rest, 100*time.Millisecond)
		if w.quick != nil {
			w.quick(&p)
		}
	}
	return p.with(o.Params)
}

// Bounds of the caller's parameters. The service API allows 200 players per game session.
const (
	playersMax  = 200
	payloadMin  = 16
	payloadMax  = 4096
	measureMin  = 100 * time.Millisecond
	measureMax  = 10 * time.Minute
	roundsMax   = 100
	roomsMax    = 100_000
	serversMax  = 50_000
	filesSpare  = 200 // files of a process in addition to its connections
	hzMax       = 10_000
	rateMax     = 100_000
	aboutLogin  = 300 * time.Microsecond // estimated time per login, for the estimate of a round's duration
	aboutStart  = time.Second            // estimated time to start a server
	momentEvery = 500 * time.Millisecond
)

func (p Params) validate() error {
	switch {
	case p.Rooms < 0 || p.Rooms > roomsMax:
		return fmt.Errorf("--rooms must be 1 to %d", roomsMax)
	case p.Servers < 0 || p.Servers > serversMax:
		return fmt.Errorf("--servers must be 1 to %d, because each has a port of its own", serversMax)
	case p.Players < 0 || p.Players > playersMax:
		return fmt.Errorf("--players must be 1 to %d: the service API takes no more in a game session", playersMax)
	case p.Hz < 0 || p.Hz > hzMax:
		return fmt.Errorf("--hz must be above 0 and at most %d", hzMax)
	case p.Rate < 0 || p.Rate > rateMax:
		return fmt.Errorf("--rate must be above 0 and at most %d", rateMax)
	case p.Payload != 0 && (p.Payload < payloadMin || p.Payload > payloadMax):
		return fmt.Errorf("--payload must be %d to %d bytes", payloadMin, payloadMax)
	case p.Measure != 0 && (p.Measure < measureMin || p.Measure > measureMax):
		return fmt.Errorf("--measure must be %v to %v", measureMin, measureMax)
	case p.Warmup < 0 || p.Rest < 0 || p.Warmup > measureMax || p.Rest > measureMax:
		return errors.New("--warmup and --rest must be at most 10m")
	case p.Rounds < 0 || p.Rounds > roundsMax:
		return fmt.Errorf("--rounds must be 1 to %d", roundsMax)
	}
	return nil
}

// words describes the load.
func (p Params) words() string {
	var s string
	add := func(format string, values ...any) {
		if s != "" {
			s += ", "
		}
		s += fmt.Sprintf(format, values...)
	}
	switch {
	case p.Rooms > 0 && p.Players > 0:
		add("%s of %s", count(p.Rooms, "room"), count(p.Players, "player"))
	case p.Rooms > 0:
		add("%s", count(p.Rooms, "game session"))
	case p.Players > 0:
		add("%s", count(p.Players, "player"))
	}
	if p.Servers > 0 {
		add("%s", count(p.Servers, "game server"))
	}
	if p.Hz > 0 {
		add("%g messages per second each", p.Hz)
	}
	if p.Payload > 0 {
		add("%d bytes", p.Payload)
	}
	if p.Rate > 0 {
		add("%g/s", p.Rate)
	}
	if p.Measure > 0 {
		add("%v measured after %v", p.Measure, p.Warmup)
	}
	if p.Rest > 0 {
		add("%v at rest before memory is read", p.Rest)
	}
	return s
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// lasts returns the estimated duration of one measurement.
func (p Params) lasts() time.Duration {
	return aboutStart + time.Duration(p.Rooms*max(p.Players, 1))*aboutLogin + p.Warmup + p.Measure + p.Rest
}
