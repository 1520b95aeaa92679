package faults

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"troupe/bench/faults/disk"
	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/transport"
	"troupe/transport/client"
)

// Options configures a run.
type Options struct {
	Plan Plan
	// Events, if not nil, replaces the events that the plan and the seed produce.
	Events  []Event
	Seed    uint64
	Players int  // 1 to PlayersMax
	Quick   bool // divide all times of the plan by ten

	Bin    string   // path of this program, which is started as the host
	Behind []string // arguments after Bin that make it call disk.Exec; the socket and the program follow them
	Sets   []string // KEY=VALUE settings of the host that the run starts
	Script string   // file or folder of the game's own script for that host; empty: our script, which logs its callbacks
	// Against is a host that is already running; nil: the run starts one.
	Against *server.Remote
	// Transports are assigned to the players in turn. Auto and an empty list are not allowed.
	Transports []client.Transport
	// WSSAddr and KCPAddr are the addresses (host:port) of Against for wss and kcp. TLS holds the certificates to trust
	// there.
	WSSAddr, KCPAddr string
	TLS              *tls.Config

	Network transport.Network // network of the proxies and players; nil: the operating system's

	Watch *result.Progress
}

// PlayersMax is the maximum number of players in a game session.
const PlayersMax = 200

const (
	// settle is how long the players continue to play after the last fault.
	settle      = time.Second
	settleQuick = 200 * time.Millisecond
	// silenceMax is how long a client tolerates a silent host. It is the default of client.Options.
	silenceMax   = 15 * time.Second
	silenceQuick = 1500 * time.Millisecond
	// quiet is added to the client's silence limit. If nothing has arrived for that time, missing messages count as lost.
	quiet = 3 * time.Second
)

// Report is the result of a run. Store writes it, and Read reads it.
type Report struct {
	Format   int       `json:"format"`
	Scenario string    `json:"scenario"`
	About    string    `json:"about"`
	Started  time.Time `json:"started"`
	Seed     uint64    `json:"seed"`
	Players  int       `json:"players"`
	Quick    bool      `json:"quick,omitempty"`
	Length   Duration  `json:"length"`
	// Transports are assigned to the players in turn. Script is the file name of the game's own script. Against means
	// that the host was already running.
	Transports []string  `json:"transports,omitempty"`
	Script     string    `json:"script,omitempty"`
	Against    bool      `json:"against,omitempty"`
	Events     []Event   `json:"events"`
	Plan       *Plan     `json:"plan,omitempty"`  // of a cluster
	Calls      []Calls   `json:"calls,omitempty"` // in a cluster
	Figures    Figures   `json:"figures"`
	Verdicts   []Verdict `json:"verdicts"`
	Timeline   []Moment  `json:"timeline,omitempty"`
	Absences   []Absence `json:"absences,omitempty"`
}

// format is the version of the report format.
const format = 1

type run struct {
	o         Options
	events    []Event
	dir       string
	own       server.Spec // host that the run starts
	proc      *server.Process
	restarted time.Time // when the host was started again
	line      *timeline
	called    map[string]int // number of callbacks already in the timeline, by game session
	told      expectations   // reported by the script
	disk      *disk.Disk     // disk of the host, for disk faults; otherwise nil
	tight     *tight         // memory limit of the host, for memory faults; otherwise nil
	calls     *calls         // API calls during a disk fault
	hung      *hung          // game whose script hangs
	others    []string       // game sessions without players, for a crash
	asked     time.Time      // when the host was asked to end
	left      exit           // how the host ended after that
}

