package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// onCreate creates a game session, or finds the one with the same idempotency token (service-api.md 2.6) or of the same call. It replies
// once the game session is durable.
func (gs *games) onCreate(m stage.Request[messages.CreateGameSession, *messages.GameSession]) {
	e, f, location, err := gs.find(&m.Request)
	if e == nil && err == nil {
		e, err = gs.create(f, location, m.Request)
	}
	gs.answerCreated(e, err, m.Reply)
}

func (gs *games) create(f *messages.Fleet, location string, req messages.CreateGameSession) (*entry, error) {
	if err := gs.catalog.Charge(f, req.CreatorID); err != nil {
		return nil, err
	}
	e, err := gs.start(f, location, req, cmp.Or(req.IdempotencyToken, req.Tail), "")
	if err != nil {
		gs.catalog.Refund(f.ID, req.CreatorID)
		return nil, err
	}
	if req.IdempotencyToken != "" {
		gs.tokens[tokenKey{f.ID, location, req.IdempotencyToken}] = e
	}
	return e, nil
}

// find returns the game session that was created with the same idempotency token, or by an earlier attempt of the same call. If there is none, it returns the
// fleet and the location for a new one.
func (gs *games) find(req *messages.CreateGameSession) (e *entry, f *messages.Fleet, location string, err error) {
	if f, location, err = gs.admit(req); err != nil {
		return nil, f, location, err
	}
	if req.IdempotencyToken == "" {
		if gs.o.Directory == nil {
			return nil, f, location, nil
		}
		if e = gs.sessions[gs.sessionID(f, location, req.Tail)]; e != nil && e.made != Fingerprint(req) {
			e = nil // start refuses it
		}
		return e, f, location, nil
	}
	e = gs.tokens[tokenKey{f.ID, location, req.IdempotencyToken}]
	if e != nil && e.made != Fingerprint(req) {
		return nil, nil, "", messages.Errorf(messages.IdempotentMismatch, "idempotency token %s was used with other parameters", req.IdempotencyToken)
	}
	return e, f, location, nil
}

func (gs *games) admit(req *messages.CreateGameSession) (f *messages.Fleet, location string, err error) {
	if gs.drain.on {
		return nil, "", unavailable()
	}
	gs.forgetEnded()
	if f, err = gs.catalog.Resolve(req.FleetID, req.AliasID); err != nil {
		return nil, "", err
	}
	if f.Status != messages.FleetActive {
		return nil, "", gs.notActive(f)
	}
	if location = req.Location; location == "" {
		location = f.Locations[0]
	} else if !slices.Contains(f.Locations, location) {
		return nil, "", notOf(f, location)
	}
	return f, location, nil
}

func notOf(f *messages.Fleet, location string) error {
	return messages.Errorf(messages.InvalidRequest, "location %s is not one of fleet %s", location, f.ID)
}

// notActive returns the error for a fleet that accepts no game sessions. If the fleet is in ERROR, the error says why
// its script does not run.
func (gs *games) notActive(f *messages.Fleet) error {
	why := ""
	if f.Status == messages.FleetErrored {
		why = gs.hosting.Why(f.ID)
	}
	return messages.Errorf(messages.InvalidFleetStatus, "fleet %s is %s, not ACTIVE%s", f.ID, f.Status, why)
}

