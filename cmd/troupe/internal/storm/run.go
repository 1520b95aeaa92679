package storm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"troupe/cmd/troupe/internal/reach"
)

// run is one measurement.
type run struct {
	o       Options
	out     io.Writer
	rooms   []*room
	players []*player
	ends    sync.WaitGroup
	random  *rand.Rand
}

const (
	// dialsAtOnce bounds the concurrent logins at the start.
	dialsAtOnce = 64
	// playTime is how long the players play before and after each part of the measurement.
	playTime = 2 * time.Second
)

// Run measures, and prints its progress.
func Run(ctx context.Context, o Options, out io.Writer) (res Result, err error) {
	if err := o.validate(); err != nil {
		return res, err
	}
	if o.API == "" {
		host, err := startHost(ctx, o.Host)
		if err != nil {
			return res, err
		}
		defer host.stop()
		o.API, o.KCPAddr = "http://"+host.addrs.API, host.addrs.KCP
		if o.TLS, err = host.trust(); err != nil {
			return res, err
		}
	}
	r := &run{o: o, out: out, random: rand.New(rand.NewPCG(o.Seed, 1))}
	defer r.leave()
	if err := r.enterAll(ctx); err != nil {
		return res, err
	}
	fmt.Fprintf(out, "%d players in %d game sessions over %s\n", len(r.players), len(r.rooms), o.Transport)
	return r.measure(ctx)
}

