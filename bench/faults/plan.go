package faults

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"
)

//go:embed plans
var plans embed.FS

// Kind is a kind of fault.
type Kind string

// The kinds of fault.
const (
	// Silence stops everything that passes. Over TCP it arrives later.
	Silence Kind = "silence"
	// Link changes delay, jitter, loss and rate.
	Link Kind = "link"
	// Reset ends TCP connections with RST on both sides. UDP has no connections: its source port changes.
	Reset Kind = "reset"
	// Handover ends TCP connections with RST on the player's side, and the host hears nothing. The UDP source port changes.
	Handover Kind = "handover"
	// Rebind forgets the state of a NAT: TCP connections stay silent for good, the UDP source port changes.
	Rebind Kind = "rebind"
	// Stall stops the host's process (SIGSTOP).
	Stall Kind = "stall"
	// Crash ends the host's process (SIGKILL); it starts again when the fault is over.
	Crash Kind = "crash"
	// Kills ends a host that calls load (SIGKILL), at each failpoint of its store. It is the only fault of its plan, which has no players.
	Kills Kind = "kills"
	// Restart asks the host's process to end (SIGTERM); it may take as long as the fault, and then starts again.
	Restart Kind = "restart"
	// Throttle leaves the host's process a share of the time, in periods of 100 ms.
	Throttle Kind = "throttle"
	// DiskFull and DiskReadOnly have all writes of the host's store fail, DiskSync all syncs; DiskSlow has each sync take longer.
	DiskFull     Kind = "disk-full"
	DiskReadOnly Kind = "disk-read-only"
	DiskSync     Kind = "disk-sync-fails"
	DiskSlow     Kind = "disk-slow"
	// Memory has the host's process have little memory from its start on; while it lasts, players of other games are away and much is sent to them.
	Memory Kind = "memory"
	// Files leaves the host's process no file descriptor for anything new.
	Files Kind = "files"
	// Hang has a script of another game loop without end; the fault is over when the host must have ended it.
	Hang Kind = "hang"
)

// kinds are all of them, in the order of a legend.
var kinds = []Kind{Silence, Link, Reset, Handover, Rebind, Stall, Throttle, DiskFull, DiskReadOnly, DiskSync, DiskSlow, Memory, Files, Hang, Restart, Crash, Kills}

func kindNames() string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// meanings say what the kinds are.
var meanings = map[Kind]string{
	Silence:      "nothing passes",
	Link:         "the path is slow, or loses packets",
	Reset:        "connections are reset",
	Handover:     "the player has a new address",
	Rebind:       "a router forgets its connections",
	Stall:        "the host stands still",
	Throttle:     "the host gets a share of the CPU",
	DiskFull:     "the host's disk is full",
	DiskReadOnly: "the host's disk can only be read",
	DiskSync:     "the host's disk fails to sync",
	DiskSlow:     "the host's disk is slow",
	Memory:       "the host has little memory, and much to keep",
	Files:        "the host has no file descriptors left",
	Hang:         "a script of another game hangs",
	Restart:      "the host is asked to stop, and started again",
	Crash:        "the host is killed",
	Kills:        "the host is killed under load, at the failpoints of its store",
}

// instant reports whether a fault has no length.
func (k Kind) instant() bool { return k == Reset || k == Handover || k == Rebind }

// onHost reports whether a fault is one of the host's process.
func (k Kind) onHost() bool {
	return slices.Contains([]Kind{Stall, Throttle, DiskFull, DiskReadOnly, DiskSync, DiskSlow, Memory, Files, Hang, Restart, Crash, Kills}, k)
}

// ends reports whether a fault ends the host's process.
func (k Kind) ends() bool { return k == Crash || k == Restart }

// Duration is a time.Duration that is text in plans and reports.
type Duration time.Duration

// MarshalText writes it as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads, down to 0.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err == nil && (v < 0 || v > lengthMax) {
		err = fmt.Errorf("%s is not between 0 and %v", text, lengthMax)
	}
	*d = Duration(v)
	return err
}

// lengthMax bounds all times of a plan.
const lengthMax = 10 * time.Minute

// Plan is a fault plan.
type Plan struct {
	Name   string   `json:"name"`
	About  string   `json:"about"`  // what it stands for
	Length Duration `json:"length"` // until the last fault is over, the default; players play that long and a moment more
	Seed   *uint64  `json:"seed"`   // the default of --seed
	Faults []Step   `json:"faults"`

	// Row is the row of the fault matrix (docs/spec/reliability.md 7) that the plan tries. What follows are the players whom it takes,
	// unless others are asked for, and the figures of the row; see judgeFigures.
	Row        string   `json:"row"`
	Players    int      `json:"players"`
	Transports string   `json:"transports"` // with commas
	Delivered  uint64   `json:"delivered"`  // reliable messages, at least
	FastShare  float64  `json:"fastShare"`  // of the fast messages that arrive, at least
	BackP99    Duration `json:"backP99"`    // until players are back, at most
	BackMax    Duration `json:"backMax"`
	Uncut      bool     `json:"uncut"` // no player loses its connection
}