// start creates the record and the actor of a game session, and stores the record. tail is the last part of the game
// session's id.
func (gs *games) start(f *messages.Fleet, location string, req messages.CreateGameSession, tail, matchmakerData string) (*entry, error) {
	if err := gs.room(f, location); err != nil {
		return nil, err
	}
	id := gs.sessionID(f, location, tail)
	if gs.sessions[id] != nil { // a caller's token may equal a generated id
		return nil, messages.Errorf(messages.Conflict, "game session %s exists", id)
	}
	if gs.unread.Has(store.GameSession, string(id)) { // ids are never reused
		return nil, messages.Errorf(messages.Conflict, "game session %s has existed, and its record in the store is damaged: use another idempotency token", id)
	}
	e := &entry{id: id, fleet: gs.fleetOf(f.ID), location: location, token: req.IdempotencyToken}
	if e.token != "" || gs.o.Directory != nil && req.Tail != "" {
		e.made = Fingerprint(&req)
	}
	if f.ScriptID != "" {
		e.process = gs.hosting.Free(f.ID, location) // see room
	}
	address := gs.o.address(f)
	if f.OnProcesses() {
		e.server = gs.freeServer(f.ID, location) // see room
		c := &e.server.compute
		address = Advertised{IPAddress: c.IPAddress, DNSName: c.DNSName, Port: e.server.machine.Port}
	}
	record := &messages.GameSession{
		ID: id, FleetID: f.ID, Location: location,
		Name: req.Name, CreatorID: req.CreatorID, Data: req.Data, MatchmakerData: matchmakerData, Properties: req.Properties,
		MaxPlayers: req.MaxPlayers, Status: messages.GameSessionActivating, AcceptsPlayers: true, Protected: f.Shown.Protection,
		IdempotencyToken: req.IdempotencyToken, Created: gs.context.Now(),
		IPAddress: address.IPAddress, DNSName: address.DNSName, Port: address.Port, Node: gs.o.node(),
	}
	if e.process != nil {
		record.ScriptVersion = e.process.Version()
	}
	e.published = gamesession.NewPublisher(record)
	if err := gs.run(f, e, record); err != nil {
		return nil, err
	}
	gs.occupy(e, 1)
	e.fleet.activating[e.location]++
	gs.sessions[e.id] = e
	gs.order = append(gs.order, e)
	if e.process != nil {
		gs.boundActivation(f, e)
	}
	log := gs.context.Log().Info().Str("game_session_id", string(e.id)).Int("max_players", req.MaxPlayers)
	if record.ScriptVersion != "" {
		log = log.Str("script_version", record.ScriptVersion)
	}
	log.Msg("game session created")
	gs.storeNew(e)
	return e, nil
}

// boundActivation starts the timer for a game session to become ACTIVE.
func (gs *games) boundActivation(f *messages.Fleet, e *entry) {
	e.overdue.Stop()
	e.overdue = gs.context.After(cmp.Or(f.Runtime.ActivationTimeout, activationTimeout), activationDue{e, e.ref})
}

// onActivationDue ends a game session that has not become ACTIVE in time.
func (gs *games) onActivationDue(m activationDue) {
	e := m.e
	if !e.runs() || e.ref != m.ref || e.published.Session().Status != messages.GameSessionActivating {
		return
	}
	gs.catalog.FleetEvent(e.fleet.id, catalog.EventActivation, "a game session was not ACTIVE in time")
	e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGameEnded, Text: "not ACTIVE in time", Force: true})
}

func (gs *games) run(f *messages.Fleet, e *entry, record *messages.GameSession) (err error) {
	if e.server != nil {
		gs.runServer(f, e, record)
		return nil
	}
	if e.process == nil {
		return gs.runHandler(f, e, record)
	}
	if e.ref, err = gs.hosting.Start(e.process, gamesession.Options{Record: record, Publisher: e.published}, gs.logOf(f, e.id)); err == nil {
		gs.refs[e.ref] = e
	}
	return err
}

// replace starts a new process for a game session whose stand-by process ended before it received the game session. If
// the game session should no longer run (unwanted), replace ends it instead.
func (gs *games) replace(e *entry) {
	delete(gs.refs, e.ref)
	e.ref = nil
	defer gs.hosting.Release(e.process) // deferred, because the new process may use the same program
	e.process = e.process.Again()
	f, record := gs.catalog.Fleet(e.fleet.id), e.published.Session()
	if why := gs.unwanted(e, f, record); why != "" {
		gs.endUnstarted(e, why)
		return
	}
	record.Status, record.EndText, record.Terminated = messages.GameSessionActivating, "", time.Time{}
	record.ScriptVersion = e.process.Version()
	var err error
	if e.ref, err = gs.hosting.StartNew(e.process, gamesession.Options{Record: record, Publisher: e.published}, gs.logOf(f, e.id)); err != nil {
		gs.endUnstarted(e, err.Error())
		return
	}
	gs.refs[e.ref] = e
	gs.boundActivation(f, e)
}

