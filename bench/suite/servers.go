package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/transport/sdkclient"
)

var serverWorkloads = []Workload{
	{
		Name: "servers-idle", About: "game servers with the Server SDK: how fast they connect and become ready, their memory, and the CPU of their heartbeats, one a minute each; the store is a file",
		Params: Params{Servers: 20_000, Rest: 15 * time.Second, Measure: time.Minute, Rounds: 1},
		Goals: []result.Goal{
			{Subject: host, Figure: "kib_per_connection", Plus: 40},
			{Subject: host, Figure: "cpu_cores", Plus: 0.05},
			{Subject: host, Figure: "ready_per_s", Plus: 1000, AtLeast: true},
			{Subject: host, Figure: "join_p99_ms", Plus: 2000},
			{Subject: host, Figure: "failed"},
		},
		connections: aServerEach,
		lasts:       serversLast,
		subjects:    func(r *run) []subject { return r.onServers((*run).serversIdle) },
	},
	{
		Name: "servers-accept", About: "AcceptPlayerSession of game servers with the Server SDK, 200 players in each; the store is a file",
		Params: Params{Servers: 60, Rate: 500, Warmup: 2 * time.Second, Measure: 10 * time.Second, Rounds: 3},
		Goals: []result.Goal{
			{Subject: host, Figure: "p50_ms", Plus: 2},
			{Subject: host, Figure: "p99_ms", Plus: 20},
			{Subject: host, Figure: "failed"},
		},
		connections: someCallers,
		lasts:       serversLast,
		subjects:    func(r *run) []subject { return r.onServers((*run).serversAccept) },
	},
	{
		Name: "servers-create", About: "from CreateGameSession until a game server with the Server SDK is told; the store is a file",
		Params: Params{Rate: 50, Warmup: 2 * time.Second, Measure: 10 * time.Second, Rounds: 3},
		Goals: []result.Goal{
			{Subject: host, Figure: "p99_ms", Plus: 50},
			{Subject: host, Figure: "failed"},
		},
		connections: func(p Params) int { return callers + p.calls() },
		lasts:       serversLast,
		subjects:    func(r *run) []subject { return r.onServers((*run).serversCreate) },
	},
	{
		Name: "servers-restart", About: "a host with many game servers with the Server SDK is killed and started again: how long until all are back, as the SDK for Go comes back",
		Params: Params{Servers: 20_000, Rounds: 1},
		Goals: []result.Goal{
			{Subject: host, Figure: "back_s", Plus: 60},
			{Subject: host, Figure: "failed"},
		},
		connections: aServerEach,
		lasts:       func(p Params) time.Duration { return serversLast(p) + 15*time.Second },
		subjects:    func(r *run) []subject { return r.onServers((*run).serversRestart) },
	},
}

const (
	// serversAtOnce is the number of game servers that connect, or that become ready, at the same time.
	serversAtOnce = 128
	pushMax       = 10 * time.Second       // from CreateGameSession until the push
	backSDK       = 3 * time.Minute        // the SDK for Go gives up after 184 s
	aboutServer   = 500 * time.Microsecond // estimated time to connect one and make it ready
	serverPlaces  = "custom-bench"         // location of the computes
	computeMax    = 1000                   // processes of a compute: the host takes no more
)

func aServerEach(p Params) int { return p.Servers }

// calls returns how many calls a paced load makes.
func (p Params) calls() int { return int(p.Rate * (p.Warmup + p.Measure).Seconds()) }

func serversLast(p Params) time.Duration {
	return p.lasts() + time.Duration(max(p.Servers, p.calls()))*aboutServer
}

// gameServers are the processes of a fleet, of as many computes as they need.
type gameServers struct {
	r    *run
	proc *server.Process
	api  *server.API
	url  string // of the endpoint

	fleet   string
	tokens  []string                                            // of its computes
	started func(p *sdkclient.Process, g sdkclient.GameSession) // nil: it activates the game session

	mu  sync.Mutex // guards all while they connect
	all []*sdkclient.Process
}

