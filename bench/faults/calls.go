package faults

import (
	"context"
	"fmt"
	"sync"
	"time"

	"troupe/bench/server"
)

const (
	// callEvery is the time between two calls that change something. callMax bounds one call.
	callEvery = 50 * time.Millisecond
	callMax   = 20 * time.Second
	// storesMax is how long the host may need after a disk fault until a write succeeds (RL-116). A quick run uses
	// storesMaxQuick, so that a busy machine does not make it fail.
	storesMax      = 5 * time.Second
	storesMaxQuick = 30 * time.Second
)

// calls are sequential calls of the service API, made while the host's disk is broken. Each call creates an alias.
type calls struct {
	mu       sync.Mutex // guards the fields below
	made     []call
	from, to time.Time // interval in which the disk failed
}

// call is one call of the service API. id is empty if the call failed.
type call struct {
	began, ended time.Time
	id           string
}

// during records that the disk has begun to fail. The returned function records the end and calls end.
func (c *calls) during(end func() error) func() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from = time.Now()
	return func() error {
		c.mu.Lock()
		c.to = time.Now()
		c.mu.Unlock()
		return end()
	}
}

// run makes calls until halt is closed. Then it continues until one call succeeds, but for at most storesMaxQuick.
func (c *calls) run(ctx context.Context, proc *server.Process, halt <-chan struct{}) {
	api := proc.API(1)
	defer api.Close()
	var halted time.Time
	for n := 0; ; n++ {
		one := call{began: time.Now()}
		short, cancel := context.WithTimeout(ctx, callMax)
		one.id, _ = createAlias(short, api, fmt.Sprintf("faults-%d", n))
		cancel()
		one.ended = time.Now()
		c.mu.Lock()
		c.made = append(c.made, one)
		c.mu.Unlock()
		if !halted.IsZero() && (one.id != "" || time.Since(halted) > storesMaxQuick) {
			return
		}
		if rest(ctx, callEvery) != nil {
			return
		}
		select {
		case <-halt:
			if halted.IsZero() {
				halted = time.Now()
			}
		default:
		}
	}
}

// createAlias creates an alias and returns its id.
func createAlias(ctx context.Context, api *server.API, name string) (id string, err error) {
	type strategy struct{ Type, Message string }
	in := struct {
		Name            string
		RoutingStrategy strategy
	}{name, strategy{"TERMINAL", "none"}}
	var out struct{ Alias struct{ AliasId string } }
	err = api.Call(ctx, "CreateAlias", in, &out)
	return out.Alias.AliasId, err
}

// judgeBroken judges the calls made during and after the disk fault. It returns nil if there was no disk fault. most is
// how long the host may need afterwards until a call succeeds.
func (c *calls) judgeBroken(most time.Duration) []Verdict {
	if c.from.IsZero() {
		return nil
	}
	during, wrong := 0, 0
	recovered := time.Duration(-1)
	for _, one := range c.made {
		switch {
		case one.began.After(c.from) && one.ended.Before(c.to):
			if during++; one.id != "" {
				wrong++
			}
		case one.ended.After(c.to) && one.id != "" && recovered < 0:
			recovered = one.ended.Sub(c.to)
		}
	}
	first := "none was"
	if recovered >= 0 {
		first = fmt.Sprintf("the first one after %v", recovered.Round(time.Millisecond))
	}
	return []Verdict{
		judge("RL-21", "while nothing can be stored, the API confirms nothing", wrong == 0, "%d of %d changes were confirmed meanwhile", wrong, during),
		judge("RL-116", fmt.Sprintf("when the disk is well again, changes are stored within %v", most), recovered >= 0 && recovered <= most, "%s", first),
	}
}

// judgeCalls judges the calls after the last one has been made. It kills and restarts the host to see what has been
// stored.
func (r *run) judgeCalls(ctx context.Context, players *crew) (all []Verdict, err error) {
	most := storesMax
	if r.o.Quick {
		most = storesMaxQuick
	}
	all = r.calls.judgeBroken(most)
	good := 0
	longest := time.Duration(0)
	for _, one := range r.calls.made {
		longest = max(longest, one.ended.Sub(one.began))
		if one.id != "" {
			good++
		}
	}
	r.proc.Kill()
	if err := r.startAgain(ctx, players); err != nil {
		return all, err
	}
	api := r.proc.API(1)
	defer api.Close()
	var gone violations
	for _, one := range r.calls.made {
		if one.id == "" {
			continue
		}
		in := struct{ AliasId string }{one.id}
		if err := api.Call(ctx, "DescribeAlias", in, new(struct{})); err != nil {
			if ctx.Err() != nil {
				return all, ctx.Err()
			}
			gone.add("%s", one.id)
		}
	}
	return append(all, judge("RL-18", "what the API has confirmed survives a SIGKILL", gone.count == 0 && good > 0,
		"%d of %d confirmed changes are gone; %d calls failed, the longest took %v", gone.count, good, len(r.calls.made)-good, longest.Round(time.Millisecond))), nil
}
