package actors_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/connection"
	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession/gamesessiontest"
	"troupe/actors/script"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/counters"
)

// cluster is a number of Systems in a bubble that are nodes of one cluster. A map replaces the coordinator.
type cluster struct {
	*testing.T
	nodes  []*member
	shared store.Memory // records of the leader

	mu    sync.Mutex
	games map[messages.GameSessionID]*member // the directory
	gone  map[messages.GameSessionID]*messages.GameSession
	made  map[messages.GameSessionID][32]byte // fingerprints
	stale map[messages.GameSessionID]bool     // nodes remember an owner that is lost
	away  bool                                // the coordinator does not answer
	slow  string                              // the coordinator does not answer reads of the "owner", or of what has "ended"
}

// member is one node. It implements the node's Members and its fleet.Directory.
type member struct {
	c       *cluster
	name    string
	system  *actors.System
	own     store.Memory
	leads   bool
	silent  bool
	refuses error    // of all calls
	room    []string // names of the nodes with room, in order; nil means all, this node first
	calls   int
	replica int // number of changes that have not been applied yet
}

const relays messages.FleetID = "fleet-relays"

func runCluster(t *testing.T, test func(c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{T: t, games: make(map[messages.GameSessionID]*member), gone: make(map[messages.GameSessionID]*messages.GameSession), made: make(map[messages.GameSessionID][32]byte)}
		for _, name := range []string{"a", "b", "c"} {
			c.start(name)
		}
		defer func() {
			for _, m := range c.nodes {
				m.system.Close()
			}
			time.Sleep(5 * time.Second)
		}()
		c.nodes[0].lead()
		time.Sleep(time.Second)
		test(c)
	})
}

func (c *cluster) start(name string) {
	c.Helper()
	m := &member{c: c, name: name}
	system, err := actors.Start(actors.Options{
		Log: zerolog.Nop(), Counters: new(counters.Set), Shards: 2, Timeouts: connection.DefaultTimeouts(),
		OnFailure: func(reason string) { c.Errorf("node %s failed: %s", name, reason) },
		Fleet: fleet.Options{
			Region: "eu-test-1", Locations: []messages.Location{{Name: actorstest.Home}, {Name: actorstest.Away}}, Session: gamesessiontest.Settings(),
			Advertised: fleet.Advertised{IPAddress: "192.0.2." + fmt.Sprint(len(c.nodes)+1), Port: 1900}, Directory: m, GroupsMax: 100, Store: &m.own,
			Fleets: []*messages.Fleet{{
				ID: relays, Name: "relays", Status: messages.FleetActive, Created: time.Now(), Locations: []string{actorstest.Home, actorstest.Away}, GameSessionsMax: 3,
			}},
			NewHandler: func(*messages.Fleet) script.Handler { return script.Relay{} },
		},
		Cluster: &actors.ClusterOptions{Node: name, Generation: 1, Members: m, Peers: m},
	})
	if err != nil {
		c.Fatal(err)
	}
	m.system = system
	c.nodes = append(c.nodes, m)
}

// lead makes the node the leader.
func (m *member) lead() {
	var before *member
	m.c.locked(func() { // at once: who asks for the leader always finds one
		for _, o := range m.c.nodes {
			if o.leads {
				before, o.leads = o, false
			}
		}
		m.leads = true
	})
	if before != nil {
		before.system.EndTerm()
	}
	m.system.BeginTerm(spreadStore{&m.c.shared, m.c})
	for i, o := range m.c.nodes {
		share := catalog.Share{Rank: i, Of: len(m.c.nodes)}
		o.system.MembersChanged(catalog.Shares{actorstest.Home: share, actorstest.Away: share})
	}
}

// spreadStore forwards durable changes to all nodes, 10 ms later.
type spreadStore struct {
	store.Store
	c *cluster
}

func (s spreadStore) Commit(changes []store.Change, done func(error)) {
	s.Store.Commit(changes, func(err error) {
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		for _, m := range s.c.nodes {
			m.replica++
			time.AfterFunc(10*time.Millisecond, func() {
				m.system.Replicate(changes, func() {
					s.c.mu.Lock()
					defer s.c.mu.Unlock()
					m.replica--
				})
			})
		}
		done(err)
	})
}

