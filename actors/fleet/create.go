package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// create starts a game session, or returns the one that the same idempotency
// token made (service-api.md 2.6).
func (r *Registry) create(c *stage.Context, req messages.CreateGameSession) (*messages.GameSession, error) {
	if r.draining {
		return nil, unavailable()
	}
	r.forgetEnded(c.Now())
	f, err := r.resolve(req.FleetID, req.AliasID)
	if err != nil {
		return nil, err
	}
	if f.record.Status != messages.FleetActive {
		return nil, messages.Errorf(messages.InvalidFleetStatus, "fleet %s is %s, not ACTIVE", f.record.ID, f.record.Status)
	}
	location := req.Location
	if location == "" {
		location = f.record.Locations[0]
	} else if !slices.Contains(f.record.Locations, location) {
		return nil, messages.Errorf(messages.InvalidRequest, "location %s is not one of fleet %s", location, f.record.ID)
	}
	key := tokenKey{f.record.ID, location, req.IdempotencyToken}
	if req.IdempotencyToken != "" {
		if e := r.tokens[key]; e != nil {
			if !sameRequest(e.request, req) {
				return nil, messages.Errorf(messages.IdempotentMismatch, "idempotency token %s was used with other parameters", req.IdempotencyToken)
			}
			return e.published.Session(), nil
		}
	}
	if req.CreatorID != "" && !r.creators.allow(creator{f.record.ID, req.CreatorID}, c.Now()) {
		return nil, messages.Errorf(messages.LimitExceeded, "creator %s created a game session on fleet %s less than a second ago", req.CreatorID, f.record.ID)
	}
	if f.live >= f.record.GameSessionsMax {
		return nil, messages.Errorf(messages.FleetCapacityExceeded, "fleet %s hosts its maximum of %d game sessions", f.record.ID, f.record.GameSessionsMax)
	}
	e, err := r.start(c, f, location, req)
	if err != nil {
		return nil, err
	}
	if req.IdempotencyToken != "" {
		r.tokens[key] = e
	}
	return e.published.Session(), nil
}

// start makes the record and the actor of a new game session.
func (r *Registry) start(c *stage.Context, f *fleetEntry, location string, req messages.CreateGameSession) (*entry, error) {
	tail := req.IdempotencyToken
	if tail == "" {
		tail = "gsess-" + uuid.NewString()
	}
	id := r.sessionID(f.record, location, tail)
	if r.sessions[id] != nil { // a token in the shape of an id that was made up here
		return nil, messages.Errorf(messages.Conflict, "game session %s exists", id)
	}
	handler, err := r.newHandler(c, f.record)
	if err != nil {
		return nil, err
	}
	address := r.o.Advertised
	if f.record.Certificates {
		address = r.o.Secured
	}
	record := &messages.GameSession{
		ID: id, FleetID: f.record.ID, Location: location,
		Name: req.Name, CreatorID: req.CreatorID, Data: req.Data, Properties: req.Properties,
		MaxPlayers: req.MaxPlayers, Status: messages.GameSessionActivating, AcceptsPlayers: true,
		IdempotencyToken: req.IdempotencyToken, Created: c.Now(),
		IPAddress: address.IPAddress, DNSName: address.DNSName, Port: address.Port,
	}
	e := &entry{id: record.ID, fleet: f, location: location, request: req,
		published: gamesession.NewPublished(record), ref: r.newRef(c)}
	f.live++
	r.sessions[e.id] = e
	r.order = append(r.order, e)
	r.refs[e.ref] = e
	settings := r.o.Session
	if w := f.record.ReconnectWindow; w != nil {
		settings.ReconnectWindow = *w
	}
	c.Spawn(e.ref, gamesession.New(gamesession.Options{
		Record: record, Published: e.published, Fleet: c.Self(), Handler: handler,
		Args: strings.Fields(f.record.LaunchParams), Settings: settings, Log: r.gameLog(c, id, f.record),
	}))
	c.Log().Info().Str("game_session_id", string(e.id)).Int("max_players", req.MaxPlayers).Msg("game session created")
	return e, nil
}

// newHandler makes a game's logic. A panic in it is the game's fault and must
// not take the registry, and so the host, with it.
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
			return nil, messages.Errorf(messages.NotFound, "alias %s is not known here", alias)
		}
		if a.FleetID == "" {
			return nil, messages.Errorf(messages.TerminalRouting, "%s", a.Message)
		}
		id = a.FleetID
	}
	f := r.fleets[id]
	if f == nil {
		return nil, messages.Errorf(messages.NotFound, "fleet %s is not known here", id)
	}
	return f, nil
}

// sameRequest compares what an idempotent create must not change.
func sameRequest(a, b messages.CreateGameSession) bool {
	return a.MaxPlayers == b.MaxPlayers && a.Name == b.Name && a.Data == b.Data && a.CreatorID == b.CreatorID &&
		slices.Equal(a.Properties, b.Properties)
}
