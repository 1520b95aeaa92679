package gamesession

import (
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/group"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

// Actor is one game session.
type Actor struct {
	// set once
	o          Options
	c          *stage.Context // of this actor; valid in its own calls
	relay      bool           // the handler is script.Relay: gates need not be asked
	playersMax int            // of the script
	ping       time.Duration
	drops      zerolog.Logger // sampled: for packets that are dropped

	// owned by the actor
	record    messages.GameSession // what the API may edit of it is as it was at first
	byID      map[messages.PlayerSessionID]*seat
	byPlayer  map[*player.Handle]*seat
	byRef     map[*stage.Ref]*seat
	order     []*seat // all remembered, in order of creation
	finished  int     // of them, how many are final
	roster    []*seat // accepted, in order of acceptance: group -1
	byPeer    map[messages.PeerID]*seat
	joining   int // seats before the gate's answer
	peers     peerIDs
	groups    map[messages.GroupID]*groupEntry
	groupRef  map[*stage.Ref]*groupEntry
	fanout    fanoutLimit    // of players
	sending   fanoutLimit    // of the game itself
	inflow    *player.Inflow // nil is no bound
	message   script.Message // scratch for callbacks
	phase     phase
	exit      *exitCall
	gauge     counters.GameSessionState
	empty     *stage.Timer
	sick      int          // health checks failed in a row
	assigned  bool         // there is a game session
	placed    bool         // OnStartGameSession has begun: the id may be seen
	owed      []*seat      // players that wait for an ack
	ackTimer  *stage.Timer // running while there are any
	window    time.Duration
	lastOnly  bool         // end with the last player, whatever EmptyTimeout says
	decided   []func()     // what goes on after decisions that took time
	checking  *stage.Timer // of the health
	crashed   bool
	terminate *Terminate // OnProcessTerminate is under way
}

// phase is where the game session itself stands; the API's status follows.
type phase uint8

const (
	loading    phase = iota + 1 // up to onProcessStarted
	idle                        // ready for a game session
	activating                  // in onStartGameSession
	active
	ending  // ProcessEnding was called, or OnProcessTerminate runs: no logins, players stay
	closing // players are being closed
	over
)

// seat is one player session.
type seat struct {
	player   *player.Handle
	durable  *player.Durable
	ref      *stage.Ref                   // nil once its actor has stopped
	view     *playerSessionView           // what the API sees
	waiting  bool                         // before the gate's answer
	in       bool                         // in the roster
	told     messages.PlayerSessionStatus // to the fleet
	unstored bool                         // is not durable yet: nobody knows of it
	unmade   bool                         // could not be stored: to be forgotten
	left     bool                         // by itself: it may come again
	again    bool                         // has come again, and is not in yet
	removed  []func()                     // what comes after onPlayerDisconnect, which takes time
	leaving  bool                         // out of the game, and its actor is not gone yet
	late     *player.Login                // came meanwhile
	gate     *script.Pending              // onPlayerConnect takes time
	owed     bool                         // waits for an ack
	epoch    messages.Epoch               // of the newest connection that it has said something on
	op       groupOp
	asked    *script.Pending    // a gate that takes time has been asked about
	held     *Inbound           // this, nil for a group operation
	stash    []*Inbound         // what came behind op, or behind the question
	ended    []player.Ended     // what came behind stash
	kick     *player.Kick       // the game has removed the player
	unjoined []messages.GroupID // that it has sent to without being in, the first ones
	restarts restarts
}

// groupOp is a player's group operation that is under way; the zero value is none.
type groupOp struct {
	group messages.GroupID
	join  bool
	again bool // asked a second time, after a crash of the group
}

// groupEntry is one group. A successor of a crashed group gets a handle of its
// own, so that what the dead one still said is told apart.
type groupEntry struct {
	handle   *group.Handle
	pending  int              // joins and leaves under way
	leaving  []*player.Handle // of them, players that are out of the game
	restarts restarts
}

type exitCall struct {
	code   int
	reason string // of a crash
}

// New returns the actor of one game session.
func New(o Options) *Actor {
	_, relay := o.Handler.(script.Relay)
	a := &Actor{
		o: o, relay: relay,
		byID:     make(map[messages.PlayerSessionID]*seat),
		byPlayer: make(map[*player.Handle]*seat),
		byRef:    make(map[*stage.Ref]*seat),
		byPeer:   make(map[messages.PeerID]*seat),
		groups:   make(map[messages.GroupID]*groupEntry),
		groupRef: make(map[*stage.Ref]*groupEntry),
		fanout:   fanoutLimit{perSecond: o.DeliveriesPerSecond, debtMax: 1},
		sending:  fanoutLimit{perSecond: o.ScriptDeliveriesPerSecond, debtMax: sendDebt},
		inflow:   player.NewInflow(o.InboundBytesPerSecond),
		phase:    loading,
	}
	if o.Record != nil {
		a.assigned, a.record = true, *o.Record
	}
	return a
}

// Receive implements stage.Actor.
func (a *Actor) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case *Inbound:
		a.onInbound(m)
	case *player.Login:
		a.onLogin(m)
	case player.Ended:
		a.onEnded(m)
	case player.GateAsked:
		a.onGateAsked(m)
	case player.JoinOver:
		a.onJoinOver(m)
	case player.Accepted:
		a.onAccepted(m)
	case player.WentAway:
		a.onWentAway(m)
	case player.CameBack:
		a.onCameBack(m)
	case player.IsLeaving:
		a.onLeaving(m)
	case player.LoginAgain:
		a.onLogin(m.Login)
	case ackDue:
		a.onAckDue()
	case player.StatusChanged:
		a.onStatusChanged(m)
	case group.Changed:
		a.onGroupChanged(m)
	case CreatePlayers:
		a.onCreatePlayers(m)
	case SeatsStored:
		a.onSeatsStored(m)
	case Assign:
		a.onAssign(m)
	case Terminate:
		a.onTerminate(m)
	case EndWhenEmpty:
		a.onEndWhenEmpty(m)
	case stage.Exited:
		a.onExited(m)
	case task:
		a.callback("task", m.f)
	case emptyCheck:
		a.onEmptyCheck()
	case healthCheck:
		a.onHealthCheck()
	case overdue:
		m.p.Fail("no answer in time")
	case forcedExit:
		a.end(messages.CloseGameEnded, "did not exit after processEnding")
	case closeOver:
		a.finish()
	default:
		c.Unknown(msg)
	}
	a.afterCallbacks()
}

