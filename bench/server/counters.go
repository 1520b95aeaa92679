package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Counters are the server's own counters. A negative value is unknown. Mallocs counts from the start of the server.
type Counters struct {
	Mallocs     int64
	Goroutines  int64
	Collections int64 // of garbage
}

var unknownCounters = Counters{Mallocs: -1, Goroutines: -1, Collections: -1}

// answerBytesMax bounds the bytes read from a response.
const answerBytesMax = 16 << 20

// Counters reads the server's counters: from /stats of the bare relay and of peers that have it, from /debug/runtime of
// the host. Each read allocates in the server; see ScrapeCost.
func (p *Process) Counters(ctx context.Context) (Counters, error) {
	if p.Spec.Kind == Troupe {
		f, err := p.figures(ctx)
		if err != nil {
			return unknownCounters, err
		}
		return f.counters(), nil
	}
	if !p.Announce.Stats {
		return unknownCounters, nil
	}
	text, err := api{url: "http://" + p.Announce.WS, client: p.client}.read(ctx, "/stats")
	if err != nil {
		return unknownCounters, fmt.Errorf("read counters: %w", err)
	}
	return readStats(text)
}

// ScrapeCost returns how many objects the server allocates for one call of Counters. It is the difference between two
// consecutive calls.
func (p *Process) ScrapeCost(ctx context.Context) (int64, error) {
	a, err := p.Counters(ctx)
	if err != nil {
		return 0, err
	}
	b, err := p.Counters(ctx)
	if err != nil {
		return 0, err
	}
	return b.Mallocs - a.Mallocs, nil
}

func readStats(text []byte) (Counters, error) {
	c := unknownCounters
	if err := json.Unmarshal(text, &c); err != nil { // encoding/json matches names case-insensitively
		return c, fmt.Errorf("decode stats: %w", err)
	}
	return c, nil
}

// MachineTime is the processor time of the whole machine since boot, over all cores.
type MachineTime struct {
	Busy  time.Duration // all time except idle, iowait and steal
	Steal time.Duration // taken by the hypervisor
	Total time.Duration
}

// MachineNow reads /proc/stat. A difference in Busy that neither the server nor the generator used shows that other
// programs disturbed the measurement.
func MachineNow() (MachineTime, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return MachineTime{}, fmt.Errorf("read machine time: %w", err)
	}
	return parseMachine(b)
}

// parseMachine parses the first line: user nice system idle iowait irq softirq steal. Guest times are included in user.
func parseMachine(b []byte) (m MachineTime, err error) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return m, fmt.Errorf("parse machine time: %q", line)
	}
	for i, f := range fields[1:9] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return m, fmt.Errorf("parse machine time: %w", err)
		}
		d := time.Duration(n) * tick
		m.Total += d
		switch i {
		case 3, 4:
		case 7:
			m.Steal += d
		default:
			m.Busy += d
		}
	}
	return m, nil
}