// Run plays one plan. If it returns an error, the verdicts are incomplete.
func Run(ctx context.Context, o Options) (report Report, err error) {
	r := &run{o: o, events: o.Events, called: make(map[string]int), calls: new(calls)}
	if err := r.check(); err != nil {
		return report, err
	}
	plan := o.Plan
	if o.Quick && o.Events == nil {
		plan = plan.quick()
	}
	if r.events == nil {
		r.events = plan.Expand(o.Seed, o.Players)
	}
	plan.Length = max(plan.Length, r.noticed())
	r.line = newTimeline(time.Duration(plan.Length))
	if r.dir, err = os.MkdirTemp("", "troupe-faults-"); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	defer func() {
		if r.proc != nil {
			err = errors.Join(err, r.proc.Stop())
		}
		if r.disk != nil {
			err = errors.Join(err, r.disk.Close())
		}
		if r.tight != nil {
			err = errors.Join(err, r.tight.Close())
		}
	}()
	kills := anyOf(r.events, Kills)
	if !kills && plan.Nodes == 0 {
		if err := r.start(ctx); err != nil {
			return report, err
		}
	}
	report = Report{
		Format: format, Scenario: plan.Name, About: plan.About, Started: time.Now().UTC().Truncate(time.Second), Seed: o.Seed, Players: o.Players,
		Quick: o.Quick, Length: plan.Length, Events: r.events, Against: o.Against != nil,
	}
	for _, t := range o.Transports {
		report.Transports = append(report.Transports, t.String())
	}
	if o.Script != "" {
		report.Script = filepath.Base(o.Script)
	}
	switch {
	case plan.Nodes > 0:
		err = r.playCluster(ctx, &plan, &report)
	case kills:
		err = r.playKills(ctx, &report)
	default:
		err = r.play(ctx, time.Duration(plan.Length), &report)
	}
	if !o.Quick && err == nil {
		report.Verdicts = append(report.Verdicts, plan.judgeFigures(&report.Figures, o.Players)...)
	}
	report.Timeline, report.Absences = r.line.close(o.Players)
	return report, err
}

func (r *run) check() error {
	o := &r.o
	switch {
	case o.Players < 1 || o.Players > PlayersMax:
		return fmt.Errorf("--players must be 1 to %d", PlayersMax)
	case o.Against != nil && (o.Plan.NeedsHost() || slices.ContainsFunc(o.Events, func(e Event) bool { return e.Player < 0 })):
		return fmt.Errorf("%s breaks the host itself, which must be started here: leave --against out", o.Plan.Name)
	case o.Plan.Nodes > 0 && (o.Quick || o.Script != ""):
		return fmt.Errorf("%s is about the times of a cluster and has a script of its own: leave --quick and --script out", o.Plan.Name)
	case o.Against != nil && (o.Script != "" || len(o.Sets) > 0):
		return errors.New("--script and --set are for a host that is started here: leave them out, or --against")
	case len(o.Transports) == 0 || slices.Contains(o.Transports, client.Auto):
		return errors.New("--transport must be ws, wss or kcp")
	}
	if o.Script != "" {
		if _, err := os.Stat(o.Script); err != nil {
			return fmt.Errorf("--script: %w", err)
		}
	}
	return nil
}

// play lets the players play while the faults happen, and then judges.
func (r *run) play(ctx context.Context, length time.Duration, report *Report) (err error) {
	players, room, err := r.enter(ctx, 0)
	if err != nil {
		return err
	}
	if anyOf(r.events, Crash) {
		if err := r.openOthers(ctx); err != nil {
			return err
		}
	}
	goodbye := false
	defer func() { players.leave(goodbye) }()
	r.line.begin()
	halt := make(chan struct{})
	var playing sync.WaitGroup
	stop := sync.OnceFunc(func() { close(halt); playing.Wait() })
	defer stop()
	for i, p := range players.players {
		playing.Go(func() { p.play(halt, sendEvery*time.Duration(i)/time.Duration(len(players.players))) })
	}
	if r.disk != nil {
		playing.Go(func() { r.calls.run(ctx, r.proc, halt) })
	}
	r.o.Watch.Begin(fmt.Sprintf("seed %d, %d players", r.o.Seed, r.o.Players), 0, 1, length+r.settle())
	if err := r.inject(ctx, length, players); err != nil {
		return err
	}
	healed := time.Now()
	if anyOf(r.events, Crash, Restart) {
		stop()
		if anyOf(r.events, Restart) {
			report.Verdicts = r.judgeRestart(players)
		}
		more, err := r.judgeCrash(ctx, players, room)
		if err != nil {
			return err
		}
		log, err := r.proc.GameSessionLog(ctx, room.Session)
		if err != nil {
			return err
		}
		r.told.read(log)
		report.Verdicts = append(report.Verdicts, more...)
		players.leave(false)
		return r.playAgain(ctx, report)
	}
	if err := rest(ctx, r.settle()); err != nil {
		return err
	}
	verdicts, alive, err := r.judgeMemory()
	report.Verdicts = verdicts
	if err != nil || !alive {
		return err
	}
	more, err := r.judgeHang(ctx)
	if err != nil {
		return err
	}
	report.Verdicts = append(report.Verdicts, more...)
	stop()
	after, err := r.recover(ctx, players, healed)
	if err != nil {
		return err
	}
	if err := r.judge(ctx, players, room, after, report); err != nil {
		return err
	}
	goodbye = true
	if r.disk != nil {
		more, err := r.judgeCalls(ctx, players)
		if err != nil {
			return err
		}
		report.Verdicts = append(report.Verdicts, more...)
	}
	r.o.Watch.End(report.Figures.String())
	return nil
}

