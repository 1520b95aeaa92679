package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/server"
)

// hostileRow is one of the table that the tests of the engine use as well (actors/script/js/testdata/hostile.json): what a
// script does, how the engine's test ends, and what is in its log.
type hostileRow struct {
	Way          int
	Name, Source string
	Want, Says   string
}

// rowResult is what one row did to a host and to another game in it.
type rowResult struct {
	Way     int           `json:"way"`
	Name    string        `json:"name"`
	Want    string        `json:"want"`
	Healthy bool          `json:"healthy"`  // the process lives, and /healthz answers
	Ended   time.Duration `json:"ended_ns"` // of the hostile game session, from when it was ACTIVE; 0: it goes on
	Place   string        `json:"place"`    // of the script, as its log has it; empty: none
	P99     float64       `json:"p99_ms"`   // of the other game meanwhile
	Without float64       `json:"without_ms"`
	Lost    int64         `json:"lost"`
	Other   float64       `json:"other_share"` // of the machine, used by others
}

func (r rowResult) ratio() float64 { return r.P99 / r.Without }

const (
	// waysLimit is what a call may take, and waysGrace what the end of its game session may take longer.
	waysLimit = 2 * time.Second
	waysGrace = 2 * time.Second
	// waysDelay is from the start of the hostile game session to its call.
	waysDelay = 100 * time.Millisecond
	// waysPlayers are those of the other game, who say something waysHz times a second.
	waysPlayers = 8
	waysHz      = 20
	// waysWithout is how long that is measured without, before and after each row.
	waysWithout = 1500 * time.Millisecond
	// stuckRatio is the bar of a row that leaves a thread behind.
	stuckRatio = 3
)

// hostileScript is one game session of a row. A timer calls it, so that an error that it does not catch ends the game session.
const hostileScript = `let session;
exports.ssExports = {
  init(s) { session = s; },
  onProcessStarted: () => true, onPlayerConnect: () => true, onHealthCheck: () => true,
  onStartGameSession() { setTimeout(function onMessage() { %s }, %d); },
};
`

// eachWay runs every row of the table that has a way, one after the other.
func (b *bench) eachWay(ctx context.Context) (err error) {
	rows, err := readTable(b.table)
	if err != nil {
		return err
	}
	config, err := b.prepareWays(rows)
	if err != nil {
		return err
	}
	var host *waysHost
	defer func() { err = errors.Join(err, host.stop()) }()
	for _, row := range rows {
		if host == nil {
			if host, err = b.startWays(ctx, config); err != nil {
				return err
			}
		}
		r, err := host.row(ctx, row)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "way %d: %v\n", row.Way, err)
			r.Healthy = false
		}
		fmt.Fprintln(os.Stderr, r)
		b.res.Ways = append(b.res.Ways, r)
		b.addWayBars(r)
		if !r.Healthy || r.Want == "stuck" { // what is left behind is no fault of the next
			_ = host.stop() // it may be dead
			host = nil
		}
	}
	return nil
}

func (b *bench) addWayBars(r rowResult) {
	bar := b.barHostile
	if r.Want == "stuck" {
		bar = stuckRatio
	}
	name := fmt.Sprintf("way %d, %s: ", r.Way, r.Name)
	b.res.Bars.Add(name+"host healthy", 1, truth(r.Healthy), r.Healthy)
	if r.Want != "returns" {
		most := (waysLimit + waysGrace).Seconds()
		b.res.Bars.Add(name+"game session ended, s", most, r.Ended.Seconds(), r.Ended > 0 && r.Ended.Seconds() <= most)
		b.res.Bars.Add(name+"place in its log", 1, truth(r.Place != ""), r.Place != "")
	}
	b.res.Bars.Add(name+"p99 of the other game, ratio", bar, r.ratio(), r.Lost == 0 && r.ratio() <= bar)
}

func readTable(file string) (rows []hostileRow, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("read table %s: %w", file, err)
	}
	rows = slices.DeleteFunc(rows, func(r hostileRow) bool { return r.Way == 0 })
	slices.SortFunc(rows, func(a, b hostileRow) int { return cmp.Compare(a.Way, b.Way) })
	if len(rows) == 0 {
		return nil, fmt.Errorf("table %s has no row with a way", file)
	}
	return rows, nil
}

func wayFleet(way int) string { return fmt.Sprintf("fleet-way-%d", way) }

// prepareWays writes a script for each row, and a configuration with a fleet for each.
func (b *bench) prepareWays(rows []hostileRow) (file string, err error) {
	var c strings.Builder
	fmt.Fprintf(&c, "fleets:\n- {id: %s, name: echo, gameSessionsMax: 10, script: %q, launchPath: echo.js}\n", fleetEcho, filepath.Join(b.dir, "scripts"))
	for _, r := range rows {
		path := filepath.Join(b.dir, "ways", fmt.Sprint(r.Way), "server.js")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, hostileScript, r.Source, waysDelay.Milliseconds()), 0o600); err != nil {
			return "", err
		}
		fmt.Fprintf(&c, "- {id: %s, name: %q, gameSessionsMax: 10, script: %q, launchPath: server.js}\n", wayFleet(r.Way), wayFleet(r.Way), filepath.Dir(path))
	}
	fmt.Fprintf(&c, "aliases: []\nscript: {callback: %v, timersMax: 100}\n", waysLimit)
	file = filepath.Join(b.dir, "ways.yaml")
	return file, os.WriteFile(file, []byte(c.String()), 0o600)
}