// enterAll logs all players in.
func (r *run) enterAll(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, dialsAtOnce)
	var dials sync.WaitGroup
	err := r.o.seats(ctx, func(number int, seats []seat) error {
		rm := &room{players: make([]*player, len(seats))}
		r.rooms = append(r.rooms, rm)
		for index, s := range seats {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			dials.Go(func() {
				defer func() { <-slots }()
				if err := r.enter(ctx, rm, index, s); err != nil {
					cancel(err)
				}
			})
		}
		return nil
	})
	dials.Wait()
	for _, rm := range r.rooms {
		for _, p := range rm.players {
			if p != nil {
				r.players = append(r.players, p)
			}
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (r *run) leave() {
	var ends sync.WaitGroup
	slots := make(chan struct{}, dialsAtOnce)
	for _, p := range r.players {
		slots <- struct{}{}
		ends.Go(func() {
			p.c.Close()
			<-slots
		})
	}
	ends.Wait()
	r.ends.Wait()
}

// measure lets the players play, cuts single connections, cuts all, and counts messages.
func (r *run) measure(ctx context.Context) (res Result, err error) {
	replayed, err := r.hostReplayed(ctx)
	if err != nil {
		return res, err
	}
	machine := fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	res = Result{Machine: machine, Players: len(r.players), Transport: r.o.Transport.String(), Rate: r.o.Rate}
	playing, halt := context.WithCancel(ctx)
	var pacer sync.WaitGroup
	pacer.Go(func() { r.play(playing) })
	defer pacer.Wait()
	defer halt()
	if err := sleep(ctx, playTime); err != nil {
		return res, err
	}
	if res.Single, err = r.single(ctx); err != nil {
		return res, err
	}
	if err := sleep(ctx, playTime); err != nil {
		return res, err
	}
	if res.Storm, res.StormSeconds, err = r.storm(ctx); err != nil {
		return res, err
	}
	if err := sleep(ctx, playTime); err != nil {
		return res, err
	}
	halt()
	pacer.Wait()
	r.await(ctx)
	r.count(&res)
	after, err := r.hostReplayed(ctx)
	res.Replayed += after - replayed
	return res, err
}

// hostReplayed returns how many messages the host has sent again so far.
func (r *run) hostReplayed(ctx context.Context) (uint64, error) {
	const name = "troupe_replayed_messages_total "
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.o.API+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	once := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := once.Do(req)
	if err != nil {
		return 0, fmt.Errorf("metrics: %w", reach.Explain(r.o.API, err))
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name); ok {
			n, err := strconv.ParseFloat(value, 64)
			return uint64(n), err
		}
	}
	return 0, fmt.Errorf("metrics: no %s", name)
}

// play sends for all players at their rate, evenly spread over time.
func (r *run) play(ctx context.Context) {
	if r.o.Rate == 0 {
		return
	}
	payload := make([]byte, r.o.Payload)
	each := time.Duration(float64(time.Second) / r.o.Rate / float64(len(r.players)))
	begun := time.Now()
	for n := 0; ; n++ {
		if wait := time.Until(begun.Add(time.Duration(n) * each)); wait > 0 && sleep(ctx, wait) != nil || ctx.Err() != nil {
			return
		}
		r.players[n%len(r.players)].send(ctx, payload)
	}
}

// single cuts players one at a time.
func (r *run) single(ctx context.Context) (Resumes, error) {
	times := newHistogram()
	for range r.o.Single {
		next := time.Now().Add(r.o.Every)
		p := r.players[r.random.IntN(len(r.players))]
		if err := r.waitFor(ctx, p.cut(), times); err != nil {
			return Resumes{}, err
		}
		if err := sleep(ctx, time.Until(next)); err != nil {
			return Resumes{}, err
		}
	}
	got := resumesOf(times)
	if r.o.Single > 0 {
		fmt.Fprintf(r.out, "one at a time: %s\n", got)
	}
	return got, nil
}

// storm cuts all players at once and waits until all have reconnected.
func (r *run) storm(ctx context.Context) (Resumes, float64, error) {
	times := newHistogram()
	back := make([]<-chan time.Duration, len(r.players))
	begun := time.Now()
	for i, p := range r.players {
		back[i] = p.cut()
	}
	cut := time.Since(begun)
	for _, b := range back {
		if err := r.waitFor(ctx, b, times); err != nil && ctx.Err() != nil {
			return Resumes{}, 0, err
		}
	}
	took := time.Since(begun)
	got := resumesOf(times)
	fmt.Fprintf(r.out, "all at once (cut within %v): %s; all reconnected after %v\n", cut.Round(time.Millisecond), got, took.Round(time.Millisecond))
	return got, took.Seconds(), nil
}

var errNotBack = errors.New("a player did not reconnect")

func (r *run) waitFor(ctx context.Context, back <-chan time.Duration, times *hdrhistogram.Histogram) error {
	timer := time.NewTimer(r.o.Patience)
	defer timer.Stop()
	select {
	case took := <-back:
		_ = times.RecordValue(min(took.Microseconds(), times.HighestTrackableValue()))
		return nil
	case <-timer.C:
		return errNotBack
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await waits for the last messages.
func (r *run) await(ctx context.Context) {
	for deadline := time.Now().Add(r.o.Patience); time.Now().Before(deadline); {
		missing := uint64(0)
		for _, p := range r.players {
			missing += p.missing()
		}
		if missing == 0 || sleep(ctx, 50*time.Millisecond) != nil {
			return
		}
	}
}

func (r *run) count(res *Result) {
	res.Resumed = res.Single.Count + res.Storm.Count
	res.Failed = r.o.Single + len(r.players) - res.Resumed
	for _, p := range r.players {
		missing := p.missing()
		p.mu.Lock()
		res.Sent += p.sent
		res.Expected += p.sent * uint64(len(p.room.players))
		res.Received += p.received
		res.Lost += p.lost + missing
		res.Duplicated += p.duplicated
		res.Unsent += p.unsent
		res.Replayed += p.replayed
		res.Gaps += p.gaps
		p.mu.Unlock()
	}
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, (5 * time.Minute).Microseconds(), 3)
}

func resumesOf(h *hdrhistogram.Histogram) Resumes {
	at := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1000 }
	return Resumes{Count: int(h.TotalCount()), P50: at(50), P90: at(90), P99: at(99), Max: float64(h.Max()) / 1000}
}

// String returns the times in one line.
func (r Resumes) String() string {
	return fmt.Sprintf("%d resumes, p50 %.2f p90 %.2f p99 %.2f max %.2f ms", r.Count, r.P50, r.P90, r.P99, r.Max)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
