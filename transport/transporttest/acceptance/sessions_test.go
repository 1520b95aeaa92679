package acceptance_test

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// Game sessions and player sessions are created through the SDK and stored in SQLite. After a restart, their
// records exist and say that they have ended. The same idempotency token still refers to the same game session.
// API-34, RL-114.
func TestGameSessionsAreKnownAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		change := func(c *host.Config) { c.Store = host.Store{Path: path} }
		h := startHost(t, change, nil)
		create := &gamelift.CreateGameSessionInput{
			FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(4), IdempotencyToken: aws.String("token-1"), Name: aws.String("a"),
			GameProperties: []types.GameProperty{{Key: aws.String("mode"), Value: aws.String("ranked")}},
		}
		id := *done[*gamelift.CreateGameSessionOutput](h)(h.api.CreateGameSession(h.context(), create)).GameSession.GameSessionId
		h.until("it is ACTIVE", func() error {
			if s := h.game(id).Status; s != types.GameSessionStatusActive {
				return errors.New(string(s))
			}
			return nil
		})
		seats := h.seats(id, 2)
		player := h.join(seats[0], stock.Options{})
		done[*gamelift.UpdateGameSessionOutput](h)(h.api.UpdateGameSession(h.context(), &gamelift.UpdateGameSessionInput{
			GameSessionId: &id, MaximumPlayerSessionCount: aws.Int32(3), ProtectionPolicy: types.ProtectionPolicyFullProtection,
			GameProperties: []types.GameProperty{{Key: aws.String("map"), Value: aws.String("desert")}},
		}))
		h.host.Close()
		h.checkReceived(player)

		h = startHost(t, change, nil)
		details := done[*gamelift.DescribeGameSessionDetailsOutput](h)(h.api.DescribeGameSessionDetails(h.context(),
			&gamelift.DescribeGameSessionDetailsInput{GameSessionId: &id})).GameSessionDetails
		if len(details) != 1 {
			t.Fatalf("%d are found", len(details))
		}
		g := details[0].GameSession
		if g.Status != types.GameSessionStatusTerminated || g.TerminationTime == nil || *g.MaximumPlayerSessionCount != 3 || len(g.GameProperties) != 2 ||
			*g.CurrentPlayerSessionCount != 0 || details[0].ProtectionPolicy != types.ProtectionPolicyFullProtection {
			t.Errorf("%+v, %s", g, details[0].ProtectionPolicy)
		}
		for i, want := range []types.PlayerSessionStatus{types.PlayerSessionStatusCompleted, types.PlayerSessionStatusTimedout} {
			if p := h.seat(seats[i]); p.Status != want || p.TerminationTime == nil || *p.GameSessionId != id {
				t.Errorf("player session %d is %s", i, p.Status)
			}
		}
		again := done[*gamelift.CreateGameSessionOutput](h)(h.api.CreateGameSession(h.context(), create)).GameSession
		if *again.GameSessionId != id || again.Status != types.GameSessionStatusTerminated {
			t.Errorf("the same token made %s, %s", *again.GameSessionId, again.Status)
		}
		create.Name = aws.String("b")
		var mismatch *types.IdempotentParameterMismatchException
		if _, err := h.api.CreateGameSession(h.context(), create); !errors.As(err, &mismatch) {
			t.Errorf("the same token with other parameters: %v", err)
		}
	})
}
