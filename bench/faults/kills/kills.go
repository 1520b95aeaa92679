package kills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"troupe/actors/fault"
	"troupe/bench/result"
	"troupe/bench/server"
)

// Options say how to kill.
type Options struct {
	Bin      string        // troupe; it has failpoints if this program has them
	Points   []string      // failpoints; none: all that this program has, and random moments
	Rounds   int           // kills at each failpoint
	Workers  int           // callers
	Load     time.Duration // before a host is killed from outside
	Seed     uint64        // of the moments; 0: a new one
	Patience time.Duration // for what has to end after a restart; 0: its default
	Log      io.Writer     // is told of each failpoint
}

// Row is what became of one failpoint.
type Row struct {
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

// Randomly is the row of kills from outside.
const Randomly = "(at random)"

// bench is one run.
type bench struct {
	Options
	dir    string
	rand   *rand.Rand
	book   *book
	strays []*ticket       // that wait for a match that must be accepted, and that no round counts any more
	done   map[string]bool // automatic backfill tickets that were counted
}

// Run kills hosts at all failpoints.
func Run(ctx context.Context, o Options) (rows []Row, err error) {
	if min(o.Rounds, o.Workers) < 1 {
		return nil, errors.New("rounds and workers must be positive")
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	fmt.Fprintf(o.Log, "seed %d\n", o.Seed)
	if o.Patience == 0 {
		o.Patience = endLimit
	}
	if len(o.Points) == 0 {
		if fault.Enabled {
			o.Points = fault.Names()
		}
		o.Points = append(o.Points, Randomly)
	}
	b := &bench{Options: o, rand: rand.New(rand.NewPCG(o.Seed, 1)), book: newBook(), done: map[string]bool{}}
	if b.dir, err = os.MkdirTemp("", "troupe-kills-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	for _, point := range o.Points {
		r, err := b.point(ctx, point)
		if err != nil {
			return nil, fmt.Errorf("%s (seed %d): %w", point, o.Seed, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// Store writes the rows to a file, as JSON.
func Store(file string, rows []Row) error {
	text, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// Good reports whether nothing was lost, and nothing has happened twice.
func (r *Row) Good() bool {
	return r.Lost == 0 && r.EndedOnce == r.Placements && r.Matched == r.Tickets && r.Ended == r.Backfills && len(r.Errors) == 0
}

// point kills at one failpoint. All rounds of all points share one store.
func (b *bench) point(ctx context.Context, point string) (Row, error) {
	r := Row{Point: point}
	for range b.Rounds {
		if err := b.round(ctx, &r); err != nil {
			return r, err
		}
	}
	fmt.Fprintf(b.Log, "%s: %d kills, %d answered, %d lost\n", point, r.Kills, r.Answered.sum(), r.Lost)
	return r, nil
}

func (b *bench) round(ctx context.Context, r *Row) error {
	env := ""
	if r.Point != Randomly {
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
func (b *bench) kill(ctx context.Context, proc *server.Process, r *Row) (*made, error) {
	limit := b.Load
	if r.Point == Randomly {
		limit = time.Duration(float64(limit) * b.rand.Float64())
	}
	made := b.burden(ctx, proc, limit)
	select {
	case <-proc.Exited():
	default:
		if r.Point != Randomly {
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
		Kind: server.Troupe, Bin: b.Bin, FleetID: "fleet-a", Config: file,
		Sets: []string{"store.path=" + filepath.Join(b.dir, "troupe.db")},
	}
	if env != "" {
		s.Env = []string{env}
	}
	return server.Start(ctx, s)
}

// Print writes the table, and reports whether nothing was lost.
func Print(out io.Writer, rows []Row) bool {
	good := true
	fmt.Fprintln(out, result.ThisMachine())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "failpoint\tkills\tnot hit\tanswered\tgame sessions\tplayer sessions\tqueues, aliases\tplacements\tended once\ttickets\tmatched once\tbackfill tickets\tended once\tthat filled\tlost\trestart max")
	for _, r := range rows {
		a := r.Answered
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%v\n", r.Point, r.Kills, r.Missed, a.sum(), a.GameSessions, a.PlayerSessions, a.Others,
			r.Placements, r.EndedOnce, r.Tickets, r.Matched, r.Backfills, r.Ended, r.Filled, r.Lost, r.Restart.Round(time.Millisecond))
		good = good && r.Good()
	}
	w.Flush()
	for _, r := range rows {
		for _, e := range r.Errors {
			fmt.Fprintln(out, r.Point+": "+e)
		}
	}
	if !good {
		fmt.Fprintln(out, "MISSED: nothing lost, each placement ends once, each ticket is matched once, each backfill ticket ends once")
	}
	return good
}
