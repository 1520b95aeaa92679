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
	c          *stage.Context // of this actor; valid in its own calls
	relay      bool           // the handler is script.Relay, which allows everything: it is not asked
	playersMax int            // of the script
	ping       time.Duration
	drops      zerolog.Logger // sampled: for dropped packets
	window     time.Duration  // the reconnect window

	// The game session.
	record        messages.GameSession // as it was created; edits by the API are in Publisher only
	phase         phase
	assignment    assignment
	crashed       bool       // the end is the game's fault
	emptied       bool       // the last player has left, at least once
	endWhenEmpty  bool       // end with the last player, regardless of EmptyTimeout
	exit          *exitCall  // the game has called Exit or Crash; nil if it has not
	terminate     *Terminate // OnProcessTerminate runs
	gauge         counters.GameSessionState
	emptyTimer    *stage.Timer // of EmptyTimeout
	healthTimer   *stage.Timer // of health checks
	unhealthy     int          // health checks that failed in a row
	continuations []func()     // continuations of decisions that took time

	timeline []messages.Moment // the last momentsMax, for operators

	// Players.
	byID          map[messages.PlayerSessionID]*playerSession
	byPlayer      map[*player.Handle]*playerSession
	byRef         map[*stage.Ref]*playerSession
	byPeer        map[messages.PeerID]*playerSession
	playerOptions *player.Options  // shared by player actors
	order         []*playerSession // all that are not forgotten, in order of creation
	finished      int              // how many of order have a final status
	roster        []*playerSession // accepted, in order of acceptance: group -1
	joining       int              // players that wait for the answer to their login
	highestPeer   messages.PeerID  // assigned last; the id of a refused login is assigned again if it is this one
	fills         []fill           // the last matches that have added players
	backfills     restarts         // requests of the game for backfill
	acksPending   []*playerSession // have received packets that are not acknowledged
	ackTimer      *stage.Timer     // runs while acksPending is not empty

	// Traffic.
	groups   map[messages.GroupID]*groupEntry
	groupRef map[*stage.Ref]*groupEntry
	fanout   fanoutLimit    // of players
	sending  fanoutLimit    // of the game itself
	inflow   *player.Inflow // nil: no limit
	message  script.Message // reused for every callback
}

// assignment says whether the process has a game session.
type assignment uint8

const (
	unassigned assignment = iota // a stand-by process
	assigned                     // it has a game session
	started                      // OnStartGameSession has begun: the game may see the id
)

// phase is the state of the process. The game session's status follows it.
type phase uint8

const (
	loading    phase = iota + 1 // until onProcessStarted has returned true
	idle                        // ready for a game session
	activating                  // onStartGameSession runs
	active
	ending  // ProcessEnding was called, or OnProcessTerminate runs: no logins; players stay connected
	closing // players' connections are being closed
	over
)

// groupOp is a player's group operation without an answer yet. The zero value is none.
type groupOp struct {
	group messages.GroupID
	join  bool
	retry bool // asked for a second time, after a crash of the group
}

// groupEntry is one group. A crashed group's successor has another handle: late messages of the crashed one are recognised.
type groupEntry struct {
	handle   *group.Handle
	pending  int              // joins and leaves that the group has not answered
	leaving  []*player.Handle // players that have left the game and wait for the group's answer
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

// callback calls the game; after a panic, which is logged, it is false (realtime.md 15.2). An exited or ended game is not called.
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

// ask asks the game for a decision; if that takes time, p is not nil and resolves to it later.
func (a *Actor) ask(name string, f func() script.Decision) (ok bool, p *script.Pending) {
	var d script.Decision
	if !a.callback(name, func() { d = f() }) {
		return false, nil
	}
	ok, _ = d.Now()
	return ok, d.Pending()
}

// await calls then with the decision of p, after the callback that resolves it. After a positive limit the decision is no.
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

// resolve asks the game and calls then with its decision, now or later. It allocates: for rare decisions.
func (a *Actor) resolve(name string, limit time.Duration, f func() script.Decision, then func(ok bool)) {
	ok, p := a.ask(name, f)
	if p == nil {
		then(ok)
		return
	}
	a.await(p, limit, then)
}

// afterCallbacks runs what waits for the end of a callback: an exit, and continuations of decisions.
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

// exited ends the game session for the reason that exit gives.
func (a *Actor) exited() {
	e := a.exit
	a.exit = nil
	switch {
	case a.terminate != nil: // the game session is ending already
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
