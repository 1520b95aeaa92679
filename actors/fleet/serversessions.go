package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/script"
	"troupe/actors/serverprocess"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// serverHandler stands for a process in the actor of its game session, which calls its methods. It passes questions to
// the registry, and the process's answers come back as calls of gamesession.Run.
type serverHandler struct {
	script.Base
	fleet     *stage.Ref
	id        messages.ProcessID
	active    bool // the process has activated the game session
	over      bool // the process has ended
	start     *script.Pending
	terminate *script.Pending
}

// Messages from a serverHandler to the registry.
type (
	serverTold struct {
		id     messages.ProcessID
		update messages.PushUpdate
	}
	serverEnds struct{ id messages.ProcessID }
)

// Configuration implements script.Handler. Players do not log in, so it limits nothing.
func (*serverHandler) Configuration() script.Configuration {
	return script.Configuration{MaxPlayers: 1 << 20}
}

// OnStartGameSession implements script.Handler.
func (h *serverHandler) OnStartGameSession(*messages.GameSession) script.Decision {
	if h.active || h.over {
		return script.AllowIf(h.active)
	}
	h.start = new(script.Pending)
	return script.Later(h.start)
}

// OnUpdateGameSession implements script.Handler.
func (h *serverHandler) OnUpdateGameSession(g *messages.GameSession, u script.Update) {
	h.fleet.Tell(serverTold{h.id, messages.PushUpdate{Session: g, Reason: u.Reason, Ticket: u.TicketID}})
}

// OnProcessTerminate implements script.Handler. The process ends the game session with itself.
func (h *serverHandler) OnProcessTerminate() script.Decision {
	if h.over {
		return script.Allow
	}
	h.fleet.Tell(serverEnds{h.id})
	h.terminate = new(script.Pending)
	return script.Later(h.terminate)
}

// activate passes on that the process has activated its game session.
func (e *entry) activate() {
	h := e.handler
	gamesession.Run(e.ref, func() {
		if h.active = true; h.start != nil {
			h.start.Decide(true)
		}
	})
}

// serverGone passes on that the process has ended.
func (e *entry) serverGone() {
	h := e.handler
	gamesession.Run(e.ref, func() {
		if h.over = true; h.terminate != nil {
			h.terminate.Decide(true)
		}
	})
}

// runServer starts a game session in the process e.server. The process is told once the game session is durable.
func (gs *games) runServer(f *messages.Fleet, e *entry, record *messages.GameSession) {
	p := e.server
	e.onServer = true
	limit := cmp.Or(f.Runtime.ActivationTimeout, activationTimeout)
	p.machine.Host(e.id, limit, gs.context.Now())
	p.e = e
	gs.unlist(p)
	gs.tellLauncher(p, false)
	gs.spawnServer(f, e, record, false)
}

func (gs *games) spawnServer(f *messages.Fleet, e *entry, record *messages.GameSession, resumed bool) {
	e.handler = &serverHandler{fleet: gs.context.Self(), id: e.server.id, active: e.server.machine.Active}
	e.published.ForServer()
	settings := gs.o.Session
	if f != nil {
		settings = gs.o.settings(f)
	}
	settings.ActivationLimit, settings.EmptyTimeout = 0, -1 // the machine of the process has the limit
	e.ref = gs.context.Stage().NewRef(counters.ActorGameSession, gs.o.Session.Mailbox)
	gs.refs[e.ref] = e
	if gs.outlives(e) {
		gs.serving++
	}
	o := gamesession.Options{
		Record: record, Publisher: e.published, Fleet: gs.context.Self(), Handler: e.handler, Server: true, Resumed: resumed, Settings: settings,
	}
	if f != nil {
		o.Log = gs.gameLog(e.id, f)
	}
	gs.context.Spawn(e.ref, gamesession.New(o))
}

// tellHosting tells a process about its game session, which is durable.
func (gs *games) tellHosting(e *entry) {
	if p := e.server; p != nil && p.e == e && p.machine.Unstored() {
		gs.logServer(p, e)
		gs.carryOut(p, p.machine.Hosts())
	}
}

