package serverprocess

import (
	"slices"
	"time"

	"troupe/messages"
)

// State is the state of a process.
type State uint8

// The states of server-sdk.md 9.1, in the order in which a process passes them.
const (
	Connected   State = iota + 1 // the handshake was accepted
	Ready                        // may host a game session
	Hosting                      // has been told of a game session
	Terminating                  // has been told to end
	Terminated                   // final: the process id is never used again
)

const (
	// readyLimit is how long a process may be Connected.
	readyLimit = 5 * time.Minute
	// missAfter is the time without a heartbeat that counts as a missed one, and deadAfter that after which a process is
	// dead (D-407). After a refresh, a Go process may be silent for refreshDead.
	missAfter   = 70 * time.Second
	deadAfter   = 3 * missAfter
	refreshDead = 300 * time.Second
	// unhealthyMax is the number of false heartbeats in a row after which a process must end. At most one counts in
	// falseEvery, because heartbeats come in bursts after a reconnect.
	unhealthyMax = 3
	falseEvery   = 20 * time.Second
	// Grace is how long a process may take to end after TerminateProcess.
	Grace = 5 * time.Minute
	// PushPause is the time between a heartbeat or a response and a push that depends on it (SS-202).
	PushPause = 200 * time.Millisecond
)

// Codes of fleet events on the way out (server-sdk.md 9.1).
const (
	EventUnhealthy    = "SERVER_PROCESS_TERMINATED_UNHEALTHY"
	EventForced       = "SERVER_PROCESS_FORCE_TERMINATED"
	EventCrashed      = "SERVER_PROCESS_CRASHED"
	EventReadyTimeout = "SERVER_PROCESS_PROCESS_READY_TIMEOUT"
)

// Effect is something that the owner of a Machine does.
type Effect interface{ effect() }

type (
	// PushCreate sends CreateGameSession on the current connection. It must be sent PushPause after it was decided.
	PushCreate struct{ GameSession messages.GameSessionID }
	// PushTerminate sends TerminateProcess on the current connection.
	PushTerminate struct{ At time.Time }
	// Activated says that the process's game session is ACTIVE.
	Activated struct{ GameSession messages.GameSessionID }
	// Terminates says that the process's game session is TERMINATING.
	Terminates struct{ GameSession messages.GameSessionID }
	// Ended says that the process is Terminated, and with it its game session, if it has one. Event is the code of the
	// fleet event, or empty. The connection is dropped if Drop is true; otherwise the process closes it.
	Ended struct {
		GameSession messages.GameSessionID
		Event       string
		Drop        bool
	}
	// ActivationTimedOut says that the process has not activated its game session in time.
	ActivationTimedOut struct{ GameSession messages.GameSessionID }
)

func (PushCreate) effect()         {}
func (PushTerminate) effect()      {}
func (Activated) effect()          {}
func (Terminates) effect()         {}
func (Ended) effect()              {}
func (ActivationTimedOut) effect() {}

// Record is the durable part of a process.
type Record struct {
	State       State
	Since       time.Time // when it became Connected
	Port        int
	LogPaths    []string               `json:",omitempty"`
	GameSession messages.GameSessionID `json:",omitempty"`
	Active      bool                   `json:",omitempty"` // the game session is ACTIVE
	ActivateBy  time.Time              // when the game session must be ACTIVE; zero: it is, or there is none
	EndsAt      time.Time              // when a Terminating process is ended by force
	Unhealthy   bool                   `json:",omitempty"` // it is Terminating because of its health
	Result      Result                 `json:",omitzero"`  // of a backfill, which has perhaps not arrived; its owner sets it
}

// Result is the result of a backfill. The zero value is none.
type Result struct {
	Reason messages.UpdateReason
	Ticket messages.TicketID
}

// Machine is a process. Create it with New or Restore.
type Machine struct {
	Record
	open      bool      // has a connection
	beat      bool      // has sent a heartbeat since it was activated, so its SDK takes pushes (SS-201)
	healthy   bool      // value of the last heartbeat
	last      time.Time // last heartbeat, or the begin of its allowance
	falses    int       // false and missed heartbeats in a row
	lastFalse time.Time // the last of them that was counted
	refreshed time.Time // last RefreshConnection
	pushed    bool      // CreateGameSession was sent on the current connection, or need not be sent again
	again     bool      // CreateGameSession has been sent twice
	unstored  bool      // the game session is not durable yet, so the process is not told about it
	asked     bool      // the process has its game session: it has sent a request about it, or the push has arrived
	told      bool      // TerminateProcess was sent on the current connection
}

// New returns a process that has just connected.
func New(now time.Time) *Machine {
	return &Machine{Record: Record{State: Connected, Since: now}, open: true, last: now}
}

