package gamesession

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

// Started implements stage.Actor. It loads the game. Each later step follows a decision of the game (realtime.md 15.4).
func (a *Actor) Started(c *stage.Context) {
	a.c = c
	a.drops = c.Log().Sample(&zerolog.BurstSampler{Burst: 1, Period: time.Second})
	if a.o.Log == nil {
		a.o.Log = script.NewLog(hostLog{log: c.Log(), session: string(a.record.ID)}, script.LevelDebug, c.Stage().Now)
	}
	if a.o.Resumed { // the status that it has stays published
		a.restorePlayers()
		a.setGauge(counters.GameSessionState(a.record.Status))
	} else {
		a.setStatus(messages.GameSessionActivating)
	}
	a.load()
	a.afterCallbacks()
}

func (a *Actor) load() {
	loader, ok := a.o.Handler.(script.Loader)
	if !ok {
		var err error
		if !a.callback("init", func() { err = a.o.Handler.Init((*session)(a)) }) || err != nil {
			a.fail(initFailed(fmt.Sprint(err)))
			return
		}
		a.loaded()
		return
	}
	var p *script.Pending
	if !a.callback("load", func() { p = loader.Load((*session)(a)) }) || p == nil {
		a.fail("load failed")
		return
	}
	a.await(p, loadLimit, func(ok bool) {
		if !ok {
			a.fail(initFailed(p.Reason()))
			return
		}
		a.loaded()
	})
}

func initFailed(why string) string {
	if strings.HasPrefix(why, "init failed") {
		return why
	}
	return "init failed: " + why
}

// loaded asks the game whether its process is ready.
func (a *Actor) loaded() {
	if a.phase >= closing {
		return
	}
	a.configure()
	a.resolve("onProcessStarted", gateLimit, func() script.Decision { return a.o.Handler.OnProcessStarted(a.o.Args) }, func(ready bool) {
		switch {
		case !ready:
			a.fail("onProcessStarted did not say ready")
		case a.phase >= closing:
		case a.assignment != unassigned:
			a.begin()
		case a.phase == loading:
			a.phase = idle
			a.watchHealth()
			a.o.Fleet.Tell(Ready{a.c.Self()})
		}
	})
}

// fail ends a process that could not start. If the game has called Exit or Crash, that reason is used instead of text.
func (a *Actor) fail(text string) {
	if a.exit == nil {
		a.crash(text)
	}
}

func (a *Actor) onAssign(m Assign) {
	if a.assignment != unassigned {
		return
	}
	a.assignment, a.record, a.o.Publisher = assigned, *m.Record, m.Publisher
	if a.phase >= closing {
		a.conclude()
		a.o.Fleet.Tell(a.overMessage())
		return
	}
	a.setStatus(messages.GameSessionActivating)
	switch a.phase {
	case idle:
		a.begin()
	case ending:
		a.fail("the process was ending already")
	}
}

func (a *Actor) begin() {
	if a.phase < activating {
		a.phase = activating
	}
	a.window = a.windowOfProperty(a.window)
	a.assignment = started
	a.watchHealth()
	a.resolve("onStartGameSession", a.o.ActivationLimit, func() script.Decision { g := a.record; return a.o.Handler.OnStartGameSession(&g) }, func(ok bool) {
		switch {
		case !ok:
			a.fail("onStartGameSession failed") // D-115
		case a.phase == activating && a.exit == nil: // otherwise the game has called ProcessEnding or is being ended
			a.phase = active
			a.setStatus(messages.GameSessionActive)
			if a.o.EmptyTimeout > 0 {
				a.emptyTimer = a.c.After(a.o.EmptyTimeout, emptyCheck{})
			}
		}
	})
}

// configure reads the script's configuration. Defaults replace invalid values.
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
			a.o.Log.Host(script.LevelWarn, "configuration.maxPlayers is below 1: using", playersMaxDefault)
		}
		if w := conf.ReconnectWindow; w != nil && *w >= 0 && *w <= ReconnectWindowMax {
			a.window = *w
		} else if w != nil {
			a.o.Log.Host(script.LevelWarn, "configuration.reconnectWindow is not 0 to 600 s: using", a.window)
		}
		if conf.PingInterval > 0 {
			a.ping = conf.PingInterval
		} else if conf.PingInterval < 0 {
			a.o.Log.Host(script.LevelWarn, "configuration.pingIntervalTime is not positive: using", a.ping)
		}
	})
}

