package acceptance_test

import (
	"crypto/tls"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
	"troupe/transport/client"
	"troupe/transport/transporttest/stock"
)

// together is a player of any kind, with the methods that the game in this file needs.
type together interface {
	name() string
	id() int32
	join(group int32) error
	say(op, group int32, text string, reliable bool) error
	// hear returns the next message with an op code: its sender, its text, and whether it arrived on the fast
	// channel.
	hear(op int32) (from int32, text string, fast bool)
}

// stockPlayer is a player with a stock client.
type stockPlayer struct {
	h *testHost
	*stock.Client
	title string
}

func (p *stockPlayer) name() string           { return p.title }
func (p *stockPlayer) id() int32              { return p.PeerID() }
func (p *stockPlayer) join(group int32) error { return p.JoinGroup(group, stock.ChannelWebSocket) }
func (p *stockPlayer) say(op, group int32, text string, reliable bool) error {
	return p.Send(stock.Message{OpCode: op, TargetGroup: group, Payload: []byte(text), Reliable: reliable})
}

func (p *stockPlayer) hear(op int32) (int32, string, bool) {
	p.h.Helper()
	e := p.h.expect(p.Client, stock.Op(op))
	return e.Sender, string(e.Payload), e.Channel != stock.ChannelWebSocket
}

// sdkPlayer is a player with a client of the Go SDK.
type sdkPlayer struct {
	h *testHost
	*client.Client
	early []client.Event
}

func (p *sdkPlayer) name() string           { return "Go " + p.Transport().String() }
func (p *sdkPlayer) id() int32              { return p.PeerID() }
func (p *sdkPlayer) join(group int32) error { return p.JoinGroup(p.h.context(), group) }
func (p *sdkPlayer) say(op, group int32, text string, reliable bool) error {
	m := client.Message{OpCode: op, TargetGroup: group, Payload: []byte(text)}
	if !reliable {
		m.Intent = client.Fast
	}
	return p.Send(p.h.context(), m)
}

func (p *sdkPlayer) hear(op int32) (int32, string, bool) {
	p.h.Helper()
	for i, e := range p.early {
		if e.OpCode == op {
			p.early = append(p.early[:i], p.early[i+1:]...)
			return e.Sender, string(e.Payload), e.Fast
		}
	}
	ctx := p.h.context()
	for {
		select {
		case e, ok := <-p.Events():
			if !ok {
				p.h.Fatalf("%s: ended: %v", p.name(), p.End())
			}
			if e.Kind != client.EventMessage {
				continue
			}
			if e.OpCode == op {
				return e.Sender, string(e.Payload), e.Fast
			}
			p.early = append(p.early, e)
		case <-ctx.Done():
			p.h.Fatalf("%s: no message %d", p.name(), op)
		}
	}
}

// sdk logs in a player with the Go SDK.
func (h *testHost) sdk(t client.Transport, id string) *sdkPlayer {
	h.Helper()
	a := h.host.Addrs()
	addr := a.WS
	if t == client.WSS {
		addr = a.WSS
	}
	c, err := client.Dial(h.context(), client.Options{DialContext: h.Net.Dial,
		Addr: addr, KCPAddr: a.KCP, Transport: t, PlayerSessionID: id, Fast: true,
		TLS: &tls.Config{RootCAs: h.roots(), ServerName: "localhost"},
	})
	if err != nil {
		h.Fatalf("%v: %v", t, err)
	}
	h.Cleanup(c.Abort)
	h.until(t.String()+" has its fast channel", func() error {
		if !c.FastUp() {
			return fmt.Errorf("not up: %v", c.FastErr())
		}
		return nil
	})
	return &sdkPlayer{h: h, Client: c}
}

func TestTheSameGameIsPlayedOnAllTransportsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, secure(t), nil)
		seats := h.seats(h.newGame(8), 4)
		plain := h.join(seats[0], stock.Options{})
		h.awaitFast(0, plain)
		players := []together{
			&stockPlayer{h, plain, "stock ws"}, h.sdk(client.WS, seats[1]), h.sdk(client.WSS, seats[2]), h.sdk(client.KCP, seats[3]),
		}
		for _, p := range players {
			if err := p.join(7); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		// One round trip every 15 s is measured, by KCP. TestOnLinuxSockets of package websocket tests the
		// kernel's figures for TCP.
		if n, sum, _ := h.host.Counters().RoundTrip.Snapshot(); n != 4 || sum <= 0 {
			t.Errorf("%d round trips are counted, together %v s", n, sum)
		}
		for i, from := range players {
			const rounds = 30
			op, fastOp := int32(1000+i), int32(2000+i)
			for n := range rounds {
				if err := from.say(op, 7, fmt.Sprint(n), true); err != nil {
					t.Fatalf("%s: %v", from.name(), err)
				}
			}
			for _, to := range players {
				for n := range rounds {
					sender, text, fast := to.hear(op)
					if sender != from.id() || text != fmt.Sprint(n) || fast {
						t.Fatalf("%s to %s: got %q of %d (fast %v), want %d", from.name(), to.name(), text, sender, fast, n)
					}
				}
			}
			if err := from.say(fastOp, 7, "quick", false); err != nil {
				t.Fatalf("%s: %v", from.name(), err)
			}
			for _, to := range players {
				if sender, text, fast := to.hear(fastOp); sender != from.id() || text != "quick" || !fast {
					t.Errorf("%s to %s: %q of %d, by the fast channel: %v", from.name(), to.name(), text, sender, fast)
				}
			}
		}
		for channel, want := range map[counters.Channel]int64{counters.WS: 2, counters.WSS: 1, counters.KCP: 1, counters.UDP: 2, counters.DTLS: 1} {
			h.untilCount("connections by "+channel.String(), func() int64 { return h.host.Counters().Connections.Get(channel) }, want)
		}
		h.checkReceived(plain)
	})
}
