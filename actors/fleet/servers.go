package fleet

import (
	"cmp"
	"time"

	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/serverprocess"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// ProcessCall is a messages.ProcessCall to the registry of this host.
type ProcessCall struct {
	messages.ToThisHost[any]
	messages.ProcessCall
}

const (
	// laterPush is the time between a heartbeat on a new connection and a push that waited for it (SS-205).
	laterPush = time.Second
	// pushWaitMax limits how long a push waits because the process gets answers all the time.
	pushWaitMax = time.Second
	// A process gets a new token refreshBefore the end of its own, or up to refreshSpread earlier (renewal). A push of it is
	// repeated after refreshAgain, or refreshHeard after a request on the old connection, at most refreshesMax times, and never
	// within refreshMin.
	refreshBefore = 20 * time.Minute
	refreshSpread = 10 * time.Minute
	refreshAgain  = 300 * time.Second
	refreshHeard  = 5 * time.Second
	refreshMin    = 30 * time.Second
	refreshesMax  = 10
	// formersMax is the number of superseded connections that may become the current one again. The endpoint drops the newest
	// of them if there are more.
	formersMax = 4
	// pushesMax limits the pushes that wait. There is at most one of each kind but results of backfills; of those the
	// newest stays.
	pushesMax = 4
)

// server is a process that speaks the Server SDK. Its machine decides; the registry carries out.
type server struct {
	id      messages.ProcessID
	machine *serverprocess.Machine
	compute messages.Compute // as registered when the process connected, without tokens
	serverConnection
	formers  []serverConnection // those that were superseded and are open, oldest first; at most formersMax
	e        *entry             // its game session; nil if it has none, or if that has ended
	place    int                // index in the list of free processes, plus 1; 0 if it is not in it
	wake     *stage.Timer
	wakes    time.Time           // when wake fires; zero if it is not set
	told     serverprocess.State // what the Launcher knows
	counted  counters.ServerState
	changing int  // changes that are becoming durable
	leaving  int  // number of TerminateServerProcess that are becoming durable
	active   bool // it counts as active in perCompute
	stored   serverprocess.Record
	isStored bool

	// Pushes.
	pushes []push
	number uint32    // of the last push that was sent
	sent   []push    // those that may have been lost: of the game session, and the last result of a backfill
	spaced time.Time // no push before (SS-202)
	quiet  time.Time // no push before, because of the answer to a request; see sendAt
}

// serverConnection is the current connection of a process.
type serverConnection struct {
	link  messages.ProcessLink // nil: there is none
	heard bool                 // a heartbeat has come on it

	// Refresh of its token.
	signature string    // with which it connected; empty with a token
	renewAt   time.Time // when it should get another token; zero with a signature: at once
	refreshed time.Time // the last push of RefreshConnection
	refreshes int
	answered  time.Time // the first request since then
}

type serverPlace struct {
	fleet    messages.FleetID
	location string
}

type serverPort struct {
	fleet   messages.FleetID
	compute string
	port    int
}

func (p *server) port() serverPort {
	return serverPort{p.id.FleetID, p.id.Compute, p.machine.Port}
}

// servers are the processes of this host.
type servers struct {
	of         map[messages.ProcessID]*server // changed by add and remove
	perCompute map[serverCompute]computeUse
	free       map[serverPlace][]*server   // may get a game session
	ports      map[serverPort]*server      // those that are ready or host, by their port
	launched   map[messages.ProcessID]bool // those that the Launcher runs, from before their start until after their exit
	ended      usedUp
	unread     store.Unread
	hosts      map[messages.GameSessionID]*server // of restored records, until the start
}

// serverDue says that something of a process is due.
type serverDue struct{ p *server }

func newServers() servers {
	return servers{
		of: make(map[messages.ProcessID]*server), perCompute: make(map[serverCompute]computeUse), free: make(map[serverPlace][]*server),
		ports: make(map[serverPort]*server), launched: make(map[messages.ProcessID]bool), ended: newUsedUp(),
		hosts: make(map[messages.GameSessionID]*server),
	}
}

// freeServer returns a process that may get a game session, or nil.
func (gs *games) freeServer(f messages.FleetID, location string) *server {
	if free := gs.servers.free[serverPlace{f, location}]; len(free) > 0 {
		return free[0]
	}
	return nil
}

// serverOf returns the process of a call, or nil with the refusal.
func (gs *games) serverOf(id messages.ProcessID) (*server, error) {
	if p := gs.servers.of[id]; p != nil {
		return p, nil
	}
	if gs.servers.ended.has(id) {
		return nil, messages.RefuseProcess(410, "The process has ended.")
	}
	return nil, messages.RefuseProcess(409, "The process is not connected.")
}

func refusal(r serverprocess.Refused) error {
	switch r {
	case serverprocess.WrongState:
		return messages.RefuseProcess(409, "The process is not in the state for this: it must be ready, and stay with its port.")
	case serverprocess.Gone:
		return messages.RefuseProcess(410, "The process has ended.")
	case serverprocess.UnknownGame:
		return messages.RefuseProcess(404, "The process has no such game session.")
	case serverprocess.GameIsOver:
		return messages.RefuseProcess(400, "The game session has ended, or was not activated in time.")
	}
	return nil
}

// onProcessCall handles a call of a process. Only what must be durable is answered later.
func (gs *games) onProcessCall(m stage.Request[ProcessCall, any]) {
	q := m.Request.ProcessCall
	if open, ok := q.What.(messages.OpenProcess); ok {
		m.Reply(nil, gs.openServer(q.Process, q.Link, open))
		return
	}
	p, err := gs.serverOf(q.Process)
	if err != nil {
		switch q.What.(type) {
		case messages.LeaveProcess: // a repetition
			if gs.servers.ended.has(q.Process) {
				err = nil
			}
		case messages.CloseProcess:
			m.Reply(true, nil)
			return
		}
		m.Reply(nil, err)
		return
	}
	now := gs.context.Now()
	switch what := q.What.(type) { // what the process has not asked for
	case messages.HideToken:
		if gs.launcher != nil {
			gs.launcher.Hide(p.id, what.Token)
		}
		m.Reply(nil, nil)
		return
	case messages.PushArrived:
		p.arrived(q.Link, what.N)
		gs.settle(p)
		m.Reply(nil, nil)
		return
	case messages.CloseProcess:
		gs.closeServer(p, q.Link)
		m.Reply(gs.servers.of[p.id] != p, nil)
		return
	case messages.ResumeProcess:
		m.Reply(nil, gs.resumeServer(p, q.Link))
		return
	}
	if p.answered.IsZero() && q.Link == p.link {
		p.answered = now
	}
	switch what := q.What.(type) {
	case messages.BeatProcess:
		m.Reply(nil, gs.beat(p, what.Healthy, now))
	case messages.ActivateProcess:
		gs.activateServer(p, what, m.Reply)
	case messages.LeaveProcess:
		gs.leaveServer(p, m.Reply)
	case messages.ActivateGame:
		gs.activateGame(p, what.Session, m.Reply)
	case messages.SetPlayer:
		if gs.ownGame(p, what.Session, m.Reply) {
			messages.Send(p.e.ref, gamesession.SetPlayer{SetPlayer: what}, func(_ messages.None, err error) { m.Reply(nil, err) })
		}
	case messages.SetPolicy:
		if gs.ownGame(p, what.Session, m.Reply) {
			edit := messages.UpdateGameSession{ID: what.Session, AcceptsPlayers: &what.Accepts}
			gs.onUpdateGameSession(stage.Request[messages.UpdateGameSession, *messages.GameSession]{
				Request: edit, Reply: func(_ *messages.GameSession, err error) { m.Reply(nil, err) },
			})
		}
	case messages.OwnGame:
		if gs.ownGame(p, what.Session, m.Reply) {
			m.Reply(p.e.published.Session(), nil)
		}
	case messages.AboutProcess:
		var err error
		if p.machine.State == serverprocess.Connected {
			err = refusal(serverprocess.WrongState)
		}
		c := p.compute
		m.Reply(&c, err)
	default:
		m.Reply(nil, messages.RefuseProcess(400, "Unknown action"))
	}
	p.pause(now)
}

// pause keeps pushes back that depend on an answer that is given now.
func (p *server) pause(now time.Time) {
	if t := now.Add(serverprocess.PushPause); p.machine.GameSession != "" && p.quiet.Before(t) {
		p.quiet = t
	}
}

// ownGame checks a request about a game session. If it returns false, it has replied.
func (gs *games) ownGame(p *server, id messages.GameSessionID, reply func(any, error)) bool {
	if r := p.machine.About(id); r != serverprocess.Accepted {
		reply(nil, refusal(r))
		return false
	}
	if p.e == nil || p.e.ref == nil {
		reply(nil, refusal(serverprocess.GameIsOver))
		return false
	}
	return true
}

func (gs *games) beat(p *server, healthy bool, now time.Time) error {
	r, effects := p.machine.Heartbeat(healthy, now)
	if r != serverprocess.Accepted {
		return refusal(r)
	}
	if !p.heard {
		p.heard = true
		pause := serverprocess.PushPause
		if len(effects) > 0 && p.number > 0 { // pushed before, on an earlier connection
			pause = laterPush
		}
		for i := range p.pushes {
			if p.pushes[i].late {
				p.pushes[i].late, p.pushes[i].at, pause = false, now, laterPush
			}
		}
		if t := now.Add(pause); p.spaced.Before(t) {
			p.spaced = t
		}
	}
	if len(effects) > 0 {
		p.pause(now)
	}
	gs.carryOut(p, effects)
	return nil
}

// activateServer makes a process ready once its record is durable.
func (gs *games) activateServer(p *server, q messages.ActivateProcess, reply func(any, error)) {
	gs.changeServer(p, reply, func(m *serverprocess.Machine, now time.Time, last bool) (error, []serverprocess.Effect) {
		if o := gs.servers.ports[serverPort{p.id.FleetID, p.id.Compute, q.Port}]; o != nil && o != p && m.State == serverprocess.Connected {
			free, effects := o.peek(q.Port, last)
			if !free {
				return messages.RefuseProcess(409, "Port %d belongs to another process of the compute.", q.Port), nil
			}
			gs.carryOut(o, effects)
		}
		return refusal(m.Activate(q.Port, q.LogPaths, now)), nil
	})
}

// peek is Yield, without a change unless last is set.
func (p *server) peek(port int, last bool) (bool, []serverprocess.Effect) {
	if last {
		return p.machine.Yield(port)
	}
	try := *p.machine
	free, _ := try.Yield(port)
	return free, nil
}

// changeServer makes a change of a process. decide is called twice: with a copy of its machine, for the record that is
// stored, and with the machine itself (last is true) once that is durable. also makes a change of its game session, which
// does not change meanwhile.
func (gs *games) changeServer(p *server, reply func(any, error), decide func(m *serverprocess.Machine, now time.Time, last bool) (error, []serverprocess.Effect), also ...func() store.Change) {
	var late error
	var uses []ledger.Key
	if len(also) > 0 {
		uses = append(uses, p.e.key())
	}
	p.changing++
	gs.ledger.Do(ledger.Transaction{
		Key: processKey(p.id), Uses: uses, WaitingMax: editsMax + terminationsMax,
		Reply: func(err error) {
			p.changing--
			reply(nil, cmp.Or(err, late))
			gs.forgetServer(p)
		},
		Decide: func() (ledger.Entry, error) {
			try := *p.machine
			if err, _ := decide(&try, gs.context.Now(), false); err != nil {
				return ledger.Entry{}, err
			}
			entry := ledger.Entry{Apply: func() {
				err, effects := decide(p.machine, gs.context.Now(), true)
				p.stored, p.isStored = try.Record, true
				if late = err; err != nil { // decided otherwise meanwhile
					gs.note(p)
				}
				p.pause(gs.context.Now())
				gs.carryOut(p, effects)
			}}
			if !p.isStored || !sameRecord(&p.stored, &try.Record) {
				entry.Changes = append(entry.Changes, p.record(try.Record))
			}
			for _, change := range also {
				entry.Changes = append(entry.Changes, change())
			}
			return entry, nil
		},
	})
}

// leaveServer ends a process that says that it ends. Its game session and what belongs to it end with it. If the host
// is killed in between, the next start ends them, because their process has ended.
func (gs *games) leaveServer(p *server, reply func(any, error)) {
	p.leaving++ // it gets no game session while that becomes durable
	gs.unlist(p)
	gs.changeServer(p, func(answer any, err error) {
		if p.leaving--; err != nil {
			gs.settle(p)
		}
		reply(answer, err)
	}, func(m *serverprocess.Machine, _ time.Time, _ bool) (error, []serverprocess.Effect) {
		return nil, m.Leave()
	})
}

// activateGame makes the game session of a process ACTIVE, once that is durable.
func (gs *games) activateGame(p *server, id messages.GameSessionID, reply func(any, error)) {
	active := func() store.Change {
		g := p.e.published.Session()
		g.Status = max(g.Status, messages.GameSessionActive)
		return p.e.recordOf(g)
	}
	if p.machine.Active || p.e == nil {
		r, _ := p.machine.ActivateGame(id, gs.context.Now())
		if r == serverprocess.Accepted && p.e == nil {
			r = serverprocess.GameIsOver
		}
		reply(nil, refusal(r))
		return
	}
	_ = p.machine.About(id) // it has its game session, so it is not told again while this becomes durable
	gs.changeServer(p, reply, func(m *serverprocess.Machine, now time.Time, _ bool) (error, []serverprocess.Effect) {
		if p.e == nil || p.e.ref == nil {
			return refusal(serverprocess.GameIsOver), nil
		}
		r, effects := m.ActivateGame(id, now)
		return refusal(r), effects
	}, active)
}

// carryOut does what a machine has decided. It must be called after each change of a machine.
func (gs *games) carryOut(p *server, effects []serverprocess.Effect) {
	for _, effect := range effects {
		switch f := effect.(type) {
		case serverprocess.PushCreate:
			if p.e != nil {
				gs.push(p, messages.PushGameSession{Session: p.e.published.Session()})
			}
		case serverprocess.PushTerminate:
			gs.push(p, messages.PushTerminate{At: f.At})
		case serverprocess.Activated:
			if p.e != nil {
				p.e.activate()
			}
		case serverprocess.Terminates:
			if p.e != nil && p.e.ref != nil {
				p.e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGameEnded, Text: "its server process was told to end"})
			}
		case serverprocess.ActivationTimedOut:
			if p.e != nil && p.e.ref != nil {
				gs.onActivationDue(activationDue{p.e, p.e.ref})
			}
		case serverprocess.Ended:
			gs.endServer(p, f)
			return
		}
	}
	gs.settle(p)
}

