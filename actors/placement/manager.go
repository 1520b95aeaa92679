package placement

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/rebuild"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// Manager is the actor that owns all queues and placements.
type Manager struct {
	o        Options
	hosts    messages.Sender // answers the requests of placements defined in package messages
	room     uint64          // Version of the last AwaitRoom answer
	restored *State          // set to nil when the actor starts
	unread   store.Unread    // damaged records; set once

	// The actor owns the following fields.
	queues     map[messages.QueueName]*queue
	placements map[messages.PlacementID]*entry
	attempts   map[messages.GameSessionID]*entry
	due        dueHeap
	timer      *stage.Timer
	armed      time.Time           // time at which timer fires; zero if the timer is not running
	launches   map[destination]int // number of launches without an answer
	stalled    []*queue            // queues that wait for the answer to a launch
	retention  *ledger.Retention   // of placements
	started    uint64
	draining   bool
	ledger     *ledger.Ledger
}

// New returns the supervisor of a Manager that starts with s, a result of Load. hosts forwards requests to the owners
// of game sessions, such as a fleet.Registry.
func New(o Options, hosts messages.Sender, s *State) *rebuild.Supervisor[*State] {
	if s == nil {
		s = new(State)
	}
	o = o.withDefaults()
	return rebuild.New(rebuild.Options[*State]{
		What: "queues and placements", Kind: counters.ActorPlacement, Store: o.Store, Load: Load,
		New: func(s *State, from store.Store) stage.Actor {
			o.Store = from
			return newManager(o, hosts, s)
		},
	}, s)
}

func newManager(o Options, hosts messages.Sender, s *State) *Manager {
	return &Manager{
		o: o, hosts: hosts, restored: s,
		queues:     make(map[messages.QueueName]*queue),
		placements: make(map[messages.PlacementID]*entry),
		attempts:   make(map[messages.GameSessionID]*entry),
		launches:   make(map[destination]int),
	}
}

var errStopped error = messages.Errorf(messages.Unavailable, "placements are not available at the moment")

// Messages that the Manager sends to itself.
type (
	// run calls f. Timers and answers from hosts send it.
	run                 struct{ f func(*stage.Context) }
	gameSessionLaunched struct {
		hosts       messages.Sender
		e           *entry
		try         int
		destination destination
		game        *messages.GameSession
		err         error
	}
)

// OnDeadLetter implements stage.DeadLetter. It ends the game session, because there is no Manager left to use it.
func (l gameSessionLaunched) OnDeadLetter() {
	if l.game != nil {
		giveUp(l.hosts, l.game.ID)
	}
}

// Started implements stage.Actor.
func (m *Manager) Started(c *stage.Context) {
	m.ledger = ledger.New(ledger.Options{
		Store: m.o.Store, Publish: m.o.OnEvent, Log: c.Log(),
		Tell:    func(msg any) { c.Self().Tell(msg) },
		After:   func(d time.Duration, msg any) { c.After(d, msg) },
		Stopped: errStopped,
	})
	m.retention = m.ledger.NewRetention(ledger.Limits{
		Kind: store.Placement, EndedMax: m.o.EndedMax, KeepFor: m.o.EndedKeep, BytesMax: m.o.BytesMax,
	}, func(id string) { delete(m.placements, messages.PlacementID(id)) })
	m.timer = c.After(time.Hour, run{m.onTick})
	m.timer.Stop()
	m.awaitRoom(c)
	m.restore(c)
	m.countWaiting(c)
}

func (m *Manager) awaitRoom(c *stage.Context) {
	self := c.Self()
	messages.Send(m.hosts, messages.AwaitRoom{Since: m.room}, func(r messages.Room, err error) {
		self.Tell(run{func(c *stage.Context) { m.onRoomFound(c, r, err) }})
	})
}

func (m *Manager) onRoomFound(c *stage.Context, r messages.Room, err error) {
	if err != nil {
		c.After(passEvery, run{m.awaitRoom})
		return
	}
	m.room = r.Version
	m.awaitRoom(c)
	m.onRoom(c)
}

func (m *Manager) countWaiting(c *stage.Context) {
	c.Counters().PlacementsWaiting.Store(int64(len(m.due)))
}

// Stopped implements stage.Actor. After a crash it ends all attempts, because the next Manager starts new ones.
func (m *Manager) Stopped(c *stage.Context) {
	m.ledger.Stop(true)
	for _, e := range m.placements {
		e.answer(errStopped)
	}
	if c.Crash() == "" {
		return
	}
	for id, e := range m.attempts {
		if e.state != ending || !e.fulfilled { // otherwise the result of the commit decides (see end)
			giveUp(m.hosts, id)
		}
	}
}

