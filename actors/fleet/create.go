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

	"github.com/google/uuid"

	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// onCreate starts a game session, or returns the one that the same idempotency
// token made (service-api.md 2.6). It answers when that is durable.
func (r *Registry) onCreate(c *stage.Context, m stage.Request[messages.CreateGameSession, *messages.GameSession]) {
	e, err := r.create(c, m.Request)
	r.answerCreated(e, err, m.Reply)
}

func (r *Registry) create(c *stage.Context, req messages.CreateGameSession) (*entry, error) {
	f, location, err := r.admit(c, req)
	if err != nil {
		return nil, err
	}
	key := tokenKey{f.record.ID, location, req.IdempotencyToken}
	if req.IdempotencyToken != "" {
		if e := r.tokens[key]; e != nil {
			if e.made != fingerprint(&req) {
				return nil, messages.Errorf(messages.IdempotentMismatch, "idempotency token %s was used with other parameters", req.IdempotencyToken)
			}
			return e, nil
		}
	}
	limit, limited := creatorLimit(f.record)
	who := creator{f.record.ID, req.CreatorID}
	switch {
	case !limited:
	case req.CreatorID == "" && f.record.CreatorLimit == nil:
		limited = false
	case req.CreatorID == "":
		return nil, messages.Errorf(messages.InvalidRequest, "fleet %s limits what one creator may create: CreatorId is required", f.record.ID)
	case !r.creators.allow(who, limit, c.Now()):
		return nil, messages.Errorf(messages.LimitExceeded, "creator %s has created %d game sessions on fleet %s within %v",
			req.CreatorID, limit.PerPeriod, f.record.ID, limit.Period)
	}
	tail := req.IdempotencyToken
	if tail == "" {
		tail = "gsess-" + uuid.NewString()
	}
	e, err := r.start(c, sessionSpec{fleet: f, location: location, request: req, tail: tail})
	if err != nil {
		return nil, err
	}
	if limited {
		r.creators.remember(who, limit, c.Now())
	}
	if req.IdempotencyToken != "" {
		r.tokens[key] = e
	}
	return e, nil
}

// admit finds the fleet and the location of a new game session.
func (r *Registry) admit(c *stage.Context, req messages.CreateGameSession) (f *fleetEntry, location string, err error) {
	if r.drain.on {
		return nil, "", unavailable()
	}
	r.forgetOld(c)
	if f, err = r.resolve(req.FleetID, req.AliasID); err != nil {
		return nil, "", err
	}
	if f.record.Status != messages.FleetActive {
		return nil, "", notActive(f.record)
	}
	if location = req.Location; location == "" {
		location = f.record.Locations[0]
	} else if !slices.Contains(f.record.Locations, location) {
		return nil, "", messages.Errorf(messages.InvalidRequest, "location %s is not one of fleet %s", location, f.record.ID)
	}
	return f, location, nil
}

func notActive(f *messages.Fleet) error {
	return messages.Errorf(messages.InvalidFleetStatus, "fleet %s is %s, not ACTIVE", f.ID, f.Status)
}

// sessionSpec is the specification of a new game session.
type sessionSpec struct {
	fleet      *fleetEntry
	location   string
	tail       string // of its id
	request    messages.CreateGameSession
	matchmaker string // MatchmakerData
}

// start makes the record and the actor of a new game session, and has it stored.
func (r *Registry) start(c *stage.Context, spec sessionSpec) (*entry, error) {
	f, req := spec.fleet, spec.request
	if err := r.room(f, spec.location); err != nil {
		return nil, err
	}
	id := r.sessionID(f.record, spec.location, spec.tail)
	if r.sessions[id] != nil { // a token in the shape of an id that was made up here
		return nil, messages.Errorf(messages.Conflict, "game session %s exists", id)
	}
	if r.unread.has(store.GameSession, string(id)) { // an id is used once
		return nil, messages.Errorf(messages.Conflict, "game session %s has existed, and its record in the store is damaged: use another idempotency token", id)
	}
	e := &entry{id: id, fleet: f, location: spec.location, token: req.IdempotencyToken}
	if e.token != "" {
		e.made = fingerprint(&req)
	}
	if f.record.ScriptID != "" {
		e.process = r.hosting.Free(f.record.ID, spec.location) // see room
	}
	address := r.o.Advertised
	if f.record.Certificates {
		address = r.o.Secured
	}
	record := &messages.GameSession{
		ID: id, FleetID: f.record.ID, Location: spec.location,
		Name: req.Name, CreatorID: req.CreatorID, Data: req.Data, MatchmakerData: spec.matchmaker, Properties: req.Properties,
		MaxPlayers: req.MaxPlayers, Status: messages.GameSessionActivating, AcceptsPlayers: true, Protected: f.record.Shown.Protection,
		IdempotencyToken: req.IdempotencyToken, Created: c.Now(),
		IPAddress: address.IPAddress, DNSName: address.DNSName, Port: address.Port,
	}
	if e.process != nil {
		record.ScriptVersion = e.process.Version()
	}
	e.published = gamesession.NewPublisher(record)
	if err := r.run(c, e, record); err != nil {
		return nil, err
	}
	r.occupy(e, 1)
	r.sessions[e.id] = e
	r.order = append(r.order, e)
	if e.process != nil {
		r.boundActivation(c, e)
	}
	log := c.Log().Info().Str("game_session_id", string(e.id)).Int("max_players", req.MaxPlayers)
	if record.ScriptVersion != "" {
		log = log.Str("script_version", record.ScriptVersion)
	}
	log.Msg("game session created")
	r.storeNew(c, e)
	return e, nil
}

