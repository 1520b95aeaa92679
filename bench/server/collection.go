package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// TraceCollections is what Env needs for Collection.
const TraceCollections = "GODEBUG=gctrace=1"

// Collection is one run of the server's garbage collector.
type Collection struct {
	Forced  bool          `json:"forced"`   // by Collect, and so of all that there is; else it was the last that came by itself
	Wall    time.Duration `json:"wall_ns"`  // from its begin to its end
	CPU     time.Duration `json:"cpu_ns"`   // of all threads; what was idle is not counted
	Stopped time.Duration `json:"stop_ns"`  // while nothing else ran
	LiveMiB int           `json:"live_mib"` // afterwards
}

// Collect has the host collect its garbage, and returns what that took. A host without profiles is not asked to.
func (p *Process) Collect(ctx context.Context) (Collection, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Announce.API+"/debug/pprof/heap?gc=1", nil)
	if err != nil {
		return Collection{}, err
	}
	res, err := p.client.Do(req)
	if err != nil {
		return Collection{}, fmt.Errorf("collect: %w", err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	c, err := lastCollection(p.output.String())
	c.Forced = res.StatusCode == http.StatusOK
	return c, err
}

// traced is a line of gctrace: the clock of both stops and of what is between, the CPU of stops, assists and workers.
var traced = regexp.MustCompile(`gc \d+ @[\d.]+s \d+%: ([\d.]+)\+([\d.]+)\+([\d.]+) ms clock, ([\d.]+)\+([\d.]+)/([\d.]+)/[\d.]+\+([\d.]+) ms cpu, \d+->\d+->(\d+) MB`)

func lastCollection(output string) (c Collection, err error) {
	all := traced.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return c, fmt.Errorf("the host has told of no collection (it needs %s)", TraceCollections)
	}
	last := all[len(all)-1]
	sum := func(fields ...int) time.Duration {
		var ms float64
		for _, i := range fields {
			v, _ := strconv.ParseFloat(last[i], 64) // the pattern has it a number
			ms += v
		}
		return time.Duration(ms * float64(time.Millisecond))
	}
	c = Collection{Wall: sum(1, 2, 3), Stopped: sum(1, 3), CPU: sum(4, 5, 6, 7)}
	c.LiveMiB, err = strconv.Atoi(last[8])
	return c, err
}