// windowProperty is the key of the game property that sets a game session's reconnect window, in seconds from 0 to 600.
const windowProperty = "troupe.reconnectWindowSeconds"

// windowOfProperty returns the value of windowProperty. If the property is missing or invalid, it returns otherwise.
func (a *Actor) windowOfProperty(otherwise time.Duration) time.Duration {
	for _, p := range a.record.Properties {
		if p.Key != windowProperty {
			continue
		}
		seconds, err := strconv.Atoi(p.Value)
		if err == nil && seconds >= 0 && time.Duration(seconds) <= ReconnectWindowMax/time.Second {
			return time.Duration(seconds) * time.Second
		}
		a.o.Log.Host(script.LevelWarn, fmt.Sprintf("game property %s is %q, not 0 to %.0f: using %v",
			windowProperty, p.Value, ReconnectWindowMax.Seconds(), otherwise))
	}
	return otherwise
}

func (a *Actor) onTerminate(m Terminate) {
	if a.phase >= closing {
		return
	}
	first := a.terminate == nil
	a.terminate = &m
	switch {
	case m.Force || a.phase < idle:
		a.terminated()
	case first:
		a.phase = ending
		a.setStatus(messages.GameSessionTerminating)
		a.resolve("onProcessTerminate", terminateLimit, a.o.Handler.OnProcessTerminate, func(bool) { a.terminated() })
	}
}

// terminated ends the game session with the reasons in a.terminate.
func (a *Actor) terminated() {
	m := a.terminate
	a.exit = nil // the game session is already ending
	if a.phase < closing {
		a.record.StatusReason = m.StatusReason
		a.end(m.Reason, m.Text)
	}
}

func (a *Actor) onEmptyCheck() {
	if a.phase != active {
		return
	}
	if len(a.roster) > 0 || a.joining > 0 || len(a.order)-a.finished > 0 {
		a.emptyTimer.Reset(max(a.o.EmptyTimeout, player.ReservationTime)) // a reserved player may still log in
		return
	}
	a.end(messages.CloseGameEnded, "no players")
}

func (a *Actor) onEndWhenEmpty(m EndWhenEmpty) {
	a.endWhenEmpty = m.On
	a.endIfLast()
}

// endIfLast ends the game session if its last player has left. With EmptyTimeout set, the game session does not end at
// once, unless endWhenEmpty is set and no player session is reserved either.
func (a *Actor) endIfLast() {
	if a.phase != active || len(a.roster) > 0 || a.joining > 0 {
		return
	}
	if a.o.EmptyTimeout == 0 || a.endWhenEmpty && a.finished == len(a.order) {
		a.end(messages.CloseGameEnded, "last player left")
	}
}

// watchHealth starts the health checks.
func (a *Actor) watchHealth() {
	if !a.relay && !a.o.Server && a.healthTimer == nil {
		a.healthTimer = a.c.After(a.untilHealthCheck(), healthCheck{})
	}
}

// untilHealthCheck returns the time until the next health check. Game sessions that wait for one at about the same time
// get it in the same moment: waking a thread costs more than the check of a script. Each keeps its own moment of the
// minute, also after the host was suspended.
func (a *Actor) untilHealthCheck() time.Duration {
	now := time.Now()
	for !a.healthAt.After(now) && now.Sub(a.healthAt) < time.Hour {
		a.healthAt = a.healthAt.Add(healthInterval)
	}
	if !a.healthAt.After(now) || a.healthAt.Sub(now) > healthInterval { // the first one, or the clock was set
		a.healthAt = now.Add(healthInterval).Truncate(healthTurn)
	}
	return a.healthAt.Sub(now)
}

func (a *Actor) onHealthCheck() {
	if a.phase >= closing {
		return
	}
	a.healthTimer.Reset(a.untilHealthCheck())
	a.resolve("onHealthCheck", gateLimit, a.o.Handler.OnHealthCheck, func(healthy bool) {
		if healthy {
			a.unhealthy = 0
		} else if a.unhealthy++; a.unhealthy >= unhealthyMax {
			a.crash("unhealthy")
		}
	})
}

