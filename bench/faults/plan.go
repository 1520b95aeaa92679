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
	// Silence stops all traffic. Over TCP the data arrives when the fault is over.
	Silence Kind = "silence"
	// Link changes delay, jitter, loss and rate.
	Link Kind = "link"
	// Reset ends TCP connections with RST on both sides. UDP has no connections, so its source port changes.
	Reset Kind = "reset"
	// Handover ends TCP connections with RST on the player's side only; the host receives nothing. The UDP source port
	// changes.
	Handover Kind = "handover"
	// Rebind makes a NAT lose its state: TCP connections stay silent forever, and the UDP source port changes.
	Rebind Kind = "rebind"
	// Stall stops the host's process (SIGSTOP).
	Stall Kind = "stall"
	// Crash ends the host's process (SIGKILL). The host restarts when the fault is over.
	Crash Kind = "crash"
	// Cut lets nothing pass between a node of a cluster and others. Event.From says which ones.
	Cut Kind = "cut"
	// Revoke ends the lease of a node of a cluster, as an etcd with a slow disk did.
	Revoke Kind = "revoke"
	// Restore stops all members of etcd. When the fault is over, they start with a backup that is as old as the run.
	Restore Kind = "restore"
	// Kills ends a host under API load (SIGKILL), at each failpoint of its store. It must be the only fault of its
	// plan, and the plan has no players.
	Kills Kind = "kills"
	// Restart asks the host's process to end (SIGTERM). The process may take as long as the fault lasts. Then it
	// restarts.
	Restart Kind = "restart"
	// Throttle limits the host's process to a share of the CPU time, in periods of 100 ms.
	Throttle Kind = "throttle"
	// DiskFull and DiskReadOnly make all writes of the host's store fail. DiskSync makes all its syncs fail. DiskSlow
	// delays each sync.
	DiskFull     Kind = "disk-full"
	DiskReadOnly Kind = "disk-read-only"
	DiskSync     Kind = "disk-sync-fails"
	DiskSlow     Kind = "disk-slow"
	// Memory limits the memory of the host's process from its start on. During the fault, players of other games are
	// disconnected and many messages are sent to them.
	Memory Kind = "memory"
	// Files leaves the host's process without free file descriptors.
	Files Kind = "files"
	// Hang makes a script of another game loop forever. The fault ends when the host must have ended that game.
	Hang Kind = "hang"
)

// kinds lists all kinds in the order of the legend.
var kinds = []Kind{Silence, Link, Reset, Handover, Rebind, Stall, Throttle, DiskFull, DiskReadOnly, DiskSync, DiskSlow, Memory, Files, Hang, Restart, Crash, Kills, Cut, Revoke, Restore}

func kindNames() string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// meanings describes the kinds.
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
	Cut:          "nothing passes between a host of a cluster and others",
	Revoke:       "etcd revokes the lease of a host",
	Restore:      "etcd goes back to a backup",
}

// instant reports whether faults of this kind have no length.
func (k Kind) instant() bool { return k == Reset || k == Handover || k == Rebind || k == Revoke }

// onHost reports whether faults of this kind affect the host's process.
func (k Kind) onHost() bool {
	return slices.Contains([]Kind{Stall, Throttle, DiskFull, DiskReadOnly, DiskSync, DiskSlow, Memory, Files, Hang, Restart, Crash, Kills, Cut, Revoke, Restore}, k)
}

// onDisk reports whether faults of this kind affect the disk of a process.
func (k Kind) onDisk() bool {
	return slices.Contains([]Kind{DiskFull, DiskReadOnly, DiskSync, DiskSlow}, k)
}

// onCluster reports whether faults of this kind may affect a process of a cluster.
func (k Kind) onCluster() bool {
	return slices.Contains([]Kind{Crash, Restart, Stall, Cut, Revoke, Restore}, k) || k.onDisk()
}

// ends reports whether faults of this kind end the host's process.
func (k Kind) ends() bool { return k == Crash || k == Restart }

// Duration is a time.Duration that is text in plans and reports.
type Duration time.Duration

// MarshalText formats it as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText parses a duration as time.ParseDuration does. It must be 0 to lengthMax.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err == nil && (v < 0 || v > lengthMax) {
		err = fmt.Errorf("%s is not between 0 and %v", text, lengthMax)
	}
	*d = Duration(v)
	return err
}

// lengthMax bounds each time in a plan.
const lengthMax = 10 * time.Minute

