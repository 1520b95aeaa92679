package acceptance_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go/middleware"

	"troupe/transport/client"
	"troupe/transport/host"
)

var (
	churnTime    = flag.Duration("churn", 0, "how long players come and go in the churn test; 0 skips it")
	churnPlayers = flag.Int("churn.players", 1000, "players at a time, in games of ten")
	churnHeap    = flag.String("churn.heap", "", "folder for a heap profile of each sample (with -test.memprofilerate 16384 for detail)")
)

const (
	churnRoom   = 10
	churnWindow = 3 * time.Second // a tenth of the default, as all times of the test
	churnRate   = 2 * time.Second // between two messages of a player

	churnSamples = 36
	// churnShort is a run whose first third is shorter than the API keeps answers for callers that ask again (5 min). Its
	// callers have no invocation id, or the kept answers would grow through most of the run.
	churnShort = 20 * time.Minute
)

// churner is one player: it sends numbered messages to its game, and checks those of the others.
type churner struct {
	c    *client.Client
	from uint64 // says who it is
}

// churnGame is one game session and its players.
type churnGame struct {
	mu      sync.Mutex // held while its players change
	id      string
	players []*churner
}

// churn is the run.
type churn struct {
	*testing.T
	h        *testHost
	ctx      context.Context
	next     atomic.Uint64 // of churner.from
	games    []*churnGame
	turn     int // of the next game to end
	working  sync.WaitGroup
	slots    chan struct{}
	idle     *http.Transport // of the API's clients; its idle connections are closed before each sample
	messages atomic.Int64
	wrong    atomic.Int64 // lost, twice or out of order
	failed   atomic.Int64 // actions
	cuts     atomic.Int64
	joins    atomic.Int64
	ends     atomic.Int64
	expired  atomic.Int64 // players whose window was over before they were back

	mu   sync.Mutex
	late []time.Duration // of the messages since the last sample
}

// Players lose their connections, leave and join, and games end and begin, for a long time: nothing is lost,
// and the process, clients included, takes no more at the end than when all had come.
// RL-306, RL-307.
func TestChurn(t *testing.T) {
	if *churnTime == 0 {
		t.Skip("it takes minutes, and is run by make soak (-churn 6m)")
	}
	h := startHostWith(t, func(c *host.Config) {
		c.Reconnect.Window, c.Session.PingInterval = churnWindow, 300*time.Millisecond
		c.Session.EndedMax = 50 // or their records would grow for weeks
		c.Limits.ResumesPerPlayerSessionPerMinute = 0
	}, onSystem)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &churn{T: t, h: h, ctx: ctx, slots: make(chan struct{}, 64), idle: new(http.Transport)}
	h.api = gamelift.New(h.api.Options(), func(o *gamelift.Options) {
		o.HTTPClient = &http.Client{Transport: c.idle}
		if *churnTime < churnShort {
			o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
				_, err := s.Build.Remove("ClientRequestID")
				return err
			})
		}
	})
	for range max(1, *churnPlayers/churnRoom) {
		c.games = append(c.games, new(churnGame))
	}
	for _, g := range c.games {
		c.work(func() error { return c.begin(g) })
	}
	c.working.Wait()
	start := c.sample("all are in")
	samples := []churnSample{start}
	every := *churnTime / churnSamples
	begun := time.Now()
	for n := time.Duration(1); n <= churnSamples; n++ {
		c.run(begun.Add(n * every))
		samples = append(samples, c.sample(fmt.Sprintf("after %v", n*every)))
	}
	c.working.Wait()
	time.Sleep(churnWindow + 2*time.Second) // windows end, and the last are back
	for _, g := range c.games {
		c.work(func() error { return c.fill(g) })
	}
	c.working.Wait()
	end := c.sample("at rest")
	t.Logf("%d players: %d messages, %d lost or twice, %d cuts, %d joins, %d games ended, %d players back too late, %d actions failed",
		*churnPlayers, c.messages.Load(), c.wrong.Load(), c.cuts.Load(), c.joins.Load(), c.ends.Load(), c.expired.Load(), c.failed.Load())
	slope, doubt := slopeOf(samples[len(samples)/3:])
	verdict := func(what string, ok bool, figure string) {
		word := "holds "
		if !ok {
			word = "MISSED"
			t.Errorf("%s: %s", what, figure)
		}
		t.Logf("%s  %-48s %s", word, what, figure)
	}
	verdict("messages lost, twice or out of order: 0", c.wrong.Load() == 0, fmt.Sprint(c.wrong.Load()))
	verdict("actions that failed: 0", c.failed.Load() == 0, fmt.Sprint(c.failed.Load()))
	verdict("goroutines at rest: as at the start +-10", abs(end.goroutines-start.goroutines) <= 10, fmt.Sprintf("%d, %d", start.goroutines, end.goroutines))
	verdict("descriptors at rest: as at the start +-5", abs(end.files-start.files) <= 5, fmt.Sprintf("%d, %d", start.files, end.files))
	verdict("heap, last two thirds: at most +1 % in 10 min", slope-doubt <= 0.01, fmt.Sprintf("%+.2f %%, +-%.2f %%", 100*slope, 100*doubt))
	if p := h.host.Counters().ActorPanics.Load() + h.host.Counters().HandlerErrors.Load(); p != 0 {
		verdict("panics: 0", false, fmt.Sprint(p))
	}
	for _, g := range c.games {
		for _, p := range g.players {
			p.c.Abort()
		}
	}
}