// onServers returns a subject that measures a host with an ANYWHERE fleet. The endpoint of the Server SDK has an address of
// its own, which stays the same when the host is started again.
func (r *run) onServers(measure func(*run, context.Context, *gameServers, result.Figures) (result.Round, error)) []subject {
	round := 0
	return []subject{r.subject(host, r.host(), func(ctx context.Context) (got result.Round, err error) {
		round++
		addr, err := freeAddress()
		if err != nil {
			return got, err
		}
		spec := r.host("store.path="+filepath.Join(r.dir, fmt.Sprintf("servers-%d.db", round)), "serverSDK.addr="+addr, "log.level=warn")
		g := &gameServers{r: r, url: "ws://" + addr}
		if g.proc, err = r.start(ctx, spec); err != nil {
			return got, err
		}
		defer func() { err = errors.Join(err, g.end()) }()
		if err = g.prepare(ctx); err == nil {
			got, err = measure(r, ctx, g, make(result.Figures))
		}
		if err != nil {
			return got, errors.Join(err, g.proc.Alive())
		}
		return got, nil
	})}
}

func freeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// prepare makes the fleet.
func (g *gameServers) prepare(ctx context.Context) error {
	g.api = g.proc.API(callers)
	type location struct{ Location string }
	if err := g.api.Call(ctx, "CreateLocation", struct{ LocationName string }{serverPlaces}, new(struct{})); err != nil {
		return err
	}
	var made struct{ FleetAttributes struct{ FleetId string } }
	if err := g.api.Call(ctx, "CreateFleet", struct {
		Name, ComputeType string
		Locations         []location
	}{"servers", "ANYWHERE", []location{{serverPlaces}}}, &made); err != nil {
		return err
	}
	g.fleet = made.FleetAttributes.FleetId
	return nil
}

func computeName(i int) string { return fmt.Sprintf("bench-%d", i) }

// addCompute registers another compute.
func (g *gameServers) addCompute(ctx context.Context) error {
	name := computeName(len(g.tokens))
	if err := g.api.Call(ctx, "RegisterCompute", struct{ FleetId, ComputeName, Location, IpAddress string }{g.fleet, name, serverPlaces, "127.0.0.1"}, new(struct{})); err != nil {
		return err
	}
	var auth struct{ AuthToken string }
	err := g.api.Call(ctx, "GetComputeAuthToken", struct{ FleetId, ComputeName string }{g.fleet, name}, &auth)
	g.tokens = append(g.tokens, auth.AuthToken)
	return err
}

// end ends the processes and the host.
func (g *gameServers) end() error {
	for _, p := range g.all {
		p.Destroy()
	}
	for _, p := range g.all {
		p.Wait()
	}
	if g.api != nil {
		g.api.Close()
	}
	return g.proc.Stop()
}

// connect connects n processes. took has the time of each handshake.
func (g *gameServers) connect(ctx context.Context, n int, took *loadgen.Histogram) error {
	for len(g.tokens)*computeMax < n {
		if err := g.addCompute(ctx); err != nil {
			return err
		}
	}
	return atOnce(ctx, n, func(ctx context.Context, i int) error {
		begun := time.Now()
		p, err := sdkclient.Init(ctx, sdkclient.Options{
			URL: g.url, ProcessID: fmt.Sprintf("process-%d", i), HostID: computeName(i / computeMax), FleetID: g.fleet, AuthToken: g.tokens[i/computeMax],
			Handlers: sdkclient.Handlers{OnHealthCheck: func() bool { return true }, OnStartGameSession: g.start},
		})
		if err != nil {
			return fmt.Errorf("process %d: %w", i, err)
		}
		took.Record(time.Since(begun))
		g.mu.Lock()
		defer g.mu.Unlock()
		g.all = append(g.all, p)
		return nil
	})
}

func (g *gameServers) start(p *sdkclient.Process, s sdkclient.GameSession) {
	if g.started != nil {
		g.started(p, s)
	}
	if err := p.ActivateGameSession(context.Background()); err != nil && !errors.Is(err, sdkclient.ErrDestroyed) {
		g.r.warn("a game session was not activated: %v", err)
	}
}

// ready makes all processes ready, each on a port of its own, and waits until the first heartbeat of each was answered.
func (g *gameServers) ready(ctx context.Context) error {
	err := atOnce(ctx, len(g.all), func(ctx context.Context, i int) error { return g.all[i].Ready(ctx, 10_000+i) })
	for i := 0; err == nil && i < len(g.all); {
		if g.all[i].Stats().Heartbeats > 0 {
			i++
		} else {
			err = rest(ctx, 10*time.Millisecond)
		}
	}
	return err
}