// Step is one entry of a plan: a fault, or several of the same kind.
type Step struct {
	At     Duration `json:"at"`
	Fault  Kind     `json:"fault"`
	Target string   `json:"target"` // all, half, one (a random choice), host
	For    Duration `json:"for"`    // how long; not for reset, handover, rebind
	Upto   Duration `json:"upto"`   // if set, the length is random between For and Upto
	Spread Duration `json:"spread"` // each target's fault begins up to that much later, at random
	Times  int      `json:"times"`  // default 1
	Every  Duration `json:"every"`  // between two of them

	Conditions
}

// Conditions are how a direction treats what passes. The zero value lets everything pass.
type Conditions struct {
	Direction string   `json:"direction,omitempty"` // up (to the host), down (to the player); empty: both
	Delay     Duration `json:"delay,omitempty"`
	Jitter    Duration `json:"jitter,omitempty"`    // added to the delay, at random
	Loss      float64  `json:"loss,omitempty"`      // share of the packets, 0 to 1
	Rate      int      `json:"rate,omitempty"`      // bytes per second; 0: no bound
	Duplicate float64  `json:"duplicate,omitempty"` // share of the datagrams that come twice, 0 to 1
	MTU       int      `json:"mtu,omitempty"`       // datagrams whose IP packet is larger are dropped, and nobody is told; 0: no bound
	Share     float64  `json:"share,omitempty"`     // of throttle: the share of the time that is left, above 0 and below 1
	MiB       int      `json:"mib,omitempty"`       // of memory: what the host's process may use
	silent    bool
}

// Event is one fault of one player, or of the host.
type Event struct {
	At     Duration `json:"at"`
	Fault  Kind     `json:"fault"`
	Player int      `json:"player"` // index; -1: the host
	For    Duration `json:"for,omitempty"`
	Conditions
}

// Scenarios are the named plans, by name.
func Scenarios() []Plan { return read("plans") }

// Matrix are the plans of the fault matrix, by row and name: scenarios, and plans that are there for a row's figures.
func Matrix() []Plan {
	all := slices.DeleteFunc(slices.Concat(read("plans"), read("plans/matrix")), func(p Plan) bool { return p.Row == "" })
	slices.SortFunc(all, func(a, b Plan) int { return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Name, b.Name)) })
	return all
}

