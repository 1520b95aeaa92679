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
	// Set once.
	o          Options
	c          *stage.Context // this actor's context; valid only during the actor's own calls
	relay      bool           // the handler is script.Relay, which allows everything, so it is not called
	playersMax int            // the script's maximum
	ping       time.Duration
	drops      zerolog.Logger // sampled log for dropped packets
	window     time.Duration  // the reconnect window

	// The game session.
	record        messages.GameSession // as created; later edits by the API change only the copy in Publisher
	phase         phase
	assignment    assignment
	crashed       bool       // the game session ends because of a failure of the game
	emptied       bool       // the last player has left at least once
	endWhenEmpty  bool       // end when the last player leaves, regardless of EmptyTimeout
	exit          *exitCall  // set when the game has called Exit or Crash; otherwise nil
	terminate     *Terminate // set while OnProcessTerminate runs; otherwise nil
	gauge         counters.GameSessionState
	emptyTimer    *stage.Timer // timer of EmptyTimeout
	healthTimer   *stage.Timer // timer of the health checks
	healthAt      time.Time    // when the next one is due
	reservations  *stage.Timer // timer of the reservations of Options.Server; nil if there are none
	unhealthy     int          // number of consecutive failed health checks
	continuations []func()     // functions to run after asynchronous decisions

	timeline []messages.Moment // the newest momentsMax events, for operators

	// Players.
	byID          map[messages.PlayerSessionID]*playerSession
	byPlayer      map[*player.Handle]*playerSession
	byRef         map[*stage.Ref]*playerSession
	byPeer        map[messages.PeerID]*playerSession
	playerOptions *player.Options  // shared by the player actors
	order         []*playerSession // all player sessions that are not forgotten, in order of creation
	finished      int              // how many player sessions in order have a final status
	roster        []*playerSession // the accepted players (group -1), in order of acceptance
	joining       int              // number of players whose login waits for the game's decision
	highestPeer   messages.PeerID  // the newest peer id; it is assigned again if its login is refused
	fills         []fill           // the newest matches that added players
	backfills     restarts         // counts the game's requests for backfill
	acksPending   []*playerSession // players whose received packets are not yet acknowledged
	ackTimer      *stage.Timer     // runs while acksPending is not empty

	// Traffic.
	groups   map[messages.GroupID]*groupEntry
	groupRef map[*stage.Ref]*groupEntry
	fanout   fanoutLimit    // limits deliveries that players cause
	sending  fanoutLimit    // limits deliveries of the game's own messages
	inflow   *player.Inflow // nil means no limit
	message  script.Message // reused for all callbacks
}

// assignment says whether the process has a game session yet.
type assignment uint8

const (
	unassigned assignment = iota // a stand-by process without a game session
	assigned                     // the process has a game session
	started                      // OnStartGameSession has been called, so the game may know the game session id
)

// phase is the state of the process. The status of the game session is derived from it.
type phase uint8

const (
	loading    phase = iota + 1 // until onProcessStarted returns true
	idle                        // ready for a game session
	activating                  // onStartGameSession is running
	active
	ending  // ProcessEnding was called or OnProcessTerminate is running: no new logins, but players stay connected
	closing // players' connections are being closed
	over
)

// groupOp is a player's group operation that the group has not answered yet. The zero value means that there is none.
type groupOp struct {
	group messages.GroupID
	join  bool
	retry bool // the operation was sent again after a crash of the group
}

// groupEntry is one group. After a crash, the group's successor has a new handle, so late messages of the crashed group
// can be recognized.
type groupEntry struct {
	handle   *group.Handle
	pending  int              // number of joins and leaves that the group has not answered
	leaving  []*player.Handle // players that have left the game but whom the group has not yet removed
	restarts restarts
}

type exitCall struct {
	code   int
	reason string // set for a crash
}

