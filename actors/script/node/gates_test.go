package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/messages"
)

// ruled is a script whose gates return what a rule decides. The rule is JavaScript, sent by a player to the
// server.
const ruled = `
let session, rule = () => true;
const gate = (name, f) => function () {
  if (this !== exports.ssExports) console.log('wrong this');
  return rule(name, ...arguments);
};
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) { rule = eval(m.getPayloadAsText()); session.sendReliableMessage(session.newTextGameMessage(99, -1, 'ruled'), m.sender); },
  onPlayerConnect: gate('connect'), onHealthCheck: gate('health'),
  onSendToPlayer: gate('player'), onSendToGroup: gate('group'), onPlayerJoinGroup: gate('join'), onPlayerLeaveGroup: gate('leave'),
};`

func (p *player) rules(rule string) {
	p.g.Helper()
	p.Say(1, messages.ServerPeer, 0, rule)
	p.gets("99 from -1 to player 1: ruled")
}

// Rows 15, 36, 37 and 46: gates treat truthiness, thrown errors and promises as realtime.js does.
func TestGates(t *testing.T) {
	play(t, strings.Replace(ruled, "rule(name", "(() => rule)()(name", 1), setup{short: true}, func(g *game) {
		a := g.enter()
		b := g.enter()
		for _, no := range []string{"() => false", "() => undefined", "() => ''", "() => { throw new Error('no') }"} {
			a.rules(no)
			b.Say(1, a.Peer(), 0, "dropped")
			b.Say(2, 0, messages.AllPlayers, "dropped")
			b.Group(gamesession.JoinGroup, 5)
			b.gets("group 5 is [] from -1 to 2") // only to the requester, and without the requester itself
			a.rules("() => true")
		}
		a.rules("async () => false") // D-116: a promise counts as yes
		b.Say(3, a.Peer(), 0, "promised")
		a.gets("3 from 2 to player 1: promised")
		a.rules("() => 1")
		b.Group(gamesession.JoinGroup, 5)
		b.gets("group 5 is [2] from -1 to 2")
		b.Say(4, 0, messages.AllPlayers, "all")
		a.gets("4 from 2 to group -1: all")
		b.gets("4 from 2 to group -1: all")
		a.rules("(name) => name !== 'leave'")
		b.Group(gamesession.LeaveGroup, 5)
		b.Say(5, 0, 5, "still a member")
		b.gets("group 5 is [2] from -1 to 2", "5 from 2 to group 5: still a member")
		if strings.Contains(g.log.String(), "wrong this") {
			t.Error("gates are not called as methods of ssExports")
		}
		g.logged("Error in onSendToPlayer: Error: no")
		g.logged("Error in onPlayerJoinGroup: Error: no")
	})
}

// realtime.md 16: messages sent in one call arrive in order, and decisions of gates do not overtake them.
func TestOrderIsKept(t *testing.T) {
	play(t, `
let session, n = 0;
exports.ssExports = {
  init(s) { session = s; },
  onSendToPlayer(m) { session.sendReliableMessage(session.newTextGameMessage(1, -1, 'gate ' + m.getPayloadAsText()), m.targetPlayer); return true; },
  onMessage(m) {
    const say = text => session.sendReliableMessage(session.newTextGameMessage(1, -1, text), m.sender);
    say('sync ' + m.getPayloadAsText());
    process.nextTick(say, 'tick ' + m.getPayloadAsText());
    Promise.resolve().then(() => say('job ' + m.getPayloadAsText()));
  },
};`, setup{}, func(g *game) {
		a := g.enter()
		var want []string
		for i := range 300 {
			if i%3 == 0 {
				a.Say(2, a.Peer(), 0, fmt.Sprint(i))
				want = append(want, fmt.Sprint("1 from -1 to player 1: gate ", i), fmt.Sprint("2 from 1 to player 1: ", i))
				continue
			}
			a.Say(2, messages.ServerPeer, 0, fmt.Sprint(i))
			for _, kind := range []string{"sync", "tick", "job"} {
				want = append(want, fmt.Sprintf("1 from -1 to player 1: %s %d", kind, i))
			}
		}
		a.gets(want...)
	})
}

// A message that a gate has allowed is delivered before anything that the script does next, even if both are
// in the same batch.
func TestWhatFollowsAnAnswerStaysBehindIt(t *testing.T) {
	play(t, `
let session, passed = '';
exports.ssExports = {
  init(s) { session = s; },
  onSendToPlayer(m) { passed = m.getPayloadAsText(); return true; },
  onMessage(m) {
    if (m.opCode === 1) for (const start = Date.now(); Date.now() < start + 5;);
    else session.sendReliableMessage(session.newTextGameMessage(9, -1, passed), 1);
  },
};`, setup{}, func(g *game) {
		a, b := g.enter(), g.enter()
		last := ""
		for i := range 30 {
			b.Say(1, messages.ServerPeer, 0, "") // the next two messages wait for this one
			a.Say(5, a.Peer(), 0, fmt.Sprint(i))
			b.Say(2, messages.ServerPeer, 0, "")
			var got []string
			g.Until(func() string {
				if got = append(got, a.Take()...); len(got) < 2 {
					return fmt.Sprint("got ", got)
				}
				return ""
			})
			pass, sent := fmt.Sprint("5 from 1 to player 1: ", i), "9 from -1 to player 1: "
			if len(got) != 2 || !(got[0] == pass && got[1] == fmt.Sprint(sent, i) || got[0] == sent+last && got[1] == pass) {
				t.Fatalf("%d: got %q", i, got)
			}
			last = fmt.Sprint(i)
		}
	})
}