// unwanted returns the reason why a game session without an actor must end. It returns "" if the game session may
// continue.
func (gs *games) unwanted(e *entry, f *messages.Fleet, record *messages.GameSession) string {
	switch {
	case e.storage == forgotten:
		return "not stored"
	case gs.drain.on:
		return "host shut down"
	case f.Status == messages.FleetDeleting:
		return "fleet deleted"
	case record.Status >= messages.GameSessionTerminating:
		return "terminated by the service API"
	}
	return ""
}

// endUnstarted ends a game session that has no process.
func (gs *games) endUnstarted(e *entry, why string) {
	e.published.End(gs.context.Now(), why)
	gs.onOver(e, false)
	gs.keepEnded(e)
	gs.finishDrain()
}

// runHandler starts a game session of a fleet without a script.
func (gs *games) runHandler(f *messages.Fleet, e *entry, record *messages.GameSession) error {
	handler, err := gs.newHandler(f)
	if err != nil {
		return err
	}
	e.ref = gs.context.Stage().NewRef(counters.ActorGameSession, gs.o.Session.Mailbox)
	gs.refs[e.ref] = e
	gs.context.Spawn(e.ref, gamesession.New(gamesession.Options{
		Record: record, Publisher: e.published, Fleet: gs.context.Self(), Handler: handler,
		Args: strings.Fields(f.LaunchParams), Log: gs.gameLog(e.id, f), Settings: gs.o.settings(f),
	}))
	return nil
}

// node returns the name of this node, or "" if the host is not part of a cluster.
func (o *Options) node() string {
	if o.Follow == nil {
		return ""
	}
	return o.Follow.Node
}

// address returns the address that a fleet's game sessions give to players.
func (o *Options) address(f *messages.Fleet) Advertised {
	if f.Certificates {
		return o.Secured
	}
	return o.Advertised
}

func (o *Options) settings(f *messages.Fleet) gamesession.Settings {
	s := o.Session
	if w := f.ReconnectWindow; w != nil {
		s.ReconnectWindow = *w
	}
	if f.ScriptID != "" {
		s.ActivationLimit = 0 // the registry applies the fleet's limit instead (see boundActivation)
	}
	return s
}

// newHandler returns a game handler for a fleet without a script. It recovers a panic, which would otherwise crash the
// registry.
func (gs *games) newHandler(f *messages.Fleet) (h script.Handler, err error) {
	defer func() {
		if text := recover(); text != nil {
			gs.context.Counters().HandlerErrors.Add(1)
			gs.context.Log().Error().Str("fleet_id", string(f.ID)).Str("panic", fmt.Sprint(text)).Msg("making a game's handler panicked")
			h, err = nil, messages.Errorf(messages.Internal, "the logic of fleet %s cannot be loaded", f.ID)
		}
	}()
	return gs.o.NewHandler(f), nil
}

// sessionID builds the ARN of a game session (service-api.md 2.2).
func (gs *games) sessionID(f *messages.Fleet, location, tail string) messages.GameSessionID {
	id := "arn:aws:gamelift:" + gs.o.Region + "::gamesession/" + string(f.ID) + "/"
	if location != f.Locations[0] {
		id += location + "/"
	}
	return messages.GameSessionID(id + tail)
}

// fingerprint hashes the parameters that must be equal in all requests with the same idempotency token (service-api.md
// 2.6 step 4).
func Fingerprint(q *messages.CreateGameSession) [sha256.Size]byte {
	h := sha256.New()
	text := func(s string) {
		h.Write(binary.AppendUvarint(nil, uint64(len(s))))
		io.WriteString(h, s)
	}
	text(strconv.Itoa(q.MaxPlayers))
	for _, s := range []string{q.Name, q.Data, q.CreatorID} {
		text(s)
	}
	properties := slices.SortedFunc(slices.Values(q.Properties), func(a, b messages.Property) int { return cmp.Compare(a.Key, b.Key) })
	for _, p := range properties { // sorted, because callers send them in any order
		text(p.Key)
		text(p.Value)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
