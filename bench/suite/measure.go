package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

const (
	// drainMax is the maximum wait for late messages.
	drainMax = 5 * time.Second
	// lateMax is how late the generator may send (p99). If it is later, the latencies describe the generator rather
	// than the server.
	lateMax = 5 * time.Millisecond
	// lateShare is the minimum ratio of latency to lateness. A generator that is later than lateMax is acceptable if
	// the ratio is not below lateShare.
	lateShare = 4
	// sentMin is the minimum share of the due messages that the generator must have sent.
	sentMin = 0.99
	// noisyShare is the share of the machine above which other programs cause a warning.
	noisyShare = 0.05
)

// edge holds all readings at one end of the measured part.
type edge struct {
	at             time.Time
	usage, self    server.Usage
	etcd           server.Usage // of the members of etcd together
	machine        server.MachineTime
	sent, received int64
	counters       server.Counters
}

// meter takes readings at both ends of the measured part. Reading the server's counters is expensive for the server. It
// is therefore done outside the CPU window, and its allocations are subtracted.
type meter struct {
	r          *run
	proc       *server.Process
	beside     []*server.Process // other hosts and the members of etcd of a cluster, whose usage is measured as well
	swarm      *loadgen.Swarm    // nil if there is no swarm
	start, end edge
	scrapeCost int64
	blind      bool    // the host denies access to its figures
	others     float64 // share of the machine that other programs used in the measured part, if known
}

func (r *run) meter(proc *server.Process, swarm *loadgen.Swarm) *meter {
	return &meter{r: r, proc: proc, swarm: swarm, scrapeCost: -1}
}

func (m *meter) atStart(ctx context.Context) error {
	if err := m.count(ctx, &m.start); err != nil {
		return err
	}
	return m.read(&m.start)
}

func (m *meter) atEnd(ctx context.Context) error {
	if err := m.read(&m.end); err != nil {
		return err
	}
	if err := m.count(ctx, &m.end); err != nil || m.blind {
		return err
	}
	cost, err := m.proc.ScrapeCost(ctx)
	m.scrapeCost = cost
	return err
}

// count reads the server's own counters. A remote host may deny access to them.
func (m *meter) count(ctx context.Context, e *edge) (err error) {
	e.counters, err = m.proc.Counters(ctx)
	return m.excuse(err)
}

// excuse turns a denied access to a remote host's figures into a warning.
func (m *meter) excuse(err error) error {
	if answer := new(server.AnswerError); m.r.o.Against != nil && errors.As(err, &answer) {
		m.blind = true
		m.r.warn("CPU, memory and allocations are not known: /debug/runtime of the host answers %d; it is for operators (an access key that may call every operation, or the host's own machine)", answer.Status)
		return nil
	}
	return err
}

func (m *meter) read(e *edge) (err error) {
	e.at = time.Now()
	if m.swarm != nil {
		e.sent, e.received = m.swarm.Totals()
	}
	e.usage, e.etcd = server.Usage{}, server.Usage{}
	for _, p := range append([]*server.Process{m.proc}, m.beside...) {
		if m.blind {
			break
		}
		u, err := p.Usage()
		if err = m.excuse(err); err != nil {
			return err
		}
		if p.Spec.Kind == server.Etcd {
			e.etcd.Add(u)
		} else {
			e.usage.Add(u)
		}
	}
	if e.self, err = server.UsageOf(os.Getpid()); err != nil {
		return err
	}
	e.machine, err = server.MachineNow()
	return err
}

func (m *meter) cpu() time.Duration { return m.end.usage.CPU() - m.start.usage.CPU() }

// figures returns the differences between the two readings. With a swarm, costs are per delivered message.
func (m *meter) figures() result.Figures {
	f := make(result.Figures)
	a, b := m.start, m.end
	took := b.at.Sub(a.at).Seconds()
	received, sent := float64(b.received-a.received), float64(b.sent-a.sent)
	if m.swarm != nil {
		f.Set("delivered_per_s", received/took)
		if m.r.o.own() { // a script may answer any number of times, so report the sent messages separately
			f.Set("inbound_per_s", sent/took)
		}
	}
	if m.swarm != nil && received > 0 {
		f.Set("generator_us", float64(b.self.CPU()-a.self.CPU())/float64(time.Microsecond)/received)
	}
	m.disturbance()
	if m.blind {
		return f
	}
	f.Set("cpu_cores", m.cpu().Seconds()/took)
	if etcd := b.etcd.CPU() - a.etcd.CPU(); etcd > 0 {
		f.Set("etcd_cores", etcd.Seconds()/took)
	}
	if m.r.o.Against == nil || b.usage.RSSBytes > 0 {
		f.Set("resident_mib", float64(b.usage.RSSBytes)/(1<<20))
	}
	if m.swarm != nil {
		us := float64(time.Microsecond)
		if a.counters.Collections >= 0 && b.counters.Collections >= 0 {
			f.Set("collections_per_s", float64(b.counters.Collections-a.counters.Collections)/took)
		}
		f.Set("cpu_us", float64(m.cpu())/us/received)
		f.Set("cpu_user_us", float64(b.usage.User-a.usage.User)/us/received)
		f.Set("cpu_system_us", float64(b.usage.System-a.usage.System)/us/received)
		if m.r.o.own() {
			f.Set("cpu_inbound_us", float64(m.cpu())/us/sent)
		}
		if m.r.o.Against == nil {
			f.Set("switches", float64(b.usage.Switches()-a.usage.Switches())/received)
		}
		if a.counters.Mallocs >= 0 && b.counters.Mallocs >= 0 && m.scrapeCost >= 0 {
			objects := float64(max(b.counters.Mallocs-a.counters.Mallocs-m.scrapeCost, 0))
			f.Set("allocs", objects/received)
			f.Set("allocs_inbound", objects/sent)
		}
	}
	return f
}

