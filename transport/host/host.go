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
	"troupe/actors/child"
	"troupe/actors/cluster"
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
	"troupe/transport/serversdk/endpoint"
	"troupe/transport/uploads"
)

// Options configure a Host besides its Config.
type Options struct {
	Config Config
	Log    zerolog.Logger
	// NewHandler creates the logic of one game session. Nil means a relay.
	NewHandler func(f *messages.Fleet) script.Handler
	// Version is shown in metrics.
	Version string
	// Dev serves POST /dev/join to pages and programs on this machine. It hands out player sessions without
	// the service API.
	Dev bool
	// Page is a folder of files that the host serves at /game/ if Dev is set, to pages and programs on this
	// machine. Empty means none. Hidden files are not served.
	Page string
	// Origin returns where the value of a configuration key comes from, for the console. Nil means that the
	// origins are unknown.
	Origin func(key string) string
	// OnFailure is called when the host cannot continue. The process should then end with an error. Nil means
	// that nothing is called.
	OnFailure func(reason string)
	// Network opens all sockets except those of Node.js, and connects to webhooks. Nil means the network of
	// the operating system.
	Network transport.Network
	// Coordinator is the coordinator of a cluster. Nil means the etcd of cluster.etcd.
	Coordinator cluster.Coordinator
	// SetLogLevel changes the level of Log. Reload calls it. Nil means that the level cannot be changed.
	SetLogLevel func(zerolog.Level)
}

// Host is a running host. Its methods are safe for concurrent use.
type Host struct {
	log            zerolog.Logger
	count          *counters.Set
	system         *actors.System
	node           *clusterNode // nil: the host is alone
	listeners      listeners
	api            net.Listener
	http           *http.Server
	sdk            *endpoint.Endpoint // of the Server SDK
	sdkAddr        net.Listener       // nil if it has no address of its own, like sdkHTTP
	sdkHTTP        *http.Server
	ops            *ops.Pages
	console        *console.Console
	logs           *sessionlog.Store
	store          store.Store
	crash          string // why the previous process crashed; empty if it did not
	endCrashOutput func(unheard bool)
	events         *events.Dispatcher
	bans           *bans.List
	banning        chan struct{}                   // a mutex for changes of bans
	gateway        atomic.Pointer[gateway.Gateway] // nil until the listeners are open
	sinks          []events.SinkOptions            // sinks in force; Start and Reload set it
	own            bool                            // whether a destination wants the events of game sessions and player sessions
	buildsDir      *child.Folder                   // the temporary folder of builds; nil if there is none
	bucket         *uploads.Uploads                // nil if the host takes none
	showLogs       bool                            // whether to copy the logs of game sessions to the host's log
	queued         *player.Pool                    // limits the bytes in all players' queues together
	fleets         []Fleet
	bundles        bundle.Limits
	programs       *programs
	addrs          Announcement
	gameURLs       []string // URLs that browsers connect to: ws://, and wss:// if there is a secured listener
	grace          time.Duration
	drains         drains
	reloads        reloads
	setLogLevel    func(zerolog.Level)
	origin         func(key string) string // nil if the origins are unknown
	serving        sync.WaitGroup
	stopOnce       sync.Once
	endRelief      func() // stops the watch on the memory of the process (js.Relieve); nil if there is none
	onFailure      func(reason string)
	watching       context.CancelFunc // stops the watch of certificates and collectGarbage
	started        chan struct{}      // closed once everything is started
	stopped        chan struct{}
	drained        chan struct{} // closed when a drain by StartDrain or Fail has ended the host
}

func (o *Options) listen(address string) (net.Listener, error) {
	if o.Network == nil {
		return net.Listen("tcp", address)
	}
	return o.Network.Listen("tcp", address)
}

