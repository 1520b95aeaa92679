package host

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/counters"
)

// eventful is a cluster of three hosts with a sink that counts its events.
type eventful struct {
	*hosts
	mu     sync.Mutex
	events map[string]map[string]bool // event ids by type
}

func eventfulHosts(t *testing.T, test func(c *eventful)) {
	synctest.Test(t, func(t *testing.T) {
		c := &eventful{events: map[string]map[string]bool{}, hosts: hostsOf(t, 3, func(o *Options) {
			o.Config.Events.Sinks = []EventSink{{Name: "hook", Type: "webhook-raw", URL: "http://127.0.0.1:999", Secret: "s", All: true}}
		})}
		hook, err := c.all[0].net.Listen("tcp", "127.0.0.1:999")
		if err != nil {
			c.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(c.told)}
		go server.Serve(hook)
		defer server.Close()
		test(c)
	})
}

// matching is such a cluster with a matchmaking configuration "m".
type matching struct{ *eventful }

func matchingHosts(t *testing.T, rules string, m messages.Matchmaker, test func(c *matching)) {
	eventfulHosts(t, func(c *eventful) {
		asked(c.hosts, 0, messages.CreateRuleSet{RuleSet: messages.RuleSet{Name: "rules", Body: rules}})
		m.Name, m.RuleSet = "m", "rules"
		asked(c.hosts, 1, messages.CreateMatchmaker{Matchmaker: m})
		test(&matching{c})
	})
}

func (c *eventful) told(_ http.ResponseWriter, r *http.Request) {
	var e struct {
		ID     string
		Detail struct{ Type string }
	}
	_ = json.NewDecoder(r.Body).Decode(&e)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events[e.Detail.Type] == nil {
		c.events[e.Detail.Type] = map[string]bool{}
	}
	c.events[e.Detail.Type][e.ID] = true
}

// numberOf returns how many events of a type have been delivered. One that was delivered twice counts once.
func (c *eventful) numberOf(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.events[kind])
}

// until waits until ok returns true. Meanwhile requests of the delayed hosts take 200 ms.
func (c *matching) until(what string, ok func() bool) {
	c.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatal(what, " does not come")
		}
	}
}

// silence is a host that the coordinator does not hear any more. Its peers still do, so its game sessions go on.
var silence = clustertest.Faults{Requests: true, Answers: true}

func ticketID(i int) messages.TicketID { return messages.TicketID(fmt.Sprint("t", i)) }

// seeks starts a ticket of one player at a host.
func (c *matching) seeks(host, i int, attributes map[string]messages.Attribute) *messages.Ticket {
	c.Helper()
	return asked(c.hosts, host, messages.StartMatchmaking{
		TicketID: ticketID(i), Matchmaker: "m", Players: []messages.TicketPlayer{{ID: messages.PlayerID(ticketID(i)), Attributes: attributes}},
	})
}

// tickets returns the first n tickets as a host shows them.
func (c *matching) tickets(host, n int) []*messages.Ticket {
	c.Helper()
	ids := make([]messages.TicketID, n)
	for i := range ids {
		ids[i] = ticketID(i)
	}
	found := asked(c.hosts, host, messages.TicketQuery{IDs: ids})
	if len(found) != n {
		c.Fatalf("host %d knows %d tickets, want %d", host, len(found), n)
	}
	return found
}

// stored returns how many records of tickets have a status in the coordinator.
func (c *matching) stored(status messages.TicketStatus, of ...messages.TicketID) (n int) {
	c.Helper()
	found, err := c.coordinator.Client().Read(c.Context(), coord.Query{Key: string(coord.KeysOf("test")) + "ticket/", Prefix: true})
	if err != nil {
		c.Fatal(err)
	}
	for _, kv := range found.KVs {
		var one messages.Ticket
		if err := json.Unmarshal(kv.Value, &one); err != nil {
			c.Fatal(err)
		}
		if one.Status == status && (of == nil || slices.Contains(of, one.ID)) {
			n++
		}
	}
	return n
}

