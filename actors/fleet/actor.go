package fleet

import (
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/fleet/hosting"
	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Registry is the one actor that knows all game sessions.
type Registry struct {
	o Options

	// owned by the actor
	fleets     map[messages.FleetID]*fleetEntry
	aliases    map[messages.AliasID]*messages.Alias
	sessions   map[messages.GameSessionID]*entry
	order      []*entry // oldest first; forgotten ones are swept out later
	forgotten  int      // of them, at least
	tokens     map[tokenKey]*entry
	players    *playerIndex
	refs       map[*stage.Ref]*entry
	creators   creators
	scripts    map[messages.ScriptID]*scriptEntry
	locations  map[string]messages.Location // of the configuration, and custom ones
	live       map[string]int               // game sessions that have not ended, by location
	ended      []*entry                     // gone for good, in the order of their ends
	endedBytes int                          // that these hold in memory, about
	restored   restored                     // until Started
	unread     unread                       // stored records that are left out; set once
	storeLog   zerolog.Logger               // sampled: for what is not stored; set once
	deleted    []*fleetEntry                // TERMINATED, in the order of their ends
	watchers   []*stage.Ref                 // of WatchRoom
	drain      drain
	ledger     *ledger.Ledger
	hosting    *hosting.Hosting
	context    *stage.Context // once it has started

	work sync.WaitGroup // goroutines beside the actor
}

type fleetEntry struct {
	record     *messages.Fleet
	live       map[string]int // game sessions that have not ended, by location
	activating map[string]int // of them, those that are not ACTIVE yet
	events     events
	shown      shown
	configured bool // of the configuration, which brings it back at each start
}

type entry struct {
	id        messages.GameSessionID
	fleet     *fleetEntry
	location  string
	token     string   // IdempotencyToken
	made      [32]byte // of what; see fingerprint
	published *gamesession.Publisher
	process   *hosting.Process // of a fleet with a script
	earlier   bool             // takes no new players and ends without any: its script has a newer content
	ref       *stage.Ref       // nil once the actor has stopped
	players   []messages.PlayerSessionID
	over      bool
	crashed   bool         // by its own fault; set before over
	starting  bool         // counted as ACTIVATING
	overdue   *stage.Timer // while that: it takes too long; of a fleet with a script
	endedAt   time.Time
	forgotten bool
	bytes     int  // that it holds in memory once it has ended, about
	stored    bool // durable, and shown from then on
	waiting   []func(*messages.GameSession, error)
	told      messages.GameSessionStatus        // of by an event
	open      map[messages.PlayerSessionID]bool // of them no event has told the end; with OwnEvents
	notify    *stage.Ref                        // of Launch; nil once it has been told
}

type tokenKey struct {
	fleet    messages.FleetID
	location string
	token    string
}

// New returns the registry, with what Options.Store has. No record of it is an error: see
// Damaged.
func New(o Options) (*Registry, error) {
	if o.EndedMax <= 0 {
		o.EndedMax = DefaultEndedMax
	}
	if o.EndedKeep <= 0 {
		o.EndedKeep = DefaultEndedKeep
	}
	if o.ProcessesMax <= 0 {
		o.ProcessesMax = DefaultProcessesMax
	}
	if o.GroupsMax <= 0 {
		o.GroupsMax = DefaultGroupsMax
	}
	if o.Store == nil {
		o.Store = new(store.Memory)
	}
	r := &Registry{
		o:         o,
		fleets:    make(map[messages.FleetID]*fleetEntry),
		aliases:   make(map[messages.AliasID]*messages.Alias),
		sessions:  make(map[messages.GameSessionID]*entry),
		tokens:    make(map[tokenKey]*entry),
		players:   newPlayerIndex(),
		refs:      make(map[*stage.Ref]*entry),
		scripts:   make(map[messages.ScriptID]*scriptEntry),
		locations: make(map[string]messages.Location),
		live:      make(map[string]int),
		unread:    make(unread),
	}
	r.ledger = ledger.New(ledger.Options{
		Store: o.Store, Log: &r.storeLog, Leave: o.OnEvent, Stopped: unavailable(),
		Lost:  func(n int) { r.context.Counters().Events.Add(counters.EventDropped, int64(n)) },
		Tell:  func(msg any) { r.context.Self().Tell(msg) },
		After: func(d time.Duration, msg any) { r.context.After(d, msg) },
	})
	r.hosting = hosting.New(hosting.Options{NewProgram: o.NewProgram, Settings: r.settings, Catalog: r, Listener: r})
	r.locations[o.Region] = messages.Location{Name: o.Region}
	for _, l := range o.Locations {
		r.locations[l.Name] = l
	}
	for _, s := range o.Scripts {
		r.scripts[s.Record.ID] = &scriptEntry{record: s.Record, bundle: s.Bundle, configured: true}
	}
	for _, f := range o.Fleets {
		r.fleets[f.ID] = newFleetEntry(f)
		r.fleets[f.ID].configured = true
	}
	for _, a := range o.Aliases {
		r.aliases[a.ID] = a
	}
	return r, r.restore()
}

// Started has the scripts of fleets that are there from the start loaded.
func (r *Registry) Started(c *stage.Context) {
	r.storeLog = c.Log().Sample(&zerolog.BurstSampler{Burst: 5, Period: time.Second})
	r.context = c
	r.hosting.Started(c)
	r.revive(c)
}

// Stopped implements stage.Actor. All game sessions have stopped before.
func (r *Registry) Stopped(c *stage.Context) {
	r.hosting.Stopped()
	r.answerUnstored()
	r.ledger.Stop(c.Crash() == "")
	r.drain.answer(nil)
}

// Receive implements stage.Actor.
func (r *Registry) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case *player.Login:
		r.onLogin(m)
	case stage.Request[messages.CreateGameSession, *messages.GameSession]:
		r.onCreate(c, m)
	case stage.Request[Launch, *messages.GameSession]:
		r.onLaunch(c, m)
	case stage.Request[CheckDestinations, stage.None]:
		m.Reply(stage.None{}, r.CheckDestinations(m.Request.Destinations))
	case stage.Request[Candidates, []Candidate]:
		m.Reply(r.candidates(c, m.Request.Destinations))
	case WatchRoom:
		r.watchers = append(r.watchers, m.Notify)
	case gamesession.Changed:
		r.onChanged(c, m)
	case stage.Request[messages.UpdateGameSession, *messages.GameSession]:
		r.onUpdateGameSession(m)
	case stage.Request[messages.CreatePlayerSessions, []*messages.PlayerSession]:
		r.onCreatePlayers(m)
	case stage.Request[messages.TerminateGameSession, *messages.GameSession]:
		r.onTerminateGameSession(c, m)
	case GiveUp:
		r.onGiveUp(c, m)
	case stage.Request[messages.GameSessionQuery, []*messages.GameSession]:
		r.forgetOld(c)
		read, err := r.gameSessions(m.Request)
		answer(r, read, err, m.Reply)
	case stage.Request[messages.ActiveGameSessionQuery, []*gamesession.Published]:
		m.Reply(r.liveSessions(m.Request))
	case stage.Request[messages.PlayerSessionQuery, []*messages.PlayerSession]:
		r.forgetOld(c)
		read, err := r.playerSessions(m.Request)
		answer(r, read, err, m.Reply)
	case stage.Request[Fleets, []*messages.Fleet]:
		r.forgetOld(c)
		m.Reply(r.allFleets(), nil)
	case stage.Request[Depth, Depths]:
		m.Reply(r.depths(c), nil)
	case stage.Request[ScriptsLoaded, stage.None]:
		r.onScriptsLoaded(m)
	case activationDue:
		r.onActivationDue(c, m)
	case stage.Request[gamesession.PlayerSessionsCreated, []*messages.PlayerSession]:
		r.onSeatsMade(c, m)
	case gamesession.PlayerSessionChanged:
		r.onSeatChanged(c, m)
	case gamesession.PlayerSessionsForgotten:
		r.onSeatsForgotten(m)
	case gamesession.Over:
		r.onProcessOver(c, m) // its place is free; Exited follows
	case stage.Exited:
		r.onExited(c, m)
	case stage.Request[Drain, stage.None]:
		r.onDrain(c, m)
	case stage.Request[CancelDrain, stage.None]:
		m.Reply(stage.None{}, r.cancelDrain(c))
	case hosting.Stuck:
		r.onStuck(m)
	case graceOver:
		r.endAll(c)
	case ledger.Answer:
		r.ledger.Answered(m)
	case ledger.Due:
		r.ledger.TryAgain(m)
	case endOne:
		r.terminate(r.sessions[m.id])
	default:
		if !r.hosting.Receive(msg) && !r.receiveResources(c, msg) {
			c.Unknown(msg)
		}
	}
}

