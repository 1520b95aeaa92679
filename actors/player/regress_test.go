package player

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Regression scenarios of reliability.md 10. They are based on bugs in other projects, as far as these can occur within
// one player session. Each test is a separate scenario; TestEveryInterleaving covers the cases in between.

// recordLink records the frames that it takes. The field room limits the number of frames per drain; 0 means no limit.
type recordLink struct {
	fakeLink
	took []taken
}

type taken struct {
	op     int32
	n, ack uint64
	unit   []byte // the unit without number and ack
}

func (l *recordLink) Append(f *wire.Frame) bool { return l.AppendNumbered(f, 0, 0) }

func (l *recordLink) AppendNumbered(f *wire.Frame, n, ack uint64) bool {
	l.took = append(l.took, taken{f.OpCode(), n, ack, bytes.Clone(f.Unit())})
	l.taken++
	return l.room == 0 || l.taken < l.room
}

// drain makes the link take frames until its room is used up.
func (l *recordLink) drain() bool {
	l.taken = 0
	return l.source != nil && l.source.Drain(l)
}

// numbers returns the numbers of the frames taken, with 0 for each frame without a number.
func (l *recordLink) numbers() (all []uint64) {
	for _, t := range l.took {
		all = append(all, t.n)
	}
	return all
}

// scene is an outbox together with the connections it has had.
type scene struct {
	t     *testing.T
	out   *Outbox
	made  frames
	count counters.Set
	epoch messages.Epoch
}

func newScene(t *testing.T) *scene {
	s := &scene{t: t}
	s.out = newOutbox(&Budget{BytesMax: 1 << 20, MessagesMax: 100}, &s.count, func() { t.Error("full") })
	t.Cleanup(func() {
		s.out.close()
		s.made.balanced(t)
	})
	return s
}

func (s *scene) attach(how Confirmation) *recordLink {
	s.epoch++
	l := &recordLink{}
	s.out.attach(attachOptions{link: l, channel: counters.WS, epoch: s.epoch, confirm: how, loginResponse: greet})
	return l
}

func (s *scene) push(n int) {
	for range n {
		s.out.Push(s.made.make(10 + len(s.made.all)))
	}
}

func (s *scene) depth(want int) {
	s.t.Helper()
	if n, _ := depth(s.out); n != want {
		s.t.Errorf("%d messages are kept, not %d", n, want)
	}
}

// A numbered message that arrives late on an older connection must be ignored: the new connection was told that the
// number is missing, so another device may use it.
func TestALateNumberOfAnOlderConnectionIsLeftAlone(t *testing.T) {
	s := newScene(t)
	s.attach(ByAcks)
	s.out.Receive(1, 1)
	s.out.detach()
	s.attach(ByAcks)
	assert.Equal(t, "the late number is", s.out.Receive(1, 2), Late)
	assert.Equal(t, "the number of the new connection is", s.out.Receive(2, 2), Next)
}

func TestLateWordsOfAnOlderConnectionConfirmNothing(t *testing.T) {
	s := newScene(t)
	s.push(2)
	s.attach(ByMarks).drain()
	mark := s.out.Mark(1, time.Time{}, time.Time{})
	s.out.detach()
	s.attach(ByMarks).drain()
	s.out.Mark(2, time.Time{}, time.Time{})
	s.out.Echoed(1, pongOf(mark))
	if !s.out.Acked(1, 2) {
		t.Error("a late ack is a violation")
	}
	s.depth(2)
	assert.Equal(t, "an older connection's ping carries", s.out.Mark(1, time.Time{}, time.Time{}), 0)
}

func TestAnAckRidesOrGoesAlone(t *testing.T) {
	s := newScene(t)
	l := s.attach(ByAcks)
	s.out.Receive(1, 1)
	s.push(1)
	s.out.Flush()
	l.drain()
	if got := l.took[1]; got.n != 1 || got.ack != 1 {
		t.Errorf("the message carries number %d, ack %d", got.n, got.ack)
	}
	s.out.Receive(1, 2)
	s.out.Receive(1, 3)
	if s.out.Unacked() != 2 || s.out.AckNow() != PushDirty {
		t.Errorf("%d to acknowledge", s.out.Unacked())
	}
	l.drain()
	if got := l.took[2]; got.op != 0 || got.n != 0 || got.ack != 3 || s.out.Unacked() != 0 {
		t.Errorf("the ack is %+v", got)
	}
	s.out.AckNow()
	if l.drain(); len(l.took) != 3 {
		t.Error("an ack says nothing new")
	}
	if !s.out.Acked(1, 1) {
		t.Error("the ack is a violation")
	}
}

