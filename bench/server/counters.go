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

// Counters is what the server says about itself; a negative value is unknown. Mallocs counts from its start.
type Counters struct {
	Mallocs    int64
	Goroutines int64
}

var unknownCounters = Counters{Mallocs: -1, Goroutines: -1}

// answerBytesMax bounds what is read from a server.
const answerBytesMax = 16 << 20

// Counters asks the server: /stats of the bare relay and of peers that have it, /debug/runtime of the host. Asking
// allocates in the server; see ScrapeCost.
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

// ScrapeCost is how many objects one more call of Counters allocates in the server: the difference of two calls in a row.
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
	if err := json.Unmarshal(text, &c); err != nil { // names match without regard to case
		return c, fmt.Errorf("decode stats: %w", err)
	}
	return c, nil
}

// MachineTime is the processor time of the whole machine since it started, over all cores.
type MachineTime struct {
	Busy  time.Duration // anything but idle, waiting for a disk, or stolen
	Steal time.Duration // taken by the hypervisor
	Total time.Duration
}

// MachineNow reads /proc/stat. Busy time that neither the server nor the generator used is what disturbs a measurement.
func MachineNow() (MachineTime, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return MachineTime{}, fmt.Errorf("read machine time: %w", err)
	}
	return parseMachine(b)
}

// parseMachine reads the first line: user nice system idle iowait irq softirq steal (guest times are inside user).
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
