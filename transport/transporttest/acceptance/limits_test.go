package acceptance_test

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

func TestTenMalformedPacketsClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		ids := h.seats(h.newGame(8), 3)
		p := []*stock.Client{h.join(ids[0], stock.Options{}), h.join(ids[1], stock.Options{})}
		loggedIn := h.join(ids[2], stock.Options{Flavor: stock.TypeScript})
		early := h.dial("psess-x", stock.Options{NoLogin: true, Network: h.Net})
		for i, c := range []*stock.Client{loggedIn, early} {
			for range 9 {
				h.sendRaw(c, []byte{0x80})
			}
			h.dropped(counters.DropMalformed, int64(10*i+9))
			if c == loggedIn {
				h.talk(c, p[0]) // nine malformed packets do not close the connection
			} else if err := c.Ping(h.context(), "up"); err != nil {
				t.Fatal(err)
			}
			h.sendRaw(c, []byte{0x80})
			h.awaitClose(c, messages.CloseMalformed)
			h.dropped(counters.DropMalformed, int64(10*i+10))
			h.closedFor(messages.CloseMalformed, int64(i+1))
		}
		h.detached(1)
		h.talk(p[0], p[1])
		back := h.join(ids[2], stock.Options{})
		h.talk(back, p[1])
		h.checkReceived(append(p, loggedIn, back)...)
	})
}

// TestReliableRateWaits: a player's reliable messages above the rate are delayed. None is lost, their order
// is preserved, and other players are not affected.
func TestReliableRateWaits(t *testing.T) {
	for name, limit := range map[string]struct {
		change func(*host.Limits)
		takes  time.Duration
	}{
		// the login counts as a message
		"messages": {func(l *host.Limits) { l.PlayerMessagesPerSecond, l.PlayerMessagesBurst = 50, 5 }, 620 * time.Millisecond},
		// with a burst of one second
		"bytes": {func(l *host.Limits) { l.PlayerBytesPerSecond = 20_000 }, 763150 * time.Microsecond},
	} {
		bubble(t, name, func(t *testing.T) {
			h := startHost(t, func(c *host.Config) { limit.change(&c.Limits) }, nil)
			p := h.players(3, stock.Options{NoUDP: true})
			const sent = 35
			start := time.Now()
			for i := range sent {
				h.send(p[0], stock.Message{OpCode: 62, TargetPlayer: 2, Payload: append(fmt.Append(nil, i, " "), make([]byte, 990)...), Reliable: true})
			}
			h.talk(p[2], p[1])
			if took := time.Since(start); took != 0 {
				t.Errorf("another player's message took %v", took)
			}
			for i := range sent {
				if e := h.expect(p[1], stock.Op(62)); !bytes.HasPrefix(e.Payload, fmt.Append(nil, i, " ")) {
					t.Fatalf("message %d: %.10q", i, e.Payload)
				}
			}
			if took := time.Since(start); !exact(took, limit.takes) {
				t.Errorf("took %v, want %v", took, limit.takes)
			}
			h.checkReceived(p...)
		})
	}
}

// TestTooFastCloses: a player who stays above the rate is disconnected with 4010, and may come back.
func TestTooFastCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 500 * time.Millisecond
		h := startHost(t, func(c *host.Config) {
			c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerMessagesBurst, c.Limits.TooFastFor = 50, 5, limit
		}, nil)
		ids := h.seats(h.newGame(8), 3)
		p := []*stock.Client{h.join(ids[0], stock.Options{NoUDP: true}), h.join(ids[1], stock.Options{NoUDP: true})}
		fast := h.join(ids[2], stock.Options{NoUDP: true})
		start := time.Now()
		for i := range 500 {
			if fast.Send(stock.Message{OpCode: 63, TargetPlayer: 1, Payload: fmt.Append(nil, i), Reliable: true}) != nil {
				break
			}
		}
		h.awaitClose(fast, messages.CloseTooFast)
		// disconnected at the first message that must wait longer than that
		if took := time.Since(start); !exact(took, limit+20*time.Millisecond) {
			t.Errorf("closed after %v, limit %v", took, limit)
		}
		h.closedFor(messages.CloseTooFast, 1)
		h.dropped(counters.DropInboundRate, 1) // the message that was being handled
		h.detached(1)
		h.talk(p[1], p[0])
		got := 0
		for _, e := range p[0].Log() {
			if e.OpCode == 63 {
				if string(e.Payload) != fmt.Sprint(got) {
					t.Fatalf("message %d came as %s", got, e.Payload)
				}
				got++
			}
		}
		if got != 30 { // a burst of 5, including the login, and 520 ms at 50 a second
			t.Errorf("%d messages came through", got)
		}
		back := h.join(ids[2], stock.Options{})
		if back.PeerID() != 3 {
			t.Errorf("back as %d", back.PeerID())
		}
		h.talk(back, p[0])
		h.checkReceived(append(p, fast, back)...)
	})
}

