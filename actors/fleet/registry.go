package fleet

import (
	"slices"

	"troupe/actors/fleet/catalog"
	"troupe/actors/fleet/hosting"
	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// Registry is the fleet actor, the parent of all game sessions. It forwards each message to its owner: catalog, hosting
// or games.
type Registry struct {
	catalog *catalog.Catalog
	hosting *hosting.Hosting
	games   *games
}

// New returns a registry with the contents of the stores. Damaged records do not cause an error (see Damaged).
func New(o Options) (*Registry, error) {
	o.setDefaults()
	r := new(Registry)
	var err error
	resources := o.Resources(o.Catalog)
	resources.Listener, resources.Follow = listener{r}, o.Follow
	r.catalog, err = catalog.New(resources)
	if err != nil {
		return nil, err
	}
	r.games = newGames(o, r.catalog)
	r.hosting, err = hosting.New(hosting.Options{
		NewProgram: o.NewProgram, Settings: o.settings, Catalog: r.catalog, Listener: r.games, Store: o.Store, Crash: o.Crash,
	})
	if err != nil {
		return nil, err
	}
	r.games.hosting = r.hosting
	return r, r.games.restore()
}

// Started implements stage.Actor. It ends the game sessions of the previous process and loads the scripts of fleets.
func (r *Registry) Started(c *stage.Context) {
	r.hosting.Started(c)
	r.catalog.Started(c)
	r.games.started(c)
	r.catalog.Revive()
}

// Stopped implements stage.Actor. All game sessions have already stopped.
func (r *Registry) Stopped(c *stage.Context) {
	last := c.Crash() == ""
	r.hosting.Stopped()
	r.games.stopped(last)
	r.catalog.Stopped(last)
}

// Receive implements stage.Actor.
func (r *Registry) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case gamesession.Over: // the process is free; stage.Exited follows
		if !r.hosting.Over(m.Ref, m.Text) {
			r.games.onProcessOver(m)
		}
	case stage.Exited:
		if !r.hosting.Exited(m.Ref, m.Crash) {
			r.games.onExited(m)
		}
		r.games.finishDrain()
	case stage.Ask:
		r.ask(c, m)
	case hosting.Stuck:
		process, id := r.games.processOf(m.Ref)
		r.hosting.Stuck(m, process, string(id))
	default:
		if !r.games.receive(msg) && !r.catalog.Receive(msg) && !r.hosting.Receive(msg) {
			c.Unknown(msg)
		}
	}
}

func (r *Registry) ask(c *stage.Context, a stage.Ask) {
	switch q := a.Request.(type) {
	case messages.CreateFleet:
		if r.games.drain.on {
			a.Reply(nil, unavailable())
		} else {
			r.catalog.Ask(a)
		}
	case messages.ScriptsLoaded:
		r.hosting.AwaitLoaded(func() { stage.As(q, a).Reply(stage.None{}, nil) })
	default:
		if !r.games.ask(a) && !r.catalog.Ask(a) {
			c.Unknown(a)
		}
	}
}

// Damaged returns the stored records that the host ignores because they are damaged. It must not be called after the
// registry has been spawned.
func (r *Registry) Damaged() []store.Damage {
	return slices.Concat(r.catalog.Unread().Damaged(), r.hosting.Unread().Damaged(), r.games.unread.Damaged(), r.games.servers.unread.Damaged())
}

// Unread reports whether the host ignores a stored record because it is damaged. It must not be called after the
// registry has been spawned.
func (r *Registry) Unread(kind store.Kind, id string) bool {
	return r.catalog.Unread().Has(kind, id) || r.games.unread.Has(kind, id) || r.games.servers.unread.Has(kind, id)
}

// CheckDestinations implements the request of the same name. It must not be called after the registry has been spawned.
func (r *Registry) CheckDestinations(destinations []string) error {
	return r.catalog.CheckDestinations(destinations)
}

// PlayerSession returns the status of a player session, or 0 if the id is unknown. It asks no actor and is safe for
// concurrent use.
func (r *Registry) PlayerSession(id messages.PlayerSessionID) messages.PlayerSessionStatus {
	if e := r.games.players.get(id); e != nil {
		return e.published.PlayerStatus(id)
	}
	return 0
}

// SessionID returns the id of a game session of a fleet in a location. Any goroutine may call it.
func (r *Registry) SessionID(f *messages.Fleet, location, tail string) messages.GameSessionID {
	return r.games.sessionID(f, location, tail)
}

// Wait returns when the registry's goroutines have ended. It must be called after the actor has stopped.
func (r *Registry) Wait() {
	r.games.work.Wait()
	if l := r.games.launcher; l != nil {
		l.Close()
	}
	if b := r.games.builds.folder; b != nil {
		b.Close()
	}
	r.hosting.Wait()
}
