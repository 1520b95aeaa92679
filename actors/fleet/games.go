package fleet

import (
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/fleet/catalog"
	"troupe/actors/fleet/hosting"
	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/player"
	"troupe/actors/serverprocess/launch"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// games owns the game sessions of this host. Only the fleet actor may use it, except for the field players.
type games struct {
	o          Options
	catalog    *catalog.Catalog
	hosting    *hosting.Hosting
	fleets     map[messages.FleetID]*fleetGames
	sessions   map[messages.GameSessionID]*entry
	order      []*entry // oldest first; forgotten ones are removed later (see sweep)
	forgotten  int      // lower bound of the number of forgotten ones in order
	tokens     map[tokenKey]*entry
	players    playerIndex
	refs       map[*stage.Ref]*entry
	live       map[string]int // number of game sessions that have not ended, by location
	ended      []*entry       // game sessions whose actors have stopped, in the order in which they ended
	endedBytes int            // estimated memory of the game sessions in ended
	timelines  timelines      // timelines of the game sessions that ended last
	restored   restored       // result of restore; used by started
	unread     store.Unread
	servers    servers
	serving    int // number of actors of game sessions that outlive this host
	news       roomNews
	drain      drain
	builds     buildFiles
	launcher   *launch.Launcher // nil: this host starts no game servers; set when the actor has started
	ledger     *ledger.Ledger
	storeLog   zerolog.Logger // sampled log for failed commits; set once
	context    *stage.Context // the fleet actor's context; nil until the actor has started
	work       sync.WaitGroup // goroutines started by games
}

type entry struct {
	id         messages.GameSessionID
	fleet      *fleetGames
	location   string
	token      string   // IdempotencyToken
	made       [32]byte // fingerprint of the request with the token
	published  *gamesession.Publisher
	process    *hosting.Process // nil for a fleet without a script
	server     *server          // the process that runs it; nil if this host does, or if the process has ended before this start
	onServer   bool             // a process that speaks the Server SDK runs it, or has run it
	handler    *serverHandler   // nil without server
	ref        *stage.Ref       // nil once the actor has stopped
	phase      phase
	storage    storage
	claim      claim
	written    bool         // the store has the record
	superseded bool         // newer content of its script runs; the game session accepts no new players and ends when it is empty
	overdue    *stage.Timer // timer of the time limit for phaseActivating; only for a fleet with a script
	endedAt    time.Time
	bytes      int // estimated memory once the game session has ended
	players    []messages.PlayerSessionID
	waiting    []func(*messages.GameSession, error)
	told       messages.GameSessionStatus         // the last status that was published as an event
	open       map[messages.PlayerSessionID]bool  // player sessions whose end has not been published as an event; only with OwnEvents
	activation []func(messages.Activation, error) // answers the pending AwaitActivation requests
	seats      seatNews
}

// phase is the last phase that the game session's actor reported. The published status may be newer.
type phase uint8

const (
	phaseActivating phase = iota
	phaseRunning          // ACTIVE or TERMINATING
	phaseOver
)

// storage says whether a game session is durable and therefore visible.
type storage uint8

const (
	unstored storage = iota
	stored
	forgotten // deleted or never stored
)

// claim says whether the game session is recorded in the directory of a cluster.
type claim uint8

const (
	unclaimed claim = iota // the host is not part of a cluster
	claiming
	claimed
	claimLost // another node has the game session, or the directory did not answer
)

// runs reports whether a game session has an actor and has not ended.
func (e *entry) runs() bool { return e.ref != nil && e.phase != phaseOver }

type tokenKey struct {
	fleet    messages.FleetID
	location string
	token    string
}

func newGames(o Options, c *catalog.Catalog) *games {
	gs := &games{
		o: o, catalog: c, fleets: make(map[messages.FleetID]*fleetGames), sessions: make(map[messages.GameSessionID]*entry),
		tokens: make(map[tokenKey]*entry), players: newPlayerIndex(),
		refs: make(map[*stage.Ref]*entry), live: make(map[string]int), servers: newServers(),
	}
	gs.ledger = ledger.New(ledger.Options{
		Store: o.Store, Log: &gs.storeLog, Publish: o.OnEvent, Stopped: unavailable(),
		EventsDropped: func(n int) { gs.context.Counters().Events.Add(counters.EventDropped, int64(n)) },
		Tell:          func(msg any) { gs.context.Self().Tell(msg) },
		After:         func(d time.Duration, msg any) { gs.context.After(d, msg) },
	})
	return gs
}

// started ends the game sessions that were running in an earlier process of the host.
func (gs *games) started(c *stage.Context) {
	gs.storeLog = c.Log().Sample(&zerolog.BurstSampler{Burst: 5, Period: time.Second})
	gs.context = c
	gs.tellDamage()
	gs.endRestored()
	gs.startLauncher()
	gs.startBuilds()
}

func (gs *games) stopped(last bool) {
	gs.answerUnstored()
	for _, p := range gs.servers.of {
		gs.count(p, 0)
	}
	gs.ledger.Stop(last)
	gs.drain.answer(nil)
}

// ask answers a request about game sessions, possibly later. It returns false for other requests.
func (gs *games) ask(a stage.Ask) bool {
	switch q := a.Request.(type) {
	case messages.CreateGameSession:
		gs.onCreate(stage.As(q, a))
	case messages.UpdateGameSession:
		gs.onUpdateGameSession(stage.As(q, a))
	case messages.TerminateGameSession:
		gs.onTerminateGameSession(stage.As(q, a))
	case messages.GameSessionQuery:
		gs.forgetEnded()
		if e := gs.known(q.ID); e != nil {
			stage.As(q, a).Reply(e.published.Session(), nil)
		} else {
			a.Reply(nil, notFound(q.ID))
		}
	case messages.FindGameSessions:
		gs.onFind(stage.As(q, a))
	case messages.CreatePlayerSessions:
		gs.onCreatePlayers(stage.As(q, a))
	case messages.PlayerSessionQuery:
		gs.onPlayerSessionQuery(stage.As(q, a))
	case messages.FillGameSession:
		gs.onFill(stage.As(q, a))
	case messages.InspectGameSession:
		gs.onInspect(q, a)
	case messages.KickPlayer:
		gs.onKick(q, a)
	case gamesession.PlayerSessionsCreated:
		gs.onPlayerSessionsCreated(stage.As(q, a))
	case messages.Launch:
		gs.onLaunch(stage.As(q, a))
	case ProcessCall:
		gs.onProcessCall(stage.As(q, a))
	case gamesession.StorePlayer:
		gs.onStorePlayer(stage.As(q, a))
	case messages.AwaitActivation:
		gs.onAwaitActivation(stage.As(q, a))
	case messages.Candidates:
		stage.As(q, a).Reply(gs.candidates(q.Destinations))
	case messages.AwaitRoom:
		gs.onAwaitRoom(stage.As(q, a))
	case messages.AwaitSeats:
		gs.onAwaitSeats(stage.As(q, a))
	case messages.GiveUp:
		gs.giveUp(q.ID)
		stage.As(q, a).Reply(stage.None{}, nil)
	case messages.FleetUseQuery:
		gs.forgetEnded()
		stage.As(q, a).Reply(gs.uses(q), nil)
	case messages.FleetRoomQuery:
		stage.As(q, a).Reply(gs.rooms(), nil)
	case messages.InstanceQuery:
		stage.As(q, a).Reply(gs.instances(q))
	case messages.DepthQuery:
		stage.As(q, a).Reply(gs.depths(), nil)
	case messages.Drain:
		gs.onDrain(stage.As(q, a))
	case messages.CancelDrain:
		stage.As(q, a).Reply(stage.None{}, gs.cancelDrain())
	default:
		return false
	}
	return true
}

// receive handles messages about game sessions. It returns false for other messages.
func (gs *games) receive(msg any) bool {
	switch m := msg.(type) {
	case *player.Login:
		gs.onLogin(m)
	case gamesession.BackfillAsked:
		gs.onBackfillAsked(m)
	case gamesession.Crashed:
		gs.timelines.keep(m.Session, m.Moments)
	case gamesession.Changed:
		gs.onChanged(m)
	case activationDue:
		gs.onActivationDue(m)
	case serverDue:
		gs.onServerDue(m.p)
	case serverTold:
		gs.onServerTold(m)
	case serverEnds:
		gs.onServerEnds(m)
	case gamesession.PlayerSessionChanged:
		gs.onPlayerSessionChanged(m)
	case gamesession.PlayerSessionsForgotten:
		gs.onPlayerSessionsForgotten(m)
	case claimAnswered:
		gs.onClaimAnswered(m)
	case graceOver:
		gs.endAll()
	case ledger.Answer:
		gs.ledger.Answered(m)
	case ledger.Due:
		gs.ledger.TryAgain(m)
	case endOne:
		gs.terminate(gs.sessions[m.id])
	default:
		return gs.onLaunched(msg)
	}
	return true
}

// onLogin forwards a login to the game session of its player session.
func (gs *games) onLogin(l *player.Login) {
	e := gs.players.get(l.ID)
	if e != nil && e.ref != nil {
		e.ref.Tell(l)
		return
	}
	if e != nil {
		l.From.SetRefusal(wire.RefusedGameSessionEnded)
	}
	l.From.Refuse(0)
}

func (gs *games) onCreatePlayers(m stage.Request[messages.CreatePlayerSessions, []*messages.PlayerSession]) {
	e := gs.known(m.Request.GameSessionID)
	switch {
	case gs.drain.on && gs.o.Directory != nil && e != nil: // the caller need not try again (cluster.md 6.4)
		m.Reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s takes no more players: its host drains", e.id))
	case gs.drain.on:
		m.Reply(nil, unavailable())
	case e == nil:
		m.Reply(nil, notFound(m.Request.GameSessionID))
	case e.ref == nil:
		m.Reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s, not ACTIVE", e.id, e.published.Session().Status))
	default:
		messages.Send(e.ref, gamesession.CreatePlayers{CreatePlayerSessions: m.Request}, m.Reply)
	}
}

func (gs *games) onProcessOver(m gamesession.Over) {
	e := gs.refs[m.Ref]
	if e == nil {
		return
	}
	if m.Session == "" { // the process ended before it received Assign
		gs.replace(e)
		return
	}
	gs.timelines.keep(m.Session, m.Moments)
	if m.Failed && e.process != nil {
		gs.hosting.Crashed(e.process, m.Text)
	}
	gs.onOver(e, m.Failed)
}

// onOver removes an ended game session from the use of its fleet's capacity.
func (gs *games) onOver(e *entry, crashed bool) {
	if e.phase == phaseOver {
		return
	}
	gs.activated(e)
	e.phase, e.endedAt = phaseOver, gs.context.Now()
	gs.occupy(e, -1)
	e.fleet.shown.over(e)
	if e.claim == claimed || e.claim == claiming {
		gs.o.Directory.End(e.id, e.storage != forgotten)
	}
	gs.storeChange(e)
	gs.tellFreed(e)
	e.tellActivation()
	e.seats.changed(e)
	gs.freeServerOf(e)
	v := e.published.Session()
	level, what := zerolog.InfoLevel, "game session ended"
	if crashed {
		level, what = zerolog.WarnLevel, "game session crashed"
	}
	gs.context.Log().WithLevel(level).Str("game_session_id", string(e.id)).Str("reason", v.EndText).Msg(what)
	gs.tellEmpty(e.fleet.id)
}

// onExited handles the end of a game session's actor. If the actor crashed, the game session ends as crashed. It is
// never restarted.
func (gs *games) onExited(m stage.Exited) {
	e := gs.refs[m.Ref]
	if e == nil {
		return
	}
	delete(gs.refs, m.Ref)
	if e.ref = nil; gs.outlives(e) {
		gs.serving--
	}
	if m.Crash != "" && e.process != nil && e.phase != phaseOver {
		gs.hosting.Crashed(e.process, m.Crash)
	}
	gs.onOver(e, m.Crash != "")
	if e.process != nil {
		gs.hosting.Release(e.process)
	}
	gs.keepEnded(e)
	gs.forgetEnded()
}

func notFound(id messages.GameSessionID) error {
	return messages.Errorf(messages.NotFound, "game session %s is not known here", id)
}

// processOf returns the process of an actor and the id of its game session. It returns nil and "" if the actor has no
// game session.
func (gs *games) processOf(ref *stage.Ref) (*hosting.Process, messages.GameSessionID) {
	if e := gs.refs[ref]; e != nil {
		return e.process, e.id
	}
	return nil, ""
}
