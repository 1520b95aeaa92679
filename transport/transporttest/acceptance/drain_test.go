package acceptance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/rs/zerolog"

	"troupe/actors/fleet"
	"troupe/messages"
	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/ops"
	"troupe/transport/transporttest/stock"
)

// status returns the status of a page of the host.
func (h *testHost) status(page string) int {
	h.Helper()
	resp, err := h.Web.Get(h.host.Addrs().APIURL + page)
	if err != nil {
		h.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// drains starts a drain and returns when the host is not ready any more.
func (h *testHost) drains() (over <-chan struct{}) {
	h.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.host.Drain(context.Background()); err != nil {
			h.Error(err)
		}
	}()
	h.until("the host is not ready", func() error {
		if got := h.status("/readyz"); got != http.StatusServiceUnavailable {
			return fmt.Errorf("it says %d", got)
		}
		return nil
	})
	return done
}

// refuses checks that new game sessions and player sessions are refused.
func (h *testHost) refuses(game string) {
	h.Helper()
	_, err := h.api.CreateGameSession(h.context(), &gamelift.CreateGameSessionInput{FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(2)})
	if err == nil {
		h.Error("a new game session while the host drains")
	}
	_, err = h.api.CreatePlayerSessions(h.context(), &gamelift.CreatePlayerSessionsInput{GameSessionId: aws.String(game), PlayerIds: []string{"late"}})
	if err == nil {
		h.Error("a new seat while the host drains")
	}
}

// During a drain, running games continue normally. Players with a player session can log in, and players who
// have lost their connection can reconnect, on every transport. Only new game sessions and player sessions
// are refused.
// RL-123.
func TestPlayersComeInAndBackWhileTheHostDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { secure(t)(c); c.Drain.Grace = time.Minute }, nil)
		game, empty := h.newGame(8), h.newGame(2)
		seats := h.seats(game, 5)
		stay := h.join(seats[0], stock.Options{})
		lost := h.join(seats[1], stock.Options{})
		sdks := []*sdkPlayer{h.sdk(client.WS, seats[2]), h.sdk(client.KCP, seats[3])}
		over := h.drains()
		h.refuses(game)
		h.awaitEnd(empty, "")

		lost.Kill()
		for _, p := range sdks {
			p.NetworkChanged()
		}
		back := h.join(seats[1], stock.Options{})
		if back.PeerID() != lost.PeerID() {
			t.Errorf("peer %d is back as %d", lost.PeerID(), back.PeerID())
		}
		for _, p := range sdks {
			h.until(p.name()+" is back", func() error {
				if n := p.Stats().Reconnects; n == 0 || !p.Attached() {
					return fmt.Errorf("not yet: %d", n)
				}
				return nil
			})
		}
		late := h.join(seats[4], stock.Options{}) // its player session was reserved before the drain
		h.send(stay, stock.Message{OpCode: 9, TargetPlayer: late.PeerID(), Payload: []byte("it goes on"), Reliable: true})
		h.expect(late, stock.Op(9))

		select {
		case <-over:
			t.Fatal("the drain is over, and players are there")
		default:
		}
		for _, p := range sdks {
			p.Close()
		}
		for _, c := range []*stock.Client{stay, back, late} {
			c.Close()
		}
		select {
		case <-over: // long before the end of the grace
		case <-time.After(patience):
			t.Fatal("all players have left, and the host goes on")
		}
		if c, err := h.Net.DialContext(h.context(), "tcp", h.host.Addrs().WS); err == nil {
			c.Close()
			t.Error("the listener is open after the drain")
		}
	})
}

// operate sends a request to /debug/drain and returns the state in the response.
func (h *testHost) operate(method, query string, want int, headers ...string) (state ops.DrainState) {
	h.Helper()
	req, err := http.NewRequestWithContext(h.context(), method, h.host.Addrs().APIURL+"/debug/drain"+query, nil)
	if err != nil {
		h.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := h.Web.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		h.Errorf("%s %s: %s, %q, %v; want %d", method, query, resp.Status, text, err, want)
	}
	if resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(text, &state); err != nil {
			h.Errorf("%q: %v", text, err)
		}
	}
	return state
}