// The log of the game session says, once for each player, which limit has dropped messages or closed the
// connection, and the configuration key of the limit. The host's log says the same to the operator.
func TestLimitsAreNamedInTheLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log syncBuffer
		h := startHostWith(t, nil, func(o *host.Options) { o.Log = zerolog.New(&log).Level(zerolog.WarnLevel) })
		game := h.newGame(2)
		ids := h.seats(game, 2)
		c, quiet := h.join(ids[0], stock.Options{}), h.join(ids[1], stock.Options{})
		for range 3 {
			h.send(c, stock.Message{OpCode: 1, TargetPlayer: 2, Payload: make([]byte, 4097), NoLimit: true, Reliable: true})
		}
		h.send(quiet, stock.Message{OpCode: 1, TargetPlayer: 1, Payload: make([]byte, 4096), Reliable: true})
		for second := 0; c.Send(stock.Message{OpCode: 1, TargetPlayer: 2, Reliable: true}) == nil; second++ {
			for range 259 {
				_ = c.Send(stock.Message{OpCode: 1, TargetPlayer: 2, Reliable: true})
			}
			time.Sleep(time.Second)
			if second == 60 {
				t.Fatal("it may send for ever")
			}
		}
		h.awaitClose(c, messages.CloseTooFast)
		resp, err := h.Web.Get("http://" + h.host.Addrs().API + "/debug/gamesession-log?id=" + url.QueryEscape(game))
		if err != nil {
			t.Fatal(err)
		}
		all, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		text := string(all)
		for _, want := range []string{
			"player 1 sends payloads of more than 4096 bytes, as many as GameLift's clients allow (no key changes that): they are dropped, also reliable ones",
			"player 1 sent more than limits.playerMessagesPerSecond (200, bursts of 400) or limits.playerBytesPerSecond (262144) for longer than limits.tooFastFor (10s): its connection is closed with 4010",
		} {
			if n := strings.Count(text, want); n != 1 {
				t.Errorf("%d times %q in\n%s", n, want, text)
			}
			if !strings.Contains(log.String(), strings.TrimPrefix(want, "player 1 ")) {
				t.Errorf("the host's log has no %q:\n%s", want, log.String())
			}
		}
	})
}

// TestFastRateDrops: messages above the rate on the fast channel are dropped.
// RL-112.
func TestFastRateDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerMessagesBurst = 20, 5 }, nil)
		p := h.players(2, stock.Options{})
		for _, c := range p {
			if err := c.AwaitFast(h.context()); err != nil {
				t.Fatal(err)
			}
		}
		in := func() int64 { return h.host.Counters().MessagesIn.Get(counters.UDP) }
		const sent = 60
		for i := range sent {
			h.send(p[0], stock.Message{OpCode: 64, TargetPlayer: 2, Payload: fmt.Append(nil, i)})
		}
		h.untilCount("fast messages in", in, sent)
		if n := h.host.Counters().Dropped.Get(counters.DropFastRate); n != sent-4 { // a burst of 5, including the login
			t.Errorf("%d of %d dropped", n, sent)
		}
		h.talk(p[0], p[1]) // waits for the rate limit
		h.talk(p[1], p[0])
		if n := h.host.Counters().Closed.Total(); n != 0 {
			t.Errorf("%d connections closed", n)
		}
		h.checkReceived(p...)
	})
}

