package acceptance_test

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// With script.endEarlier, game sessions of an earlier version accept no new players once there is a new
// version. Those without players end immediately. The others end with their last player.
func TestANewVersionEndsGameSessionsOfEarlierOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := scriptFile(t, says("one"))
		h := startHost(t, func(c *host.Config) {
			c.Fleets[0].Script, c.Script.EndEarlier = path, true
		}, nil)
		played, player := h.on("fleet-dev")
		left, second := h.on("fleet-dev")
		reserved, third := h.on("fleet-dev")
		seat := h.seats(reserved, 1)[0]
		second.Close()
		third.Close()
		for _, game := range []string{left, reserved} {
			h.until("its player has left", func() error {
				if n := aws.ToInt32(h.game(game).CurrentPlayerSessionCount); game == left && n != 0 || n > 1 {
					return fmt.Errorf("%d are there", n)
				}
				return nil
			})
		}
		if err := os.WriteFile(path, []byte(says("two")), 0o600); err != nil {
			t.Fatal(err)
		}
		version, err := h.host.ReloadScript(h.context(), "fleet-dev")
		if err != nil || version != "2" {
			t.Fatal(version, err)
		}
		ends := func(game string) {
			t.Helper()
			h.until("an earlier version's game session ends", func() error {
				if s := h.game(game).Status; s != types.GameSessionStatusTerminated {
					return fmt.Errorf("it is %s", s)
				}
				return nil
			})
		}
		ends(left)
		for _, game := range []string{played, reserved} {
			if g := h.game(game); g.Status != types.GameSessionStatusActive || g.PlayerSessionCreationPolicy != types.PlayerSessionCreationPolicyDenyAll {
				t.Errorf("with a player or a seat it is %s, %s", g.Status, g.PlayerSessionCreationPolicy)
			}
		}
		if _, err := h.api.CreatePlayerSession(h.context(), &gamelift.CreatePlayerSessionInput{GameSessionId: &played, PlayerId: aws.String("new")}); err == nil {
			t.Error("a new player gets a seat in an earlier version")
		}
		h.hears(player, "one")
		newest, fourth := h.on("fleet-dev")
		h.hears(fourth, "two")
		late := h.join(seat, stock.Options{}) // a player with a reservation may still join
		h.hears(late, "one")
		player.Close()
		late.Close()
		ends(played)
		ends(reserved)
		if g := h.game(newest); g.Status != types.GameSessionStatusActive || g.PlayerSessionCreationPolicy != types.PlayerSessionCreationPolicyAcceptAll {
			t.Errorf("the newest is %s, %s", g.Status, g.PlayerSessionCreationPolicy)
		}
	})
}
