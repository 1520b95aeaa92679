package fleet

import (
	"cmp"
	"crypto/subtle"
	"time"

	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/serverprocess"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// ProcessCall is a messages.ProcessCall to the registry of this host.
type ProcessCall struct {
	messages.ToThisHost[any]
	messages.ProcessCall
}

const (
	// serversMax limits the processes of this host that have not ended.
	serversMax = 50_000
	// usedUpMax limits the ids of ended processes that are kept, so that nobody uses them again. The oldest are dropped.
	usedUpMax = 50_000
	// laterPush is the time between a heartbeat on a new connection and a push that waited for it (SS-205).
	laterPush = time.Second
	// pushWaitMax limits how long a push waits because the process gets answers all the time.
	pushWaitMax = time.Second
	// A process gets a new token refreshBefore the end of its own. A push of it is repeated after refreshAgain, or
	// refreshHeard after a request on the old connection, at most refreshesMax times, and never within refreshMin.
	refreshBefore = 20 * time.Minute
	refreshAgain  = 300 * time.Second
	refreshHeard  = 5 * time.Second
	refreshMin    = 30 * time.Second
	refreshesMax  = 10
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
	former   serverConnection       // the one that the current one has superseded
	e        *entry                 // its game session; nil if it has none, or if that has ended
	held     []serverprocess.Effect // effects of Host, until the game session is durable
	place    int                    // index in the list of free processes, plus 1; 0 if it is not in it
	wake     *stage.Timer
	wakes    time.Time           // when wake fires; zero if it is not set
	told     serverprocess.State // what the Launcher knows
	stored   serverprocess.Record
	isStored bool

	// Pushes.
	pushes []push
	spaced time.Time // no push before (SS-202)
	quiet  time.Time // no push before, because of the answer to a request; see sendAt
}

// serverConnection is the current connection of a process.
type serverConnection struct {
	link  messages.ProcessLink // nil: there is none
	heard bool                 // a heartbeat has come on it

	// Refresh of its token.
	signature string    // with which it connected; empty with a token
	tokenEnds time.Time // zero with a signature
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
	of       map[messages.ProcessID]*server
	free     map[serverPlace][]*server // may get a game session
	ports    map[serverPort]*server    // those that are ready or host, by their port
	usedUp   map[messages.ProcessID]bool
	launched map[messages.ProcessID]bool // those that the Launcher runs
	ended    []messages.ProcessID        // the keys of usedUp, oldest first
	unread   store.Unread
	hosts    map[messages.GameSessionID]*server // of restored records, until the start
}

// serverDue says that something of a process is due.
type serverDue struct{ p *server }

func newServers() servers {
	return servers{
		of: make(map[messages.ProcessID]*server), free: make(map[serverPlace][]*server), usedUp: make(map[messages.ProcessID]bool),
		launched: make(map[messages.ProcessID]bool),
		ports:    make(map[serverPort]*server),
		hosts:    make(map[messages.GameSessionID]*server),
	}
}

// runsServers reports whether the game sessions of a fleet run in processes that speak the Server SDK.
func runsServers(f *messages.Fleet) bool { return f.OnProcesses() }

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
	if gs.servers.usedUp[id] {
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
		if _, leaves := q.What.(messages.LeaveProcess); leaves && gs.servers.usedUp[q.Process] {
			err = nil // a repetition
		}
		m.Reply(nil, err)
		return
	}
	if _, own := q.What.(messages.HideToken); !own && p.answered.IsZero() && q.Link == p.link {
		p.answered = gs.context.Now()
	}
	now := gs.context.Now()
	switch what := q.What.(type) {
	case messages.HideToken:
		if gs.launcher != nil {
			gs.launcher.Hide(p.id, what.Token)
		}
		m.Reply(nil, nil)
		return // the process did not ask
	case messages.CloseProcess:
		if q.Link == p.link {
			p.link, p.heard = nil, false
			p.machine.Close()
			p.delay()
			gs.settle(p)
		} else if q.Link == p.former.link {
			p.former = serverConnection{}
		}
		m.Reply(nil, nil)
	case messages.ResumeProcess:
		if p.link != nil || p.former.link != q.Link {
			m.Reply(nil, messages.RefuseProcess(409, "Another connection of the process is the current one."))
			return
		}
		p.serverConnection, p.former = p.former, serverConnection{}
		p.machine.Open()
		gs.settle(p)
		m.Reply(nil, nil)
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

// openServer accepts a connection of a process, or returns why not (server-sdk.md 5.1).
func (gs *games) openServer(id messages.ProcessID, link messages.ProcessLink, q messages.OpenProcess) error {
	now := gs.context.Now()
	p := gs.servers.of[id]
	compute := gs.catalog.Compute(id.FleetID, id.Compute)
	switch {
	case compute == nil:
		return messages.RefuseProcess(403, "The fleet or the compute is not registered.")
	case compute.Host && !gs.servers.launched[id]:
		return messages.RefuseProcess(403, "The compute is a host of Troupe, which has not started this process.")
	case gs.servers.usedUp[id] || gs.servers.unread.Has(store.Process, processKey(id).ID):
		return messages.RefuseProcess(403, "The process id was used by a process that has ended.")
	case q.TokenSHA256 == "" && !q.Signed && (p == nil || q.Signature == "" || p.signature != q.Signature):
		return messages.RefuseProcess(403, "The signature is not valid.")
	}
	ends := time.Time{}
	if q.TokenSHA256 != "" {
		if ends = tokenEnds(compute, q.TokenSHA256, now); ends.IsZero() {
			return messages.RefuseProcess(403, "The token is wrong, or has expired.")
		}
	}
	switch {
	case p == nil && gs.drain.on:
		return messages.RefuseProcess(503, "The host is shutting down.")
	case p == nil && len(gs.servers.of) >= serversMax:
		return messages.RefuseProcess(503, "There are %d processes already.", serversMax)
	case q.Asks:
		return nil
	case p == nil:
		p = &server{id: id, machine: serverprocess.New(now)}
		gs.servers.of[id] = p
		if compute.Host {
			gs.own[id] = true
		}
	default:
		p.machine.Open()
		if p.link != nil {
			p.link.Supersede()
			p.former = p.serverConnection
		}
	}
	gs.unlist(p) // its location may have changed
	p.compute = *compute
	p.compute.Tokens = nil
	p.serverConnection = serverConnection{link: link, signature: q.Signature, tokenEnds: ends}
	gs.settle(p)
	return nil
}

// tokenEnds returns when a token of a compute expires, or the zero time if it is not valid. It takes the same time for
// each wrong token.
func tokenEnds(c *messages.Compute, hash string, now time.Time) (ends time.Time) {
	for _, t := range c.Tokens {
		if subtle.ConstantTimeCompare([]byte(t.SHA256), []byte(hash)) == 1 && now.Before(t.Expires) {
			ends = t.Expires
		}
	}
	return ends
}

func (gs *games) beat(p *server, healthy bool, now time.Time) error {
	r, effects := p.machine.Heartbeat(healthy, now)
	if r != serverprocess.Accepted {
		return refusal(r)
	}
	if !p.heard {
		p.heard = true
		pause := serverprocess.PushPause
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
	gs.ledger.Do(ledger.Transaction{
		Key: processKey(p.id), Uses: uses, WaitingMax: editsMax + terminationsMax,
		Reply: func(err error) {
			reply(nil, cmp.Or(err, late))
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
	gs.changeServer(p, reply, func(m *serverprocess.Machine, _ time.Time, _ bool) (error, []serverprocess.Effect) {
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
	p.wake, p.pushes, p.held = nil, nil, nil
	delete(gs.servers.of, p.id)
	gs.useUp(p.id)
	gs.note(p)
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

// useUp remembers the id of a process that has ended.
func (gs *games) useUp(id messages.ProcessID) {
	s := &gs.servers
	if s.usedUp[id] {
		return
	}
	s.usedUp[id] = true
	if s.ended = append(s.ended, id); len(s.ended) > usedUpMax {
		old := s.ended[0]
		s.ended = s.ended[1:]
		delete(s.usedUp, old)
		gs.ledger.CommitAsync(store.Delete(store.Process, processKey(old).ID))
	}
}

// settle updates what follows from the state of a process: its record, the list of free ones, its timer and pushes.
func (gs *games) settle(p *server) {
	if gs.servers.of[p.id] != p {
		return
	}
	gs.tellLauncher(p, false)
	if p.machine.State != serverprocess.Connected && (!p.isStored || !sameRecord(&p.stored, &p.machine.Record)) && len(p.held) == 0 {
		gs.note(p)
	}
	if p.machine.State != serverprocess.Connected {
		gs.servers.ports[p.port()] = p
	}
	switch free := p.machine.Free(); {
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
