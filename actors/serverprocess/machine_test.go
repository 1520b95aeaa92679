package serverprocess

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"troupe/messages"
)

const game messages.GameSessionID = "gs-1"

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// script runs steps on a process. The clock is in seconds since start.
type script struct {
	*testing.T
	m   *Machine
	now time.Time
}

func play(t *testing.T) *script { return &script{t, New(start), start} }

func (s *script) at(seconds float64) *script {
	s.now = start.Add(time.Duration(seconds * float64(time.Second)))
	return s
}

// does fails unless the effects are those wanted.
func (s *script) does(effects []Effect, want ...Effect) {
	s.Helper()
	if len(effects)+len(want) > 0 && !reflect.DeepEqual(effects, want) {
		s.Errorf("at %v: %+v, want %+v", s.now.Sub(start), effects, want)
	}
}

func (s *script) refused(got, want Refused) {
	s.Helper()
	if got != want {
		s.Errorf("at %v: refused %d, want %d", s.now.Sub(start), got, want)
	}
}

func (s *script) beat(healthy bool, want ...Effect) {
	s.Helper()
	r, effects := s.m.Heartbeat(healthy, s.now)
	s.refused(r, Accepted)
	s.does(effects, want...)
}

// ready activates the process.
func (s *script) ready() *script {
	s.Helper()
	s.refused(s.m.Activate(7777, nil, s.now), Accepted)
	s.beat(true)
	return s
}

// hosts gives it a game session, which it activates.
func (s *script) hosts() *script {
	s.Helper()
	s.ready().does(s.host(5*time.Minute), PushCreate{game})
	r, effects := s.m.ActivateGame(game, s.now)
	s.refused(r, Accepted)
	s.does(effects, Activated{game})
	return s
}

// host gives the process a game session that is durable at once.
func (s *script) host(limit time.Duration) []Effect {
	s.Helper()
	if !s.m.Host(game, limit, s.now) {
		s.Error("the process takes no game session")
	}
	return s.m.Hosts()
}

// due fails unless the next Tick is due at a time. It returns its effects.
func (s *script) due(seconds float64, want ...Effect) {
	s.Helper()
	if got := s.m.Due().Sub(start).Seconds(); got != seconds {
		s.Errorf("due at %v s, want %v", got, seconds)
	}
	s.at(seconds - 0.001)
	s.does(s.m.Tick(s.now))
	s.at(seconds)
	s.does(s.m.Tick(s.now), want...)
}