// playAgain lets players play a new game on the restarted host.
func (r *run) playAgain(ctx context.Context, report *Report) error {
	players, room, err := r.enter(ctx, 1)
	if err != nil {
		return fmt.Errorf("a new game after the crash: %w", err)
	}
	defer players.leave(false)
	halt := make(chan struct{})
	var playing sync.WaitGroup
	for _, p := range players.players {
		playing.Go(func() { p.play(halt, 0) })
	}
	err = rest(ctx, r.settle())
	close(halt)
	playing.Wait()
	if err != nil {
		return err
	}
	after, err := r.recover(ctx, players, time.Now())
	if err != nil {
		return err
	}
	if err := r.judge(ctx, players, room, after, report); err != nil {
		return err
	}
	r.o.Watch.End(report.Figures.String())
	return nil
}

// judge adds the verdicts on a game in which the players no longer send. It disconnects the players.
func (r *run) judge(ctx context.Context, players *crew, room server.Room, after recovery, report *Report) error {
	before, err := r.callbacks(ctx, room.Session)
	if err != nil {
		return err
	}
	delivery := players.delivery(&report.Figures, after)
	if err := r.proven(&report.Figures); err != nil {
		return err
	}
	report.Verdicts = append(report.Verdicts, delivery...)
	if r.hostOnly() {
		report.Verdicts = append(report.Verdicts, judge("RL-115", "no player loses its connection by that", report.Figures.Resumes == 0, "%d did", report.Figures.Resumes))
	}
	var peers []int32
	for _, p := range players.players {
		peers = append(peers, p.peer)
	}
	players.leave(len(after.away) == 0)
	verdict, err := r.judgeCallbacks(ctx, peers, room.Session, before, &report.Figures)
	report.Verdicts = append(report.Verdicts, verdict)
	if err != nil {
		return err
	}
	if err := r.readHost(ctx, &report.Figures); err != nil {
		return err
	}
	own, err := r.judgeScript(ctx, room.Session)
	report.Verdicts = append(report.Verdicts, own...)
	return err
}

// proven returns an error if no reliable message came back from a game that may run its own script. Such a script may
// reject all messages, so the run would not show what the host lost.
func (r *run) proven(f *Figures) error {
	if f.Sent > 0 && f.Delivered == 0 && (r.o.Against != nil || r.o.Script != "") {
		return fmt.Errorf("no message of op code %d came back: does the script pass it on?", opReliable)
	}
	return nil
}

// readHost reads the resource usage of the host's process.
func (r *run) readHost(ctx context.Context, f *Figures) (err error) {
	if r.o.Against != nil { // it serves other players too, so its figures are meaningless
		f.Goroutines = -1
		return nil
	}
	if f.Restarts, err = r.proc.Metric(ctx, "troupe_actor_restarts_total"); err != nil {
		return err
	}
	if usage, err := r.proc.Usage(); err == nil { // otherwise there is no /proc
		f.HostMiB = float64(usage.PeakBytes) / (1 << 20)
	}
	counters, err := r.proc.Counters(ctx)
	f.Goroutines = counters.Goroutines
	return err
}

// silence returns how long clients tolerate a silent host. If only the host has faults, clients wait until the faults
// are over. Then a lost connection means that the host closed it. This limit is the same in a quick run.
func (r *run) silence() time.Duration {
	longest := Duration(0)
	for _, e := range r.events {
		if r.hostOnly() {
			longest = max(longest, e.For)
		}
	}
	if longest > 0 {
		return silenceMax + time.Duration(longest)
	}
	if r.o.Quick {
		return silenceQuick
	}
	return silenceMax
}

// hostOnly reports whether all faults affect the host and none of them ends its process.
func (r *run) hostOnly() bool {
	return !slices.ContainsFunc(r.events, func(e Event) bool { return !e.Fault.onHost() || e.Fault.ends() })
}

func (r *run) settle() time.Duration {
	if r.o.Quick {
		return settleQuick
	}
	return settle
}

