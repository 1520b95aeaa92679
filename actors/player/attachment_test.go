package player

import (
	"testing"

	"troupe/messages/wire"
)

func TestAnAttachmentGoesFromStateToState(t *testing.T) {
	t.Parallel()
	one, other := &fakeLink{}, &fakeLink{}
	begin := func(a *attachment) { a.begin(one, 0, 1); a.loginResponse = wire.NewFrame(&wire.Header{}) }
	detach := func(a *attachment) { a.detach() }
	surrender := func(a *attachment) { a.surrender() }
	ended := func(a *attachment) { a.abandon(one) }
	otherEnded := func(a *attachment) { a.abandon(other) }
	type steps []func(*attachment)
	for _, c := range []struct {
		name  string
		steps steps
		want  attachState
	}{
		{"nothing has come", steps{detach, surrender}, holding},
		{"a connection has come", steps{begin}, attached},
		{"it has ended", steps{begin, ended}, orphaned},
		{"it ended before it came", steps{ended, begin}, orphaned},
		{"another one has ended", steps{begin, otherEnded}, attached},
		{"another one ended before it came", steps{otherEnded, begin}, attached},
		{"the player actor has heard", steps{begin, ended, detach}, detached},
		{"it comes back", steps{begin, detach, begin}, attached},
		{"there is nobody to surrender to", steps{begin, detach, surrender}, detached},
		{"it drains the rest", steps{begin, surrender, detach, surrender, otherEnded}, surrendered},
	} {
		a := attachment{state: holding}
		for _, step := range c.steps {
			step(&a)
		}
		if a.state != c.want || (a.link != nil) != a.state.drains() || (a.loginResponse != nil) != a.state.drains() {
			t.Errorf("%s: state %d with link %v and answer %v, want state %d", c.name, a.state, a.link, a.loginResponse, c.want)
		}
	}
}

func TestWhatWasLeftToAConnectionEndsWithIt(t *testing.T) {
	t.Parallel()
	link := &fakeLink{}
	a := attachment{state: holding}
	a.begin(link, 0, 1)
	if got, over := a.surrender(); got != link || over {
		t.Errorf("surrendered to %v, over %v", got, over)
	}
	if !a.abandon(link) {
		t.Error("the connection has ended, and the queue has not")
	}
	a = attachment{state: holding}
	a.begin(link, 0, 1)
	a.abandon(link)
	if _, over := a.surrender(); !over {
		t.Error("the queue is left to a connection that has ended")
	}
}
