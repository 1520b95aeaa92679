package js_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/transport/client"
	"troupe/transport/host"
)

// patience is the limit of one step of a test. A step that takes longer counts as failed.
const patience = time.Minute

// control starts hosts and answers the requests of the list in conformance.js over HTTP. Each path has one method.
type control struct {
	*testing.T
	mux    *http.ServeMux
	server *httptest.Server
	proxy  *proxy
	silent net.Listener
	ctx    context.Context
	dir    string
	cuts   time.Duration // mean time between two cuts of a stream

	coordinator *clustertest.Store // of the hosts that are a cluster

	mu    sync.Mutex
	hosts map[string]*host.Host
	games map[string]messages.GameSessionID
	seats int
	ends  chan partnerEnd // result of the partner of a stream
	stop  context.CancelFunc
}

// ahead is how many messages the partner of a stream may be ahead of its peer. It is less than the host keeps for a player.
const ahead = 1000

// question is a request of conformance.js.
type question struct {
	Host, Game      string
	PlayerSessionID string `json:"playerSessionId"`
	Peer            int32
	Count           int
	Frozen          bool
}

func newControl(t *testing.T) *control {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &control{T: t, ctx: ctx, dir: t.TempDir(), cuts: 60 * time.Millisecond, hosts: map[string]*host.Host{}, games: map[string]messages.GameSessionID{}, stop: func() {}}
	t.Cleanup(cancel)
	c.coordinator = clustertest.NewStore()
	t.Cleanup(c.coordinator.Close)
	var err error
	if c.silent, err = net.Listen("tcp", "127.0.0.1:0"); err != nil { // nothing accepts its connections
		t.Fatal(err)
	}
	t.Cleanup(func() { c.silent.Close() })
	h, err := c.host("")
	if err != nil {
		t.Fatal(err)
	}
	c.proxy = newProxy(t, h.Addrs().WS)
	c.mux = http.NewServeMux()
	for path, answer := range map[string]func(question) (any, error){
		"seat": c.seat, "elsewhere": c.elsewhere, "status": c.status, "proxied": c.proxied, "silent": c.silentURL, "freeze": c.freeze, "drain": c.drain,
		"partner": c.partner, "partnerEnds": c.partnerEnds,
	} {
		c.answers(path, answer)
	}
	c.server = httptest.NewServer(c.mux)
	t.Cleanup(c.server.Close)
	return c
}

// answers adds a handler for a request.
func (c *control) answers(path string, answer func(question) (any, error)) {
	c.mux.HandleFunc("POST /"+path, func(w http.ResponseWriter, r *http.Request) {
		var q question
		err := json.NewDecoder(r.Body).Decode(&q)
		var a any
		if err == nil {
			a, err = answer(q)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(a)
	})
}

// host returns the host with the given name, and starts it if necessary.
func (c *control) host(name string) (*host.Host, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.hosts[name]; h != nil {
		return h, nil
	}
	o := host.Options{Log: zerolog.Nop()}
	cfg := host.Defaults()
	cfg.API.Addr, cfg.WebSocket.Addr, cfg.Fast.Addr, cfg.WSS.Addr, cfg.DTLS.Addr, cfg.KCP.Addr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", ""
	cfg.TLS.Dir = filepath.Join(c.dir, "tls")
	cfg.Log.GameSessions.Dir = os.DevNull // no test reads the logs
	l := &cfg.Limits
	l.PlayerMessagesPerSecond, l.PlayerBytesPerSecond, l.DeliveriesPerGameSessionPerSecond, l.GameSessionBytesPerSecond = 0, 0, 0, 0
	l.LoginsPerPlayerSessionPerMinute, l.ResumesPerPlayerSessionPerMinute = 0, 0
	l.ConnectionsPerIPPerSecond, l.UnauthenticatedPerIP = 0, 0
	switch name {
	case "strict":
		cfg.Reconnect.Window = 0
	case "short":
		cfg.Reconnect.Window = time.Second
	case "busy":
		l.LoginsPerSecond, l.LoginsWaiting = 2, 1
	case "node-a", "node-b":
		cfg.Cluster.Name, cfg.Cluster.Node = "test", name
		cfg.Cluster.Etcd.Endpoints, cfg.Cluster.Peers.Addr = []string{"http://127.0.0.1:1"}, "127.0.0.1:0"
		o.Coordinator = c.coordinator.Client()
	case "small":
		cfg.Session.PlayerQueueBytes = 64 << 10
	}
	o.Config = cfg
	h, err := host.Start(o)
	if err != nil {
		return nil, err
	}
	c.hosts[name] = h
	c.Cleanup(h.Close)
	return h, nil
}

// seat reserves a seat, in a new game session or in the one with the given name.
func (c *control) seat(q question) (any, error) {
	h, err := c.host(q.Host)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.games[q.Game]
	if q.Game == "" || id == "" {
		game, err := messages.Do(c.ctx, h.System(), messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 8})
		if err != nil {
			return nil, err
		}
		for id = game.ID; game.Status == messages.GameSessionActivating; {
			var err error
			if game, err = messages.Do(c.ctx, h.System(), messages.GameSessionQuery{ID: id}); err != nil {
				return nil, err
			}
		}
		if q.Game != "" {
			c.games[q.Game] = id
		}
	}
	c.seats++
	seats, err := messages.Do(c.ctx, h.System(), messages.CreatePlayerSessions{
		GameSessionID: id, Players: []messages.NewPlayer{{PlayerID: messages.PlayerID(fmt.Sprint("player-", c.seats))}},
	})
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(h.Addrs().WSS)
	return map[string]string{"url": "ws://" + h.Addrs().WS, "wss": "wss://localhost:" + port, "playerSessionId": string(seats[0].ID)}, err
}

