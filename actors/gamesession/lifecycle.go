package gamesession

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

// Started loads the game's logic and opens the game session (realtime.md 15.4).
func (a *Actor) Started(c *stage.Context) {
	a.c = c
	a.drops = c.Log().Sample(&zerolog.BurstSampler{Burst: 1, Period: time.Second})
	if a.o.Log == nil {
		a.o.Log = script.NewLog(hostLog{log: c.Log(), session: string(a.record.ID)}, script.LevelDebug, c.Stage().Now)
	}
	a.setStatus(messages.GameSessionActivating)
	a.configure()
	failure := a.begin()
	switch {
	case a.exit != nil:
		a.afterCallbacks()
	case failure != "":
		a.crash(failure)
	case a.phase == activating: // else it said ProcessEnding already
		a.phase = active
		a.setStatus(messages.GameSessionActive)
		if a.o.EmptyTimeout > 0 {
			a.empty = c.After(a.o.EmptyTimeout, emptyCheck{})
		}
		if !a.relay {
			c.After(healthInterval, healthCheck{})
		}
	}
}

// begin runs the callbacks up to the game session's start and returns why it
// cannot start, if so.
func (a *Actor) begin() (failure string) {
	h := a.o.Handler
	var err error
	if !a.callback("init", func() { err = h.Init((*session)(a)) }) || err != nil {
		return fmt.Sprint("init failed: ", err)
	}
	ready := false
	if !a.callback("onProcessStarted", func() { ready, _ = h.OnProcessStarted(a.o.Args).Now() }) || !ready {
		return "onProcessStarted did not say ready"
	}
	a.placed = true
	if !a.callback("onStartGameSession", func() { g := a.record; h.OnStartGameSession(&g) }) {
		return "onStartGameSession failed" // D15
	}
	return ""
}

// configure reads the script's configuration; what makes no sense becomes the
// default (D34, D35).
func (a *Actor) configure() {
	a.window = a.o.ReconnectWindow
	a.playersMax, a.ping = playersMaxDefault, a.o.PingInterval
	if a.ping <= 0 {
		a.ping = pingIntervalDefault
	}
	a.callback("configuration", func() {
		conf := a.o.Handler.Configuration()
		if conf.MaxPlayers > 0 {
			a.playersMax = conf.MaxPlayers
		} else if conf.MaxPlayers < 0 {
			a.o.Log.Warn("configuration.maxPlayers is below 1: using", playersMaxDefault)
		}
		if w := conf.ReconnectWindow; w != nil && *w >= 0 && *w <= ReconnectWindowMax {
			a.window = *w
		} else if w != nil {
			a.o.Log.Warn("configuration.reconnectWindow is not 0 to 600 s: using", a.window)
		}
		if conf.PingInterval > 0 {
			a.ping = conf.PingInterval
		} else if conf.PingInterval < 0 {
			a.o.Log.Warn("configuration.pingIntervalTime is not positive: using", a.ping)
		}
	})
	a.playersMax = min(a.playersMax, max(a.record.MaxPlayers, 0))
	a.window = a.windowOfProperty(a.window)
}

// windowProperty is the game property that sets the reconnect window of one game
// session, in seconds from 0 to 600.
const windowProperty = "troupe.reconnectWindowSeconds"

// windowOfProperty returns what the game property says, or otherwise.
func (a *Actor) windowOfProperty(otherwise time.Duration) time.Duration {
	for _, p := range a.record.Properties {
		if p.Key != windowProperty {
			continue
		}
		seconds, err := strconv.Atoi(p.Value)
		if err == nil && seconds >= 0 && time.Duration(seconds) <= ReconnectWindowMax/time.Second {
			return time.Duration(seconds) * time.Second
		}
		a.o.Log.Warn(fmt.Sprintf("game property %s is %q, not 0 to %.0f: using %v",
			windowProperty, p.Value, ReconnectWindowMax.Seconds(), otherwise))
	}
	return otherwise
}

func (a *Actor) onTerminate(m Terminate) {
	if a.phase >= closing {
		return
	}
	a.callback("onProcessTerminate", func() { a.o.Handler.OnProcessTerminate() })
	a.exit = nil // exiting is what happens now anyway
	a.end(m.Reason, m.Text)
}

func (a *Actor) onEmptyCheck() {
	if a.phase != active {
		return
	}
	if len(a.roster) > 0 || a.joining > 0 || len(a.order)-a.finished > 0 {
		a.empty.Reset(max(a.o.EmptyTimeout, player.ReservationTime)) // a held seat is a player to come
		return
	}
	a.end(messages.CloseGameEnded, "no players")
}