// Of each pair, the two tickets fit only after 40 s. The string attribute keeps a pair in one batch of a pass: another
// pool of more than 250 tickets is divided at random.
const pairs = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"pair","type":"string"}],
	"teams":[{"name":"a","minPlayers":1,"maxPlayers":1,"quantity":2}],
	"rules":[{"name":"Pair","type":"batchDistance","batchAttribute":"pair"},
		{"name":"Near","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],
		"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":1}],
	"expansions":[{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":40,"value":10}]}]}`

// CL-39 and CL-40. A thousand tickets, started at three hosts, wait for an expansion when the leader is lost. They are
// matched when they would have been without the loss, each once, and those that fit nobody time out when they would have.
func TestALeaderIsLostWhileTicketsWait(t *testing.T) {
	tickets, alone := 1000, 20 // the last ones fit nobody
	if testing.Short() {
		tickets = 200
	}
	matchingHosts(t, pairs, messages.Matchmaker{Standalone: true, RequestTimeout: 45 * time.Second}, func(c *matching) {
		started := map[int]time.Time{}
		for i := range tickets {
			pair := i / 2
			if i >= tickets-alone {
				pair = i
			}
			started[i] = c.seeks(i%3, i, map[string]messages.Attribute{
				"skill": {Kind: messages.AttributeNumber, N: float64(i % 2 * 5)}, "pair": {Kind: messages.AttributeText, S: fmt.Sprint(pair)},
			}).Started
		}
		time.Sleep(15 * time.Second)
		lost := leader(c.hosts)
		c.kill(lost)
		time.Sleep(15 * time.Second)
		others := []int{(lost + 1) % 3, (lost + 2) % 3}
		for _, host := range others {
			for i, one := range c.tickets(host, tickets) {
				if one.Status != messages.TicketSearching || !one.Started.Equal(started[i]) {
					c.Fatalf("at host %d ticket %d, started %v, is %+v", host, i, started[i], one)
				}
			}
		}
		time.Sleep(25 * time.Second)
		in := map[messages.MatchID][]int{}
		for i, one := range c.tickets(others[1], tickets) {
			status, after := messages.TicketCompleted, 40*time.Second
			if i >= tickets-alone {
				status, after = messages.TicketTimedOut, 45*time.Second
			} else {
				in[one.Match] = append(in[one.Match], i)
			}
			if waited := one.Ended.Sub(one.Started); one.Status != status || waited < after || waited > after+time.Second {
				c.Fatalf("ticket %d is %v after %v", i, one.Status, waited)
			}
		}
		for id, of := range in {
			if len(of) != 2 || of[0]/2 != of[1]/2 {
				t.Errorf("match %s has tickets %v", id, of)
			}
		}
		assert.Equal(c.hosts, "matches", len(in), (tickets-alone)/2)
		assert.Equal(c.hosts, "events of matches", c.numberOf("MatchmakingSucceeded"), len(in))
		assert.Equal(c.hosts, "events of timeouts", c.numberOf("MatchmakingTimedOut"), alone)
	})
}

const duel = `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":1,"maxPlayers":1,"quantity":2}]}`

// CL-41. The leader is lost in each status of a match. It is cut off from the coordinator: it does not notice at first, and
// goes on in memory. In the last rounds its process has gone, too. Each match has one game session and one end.
func TestALeaderIsLostDuringAMatch(t *testing.T) {
	config := messages.Matchmaker{
		Queues: []messages.QueueName{"queue-dev"}, RequestTimeout: 5 * time.Minute, AcceptanceRequired: true, AcceptanceTimeout: time.Minute,
	}
	matchingHosts(t, duel, config, func(c *matching) {
		statuses := []func(*round) bool{
			func(r *round) bool { return r.stored(messages.TicketRequiresAcceptance) == 2 },
			func(r *round) bool { return r.accepts(0) && r.stored(messages.TicketRequiresAcceptance) == 2 },
			func(r *round) bool { return r.acceptAll() && r.stored(messages.TicketPlacing) == 2 },
			func(r *round) bool { return r.acceptAll() && r.seats() == 2 && r.stored(messages.TicketPlacing) == 2 },
		}
		var dead []int
		var games []messages.GameSessionID
		for n, lost := range append(statuses, statuses[:2]...) {
			r := &round{matching: c, number: n, lost: leader(c.hosts), accepted: map[int]bool{}}
			for r.other = 0; r.other == r.lost || slices.Contains(dead, r.other); r.other++ {
			}
			c.clients[r.lost].SetFaults(clustertest.Faults{Delay: 100 * time.Millisecond}) // so that each step takes time
			for i := range 2 {
				c.seeks(r.other, 2*n+i, nil)
			}
			c.until(fmt.Sprint("status ", n), func() bool { return lost(r) })
			if n < len(statuses) {
				c.clients[r.lost].SetFaults(silence)
			} else {
				dead = append(dead, r.lost)
				c.kill(r.lost)
			}
			r.acceptAll()
			c.until(fmt.Sprint("the end of match ", n), func() bool { return r.stored(messages.TicketCompleted) == 2 })
			if n < len(statuses) {
				time.Sleep(10 * time.Second)
				c.clients[r.lost].SetFaults(clustertest.Faults{})
			}
			time.Sleep(20 * time.Second)
			games = append(games, r.game(dead))
			assert.Equal(c.hosts, "events", c.numberOf("MatchmakingSucceeded"), n+1)
		}
		found := asked(c.hosts, leader(c.hosts), messages.FindGameSessions{}).GameSessions
		for _, g := range found {
			if !slices.Contains(games, g.ID) {
				t.Errorf("game session %s, %v, has no match", g.ID, g.Status)
			}
		}
	})
}

// round is a match during which a leader is lost.
type round struct {
	*matching
	number, lost, other int
	accepted            map[int]bool
}

// stored returns how many of the round's tickets have a status in the coordinator.
func (r *round) stored(status messages.TicketStatus) int {
	return r.matching.stored(status, ticketID(2*r.number), ticketID(2*r.number+1))
}

// accepts makes a player accept the match. It reports whether it has.
func (r *round) accepts(i int) bool {
	id := ticketID(2*r.number + i)
	if !r.accepted[i] {
		_, err := r.all[r.other].Doer().Do(r.Context(), messages.AcceptMatch{TicketID: id, Players: []messages.PlayerID{messages.PlayerID(id)}, Accept: true})
		r.accepted[i] = err == nil || r.stored(messages.TicketPlacing)+r.stored(messages.TicketCompleted) == 2 // an attempt before has succeeded
	}
	return r.accepted[i]
}

func (r *round) acceptAll() bool {
	r.until("that all accept", func() bool { return r.accepts(0) && r.accepts(1) })
	return true
}

// seats returns how many seats the players of the round have.
func (r *round) seats() (n int) {
	for i := range 2 {
		n += len(asked(r.hosts, r.other, messages.PlayerSessionQuery{PlayerID: messages.PlayerID(ticketID(2*r.number + i))}))
	}
	return n
}

// game returns the game session of the match, and checks that all hosts tell the same.
func (r *round) game(dead []int) (id messages.GameSessionID) {
	for host := range r.all {
		if slices.Contains(dead, host) {
			continue
		}
		for i := range 2 {
			one := asked(r.hosts, host, messages.TicketQuery{IDs: []messages.TicketID{ticketID(2*r.number + i)}})[0]
			if one.Status != messages.TicketCompleted || one.Game == nil || id != "" && id != one.Game.ID || len(one.Game.Placed) != 1 {
				r.Fatalf("round %d: host %d, ticket %d: %+v, the other has game session %s", r.number, host, i, one, id)
			}
			id = one.Game.ID
		}
	}
	assert.Equal(r.hosts, "seats", r.seats(), 2)
	return id
}

// CL-44. A leader that does not know yet that another one leads is asked to change a ticket. The coordinator refuses the
// change, which is counted, and no host shows it.
func TestAnOldLeaderChangesATicket(t *testing.T) {
	matchingHosts(t, duel, messages.Matchmaker{Standalone: true, RequestTimeout: 5 * time.Minute}, func(c *matching) {
		c.seeks(0, 0, nil)
		time.Sleep(3 * time.Second)
		old := leader(c.hosts)
		c.clients[old].SetFaults(clustertest.Faults{Delay: 3 * time.Second}) // of what the leader watches
		if _, _, err := c.coordinator.Client().Commit(c.Context(), nil, []coord.Change{coord.Delete(coord.KeysOf("test").Lead())}); err != nil {
			c.Fatal(err)
		}
		synctest.Wait()
		c.clients[old].SetFaults(clustertest.Faults{})
		if _, err := c.all[old].system.Do(c.Context(), messages.StopMatchmaking{ID: ticketID(0)}); err == nil {
			t.Error("the old leader has cancelled a ticket")
		}
		assert.Equal(c.hosts, "refused by the coordinator", c.all[old].count.Fenced.Get(counters.FenceTerm), 1)
		for range 20 {
			time.Sleep(time.Second)
			for host := range 3 {
				assert.Equal(c.hosts, "status", c.tickets(host, 1)[0].Status, messages.TicketSearching)
			}
		}
		if leader(c.hosts) == old {
			t.Error("the old leader still leads")
		}
		assert.Equal(c.hosts, "events", c.numberOf("MatchmakingCancelled"), 0)
	})
}

const open = `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":1,"maxPlayers":3}]}`

// CL-43. Game sessions of other hosts than the leader's get players by automatic backfill and by a request. When their
// hosts are killed, the backfill tickets are CANCELLED.
func TestBackfillOfAnotherHost(t *testing.T) {
	matchingHosts(t, open, messages.Matchmaker{Queues: []messages.QueueName{"queue-dev"}, AutoBackfill: true, RequestTimeout: 5 * time.Minute}, func(c *matching) {
		lead := leader(c.hosts)
		other := (lead + 1) % 3
		for range 5 { // the leader's host has no room
			if _, err := c.all[lead].system.Do(c.Context(), messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 1}); err != nil {
				c.Fatal(err)
			}
		}
		time.Sleep(2 * time.Second)
		ticket := func(id messages.TicketID) *messages.Ticket {
			c.Helper()
			found := asked(c.hosts, lead, messages.TicketQuery{IDs: []messages.TicketID{id}})
			if len(found) != 1 {
				c.Fatalf("ticket %q is not known", id)
			}
			return found[0]
		}
		want := func(id messages.TicketID, status messages.TicketStatus, g *messages.GameSession) *messages.Ticket {
			c.Helper()
			one := ticket(id)
			if one.Status != status || g != nil && one.Game.ID != g.ID {
				c.Errorf("ticket %s is %v %+v", id, one.Status, one.Game)
			}
			return one
		}
		game := func(id messages.GameSessionID, players int) *messages.GameSession {
			c.Helper()
			g := asked(c.hosts, other, messages.GameSessionQuery{ID: id})
			assert.Equal(c.hosts, "players", g.CurrentPlayers, players)
			return g
		}
		next := func(g *messages.GameSession) (d struct{ AutoBackfillTicketID messages.TicketID }) {
			c.Helper()
			if err := json.Unmarshal([]byte(asked(c.hosts, other, messages.GameSessionQuery{ID: g.ID}).MatchmakerData), &d); err != nil {
				c.Fatal(err)
			}
			return d
		}

		c.seeks(other, 0, nil)
		time.Sleep(5 * time.Second)
		automatic := game(want(ticketID(0), messages.TicketCompleted, nil).Game.ID, 1)
		first := next(automatic).AutoBackfillTicketID
		want(first, messages.TicketSearching, automatic)
		c.seeks(other, 1, nil)
		time.Sleep(5 * time.Second)
		want(ticketID(1), messages.TicketCompleted, automatic)
		want(first, messages.TicketCompleted, automatic)
		game(automatic.ID, 2)
		second := next(automatic).AutoBackfillTicketID
		want(second, messages.TicketSearching, automatic)

		asked(c.hosts, other, messages.CreateMatchmaker{Matchmaker: messages.Matchmaker{
			Name: "manual", RuleSet: "rules", Queues: []messages.QueueName{"queue-dev"}, RequestTimeout: 5 * time.Minute,
		}})
		start := func(id messages.TicketID) {
			asked(c.hosts, other, messages.StartMatchmaking{TicketID: id, Matchmaker: "manual", Players: []messages.TicketPlayer{{ID: messages.PlayerID(id)}}})
			time.Sleep(5 * time.Second)
		}
		start("ann")
		manual := game(want("ann", messages.TicketCompleted, nil).Game.ID, 1)
		ann := messages.TicketPlayer{ID: "ann", Team: "a"}
		asked(c.hosts, other, messages.StartMatchBackfill{TicketID: "fill", Matchmaker: "manual", Session: manual.ID, Players: []messages.TicketPlayer{ann}})
		start("bob")
		want("bob", messages.TicketCompleted, manual)
		want("fill", messages.TicketCompleted, manual)
		game(manual.ID, 2)
		asked(c.hosts, other, messages.StartMatchBackfill{TicketID: "more", Matchmaker: "manual", Session: manual.ID, Players: []messages.TicketPlayer{ann, {ID: "bob", Team: "a"}}})
		time.Sleep(5 * time.Second)
		want("more", messages.TicketSearching, manual)

		killed := map[int]bool{}
		for _, g := range []*messages.GameSession{automatic, manual} {
			owner, _ := c.owner(g)
			if owner == lead {
				t.Fatal("the leader's host has room")
			}
			if !killed[owner] {
				killed[owner] = true
				c.kill(owner)
			}
		}
		time.Sleep(15 * time.Second)
		want(second, messages.TicketCancelled, nil)
		want("more", messages.TicketCancelled, nil)
		assert.Equal(c.hosts, "events", c.numberOf("MatchmakingCancelled"), 2)
	})
}

const crowd = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
	"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},"teams":[{"name":"a","minPlayers":100,"maxPlayers":100,"quantity":2}]}`

// CL-42. The tickets of a match of 200 need several transactions. The leader is lost between them.
func TestALeaderIsLostInALargeMatch(t *testing.T) {
	for _, after := range []int{101, 1} { // tickets that have been written before the loss, at least
		if testing.Short() && after == 1 {
			break
		}
		matchingHosts(t, crowd, messages.Matchmaker{Standalone: true, RequestTimeout: 5 * time.Minute}, func(c *matching) {
			for i := range 199 {
				c.seeks(i%3, i, map[string]messages.Attribute{"skill": {Kind: messages.AttributeNumber, N: float64(i)}})
			}
			time.Sleep(3 * time.Second)
			lost := leader(c.hosts)
			other := (lost + 1) % 3
			c.clients[lost].SetFaults(clustertest.Faults{Delay: 100 * time.Millisecond})
			c.seeks(other, 199, map[string]messages.Attribute{"skill": {Kind: messages.AttributeNumber, N: 1}})
			completed := func() int { return c.stored(messages.TicketCompleted) }
			c.until("the first part of the match", func() bool { return completed() >= after })
			c.clients[lost].SetFaults(silence)
			if n := completed(); n < after || n >= 200 {
				t.Errorf("%d tickets have been written before the loss", n)
			}
			time.Sleep(20 * time.Second)
			all := c.tickets(other, 200)
			for i, one := range all {
				if one.Status != messages.TicketCompleted || one.Match != all[0].Match {
					c.Fatalf("ticket %d is %v in match %s, others in %s", i, one.Status, one.Match, all[0].Match)
				}
			}
			c.refused(lost, messages.Internal, messages.TicketQuery{IDs: []messages.TicketID{ticketID(199)}}) // it may be out of date
			assert.Equal(c.hosts, "completed", completed(), 200)
			assert.Equal(c.hosts, "events", c.numberOf("MatchmakingSucceeded"), 1)
		})
	}
}
