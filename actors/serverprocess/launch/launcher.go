package launch

import (
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"troupe/actors/child"
	"troupe/actors/script"
	"troupe/actors/serverprocess"
	"troupe/messages"
	"troupe/messages/counters"
)

// Options configure a Launcher. They must not change.
type Options struct {
	Log      zerolog.Logger
	Counters *counters.Set
	// Show says that output of processes without a game session is logged at info level, instead of debug.
	Show bool
	// Compute is the name of this host as a compute of its fleets, in their home location.
	Compute string
	// Authorize makes this host a compute of a fleet, unless it is one, and returns a token for its processes and the URL of
	// the endpoint. It may be slow. Any goroutine may call it.
	Authorize func(ctx context.Context, f messages.FleetID, location, compute string) (Access, error)
	// Tell sends a message of this package to the owner of the processes. It must not block. Any goroutine may call it.
	Tell func(msg any)
}

// Access is what a process needs to connect.
type Access struct{ URL, Token string }

// Messages to the owner of the processes.
type (
	// Starts says that a process is started. Exited follows.
	Starts struct{ Process messages.ProcessID }
	// Exited says that a process has ended. What the endpoint knows of it ends, without a fleet event of its own.
	Exited struct{ Process messages.ProcessID }
	// Ask asks for TerminateProcess to a process.
	Ask struct{ Process messages.ProcessID }
	// Event is a fleet event.
	Event struct {
		Fleet      messages.FleetID
		Code, Text string
	}
	// Runs says that a process of a fleet is ready. Fails says that one has failed, and that none was ever ready.
	Runs  struct{ Fleet messages.FleetID }
	Fails struct{ Fleet messages.FleetID }
)

// Launcher starts the processes of fleets. Its methods never block, except Close; any goroutine may call them.
type Launcher struct {
	o      Options
	pace   pace
	own    keeper // of processes that run as the host's user
	others keeper // of the others, which are marked in another way
	groups groups
	ctx    context.Context // of all starts; ends with Close
	cancel context.CancelFunc
	wake   chan struct{} // capacity 1
	done   chan struct{}
	swept  chan struct{} // closed when nothing is left of hosts that were killed

	mu    sync.Mutex
	inbox []func() // guarded by mu; what the loop does next. Bounded by the number of fleets and processes, because each causes few

	// The following belong to the loop.
	pools    map[place]*placed
	children map[string]*server // by process id
	old      []*placed          // pools of earlier configurations, until their last process has ended
	ports    map[messages.FleetID]*ports
	closing  bool
	live     sync.WaitGroup // the servers' goroutines
	once     sync.Once
}

// place is where a pool is.
type place struct {
	fleet    messages.FleetID
	location string
}

// placed is a pool with what its processes run.
type placed struct {
	*pool
	place
	compute string
	of      *messages.GameServer
	warned  bool // it was said that a limit is not kept
}

// pace is how long a Launcher waits for some things. Tests have less time.
type pace struct {
	close time.Duration // how long processes may take to end at the end of the host
	retry time.Duration // first pause after a failure
}

// New returns a Launcher without fleets.
func New(o Options) *Launcher { return newLauncher(o, pace{closeLimit, retryMin}) }

func newLauncher(o Options, t pace) *Launcher {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Launcher{
		o: o, pace: t, others: keeper{user: child.User{UID: 1}}, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1), done: make(chan struct{}), swept: make(chan struct{}),
		pools: make(map[place]*placed), children: make(map[string]*server), ports: make(map[messages.FleetID]*ports),
	}
	l.own.log, l.others.log = &l.o.Log, &l.o.Log
	go l.loop()
	go l.sweep()
	return l
}

// foldersPrefix begins the names of folders of Keepers, in the system's folder for temporary files.
const foldersPrefix = "troupe-servers-"

// sweep ends what hosts that were killed have left. Nothing is started before.
func (l *Launcher) sweep() {
	defer close(l.swept)
	var all sync.WaitGroup
	for _, left := range child.LeftFolders(os.TempDir(), foldersPrefix) {
		all.Go(func() {
			n, all := child.EndMarked(l.ctx, left.Tag, l.pace.close)
			if n > 0 {
				l.o.Log.Warn().Int("processes", n).Bool("all", all).Msg("processes of an earlier host, which was killed, were still there and are ended")
			}
			if all { // otherwise the next host looks for the rest
				left.Remove()
			}
		})
	}
	all.Wait()
	l.groups.sweep()
}