// callback runs one call into the game's logic. A panic in it is caught and
// logged; the result is then false (realtime.md 15.2). A game that has exited
// or ended is not called any more (realtime.md 15.4, D-119).
func (a *Actor) callback(name string, f func()) (ok bool) {
	if a.exit != nil || a.phase >= closing {
		return false
	}
	defer func() {
		if r := recover(); r != nil {
			a.c.Counters().HandlerErrors.Add(1)
			a.o.Log.Host(script.LevelError, name+":", r)
			ok = false
		}
	}()
	f()
	return true
}

// ask puts a question to the game. If its answer takes time, p is what brings it.
func (a *Actor) ask(name string, f func() script.Decision) (ok bool, p *script.Pending) {
	var d script.Decision
	if !a.callback(name, func() { d = f() }) {
		return false, nil
	}
	ok, _ = d.Now()
	return ok, d.Pending()
}

// await has then called with what p brings, behind the callback that brings it;
// at the latest after limit, refused, if that is positive.
func (a *Actor) await(p *script.Pending, limit time.Duration, then func(ok bool)) {
	var t *stage.Timer
	if limit > 0 {
		t = a.c.After(limit, overdue{p})
	}
	p.Then(func(ok bool) {
		if t != nil {
			t.Stop()
		}
		a.decided = append(a.decided, func() { then(ok) })
	})
}

// resolve is ask, and then at once or by await. For questions that are rare.
func (a *Actor) resolve(name string, limit time.Duration, f func() script.Decision, then func(ok bool)) {
	ok, p := a.ask(name, f)
	if p == nil {
		then(ok)
		return
	}
	a.await(p, limit, then)
}

// afterCallbacks does what callbacks asked for that must not happen inside one.
func (a *Actor) afterCallbacks() {
	for a.exit != nil || len(a.decided) > 0 {
		if a.exit != nil {
			a.exited()
			continue
		}
		then := a.decided[0]
		a.decided[0] = nil
		a.decided = a.decided[1:]
		then()
	}
}

// exited ends the game session as its exit says.
func (a *Actor) exited() {
	e := a.exit
	a.exit = nil
	switch {
	case a.terminate != nil: // exiting is what happens now anyway
		a.terminated()
	case e.reason != "":
		a.crash(e.reason)
	case e.code != 0:
		a.crash("exited with an error code")
	case a.phase == ending:
		a.end(messages.CloseGameEnded, "exited")
	default:
		a.crash("exited without processEnding")
	}
}