// endServer drops a process that has ended, and ends its game session.
func (gs *games) endServer(p *server, end serverprocess.Ended) {
	gs.unlist(p)
	gs.tellLauncher(p, end.Drop)
	if at := p.port(); gs.servers.ports[at] == p {
		delete(gs.servers.ports, at)
	}
	p.wake.Stop()
	p.wake, p.pushes, p.sent = nil, nil, nil
	gs.servers.remove(p)
	gs.count(p, 0)
	gs.useUp(p.id)
	if !p.isStored || !sameRecord(&p.stored, &p.machine.Record) {
		gs.note(p)
	}
	gs.context.Counters().ServersEnded.Add(howEnded(end), 1)
	if end.Event != "" {
		gs.catalog.FleetEvent(p.id.FleetID, end.Event, "process "+p.id.Name+" of compute "+p.id.Compute+" has ended")
	}
	gs.context.Log().Info().Str("process", p.id.String()).Str("event", end.Event).Str("game_session_id", string(end.GameSession)).Msg("server process ended")
	if p.link != nil {
		p.link.End(end.Drop)
		p.link = nil
	}
	if e := p.e; e != nil && e.ref != nil {
		ref := e.ref
		e.serverGone()
		ref.Tell(gamesession.Terminate{Reason: messages.CloseGameEnded, Text: "its server process has ended", Force: true})
	}
	gs.tellEmpty(p.id.FleetID)
}

