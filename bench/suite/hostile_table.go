package suite

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

// hostileRow is one of the table that the tests of the engine use as well: what a script does, and how the engine's test ends.
type hostileRow struct {
	Way          int // 0: for the engine's test alone
	Name, Source string
	Want         string
}

//go:embed scripts/hostile.json
var hostileTable []byte

// hostileRows are the rows with a way, in their order.
func hostileRows() (rows []hostileRow, err error) {
	if err := json.Unmarshal(hostileTable, &rows); err != nil {
		return nil, fmt.Errorf("read the table of hostile scripts: %w", err)
	}
	rows = slices.DeleteFunc(rows, func(r hostileRow) bool { return r.Way == 0 })
	slices.SortFunc(rows, func(a, b hostileRow) int { return cmp.Compare(a.Way, b.Way) })
	return rows, nil
}

func hostileRowOf(way int) (hostileRow, error) {
	rows, err := hostileRows()
	if i := slices.IndexFunc(rows, func(r hostileRow) bool { return r.Way == way }); err != nil || i >= 0 {
		return rows[max(i, 0)], err
	}
	return hostileRow{}, fmt.Errorf("the table of hostile scripts has no way %d", way)
}

func (r hostileRow) fleet() string { return fmt.Sprintf("fleet-way-%d", r.Way) }

// hostileDelay is from the start of a hostile game session to its call.
const hostileDelay = 100 * time.Millisecond

// script is a fleet of the row. A timer makes the call, so that an error that it does not catch ends the game session.
func (r hostileRow) script() scriptFleet {
	return scriptFleet{id: r.fleet(), launch: fmt.Sprintf("way-%d.js", r.Way), text: fmt.Sprintf(`let session;
exports.ssExports = {
  init(s) { session = s; },
  onProcessStarted: () => true, onPlayerConnect: () => true, onHealthCheck: () => true,
  onStartGameSession() { setTimeout(function onMessage() { %s }, %d); },
};
`, r.Source, hostileDelay.Milliseconds())}
}

// rowResult is what one row did to a host and to another game in it.
type rowResult struct {
	hostileRow
	healthy bool          // the process lives, and /healthz answers
	ended   time.Duration // of the hostile game session, from its call; 0: it goes on
	place   string        // of the script, as its log has it; empty: none
	p99     time.Duration // of the other game meanwhile
	without time.Duration // of the other game before and after; only before, if a thread is left behind
	left    time.Duration // of the other game beside what is left behind; 0: nothing is
	lost    int64
	err     error
}

func (r rowResult) ratio() float64 { return float64(r.p99) / float64(max(r.without, 1)) }

// besideTimes is how many times longer the p99 of another game may be beside a hostile script; stuckTimes beside one that leaves
// a thread behind.
const (
	besideTimes = 1.5
	stuckTimes  = 3.0
	// harmlessP99 is a p99 that no player can tell, however many times longer than without it is: an eighth of a frame at
	// 60 Hz, and less than the slice that Linux gives another process of the machine, such as the load generator.
	harmlessP99 = 2 * time.Millisecond
	// hostileTries is how often a row is measured whose p99 is over the first time: the median counts. A stall is there each
	// time; the neighbours of the machine are not.
	hostileTries = 3
)

// over is how many times as long as it may be the p99 of the other game was, 0 if no player can tell.
func (r rowResult) over() float64 {
	times := func(p99 time.Duration, most float64) float64 {
		if p99 <= harmlessP99 {
			return 0
		}
		return float64(p99) / float64(max(r.without, 1)) / most
	}
	return max(times(r.p99, r.most()), times(r.left, besideTimes))
}

// most is how many times longer than without it may be.
func (r rowResult) most() float64 {
	if r.Want == "stuck" {
		return stuckTimes
	}
	return besideTimes
}

// verdictOf returns the one of some results of a row that counts: the first with another fault than its p99, else the median.
func verdictOf(all []rowResult, limit, grace time.Duration) rowResult {
	for _, r := range all {
		if len(r.broken(limit, grace)) > 0 {
			return r
		}
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b rowResult) int { return cmp.Compare(a.over(), b.over()) })
	return all[len(all)/2]
}

