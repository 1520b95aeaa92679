package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"troupe/messages"
)

// Operations are an operator's actions on a host that the Backend does not provide. They are safe for
// concurrent use.
type Operations interface {
	// Ban keeps a player out. LiftBan ends a ban and reports whether there was one. Errors are
	// *messages.Error or context errors.
	Ban(ctx context.Context, b messages.Ban) error
	LiftBan(ctx context.Context, player messages.PlayerID) (bool, error)
	Bans() []messages.Ban
	// AwaitBans returns when this host has the changes of bans that other nodes of its cluster have answered before.
	AwaitBans(ctx context.Context) error
	// LogLevel returns debug, info, warn or error. SetLogLevel changes the level until the next reload or
	// restart. by is the shortened name of the caller.
	LogLevel() string
	SetLogLevel(level, by string) error
	// Acted publishes an event about an action.
	Acted(a Action)
	ClosedConnections() []messages.ClosedConnection // connections that were closed most recently, newest first
	Settings() []Setting
	Listeners() []Listener
}

// Action is an operator's action and its result.
type Action struct {
	Action string `json:"action"`
	Target string `json:"target,omitempty"`
	By     string `json:"by"`
	Result string `json:"result"` // done, or the code of the error; Aborted if the response was cut off
}

func (c *Console) report(r *http.Request, name string, q query, p *problem) {
	target := ""
	for _, param := range []string{"id", "player", "level", "kind", "fleet", "grace"} {
		if v := q.values.Get(param); v != "" {
			target = v
			break
		}
	}
	result := "done"
	if p != nil {
		result = p.code
	}
	c.acted(r, Action{Action: name, Target: target, By: q.who.name, Result: result})
}

// Report logs an action that was taken on another page of the host, and publishes its event. result is done
// or the code of the error. r must come from a caller that may act.
func (c *Console) Report(r *http.Request, action, target, result string) {
	by := "an operator"
	if who, p := c.identify(r); p == nil {
		by = who.name
	}
	c.acted(r, Action{Action: action, Target: target, By: by, Result: result})
}

func (c *Console) acted(r *http.Request, a Action) {
	a.Target, a.By = clip(a.Target), short(a.By)
	c.o.Log.Info().Str("action", a.Action).Str("target", a.Target).Str("by", a.By).Str("result", a.Result).Str("remote", r.RemoteAddr).Msg("an operator acts")
	c.o.Operations.Acted(a)
}

const (
	banMax = 10 * 365 * 24 * 60 * 60 // seconds
	// textMax is the maximum length of an operator's reason in bytes. playerMax is the maximum length of a
	// player id in characters, as in the service API.
	textMax   = 256
	playerMax = 1024
)

func (q query) whoAndWhy() (player messages.PlayerID, reason string, p *problem) {
	if len(q.text("reason")) > textMax {
		return "", "", invalid("reason is longer than %d bytes", textMax)
	}
	return messages.PlayerID(q.text("player")), cmp.Or(q.text("reason"), messages.NoReason), nil
}

// kick removes a player from one game session, or from every game session that the player is in.
func (c *Console) kick(w http.ResponseWriter, r *http.Request, q query) *problem {
	player, reason, p := q.whoAndWhy()
	if p != nil {
		return p
	}
	k, p := c.kickFrom(r.Context(), c.o.Backend, player, messages.GameSessionID(q.text("gameSession")), messages.ByOperator(short(q.who.name), reason), answerMax)
	if p != nil {
		return p
	}
	silent := c.silentNodes(nil)
	switch {
	case k != kicked{}:
		return answer(w, kickedInCluster{k, silent})
	case len(silent) > 0:
		return refusal(http.StatusServiceUnavailable, "Unavailable", "the player has no seat on the nodes that answer, and these do not: "+strings.Join(silent, ", "))
	}
	return refusal(http.StatusNotFound, "NotFound", "the player "+clip(string(player))+" has no seat there")
}

type kicked struct {
	Kicked int `json:"kicked"` // number of player sessions that end
	// number of game sessions that did not respond; they remove the player when they respond again, or when
	// they end
	Silent int `json:"silent"`
}

type kickedInCluster struct {
	kicked
	// nodes that did not answer; they remove a banned player when they learn of the ban
	SilentNodes []string `json:"silentNodes"`
}

// kickFrom removes a player from a game session. If game is empty, it removes the player from all game
// sessions that backend has. It waits that long for each of them.
func (c *Console) kickFrom(ctx context.Context, backend messages.Doer, player messages.PlayerID, game messages.GameSessionID, reason string, wait time.Duration) (k kicked, p *problem) {
	games := []messages.GameSessionID{game}
	if game == "" {
		records, err := messages.Do(ctx, backend, messages.PlayerSessionQuery{PlayerID: player})
		if err != nil {
			return k, refused(err)
		}
		games = games[:0]
		for _, s := range records {
			if !s.Status.Final() && !slices.Contains(games, s.GameSessionID) {
				games = append(games, s.GameSessionID)
			}
		}
	}
	for _, id := range games {
		soon, cancel := context.WithTimeout(ctx, wait)
		n, err := messages.Do(soon, backend, messages.KickPlayer{GameSession: id, Player: player, Reason: reason})
		cancel()
		switch {
		case isSilent(ctx, err):
			k.Silent++
		// InvalidGameSessionStatus is ignored without game: the game session may have ended meanwhile
		case err != nil && (game != "" || !errors.Is(err, &messages.Error{Code: messages.InvalidGameSessionStatus})):
			return k, refused(err)
		}
		k.Kicked += n
	}
	return k, nil
}