// TestPendingLimits: connections above a limit wait. They are accepted when another connection logs in, or
// has been silent for too long.
// RL-26.
func TestPendingLimits(t *testing.T) {
	for _, mode := range []struct {
		name   string
		change func(*host.Limits)
		room   int // allowed connections without a login
	}{
		{"per IP", func(l *host.Limits) { l.UnauthenticatedPerIP = 3 }, 3},
		{"in all", func(l *host.Limits) { l.Unauthenticated = 3 }, 3},
		{"rate", func(l *host.Limits) { l.ConnectionsPerIPPerSecond, l.ConnectionsPerIPBurst = 0.01, 5 }, 5},
	} {
		bubble(t, mode.name, func(t *testing.T) {
			h := startHost(t, func(c *host.Config) {
				c.Limits.ConnectionsPerIPBurst = 0
				mode.change(&c.Limits)
			}, nil)
			ids := h.seats(h.newGame(8), 3)
			p := []*stock.Client{h.join(ids[0], stock.Options{}), h.join(ids[1], stock.Options{LocalAddr: "127.0.0.66"})}
			if mode.name == "per IP" { // each login at an address allows one more pending connection
				mode.room++
			}
			var waiting []*stock.Client
			for range mode.room {
				waiting = append(waiting, h.dial(ids[2], stock.Options{NoLogin: true}))
			}
			next := make(chan *stock.Client, 1)
			go func() {
				c, err := stock.Dial(h.context(), h.host.Addrs().WS, "psess-x", stock.Options{NoLogin: true, Network: h.Net})
				if err != nil {
					t.Error(err)
				}
				next <- c
			}()
			h.talk(p[0], p[1])
			last := waiting[len(waiting)-1]
			if err := last.SendLogin(); err != nil { // an accepted connection is not affected
				t.Fatal(err)
			}
			if _, err := last.AwaitLogin(h.context()); err != nil {
				t.Fatal(err)
			}
			if c := <-next; c != nil {
				c.Kill()
			}
			if mode.name != "rate" {
				for range mode.room - 1 { // as many as are allowed, and one more
					h.dial("psess-x", stock.Options{NoLogin: true, Network: h.Net})
				}
				h.awaitClose(waiting[0], messages.CloseTryLater) // it was silent for a second
			}
			h.talk(last, p[1])
			h.checkReceived(p[0], p[1], last)
		})
	}
}

// slowHost starts a host with small queues. Its timeouts do not disconnect a slow reader.
func slowHost(t *testing.T, window time.Duration, g *fakeGame) *testHost {
	t.Helper()
	return startHost(t, func(c *host.Config) {
		c.Session.PlayerQueueBytes, c.Session.PingInterval, c.Reconnect.Window = 64<<10, time.Minute, window
		c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerBytesPerSecond, c.Limits.GameSessionBytesPerSecond = 0, 0, 0
	}, g.make)
}

// chat makes one player send numbered messages to all until enough returns true. It sends a message only when
// the previous one has come back, and has been received and confirmed by the others. It returns the number of
// the next message. No player may be delayed by another one's slow reading. The budget in this test is used
// up after 16 messages. So chat waits for each message itself, because a player who has come back receives
// older ones again. It also waits for an answer that follows the reader's pong, because the host counts
// messages without a pong, however late the host itself is.
func (h *testHost) chat(from *stock.Client, others []*stock.Client, first int, enough func(n int) bool) int {
	h.Helper()
	n, end := first, time.Now().Add(2*patience)
	for ; !enough(n - first); n++ {
		start := time.Now()
		number := fmt.Appendf(nil, "%08d", n)
		h.send(from, stock.Message{OpCode: 70, TargetGroup: -1, Payload: append(number, make([]byte, 4000)...), Reliable: true})
		for _, c := range append(others, from) {
			if _, err := c.Expect(h.context(), func(e stock.Event) bool {
				return e.Err == nil && e.OpCode == 70 && bytes.HasPrefix(e.Payload, number)
			}); err != nil {
				h.Fatalf("message %d did not reach player %d: %v", n, c.PeerID(), err)
			}
		}
		if took := time.Since(start); took != 0 {
			h.Errorf("message %d took %v to reach the others", n, took)
		}
		for _, c := range others {
			h.send(c, stock.Message{OpCode: 72, TargetPlayer: from.PeerID(), Payload: number, Reliable: true})
			h.expect(from, func(e stock.Event) bool { return e.Err == nil && e.OpCode == 72 && e.Sender == c.PeerID() })
		}
		if time.Now().After(end) {
			h.Fatalf("not enough after %d messages and %v", n-first, 2*patience)
		}
	}
	return n
}