// read reads the plans of a folder of this program.
func read(folder string) (all []Plan) {
	files, err := plans.ReadDir(folder)
	if err != nil {
		panic(err) // it is part of this program
	}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		text, err := plans.ReadFile(path.Join(folder, f.Name()))
		if err != nil {
			panic(err)
		}
		p, err := Parse(text)
		if err != nil {
			panic(fmt.Errorf("%s: %w", f.Name(), err))
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Plan) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// mtuMin is the least that IPv4 must carry.
const mtuMin = 68

// timesMax bounds the events of a plan.
const timesMax = 1000

func (s *Step) check() error {
	longest := max(s.For, s.Upto)
	conditions := s.Delay != 0 && s.Fault != DiskSlow || s.Jitter != 0 || s.Loss != 0 || s.Rate != 0 || s.Duplicate != 0 || s.MTU != 0
	switch {
	case !slices.Contains(kinds, s.Fault):
		return fmt.Errorf("there is no fault %q: it must be one of %s", s.Fault, kindNames())
	case s.Fault.onHost() && s.Target != "host":
		return fmt.Errorf("the target of %s must be host", s.Fault)
	case !s.Fault.onHost() && !slices.Contains([]string{"all", "half", "one"}, s.Target):
		return fmt.Errorf("the target of %s must be all, half or one", s.Fault)
	case s.Fault.instant() && longest != 0:
		return fmt.Errorf("%s happens at once: leave \"for\" and \"upto\" out", s.Fault)
	case !s.Fault.instant() && longest == 0:
		return fmt.Errorf("%s needs \"for\": how long it lasts", s.Fault)
	case s.Upto != 0 && s.Upto < s.For:
		return errors.New("upto must not be less than for")
	case s.Times < 1 || s.Times > timesMax:
		return fmt.Errorf("times must be 1 to %d", timesMax)
	case s.Loss < 0 || s.Loss > 1:
		return errors.New("loss must be 0 to 1")
	case s.Duplicate < 0 || s.Duplicate > 1:
		return errors.New("duplicate must be 0 to 1")
	case s.Rate < 0:
		return errors.New("rate must not be negative")
	case s.MTU != 0 && (s.MTU < mtuMin || s.MTU > datagramMax):
		return fmt.Errorf("mtu must be %d to %d", mtuMin, datagramMax)
	case !slices.Contains([]string{"", "up", "down"}, s.Direction):
		return errors.New("direction must be up or down")
	case conditions != (s.Fault == Link):
		return errors.New("delay, jitter, loss, duplicate, rate and mtu belong to link, which needs one of them")
	case s.Fault == DiskSlow && s.Delay == 0:
		return errors.New("disk-slow needs delay: how much longer each sync takes")
	case (s.Fault == Throttle) != (s.Share > 0 && s.Share < 1):
		return errors.New("share belongs to throttle, and must be above 0 and below 1")
	case (s.Fault == Memory) != (s.MiB >= memoryMin && s.MiB <= memoryMax):
		return fmt.Errorf("mib belongs to memory, and must be %d to %d", memoryMin, memoryMax)
	case s.Direction != "" && s.Fault != Link && s.Fault != Silence:
		return errors.New("direction belongs to link and silence")
	}
	return nil
}

// end is when the last fault of a step is over at the latest.
func (s *Step) end() Duration {
	return s.At + Duration(max(s.Times, 1)-1)*s.Every + s.Spread + max(s.For, s.Upto)
}

// Expand turns the plan into events, in order of time. Equal seeds and numbers of players give equal events.
func (p *Plan) Expand(seed uint64, players int) (all []Event) {
	random := rand.New(rand.NewPCG(seed, uint64(players)))
	for _, s := range p.Faults {
		for n := range s.Times {
			for _, player := range s.targets(random, players) {
				e := Event{At: s.At + Duration(n)*s.Every + upTo(random, s.Spread), Fault: s.Fault, Player: player, For: s.For, Conditions: s.Conditions}
				if s.Upto > 0 {
					e.For += upTo(random, s.Upto-s.For)
				}
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return all
}

func upTo(random *rand.Rand, most Duration) Duration {
	return Duration(random.Int64N(int64(most) + 1)).round()
}

// round keeps reports readable.
func (d Duration) round() Duration { return Duration(time.Duration(d).Round(time.Millisecond)) }

func (s *Step) targets(random *rand.Rand, players int) []int {
	order := random.Perm(players)
	switch s.Target {
	case "host":
		return []int{-1}
	case "one":
		order = order[:1]
	case "half":
		order = order[:(players+1)/2]
	}
	slices.Sort(order)
	return order
}

// quickFactor is by how much a quick run is shorter.
const quickFactor = 10

// An outage that is longer than noticed is noticed by what it is about; a quick one is then at least quickest long.
var outages = map[Kind]struct{ noticed, quickest Duration }{
	Silence: {Duration(hostSilence), Duration(hostSilence + 2500*time.Millisecond)},
	Stall:   {Duration(lateTimer), Duration(lateTimer + 500*time.Millisecond)},
	Restart: {0, Duration(3 * time.Second)}, // games go on for so long; what was sent before is to arrive meanwhile
}

const (
	// hostSilence is how long the host waits at least for a sign of life (realtime.md 12), lateTimer by how much a timer of the host must be
	// late before it gives all players more time (reliability.md 2.7).
	hostSilence = 6 * time.Second
	lateTimer   = time.Second
)

// quick returns a plan with all times divided, but for outages that would not be noticed any more.
func (p Plan) quick() Plan {
	p.Faults = slices.Clone(p.Faults)
	p.Length /= quickFactor
	for i := range p.Faults {
		s := &p.Faults[i]
		for _, d := range []*Duration{&s.At, &s.Spread, &s.Every} {
			*d /= quickFactor
		}
		for _, d := range []*Duration{&s.For, &s.Upto} {
			least := Duration(0)
			if o := outages[s.Fault]; *d > o.noticed {
				least = o.quickest
			}
			*d = max(*d/quickFactor, least)
		}
		p.Length = max(p.Length, s.end())
	}
	return p
}

// anyOf reports whether a fault is of one of these kinds.
func anyOf(events []Event, kinds ...Kind) bool {
	return slices.ContainsFunc(events, func(e Event) bool { return slices.Contains(kinds, e.Fault) })
}

// NeedsHost reports whether the plan is about the host's process, so that the host must be started here.
func (p *Plan) NeedsHost() bool {
	return slices.ContainsFunc(p.Faults, func(s Step) bool { return s.Fault.onHost() })
}
