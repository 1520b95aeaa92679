package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/bans"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/js"
	"troupe/actors/script/watchdog"
	"troupe/actors/sessionlog"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/console"
	"troupe/transport/events"
	"troupe/transport/gateway"
	"troupe/transport/ops"
)

// Options configure a Host besides its Config.
type Options struct {
	Config Config
	Log    zerolog.Logger
	// NewHandler makes the logic of one game session; nil means a relay.
	NewHandler func(f *messages.Fleet) script.Handler
	// Version is shown in metrics.
	Version string
	// Dev serves POST /dev/join to pages and programs of this machine: it hands out seats without the service API.
	Dev bool
	// Page is a folder whose files Dev serves at /game/, to pages and programs of this machine; empty: none. Hidden files are not served.
	Page string
	// Origin returns where the value of a configuration key comes from, for the console; nil: it is not known.
	Origin func(key string) string
	// OnFailure is called when the host cannot continue; the process should end with an error. Nil does nothing.
	OnFailure func(reason string)
	// Network opens all sockets but those of Node.js, and makes connections to webhooks; nil: the operating system's.
	Network transport.Network
	// SetLogLevel changes the level of Log; nil: it cannot be changed. Reload calls it.
	SetLogLevel func(zerolog.Level)
}

// Host is one running host. Its methods may be called from any goroutine.
type Host struct {
	log            zerolog.Logger
	count          *counters.Set
	system         *actors.System
	listeners      listeners
	api            net.Listener
	http           *http.Server
	ops            *ops.Pages
	console        *console.Console
	logs           *sessionlog.Store
	store          store.Store
	crash          string // why the process before this one has crashed, if it has
	endCrashOutput func(unheard bool)
	events         *events.Dispatcher
	bans           *bans.List
	banning        chan struct{}                   // held by who changes bans
	gateway        atomic.Pointer[gateway.Gateway] // nil until the listeners are open
	sinks          []events.SinkOptions            // in force; Start and Reload set it
	own            bool                            // an event destination wants events of game sessions and player sessions
	showLogs       bool                            // copy the logs of game sessions to the host's log
	queued         *player.Pool                    // of the bytes in the queues of players
	fleets         []Fleet
	bundles        bundle.Limits
	programs       *programs
	addrs          Announcement
	gameURLs       []string // what browsers connect to: ws://, and wss:// if there is such a listener
	grace          time.Duration
	drains         drains
	reloads        reloads
	setLogLevel    func(zerolog.Level)
	origin         func(key string) string // nil: not known
	serving        sync.WaitGroup
	stopOnce       sync.Once
	endRelief      func() // nil: memory that nothing measures ends nobody
	onFailure      func(reason string)
	watching       context.CancelFunc // ends the watch of certificates and collectGarbage
	started        chan struct{}      // closed once everything is started
	stopped        chan struct{}
	drained        chan struct{} // closed when an operator's drain is over
}

func (o *Options) listen(address string) (net.Listener, error) {
	if o.Network == nil {
		return net.Listen("tcp", address)
	}
	return o.Network.Listen("tcp", address)
}

