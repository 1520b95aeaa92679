package actors

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

// If an actor does not know a request, the caller gets an answer and does not hang.
func TestRequestsThatNobodyKnowsAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := new(counters.Set)
		s, err := Start(Options{Log: zerolog.Nop(), Counters: count, Fleet: fleet.Options{Region: "local"}})
		assert.NoError(t, err)
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		type unhandled struct{ messages.ToThisHost[int] }
		unavailable := &messages.Error{Code: messages.Unavailable}
		if _, err := stage.Await(ctx, func(reply func(int, error)) { messages.Send(s.fleet, unhandled{}, reply) }); !errors.Is(err, unavailable) {
			t.Errorf("the registry: got %v", err)
		}
		if _, err := stage.Await(ctx, func(reply func(int, error)) { messages.Send(s.placements, unhandled{}, reply) }); !errors.Is(err, unavailable) {
			t.Errorf("placements: got %v", err)
		}
		assert.Equal(t, "unknown messages counted", count.ActorMessages.Load(), 2)
	})
}