// After a player has been told about a gap, it may claim the numbers up to the end of the gap. This holds even if the
// connection that reported the gap was lost before it took any message.
func TestWhatWasDroppedMayBeClaimed(t *testing.T) {
	var made frames
	var count counters.Set
	out := newOutbox(&Budget{BytesMax: 1 << 20, MessagesMax: 4, Gap: true}, &count, func() {})
	attach := func(e messages.Epoch) (l *recordLink, base uint64) {
		l = &recordLink{}
		out.attach(attachOptions{link: l, channel: counters.WS, epoch: e, confirm: ByAcks, loginResponse: func(s resumePoint) *wire.Frame {
			base = s.base
			return greet(s)
		}})
		return l, base
	}
	attach(1)
	out.detach()
	for range 7 {
		out.Push(made.make(1))
	}
	l, base := attach(2)
	l.room = 1
	if l.drain(); base != 3 || len(l.took) != 1 {
		t.Errorf("base %d, taken %v", base, l.numbers())
	}
	if !out.plausible(base) || !out.Acked(2, base) {
		t.Error("what LOGIN_RESPONSE said is not believed")
	}
	out.detach()
	if attach(3); base != 3 {
		t.Errorf("base %d", base)
	}
	out.close()
	made.balanced(t)
}

// Tests of tokens.

func TestThePreviousTokenIsGoodUntilTheNewOneIsProved(t *testing.T) {
	for name, prove := range map[string]func(*Outbox){
		"by an ack":   func(o *Outbox) { o.Acked(2, 1) },
		"by a number": func(o *Outbox) { o.Receive(2, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			var tokens tokens
			first := tokens.renew("")
			s.attach(ByAcks)
			s.push(1)
			second := tokens.renew(first)
			s.attach(ByAcks).drain()
			if old := !s.out.proven(); !tokens.good(first, old) || !tokens.good(second, old) {
				t.Error("the answer with the new token may be lost, and the old one is dead")
			}
			prove(s.out)
			if old := !s.out.proven(); tokens.good(first, old) || !tokens.good(second, old) {
				t.Error("the old token lives on")
			}
		})
	}
}

func TestATokenWhoseAnswerWasLostManyTimesStaysGood(t *testing.T) {
	var tokens tokens
	if tokens.good("", true) {
		t.Error("no token is good before there is one")
	}
	held := tokens.renew("")
	var lost []string
	for range 5 {
		lost = append(lost, tokens.renew(held))
	}
	if !tokens.good(held, true) {
		t.Error("the token that the player has is dead")
	}
	for _, other := range lost {
		if !tokens.good(other, true) {
			t.Error("the player has the answer to one of its logins, and the token in it is dead")
		}
	}
}

// The client abandons a login and sends another one with the same token. The host handles the abandoned login last, and
// its answer is lost.
func TestATokenStaysGoodWhenAnAbandonedLoginComesLate(t *testing.T) {
	var tokens tokens
	first := tokens.renew("")
	got := tokens.renew(first)
	if got == first {
		t.Fatal("a login does not change the token")
	}
	tokens.renew(first) // the abandoned login
	if !tokens.good(got, true) {
		t.Error("the token of the client is dead")
	}
	next := tokens.renew(got)
	if next == got || !tokens.good(next, true) || !tokens.good(got, true) || tokens.good(first, true) {
		t.Error("the token of the answer that the client has does not count as used")
	}
}

func TestOnlyTheHashOfATokenIsKept(t *testing.T) {
	var kept tokens
	token := kept.renew("")
	if len(token) != 43 { // 32 bytes in base64url
		t.Errorf("a token of %d characters", len(token))
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[tokens]()) {
		if k := f.Type.Kind(); k != reflect.Array && k != reflect.Bool {
			t.Errorf("%s may hold a token's text", f.Name)
		}
	}
	var l Durable
	l.tokens = &kept
	if text := wordsOf(reflect.ValueOf(l)) + wordsOf(reflect.ValueOf(kept)); strings.Contains(text, token) {
		t.Error("what outlives the actor has the token's text")
	}
}

// wordsOf returns all strings in a value, without following pointers.
func wordsOf(v reflect.Value) (text string) {
	switch v.Kind() {
	case reflect.String:
		return v.String() + "\n"
	case reflect.Struct:
		for i := range v.NumField() {
			text += wordsOf(v.Field(i))
		}
	}
	return text
}