// crash ends the game session because its process has failed.
func (a *Actor) crash(text string) {
	if a.phase >= closing {
		return
	}
	text = truncate(text)
	a.crashed = true
	if !a.relay {
		a.c.Counters().ScriptCrashes.Add(1)
	}
	a.end(messages.CloseGameCrashed, text)
}

// truncate shortens text to at most reasonMax bytes and marks the cut.
func truncate(text string) string {
	if len(text) <= reasonMax {
		return text
	}
	return strings.ToValidUTF8(text[:reasonMax], "") + " ..."
}

// end closes the connections of all players. finish is called when all player actors have stopped.
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
		a.refuseNextLogin(s)
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

func (a *Actor) refuseNextLogin(s *playerSession) {
	if late := s.has().nextLogin; late != nil {
		late.From.Refuse(0)
		s.rare.nextLogin = nil
	}
}

// finish publishes the end of the game session and stops the actor.
func (a *Actor) finish() {
	if a.phase == over {
		return
	}
	a.conclude()
	a.o.Fleet.Tell(a.overMessage())
	a.c.StopSelf()
}

func (a *Actor) overMessage() Over {
	return Over{Session: a.record.ID, Ref: a.c.Self(), Text: a.record.EndText, Failed: a.crashed, Moments: slices.Clone(a.timeline)}
}

// conclude sets the final status of all records.
func (a *Actor) conclude() {
	a.phase = over
	now := a.c.Now()
	a.finished = len(a.order)
	if a.assignment != unassigned {
		a.o.Publisher.endPlayers(now)
	}
	a.record.Terminated = now
	a.setStatus(messages.GameSessionTerminated)
}

// Stopped implements stage.Actor. After a crash of the actor, or when the host stops, it sets the final status of the
// records.
func (a *Actor) Stopped(c *stage.Context) {
	if a.phase != over && (!a.o.Server || c.Crash() != "" || a.c == nil) { // the host stops: the next one continues with its server
		if a.record.EndText == "" {
			a.record.EndText = cmp.Or(c.Crash(), "game session actor stopped")
		}
		// The actor never started. Once it has started, a.c must not change, because Session.Do reads it from other
		// goroutines.
		if a.c == nil {
			a.c = c
		}
		a.conclude()
		if c.Crash() != "" && a.assignment != unassigned {
			a.o.Fleet.Tell(Crashed{a.record.ID, slices.Clone(a.timeline)})
		}
	}
	for _, s := range a.order {
		a.dropStash(s)
		a.refuseNextLogin(s)
		s.player.Close()
	}
	a.setGauge(0)
	if closer, ok := a.o.Handler.(script.Closer); ok {
		closer.Close()
	}
	if a.assignment != unassigned && a.phase == over {
		level := script.LevelInfo
		if a.crashed {
			level = script.LevelError
		}
		a.o.Log.HostToo(level, "ended:", a.record.EndText)
	}
	a.o.Log.Close()
}

func (a *Actor) setStatus(s messages.GameSessionStatus) {
	a.record.Status = s
	if a.o.Publisher == nil {
		return // no game session has been assigned yet
	}
	a.setGauge(counters.GameSessionState(s))
	a.o.Publisher.change(func(g *messages.GameSession) {
		g.Status, g.StatusReason, g.EndText, g.Terminated = a.record.Status, a.record.StatusReason, a.record.EndText, a.record.Terminated
		g.ScriptVersion = a.record.ScriptVersion
	})
	if s == messages.GameSessionActive || s == messages.GameSessionTerminating {
		a.o.Fleet.Tell(Changed{a.record.ID})
	}
}

func (a *Actor) setGauge(g counters.GameSessionState) {
	if g > counters.GameSessionTerminating {
		g = 0
	}
	a.c.Counters().GameSessions.Move(&a.gauge, g)
}

// onExited handles the end of a child, which is a player or a group.
func (a *Actor) onExited(m stage.Exited) {
	if s := a.byRef[m.Ref]; s != nil {
		delete(a.byRef, m.Ref)
		s.ref = nil
		if m.Crash != "" {
			a.replacePlayer(s)
		}
		if s.record == recordRefused && s.ref == nil && s.view.state().Final() {
			a.forgetPlayerSessions(func(o *playerSession) bool { return o == s })
		}
		if late := s.has().nextLogin; late != nil && s.ref == nil {
			s.rare.nextLogin = nil
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