// work runs an action in one of the slots. The error counts.
func (c *churn) work(do func() error) {
	c.slots <- struct{}{}
	c.working.Go(func() {
		defer func() { <-c.slots }()
		if err := do(); err != nil {
			if c.failed.Add(1) < 10 {
				c.Logf("failed: %v", err)
			}
		}
	})
}

// run acts until a time: each second 5 % of the players lose their connections, 1 % leave and others join, and
// one game ends and another begins. All send.
func (c *churn) run(until time.Time) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	owed := func(perSecond float64) int { return int(perSecond/10 + rand.Float64()) }
	for n := 0; time.Now().Before(until); n++ {
		<-tick.C
		for range owed(0.05 * float64(*churnPlayers)) {
			g := c.games[rand.IntN(len(c.games))]
			c.work(func() error { return c.cut(g) })
		}
		for range owed(0.01 * float64(*churnPlayers)) {
			g := c.games[rand.IntN(len(c.games))]
			c.work(func() error { return c.replace(g) })
		}
		if n%10 == 0 {
			// In turn, so that all games are equally old in the end, and what they keep of players who have left stops growing.
			g := c.games[c.turn%len(c.games)]
			c.turn++
			c.work(func() error { return c.again(g) })
		}
	}
}

// fill lets others in for players whose window was over before they were back. On a machine that is too slow for
// the times of the test there are some.
func (c *churn) fill(g *churnGame) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.players {
		select {
		case <-g.players[i].c.Done():
		default:
			continue
		}
		c.expired.Add(1)
		p, err := c.join(g, 1)
		if err != nil {
			return err
		}
		g.players[i] = p[0]
	}
	return nil
}

func (c *churn) cut(g *churnGame) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.cuts.Add(1)
	g.players[rand.IntN(len(g.players))].c.Outage(time.Duration(rand.IntN(500)) * time.Millisecond)
	return nil
}

func (c *churn) replace(g *churnGame) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := rand.IntN(len(g.players))
	g.players[i].c.Close()
	p, err := c.join(g, 1)
	if err == nil {
		g.players[i] = p[0]
	}
	return err
}

// again ends a game and begins another in its place.
func (c *churn) again(g *churnGame) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := c.h.api.TerminateGameSession(c.ctx, &gamelift.TerminateGameSessionInput{GameSessionId: aws.String(g.id), TerminationMode: types.TerminationModeForceTerminate})
	if err != nil {
		return err
	}
	c.ends.Add(1)
	for _, p := range g.players {
		p.c.Abort()
	}
	return c.enter(g)
}

func (c *churn) begin(g *churnGame) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return c.enter(g)
}

// enter creates a game and lets its players in. The caller holds g.mu.
func (c *churn) enter(g *churnGame) error {
	out, err := c.h.api.CreateGameSession(c.ctx, &gamelift.CreateGameSessionInput{FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(2 * churnRoom)}) // who leaves while it is away keeps its seat for the window
	if err != nil {
		return err
	}
	g.id = *out.GameSession.GameSessionId
	for deadline := time.Now().Add(patience); ; {
		d, err := c.h.api.DescribeGameSessions(c.ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: aws.String(g.id)})
		if err != nil {
			return err
		}
		if d.GameSessions[0].Status == types.GameSessionStatusActive {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the game session is %s", d.GameSessions[0].Status)
		}
		time.Sleep(10 * time.Millisecond)
	}
	g.players, err = c.join(g, churnRoom)
	return err
}