// disturbance warns if other programs or the hypervisor used much of the machine during the measured part.
func (m *meter) disturbance() {
	a, b := m.start, m.end
	total := b.machine.Total - a.machine.Total
	if total <= 0 || m.r.o.Against != nil {
		return
	}
	other := b.machine.Busy - a.machine.Busy - m.cpu() - (b.etcd.CPU() - a.etcd.CPU()) - (b.self.CPU() - a.self.CPU())
	if m.others = max(0, float64(other)/float64(total)); m.others > noisyShare {
		m.r.noise(m.others)
	}
	if share := float64(b.machine.Steal-a.machine.Steal) / float64(total); share > noisyShare {
		m.r.warn("up to %.0f %% of the machine was stolen by the hypervisor", 100*share)
	}
}

// loaded drives the swarm once and returns the figures of the measured part. The figures are also valid if the error is
// a lostError.
func (r *run) loaded(ctx context.Context, proc *server.Process, swarm *loadgen.Swarm, plan loadgen.Plan) (result.Round, *loadgen.Result, error) {
	m := r.meter(proc, swarm)
	plan.Drain, plan.Every = cmp.Or(plan.Drain, drainMax), momentEvery
	plan.AtStart = func() error { return m.atStart(ctx) }
	plan.AtEnd = func() error { return m.atEnd(ctx) }
	load, err := swarm.Run(ctx, plan)
	if err != nil {
		return result.Round{}, nil, errors.Join(err, proc.Alive())
	}
	round := result.Round{Figures: m.figures()}
	round.Others = m.others
	addLatencies(&round, &load)
	if lost, first := swarm.Disconnects(); lost > 0 || load.SendErrors > 0 {
		return round, &load, &lostError{max(lost, load.SendErrors), errors.Join(first, proc.Alive())}
	}
	return round, &load, nil
}

// lostError means that players lost their connections, or could not send because the server did not read.
type lostError struct {
	players int64
	first   error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("%d players were lost, the first: %v", e.players, e.first)
}
func (e *lostError) Unwrap() error { return e.first }

// limit is a reason why the measured figures of a subject may be worse than the server's real ones.
type limit struct {
	why     string
	figures []string
}

// asFastAsItCan is for figures of actions that the generator performed as fast as it could. If the generator limited
// them, the figures are marked. took is the duration of one action (p99). waited is how long the generator waited for a
// processor (p99).
func (r *run) asFastAsItCan(took, waited time.Duration, figures ...string) {
	why, bound := isBound(&loadgen.Result{Delivered: 1, Latency: loadgen.Quantiles{P99: took}, Lateness: loadgen.Quantiles{P99: waited}})
	if !bound {
		return
	}
	r.warn("%s, so joins or reconnects of the server may be faster", why)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limits == nil {
		r.limits = make(map[string]limit)
	}
	r.limits[r.now] = limit{why, figures}
}

// excuseMissed changes missed goals to unproven if the generator limited their figures. A limit makes figures worse, so
// goals that hold stay valid.
func (r *run) excuseMissed(res *result.Result) {
	for i, v := range res.Goals {
		if l := r.limits[v.Subject]; v.Measured && !v.Holds && slices.Contains(l.figures, v.Figure) {
			res.Goals[i] = result.Unproven(v.Goal, l.why)
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// addLatencies adds the latencies and the delivered share of a load to a round.
func addLatencies(round *result.Round, load *loadgen.Result) {
	f := round.Figures
	if load.Expected > 0 {
		f.Set("delivered_share", float64(load.Delivered)/float64(load.Expected))
	}
	if load.Delivered > 0 {
		f.Set("p50_ms", ms(load.Latency.P50))
		f.Set("p99_ms", ms(load.Latency.P99))
		if load.Delivered >= 1000 {
			f.Set("p999_ms", ms(load.Latency.P999))
		}
		f.Set("max_ms", ms(load.Latency.Max))
	}
	if load.Detail == nil {
		return
	}
	for _, p := range load.Detail.Distribution {
		if p.Share < 1 && (1-p.Share)*float64(load.Delivered) < 1 {
			continue // there are too few messages for this quantile
		}
		round.Latency = append(round.Latency, result.Point{Ms: ms(p.Late), Share: p.Share})
	}
	for _, t := range load.Detail.Timeline {
		round.Timeline = append(round.Timeline, result.Moment{At: t.At.Seconds(), PerSecond: t.PerSecond, P50: ms(t.Latency.P50), P99: ms(t.Latency.P99)})
	}
}

// isBound reports whether the load was limited by its generator rather than by the server, and why.
func isBound(load *loadgen.Result) (why string, bound bool) {
	switch late := load.Lateness.P99; {
	case load.Due > 0 && float64(load.Sent) < sentMin*float64(load.Due):
		return "the generator sent only " + percent(load.Sent, load.Due) + " of what was due", true
	// if nothing was delivered, there are no latencies to distort
	case late > lateMax && load.Delivered > 0 && load.Latency.P99 < lateShare*late:
		return "the generator was up to " + late.Round(100*time.Microsecond).String() + " late (p99)", true
	}
	return "", false
}