// onLogin finds the game session of a player session.
func (r *Registry) onLogin(l *player.Login) {
	e := r.players.get(l.ID)
	if e == nil || e.ref == nil {
		if e != nil {
			l.From.Because(wire.RefusedEnded)
		}
		l.From.Refuse(0)
		return
	}
	e.ref.Tell(l)
}

func (r *Registry) onCreatePlayers(m stage.Request[messages.CreatePlayerSessions, []*messages.PlayerSession]) {
	e := r.known(m.Request.GameSessionID)
	switch {
	case r.drain.on:
		m.Reply(nil, unavailable())
	case e == nil:
		m.Reply(nil, notFound(m.Request.GameSessionID))
	case e.ref == nil:
		m.Reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s, not ACTIVE", e.id, e.published.Session().Status))
	default:
		e.ref.Tell(stage.Request[gamesession.CreatePlayers, []*messages.PlayerSession]{Request: gamesession.CreatePlayers(m.Request), Reply: m.Reply})
	}
}

// onProcessOver handles the end of a game session, or of a stand-by process.
func (r *Registry) onProcessOver(c *stage.Context, m gamesession.Over) {
	if r.hosting.Over(m.Ref, m.Text) {
		return
	}
	e := r.refs[m.Ref]
	if e == nil {
		return
	}
	if m.Session == "" { // it ended while its game session was on the way to it
		r.replace(c, e)
		return
	}
	e.crashed = m.Failed
	if m.Failed && e.process != nil {
		r.hosting.Crashed(e.process, m.Text)
	}
	r.onOver(c, e)
}