func (s spreadStore) Flush() {}

// node returns the registration of a node.
func (m *member) node() coord.Node { return coord.Node{Name: m.name} }

func (m *member) Others() (all []coord.Node) {
	for _, o := range m.c.nodes {
		if o != m {
			all = append(all, o.node())
		}
	}
	return all
}

func (m *member) Names() (all []string) {
	for _, o := range m.c.nodes {
		all = append(all, o.name)
	}
	return all
}

func (m *member) Leader(context.Context) (coord.Node, bool, error) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	for _, o := range m.c.nodes {
		if o.leads {
			return o.node(), o == m, nil
		}
	}
	return coord.Node{}, false, errors.New("nobody leads")
}

func (m *member) Leased() bool { return true }

func (m *member) WithRoom(messages.FleetID, string) (all []coord.Node) {
	if m.room == nil {
		return append([]coord.Node{{}}, m.Others()...)
	}
	for _, name := range m.room {
		if name == m.name {
			name = ""
		}
		all = append(all, coord.Node{Name: name})
	}
	return all
}

var errAway = errors.New("the coordinator does not answer")

func (m *member) Owner(_ context.Context, id messages.GameSessionID, fresh bool) (coord.Node, bool, bool, error) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	if m.c.away || m.c.slow == "owner" && fresh {
		return coord.Node{}, false, false, errAway
	}
	if m.c.stale[id] && !fresh {
		return coord.Node{}, false, false, errors.New("the owner that is remembered does not answer")
	}
	o := m.c.games[id]
	if o == nil {
		return coord.Node{}, false, false, nil
	}
	return o.node(), o == m, true, nil
}

func (m *member) Ended(_ context.Context, id messages.GameSessionID) (*messages.GameSession, [32]byte, error) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	if m.c.away || m.c.slow == "ended" {
		return nil, [32]byte{}, errAway
	}
	return m.c.gone[id], m.c.made[id], nil
}

func (m *member) Placement(context.Context, messages.PlacementID) (*messages.Placement, error) {
	return nil, coord.ErrUnavailable
}

