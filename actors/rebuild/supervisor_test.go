package rebuild

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

type loaded int

func (loaded) Damaged() []store.Damage { return nil }

// member answers with the number of its state. It stops slowly.
type member struct{ n loaded }

type who struct{ messages.ToThisHost[int] }

func (*member) Started(*stage.Context) {}
func (*member) Stopped(*stage.Context) { time.Sleep(time.Second) }

func (m *member) Receive(c *stage.Context, msg any) {
	if a, ok := msg.(stage.Ask); ok {
		stage.As(a.Request.(who), a).Reply(int(m.n), nil)
	}
}

// Each term starts with the contents of the store at that time, after the actor of the previous term has stopped.
// Between terms requests are refused, and a crash does not start an actor.
func TestTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		defer func() {
			s.Close()
			time.Sleep(5 * time.Second)
		}()
		loads := loaded(0)
		parent := New(Options[loaded]{
			What: "members", Kind: counters.ActorPlacement, Store: new(store.Memory),
			Load: func(store.Store) (loaded, error) { loads++; return loads, nil },
			New:  func(n loaded, _ store.Store) stage.Actor { return &member{n} },
		}, 0)
		ref := s.Spawn(parent)
		told := ""
		for _, step := range []struct {
			msg  any
			wait time.Duration
		}{
			{Begin{}, time.Minute}, {End{}, 0}, {End{}, time.Minute}, {Begin{}, 0}, {Begin{}, time.Minute},
			{End{}, 0}, {Begin{}, time.Millisecond}, {nil, time.Minute}, {stage.Panic{Text: "the test wants it"}, 0}, {End{}, time.Minute},
		} {
			if step.msg != nil {
				if p, ok := step.msg.(stage.Panic); ok {
					s.Panics++
					parent.Child().Tell(p)
				} else {
					ref.Tell(step.msg)
				}
			}
			synctest.Wait()
			time.Sleep(step.wait)
			messages.Send(ref, who{}, func(n int, err error) {
				if errors.Is(err, &messages.Error{Code: messages.Unavailable}) {
					n = -1
				}
				told += fmt.Sprint(n, " ")
			})
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, "states", told, "0 -1 -1 1 1 -1 2 2 -1 -1 ")
	})
}