// howEnded says why a process has ended.
func howEnded(end serverprocess.Ended) counters.ServerEnd {
	switch end.Event {
	case serverprocess.EventForced:
		return counters.ServerForced
	case serverprocess.EventCrashed:
		return counters.ServerCrashed
	case serverprocess.EventUnhealthy:
		return counters.ServerUnhealthy
	case serverprocess.EventReadyTimeout:
		return counters.ServerNotReady
	}
	if end.Drop {
		return counters.ServerDropped
	}
	return counters.ServerLeft
}

// settle updates what follows from the state of a process: its record, the list of free ones, its timer and pushes.
func (gs *games) settle(p *server) {
	if gs.servers.of[p.id] != p {
		return
	}
	gs.tellLauncher(p, false)
	gs.count(p, p.machine.State)
	gs.servers.use(p, 0, p.isActive())
	if p.machine.State != serverprocess.Connected && (!p.isStored || !sameRecord(&p.stored, &p.machine.Record)) && !p.machine.Unstored() {
		gs.note(p)
	}
	if p.machine.State != serverprocess.Connected {
		gs.servers.ports[p.port()] = p
	}
	switch free := p.machine.Free() && p.leaving == 0; {
	case free && p.place == 0:
		at := serverPlace{p.id.FleetID, p.compute.Location}
		gs.servers.free[at] = append(gs.servers.free[at], p)
		p.place = len(gs.servers.free[at])
		if f := gs.catalog.Fleet(p.id.FleetID); f != nil {
			gs.tellRoom(f)
		}
	case !free:
		gs.unlist(p)
	}
	gs.sendDue(p)
	gs.wakeAt(p)
}

func (gs *games) unlist(p *server) {
	if p.place == 0 {
		return
	}
	at := serverPlace{p.id.FleetID, p.compute.Location}
	list := gs.servers.free[at]
	last := list[len(list)-1]
	list[p.place-1], last.place = last, p.place
	list[len(list)-1] = nil
	gs.servers.free[at] = list[:len(list)-1]
	if p.place = 0; len(list) == 1 {
		delete(gs.servers.free, at)
	}
}