// Restore returns the process of a record after a restart of the host. It has no connection. Its health counts anew.
func Restore(r Record, now time.Time) *Machine {
	beat := r.State == Hosting || r.State == Terminating // a heartbeat is not stored; a Ready process sends the next one soon
	if back := now.Add(deadAfter); !r.ActivateBy.IsZero() && r.ActivateBy.Before(back) {
		r.ActivateBy = back // the process could not say that it has activated its game session
	}
	return &Machine{Record: r, beat: beat, healthy: true, last: now, pushed: r.GameSession != "", told: true}
}

// Refused is why a request of a process is refused.
type Refused uint8

// The reasons. The endpoint has a StatusCode for each (server-sdk.md 7).
const (
	Accepted    Refused = iota
	WrongState          // 409: the process is not ready, or is ready with another port
	Gone                // 410: the process is Terminated
	UnknownGame         // 404: not the process's game session
	GameIsOver          // 400: the game session has ended, or was not activated in time
)

// Open says that a handshake of the process was accepted. It returns false if the process id is used up. An earlier
// connection is superseded.
func (m *Machine) Open() bool {
	if m.State == Terminated {
		return false
	}
	m.open = true
	if m.pushed && m.State == Hosting && !m.Active && !m.asked && !m.again {
		m.pushed, m.again = false, true // it may be lost with the earlier connection (SS-204)
	}
	m.told = m.State != Terminating
	return true
}

// Close says that the current connection has ended. The process lives on.
func (m *Machine) Close() { m.open = false }

// Connection reports whether the process has a connection.
func (m *Machine) Connection() bool { return m.open }

// Free reports whether the process may get a game session.
func (m *Machine) Free() bool {
	return m.State == Ready && m.open && m.beat && m.healthy
}

// Activate handles ActivateServerProcess. If it is Accepted, the record must be stored before the answer.
func (m *Machine) Activate(port int, logPaths []string, now time.Time) Refused {
	switch {
	case m.State == Terminated:
		return Gone
	case m.State == Connected:
		m.State, m.Port, m.LogPaths, m.last = Ready, port, slices.Clone(logPaths), now
		return Accepted
	case m.Port != port:
		return WrongState
	}
	return Accepted
}

// Heartbeat handles HeartbeatServerProcess.
func (m *Machine) Heartbeat(healthy bool, now time.Time) (Refused, []Effect) {
	switch m.State {
	case Connected:
		return WrongState, nil
	case Terminated:
		return Gone, nil
	}
	if missed := int(now.Sub(m.last) / missAfter); m.silence() == deadAfter {
		m.falses += missed
	}
	if healthy {
		m.falses = 0
	} else if m.falses == 0 || now.Sub(m.lastFalse) >= falseEvery {
		m.falses++
		m.lastFalse = now
	}
	m.beat, m.healthy, m.last = true, healthy, now
	if m.falses >= unhealthyMax && m.State != Terminating {
		m.Unhealthy = true
		return Accepted, m.Terminate(now, Grace)
	}
	return Accepted, m.pending()
}

// pending returns the pushes that wait for a connection and a heartbeat.
func (m *Machine) pending() (all []Effect) {
	if !m.open || !m.beat {
		return nil
	}
	if m.State == Hosting && !m.pushed && !m.asked && !m.Active && !m.unstored {
		m.pushed = true
		all = append(all, PushCreate{m.GameSession})
	}
	if m.State == Terminating && !m.told {
		m.told = true
		all = append(all, PushTerminate{m.EndsAt})
	}
	return all
}

// Host gives the process a game session that it must activate within limit. It returns false if the process is not Free.
// The process is told once Hosts has been called.
func (m *Machine) Host(id messages.GameSessionID, limit time.Duration, now time.Time) bool {
	if !m.Free() {
		return false
	}
	m.State, m.GameSession, m.ActivateBy, m.unstored = Hosting, id, now.Add(limit), true
	return true
}

// Hosts says that the game session of Host is durable.
func (m *Machine) Hosts() []Effect {
	m.unstored = false
	return m.pending()
}

// Unhost takes back a game session of which the process was not told. It returns false if Hosts has been called.
func (m *Machine) Unhost() bool {
	if !m.unstored {
		return false
	}
	m.unstored = false
	if m.State == Hosting {
		m.State, m.GameSession, m.ActivateBy = Ready, "", time.Time{}
	}
	return true
}

// Unstored reports whether the process has a game session that is not durable yet.
func (m *Machine) Unstored() bool { return m.unstored }

// Arrived says that the process has got CreateGameSession.
func (m *Machine) Arrived() { m.asked = true }

// about checks a request about a game session.
func (m *Machine) about(id messages.GameSessionID) Refused {
	switch {
	case m.State == Terminated:
		return Gone
	case m.State == Connected:
		return WrongState
	case m.GameSession == "" || id != m.GameSession || m.unstored:
		return UnknownGame
	}
	m.asked = true
	return Accepted
}

