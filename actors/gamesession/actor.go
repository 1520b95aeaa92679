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
	playersMax int
	ping       time.Duration
	drops      zerolog.Logger // sampled: for packets that are dropped

	// owned by the actor
	record   messages.GameSession // the next one to publish
	byID     map[messages.PlayerSessionID]*seat
	byPlayer map[*player.Handle]*seat
	byRef    map[*stage.Ref]*seat
	order    []*seat // all remembered, in order of creation
	finished int     // of them, how many are final
	roster   []*seat // accepted, in order of acceptance: group -1
	byPeer   map[messages.PeerID]*seat
	joining  int // seats before the gate's answer
	peers    peerIDs
	groups   map[messages.GroupID]*groupEntry
	groupRef map[*stage.Ref]*groupEntry
	fanout   fanoutLimit
	message  script.Message // scratch for callbacks
	phase    phase
	exit     *exitCall
	gauge    counters.GameSessionState
	empty    *stage.Timer
	sick     int          // health checks failed in a row
	placed   bool         // OnStartGameSession has begun: the id may be seen
	owed     []*seat      // players that wait for an ack
	ackTimer *stage.Timer // running while there are any
	window   time.Duration
	lastOnly bool // end with the last player, whatever EmptyTimeout says
}

// phase is where the game session itself stands; the API's status follows.
type phase uint8

const (
	activating phase = iota + 1
	active
	ending  // ProcessEnding was called: no logins, players stay
	closing // players are being closed
	over
)

// seat is one player session.
type seat struct {
	player   *player.Handle
	durable  *player.Durable
	ref      *stage.Ref     // nil once its actor has stopped
	place    *place         // what the API sees
	waiting  bool           // before the gate's answer
	in       bool           // in the roster
	left     bool           // by itself: it may come again
	again    bool           // has come again, and is not in yet
	leaving  bool           // out of the game, and its actor is not gone yet
	late     *player.Login  // came meanwhile
	owed     bool           // waits for an ack
	epoch    messages.Epoch // of the newest connection that it has said something on
	op       groupOp
	stash    []*Inbound     // what came behind op
	ended    []player.Ended // what came behind stash
	kick     *player.Kick   // the game has removed the player
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
	return &Actor{
		o: o, relay: relay, record: *o.Record,
		byID:     make(map[messages.PlayerSessionID]*seat),
		byPlayer: make(map[*player.Handle]*seat),
		byRef:    make(map[*stage.Ref]*seat),
		byPeer:   make(map[messages.PeerID]*seat),
		groups:   make(map[messages.GroupID]*groupEntry),
		groupRef: make(map[*stage.Ref]*groupEntry),
		fanout:   fanoutLimit{perSecond: o.DeliveriesPerSecond},
		phase:    activating,
	}
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
	case Terminate:
		a.onTerminate(m)
	case EndWhenEmpty:
		a.onEndWhenEmpty()
	case stage.Exited:
		a.onExited(m)
	case task:
		a.callback("task", m.f)
	case emptyCheck:
		a.onEmptyCheck()
	case healthCheck:
		a.onHealthCheck()
	case forcedExit:
		a.end(messages.CloseGameEnded, "did not exit after processEnding")
	case closeOver:
		a.finish()
	default:
		c.Counters().ActorMessages.Add(1)
	}
	a.afterCallbacks()
}

// callback runs one call into the game's logic. A panic in it is caught and
// logged; the result is then false (realtime.md 15.2). A game that has exited
// or ended is not called any more (15.4, D19).
func (a *Actor) callback(name string, f func()) (ok bool) {
	if a.exit != nil || a.phase >= closing {
		return false
	}
	defer func() {
		if r := recover(); r != nil {
			a.c.Counters().HandlerErrors.Add(1)
			a.o.Log.Error(name+":", r)
			ok = false
		}
	}()
	f()
	return true
}

// afterCallbacks does what callbacks asked for that must not happen inside one.
func (a *Actor) afterCallbacks() {
	if a.exit == nil {
		return
	}
	e := a.exit
	a.exit = nil
	switch {
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