// faults are what the row should not have done. A call may take limit, and the end of its game session grace longer.
func (r rowResult) faults(limit, grace time.Duration) []string {
	all := r.broken(limit, grace)
	if r.over() > 1 {
		all = append(all, fmt.Sprintf("p99 of the other game is %.2f times what it is without", r.ratio()))
		if r.left > 0 {
			all = append(all, fmt.Sprintf("it is %.2f ms beside what is left behind", ms(r.left)))
		}
	}
	return all
}

// broken are the faults other than the p99.
func (r rowResult) broken(limit, grace time.Duration) (all []string) {
	add := func(bad bool, what string) {
		if bad {
			all = append(all, what)
		}
	}
	add(r.err != nil, fmt.Sprint(r.err))
	add(!r.healthy, "the host is not healthy")
	if r.Want != "returns" {
		add(r.ended == 0 || r.ended > limit+grace, "the game session did not end in time")
		add(r.place == "", "the place is not in its log")
	}
	add(r.lost > 0, fmt.Sprintf("%d messages of the other game were lost", r.lost))
	return all
}

// String is one line.
func (r rowResult) String() string {
	end := "goes on"
	if r.ended > 0 {
		end = fmt.Sprintf("ended after %.2f s", r.ended.Seconds())
	}
	return strings.TrimSpace(fmt.Sprintf("%2d  %-52s %-18s p99 of the other game %6.2f ms, %5.2f times  %s", r.Way, r.Name, end, ms(r.p99), r.ratio(), r.place))
}

// eachHostile runs the rows of the table one after the other, beside a game that plays.
func (r *run) eachHostile(ctx context.Context) (round result.Round, err error) {
	rows, err := hostileRows()
	if err != nil {
		return round, err
	}
	if r.o.Quick {
		rows = rows[:2]
	}
	limit := r.p.Measure / 2
	fleets := []scriptFleet{echoFleet}
	for _, row := range rows {
		fleets = append(fleets, row.script())
	}
	spec, err := r.fleets(r.host(), fmt.Sprintf("script: {callback: %v, timersMax: 100}\n", limit), fleets...)
	if err != nil {
		return round, err
	}
	var h *besideGame
	defer func() { err = errors.Join(err, h.stop()) }()
	uncontained, worst := 0, 0.0
	for i, row := range rows {
		r.o.Watch.Live(fmt.Sprintf("%d of %d: %s", i+1, len(rows), row.Name))
		var tries []rowResult
		for len(tries) == 0 || len(tries) < hostileTries && tries[0].over() > 1 {
			if h == nil {
				if h, err = r.startBeside(ctx, spec); err != nil {
					return round, err
				}
			}
			got := h.row(ctx, row)
			if ctx.Err() != nil {
				return round, context.Cause(ctx)
			}
			if tries = append(tries, got); len(tries) > 1 {
				r.note("    again: %.2f ms, %.2f times", ms(got.p99), got.ratio())
			}
			if !got.healthy || row.Want == "stuck" { // what is left behind is no fault of the next
				_ = h.stop() // it may be dead
				h = nil
			}
		}
		got := verdictOf(tries, limit, r.p.Measure-limit)
		r.note("%s", got)
		if faults := got.faults(limit, r.p.Measure-limit); len(faults) > 0 {
			uncontained++
			r.note("    %s", strings.Join(faults, "; "))
		}
		worst = max(worst, got.ratio())
	}
	round.Figures = make(result.Figures)
	round.Figures.Set("hostile_scripts", float64(len(rows)))
	round.Figures.Set("uncontained", float64(uncontained))
	round.Figures.Set("beside_ratio", worst)
	return round, nil
}

// besideGame is a host with a game that plays.
type besideGame struct {
	*server.Process
	r      *run
	swarm  *loadgen.Swarm
	during time.Duration
}

