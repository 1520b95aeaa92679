package node

import (
	"encoding/json"
	"time"

	"troupe/actors/script"
	"troupe/actors/script/realtime"
	"troupe/messages"
)

// onFrames handles frames from the child, and returns how many. It stops after answers that are followed by
// other frames, which are for a later turn of the actor. So the consequences of an answer come before whatever
// the script did after it.
func (h *handler) onFrames(list []fields) int {
	for i := range list {
		if h.over {
			break
		}
		h.onFrame(&list[i])
		if rest := list[i+1:]; list[i].kind == fromAnswer && len(rest) > 0 && rest[0].kind != fromAnswer {
			return i + 1
		}
	}
	return len(list)
}

func (h *handler) onFrame(f *fields) {
	switch f.kind {
	case fromLoaded:
		h.onLoaded(f)
	case fromFailed:
		reason := string(f.rest)
		h.leave(func() { h.fail(reason) })
		if h.p.perProcess == 1 {
			h.child.kill("") // so that no more of the script runs
		}
	case fromAnswer:
		h.asked.Answer(f.n, f.flags == 1)
	case fromExports:
		h.exports = f.n
	case fromSend:
		h.session.Send(script.Outgoing{OpCode: f.a, Sender: messages.PeerID(f.b), Payload: f.rest}, script.Target{How: script.How(f.flags), ID: f.c})
	case fromMembers:
		h.session.BroadcastGroupMembershipUpdate(messages.GroupID(f.a), messages.GroupID(f.b))
	case fromKick:
		h.session.KickPlayer(messages.PeerID(f.a), string(f.rest))
	case fromBackfill:
		if f.a == 0 {
			h.session.StopMatchBackfill()
		} else {
			h.session.StartMatchBackfill()
		}
	case fromEnding:
		h.session.ProcessEnding()
	case fromExit:
		code := int(f.a)
		h.leave(func() { h.session.Exit(code) })
	case fromCrash:
		reason := string(f.rest)
		h.leave(func() { h.session.Crash(reason) })
	case fromLog:
		h.process.Log.At(script.Level(f.flags), string(f.file), int(f.n), realtime.OwnFrames(string(f.rest)))
	case fromSlow:
		h.slow.Add(&h.process, string(f.rest), time.Duration(f.n)*time.Millisecond, h.p.limits.Tick)
	case fromErred:
		if f.flags == erredInCallback {
			h.process.Counters.HandlerErrors.Add(1)
		} else {
			h.process.Counters.ScriptErrors.Add(1)
		}
	}
}

func (h *handler) onLoaded(f *fields) {
	var conf struct{ PingIntervalTime, MaxPlayers, ReconnectWindow *float64 }
	if err := json.Unmarshal(f.rest, &conf); err != nil { // cannot happen: the shim encodes the JSON
		h.loading.Fail("configuration: " + err.Error())
		return
	}
	h.exports = f.n
	if v := conf.PingIntervalTime; v != nil {
		h.conf.PingInterval = max(time.Duration(*v*float64(time.Millisecond)), time.Millisecond)
	}
	if v := conf.MaxPlayers; v != nil {
		h.conf.MaxPlayers = int(*v)
	}
	if v := conf.ReconnectWindow; v != nil {
		d := time.Duration(*v * float64(time.Second))
		h.conf.ReconnectWindow = &d
	}
	h.loading.Decide(true)
}

const leaveTime = 2 * time.Second // how long a process may take to exit after it has announced its end

// leave carries out fate, the consequence of an announced end. If the process ends with the game session, it
// waits until the process has ended and all its output has been logged.
func (h *handler) leave(fate func()) {
	h.over, h.fate = true, fate
	if h.p.perProcess > 1 {
		h.fate = func() {}
		fate()
		return
	}
	time.AfterFunc(leaveTime, func() { h.child.kill("") })
}

func (h *handler) onEnded(why string) {
	h.over = true
	if h.fate != nil {
		h.fate()
		return
	}
	h.fail(why)
}

func (h *handler) fail(why string) {
	if _, decided := script.Later(h.loading).Now(); !decided {
		h.loading.Fail(why)
		return
	}
	h.session.Crash(why)
}