func TestAnOperatorDrainsCancelsAndDrainsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log syncBuffer
		h := startHostWith(t, nil, func(o *host.Options) { o.Log = zerolog.New(&log) })
		game := h.newGame(4)
		seats := h.seats(game, 2)
		stay, lost := h.join(seats[0], stock.Options{}), h.join(seats[1], stock.Options{})
		lost.Kill()
		h.until("one is detached", func() error {
			if s := h.operate("GET", "", 200); s.Detached != 1 {
				return fmt.Errorf("%+v", s)
			}
			return nil
		})
		h.operate("DELETE", "", http.StatusConflict)
		h.operate("POST", "?grace=soon", http.StatusBadRequest)
		h.operate("POST", "?grace=-1s", http.StatusBadRequest)
		h.operate("POST", "", http.StatusForbidden, "Origin", "https://elsewhere.example")
		h.operate("POST", "", http.StatusForbidden, "Sec-Fetch-Site", "cross-site")
		if s := h.operate("GET", "", 200); s.Draining || s.GameSessions != 1 || s.Players != 2 || s.GraceSeconds != 0 {
			t.Errorf("before: %+v", s)
		}
		if s := h.operate("POST", "?grace=10m", 200); !s.Draining || s.GameSessions != 1 || s.Players != 2 || s.Detached != 1 || s.GraceSeconds < 590 || s.GraceSeconds > 600 {
			t.Errorf("begun: %+v", s)
		}
		if s := h.operate("POST", "?grace=1h", 200); s.GraceSeconds > 600 {
			t.Errorf("a second one extends it: %+v", s)
		}
		h.refuses(game)
		if got := h.status("/readyz"); got != http.StatusServiceUnavailable {
			t.Errorf("ready: %d", got)
		}
		if n := h.host.Counters().Draining.Load(); n != 1 {
			t.Errorf("the gauge is %d", n)
		}

		if s := h.operate("DELETE", "", 200); s.Draining || s.GameSessions != 1 {
			t.Errorf("cancelled: %+v", s)
		}
		if got := h.status("/readyz"); got != http.StatusOK {
			t.Errorf("ready: %d", got)
		}
		if n := h.host.Counters().Draining.Load(); n != 0 {
			t.Errorf("the gauge is %d", n)
		}
		h.join(h.seats(h.newGame(2), 1)[0], stock.Options{})
		h.join(seats[1], stock.Options{})

		h.operate("POST", "?grace=300ms", 200)
		h.awaitClose(stay, messages.CloseGoingAway)
		select {
		case <-h.host.Drained():
		case <-time.After(patience):
			t.Fatal("the host goes on after the grace")
		}
		if c, err := h.Net.DialContext(h.context(), "tcp", h.host.Addrs().WS); err == nil {
			c.Close()
			t.Error("the listener is open after the drain")
		}
		for _, want := range []string{`"game_sessions":1,"players":2,"detached":1,"grace_left":"10m0s","message":"draining"`, "the drain is cancelled"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %s in\n%s", want, log.String())
			}
		}
	})
}

// An operator who cancels a drain may disconnect before the response. The cancellation takes full effect
// nevertheless.
func TestADrainIsCancelledForACallerWhoIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Drain.Grace = time.Minute }, nil)
		game := h.newGame(2)
		h.join(h.seats(game, 1)[0], stock.Options{})
		h.host.StartDrain(-1)
		gone, leave := context.WithCancel(context.Background())
		leave()
		if err := h.host.CancelDrain(gone); err != nil {
			t.Error(err)
		}
		if got := h.status("/readyz"); got != http.StatusOK || h.host.Drains().Draining {
			t.Errorf("ready: %d, %+v", got, h.host.Drains())
		}
		h.seats(game, 1)
	})
}

// At the end of the grace the listeners close, so nobody can connect while the last games end.
func TestSkippingADrainClosesTheListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Drain.Grace = time.Hour }, nil)
		p := h.join(h.seats(h.newGame(2), 1)[0], stock.Options{})
		ctx, skip := context.WithCancel(context.Background())
		over := make(chan error, 1)
		go func() { over <- h.host.Drain(ctx) }()
		h.until("it drains", func() error {
			if !h.host.Drains().Draining {
				return errors.New("not yet")
			}
			return nil
		})
		skip()
		h.awaitClose(p, messages.CloseGoingAway)
		if err := <-over; err != nil {
			t.Error(err)
		}
		if err := h.host.CancelDrain(h.context()); !errors.Is(err, fleet.ErrDrainTooLate) {
			t.Errorf("cancelled after its end: %v", err)
		}
	})
}