// boundActivation ends a game session that is not ACTIVE in time.
func (r *Registry) boundActivation(c *stage.Context, e *entry) {
	e.overdue.Stop()
	e.overdue = c.After(cmp.Or(e.fleet.record.Runtime.ActivationTimeout, activationTimeout), activationDue{e, e.ref})
}

// run starts a game session, in a process or without one.
func (r *Registry) run(c *stage.Context, e *entry, record *messages.GameSession) (err error) {
	if e.process == nil {
		return r.runHandler(c, e, record)
	}
	if e.ref, err = r.hosting.Start(e.process, gamesession.Options{Record: record, Publisher: e.published}, r.logOf(c, e)); err == nil {
		r.refs[e.ref] = e
	}
	return err
}

// replace gives a game session another process, because the idle one that it was
// given had ended by itself at that moment. What it was told meanwhile is lost: if
// that was to end, it has.
func (r *Registry) replace(c *stage.Context, e *entry) {
	delete(r.refs, e.ref)
	e.ref = nil
	defer r.hosting.Release(e.process) // only now: its program may be the one that goes on
	e.process = e.process.Again()
	record := e.published.Session()
	if why := r.unwanted(e, record); why != "" {
		r.endUnstarted(c, e, why)
		return
	}
	record.Status, record.EndText, record.Terminated = messages.GameSessionActivating, "", time.Time{}
	record.ScriptVersion = e.process.Version()
	var err error
	if e.ref, err = r.hosting.StartNew(e.process, gamesession.Options{Record: record, Publisher: e.published}, r.logOf(c, e)); err != nil {
		r.endUnstarted(c, e, err.Error())
		return
	}
	r.refs[e.ref] = e
	r.boundActivation(c, e)
}

// unwanted returns why a game session is to end, although nobody can be told; else "".
func (r *Registry) unwanted(e *entry, record *messages.GameSession) string {
	switch {
	case e.forgotten:
		return "not stored"
	case r.drain.on:
		return "host shut down"
	case e.fleet.record.Status == messages.FleetDeleting:
		return "fleet deleted"
	case record.Status >= messages.GameSessionTerminating:
		return "terminated by the service API"
	}
	return ""
}

// endUnstarted ends a game session that has no process.
func (r *Registry) endUnstarted(c *stage.Context, e *entry, why string) {
	e.published.End(c.Now(), why)
	r.onOver(c, e)
	r.keepEnded(e)
	r.finishDrain()
}

// runHandler starts a game session of a fleet without a script.
func (r *Registry) runHandler(c *stage.Context, e *entry, record *messages.GameSession) error {
	f := e.fleet.record
	handler, err := r.newHandler(c, f)
	if err != nil {
		return err
	}
	e.ref = r.newRef(c)
	r.refs[e.ref] = e
	c.Spawn(e.ref, gamesession.New(gamesession.Options{
		Record: record, Publisher: e.published, Fleet: c.Self(), Handler: handler,
		Args: strings.Fields(f.LaunchParams), Log: r.gameLog(c, e.id, f), Settings: r.settings(f),
	}))
	return nil
}

func (r *Registry) settings(f *messages.Fleet) gamesession.Settings {
	s := r.o.Session
	if w := f.ReconnectWindow; w != nil {
		s.ReconnectWindow = *w
	}
	if f.ScriptID != "" {
		s.ActivationLimit = 0 // the registry's own, see start
	}
	return s
}

// newHandler makes the logic of a fleet without a script. A panic in it must not take the registry
// with it.
func (r *Registry) newHandler(c *stage.Context, f *messages.Fleet) (h script.Handler, err error) {
	defer func() {
		if text := recover(); text != nil {
			c.Counters().HandlerErrors.Add(1)
			c.Log().Error().Str("fleet_id", string(f.ID)).Str("panic", fmt.Sprint(text)).Msg("making a game's handler panicked")
			h, err = nil, messages.Errorf(messages.Internal, "the logic of fleet %s cannot be loaded", f.ID)
		}
	}()
	return r.o.NewHandler(f), nil
}

// sessionID builds the ARN of a game session (service-api.md 2.2).
func (r *Registry) sessionID(f *messages.Fleet, location, tail string) messages.GameSessionID {
	id := "arn:aws:gamelift:" + r.o.Region + "::gamesession/" + string(f.ID) + "/"
	if location != f.Locations[0] {
		id += location + "/"
	}
	return messages.GameSessionID(id + tail)
}

// resolve finds the fleet that a request names, by its id or through an alias
// (service-api.md 2.4).
func (r *Registry) resolve(id messages.FleetID, alias messages.AliasID) (*fleetEntry, error) {
	if alias != "" {
		a := r.aliases[alias]
		if a == nil {
			return nil, r.unknown(store.Alias, string(alias))
		}
		if a.FleetID == "" {
			return nil, messages.Errorf(messages.TerminalRouting, "%s", a.Message)
		}
		id = a.FleetID
	}
	f := r.fleets[id]
	if f == nil {
		return nil, r.unknown(store.Fleet, string(id))
	}
	return f, nil
}

// fingerprint is the same for requests that are the same in what an idempotent create
// must not change (service-api.md 2.6 step 4).
func fingerprint(q *messages.CreateGameSession) [sha256.Size]byte {
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
	for _, p := range properties { // callers keep them in maps
		text(p.Key)
		text(p.Value)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