// inject begins and ends the faults on time. All faults have ended when it returns.
func (r *run) inject(ctx context.Context, length time.Duration, players *crew) error {
	return schedule(ctx, r.events, length, func(e Event) (end func() error, err error) {
		if e.Player < 0 {
			return r.onHost(ctx, e, players)
		}
		over := players.players[e.Player].path.Begin(e)
		if over == nil {
			return nil, nil
		}
		return func() error { over(); return nil }, nil
	})
}

// recover waits until all players are back and no message is missing, or until nothing more will arrive.
func (r *run) recover(ctx context.Context, players *crew, healed time.Time) (got recovery, err error) {
	silence := r.silence()
	for {
		missing, last := uint64(0), healed
		got = recovery{}
		for _, p := range players.players {
			missing += p.missing()
			if !p.c.Attached() {
				got.away = append(got.away, p.index)
			}
			p.mu.Lock()
			got.attached = max(got.attached, p.lastResume.Sub(healed))
			for _, t := range []time.Time{p.lastEvent, p.lastResume} {
				if t.After(last) {
					last = t
				}
			}
			p.mu.Unlock()
		}
		got.empty = time.Since(healed)
		switch {
		case missing == 0 && len(got.away) == 0:
			return got, nil
		case got.empty > emptyMax, len(got.away) == 0 && time.Since(last) > silence+quiet:
			return got, nil
		}
		if err := rest(ctx, 20*time.Millisecond); err != nil {
			return got, err
		}
	}
}

// String describes the event in a few words.
func (e Event) String() string {
	if e.Player < 0 {
		return string(e.Fault) + " of " + cmp.Or(e.Target, "the host")
	}
	return fmt.Sprintf("%s of player %d", e.Fault, e.Player)
}

// String formats the main figures in one line.
func (f Figures) String() string {
	return fmt.Sprintf("%d delivered, %d lost, %d twice, %d resumes, reattached in %.0f ms (p50), %.0f ms (p99), %.0f ms (max)",
		f.Delivered, f.Lost, f.Duplicated, f.Resumes, f.ReattachP50Ms, f.ReattachP99Ms, f.ReattachMaxMs)
}

// Broken reports whether a promise was broken.
func (r *Report) Broken() bool {
	return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Outcome == broken })
}

// Print writes the verdicts and figures as text.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\nseed %d, %d players, %d faults\n\n", r.Scenario, r.About, r.Seed, r.Players, len(r.Events))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range r.Verdicts {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", v.Outcome, v.Invariant, v.Promise, v.Detail)
	}
	_ = t.Flush() // an error of w is ignored here
	if len(r.Calls) > 0 {
		fmt.Fprintln(t, "\nCALL\tCODE\tCOUNT\tAT A HOST UNDER FAULT\tLONGEST")
		for _, c := range r.Calls {
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.0f ms\n", c.Operation, c.Code, c.Count, c.Hurt, c.MaxMs)
		}
		_ = t.Flush()
	}
	f := &r.Figures
	if f.Sent == 0 {
		return
	}
	fmt.Fprintf(w, "\nreliable: %d sent, %d not accepted for sending, %d delivered, %d lost, %d twice, %d out of order\n", f.Sent, f.Unsent, f.Delivered, f.Lost, f.Duplicated, f.OutOfOrder)
	fmt.Fprintf(w, "fast: %d sent, %d delivered\n", f.FastSent, f.FastDelivered)
	fmt.Fprintf(w, "resumes: %d, failed %d, reattached in %.0f ms (p50), %.0f ms (p99), %.0f ms (max)\n", f.Resumes, f.ResumesFailed, f.ReattachP50Ms, f.ReattachP99Ms, f.ReattachMaxMs)
	if f.SlowestElsewhereMs > 0 {
		fmt.Fprintf(w, "slowest message in a game session of a host without a fault: %.0f ms\n", f.SlowestElsewhereMs)
	}
}

// Read reads a stored report.
func Read(file string) (r Report, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil || r.Format != format || len(r.Verdicts) == 0 {
		return r, fmt.Errorf("%s is not a report of troupe faults", file)
	}
	for _, e := range r.Events {
		if e.Player < -1 || e.Player >= r.Players || e.Player < 0 != e.Fault.onHost() {
			return r, fmt.Errorf("%s: there is no player %d for %s", file, e.Player, e.Fault)
		}
	}
	return r, nil
}

// Store writes the report as JSON.
func (r *Report) Store(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