// A player stays in its groups until the script has run onPlayerDisconnect. Without that callback, the player
// leaves them at once.
func TestWhatOnPlayerDisconnectSendsComesBeforeItsConsequences(t *testing.T) {
	const source = `
let session;
exports.ssExports = {
  init(s) { session = s; },
  CALLBACK(peer) { session.sendReliableGroupMessage(session.newTextGameMessage(9, -1, 'without ' + peer), 5); },
  onPlayerJoinGroup() { console.log(session.getPlayers().size + ' players'); return true; },
};`
	for _, callback := range []string{"onPlayerDisconnect", "another"} {
		t.Run(callback, func(t *testing.T) {
			play(t, strings.Replace(source, "CALLBACK", callback, 1), setup{}, func(g *game) {
				a, b := g.enter(), g.enter()
				a.Group(gamesession.JoinGroup, 5)
				a.gets("group 5 is [1] from -1 to 1")
				b.Group(gamesession.JoinGroup, 5)
				a.gets("group 5 is [1 2] from -1 to 1")
				b.Depart()
				if callback == "onPlayerDisconnect" {
					a.gets("9 from -1 to group 5: without 2")
				}
				a.gets("group 5 is [1] from -1 to 1")
				a.Group(gamesession.JoinGroup, 6)
				a.gets("group 6 is [1] from -1 to 1")
				g.logged(" 1 players")
			})
		})
	}
}

// The host calls only callbacks that exist. A callback that the script adds later is called as well.
func TestCallbacksMayComeAndGo(t *testing.T) {
	play(t, `
let session;
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) {
    if (m.opCode === 1) exports.ssExports.onSendToPlayer = () => false; else if (m.opCode === 2) delete exports.ssExports.onSendToPlayer;
    session.sendReliableMessage(session.newTextGameMessage(9, -1, 'done'), m.sender);
  },
};`, setup{}, func(g *game) {
		a := g.enter()
		passes := func() bool {
			a.Say(5, a.Peer(), 0, "free")
			a.Say(3, messages.ServerPeer, 0, "")
			g.Until(func() string {
				if a.got = append(a.got, a.Take()...); len(a.got) == 0 || a.got[len(a.got)-1] != "9 from -1 to player 1: done" {
					return fmt.Sprint("got ", a.got)
				}
				return ""
			})
			n := len(a.got)
			a.got = nil
			return n == 2
		}
		becomes := func(want bool) {
			g.Until(func() string { // the child reports the change with its next acknowledgement
				if passes() != want {
					return fmt.Sprintf("it passes: %v", !want)
				}
				return ""
			})
		}
		becomes(true)
		for op, want := range []bool{true, false, true} {
			a.Say(int32(op), messages.ServerPeer, 0, "")
			a.gets("9 from -1 to player 1: done")
			becomes(want)
		}
	})
}

// inside runs f on the game session's actor.
func (g *game) inside(f func()) {
	done := make(chan struct{})
	g.session.Do(func() { f(); close(done) })
	<-done
}

// A script replies, and all its actions on players and groups reach the game session.
func TestTheSessionObject(t *testing.T) {
	play(t, `
let session;
exports.ssExports = {
  init(s) { session = s; s.getLogger().info('hello', {a: 1}); },
  onMessage(m) {
    session.sendReliableMessage(session.newTextGameMessage(m.opCode + 1, session.getServerId(), m.getPayloadAsText() + '!'), m.sender);
    const text = (op, s) => session.newTextGameMessage(op, '2', s);
    session.sendMessage(text(10, 'fast'), {peerId: 1});
    session.sendGroupMessage(text(11, 'group'), -1);
    session.sendReliableGroupMessage(session.newBinaryGameMessage(12, 3, [72, 105 + 256]), '5');
    session.broadcastGroupMembershipUpdate(5, -1);
    session.sendReliableMessage('no message', 1);
    session.sendReliableMessage(text(13, 'nobody'), 77);
    session.sendReliableMessage(text(14, new Uint8Array(70000)), 1);
    session.sendReliableMessage(text(15, new Uint8Array(2000000)), 1);
    session.sendReliableMessage(text(16, 'x'.repeat(65536)), 1);
    session.kickPlayer(2, 'rude');
  },
};`, setup{short: true}, func(g *game) {
		a, b := g.enter(), g.enter()
		a.Group(gamesession.JoinGroup, 5)
		a.gets("group 5 is [1] from -1 to 1")
		a.Say(7, messages.ServerPeer, 0, "žluť")
		a.gets("8 from -1 to player 1: žluť!", "10 from 2 to player 1: fast", "11 from 2 to group -1: group", "12 from 3 to group 5: Hi", "group 5 is [1] from -1 to 1",
			"16 from 2 to player 1: "+strings.Repeat("x", 65536))
		g.Until(func() string {
			if reason, _ := b.Closed(); reason == 0 {
				return "not kicked"
			}
			return ""
		})
		g.logged("[INFO] (server.js) 4: hello { a: 1 }")
		g.logged("not a game message: no message")
		if n := g.Count.ScriptErrors.Load() + g.Count.HandlerErrors.Load(); n != 0 {
			t.Errorf("%d errors", n)
		}
	})
}

// After the end of the process, callbacks do nothing.
func TestCallbacksAfterTheEndDoNothing(t *testing.T) {
	play(t, exits, setup{}, func(g *game) {
		a := g.enter()
		a.Say(1, messages.ServerPeer, 0, "ending 0")
		g.ended("exited")
		select {
		case <-g.closed: // until then, only the actor may use the handler
		case <-time.After(time.Minute):
			t.Fatal("the handler is not closed")
		}
		// The script does not export this callback, so the answer is Allow
		if ok, now := g.handler.OnPlayerConnect(&script.ConnectMessage{}).Now(); !now || !ok {
			t.Error(ok, now)
		}
		g.handler.OnMessage(&script.Message{})
	})
}