func in(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// SS-17, SS-107, SS-116: no game session before the first heartbeat; activations may be repeated.
func TestAProcessBecomesReady(t *testing.T) {
	s := play(t)
	r, _ := s.m.Heartbeat(true, s.now)
	s.refused(r, WrongState)
	s.refused(s.m.About(game), WrongState)
	s.refused(s.m.Activate(7777, []string{"/log"}, s.now), Accepted)
	s.refused(s.m.Activate(7777, nil, s.now), Accepted)
	s.refused(s.m.Activate(7778, nil, s.now), WrongState)
	if s.m.Free() || s.m.Host(game, time.Minute, s.now) || s.m.Port != 7777 || s.m.LogPaths[0] != "/log" {
		t.Errorf("%+v", s.m)
	}
	s.at(1).beat(false)
	if s.m.Free() {
		t.Error("an unhealthy process is free")
	}
	s.beat(true)
	s.m.Close()
	if s.m.Free() {
		t.Error("a process without a connection is free")
	}
	s.m.Open()
	s.does(s.host(time.Minute), PushCreate{game})
	if s.m.Free() { // SS-19
		t.Error("a process that hosts is free")
	}
}

// A process that never gets ready ends after five minutes.
func TestReadyTimeout(t *testing.T) { play(t).due(300, Ended{"", EventReadyTimeout, true}) }

// SS-20, SS-117, SS-118.
func TestActivation(t *testing.T) {
	s := play(t).ready()
	s.does(s.host(100*time.Second), PushCreate{game})
	r, _ := s.m.ActivateGame("gs-2", s.now)
	s.refused(r, UnknownGame)
	s.at(60).beat(true)
	s.due(100, ActivationTimedOut{game}, PushTerminate{in(400)})
	r, _ = s.m.ActivateGame(game, s.now)
	s.refused(r, GameIsOver)
	s.at(160).beat(true)
	s.at(300).beat(true)
	s.due(400, Ended{game, EventForced, true})

	s = play(t).ready()
	s.host(100 * time.Second)
	r, effects := s.m.ActivateGame(game, in(100)) // before the Tick
	s.refused(r, GameIsOver)
	s.does(effects)

	s = play(t).hosts()
	r, effects = s.m.ActivateGame(game, s.now)
	s.refused(r, Accepted)
	s.does(effects)
	s.refused(s.m.About(game), Accepted)
	s.refused(s.m.About("gs-2"), UnknownGame)
}

// SS-31, SS-108, SS-109, SS-110, SS-135, D-407.
func TestHealth(t *testing.T) {
	s := play(t).hosts()
	s.at(60).beat(false)
	s.at(120).beat(false)
	s.at(180).beat(true)
	s.at(240).beat(false)
	s.at(300).beat(false)
	s.at(360).beat(false, PushTerminate{in(660)}, Terminates{game})
	s.at(420).beat(false)
	s.does(s.m.Leave(), Ended{game, EventUnhealthy, false})

	s = play(t).hosts()
	for range 9 {
		s.at(60).beat(false)
	}
	s.at(79).beat(false)
	if s.m.State != Hosting || s.m.falses != 1 {
		t.Errorf("a burst counts: %+v", s.m)
	}

	s = play(t).hosts() // false, missed, false
	s.at(10).beat(false)
	s.at(85).beat(false, PushTerminate{in(385)}, Terminates{game})

	s = play(t).hosts() // false, false, missed
	s.at(10).beat(false)
	s.at(70).beat(false)
	s.due(140, PushTerminate{in(440)}, Terminates{game})

	s = play(t).hosts()
	s.m.Close()
	s.due(210, Ended{game, EventCrashed, true})
	r, _ := s.m.Heartbeat(true, s.now)
	s.refused(r, Gone)
	if s.m.Open() || s.m.Activate(7777, nil, s.now) != Gone || !s.m.Due().IsZero() { // SS-106
		t.Errorf("%+v", s.m)
	}
}

// SS-133: a Go process may be silent for longer after a refresh.
func TestSilenceAfterARefresh(t *testing.T) {
	s := play(t).hosts()
	if !s.m.MayRefresh() {
		t.Error("may not refresh")
	}
	s.at(10).beat(false)
	s.m.Refreshed(s.now)
	s.at(200).beat(false)
	if s.m.State != Hosting || s.m.falses != 2 {
		t.Errorf("the silence counts: %+v", s.m)
	}
	s.due(500, Ended{game, EventCrashed, true})
	s = play(t).ready()
	s.host(time.Minute)
	if s.m.MayRefresh() {
		t.Error("may refresh while a game session waits for its activation")
	}
}

// SS-30, SS-33, SS-119, SS-131: the ends of a process.
func TestEnds(t *testing.T) {
	s := play(t)
	s.does(s.m.Terminate(s.now, Grace), Ended{"", "", true})
	s.does(s.m.Leave())

	s = play(t).hosts()
	s.does(s.m.Leave(), Ended{game, "", false})
	s.does(s.m.Leave())
	s.does(s.m.Terminate(s.now, Grace))
	s.does(s.m.Kill(EventForced))
	s.does(s.m.Tick(in(9999)))

	s = play(t).ready()
	s.does(s.m.Terminate(s.now, 2*time.Minute), PushTerminate{in(120)})
	s.does(s.m.Terminate(s.now, Grace))
	s.at(60).beat(true)
	s.due(120, Ended{"", EventForced, true})
}

// SS-204, SS-205, SS-111: what a lost connection may have swallowed is sent again after the next heartbeat.
func TestPushesOfALostConnection(t *testing.T) {
	s := play(t).ready()
	s.host(time.Minute)
	s.m.Close()
	s.m.Open()
	s.at(10).beat(true, PushCreate{game})
	s.m.Close()
	s.m.Open()
	s.at(20).beat(true) // once

	s = play(t).ready()
	s.host(time.Minute)
	s.refused(s.m.About(game), Accepted) // it has the game session
	s.m.Close()
	s.m.Open()
	s.at(10).beat(true)

	s = play(t).ready()
	s.host(time.Minute)
	s.m.Arrived()
	s.m.Close()
	s.m.Open()
	s.at(10).beat(true)

	for _, has := range []func(){ // it shows on the next connection that it has the game session
		func() { s.m.Arrived() },
		func() { s.refused(s.m.About(game), Accepted) },
		func() { _, _ = s.m.ActivateGame(game, s.now) },
	} {
		s = play(t).ready()
		s.host(time.Minute)
		s.m.Close()
		s.m.Open()
		has()
		s.at(10).beat(true)
	}

	s = play(t).hosts()
	s.m.Close()
	s.does(s.m.Terminate(s.now, Grace), Terminates{game})
	s.at(20)
	s.m.Open()
	s.beat(true, PushTerminate{in(300)})
	s.beat(true)
}

// A process is not told about a game session that is not durable yet, whatever its connection does meanwhile.
func TestAGameSessionThatIsNotDurable(t *testing.T) {
	s := play(t).ready()
	if !s.m.Host(game, time.Minute, s.now) || s.m.Host(game, time.Minute, s.now) {
		t.Error("it takes one")
	}
	s.beat(true)
	s.m.Close()
	s.m.Open()
	s.beat(true)
	s.refused(s.m.About(game), UnknownGame)
	s.does(s.m.Hosts(), PushCreate{game})
	s.m.Close()
	s.m.Open() // as for the first time
	s.beat(true, PushCreate{game})
	if s.m.Unhost() {
		t.Error("taken back from a process that was told")
	}

	s = play(t).ready()
	s.m.Host(game, time.Minute, s.now)
	s.m.Close()
	s.does(s.m.Hosts())
	s.m.Open()
	s.beat(true, PushCreate{game})

	s = play(t).ready()
	s.m.Host(game, time.Minute, s.now)
	s.does(s.m.Terminate(s.now, Grace), PushTerminate{in(300)})
	s.does(s.m.Hosts())

	s = play(t).ready()
	s.m.Host(game, time.Minute, s.now)
	if !s.m.Unhost() || s.m.Unhost() || !s.m.Free() {
		t.Errorf("%+v", s.m)
	}
}

// SS-34, SS-112: after a restart of the host, a process has its state and a new allowance.
func TestRestore(t *testing.T) {
	s := play(t).hosts()
	record := s.m.Record
	s.m = Restore(record, in(1000))
	if s.m.Connection() || s.m.Free() {
		t.Errorf("%+v", s.m)
	}
	s.at(1020)
	s.m.Open()
	s.refused(s.m.About(game), Accepted)
	s.due(1210, Ended{game, EventCrashed, true})

	s = play(t).ready()
	s.host(time.Minute)
	s.m = Restore(s.m.Record, in(100)) // the time to activate its game session ended while the host was away
	s.at(300)
	s.m.Open()
	r, effects := s.m.ActivateGame(game, s.now)
	s.refused(r, Accepted)
	s.does(effects, Activated{game})

	s = play(t).ready()
	s.m = Restore(s.m.Record, in(10))
	s.m.Open()
	if s.m.Free() {
		t.Error("free before a heartbeat")
	}
	s.at(60).beat(true)
	if !s.m.Free() {
		t.Error("not free after a heartbeat")
	}
}

// D-410.
func TestPortOfAnotherProcess(t *testing.T) {
	s := play(t).hosts()
	if free, _ := s.m.Yield(7778); !free {
		t.Error("another port is taken")
	}
	if free, effects := s.m.Yield(7777); free || effects != nil {
		t.Error("the port of a process with a connection is free")
	}
	s.m.Close()
	free, effects := s.m.Yield(7777)
	s.does(effects, Ended{game, EventCrashed, true})
	if again, none := s.m.Yield(7777); !free || !again || none != nil {
		t.Error("the port of a dead process is taken")
	}
	s = play(t).hosts()
	s.m.Leave() // and has not closed the connection yet
	if free, _ := s.m.Yield(7777); !free {
		t.Error("the port of a process that has ended is taken")
	}
}

// Whatever happens, states only advance, a process ends once, and nothing stays due after a Tick.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		now, m, ended, trail := start, New(start), 0, ""
		for range 60 {
			before := m.State
			if m.Unstored() {
				before = min(before, Ready) // it may be taken back
			}
			now = now.Add(time.Duration(r.IntN(90_000)) * time.Millisecond)
			var effects []Effect
			step := r.IntN(11)
			switch step {
			case 0:
				m.Open()
			case 1:
				m.Close()
			case 2:
				m.Activate(1+r.IntN(2), nil, now)
			case 3, 4:
				_, effects = m.Heartbeat(r.IntN(3) > 0, now)
			case 5:
				if !m.Host(game, time.Minute, now) && r.IntN(4) == 0 {
					m.Unhost()
				} else if m.Unstored() && r.IntN(2) == 0 {
					effects = m.Hosts()
				}
			case 6:
				_, effects = m.ActivateGame(game, now)
			case 7:
				if r.IntN(5) == 0 {
					effects = m.Terminate(now, Grace)
				}
			case 8:
				if r.IntN(9) == 0 {
					effects = m.Leave()
				}
			case 9:
				m = Restore(m.Record, now)
			case 10:
				if due := m.Due(); !due.IsZero() && due.After(now) {
					now = due
				}
				was := m.State
				effects = m.Tick(now)
				if was != Terminated && m.State != Terminated && !m.Due().After(now) {
					t.Fatalf("seed %d: still due after%s", seed, trail)
				}
			}
			trail += fmt.Sprint(" ", step)
			for _, e := range effects {
				switch e.(type) {
				case Ended:
					ended++
				case PushCreate:
					if m.Unstored() || m.State != Hosting {
						t.Fatalf("seed %d: %+v is told too early, after%s", seed, m, trail)
					}
				}
			}
			if m.State < before || ended > 1 || ended == 1 != (m.State == Terminated) || m.State == Hosting && m.GameSession == "" {
				t.Fatalf("seed %d: %+v, %d times ended, after%s", seed, m, ended, trail)
			}
		}
	}
}