// Start checks the configuration, binds all listeners and begins to serve. On an error it releases all
// resources.
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
	partial := h // the deferred cleanup needs it: a failed start sets the result h to nil
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
	if c.Store.Path != "" && o.Network == nil { // with a Network of its own, several hosts may share the process
		h.crash, h.endCrashOutput = c.Store.lastCrash(o.Log), c.Store.endCrashOutput
	}
	if err = h.loadBans(o.Log); err != nil {
		return nil, fmt.Errorf("host: bans: %w", err)
	}
	h.fleets, h.bundles, h.programs = c.Fleets, c.Script.bundleLimits(), newPrograms(&c.Script)
	for _, start := range []func(Options) error{h.join, h.startEvents, h.startActors, h.follow, h.loadScripts, h.startAPI} {
		if err = start(o); err != nil {
			return nil, err
		}
	}
	growth := newGCGrowth(h.count.Connections.Total)
	entry := gateway.Options{
		System: h.system, Fast: h.listeners.fast, Secured: h.listeners.secured, Counters: h.count, Log: o.Log, Limits: c.gatewayLimits(),
	}
	if h.node != nil {
		entry.Elsewhere = h.node.elsewhere
	}
	edge := gateway.New(entry)
	h.gateway.Store(edge)
	gw := watched{edge, growth}
	if err = h.listeners.open(&o, gw, h.count); err != nil {
		return nil, err
	}
	if o.Network == nil { // with a Network of its own, several hosts may share the process
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
	url, sdk := h.addrs.APIURL, h.addrs.ServerSDK
	h.addrs = h.listeners.announcement(c)
	h.addrs.API, h.addrs.APIURL, h.addrs.ServerSDK = h.api.Addr().String(), url, sdk
	if h.node != nil {
		if err = h.node.takePlayers(c, &h.listeners); err != nil {
			return nil, err
		}
	}
	h.ops.SetReady(true)
	close(h.started)
	return h, nil
}

// served handles the end of a listener. If a listener fails, the whole host fails.
func (h *Host) served(what string, err error, fail func(string)) {
	if err == nil || errors.Is(err, http.ErrServerClosed) {
		return
	}
	h.log.Error().Err(err).Str("listener", what).Msg("listener failed")
	select {
	case <-h.started:
		h.ops.SetReady(false)
	default: // there may be no ops yet, and the host is not ready anyway
	}
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
	actorsTimeout = 10 * time.Second // maximum time for actors to stop: a game's callback may never return
	stopTimeout   = 30 * time.Second // maximum time for the whole host; longer than the limits of all its parts together
)

// stop closes everything that was started. It is idempotent. It returns after stopTimeout at the latest, even
// if a part hangs, so that the process can end.
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

// closeActors waits until all actors have stopped, but at most for actorsTimeout.
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
	var sdk sync.WaitGroup
	sdk.Go(h.closeServerSDK)
	_ = h.listeners.stopAccepting(ctx)
	h.listeners.closeAll(ctx, reason)
	sdk.Wait()
	if h.node != nil {
		h.node.leave()
	}
	if h.system != nil {
		h.closeActors()
	}
	if h.node != nil {
		h.node.close()
	}
	if h.buildsDir != nil {
		h.buildsDir.Remove()
	}
	h.stopEvents()
	if h.store != nil { // after the actors, so that their last commits complete
		h.endCrashOutput(h.crash != "" && h.system == nil)
		if err := h.store.Close(); err != nil {
			h.log.Error().Err(err).Msg("the store did not close well")
		}
	}
	if h.logs != nil { // before the pages, whose shutdown waits for readers of the logs
		h.logs.Close()
	}
	if h.console != nil { // before the pages, whose shutdown waits for event streams
		h.console.Close()
	}
	if h.http != nil && h.http.Shutdown(ctx) != nil {
		h.http.Close()
	}
	if h.bucket != nil { // after the connections, from which it may read
		h.bucket.Close()
	}
	if h.api != nil { // Shutdown closes the listener only if Serve was called
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
