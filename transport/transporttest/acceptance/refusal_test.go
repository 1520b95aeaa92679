package acceptance_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script"
	"troupe/transport/client"
	"troupe/transport/transporttest/stock"
)

// closedGame refuses players whose data says so.
type closedGame struct{ script.Base }

func (closedGame) OnPlayerConnect(m *script.ConnectMessage) script.Decision {
	if string(m.Payload) == "no" {
		return script.Refuse
	}
	return script.Allow
}

// A refused login gets a reason if the host knows the player session. An invented id gets none.
func TestARefusedLoginSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, func() script.Handler { return closedGame{} })
		refused := func(id, payload, want string) {
			t.Helper()
			c, err := client.Dial(h.context(), client.Options{DialContext: h.Net.Dial, Addr: h.host.Addrs().WS, PlayerSessionID: id, Payload: []byte(payload)})
			var no *client.RefusedError
			if err == nil {
				c.Abort()
				t.Errorf("%q: let in", want)
			} else if !errors.As(err, &no) || no.Reason != want || no.RetryAfter != 0 {
				t.Errorf("%q: %v", want, err)
			}
		}
		game := h.newGame(4)
		seats := h.seats(game, 3)
		refused("psess-00000000-0000-0000-0000-000000000000", "", "")
		refused(seats[0], "no", "the game does not let the player in")
		left := h.join(seats[1], stock.Options{})
		if _, err := h.terminate(game, types.TerminationModeForceTerminate); err != nil {
			t.Fatal(err)
		}
		h.until("the game session is over", func() error {
			if s := h.game(game).Status; s != types.GameSessionStatusTerminated {
				return errors.New(string(s))
			}
			return nil
		})
		left.Close()
		refused(seats[2], "", "the game session has ended")
	})
}