// freeServerOf ends the process of a game session that has ended, unless it was not told about it. A process has one
// game session in its life.
func (gs *games) freeServerOf(e *entry) {
	p := e.server
	if p == nil || p.e != e {
		return
	}
	p.e = nil
	if p.machine.Unhost() {
		gs.settle(p)
		return
	}
	gs.carryOut(p, p.machine.Terminate(gs.context.Now(), serverprocess.Grace))
}

func (gs *games) onServerTold(m serverTold) {
	if p := gs.servers.of[m.id]; p != nil {
		gs.push(p, m.update)
		gs.settle(p)
	}
}

// onServerEnds tells a process to end, because its game session must.
func (gs *games) onServerEnds(m serverEnds) {
	if p := gs.servers.of[m.id]; p != nil {
		gs.carryOut(p, p.machine.Terminate(gs.context.Now(), serverprocess.Grace))
	}
}

// killServer ends the process of a game session that is ended by force (D-416).
func (gs *games) killServer(e *entry) {
	if p := e.server; p != nil && p.e == e {
		gs.carryOut(p, p.machine.Kill(""))
	}
}

// onStorePlayer makes a change of a player session by its server durable, and then visible.
func (gs *games) onStorePlayer(m stage.Request[gamesession.StorePlayer, messages.None]) {
	q := m.Request
	e := gs.sessions[q.Session]
	if e == nil {
		m.Reply(messages.None{}, notFound(q.Session))
		return
	}
	gs.ledger.Do(ledger.Transaction{Key: e.key(), WaitingMax: editsMax + terminationsMax, Reply: m.With(new(messages.None)), Decide: func() (ledger.Entry, error) {
		if e.phase == phaseOver {
			return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "The game session has ended.")
		}
		return ledger.Entry{
			Changes: []store.Change{storedPlayerSession(q.Record)}, Events: gs.eventsOfPlayerSessions(e, q.Record),
			Apply: func() {
				if e.phase == phaseOver {
					return // its end has set the status
				}
				q.Show()
				e.opened(gs.o.OwnEvents, q.Record)
				e.seats.changed(e)
			},
		}, nil
	}})
}

// Records of processes.

// processRecord is the stored form of a process. The record's key has the id.
type processRecord struct {
	Fleet     messages.FleetID     `json:"fleet"`
	Compute   string               `json:"compute"`
	Name      string               `json:"name"`
	Location  string               `json:"location,omitempty"`
	IPAddress string               `json:"ip,omitempty"`
	DNSName   string               `json:"dns,omitempty"`
	Signature string               `json:"signature,omitempty"`
	Host      bool                 `json:"host,omitempty"` // this host has started it, and it has ended with the host
	Process   serverprocess.Record `json:"process"`
}

// processKey names the record of a process. No part of an id has a line feed.
func processKey(id messages.ProcessID) ledger.Key {
	return ledger.Key{Kind: store.Process, ID: string(id.FleetID) + "\n" + id.Compute + "\n" + id.Name}
}

func (p *server) record(r serverprocess.Record) store.Change {
	full := processRecord{Fleet: p.id.FleetID, Compute: p.id.Compute, Name: p.id.Name, Process: r}
	if r.State != serverprocess.Terminated {
		full.Location, full.IPAddress, full.DNSName, full.Signature = p.compute.Location, p.compute.IPAddress, p.compute.DNSName, p.signature
		full.Host = p.compute.Host
	} else {
		full.Process = serverprocess.Record{State: r.State, Since: r.Since}
	}
	return store.Put(store.Process, processKey(p.id).ID, full)
}

// note stores the record of a process without a caller who waits.
func (gs *games) note(p *server) {
	p.stored, p.isStored = p.machine.Record, true
	gs.ledger.Note(processKey(p.id), nil, ledger.Record{Key: processKey(p.id), Change: func() store.Change {
		if p.machine.State == serverprocess.Connected {
			return store.Delete(store.Process, processKey(p.id).ID)
		}
		return p.record(p.machine.Record)
	}})
}

