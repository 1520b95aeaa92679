// Command kills ends the troupe host by SIGKILL at every failpoint of its store, and at random times, while callers create
// game sessions, player sessions, placements, matchmaking tickets, queues and aliases; starts it again on the same store; and looks for
// what was answered before. Nothing may be lost, each placement must end once, with one event, and each ticket must be matched once,
// with one seat for each of its players, also where matches are accepted first, and where backfill fills game sessions, by request and
// automatically. Each backfill ticket must end once.
//
// It is no workload of troupe bench: it needs a host with failpoints, which no user has, and asks whether something is lost, not
// how fast something is. The host must be built with the tag faults. It exits with 1 when something was lost, with 2 when it could
// not find out.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"troupe/actors/fault"
	"troupe/bench/result"
	"troupe/bench/server"
)

// options is the command line.
type options struct {
	troupe, points, json string
	rounds, workers      int
	load                 time.Duration
	seed                 uint64
	patience             time.Duration // for what has to end after a restart
}

// row is what became of one failpoint.
type row struct {
	Point      string        `json:"failpoint"`
	Kills      int           `json:"kills"`
	Missed     int           `json:"not_hit"` // rounds in which the point was not passed in time: killed from outside
	Answered   counts        `json:"answered"`
	Lost       int           `json:"lost"`
	Placements int           `json:"placements"` // that were answered
	EndedOnce  int           `json:"ended_once"` // of them
	Tickets    int           `json:"tickets"`    // that were answered
	Matched    int           `json:"matched"`    // of them, once
	Backfills  int           `json:"backfills"`  // backfill tickets that were answered, or that events name: the automatic ones
	Filled     int           `json:"filled"`     // of them, that brought players
	Ended      int           `json:"backfills_ended_once"`
	Restart    time.Duration `json:"restart_max_ns"`
	Errors     []string      `json:"errors,omitempty"`
}

// randomly is the row of kills from outside.
const randomly = "(at random)"

func main() {
	var o options
	flag.StringVar(&o.troupe, "troupe", "", "troupe binary, built with the tag faults (required)")
	flag.StringVar(&o.points, "points", "", "failpoints, separated by commas; empty = all, and random kills")
	flag.IntVar(&o.rounds, "rounds", 5, "kills at each failpoint")
	flag.IntVar(&o.workers, "workers", 32, "callers")
	flag.DurationVar(&o.load, "load", 2*time.Second, "load before a host is killed from outside")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the moments; 0 = a new one")
	flag.StringVar(&o.json, "json", "", "file for the result")
	flag.Parse()
	o.patience = endLimit
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	good, err := run(ctx, o)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench kills:", err)
		os.Exit(2)
	case !good:
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	options
	dir    string
	rand   *rand.Rand
	book   *book
	strays []*ticket       // that wait for a match that must be accepted, and that no round counts any more
	done   map[string]bool // automatic backfill tickets that were counted
}

func run(ctx context.Context, o options) (good bool, err error) {
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	rows, err := measure(ctx, o)
	if err != nil {
		return false, err
	}
	good = print(o.seed, rows)
	if o.json == "" {
		return good, nil
	}
	text, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return false, fmt.Errorf("encode result: %w", err)
	}
	return good, os.WriteFile(o.json, append(text, '\n'), 0o644)
}