// waysHost is a host with a game that plays.
type waysHost struct {
	*server.Process
	swarm *loadgen.Swarm
}

func (b *bench) startWays(ctx context.Context, config string) (h *waysHost, err error) {
	h = new(waysHost)
	if h.Process, err = start(ctx, server.Spec{Name: "ways", Kind: server.Troupe, Bin: b.troupe, FleetID: fleetEcho, Config: config, Sets: b.sets}); err != nil {
		return nil, err
	}
	h.swarm, err = loadgen.New(loadgen.Config{Addr: h.Announce.WS, Hz: waysHz, PayloadBytes: b.Payload, Seed: 1, To: loadgen.ToServer})
	if err == nil {
		err = h.Fill(ctx, h.swarm, waysPlayers, waysPlayers)
	}
	if err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

func (h *waysHost) stop() (err error) {
	if h == nil {
		return nil
	}
	if h.swarm != nil {
		err = h.swarm.Close()
	}
	return errors.Join(err, h.Stop())
}

// row runs one row beside the game.
func (h *waysHost) row(ctx context.Context, row hostileRow) (rowResult, error) {
	r := rowResult{Way: row.Way, Name: row.Name, Want: row.Want}
	if err := h.AwaitFleet(ctx, wayFleet(row.Way)); err != nil {
		return r, err
	}
	before, err := h.swarm.Run(ctx, loadgen.Plan{Measure: waysWithout, Drain: drainMax})
	if err != nil {
		return r, err
	}
	id, err := h.CreateGameSession(ctx, wayFleet(row.Way), 1)
	if err != nil {
		return r, err
	}
	begun := time.Now()
	ended := make(chan error, 1)
	watch, stop := context.WithTimeout(ctx, waysLimit+2*waysGrace)
	defer stop()
	go func() { ended <- h.awaitEnd(watch, id, begun, &r.Ended) }()
	from, err := server.MachineNow()
	if err != nil {
		return r, err
	}
	usedFrom, _ := h.Usage() // a host that is gone is told below
	during, err := h.swarm.Run(ctx, loadgen.Plan{Measure: waysLimit + waysGrace, Drain: drainMax})
	if err != nil {
		return r, err
	}
	usedTo, _ := h.Usage()
	if to, err := server.MachineNow(); err == nil && to.Total > from.Total {
		r.Other = max(0, float64(to.Busy-from.Busy-(usedTo.CPU()-usedFrom.CPU()))/float64(to.Total-from.Total))
	}
	if err := <-ended; err != nil {
		fmt.Fprintf(os.Stderr, "way %d: %v\n", row.Way, err)
	}
	r.Healthy = h.Alive() == nil && h.Healthy(ctx) == nil
	if !r.Healthy {
		return r, nil
	}
	text, err := h.GameSessionLog(ctx, id)
	if err != nil {
		return r, err
	}
	r.Place = placeIn(text)
	after, err := h.swarm.Run(ctx, loadgen.Plan{Measure: waysWithout, Drain: drainMax})
	if err != nil {
		return r, err
	}
	r.P99 = milliseconds(during.Latency.P99)
	r.Without = (milliseconds(before.Latency.P99) + milliseconds(after.Latency.P99)) / 2
	r.Lost = during.Expected - during.Delivered
	return r, nil
}

// awaitEnd waits until a game session is over.
func (h *waysHost) awaitEnd(ctx context.Context, id string, begun time.Time, took *time.Duration) error {
	for {
		status, err := h.Status(ctx, id)
		if ctx.Err() != nil {
			return nil // it goes on
		}
		if err != nil {
			return err
		}
		if status == "TERMINATED" || status == "ERROR" {
			*took = max(time.Nanosecond, time.Since(begun)-waysDelay)
			return nil
		}
		if rest(ctx, 20*time.Millisecond) != nil {
			return nil
		}
	}
}

// placePattern finds where in the script something happened: in the stack of a line, or where a line was written.
var placePattern = regexp.MustCompile(`server\.js:\d+(:\d+)?|\(server\.js\) \d+: `)

// placeIn returns the place of the script that the log of its game session names last.
func placeIn(log string) string {
	all := placePattern.FindAllString(log, -1)
	if len(all) == 0 {
		return ""
	}
	return strings.TrimSuffix(all[len(all)-1], ": ")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// String is one line of the table.
func (r rowResult) String() string {
	end := "goes on"
	if r.Ended > 0 {
		end = fmt.Sprintf("ended after %.2f s", r.Ended.Seconds())
	}
	return fmt.Sprintf("%2d  %-52s %-11s healthy %-5v %-18s p99 %6.2f ms, ratio %5.2f, %d lost, others %2.0f%%  %s", r.Way, r.Name, r.Want, r.Healthy, end, r.P99, r.ratio(), r.Lost, 100*r.Other, r.Place)
}

func printWays(w io.Writer, rows []rowResult) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "ways: limit of a call %v; another game of %d players at %d Hz, its p99 in the %v after the start over that before and after\n", waysLimit, waysPlayers, waysHz, waysLimit+waysGrace)
	for _, r := range rows {
		fmt.Fprintln(w, r)
	}
}