// do has f called by the loop.
func (l *Launcher) do(f func()) {
	l.mu.Lock()
	l.inbox = append(l.inbox, f)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *Launcher) loop() {
	defer close(l.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.wake:
		case <-timer.C:
		}
		l.mu.Lock()
		work := l.inbox
		l.inbox = nil
		l.mu.Unlock()
		for _, f := range work {
			f()
		}
		now := time.Now()
		l.each(func(p *placed) { l.carry(p, p.tick(now)) })
		l.forget()
		if l.closing && len(l.children) == 0 {
			return
		}
		var due time.Time
		l.each(func(p *placed) {
			if at := p.due(); !at.IsZero() && (due.IsZero() || at.Before(due)) {
				due = at
			}
		})
		timer.Stop()
		if !due.IsZero() {
			timer.Reset(max(0, time.Until(due)))
		}
	}
}

// each calls f with all pools, in order.
func (l *Launcher) each(f func(*placed)) {
	for _, p := range l.old {
		f(p)
	}
	for _, at := range slices.SortedFunc(maps.Keys(l.pools), place.compare) {
		f(l.pools[at])
	}
}

// forget drops pools that have ended, and the ports of fleets without pools.
func (l *Launcher) forget() {
	l.old = slices.DeleteFunc(l.old, func(p *placed) bool { return len(p.all) == 0 })
	maps.DeleteFunc(l.pools, func(_ place, p *placed) bool { return p.idle() })
	maps.DeleteFunc(l.ports, func(f messages.FleetID, _ *ports) bool {
		used := false
		l.each(func(p *placed) { used = used || p.fleet == f })
		return !used
	})
}

// Configure sets how many processes of a fleet this host runs in each of its locations. Locations that are left out have
// none. It starts nothing after Close.
func (l *Launcher) Configure(fleet messages.FleetID, of *messages.GameServer, home string, processes map[string]int) {
	processes = maps.Clone(processes)
	l.do(func() {
		if l.closing {
			return
		}
		now := time.Now()
		for at, p := range l.pools {
			switch {
			case at.fleet != fleet:
			case !same(p.of, of):
				l.carry(p, p.set(0, now))
				delete(l.pools, at)
				l.old = append(l.old, p)
			case processes[at.location] == 0:
				l.carry(p, p.set(0, now))
			}
		}
		own := l.ports[fleet]
		if own == nil {
			own = new(ports)
			l.ports[fleet] = own
		}
		own.set(of.PortFrom, of.Ports())
		for _, location := range slices.Sorted(maps.Keys(processes)) {
			at := place{fleet, location}
			if processes[location] == 0 {
				continue
			}
			p := l.pools[at]
			if p == nil {
				compute := l.o.Compute
				if location != home {
					compute += "-" + location
				}
				p = &placed{newPool(uuid.NewString, own), at, compute, of, false}
				p.pause = l.pace.retry
				l.pools[at] = p
			}
			l.carry(p, p.set(processes[location], now))
		}
	})
}

// Report says what state the endpoint knows a process in. dropped says that a Terminated process was ended there by
// force, so it does not end by itself. Reports about processes of others are ignored.
func (l *Launcher) Report(k messages.ProcessID, s serverprocess.State, dropped bool) {
	l.do(func() {
		if c := l.of(k); c != nil {
			l.carry(c.in, c.in.report(c.id, s, dropped, time.Now()))
		}
	})
}

// Hosts says which game session a process has: its output goes to sink from now on, which is closed at its end. The sink
// is closed at once if this Launcher does not run the process.
func (l *Launcher) Hosts(k messages.ProcessID, sink script.Sink) {
	l.do(func() {
		if c := l.of(k); c != nil {
			c.hosts(sink)
		} else {
			sink.Close()
		}
	})
}

// Hide hides a token in what a process prints from now on.
func (l *Launcher) Hide(k messages.ProcessID, token string) {
	l.do(func() {
		if c := l.of(k); c != nil {
			c.hide(token)
		}
	})
}

func (l *Launcher) of(k messages.ProcessID) *server {
	if c := l.children[k.Name]; c != nil && c.in.fleet == k.FleetID && c.in.compute == k.Compute {
		return c
	}
	return nil
}