type ban struct {
	PlayerID string     `json:"playerId"`
	Until    *time.Time `json:"until"`
	Reason   string     `json:"reason"`
	By       string     `json:"by"`
}

func shownBan(b messages.Ban) ban {
	return ban{string(b.Player), timeOf(b.Until), b.Reason, b.By}
}

// ban keeps a player out of all game sessions for a time, and removes the player from the current ones.
func (c *Console) ban(w http.ResponseWriter, r *http.Request, q query) *problem {
	player, reason, p := q.whoAndWhy()
	if p != nil {
		return p
	}
	until := time.Now().Add(time.Duration(q.numbers["seconds"]) * time.Second)
	b := messages.Ban{Player: player, Until: until, Reason: reason, By: short(q.who.name)}
	if q.who.reported { // another node has made the ban
		return c.enforce(w, r, b)
	}
	if err := c.o.Operations.Ban(r.Context(), b); err != nil {
		return refused(err)
	}
	// Each node removes the player from its own game sessions, so that a node that does not answer hinders no other.
	answers, silent := gather[kicked](r.Context(), c, r.Method, "bans", q)
	k, p := c.kickFrom(r.Context(), c.local(), player, "", b.Cause(), answerMax)
	if p != nil {
		return p
	}
	for _, there := range answers {
		k.Kicked, k.Silent = k.Kicked+there.Kicked, k.Silent+there.Silent
	}
	return answer(w, struct {
		ban
		kickedInCluster
	}{shownBan(b), kickedInCluster{k, silent}})
}

// enforce removes a player that another node has banned from the game sessions of this node.
func (c *Console) enforce(w http.ResponseWriter, r *http.Request, b messages.Ban) *problem {
	if err := c.o.Operations.AwaitBans(r.Context()); err != nil {
		return refused(err)
	}
	k, p := c.kickFrom(r.Context(), c.local(), b.Player, "", b.Cause(), askMax/4)
	if p != nil {
		return p
	}
	return answer(w, k)
}

func (c *Console) liftBan(w http.ResponseWriter, r *http.Request, q query) *problem {
	if q.who.reported { // another node has lifted the ban
		if err := c.o.Operations.AwaitBans(r.Context()); err != nil {
			return refused(err)
		}
		return answer(w, struct{}{})
	}
	player := messages.PlayerID(q.text("player"))
	there, err := c.o.Operations.LiftBan(r.Context(), player)
	if err != nil {
		return refused(err)
	}
	_, silent := gather[struct{}](r.Context(), c, r.Method, "bans", q)
	if !there {
		return refusal(http.StatusNotFound, "NotFound", "the player "+clip(string(player))+" is not banned")
	}
	return answer(w, map[string][]string{"silentNodes": silent})
}

func (c *Console) bans(w http.ResponseWriter, _ *http.Request, _ query) *problem {
	return answer(w, map[string][]ban{"bans": shownAll(c.o.Operations.Bans(), shownBan)})
}

func (c *Console) logLevel(w http.ResponseWriter, _ *http.Request, _ query) *problem {
	return answer(w, map[string]string{"level": c.o.Operations.LogLevel()})
}

func (c *Console) setLogLevel(w http.ResponseWriter, r *http.Request, q query) *problem {
	if err := c.o.Operations.SetLogLevel(q.words["level"], short(q.who.name)); err != nil {
		return refusal(http.StatusConflict, "Conflict", err.Error())
	}
	return c.logLevel(w, r, q)
}

// profile sends a profile of the host in the format of go tool pprof. Only one profile is taken at a time.
func (c *Console) profile(w http.ResponseWriter, r *http.Request, q query) *problem {
	kind, length := q.words["kind"], time.Duration(q.numbers["seconds"])*time.Second
	select {
	case c.profiling <- struct{}{}:
		defer func() { <-c.profiling }()
	default:
		return refusal(http.StatusConflict, "Conflict", "another profile is being taken: try again")
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a profile may take longer than the read timeout
	// A caller that does not read must not block the profiles of others.
	_ = control.SetWriteDeadline(time.Now().Add(length + downloadWriteTimeout))
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	if kind != "cpu" {
		attach(w, "troupe-"+kind+".pprof", "application/octet-stream")
		_ = pprof.Lookup(kind).WriteTo(w, 0)
		return nil
	}
	into := &late{w: w, begin: func() { attach(w, "troupe-cpu.pprof", "application/octet-stream") }}
	if err := pprof.StartCPUProfile(into); err != nil {
		return refusal(http.StatusConflict, "Conflict", err.Error())
	}
	wait := time.NewTimer(length)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-r.Context().Done():
	case <-c.closing:
	}
	pprof.StopCPUProfile()
	return nil
}

// late calls begin before the first byte of a response. Until then, an error response can still set its own
// headers.
type late struct {
	w     http.ResponseWriter
	begin func()
}

func (l *late) Write(b []byte) (int, error) {
	if l.begin != nil {
		l.begin()
		l.begin = nil
	}
	return l.w.Write(b)
}