// Start checks the configuration, binds all listeners and serves. On an error it releases everything.
func Start(o Options) (h *Host, err error) {
	c := &o.Config
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("host: configuration: %w", err)
	}
	if err := checkPage(&o); err != nil {
		return nil, err
	}
	h = &Host{
		log: o.Log, count: new(counters.Set), grace: c.Drain.Grace, showLogs: c.Log.GameSessions.Show, setLogLevel: o.SetLogLevel, origin: o.Origin, onFailure: o.OnFailure, endCrashOutput: func(bool) {},
		started: make(chan struct{}), stopped: make(chan struct{}), drained: make(chan struct{}),
	}
	h.reloads.config = *c
	watching, stopWatching := context.WithCancel(context.Background())
	h.watching = stopWatching
	partial := h // h is nil by the time a failed start gets here
	defer func() {
		if err != nil {
			partial.stop(messages.CloseGoingAway)
		}
	}()
	if err = h.listeners.bind(&o, h.count); err != nil {
		return nil, err
	}
	if h.api, err = o.listen(c.API.Addr); err != nil {
		return nil, fmt.Errorf("host: api.addr: %w", err)
	}
	if h.logs, err = c.Log.GameSessions.open(h.count, o.Log); err != nil {
		return nil, err
	}
	if h.store, err = c.Store.open(h.count, o.Log); err != nil {
		return nil, err
	}
	if c.Store.Path != "" && o.Network == nil { // else the process is not the host's alone
		h.crash, h.endCrashOutput = c.Store.lastCrash(o.Log), c.Store.endCrashOutput
	}
	if err = h.loadBans(o.Log); err != nil {
		return nil, fmt.Errorf("host: bans: %w", err)
	}
	h.fleets, h.bundles, h.programs = c.Fleets, c.Script.bundleLimits(), newPrograms(&c.Script)
	for _, start := range []func(Options) error{h.startEvents, h.startActors, h.loadScripts, h.startAPI} {
		if err = start(o); err != nil {
			return nil, err
		}
	}
	growth := newGCGrowth(h.count.Connections.Total)
	edge := gateway.New(gateway.Options{
		System: h.system, Fast: h.listeners.fast, Secured: h.listeners.secured, Counters: h.count, Log: o.Log, Limits: c.gatewayLimits(),
	})
	h.gateway.Store(edge)
	gw := watched{edge, growth}
	if err = h.listeners.open(&o, gw, h.count); err != nil {
		return nil, err
	}
	if o.Network == nil { // else the process is not the host's alone
		h.serving.Go(func() { collectGarbage(watching.Done(), growth) })
		h.endRelief = js.Relieve(watchdog.Process{Memory: MemoryMax(), Own: h.ownMemory(), Outgrown: h.outgrown})
	}
	for _, ws := range h.listeners.webSockets() {
		h.serving.Go(func() { h.served("websocket", ws.Serve(gw), o.OnFailure) })
	}
	h.serving.Go(func() { h.served("api", h.http.Serve(h.api), o.OnFailure) })
	if h.listeners.certs != nil {
		h.serving.Go(func() { h.listeners.certs.Watch(watching, c.TLS.ReloadEvery) })
	}
	url := h.addrs.APIURL
	h.addrs = h.listeners.announcement(c)
	h.addrs.API, h.addrs.APIURL = h.api.Addr().String(), url
	h.ops.SetReady(true)
	close(h.started)
	return h, nil
}

// served handles the end of a listener: a host without one of its listeners fails.
func (h *Host) served(what string, err error, fail func(string)) {
	if err == nil || errors.Is(err, http.ErrServerClosed) {
		return
	}
	h.log.Error().Err(err).Str("listener", what).Msg("listener failed")
	h.ops.SetReady(false)
	if fail != nil {
		fail(what + " listener failed: " + err.Error())
	}
}

// Addrs returns the addresses of the listeners.
func (h *Host) Addrs() Announcement { return h.addrs }

// Counters returns the host's metrics.
func (h *Host) Counters() *counters.Set { return h.count }

// System returns the tree of actors.
func (h *Host) System() *actors.System { return h.system }

const (
	actorsTimeout = 10 * time.Second // for actors to stop: a game's logic may hang in a call that nothing ends
	stopTimeout   = 30 * time.Second // for the host as a whole: longer than all of its parts may take together
)

// stop closes everything that was started. It is idempotent. Whatever hangs, it returns after stopTimeout, so that the process ends.
func (h *Host) stop(reason messages.CloseReason) {
	h.stopOnce.Do(func() {
		go func() {
			defer close(h.stopped)
			h.closeParts(reason)
		}()
	})
	select {
	case <-h.stopped:
	case <-time.After(stopTimeout):
		h.log.Error().Msg("the host does not stop: its process ends regardless")
	}
}

// closeActors returns once all actors have stopped, or does not wait for them any more.
func (h *Host) closeActors() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		h.system.Close()
	}()
	select {
	case <-closed:
	case <-time.After(actorsTimeout):
		h.log.Error().Int64("game_sessions", h.count.GameSessions.Total()).
			Msg("game sessions do not stop, because calls into their scripts do not end: the host goes on without them")
	}
}

func (h *Host) closeParts(reason messages.CloseReason) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = h.listeners.stopAccepting(ctx)
	h.listeners.closeAll(ctx, reason)
	if h.system != nil {
		h.closeActors()
	}
	h.stopEvents()
	if h.store != nil { // closed after the actors, so that their commits are answered
		h.endCrashOutput(h.crash != "" && h.system == nil)
		if err := h.store.Close(); err != nil {
			h.log.Error().Err(err).Msg("the store did not close well")
		}
	}
	if h.logs != nil { // closed before the pages, which would wait for its readers
		h.logs.Close()
	}
	if h.console != nil { // its streams of events would keep the pages waiting
		h.console.Close()
	}
	if h.http != nil && h.http.Shutdown(ctx) != nil {
		h.http.Close()
	}
	if h.api != nil { // Shutdown closes it only if it was served
		h.api.Close()
	}
	h.listeners.closeSockets()
	h.watching()
	if h.endRelief != nil {
		h.endRelief()
	}
	h.serving.Wait()
	h.log.Info().Msg("stopped")
}
