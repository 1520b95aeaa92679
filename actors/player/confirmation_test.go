package player

import (
	"strconv"
	"testing"
	"time"
)

func TestAnAckIsTakenOnceAndInItsBounds(t *testing.T) {
	t.Parallel()
	var c confirmation
	c.begin(ByAcks, 3)
	for _, ack := range []struct {
		n  uint64
		ok bool
	}{{3, true}, {7, true}, {6, false}, {7, true}, {9, false}, {8, true}} { // RL-6
		if ok := c.acked(ack.n, 8); ok != ack.ok {
			t.Errorf("ack %d is taken: %v", ack.n, ok)
		}
	}
	if c.confirmed != 8 || !c.proved {
		t.Errorf("confirmed %d, proved %v", c.confirmed, c.proved)
	}
	for _, how := range []Confirmation{ByWriting, ByMarks} {
		c.begin(how, 8)
		if c.acked(8, 8) {
			t.Errorf("an ack of a connection that confirms in way %d is taken", how)
		}
	}
}

func TestTheNumberOfAPlayersMessageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	var c confirmation
	c.begin(ByAcks, 0)
	for _, m := range []struct {
		n       uint64
		current bool
		want    Receipt
	}{{1, true, Next}, {1, true, Duplicate}, {1, false, Duplicate}, {2, false, Late}, {3, true, Violation}, {2, true, Next}} {
		if got := c.receive(m.n, m.current); got != m.want {
			t.Errorf("number %d, on the newest connection %v: %d, want %d", m.n, m.current, got, m.want)
		}
	}
	if c.unacked() != 2 || c.takeAck() != 2 || c.takeAck() != 0 || c.unacked() != 0 {
		t.Error("two messages are acknowledged once")
	}
}

func TestAMarkIsDueAfterAPartOfTheBudget(t *testing.T) {
	t.Parallel()
	b := Budget{BytesMax: 8000, MessagesMax: 80}
	for name, size := range map[string]int{"bytes": 100, "messages": 1} {
		var c confirmation
		c.begin(ByMarks, 0)
		for n := range uint64(9) {
			if c.gave(n+1, size, &b) {
				t.Fatalf("%s: a mark is due after %d", name, n+1)
			}
		}
		if !c.gave(10, size, &b) || c.asked() != 10 || c.gave(11, size, &b) {
			t.Errorf("%s: not one mark after ten messages", name)
		}
		if n, means := c.echoed([]byte("10")); n != 10 || means != echoConfirms {
			t.Errorf("%s: its echo means %d, up to %d", name, means, n)
		}
	}
	large := Budget{BytesMax: 8 << 20, MessagesMax: 8000}
	var c confirmation
	c.begin(ByMarks, 0)
	for n := range uint64(8) { // due after 64 KiB at most
		if due := c.gave(n+1, 20<<10, &large); due != (n%4 == 3) {
			t.Errorf("after %d messages of 20 KiB a mark is due: %v", n+1, due)
		}
		if n == 3 {
			c.asked()
		}
	}
}

// What is known about a client's echoes is kept from connection to connection, until the client shows otherwise.
func TestWhatIsKnownOfAClientsEchoes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var c confirmation
	expect := func(what string, client clientEcho, how Confirmation) {
		t.Helper()
		if c.client != client || c.how != how {
			t.Errorf("%s: client %d confirms in way %d, want %d and %d", what, c.client, c.how, client, how)
		}
	}
	echoes := func(pong string, want echo) {
		t.Helper()
		if _, means := c.echoed([]byte(pong)); means != want {
			t.Errorf("pong %q means %d, want %d", pong, means, want)
		}
	}
	c.begin(ByMarks, 0)
	echoes("0", echoNothing) // no mark has been sent
	expect("before a ping", clientUnknown, ByMarks)
	mark := strconv.FormatUint(c.asked(), 10)
	echoes("1", echoNothing) // this number was never sent
	echoes("", echoNever)
	expect("after two foreign pongs", clientMute, ByWriting)
	c.begin(ByMarks, 0)
	expect("on its next connection", clientMute, ByWriting)
	c.asked()
	echoes(mark, echoConfirms)
	expect("after an echo", clientEchoes, ByMarks)
	echoes("foreign", echoNothing)
	echoes("foreign", echoNothing)
	if c.silent(now, now.Add(time.Hour), true) {
		t.Error("a client that has echoed counts as mute")
	}
	c.refused()
	expect("on a connection without marks", clientEchoes, ByWriting)

	c = confirmation{}
	c.begin(ByMarks, 0)
	c.gave(1, 5*slowestPath, &Budget{BytesMax: 1 << 20, MessagesMax: 100})
	c.asked()
	if c.silent(time.Time{}, now, true) || c.silent(now, now.Add(muteAfter+5*time.Second), false) {
		t.Error("a client that may not have its ping yet counts as mute")
	}
	if !c.silent(now, now.Add(muteAfter+time.Second), true) {
		t.Error("a client that fills its queue has the time of a slow path")
	}
	expect("after a silence", clientMute, ByWriting)
}
