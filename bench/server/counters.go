package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Counters is what the server says about itself; a negative value is unknown. Mallocs and Delivered count from its start.
type Counters struct {
	Mallocs    int64
	Delivered  int64
	Goroutines int64
}

// Names of the samples in the host's metrics.
const (
	sampleMallocs    = "go_memstats_mallocs_total"
	sampleDelivered  = "troupe_messages_delivered_total"
	sampleGoroutines = "go_goroutines"
)

// answerBytesMax bounds what is read from a server.
const answerBytesMax = 16 << 20

// Counters asks the server: /stats of the bare relay and of peers that have it, /debug/runtime of the host, which does not
// know Delivered. Asking
// allocates in the server; see ScrapeCost.
func (p *Process) Counters(ctx context.Context) (Counters, error) {
	if p.Spec.Kind == Troupe {
		f, err := p.figures(ctx)
		if err != nil {
			return Counters{Mallocs: -1, Delivered: -1, Goroutines: -1}, err
		}
		return f.counters(), nil
	}
	if !p.Announce.Stats {
		return Counters{Mallocs: -1, Delivered: -1, Goroutines: -1}, nil
	}
	return p.counters(ctx, "http://"+p.Announce.WS+"/stats", readStats)
}

// Metrics are the counters of /metrics of the host, which are up to a second old.
func (p *Process) Metrics(ctx context.Context) (Counters, error) {
	return p.counters(ctx, p.api().url+"metrics", readMetrics)
}

func (p *Process) counters(ctx context.Context, url string, read func(io.Reader) (Counters, error)) (Counters, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Counters{}, fmt.Errorf("read counters: %w", err)
	}
	res, err := p.client.Do(req)
	if err != nil {
		return Counters{}, fmt.Errorf("read counters: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return Counters{}, fmt.Errorf("read counters: %s", res.Status)
	}
	c, err := read(io.LimitReader(res.Body, answerBytesMax))
	if err != nil {
		return Counters{}, fmt.Errorf("read counters: %w", err)
	}
	_, _ = io.Copy(io.Discard, res.Body) // so that the connection is used again
	return c, nil
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

func readStats(r io.Reader) (Counters, error) {
	c := Counters{Mallocs: -1, Delivered: -1, Goroutines: -1}
	if err := json.NewDecoder(r).Decode(&c); err != nil { // names match without regard to case
		return c, fmt.Errorf("decode stats: %w", err)
	}
	return c, nil
}

// readMetrics sums the wanted samples of a Prometheus text exposition over their labels.
func readMetrics(r io.Reader) (Counters, error) {
	c := Counters{Mallocs: -1, Delivered: -1, Goroutines: -1}
	into := map[string]*int64{sampleMallocs: &c.Mallocs, sampleDelivered: &c.Delivered, sampleGoroutines: &c.Goroutines}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, err := parseSample(lines.Text())
		if err != nil {
			return c, err
		}
		if to := into[name]; to != nil {
			*to = max(*to, 0) + int64(value)
		}
	}
	if err := lines.Err(); err != nil {
		return c, fmt.Errorf("read metrics: %w", err)
	}
	return c, nil
}

// parseSample reads `name{labels} value [timestamp]`; the name is empty for comments and blank lines.
func parseSample(line string) (name string, value float64, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", 0, nil
	}
	name, rest := line, ""
	if open := strings.IndexByte(line, '{'); open >= 0 {
		end := strings.LastIndexByte(line, '}')
		if end < open {
			return "", 0, errors.New("parse metrics: labels without an end")
		}
		name, rest = line[:open], line[end+1:]
	} else {
		name, rest, _ = strings.Cut(line, " ")
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return "", 0, fmt.Errorf("parse metrics: %s has no value", name)
	}
	value, err = strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return "", 0, fmt.Errorf("parse metrics: %s: %w", name, err)
	}
	return name, value, nil
}