func (m *Manager) onAsk(c *stage.Context, a stage.Ask) {
	switch q := a.Request.(type) {
	case messages.StartPlacement:
		m.onStart(c, stage.As(q, a))
	case messages.PlacementQuery:
		stage.As(q, a).Reply(m.get(c, q.ID))
	case messages.PlacementList:
		stage.As(q, a).Reply(m.list(c, q), nil)
	case Place:
		m.onPlace(c, stage.As(q, a))
	case messages.StopPlacement:
		m.onStop(c, stage.As(q, a))
	case messages.CreateQueue:
		m.onNewQueue(c, stage.As(q, a))
	case messages.UpdateQueue:
		m.onUpdateQueue(stage.As(q, a))
	case messages.DeleteQueue:
		m.onDropQueue(c, stage.As(q, a))
	case messages.QueueQuery:
		stage.As(q, a).Reply(m.allQueues(), nil)
	case messages.TagQuery:
		stage.As(q, a).Reply(m.tags(q.Resource))
	case messages.UpdateTags:
		m.onUpdateTags(stage.As(q, a))
	default:
		c.Unknown(a)
	}
}

// Receive implements stage.Actor.
func (m *Manager) Receive(c *stage.Context, msg any) {
	switch r := msg.(type) {
	case stage.Ask:
		m.onAsk(c, r)
	case Drain:
		m.draining = true
	case CancelDrain:
		m.draining = false
		m.onRoom(c)
	case run:
		r.f(c)
	case gameSessionLaunched:
		m.onLaunched(c, r)
	case ledger.Answer:
		m.ledger.Answered(r)
	case ledger.Due:
		m.ledger.TryAgain(r)
	default:
		c.Unknown(msg)
	}
	m.countWaiting(c)
}

// onTick calls step for all placements that are due and sets the timer for the next one.
func (m *Manager) onTick(c *stage.Context) {
	m.armed = time.Time{}
	now := time.Now()
	var wanting []*queue
	for len(m.due) > 0 && !m.due[0].due.After(now) {
		e := m.due[0]
		if q := e.queue; m.step(c, e, now) && !slices.Contains(wanting, q) {
			wanting = append(wanting, q)
		}
	}
	for _, q := range wanting {
		m.ask(c, q)
	}
	m.arm()
}

// step ends a placement that has timed out or whose queue was deleted. Otherwise, if the placement is idle, step adds
// it to its queue's next pass and returns true.
func (m *Manager) step(c *stage.Context, e *entry, now time.Time) (wants bool) {
	m.due.schedule(e, nextStep(e, now))
	switch {
	case e.state == ending:
	case e.queue.deleted:
		m.end(c, e, messages.PlacementFailed, nil)
	case !now.Before(e.timeout()):
		m.end(c, e, messages.PlacementTimedOut, nil)
	case e.state == idle:
		e.state = passing
		e.queue.waiting = append(e.queue.waiting, e)
		return true
	}
	return false
}

// nextStep returns the next whole second since the placement's start, or its timeout if that is earlier.
func nextStep(e *entry, now time.Time) time.Time {
	passed := max(now.Sub(e.start), 0)
	at := e.start.Add(passed.Truncate(passEvery) + passEvery)
	if t := e.timeout(); t.After(now) && t.Before(at) {
		return t
	}
	return at
}

// arm sets the timer for the first step that is due.
func (m *Manager) arm() {
	if len(m.due) == 0 {
		return
	}
	if first := m.due[0].due; m.armed.IsZero() || first.Before(m.armed) {
		m.armed = first
		m.timer.Reset(max(time.Until(first), 0))
	}
}

func (m *Manager) endAttempt(e *entry) {
	e.tries++ // so that answers to the old attempt are ignored
	if e.attempt != "" {
		delete(m.attempts, e.attempt)
		giveUp(m.hosts, e.attempt)
		e.attempt = ""
	}
}

func (m *Manager) leave(e *entry) {
	e.state = ended
	e.answer(nil)
	m.due.drop(e)
	e.queue.countEnded()
	e.queue, e.ranking, e.order = nil, nil, nil
}

// Inspect implements stage.Inspector.
func (m *Manager) Inspect() map[string]string {
	return m.retention.Inspect(map[string]string{"queues": strconv.Itoa(len(m.queues)), "pending": strconv.Itoa(len(m.due))})
}

// allQueues returns the queues that are not being deleted, oldest first.
func (m *Manager) allQueues() []*messages.Queue {
	all := make([]*messages.Queue, 0, len(m.queues))
	for _, q := range m.queues {
		if !q.deleted {
			all = append(all, q.record)
		}
	}
	slices.SortFunc(all, func(a, b *messages.Queue) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return all
}
