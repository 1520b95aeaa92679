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
	churnWindow = 3 * time.Second // like all times in this test, a tenth of the default
	churnRate   = 2 * time.Second // interval of a player's messages

	churnSamples = 36
	// churnShort is a duration whose first third is shorter than the 5 minutes for which the API stores
	// responses for repeated calls. In such a run, callers use no invocation id. Otherwise the stored
	// responses would grow during most of the run.
	churnShort = 20 * time.Minute
)

// churner is a player. It sends numbered messages to its game, and checks those of the others.
type churner struct {
	c    *client.Client
	from uint64 // identifies the sender
}

// churnGame is a game session and its players.
type churnGame struct {
	mu      sync.Mutex // held while its players change
	id      string
	players []*churner
}

// churn is the state of the run.
type churn struct {
	*testing.T
	h        *testHost
	ctx      context.Context
	next     atomic.Uint64 // last value of churner.from
	games    []*churnGame
	turn     int // index of the game to end next
	working  sync.WaitGroup
	slots    chan struct{}
	idle     *http.Transport // transport of the API clients; its idle connections are closed before each sample
	messages atomic.Int64
	wrong    atomic.Int64 // messages lost, duplicated or out of order
	failed   atomic.Int64 // failed actions
	cuts     atomic.Int64
	joins    atomic.Int64
	ends     atomic.Int64
	expired  atomic.Int64 // players whose window ended before they were back

	mu   sync.Mutex
	late []time.Duration // delays of the messages since the last sample
}

// For a long time, players lose their connections, leave and join, and games end and begin. No message is
// lost, and at the end the process, including the clients, uses no more memory than after all players had
// joined.
// RL-306, RL-307.
func TestChurn(t *testing.T) {
	if *churnTime == 0 {
		t.Skip("it takes minutes, and is run by make soak (-churn 6m)")
	}
	h := startHostWith(t, func(c *host.Config) {
		c.Reconnect.Window, c.Session.PingInterval = churnWindow, 300*time.Millisecond
		c.Session.EndedMax = 50 // otherwise the records would keep growing during the run
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
	time.Sleep(churnWindow + 2*time.Second) // until all windows have ended and the last players are back
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

// work runs an action in one of the slots and counts its errors.
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

// run performs actions until a given time. Each second 5 % of the players lose their connections, 1 % leave
// and others join, and one game ends and another begins. All players send meanwhile.
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
			// Games end in turn, so that all are equally old in the end. Then the memory for players who have
			// left stops growing.
			g := c.games[c.turn%len(c.games)]
			c.turn++
			c.work(func() error { return c.again(g) })
		}
	}
}

// fill adds players in place of those whose window ended before they were back. That happens on a machine
// that is too slow for the times of this test.
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

// again ends a game and begins another one in its place.
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

// enter creates a game session and lets its players join. The caller holds g.mu.
func (c *churn) enter(g *churnGame) error {
	// twice the players, because a player who leaves while detached occupies its slot until the window ends
	out, err := c.h.api.CreateGameSession(c.ctx, &gamelift.CreateGameSessionInput{FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(2 * churnRoom)})
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

// join lets n players join.
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

// say sends numbered messages to all players until the player ends.
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
			return // the player has ended
		}
	}
}

// hear checks what a player receives: all messages of each other player, once and in order, starting with the
// first one received.
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

// churnSample is the resource use of the process at a time.
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
	time.Sleep(200 * time.Millisecond) // until the host has closed its side
	runtime.GC()
	runtime.GC()                                            // collects what finalizers have released
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}} // MemStats would include allocations since the collection
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

// profile writes a heap profile, which shows what grows: go tool pprof -base one.pprof another.pprof.
func (c *churn) profile(file string) {
	f, err := os.Create(file)
	if err == nil {
		err = errors.Join(pprof.WriteHeapProfile(f), f.Close())
	}
	if err != nil {
		c.Error(err)
	}
}

// slopeOf returns the growth of the heap in 10 minutes as a fraction of its mean (least squares). doubt is
// two standard errors of that.
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