// New returns the actor of one game session.
func New(o Options) *Actor {
	_, relay := o.Handler.(script.Relay)
	a := &Actor{
		o: o, relay: relay,
		byID:     make(map[messages.PlayerSessionID]*playerSession),
		byPlayer: make(map[*player.Handle]*playerSession),
		byRef:    make(map[*stage.Ref]*playerSession),
		byPeer:   make(map[messages.PeerID]*playerSession),
		groups:   make(map[messages.GroupID]*groupEntry),
		groupRef: make(map[*stage.Ref]*groupEntry),
		fanout:   fanoutLimit{perSecond: o.DeliveriesPerSecond, debtMax: 1},
		sending:  fanoutLimit{perSecond: o.ScriptDeliveriesPerSecond, debtMax: sendDebt},
		inflow:   player.NewInflow(o.InboundBytesPerSecond),
		phase:    loading,
	}
	if o.Record != nil {
		a.assignment, a.record = assigned, *o.Record
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
	case Limited:
		a.onLimited(m)
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
	case stage.Ask:
		a.onAsk(m)
	case Updated:
		a.onUpdated(m)
	case PlayerSessionsStored:
		a.onPlayerSessionsStored(m)
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
	case reservationsDue:
		a.onReservationsDue()
	case playerStored:
		a.onPlayerStored(m)
	case closeOver:
		a.finish()
	default:
		c.Unknown(msg)
	}
	a.afterCallbacks()
}

func (a *Actor) onAsk(m stage.Ask) {
	switch q := m.Request.(type) {
	case CreatePlayers:
		a.createPlayers(q.Players, nil, stage.As(q, m).Reply)
	case SetPlayer:
		a.onSetPlayer(stage.As(q, m))
	case Fill:
		a.onFill(stage.As(q, m))
	case messages.InspectGameSession:
		a.onInspect(stage.As(q, m))
	case messages.KickPlayer:
		a.onKick(stage.As(q, m))
	default:
		a.c.Unknown(m)
	}
}

// callback calls the game. It returns false if the game panics (the panic is logged; realtime.md 15.2) or if the game
// has exited or ended, in which case the game is not called.
func (a *Actor) callback(name string, f func()) (ok bool) {
	if a.exit != nil || a.phase >= closing { // D-119
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

// ask asks the game for a decision. If the decision is asynchronous, p is not nil and resolves to it later.
func (a *Actor) ask(name string, f func() script.Decision) (ok bool, p *script.Pending) {
	var d script.Decision
	if !a.callback(name, func() { d = f() }) {
		return false, nil
	}
	ok, _ = d.Now()
	return ok, d.Pending()
}

// await calls then with the decision of p, after the callback that resolves p has returned. If limit is positive and
// passes first, the decision is no.
func (a *Actor) await(p *script.Pending, limit time.Duration, then func(ok bool)) {
	var t *stage.Timer
	if limit > 0 {
		t = a.c.After(limit, overdue{p})
	}
	p.Then(func(ok bool) {
		if t != nil {
			t.Stop()
		}
		a.continuations = append(a.continuations, func() { then(ok) })
	})
}

// resolve asks the game for a decision and calls then with it, either at once or later. It allocates memory, so it is
// meant for rare decisions.
func (a *Actor) resolve(name string, limit time.Duration, f func() script.Decision, then func(ok bool)) {
	ok, p := a.ask(name, f)
	if p == nil {
		then(ok)
		return
	}
	a.await(p, limit, then)
}

// afterCallbacks runs the work that had to wait for the end of a callback: an exit, and the continuations of decisions.
func (a *Actor) afterCallbacks() {
	for a.exit != nil || len(a.continuations) > 0 {
		if a.exit != nil {
			a.exited()
			continue
		}
		then := a.continuations[0]
		a.continuations[0] = nil
		a.continuations = a.continuations[1:]
		then()
	}
}

// exited ends the game session for the reason in a.exit.
func (a *Actor) exited() {
	e := a.exit
	a.exit = nil
	switch {
	case a.terminate != nil: // the game session is already ending
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