// join lets n players in.
func (c *churn) join(g *churnGame, n int) (all []*churner, err error) {
	names := make([]string, n)
	from := make([]uint64, n)
	for i := range n {
		from[i] = c.next.Add(1)
		names[i] = fmt.Sprintf("player-%d", from[i])
	}
	out, err := c.h.api.CreatePlayerSessions(c.ctx, &gamelift.CreatePlayerSessionsInput{GameSessionId: aws.String(g.id), PlayerIds: names})
	if err != nil {
		return nil, err
	}
	for i, s := range out.PlayerSessions {
		ctx, cancel := context.WithTimeout(c.ctx, patience)
		cl, err := client.Dial(ctx, client.Options{DialContext: c.h.Net.Dial, Addr: c.h.host.Addrs().WS, Transport: client.WS, PlayerSessionID: *s.PlayerSessionId, DialTimeout: patience})
		cancel()
		if err != nil {
			return nil, err
		}
		c.joins.Add(1)
		p := &churner{cl, from[i]}
		all = append(all, p)
		go c.hear(p)
		go c.say(p)
	}
	return all, nil
}

// say sends numbered messages to all until the player ends.
func (c *churn) say(p *churner) {
	tick := time.NewTicker(churnRate)
	defer tick.Stop()
	for n := uint64(1); ; n++ {
		select {
		case <-p.c.Done():
			return
		case <-tick.C:
		}
		b := binary.BigEndian.AppendUint64(make([]byte, 0, 32), p.from)
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, n), uint64(time.Now().UnixNano()))
		if p.c.Send(c.ctx, client.Message{OpCode: 82, TargetGroup: client.AllPlayers, Payload: b}) != nil {
			return // it ends
		}
	}
}

// hear checks what a player receives: of each other all messages, once and in order, from the first that it got.
func (c *churn) hear(p *churner) {
	last := make(map[uint64]uint64)
	for e := range p.c.Events() {
		switch {
		case e.Kind == client.EventGap:
			c.wrong.Add(1)
		case e.Kind == client.EventMessage && e.OpCode == 82:
			from, n := binary.BigEndian.Uint64(e.Payload), binary.BigEndian.Uint64(e.Payload[8:])
			if before, known := last[from]; known && n != before+1 {
				c.wrong.Add(1)
			}
			last[from] = n
			c.messages.Add(1)
			c.mu.Lock()
			c.late = append(c.late, time.Duration(time.Now().UnixNano()-int64(binary.BigEndian.Uint64(e.Payload[16:]))))
			c.mu.Unlock()
		}
	}
}

// churnSample is what the process takes.
type churnSample struct {
	at                time.Time
	goroutines, files int
	heap              uint64
}

func (c *churn) sample(what string) churnSample {
	c.mu.Lock()
	late := c.late
	c.late = nil
	c.mu.Unlock()
	slices.Sort(late)
	p99 := time.Duration(0)
	if len(late) > 0 {
		p99 = late[len(late)*99/100]
	}
	late = nil
	c.idle.CloseIdleConnections()
	time.Sleep(200 * time.Millisecond) // the host closes its side
	runtime.GC()
	runtime.GC()                                            // what finalizers held
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}} // MemStats would add what is allocated since the collection
	metrics.Read(live)
	s := churnSample{at: time.Now(), goroutines: runtime.NumGoroutine(), files: -1, heap: live[0].Value.Uint64()}
	if *churnHeap != "" {
		c.profile(filepath.Join(*churnHeap, strings.ReplaceAll(what, " ", "-")+".pprof"))
	}
	if d, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.files = len(d)
	}
	c.Logf("%-14s %6d goroutines, %5d descriptors, heap %6.1f MiB, p99 %v", what, s.goroutines, s.files, float64(s.heap)/(1<<20), p99.Round(time.Millisecond))
	return s
}

// profile writes a heap profile, to find what grows: go tool pprof -base one.pprof another.pprof.
func (c *churn) profile(file string) {
	f, err := os.Create(file)
	if err == nil {
		err = errors.Join(pprof.WriteHeapProfile(f), f.Close())
	}
	if err != nil {
		c.Error(err)
	}
}

// slopeOf returns how much the heap grows in 10 min, as a share of its mean (least squares), and how far the samples'
// noise may have moved that (two standard errors).
func slopeOf(all []churnSample) (slope, doubt float64) {
	var x, y, xx, xy, rest float64
	n := float64(len(all))
	at := func(s churnSample) (float64, float64) { return s.at.Sub(all[0].at).Minutes(), float64(s.heap) }
	for _, s := range all {
		t, h := at(s)
		x, y, xx, xy = x+t, y+h, xx+t*t, xy+t*h
	}
	spread := xx - x*x/n
	perMinute := (xy - x*y/n) / spread
	for _, s := range all {
		t, h := at(s)
		off := h - y/n - perMinute*(t-x/n)
		rest += off * off
	}
	in10 := 10 / (y / n)
	return perMinute * in10, 2 * math.Sqrt(rest/(n-2)/spread) * in10
}

func abs(n int) int { return max(n, -n) }