// Plan is a fault plan.
type Plan struct {
	Name   string   `json:"name"`
	About  string   `json:"about"`  // what the plan simulates
	Length Duration `json:"length"` // default: until the end of the last fault; players play a moment longer
	Seed   *uint64  `json:"seed"`   // default of --seed
	Faults []Step   `json:"faults"`

	// Row is the row of the fault matrix (docs/spec/reliability.md 7) that the plan tests. The fields below are the
	// default players and the figures that the row requires; see judgeFigures.
	Row        string   `json:"row"`
	Players    int      `json:"players"`
	Transports string   `json:"transports"` // separated by commas
	Delivered  uint64   `json:"delivered"`  // minimum number of reliable messages that arrive
	FastShare  float64  `json:"fastShare"`  // minimum share of fast messages that arrive
	BackP99    Duration `json:"backP99"`    // maximum time until players are reconnected, p99
	BackMax    Duration `json:"backMax"`
	Uncut      bool     `json:"uncut"` // no player may lose its connection

	// Nodes is the number of hosts in a cluster, with three members of etcd; 0: one host without a cluster. Row is then
	// a row of docs/spec/cluster.md 15.2, and the fields below are the promises of that row; see judgeCluster.
	Nodes   int      `json:"nodes"`
	EndsMin Duration `json:"endsMin"` // game sessions of the hosts under fault are TERMINATED no earlier than this
	EndsMax Duration `json:"endsMax"` // and at the latest after this; 0: no game session ends
	LeadMax Duration `json:"leadMax"` // maximum time until another host leads; 0: not judged
	CallMax Duration `json:"callMax"` // longest call; 0: not judged
	Back    Duration `json:"back"`    // maximum time from the end of the fault until all hosts are registered; 0: not judged
}

// Step is one entry of a plan: a fault, or several faults of the same kind.
type Step struct {
	At     Duration `json:"at"`
	Fault  Kind     `json:"fault"`
	Target string   `json:"target"` // all, half, one (chosen at random), host; in a cluster see clusterTarget
	From   string   `json:"from"`   // cut only: etcd, peers (etcd and all hosts), one (one host), all (etcd, hosts, players)
	For    Duration `json:"for"`    // length; not for reset, handover, rebind
	Upto   Duration `json:"upto"`   // if set, the length is random between For and Upto
	Spread Duration `json:"spread"` // each target's fault begins up to this much later, at random
	Times  int      `json:"times"`  // default 1
	Every  Duration `json:"every"`  // time between two repetitions

	Conditions
}

// Conditions describe how a direction treats packets. The zero value lets all packets pass.
type Conditions struct {
	Direction string   `json:"direction,omitempty"` // up (to the host) or down (to the player); empty: both
	Delay     Duration `json:"delay,omitempty"`
	Jitter    Duration `json:"jitter,omitempty"`    // maximum random addition to the delay
	Loss      float64  `json:"loss,omitempty"`      // share of packets that are lost, 0 to 1
	Rate      int      `json:"rate,omitempty"`      // bytes per second; 0: unlimited
	Duplicate float64  `json:"duplicate,omitempty"` // share of datagrams that arrive twice, 0 to 1
	MTU       int      `json:"mtu,omitempty"`       // datagrams with a larger IP packet are dropped without an error; 0: unlimited
	Share     float64  `json:"share,omitempty"`     // throttle only: share of the CPU time that remains, above 0 and below 1
	MiB       int      `json:"mib,omitempty"`       // memory only: limit of the host's process in MiB
	silent    bool
}

// Event is one fault of one player, or of the host.
type Event struct {
	At     Duration `json:"at"`
	Fault  Kind     `json:"fault"`
	Player int      `json:"player"`           // index; -1: the host, or Target
	Target string   `json:"target,omitempty"` // process of a cluster
	From   string   `json:"from,omitempty"`
	For    Duration `json:"for,omitempty"`
	Conditions
}

// Scenarios returns the named plans of one host, ordered by name.
func Scenarios() []Plan { return read("plans") }

// ClusterScenarios returns the named plans of a cluster, ordered by name.
func ClusterScenarios() []Plan { return read("plans/cluster") }

// Matrix returns the plans of the fault matrix, ordered by row and name. They are scenarios and additional plans that
// measure the figures of a row.
func Matrix() []Plan {
	all := slices.DeleteFunc(slices.Concat(read("plans"), read("plans/matrix"), read("plans/cluster"), read("plans/cluster/matrix")), func(p Plan) bool { return p.Row == "" })
	slices.SortFunc(all, func(a, b Plan) int { return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Name, b.Name)) })
	return all
}