// Close ends all processes: by SIGTERM, and after a few seconds by SIGKILL. It returns when they are gone. What is told
// of their ends may be lost then.
func (l *Launcher) Close() { l.once.Do(l.close) }

func (l *Launcher) close() {
	l.cancel()
	l.do(func() {
		l.closing = true
		l.each(func(p *placed) { p.want = 0 })
		for _, c := range l.children {
			if o := c.in.all[c.id]; o == nil || o.stage != leaving { // one that has said that it ends does so
				c.stop()
			}
			time.AfterFunc(l.pace.close, c.kill)
		}
	})
	<-l.done
	<-l.swept
	l.live.Wait()
	l.own.stop()
	l.others.stop()
	l.groups.close()
}

const closeLimit = 3 * time.Second

// carry carries out what a pool has decided.
func (l *Launcher) carry(p *placed, all []action) {
	for _, a := range all {
		c := l.children[a.process]
		switch a.do {
		case start:
			l.start(p, a)
		case ask:
			l.o.Tell(Ask{c.key()})
		case stop:
			c.stop()
		case kill:
			c.kill()
		case event:
			l.o.Tell(Event{p.fleet, a.code, a.text})
			l.o.Log.Warn().Str("fleet_id", string(p.fleet)).Str("location", p.location).Str("process_id", a.process).Str("code", a.code).Msg(a.text)
		case runs:
			l.o.Tell(Runs{p.fleet})
		case fails:
			l.o.Tell(Fails{p.fleet})
		}
	}
}

func (l *Launcher) start(p *placed, a action) {
	c := newServer(l, p, a.process, a.port)
	l.children[c.id] = c
	l.o.Tell(Starts{c.key()})
	l.live.Go(func() {
		e := c.run()
		l.do(func() { l.exited(c, e) })
	})
}

func (l *Launcher) exited(c *server, e exit) {
	delete(l.children, c.id)
	c.hosts(nil) // it may have got a game session after its end
	l.o.Tell(Exited{c.key()})
	if l.closing {
		delete(c.in.all, c.id) // its port is not needed any more
		return
	}
	l.carry(c.in, c.in.exited(c.id, e, time.Now()))
}

func (p place) compare(q place) int {
	return slices.Compare([]string{string(p.fleet), p.location}, []string{string(q.fleet), q.location})
}

// same reports whether processes of two configurations do not differ.
func same(a, b *messages.GameServer) bool {
	return a.Path == b.Path && slices.Equal(a.Args, b.Args) && slices.Equal(a.Env, b.Env) && a.Dir == b.Dir &&
		a.PortFrom == b.PortFrom && a.PortTo == b.PortTo && a.User == b.User && a.MemoryMax == b.MemoryMax && a.CPUs == b.CPUs
}

// keeper is a child.Keeper that is made when it is first used: it has a thread.
type keeper struct {
	user   child.User
	log    *zerolog.Logger
	mu     sync.Mutex
	tag    child.Tag     // of made; guarded by mu
	made   *child.Keeper // guarded by mu
	folder *child.Folder // nil if none could be made; guarded by mu

	unmarked sync.Once // for the warning that children have no marks
}

func (k *keeper) start(s child.Start) (*child.Process, error) {
	k.mu.Lock()
	if k.made == nil {
		k.tag = child.NewTag(k.user)
		var err error
		if k.folder, err = child.NewFolder(os.TempDir(), foldersPrefix, k.tag); err != nil {
			k.log.Warn().Err(err).Msg("if this host is killed, the next one will not find what its game servers have started")
		}
		k.made = child.NewKeeper(k.tag)
		go k.made.Run()
	}
	made := k.made
	k.mu.Unlock()
	p, err := made.Start(s)
	if err == nil && !p.Marked() {
		k.unmarked.Do(func() {
			k.log.Warn().Msg("game servers cannot be marked in this container, so what they start in other process groups may outlive them: start it with CAP_SYS_RESOURCE, or map all group ids into it")
		})
	}
	return p, err
}

// stop must be called when all processes have ended.
func (k *keeper) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil {
		return
	}
	k.made.Stop()
	if all := child.KillMarked(k.tag, 0); all && k.folder != nil { // otherwise the next host finds what is left
		k.folder.Remove()
	}
}