// ActivateGame handles ActivateGameSession. A repetition is Accepted without an effect.
func (m *Machine) ActivateGame(id messages.GameSessionID, now time.Time) (Refused, []Effect) {
	if r := m.about(id); r != Accepted {
		return r, nil
	}
	switch {
	case m.Active:
		return Accepted, nil
	case m.State == Terminating || !now.Before(m.ActivateBy):
		return GameIsOver, nil
	}
	m.Active, m.ActivateBy = true, time.Time{}
	return Accepted, []Effect{Activated{id}}
}

// About handles every other request about a game session: it must be the process's own, ACTIVATING, ACTIVE or
// TERMINATING. The game session itself decides on the rest.
func (m *Machine) About(id messages.GameSessionID) Refused { return m.about(id) }

// Terminate tells the process to end within grace. A process that was never activated is ended at once, because some SDKs
// crash otherwise (SS-30). The grace of a process that is Terminating does not change.
func (m *Machine) Terminate(now time.Time, grace time.Duration) []Effect {
	switch m.State {
	case Terminated, Terminating:
		return nil
	case Connected:
		return m.end("", true)
	}
	game := m.GameSession
	m.State, m.EndsAt, m.told = Terminating, now.Add(grace), false
	effects := m.pending()
	if game != "" && m.Active {
		effects = append(effects, Terminates{game})
	}
	return effects
}

// Leave handles TerminateServerProcess, also when it is repeated. The process closes the connection itself.
func (m *Machine) Leave() []Effect {
	event := ""
	if m.Unhealthy {
		event = EventUnhealthy
	}
	return m.end(event, false)
}

// Kill ends the process: its compute is deregistered, its game session is ended by force, or another process has taken
// its port.
func (m *Machine) Kill(event string) []Effect { return m.end(event, true) }

func (m *Machine) end(event string, drop bool) []Effect {
	if m.State == Terminated {
		return nil
	}
	m.State, m.ActivateBy, m.EndsAt = Terminated, time.Time{}, time.Time{}
	return []Effect{Ended{m.GameSession, event, drop}}
}

// Refreshed says that RefreshConnection is pushed. The process may be silent for longer then.
func (m *Machine) Refreshed(now time.Time) { m.refreshed = now }

// MayRefresh reports whether RefreshConnection may be pushed: not to a process that is not ready, and not while a game
// session waits to be activated (server-sdk.md 12.2).
func (m *Machine) MayRefresh() bool {
	return m.open && m.beat && m.State != Terminated && (m.GameSession == "" || m.Active || m.State == Terminating)
}

// silence is how long the process may send no heartbeat.
func (m *Machine) silence() time.Duration {
	if !m.refreshed.IsZero() && m.last.Sub(m.refreshed) < refreshDead {
		return refreshDead
	}
	return deadAfter
}

// unhealthyAt returns when missed heartbeats make the process unhealthy that has sent false ones, or the zero time.
func (m *Machine) unhealthyAt() time.Time {
	if m.falses == 0 || m.State == Terminating || m.silence() != deadAfter {
		return time.Time{}
	}
	return m.last.Add(time.Duration(unhealthyMax-m.falses) * missAfter)
}

// Due returns when Tick must be called, or the zero time for a Terminated process.
func (m *Machine) Due() time.Time {
	switch m.State {
	case Terminated:
		return time.Time{}
	case Connected:
		return m.Since.Add(readyLimit)
	}
	due := m.last.Add(m.silence())
	for _, t := range []time.Time{m.ActivateBy, m.EndsAt, m.unhealthyAt()} {
		if !t.IsZero() && t.Before(due) {
			due = t
		}
	}
	return due
}

// Tick carries out what is due.
func (m *Machine) Tick(now time.Time) []Effect {
	past := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	switch {
	case m.State == Terminated:
		return nil
	case m.State == Connected && past(m.Since.Add(readyLimit)):
		return m.end(EventReadyTimeout, true)
	case m.State == Connected:
		return nil
	case past(m.EndsAt):
		event := EventForced
		if m.Unhealthy {
			event = EventUnhealthy
		}
		return m.end(event, true)
	case past(m.last.Add(m.silence())):
		return m.end(EventCrashed, true)
	case past(m.ActivateBy):
		late := ActivationTimedOut{m.GameSession}
		m.ActivateBy = time.Time{}
		return append([]Effect{late}, m.Terminate(now, Grace)...)
	case past(m.unhealthyAt()):
		m.Unhealthy = true
		return m.Terminate(now, Grace)
	}
	return nil
}

// Yield decides on a port that another process of the same compute activates. free says that the other process may have
// it. If this process holds the port without a connection, it is dead (D-410).
func (m *Machine) Yield(port int) (free bool, effects []Effect) {
	if m.State == Connected || m.State == Terminated || m.Port != port {
		return true, nil
	}
	if m.open {
		return false, nil
	}
	return true, m.end(EventCrashed, true)
}