func (m *member) Synced(context.Context) error {
	for {
		m.c.mu.Lock()
		n, away := m.replica, m.c.away
		m.c.mu.Unlock()
		if away {
			return errAway
		}
		if n == 0 {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

func (m *member) Call(ctx context.Context, to coord.Node, q messages.Request) (any, error) {
	i := slices.IndexFunc(m.c.nodes, func(o *member) bool { return o.name == to.Name })
	m.c.mu.Lock()
	silent, refuses := m.c.nodes[i].silent, m.c.nodes[i].refuses
	m.calls++
	m.c.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if refuses != nil {
		return nil, refuses
	}
	time.Sleep(time.Millisecond)
	return m.c.nodes[i].system.Do(ctx, q)
}

// Claim implements fleet.Directory.
func (m *member) Claim(g *messages.GameSession, made [32]byte, done func(error)) {
	time.AfterFunc(5*time.Millisecond, func() {
		m.c.mu.Lock()
		defer m.c.mu.Unlock()
		m.c.made[g.ID] = made
		switch o := m.c.games[g.ID]; {
		case m.c.away:
			done(messages.Errorf(messages.Internal, "%v", errAway))
		case o != nil && o != m:
			done(messages.Errorf(messages.Conflict, "node %s has it", o.name))
		default:
			m.c.games[g.ID] = m
			done(nil)
		}
	})
}

// End implements fleet.Directory.
func (m *member) End(id messages.GameSessionID, _ bool) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	if m.c.games[id] == m {
		delete(m.c.games, id)
	}
}

func (c *cluster) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func at[A any](c *cluster, m *member, q messages.RequestOf[A]) (A, error) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	return messages.Do(ctx, m.system.Cluster(), q)
}

func must[A any](c *cluster, m *member, q messages.RequestOf[A]) A {
	c.Helper()
	a, err := at(c, m, q)
	if err != nil {
		c.Fatalf("%T at %s: %v", q, m.name, err)
	}
	return a
}

func wantCode(c *cluster, err error, code messages.ErrorCode) {
	c.Helper()
	if !errors.Is(err, &messages.Error{Code: code}) {
		c.Errorf("the error is %v, want %v", err, code)
	}
}

// game creates a game session through the node m on the node named on.
func (c *cluster) game(m *member, on string, q messages.CreateGameSession) *messages.GameSession {
	c.Helper()
	m.room = []string{on}
	defer func() { m.room = nil }()
	q.FleetID, q.MaxPlayers = relays, max(q.MaxPlayers, 4)
	return must(c, m, q)
}

// CL-205, in part: a node that was taken for lost comes back, and does not know yet that its game session has ended. Others
// do not take its word for it, although the coordinator does not answer them for a moment.
func TestANodeThatIsBackDoesNotTakeBackAnEnd(t *testing.T) {
	runCluster(t, func(c *cluster) {
		b := c.nodes[1]
		g := c.game(b, "c", messages.CreateGameSession{})
		c.locked(func() {
			delete(c.games, g.ID)
			c.gone[g.ID] = &messages.GameSession{ID: g.ID, Status: messages.GameSessionTerminated, EndText: "its host was lost"}
		})
		assert.Equal(c, "status", must(c, b, messages.GameSessionQuery{ID: g.ID}).Status, messages.GameSessionTerminated)
		for _, read := range []string{"ended", "owner"} {
			c.locked(func() { c.slow = read })
			_, err := at(c, b, messages.GameSessionQuery{ID: g.ID})
			wantCode(c, err, messages.Internal)
		}
	})
}

// A node that starts or shuts down refuses the requests of others. Their callers get a code of the service API.
func TestANodeThatStarts(t *testing.T) {
	runCluster(t, func(c *cluster) {
		a, b := c.nodes[0], c.nodes[1]
		g := c.game(a, "b", messages.CreateGameSession{})
		c.locked(func() { b.refuses = messages.Errorf(messages.Unavailable, "node b is starting") })
		_, err := at(c, a, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
		var refusal *messages.Error
		if !errors.As(err, &refusal) || refusal.Code != messages.Internal {
			t.Errorf("the error is %v", err)
		}
		_, err = at(c, a, messages.GameSessionQuery{ID: g.ID + "x"})
		if !errors.As(err, &refusal) || refusal.Code != messages.Internal { // b may have had it
			t.Errorf("the error is %v", err)
		}
		a.room = []string{"b", "c"}
		if g := must(c, a, messages.CreateGameSession{FleetID: relays, MaxPlayers: 4}); g.IPAddress != "192.0.2.3" {
			t.Errorf("the game session is at %s", g.IPAddress)
		}
	})
}

func TestEveryNodeAnswers(t *testing.T) {
	runCluster(t, func(c *cluster) {
		a, b := c.nodes[0], c.nodes[1]
		g := c.game(b, "c", messages.CreateGameSession{Name: "one"})
		assert.Equal(c, "address", g.IPAddress, "192.0.2.3") // CL-7
		for _, m := range c.nodes {
			assert.Equal(c, "name at "+m.name, must(c, m, messages.GameSessionQuery{ID: g.ID}).Name, "one")
		}
		seats := must(c, a, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
		found := must(c, b, messages.PlayerSessionQuery{PlayerSessionID: seats[0].ID})
		assert.Equal(c, "player", found[0].PlayerID, "ann")
		assert.Equal(c, "player sessions", len(must(c, b, messages.PlayerSessionQuery{PlayerID: "ann"})), 1)
		must(c, a, messages.UpdateGameSession{ID: g.ID, Name: new("two")})
		must(c, b, messages.TerminateGameSession{GameSessionID: g.ID, Force: true})
		time.Sleep(time.Second)
		for _, m := range c.nodes { // although the directory no longer has it
			g := must(c, m, messages.GameSessionQuery{ID: g.ID})
			assert.Equal(c, "name", g.Name, "two")
			assert.Equal(c, "status", g.Status, messages.GameSessionTerminated)
		}
		_, err := at(c, a, messages.GameSessionQuery{ID: g.ID + "x"})
		wantCode(c, err, messages.NotFound)
		_, err = at(c, b, messages.PlayerSessionQuery{PlayerSessionID: "psess-none"})
		wantCode(c, err, messages.NotFound)
	})
}

// CL-3.
func TestWhatWasMadeIsKnownEverywhereAtOnce(t *testing.T) {
	times := 100
	if !testing.Short() {
		times = 1000
	}
	runCluster(t, func(c *cluster) {
		for i := range times {
			m, o := c.nodes[i%3], c.nodes[(i+1)%3]
			a := must(c, m, messages.CreateAlias{Name: "x", FleetID: relays})
			assert.Equal(c, "aliases at "+m.name, len(must(c, m, messages.AliasQuery{})), i+1) // including this node's own change
			assert.Equal(c, "fleet", must(c, o, messages.AliasQuery{ID: a.ID})[0].FleetID, relays)
			queue := messages.Queue{Name: messages.QueueName(fmt.Sprint("queue-", i)), Timeout: time.Minute, Destinations: []string{"arn:aws:gamelift:eu-test-1::alias/" + string(a.ID)}}
			must(c, c.nodes[(i+2)%3], messages.CreateQueue{Queue: queue})
			if i%10 == 0 {
				g := must(c, o, messages.CreateGameSession{AliasID: a.ID, MaxPlayers: 2})
				must(c, m, messages.TerminateGameSession{GameSessionID: g.ID, Force: true})
				time.Sleep(100 * time.Millisecond)
			}
		}
		_, err := at(c, c.nodes[1], messages.AliasQuery{ID: "alias-none"})
		wantCode(c, err, messages.NotFound)
	})
}

// CL-10: a full node refuses, the next node is tried, and the last refusal says that all nodes are full.
func TestAFullNodeIsPassedOver(t *testing.T) {
	runCluster(t, func(c *cluster) {
		a := c.nodes[0]
		on := map[string]int{}
		for range 9 { // 3 on each node
			on[must(c, a, messages.CreateGameSession{FleetID: relays, MaxPlayers: 2}).IPAddress]++
		}
		if !maps.Equal(on, map[string]int{"192.0.2.1": 3, "192.0.2.2": 3, "192.0.2.3": 3}) {
			t.Errorf("game sessions by address: %v", on)
		}
		_, err := at(c, a, messages.CreateGameSession{FleetID: relays, MaxPlayers: 2})
		wantCode(c, err, messages.FleetCapacityExceeded)
		use := must(c, c.nodes[2], messages.FleetUseQuery{FleetIDs: []messages.FleetID{relays}})
		if len(use) != 1 || use[0].GameSessions != 9 || use[0].Active != 3 || use[0].Processes != 9 {
			t.Errorf("the use of the fleet is %+v", use)
		}
		assert.Equal(c, "instances", len(must(c, a, messages.InstanceQuery{FleetID: relays})), 3)
	})
}

// CL-4 and CL-11: each page of a list is requested from another node.
func TestPagesOverNodes(t *testing.T) {
	runCluster(t, func(c *cluster) {
		var want []string
		for i := range 9 {
			name := fmt.Sprintf("%02d", (i*5)%9)
			c.game(c.nodes[i%2], c.nodes[i/3].name, messages.CreateGameSession{Name: name, MaxPlayers: 2 + i})
			want = append(want, name)
			time.Sleep(time.Second)
		}
		for _, q := range []messages.FindGameSessions{
			{FleetID: relays}, {Newest: true}, {FleetID: relays, Sort: "gameSessionName ASC"}, {Sort: "maximumSessions DESC", Filter: "maximumSessions > 4"},
		} {
			order := slices.Clone(want)
			switch {
			case q.Filter != "":
				order = order[3:]
				slices.Reverse(order)
			case q.Newest:
				slices.Reverse(order)
			case q.Sort != "":
				slices.Sort(order)
			}
			for limit := 1; limit < 11; limit++ {
				var got []string
				page := q
				page.Limit, page.TextMax = limit, 100
				for i := 0; ; i++ {
					found := must(c, c.nodes[i%3], page)
					assert.Equal(c, "matched", found.Matched, len(order))
					for _, g := range found.GameSessions {
						got = append(got, g.Name)
					}
					if page.After = found.Next; found.Next == nil {
						break
					}
				}
				if !slices.Equal(got, order) {
					t.Errorf("%+v in pages of %d: %v, want %v", q, limit, got, order)
				}
			}
		}
	})
}

// CL-5.
func TestATokenIsOneGameSession(t *testing.T) {
	runCluster(t, func(c *cluster) {
		q := messages.CreateGameSession{Name: "one", IdempotencyToken: "token"}
		g := c.game(c.nodes[0], "b", q)
		assert.Equal(c, "id at another node", c.game(c.nodes[2], "c", q).ID, g.ID)
		other := q
		other.Name, other.FleetID, other.MaxPlayers = "two", relays, 4
		_, err := at(c, c.nodes[2], other)
		wantCode(c, err, messages.IdempotentMismatch)

		q.IdempotencyToken = "at once"
		q.FleetID, q.MaxPlayers = relays, 4
		answers := make(chan string, 10)
		for i := range cap(answers) {
			go func() {
				g, err := at(c, c.nodes[i%3], q)
				if err != nil {
					answers <- err.Error()
					return
				}
				answers <- string(g.ID)
			}()
		}
		synctest.Wait()
		time.Sleep(time.Second)
		first := <-answers
		for range cap(answers) - 1 {
			assert.Equal(c, "answer", <-answers, first)
		}
		assert.Equal(c, "game sessions", must(c, c.nodes[0], messages.FindGameSessions{}).Matched, 2)
	})
}

// CL-12.
func TestWithoutTheCoordinator(t *testing.T) {
	runCluster(t, func(c *cluster) {
		g := c.game(c.nodes[0], "b", messages.CreateGameSession{})
		must(c, c.nodes[2], messages.GameSessionQuery{ID: g.ID})
		c.locked(func() { c.away = true })
		must(c, c.nodes[0], messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
		assert.Equal(c, "found", must(c, c.nodes[2], messages.FindGameSessions{}).Matched, 1)
		_, err := at(c, c.nodes[0], messages.CreateGameSession{FleetID: relays, MaxPlayers: 2})
		wantCode(c, err, messages.Internal)
		_, err = at(c, c.nodes[0], messages.GameSessionQuery{ID: g.ID + "x"})
		wantCode(c, err, messages.Internal)
		_, err = at(c, c.nodes[2], messages.AliasQuery{ID: "alias-x"}) // another node may have created it
		wantCode(c, err, messages.Internal)
		c.locked(func() { c.away = false })
		time.Sleep(time.Second)
		assert.Equal(c, "game sessions", must(c, c.nodes[2], messages.FindGameSessions{}).Matched, 1)
		stored := 0
		for _, m := range c.nodes {
			_, err := m.own.Load(store.GameSession, func(string, []byte) error { stored++; return nil })
			assert.NoError(c, err)
		}
		assert.Equal(c, "stored game sessions", stored, 1)
	})
}

func TestAGameSessionOfALostNode(t *testing.T) {
	runCluster(t, func(c *cluster) {
		g := c.game(c.nodes[0], "b", messages.CreateGameSession{Name: "one"})
		c.locked(func() { c.nodes[1].silent = true })
		_, err := at(c, c.nodes[0], messages.FindGameSessions{All: true})
		wantCode(c, err, messages.Internal)
		for _, search := range []messages.FindGameSessions{{}, {Filter: "maximumSessions > 0"}} {
			assert.Equal(c, "found by a search", must(c, c.nodes[0], search).Matched, 0)
		}
		ended := *g
		ended.Status, ended.EndText = messages.GameSessionTerminated, "its host was lost"
		c.locked(func() {
			c.gone[g.ID], c.games[g.ID], c.stale = &ended, nil, map[messages.GameSessionID]bool{g.ID: true}
		})
		assert.Equal(c, "status", must(c, c.nodes[0], messages.GameSessionQuery{ID: g.ID}).Status, messages.GameSessionTerminated)
		_, err = at(c, c.nodes[2], messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
		wantCode(c, err, messages.InvalidGameSessionStatus)
		assert.Equal(c, "player sessions", len(must(c, c.nodes[2], messages.PlayerSessionQuery{GameSessionID: g.ID})), 0)
	})
}

func TestAPlacementOverNodes(t *testing.T) {
	runCluster(t, func(c *cluster) {
		must(c, c.nodes[1], messages.CreateQueue{Queue: messages.Queue{Name: "queue", Timeout: time.Minute, Destinations: []string{"arn:aws:gamelift:eu-test-1::fleet/" + string(relays)}}})
		c.nodes[0].room = []string{"c"}
		must(c, c.nodes[2], messages.StartPlacement{ID: "p", Queue: "queue", MaxPlayers: 2, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
		time.Sleep(time.Second)
		for _, m := range c.nodes { // CL-13
			p := must(c, m, messages.PlacementQuery{ID: "p"})
			if p.Status != messages.PlacementFulfilled || p.IPAddress != "192.0.2.3" || len(p.Placed) != 1 {
				t.Errorf("at %s the placement is %+v", m.name, p)
			}
		}
		c.nodes[1].lead()
		time.Sleep(time.Second)
		assert.Equal(c, "status", must(c, c.nodes[0], messages.PlacementQuery{ID: "p"}).Status, messages.PlacementFulfilled)
		must(c, c.nodes[0], messages.StartPlacement{ID: "q", Queue: "queue", MaxPlayers: 2})
		time.Sleep(time.Second)
		assert.Equal(c, "status", must(c, c.nodes[2], messages.PlacementQuery{ID: "q"}).Status, messages.PlacementFulfilled)
	})
}

// A node that has gone or that drains is skipped, because it has certainly not created the game session.
func TestANodeThatIsAwayIsPassedOver(t *testing.T) {
	runCluster(t, func(c *cluster) {
		a := c.nodes[0]
		a.room = []string{"b", "c"}
		c.locked(func() { c.nodes[1].refuses = fmt.Errorf("dial: %w", coord.ErrRefused) })
		assert.Equal(c, "address", must(c, a, messages.CreateGameSession{FleetID: relays, MaxPlayers: 2}).IPAddress, "192.0.2.3")
		c.locked(func() { c.nodes[1].refuses = messages.Errorf(messages.Unavailable, "the host is shutting down") })
		assert.Equal(c, "address", must(c, a, messages.CreateGameSession{FleetID: relays, MaxPlayers: 2}).IPAddress, "192.0.2.3")
		c.locked(func() { c.nodes[1].refuses = fmt.Errorf("sent: %w", coord.ErrUnknown) })
		_, err := at(c, a, messages.CreateGameSession{FleetID: relays, MaxPlayers: 2})
		wantCode(c, err, messages.Internal)
	})
}

// The registration of a leader whose process has gone remains for some seconds. Requests wait for the next leader.
func TestALeaderThatIsGoneIsAwaited(t *testing.T) {
	runCluster(t, func(c *cluster) {
		c.locked(func() { c.nodes[0].refuses = fmt.Errorf("dial: %w", coord.ErrRefused) })
		begin := time.Now()
		_, err := at(c, c.nodes[2], messages.CreateAlias{Name: "early", Message: "none"})
		wantCode(c, err, messages.Internal)
		assert.Equal(c, "wait without a leader", time.Since(begin), 10*time.Second)
		begin = time.Now()
		took := make(chan time.Duration)
		go func() {
			_, err := at(c, c.nodes[2], messages.CreateAlias{Name: "one", Message: "none"})
			assert.NoError(c, err)
			took <- time.Since(begin)
		}()
		time.Sleep(6 * time.Second)
		c.nodes[1].lead()
		if took := <-took; took < 6*time.Second || took > 6*time.Second+300*time.Millisecond {
			t.Errorf("answered after %v, and the next node led after 6s", took)
		}
	})
}

// A node that has resigned says so before the others know: their calls wait for the next leader, as if it had gone.
func TestALeaderThatHasResignedIsAwaited(t *testing.T) {
	runCluster(t, func(c *cluster) {
		c.locked(func() { c.nodes[0].refuses = messages.Errorf(messages.Unavailable, "node a does not lead") })
		answered := make(chan error, 1)
		go func() {
			_, err := at(c, c.nodes[2], messages.CreateAlias{Name: "one", Message: "none"})
			answered <- err
		}()
		time.Sleep(time.Second)
		c.nodes[1].lead()
		assert.NoError(c, <-answered)
	})
}

func TestTheLimitOfACreator(t *testing.T) {
	runCluster(t, func(c *cluster) {
		limit := messages.CreatorLimit{PerPeriod: 2, Period: time.Hour}
		must(c, c.nodes[0], messages.UpdateFleet{FleetID: relays, CreatorLimit: &limit})
		for i, players := range []int{0, 4} {
			must(c, c.nodes[i], messages.CreateGameSession{FleetID: relays, CreatorID: "eve", MaxPlayers: players})
		}
		_, err := at(c, c.nodes[2], messages.CreateGameSession{FleetID: relays, CreatorID: "eve"})
		wantCode(c, err, messages.LimitExceeded)
		_, err = at(c, c.nodes[2], messages.CreateGameSession{FleetID: relays, MaxPlayers: 4})
		wantCode(c, err, messages.InvalidRequest)
		must(c, c.nodes[2], messages.CreateGameSession{FleetID: relays, CreatorID: "bob"})
		c.locked(func() { c.away = true }) // the claim fails, so the charge is refunded
		_, err = at(c, c.nodes[2], messages.CreateGameSession{FleetID: relays, CreatorID: "bob"})
		wantCode(c, err, messages.Internal)
		c.locked(func() { c.away = false })
		must(c, c.nodes[2], messages.CreateGameSession{FleetID: relays, CreatorID: "bob"})
	})
}

// A charge is kept if the game session may exist: another node has got the request and has not answered.
func TestTheChargeForAnUnknownGameSessionIsKept(t *testing.T) {
	runCluster(t, func(c *cluster) {
		limit := messages.CreatorLimit{PerPeriod: 1, Period: time.Hour}
		must(c, c.nodes[0], messages.UpdateFleet{FleetID: relays, CreatorLimit: &limit})
		create := messages.CreateGameSession{FleetID: relays, CreatorID: "eve", MaxPlayers: 2}
		c.locked(func() { c.nodes[2].room, c.nodes[1].refuses = []string{"b"}, coord.ErrUnknown })
		_, err := at(c, c.nodes[2], create)
		wantCode(c, err, messages.Internal)
		c.locked(func() { c.nodes[1].refuses = nil })
		_, err = at(c, c.nodes[2], create)
		wantCode(c, err, messages.LimitExceeded)
	})
}

// A request with the token of a game session that was lost with its node is answered from the directory.
func TestATokenOfALostNode(t *testing.T) {
	runCluster(t, func(c *cluster) {
		q := messages.CreateGameSession{FleetID: relays, MaxPlayers: 4, IdempotencyToken: "token"}
		g := c.game(c.nodes[0], "b", q)
		c.locked(func() { c.nodes[1].silent = true })
		ended := *g
		ended.Status, ended.EndText = messages.GameSessionTerminated, "its host was lost"
		c.locked(func() { c.gone[g.ID], c.games[g.ID] = &ended, nil })
		assert.Equal(c, "status", must(c, c.nodes[0], q).Status, messages.GameSessionTerminated)
		q.Name = "other"
		_, err := at(c, c.nodes[2], q)
		wantCode(c, err, messages.IdempotentMismatch)
	})
}