// measure kills hosts at all failpoints.
func measure(ctx context.Context, o options) (rows []row, err error) {
	if o.troupe == "" || min(o.rounds, o.workers) < 1 {
		return nil, errors.New("--troupe is required; rounds and workers must be positive")
	}
	points := append(fault.Names(), randomly)
	if o.points != "" {
		points = strings.Split(o.points, ",")
	}
	b := &bench{options: o, rand: rand.New(rand.NewPCG(o.seed, 1)), book: newBook(), done: map[string]bool{}}
	if b.dir, err = os.MkdirTemp("", "troupe-bench-kills-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	for _, point := range points {
		r, err := b.point(ctx, point)
		if err != nil {
			return nil, fmt.Errorf("%s (seed %d): %w", point, o.seed, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// good reports whether nothing was lost, and nothing has happened twice.
func (r *row) good() bool {
	return r.Lost == 0 && r.EndedOnce == r.Placements && r.Matched == r.Tickets && r.Ended == r.Backfills && len(r.Errors) == 0
}

// point kills at one failpoint. All rounds of all points share one store.
func (b *bench) point(ctx context.Context, point string) (row, error) {
	r := row{Point: point}
	for range b.rounds {
		if err := b.round(ctx, &r); err != nil {
			return r, err
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %d kills, %d answered, %d lost\n", point, r.Kills, r.Answered.sum(), r.Lost)
	return r, nil
}

func (b *bench) round(ctx context.Context, r *row) error {
	env := ""
	if r.Point != randomly {
		most := 150
		if strings.Contains(r.Point, "checkpoint") {
			most = 2 // one in some thousand pages of the log
		}
		env = fmt.Sprintf("%s=%s=kill:%d", fault.Variable, r.Point, 1+b.rand.IntN(most))
	}
	made := newMade()
	proc, err := b.host(ctx, env)
	switch {
	case err == nil:
		if made, err = b.kill(ctx, proc, r); err != nil {
			return err
		}
	case env == "" || ctx.Err() != nil:
		return err
	default: // the point was passed as often while the host was starting
	}
	r.Kills++
	begun := time.Now()
	if proc, err = b.host(ctx, ""); err != nil {
		return fmt.Errorf("after a kill: %w", err)
	}
	defer func() { _ = proc.Stop() }()
	r.Restart = max(r.Restart, time.Since(begun))
	b.check(ctx, proc, made, r)
	b.clear(ctx, proc, made)
	return ctx.Err()
}

// kill burdens a host until it is killed.
func (b *bench) kill(ctx context.Context, proc *server.Process, r *row) (*made, error) {
	limit := b.load
	if r.Point == randomly {
		limit = time.Duration(float64(limit) * b.rand.Float64())
	}
	made := b.burden(ctx, proc, limit)
	select {
	case <-proc.Exited():
	default:
		if r.Point != randomly {
			r.Missed++
		}
		proc.Kill()
	}
	return made, proc.Stop()
}

// hostConfig has one fleet in two locations, a queue, and a file of all placement events.
const hostConfig = `locations: [{name: us-west-2}]
fleets:
- {id: fleet-a, name: a, gameSessionsMax: 1000000, locations: [{name: us-west-2}]}
aliases: [{id: alias-a, name: a, fleet: fleet-a}]
queues:
- {name: queue-a, timeout: 10s, destinations: [alias-a]}
- {name: queue-none, timeout: 10s, destinations: []}
matchmaking:
  passInterval: 50ms
  ruleSets:
  - {name: duel, body: '{"ruleLanguageVersion": "1.0", "teams": [{"name": "player", "minPlayers": 1, "maxPlayers": 1, "quantity": 2}]}'}
  - {name: three, body: '{"ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 3}]}'}
  configurations:
  - {name: duel, ruleSet: duel, queue: queue-a, requestTimeout: 600s}
  - {name: accepted, ruleSet: duel, queue: queue-a, requestTimeout: 600s, acceptanceRequired: true, acceptanceTimeout: 600s}
  - {name: asked, ruleSet: three, queue: queue-a, requestTimeout: 600s}
  - {name: automatic, ruleSet: three, queue: queue-a, requestTimeout: 600s, autoBackfill: true}
log: {level: error}
`

func (b *bench) eventFile() string { return filepath.Join(b.dir, "events.jsonl") }

func (b *bench) host(ctx context.Context, env string) (*server.Process, error) {
	file := filepath.Join(b.dir, "kills.yaml")
	events := fmt.Sprintf("events: {sinks: [{name: all, type: file, path: %q, all: true}]}\n", b.eventFile())
	if err := os.WriteFile(file, []byte(hostConfig+events), 0o600); err != nil {
		return nil, err
	}
	s := server.Spec{
		Kind: server.Troupe, Bin: b.troupe, FleetID: "fleet-a", Config: file,
		Sets: []string{"store.path=" + filepath.Join(b.dir, "troupe.db")},
	}
	if env != "" {
		s.Env = []string{env}
	}
	return server.Start(ctx, s)
}

// print writes the table, and reports whether nothing was lost.
func print(seed uint64, rows []row) bool {
	good := true
	fmt.Printf("%s, seed %d\n", result.ThisMachine(), seed)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "failpoint\tkills\tnot hit\tanswered\tgame sessions\tplayer sessions\tqueues, aliases\tplacements\tended once\ttickets\tmatched once\tbackfill tickets\tended once\tthat filled\tlost\trestart max")
	for _, r := range rows {
		a := r.Answered
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%v\n", r.Point, r.Kills, r.Missed, a.sum(), a.GameSessions, a.PlayerSessions, a.Others,
			r.Placements, r.EndedOnce, r.Tickets, r.Matched, r.Backfills, r.Ended, r.Filled, r.Lost, r.Restart.Round(time.Millisecond))
		good = good && r.good()
	}
	w.Flush()
	for _, r := range rows {
		for _, e := range r.Errors {
			fmt.Println(r.Point + ": " + e)
		}
	}
	if !good {
		fmt.Println("MISSED: nothing lost, each placement ends once, each ticket is matched once, each backfill ticket ends once")
	}
	return good
}