// sameRecord reports whether the durable parts of a process are equal. Its port and log paths do not change.
func sameRecord(a, b *serverprocess.Record) bool {
	return a.State == b.State && a.GameSession == b.GameSession && a.Active == b.Active && a.ActivateBy.Equal(b.ActivateBy) &&
		a.EndsAt.Equal(b.EndsAt) && a.Unhealthy == b.Unhealthy && a.Result == b.Result
}

// restoreServers reads the processes of earlier processes of the host.
func (gs *games) restoreServers() error {
	var ended []messages.ProcessID
	since := make(map[messages.ProcessID]time.Time)
	err := store.Read(gs.o.Store, &gs.servers.unread, store.Process, func(_ string, r *processRecord, _ int) error {
		if r.Fleet == "" || r.Compute == "" || r.Name == "" || r.Process.State == 0 {
			return store.ErrIncomplete
		}
		id := messages.ProcessID{FleetID: r.Fleet, Compute: r.Compute, Name: r.Name}
		if r.Process.State == serverprocess.Terminated {
			ended = append(ended, id)
			since[id] = r.Process.Since
			return nil
		}
		p := &server{id: id, stored: r.Process, isStored: true, serverConnection: serverConnection{signature: r.Signature}, compute: messages.Compute{
			FleetID: r.Fleet, Name: r.Compute, Location: r.Location, IPAddress: r.IPAddress, DNSName: r.DNSName, Host: r.Host,
		}}
		gs.servers.add(p)
		if g := r.Process.GameSession; g != "" && !r.Host {
			gs.servers.hosts[g] = p
		}
		return nil
	})
	slices.SortFunc(ended, func(a, b messages.ProcessID) int {
		return cmp.Or(since[a].Compare(since[b]), strings.Compare(a.String(), b.String()))
	})
	for _, id := range ended {
		for _, old := range gs.servers.ended.add(id) {
			gs.restored.orphans = append(gs.restored.orphans, store.Delete(store.Process, processKey(old).ID))
		}
	}
	return err
}

// resumable says that a restored game session goes on, because its process does. It returns false for others.
func (gs *games) resumable(e *entry) bool {
	p := gs.servers.hosts[e.id]
	if p == nil || gs.o.Directory != nil { // a cluster has ended what its lost node ran
		return false
	}
	e.server, p.e, e.onServer = p, e, true
	return true
}

// startServers goes on with the restored processes. They are believed to run until their time without a heartbeat is
// over. Their game sessions are running, too.
func (gs *games) startServers() {
	now := gs.context.Now()
	gs.servers.hosts = nil
	for _, p := range gs.servers.of {
		p.machine = serverprocess.Restore(p.stored, now)
	}
	for _, e := range gs.restored.serving {
		g := e.published.Session()
		if e.phase = phaseRunning; g.Status == messages.GameSessionActivating {
			e.phase = phaseActivating
			e.fleet.activating[e.location]++
		}
		e.told = g.Status
		if gs.o.OwnEvents {
			e.opened(true, e.published.Players(nil)...)
		}
		gs.occupy(e, 1)
		e.fleet.shown.add(e)
		gs.spawnServer(gs.catalog.Fleet(e.fleet.id), e, g, true)
		if g.Status == messages.GameSessionTerminating {
			e.published.Terminating(g.StatusReason)
			e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGameEnded, Text: endTriggered.Text, StatusReason: g.StatusReason})
		}
	}
	for _, p := range gs.servers.of {
		var effects []serverprocess.Effect
		if p.compute.Host {
			effects = p.machine.Kill("")
		} else if gs.catalog.Compute(p.id.FleetID, p.id.Compute) == nil || p.machine.GameSession != "" && p.e == nil {
			effects = p.machine.Terminate(now, serverprocess.Grace) // what it was for is over
		}
		if r := p.stored.Result; r.Ticket != "" && p.e != nil {
			gs.push(p, messages.PushUpdate{Session: p.e.published.Session(), Reason: r.Reason, Ticket: r.Ticket})
		}
		gs.carryOut(p, effects)
	}
	if n := len(gs.servers.of); n > 0 {
		gs.context.Log().Info().Int("processes", n).Int("game_sessions", len(gs.restored.serving)).Msg("server processes are expected back")
	}
}