func (r *run) startBeside(ctx context.Context, spec server.Spec) (h *besideGame, err error) {
	h = &besideGame{r: r, during: r.p.Measure}
	if h.Process, err = r.start(ctx, spec); err != nil {
		return nil, err
	}
	h.swarm, err = loadgen.New(loadgen.Config{Addr: h.Announce.WS, Hz: r.p.Hz, PayloadBytes: r.p.Payload, Seed: 1, To: loadgen.ToServer})
	if err == nil {
		if err = h.AwaitFleet(ctx, spec.FleetID); err == nil {
			err = h.Fill(ctx, h.swarm, r.p.Players, r.p.Players)
		}
	}
	if err != nil {
		return nil, errors.Join(err, h.Alive(), h.stop())
	}
	return h, nil
}

func (h *besideGame) stop() (err error) {
	if h == nil {
		return nil
	}
	if h.swarm != nil {
		err = h.swarm.Close()
	}
	return errors.Join(err, h.Stop())
}

// row runs one row beside the game.
func (h *besideGame) row(ctx context.Context, row hostileRow) (got rowResult) {
	got.hostileRow = row
	got.err = h.measure(ctx, &got)
	got.healthy = h.Alive() == nil && h.Healthy(ctx) == nil
	return got
}

func (h *besideGame) measure(ctx context.Context, got *rowResult) error {
	if err := h.AwaitFleet(ctx, got.fleet()); err != nil {
		return err
	}
	without := loadgen.Plan{Measure: h.during * 3 / 8, Drain: drainMax}
	before, err := h.swarm.Run(ctx, without)
	if err != nil {
		return err
	}
	id, err := h.CreateGameSession(ctx, got.fleet(), 1)
	if err != nil {
		return err
	}
	begun := time.Now()
	ended := make(chan error, 1)
	watch, stop := context.WithTimeout(ctx, h.during*3/2)
	defer stop()
	go func() { ended <- h.awaitEnd(watch, id, begun, &got.ended) }()
	during, err := h.swarm.Run(ctx, loadgen.Plan{Measure: h.during, Drain: drainMax})
	if err != nil {
		return errors.Join(err, <-ended)
	}
	if err := <-ended; err != nil {
		return err
	}
	text, err := h.GameSessionLog(ctx, id)
	if err != nil {
		return err
	}
	got.place = placeIn(text)
	after, err := h.swarm.Run(ctx, without)
	if err != nil {
		return err
	}
	for _, load := range []*loadgen.Result{&before, &during, &after} {
		if why, bound := isBound(load); bound {
			h.r.provesNothing("beside %s: %s", got.Name, why)
		}
	}
	got.p99, got.without = during.Latency.P99, (before.Latency.P99+after.Latency.P99)/2
	if got.Want == "stuck" {
		got.without, got.left = before.Latency.P99, after.Latency.P99
	}
	got.lost = during.Expected - during.Delivered
	return nil
}

// awaitEnd waits until a game session is over.
func (h *besideGame) awaitEnd(ctx context.Context, id string, begun time.Time, took *time.Duration) error {
	for {
		status, err := h.Status(ctx, id)
		if ctx.Err() != nil {
			return nil // it goes on
		}
		if err != nil {
			return err
		}
		if status == "TERMINATED" || status == "ERROR" {
			*took = max(time.Nanosecond, time.Since(begun)-hostileDelay)
			return nil
		}
		if rest(ctx, 20*time.Millisecond) != nil {
			return nil
		}
	}
}

// placePattern finds where in the script something happened: in the stack of a line, or where a line was written.
var placePattern = regexp.MustCompile(`way-\d+\.js:\d+(:\d+)?|\(way-\d+\.js\) \d+: `)

// placeIn returns the place of the script that the log of its game session names last.
func placeIn(log string) string {
	all := placePattern.FindAllString(log, -1)
	if len(all) == 0 {
		return ""
	}
	return strings.TrimSuffix(all[len(all)-1], ": ")
}