// read parses the embedded plans of a folder.
func read(folder string) (all []Plan) {
	files, err := plans.ReadDir(folder)
	if err != nil {
		panic(err) // cannot happen: the folder is embedded
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

// mtuMin is the smallest MTU that IPv4 allows.
const mtuMin = 68

// timesMax bounds the number of repetitions in a plan.
const timesMax = 1000

func (s *Step) check() error {
	longest := max(s.For, s.Upto)
	conditions := s.Delay != 0 && s.Fault != DiskSlow || s.Jitter != 0 || s.Loss != 0 || s.Rate != 0 || s.Duplicate != 0 || s.MTU != 0
	switch {
	case !slices.Contains(kinds, s.Fault):
		return fmt.Errorf("there is no fault %q: it must be one of %s", s.Fault, kindNames())
	case s.Fault != Cut && s.From != "":
		return errors.New("from belongs to cut")
	case s.Fault == Cut && !slices.Contains([]string{"etcd", "peers", "one", "all"}, s.From):
		return errors.New("from must be etcd, peers, one or all")
	case s.Fault == Restore && s.Target != "etcd":
		return errors.New("the target of restore must be etcd")
	case clusterTarget().MatchString(s.Target) && (s.Fault == Cut || s.Fault == Revoke) && strings.HasPrefix(s.Target, "etcd"):
		return fmt.Errorf("the target of %s must be a host", s.Fault)
	case (s.Fault == Cut || s.Fault == Revoke) && !clusterTarget().MatchString(s.Target):
		return fmt.Errorf("the target of %s must be node, leader or follower", s.Fault)
	case s.Fault.onHost() && s.Target != "host" && !(s.Fault.onCluster() && clusterTarget().MatchString(s.Target)):
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

// end returns the latest time at which the last fault of a step ends.
func (s *Step) end() Duration {
	return s.At + Duration(max(s.Times, 1)-1)*s.Every + s.Spread + max(s.For, s.Upto)
}

// Expand turns the plan into events, ordered by time. The same seed and number of players give the same events.
func (p *Plan) Expand(seed uint64, players int) (all []Event) {
	random := rand.New(rand.NewPCG(seed, uint64(players)))
	for _, s := range p.Faults {
		for n := range s.Times {
			for _, player := range s.targets(random, players) {
				e := Event{At: s.At + Duration(n)*s.Every + upTo(random, s.Spread), Fault: s.Fault, Player: player, From: s.From, For: s.For, Conditions: s.Conditions}
				if s.Target != "host" && player < 0 {
					e.Target = s.Target
				}
				if s.Target == "node" && p.Nodes > 0 {
					e.Target = fmt.Sprint("node-", random.IntN(p.Nodes))
				}
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

// round rounds to milliseconds, for readable reports.
func (d Duration) round() Duration { return Duration(time.Duration(d).Round(time.Millisecond)) }

func (s *Step) targets(random *rand.Rand, players int) []int {
	order := random.Perm(players)
	switch {
	case s.Target == "host", clusterTarget().MatchString(s.Target):
		return []int{-1}
	}
	switch s.Target {
	case "one":
		order = order[:1]
	case "half":
		order = order[:(players+1)/2]
	}
	slices.Sort(order)
	return order
}

// quickFactor is the factor by which a quick run is shorter.
const quickFactor = 10

// outages holds two lengths for each kind. An outage longer than noticed is detected by the side that it affects. If a
// plan has such an outage, the quick version lasts at least quickest, so that it is detected too.
var outages = map[Kind]struct{ noticed, quickest Duration }{
	Silence: {Duration(hostSilence), Duration(hostSilence + 2500*time.Millisecond)},
	Stall:   {Duration(lateTimer), Duration(lateTimer + 500*time.Millisecond)},
	Restart: {0, Duration(3 * time.Second)}, // games continue for this long; messages sent before the restart must arrive in that time
}

const (
	// hostSilence is the minimum time that the host waits for a sign of life (realtime.md 12). lateTimer is how late a
	// timer of the host must be before the host gives all players more time (reliability.md 2.7).
	hostSilence = 6 * time.Second
	lateTimer   = time.Second
)

// quick returns a plan whose times are divided by quickFactor. Outages that must be detected keep a minimum length; see
// outages.
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

// anyOf reports whether a fault has one of these kinds.
func anyOf(events []Event, kinds ...Kind) bool {
	return slices.ContainsFunc(events, func(e Event) bool { return slices.Contains(kinds, e.Fault) })
}

// NeedsHost reports whether the plan has faults of the host's process, so that the run must start the host.
func (p *Plan) NeedsHost() bool {
	return slices.ContainsFunc(p.Faults, func(s Step) bool { return s.Fault.onHost() })
}