// elsewhere reserves a seat in a cluster of two hosts. The URLs are those of the host that does not run the game session.
func (c *control) elsewhere(question) (any, error) {
	var nodes [2]*host.Host
	for i, name := range []string{"node-a", "node-b"} {
		var err error
		if nodes[i], err = c.host(name); err != nil {
			return nil, err
		}
	}
	cluster := nodes[0].System().Cluster()
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	game, err := messages.Do(ctx, cluster, messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 8})
	for err != nil && ctx.Err() == nil { // the cluster has no leader yet, and no fleets
		game, err = messages.Do(ctx, cluster, messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 8})
	}
	for err == nil && game.Status == messages.GameSessionActivating {
		game, err = messages.Do(ctx, cluster, messages.GameSessionQuery{ID: game.ID})
	}
	if err != nil {
		return nil, err
	}
	seats, err := messages.Do(c.ctx, cluster, messages.CreatePlayerSessions{GameSessionID: game.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
	if err != nil {
		return nil, err
	}
	other := nodes[0]
	if strings.HasSuffix(other.Addrs().WS, fmt.Sprint(":", game.Port)) {
		other = nodes[1]
	}
	_, port, err := net.SplitHostPort(other.Addrs().WSS)
	return map[string]string{"url": "ws://" + other.Addrs().WS, "wss": "wss://localhost:" + port, "playerSessionId": string(seats[0].ID)}, err
}

func (c *control) status(q question) (any, error) {
	h, err := c.host(q.Host)
	if err != nil {
		return nil, err
	}
	found, err := messages.Do(c.ctx, h.System(), messages.PlayerSessionQuery{PlayerSessionID: messages.PlayerSessionID(q.PlayerSessionID)})
	if err != nil {
		return nil, err
	}
	return map[string]string{"status": found[0].Status.String()}, nil
}

func (c *control) proxied(question) (any, error) {
	return map[string]string{"url": "ws://" + c.proxy.addr}, nil
}

func (c *control) silentURL(question) (any, error) {
	return map[string]string{"silent": "ws://" + c.silent.Addr().String()}, nil
}

func (c *control) freeze(q question) (any, error) {
	c.proxy.freeze(q.Frozen)
	return struct{}{}, nil
}

func (c *control) drain(question) (any, error) {
	h, err := c.host("drained")
	if err == nil {
		go h.Close()
	}
	return struct{}{}, err
}

// partnerEnd reports what the partner of a stream has received.
type partnerEnd struct {
	Received int `json:"received"`
	err      error
}

// partner adds a player with the Go SDK to a game session. It exchanges numbered messages with a peer,
// while the proxy cuts the peer's connections.
func (c *control) partner(q question) (any, error) {
	answer, err := c.seat(q)
	if err != nil {
		return nil, err
	}
	seat := answer.(map[string]string)
	p, err := client.Dial(c.ctx, client.Options{Addr: seat["url"][len("ws://"):], PlayerSessionID: seat["playerSessionId"]})
	if err != nil {
		return nil, err
	}
	c.Cleanup(p.Abort)
	ctx, cancel := context.WithTimeout(c.ctx, patience+time.Duration(q.Count)*10*time.Millisecond)
	c.ends, c.stop = make(chan partnerEnd, 1), cancel
	c.Cleanup(cancel)
	var received atomic.Int64
	var sending sync.WaitGroup
	sending.Go(func() {
		for n := range q.Count {
			for int64(n) > received.Load()+ahead && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			if n%5 == 0 {
				time.Sleep(time.Millisecond) // otherwise it would end before there are many cuts
			}
			if p.Send(ctx, client.Message{OpCode: 82, TargetPlayer: q.Peer, Payload: binary.LittleEndian.AppendUint32(nil, uint32(n))}) != nil {
				return
			}
		}
	})
	go func() {
		var end partnerEnd
		defer func() {
			sending.Wait()
			c.ends <- end
		}()
		for end.Received < q.Count {
			select {
			case e, open := <-p.Events():
				switch {
				case !open:
					end.err = errors.New(p.End().String())
					return
				case e.Kind == client.EventGap:
					end.err = fmt.Errorf("a gap of %d", e.Gap.Lost)
					return
				case e.Kind != client.EventMessage:
				case int(binary.LittleEndian.Uint32(e.Payload)) != end.Received:
					end.err = fmt.Errorf("message %d comes as number %d", binary.LittleEndian.Uint32(e.Payload), end.Received)
					return
				default:
					end.Received++
					received.Store(int64(end.Received))
				}
			case <-ctx.Done():
				end.err = fmt.Errorf("%d of %d messages", end.Received, q.Count)
				return
			}
		}
	}()
	go c.proxy.cutAgain(ctx, c.cuts)
	return map[string]int32{"peer": p.PeerID()}, nil
}

// partnerEnds waits until the partner has received and sent everything, and then stops the cuts.
func (c *control) partnerEnds(question) (any, error) {
	end := <-c.ends
	c.stop()
	return end, end.err
}