// fill connects n processes and makes them ready.
func (g *gameServers) fill(ctx context.Context, n int) error {
	if err := g.connect(ctx, n, loadgen.NewHistogram()); err != nil {
		return err
	}
	return g.ready(ctx)
}

// atOnce calls do for 0 to n-1, many at the same time, until one fails.
func atOnce(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(serversAtOnce, n) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// serversIdle measures processes that do nothing but report their health.
func (r *run) serversIdle(ctx context.Context, g *gameServers, f result.Figures) (round result.Round, err error) {
	round.Figures = f
	if err := rest(ctx, min(restBefore, r.p.Rest)); err != nil {
		return round, err
	}
	before, after := r.meter(g.proc, nil), r.meter(g.proc, nil)
	if err := before.read(&before.start); err != nil {
		return round, err
	}
	n, took, waits, begun := r.p.Servers, loadgen.NewHistogram(), loadgen.NewWaits(), time.Now()
	if err := g.connect(ctx, n, took); err != nil {
		return round, err
	}
	connected := time.Now()
	if err := g.ready(ctx); err != nil {
		return round, err
	}
	q := took.Quantiles()
	f.Set("joins_per_s", float64(n)/connected.Sub(begun).Seconds())
	f.Set("join_p50_ms", ms(q.P50))
	f.Set("join_p99_ms", ms(q.P99))
	f.Set("join_max_ms", ms(q.Max))
	f.Set("ready_per_s", float64(n)/time.Since(connected).Seconds())
	r.asFastAsItCan(q.P99, waits.P99(), append([]string{"ready_per_s"}, joinFigures...)...)
	if err := rest(ctx, r.p.Rest); err != nil {
		return round, err
	}
	if err := after.read(&after.start); err != nil {
		return round, err
	}
	beats := g.heartbeats()
	if err := rest(ctx, r.p.Measure); err != nil {
		return round, err
	}
	if err := after.read(&after.end); err != nil {
		return round, err
	}
	seconds := after.end.at.Sub(after.start.at).Seconds()
	f.Set("beats_per_s", float64(g.heartbeats()-beats)/seconds)
	f.Set("cpu_cores", after.cpu().Seconds()/seconds)
	f.Set("kib_per_connection", float64(after.end.usage.RSSBytes-before.start.usage.RSSBytes)/1024/float64(n))
	f.Set("resident_mib", float64(after.end.usage.RSSBytes)/(1<<20))
	f.Set("failed", float64(g.failed()))
	after.disturbance()
	round.Others = after.others
	return round, nil
}

func (g *gameServers) heartbeats() (n int) {
	for _, p := range g.all {
		n += p.Stats().Heartbeats
	}
	return n
}

// failed returns how many processes are not connected, or lost a connection, or got what the Server SDK could not read.
func (g *gameServers) failed() (n int) {
	for _, p := range g.all {
		if s := p.Stats(); !s.Connected || s.Connections != 1 || len(p.Violations()) > 0 {
			n++
		}
	}
	return n
}

// playersEach is the maximum of reservations per call of CreatePlayerSessions.
const playersEach = 25

// serversAccept accepts players at a fixed rate.
func (r *run) serversAccept(ctx context.Context, g *gameServers, _ result.Figures) (round result.Round, err error) {
	n := r.p.calls()
	if most := r.p.Servers * playersMax; n > most {
		return round, fmt.Errorf("%d players do not fit into %d game servers: raise --servers", n, r.p.Servers)
	}
	if err := g.fill(ctx, r.p.Servers); err != nil {
		return round, err
	}
	processes := make(map[string]*sdkclient.Process)
	var games []string
	for range r.p.Servers {
		var made struct {
			GameSession struct{ GameSessionId string }
		}
		if err := g.api.Call(ctx, "CreateGameSession", g.newGame("accept"), &made); err != nil {
			return round, err
		}
		games = append(games, made.GameSession.GameSessionId)
	}
	for _, id := range games {
		if err := g.proc.AwaitActive(ctx, id); err != nil {
			return round, err
		}
	}
	for _, p := range g.all {
		processes[p.GameSessionID()] = p
	}
	ids := make([]string, n)
	if err := atOnce(ctx, (n+playersEach-1)/playersEach, func(ctx context.Context, call int) error {
		in := struct {
			GameSessionId string
			PlayerIds     []string
		}{GameSessionId: games[call%len(games)]}
		for i := call * playersEach; i < min(n, (call+1)*playersEach); i++ {
			in.PlayerIds = append(in.PlayerIds, fmt.Sprintf("player-%d", i))
		}
		var out struct {
			PlayerSessions []struct{ PlayerSessionId string }
		}
		err := g.api.Call(ctx, "CreatePlayerSessions", in, &out)
		for i, s := range out.PlayerSessions {
			ids[call*playersEach+i] = s.PlayerSessionId
		}
		return err
	}); err != nil {
		return round, err
	}
	return r.called(ctx, []*server.Process{g.proc}, func(ctx context.Context, k *calls) {
		r.pace(ctx, k, func(ctx context.Context, i int, due time.Time) {
			p := processes[games[i/playersEach%len(games)]]
			if p == nil {
				k.done(due, errors.New("no process hosts the game session"))
				return
			}
			k.done(due, p.AcceptPlayerSession(ctx, ids[i]))
		})
	})
}

func (g *gameServers) newGame(name string) any {
	return struct {
		FleetId, Location, Name   string
		MaximumPlayerSessionCount int
	}{g.fleet, serverPlaces, name, playersMax}
}

// serversCreate creates game sessions at a fixed rate, each on a process of its own.
func (r *run) serversCreate(ctx context.Context, g *gameServers, _ result.Figures) (round result.Round, err error) {
	n := r.p.calls()
	pushed := make(map[string]chan struct{}, n) // by name of the game session; not changed from here on
	name := func(i int) string { return fmt.Sprintf("game-%d", i) }
	for i := range n {
		pushed[name(i)] = make(chan struct{}, 1)
	}
	g.started = func(_ *sdkclient.Process, s sdkclient.GameSession) {
		select {
		case pushed[s.Name] <- struct{}{}:
		default: // of no call, or again
		}
	}
	if err := g.fill(ctx, n); err != nil {
		return round, err
	}
	return r.called(ctx, []*server.Process{g.proc}, func(ctx context.Context, k *calls) {
		r.pace(ctx, k, func(ctx context.Context, i int, due time.Time) {
			answered := make(chan error, 1)
			go func() { answered <- g.api.Call(ctx, "CreateGameSession", g.newGame(name(i)), new(struct{})) }()
			late := time.NewTimer(pushMax)
			defer late.Stop()
			select {
			case <-pushed[name(i)]:
				k.done(due, nil)
				<-answered
				return
			case err := <-answered:
				if err != nil {
					k.done(due, err)
					return
				}
			}
			select { // the answer came first
			case <-pushed[name(i)]:
				k.done(due, nil)
			case <-late.C:
				k.done(due, errors.New("no process was told"))
			}
		})
	})
}

// serversRestart kills the host, starts it again, and waits until all processes are back.
func (r *run) serversRestart(ctx context.Context, g *gameServers, f result.Figures) (round result.Round, err error) {
	round.Figures = f
	if err := g.fill(ctx, r.p.Servers); err != nil {
		return round, err
	}
	spec := g.proc.Spec
	killed := time.Now()
	g.proc.Kill()
	if err := g.proc.Stop(); err != nil {
		return round, err
	}
	again, err := r.start(ctx, spec)
	if err != nil {
		return round, err
	}
	g.proc = again
	f.Set("start_s", time.Since(killed).Seconds())
	last := killed
	for i := 0; i < len(g.all); {
		s := g.all[i].Stats()
		switch {
		case s.Connected && s.ConnectedAt.After(killed):
			if s.ConnectedAt.After(last) {
				last = s.ConnectedAt
			}
			i++
		case time.Since(killed) > backSDK:
			return round, fmt.Errorf("process %d is not back after %v: %+v", i, backSDK, s)
		default:
			if err := rest(ctx, 20*time.Millisecond); err != nil {
				return round, err
			}
		}
	}
	f.Set("back_s", last.Sub(killed).Seconds())
	failed := atomic.Int64{}
	if err := atOnce(ctx, len(g.all), func(ctx context.Context, i int) error {
		if _, err := g.all[i].GetComputeCertificate(ctx); err != nil {
			failed.Add(1)
			r.warn("a process is back, and its first request failed: %v", err)
		}
		return nil
	}); err != nil {
		return round, err
	}
	f.Set("failed", float64(failed.Load()))
	u, err := g.proc.Usage()
	f.Set("resident_mib", float64(u.RSSBytes)/(1<<20))
	return round, err
}