func (a *Actor) onEndWhenEmpty() {
	a.lastOnly = true
	a.endIfLast()
}

// endIfLast ends a game session that does not outlive its last player, after one
// has left.
func (a *Actor) endIfLast() {
	if a.phase == active && (a.lastOnly || a.o.EmptyTimeout == 0) && len(a.roster) == 0 && a.joining == 0 {
		a.end(messages.CloseGameEnded, "last player left")
	}
}

func (a *Actor) onHealthCheck() {
	if a.phase >= closing {
		return
	}
	healthy := false
	if a.callback("onHealthCheck", func() { healthy, _ = a.o.Handler.OnHealthCheck().Now() }) && healthy {
		a.sick = 0
	} else if a.sick++; a.sick >= unhealthyMax {
		a.crash("unhealthy")
		return
	}
	a.c.After(healthInterval, healthCheck{})
}

// crash ends the game session as one whose process failed.
func (a *Actor) crash(text string) {
	if a.phase >= closing {
		return
	}
	a.c.Log().Warn().Str("game_session_id", string(a.record.ID)).Str("reason", text).Msg("game session crashed")
	a.end(messages.CloseGameEnded, text)
}

// end closes all players; finish follows when their actors are gone.
func (a *Actor) end(reason messages.CloseReason, text string) {
	if a.phase >= closing {
		return
	}
	a.phase = closing
	a.record.EndText = text
	a.setStatus(messages.GameSessionTerminating)
	live := 0
	for _, s := range a.order {
		a.dropStash(s)
		a.refuseLate(s)
		if s.ref != nil {
			live++
			s.ref.Tell(player.EndGame{Reason: reason})
		}
	}
	if live == 0 {
		a.finish()
		return
	}
	a.c.After(closeGrace, closeOver{})
}

func (a *Actor) refuseLate(s *seat) {
	if s.late != nil {
		s.late.From.Refuse(0)
		s.late = nil
	}
}

// finish publishes the end and stops the actor.
func (a *Actor) finish() {
	if a.phase == over {
		return
	}
	a.conclude()
	a.o.Fleet.Tell(Over{Session: a.record.ID})
	a.c.StopSelf()
}

// conclude brings all records to their final status (service-api.md D15).
func (a *Actor) conclude() {
	a.phase = over
	now := a.c.Now()
	for _, s := range a.order {
		switch s.place.state() {
		case messages.PlayerSessionActive:
			s.place.set(messages.PlayerSessionCompleted, now)
		case messages.PlayerSessionReserved:
			s.place.set(messages.PlayerSessionTimedOut, now)
		}
	}
	a.finished = len(a.order)
	a.countPlaces()
	a.record.Terminated = now
	a.setStatus(messages.GameSessionTerminated)
}

// Stopped brings the records to an end if nothing else did: after a crash, or
// when the host stops.
func (a *Actor) Stopped(c *stage.Context) {
	if a.phase != over {
		if a.record.EndText == "" {
			a.record.EndText = "game session actor stopped"
		}
		a.c = c
		a.conclude()
	}
	for _, s := range a.order {
		a.dropStash(s)
		a.refuseLate(s)
		s.player.Close()
	}
	a.setGauge(0)
}

// setStatus publishes a status of the game session.
func (a *Actor) setStatus(s messages.GameSessionStatus) {
	a.record.Status = s
	a.setGauge(counters.GameSessionState(s))
	g := a.record
	a.o.Published.session.Store(&g)
}

func (a *Actor) setGauge(g counters.GameSessionState) {
	if g > counters.GameSessionTerminating {
		g = 0
	}
	if a.gauge != 0 {
		a.c.Counters().GameSessions.Add(a.gauge, -1)
	}
	if g != 0 {
		a.c.Counters().GameSessions.Add(g, 1)
	}
	a.gauge = g
}

// onExited handles the end of a child: a player or a group.
func (a *Actor) onExited(m stage.Exited) {
	if s := a.byRef[m.Ref]; s != nil {
		delete(a.byRef, m.Ref)
		s.ref = nil
		if m.Crash != "" {
			a.replacePlayer(s)
		}
		if late := s.late; late != nil && s.ref == nil {
			s.late = nil
			a.onLogin(late)
		}
		if a.phase == closing && len(a.byRef) == 0 {
			a.finish()
		}
		return
	}
	if g := a.groupRef[m.Ref]; g != nil {
		delete(a.groupRef, m.Ref)
		if m.Crash != "" {
			a.replaceGroup(g)
		}
	}
}