// onOver takes an ended game session out of the fleet's capacity.
func (r *Registry) onOver(c *stage.Context, e *entry) {
	if e == nil || e.over {
		return
	}
	e.over, e.endedAt = true, c.Now()
	r.occupy(e, -1)
	e.fleet.shown.over(e)
	r.storeChange(c, e)
	r.tellFreed(e)
	r.tellLaunched(e)
	v := e.published.Session()
	level, what := zerolog.InfoLevel, "game session ended"
	if e.crashed {
		level, what = zerolog.WarnLevel, "game session crashed"
	}
	c.Log().WithLevel(level).Str("game_session_id", string(e.id)).Str("reason", v.EndText).Msg(what)
	r.finishFleet(c, e.fleet)
}

// onExited handles the end of a game session's actor. A crash ends the game
// session and says so; it is never restarted.
func (r *Registry) onExited(c *stage.Context, m stage.Exited) {
	if r.hosting.Exited(m.Ref, m.Crash) {
		r.finishDrain()
		return
	}
	e := r.refs[m.Ref]
	if e == nil {
		return
	}
	delete(r.refs, m.Ref)
	e.ref = nil
	if m.Crash != "" {
		e.crashed = true
		if e.process != nil && !e.over {
			r.hosting.Crashed(e.process, m.Crash)
		}
	}
	r.onOver(c, e)
	if e.process != nil {
		r.hosting.Release(e.process)
	}
	r.keepEnded(e)
	r.forgetEnded(c)
	r.finishDrain()
}

// forgetOld drops what has been over for long.
func (r *Registry) forgetOld(c *stage.Context) {
	r.forgetEnded(c)
	r.forgetFleets(c.Now())
}

func notFound(id messages.GameSessionID) error {
	return messages.Errorf(messages.NotFound, "game session %s is not known here", id)
}

// mailbox of a new game session's actor.
func (r *Registry) newRef(c *stage.Context) *stage.Ref {
	return c.Stage().NewRef(counters.ActorGameSession, r.o.Session.Mailbox)
}

// onStuck ends a process whose call cannot be ended.
func (r *Registry) onStuck(m hosting.Stuck) {
	if e := r.refs[m.Ref]; e != nil {
		r.hosting.Stuck(m, e.process, string(e.id))
		return
	}
	r.hosting.Stuck(m, nil, "")
}