// resumeWhen makes a paused client read again when a condition holds. The host disconnects a client that does
// not read for two seconds.
func (h *testHost) resumeWhen(c *stock.Client, is func() bool) {
	go func() {
		for !is() {
			select {
			case <-c.Done():
				return
			case <-time.After(time.Millisecond):
			}
		}
		c.ResumeReading()
	}()
}

// numbered checks that the connections of one player together received messages 0 to n-1, in order, with none
// missing, and with no duplicates on one connection. Each connection may begin with messages that the
// previous one had not confirmed.
func (h *testHost) numbered(n int, connections ...*stock.Client) {
	h.Helper()
	next := 0
	for i, c := range connections {
		first := true
		for _, e := range c.Log() {
			if e.OpCode != 70 {
				continue
			}
			got, err := strconv.Atoi(string(e.Payload[:8]))
			if err != nil || got > next || got < next && !first {
				h.Fatalf("connection %d: message %.8s, %d was due", i, e.Payload, next)
			}
			next, first = got+1, false
		}
	}
	if next != n {
		h.Errorf("%d of %d messages arrived", next, n)
	}
}

// RL-109.
func TestSlowReader(t *testing.T) {
	for _, flavor := range flavors {
		bubble(t, flavorName(flavor), func(t *testing.T) {
			g := &fakeGame{}
			h := slowHost(t, 30*time.Second, g)
			ids := h.seats(h.newGame(8), 3)
			p := []*stock.Client{h.join(ids[0], stock.Options{NoUDP: true}), h.join(ids[1], stock.Options{Flavor: stock.TypeScript})}
			slow := h.join(ids[2], stock.Options{Flavor: flavor, NoUDP: true})
			h.talk(slow, slow)
			slow.PauseReading()
			isDetached := func() bool { return h.host.Counters().Players.Get(counters.PlayerDetached) == 1 }
			h.resumeWhen(slow, isDetached)
			n := h.chat(p[0], p[1:], 0, func(int) bool {
				synctest.Wait()
				return isDetached()
			})
			h.awaitClose(slow, messages.CloseSlowConsumer)
			h.talk(p[0], p[1])
			h.closedFor(messages.CloseSlowConsumer, 1)
			h.seatIs(ids[2], types.PlayerSessionStatusActive)
			back := h.join(ids[2], stock.Options{Flavor: flavor, NoUDP: true})
			if back.PeerID() != 3 || h.host.Counters().SlowConsumers.Load() == 0 || g.count("onPlayerDisconnect") != 0 {
				t.Errorf("back as %d; %v", back.PeerID(), g.all())
			}
			n = h.chat(p[0], []*stock.Client{p[1], back}, n, func(more int) bool { return more == 50 })
			h.send(p[0], stock.Message{OpCode: 71, TargetPlayer: 3, Reliable: true})
			h.expect(back, stock.Op(71))
			h.numbered(n, slow, back)
			h.checkReceived(append(p, slow, back)...)
		})
	}
}

// TestStalledReaderIsCut: a client that never reads again loses its connection, and delays nobody.
// RL-109.
func TestStalledReaderIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{}
		h := slowHost(t, 0, g)
		ids := h.seats(h.newGame(8), 2)
		p := h.join(ids[0], stock.Options{NoUDP: true})
		slow := h.join(ids[1], stock.Options{NoUDP: true})
		slow.PauseReading()
		h.chat(p, nil, 0, func(int) bool { return g.count("onPlayerDisconnect") > 0 })
		start := time.Now()
		h.untilCount("connections", func() int64 { return h.host.Counters().Connections.Get(counters.WS) }, 1)
		// the linger, or twice that if the close frame does not fit after the unread data
		if took := time.Since(start); took != time.Second && took != 2*time.Second {
			t.Errorf("cut after %v", took)
		}
		h.talk(p, p)
		h.checkReceived(p)
	})
}
