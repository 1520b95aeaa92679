package client_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
	"troupe/transport/client"
)

// The fast channel is datagrams of KCP's own association. It is up right after the login, without a handshake, and numbers
// messages from 0.
func TestKCPFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newWeb(t).newKCPRig(accepted, echo)
		c, _ := r.dialFast()
		if !c.FastUp() {
			t.Error("it is not up after Dial")
		}
		awaitKind(t, c, client.EventFastUp)
		fast := <-r.fast
		for n := range int32(3) {
			toServer(t, c, client.Message{OpCode: 20, Payload: make([]byte, client.FastPayloadMax), Intent: client.Fast})
			if h := await(t, "packet", r.packets); h.OpCode != 20 || h.Sequence != n || h.Reliable || h.Sender != 3 || len(h.Payload) != client.FastPayloadMax {
				t.Errorf("packet %d: %+v", n, h)
			}
			fast.Send(wire.NewFrame(&wire.Header{OpCode: 21, Sender: client.Server, TargetPlayer: 3, Payload: []byte{byte(n)}}))
			if e := await(t, "event", c.Events()); e.OpCode != 21 || !e.Fast || e.Payload[0] != byte(n) {
				t.Errorf("event %d: %+v", n, e)
			}
		}
		toServer(t, c, client.Message{OpCode: 22, Payload: make([]byte, client.FastPayloadMax+1), Intent: client.Fast})
		if e := await(t, "event", c.Events()); e.OpCode != 22 || e.Fast {
			t.Errorf("a large one: %+v", e)
		}
		if s := c.Stats().Fast; s.Sent != 3 || s.Received != 3 {
			t.Errorf("stats %+v", s)
		}
	})
}

// A leave, a loss and a close by the host are distinguished over KCP, too.
func TestKCPEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newWeb(t).newKCPRig(accepted, nil)
		c, p := r.dial(r.options())
		c.Close()
		if end := await(t, "end", p.closed); !end.Clean || end.Code != 1000 {
			t.Errorf("after Close the host sees %+v", end)
		}
		if end := c.End(); !end.Local || end.Err != nil {
			t.Errorf("end %+v", end)
		}
		c, p = r.dial(r.options())
		c.Abort()
		if end := await(t, "end", p.closed); end.Clean {
			t.Errorf("after Abort the host sees %+v", end)
		}
		if err := c.JoinGroup(t.Context(), 1); !errors.Is(err, client.ErrClosed) {
			t.Errorf("after Abort: %v", err)
		}
		c, p = r.dial(r.options())
		p.Close(messages.CloseTakenOver)
		end := ended(t, c)
		if end.Code != 4001 || end.Reason != "taken_over" || end.Local || end.Err != nil || end.Retry() != messages.RetryNever {
			t.Errorf("end %+v", end)
		}
	})
}

// A host that falls silent is detected as lost: by the probes after StallMax, and by SilenceMax if that is shorter.
func TestKCPSilence(t *testing.T) {
	for name, c := range map[string]struct{ silence, stall, want time.Duration }{
		"by default": {0, 0, 2800 * time.Millisecond},
		"silence":    {500 * time.Millisecond, 0, 500 * time.Millisecond},
		"stall":      {time.Hour, 280 * time.Millisecond, 280 * time.Millisecond},
	} {
		bubble(t, name, func(t *testing.T) {
			r := newWeb(t).newKCPRig(accepted, nil)
			o := r.options()
			o.SilenceMax, o.StallMax, o.Reconnect = c.silence, c.stall, once
			cl, _ := r.dial(o)
			r.BlockAll(true)
			began := time.Now()
			if err := cl.JoinGroup(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			end := ended(t, cl)
			if took := time.Since(began); took != c.want || !errors.Is(end.Err, client.ErrSilent) || end.Code != 0 || end.Retry() != messages.RetryResume {
				t.Errorf("end %+v after %v", end, took)
			}
		})
	}
}

// backlog is a source of small messages with op codes from 1.
type backlog struct {
	sent  atomic.Int32
	count int32
}

func (b *backlog) Drain(sink wire.Sink) (more bool) {
	for n := b.sent.Load(); n < b.count; n = b.sent.Load() {
		f := wire.NewFrame(&wire.Header{OpCode: n + 1, Sender: client.Server, TargetPlayer: 3, Payload: make([]byte, 64)})
		room := sink.Append(f)
		f.Release()
		b.sent.Add(1)
		if !room {
			return n+1 < b.count
		}
	}
	return false
}

// If a program takes no events, the host is slowed down, by KCP's window or TCP's, and keeps its messages; none is lost.
func TestBackPressure(t *testing.T) {
	for name, newRig := range map[string]func(w web) *rig{
		"wss": func(w web) *rig { return w.newRig(accepted, nil) },
		"kcp": func(w web) *rig { return w.newKCPRig(accepted, nil) },
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(newWeb(t))
			o := r.options()
			o.EventsMax, o.SilenceMax = 1, time.Hour
			c, p := r.dial(o)
			b := &backlog{count: 4000}
			p.SetSource(b)
			p.Flush()
			time.Sleep(time.Second)
			if sent := b.sent.Load(); sent > b.count*3/4 {
				t.Errorf("%d of %d messages have left the host", sent, b.count)
			}
			if s := c.Stats().Reliable; s.Received != 3 { // the login, one in the channel, one being delivered
				t.Errorf("%d messages were taken", s.Received)
			}
			for i := range b.count {
				if e := await(t, "event", c.Events()); e.OpCode != i+1 {
					t.Fatalf("event %d has op code %d", i, e.OpCode)
				}
			}
		})
	}
}

// Roots, names and logins are checked, and a refused connection leaves nothing behind.
func TestKCPRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *client.Options)
		is     error
		as     any
	}{
		"login": {is: client.ErrRefused},
		"auto":  {change: func(o *client.Options) { o.Transport = client.Auto }, is: client.ErrRefused},
		"roots": {change: func(o *client.Options) { o.TLS = nil }, as: new(x509.UnknownAuthorityError)},
		"name":  {change: func(o *client.Options) { o.TLS = &tls.Config{RootCAs: o.TLS.RootCAs, ServerName: "example.com"} }, as: new(x509.HostnameError)},
	} {
		bubble(t, name, func(t *testing.T) {
			r := newWeb(t).newKCPRig(&wire.LoginResult{}, nil)
			o := r.options()
			if c.change != nil {
				c.change(&o)
			}
			got, err := client.Dial(t.Context(), o)
			if got != nil || err == nil {
				t.Fatalf("got %v, %v", got, err)
			}
			if c.is != nil && !errors.Is(err, c.is) || c.as != nil && !errors.As(err, c.as) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Where KCP gets no answer, Auto uses WebSocket after AutoTimeout.
func TestAutoFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		r := w.newRig(accepted, nil)
		o := r.options()
		o.Transport, o.KCPAddr = client.Auto, w.packets().LocalAddr().String()
		began := time.Now()
		if c, _ := r.dial(o); c.Transport() != client.WSS || time.Since(began) != 3*time.Second {
			t.Errorf("%s after %v", c.Transport(), time.Since(began))
		}
		k := w.newKCPRig(accepted, nil)
		o.KCPAddr = k.addr
		began = time.Now()
		if c, _ := k.dial(o); c.Transport() != client.KCP || time.Since(began) != 0 {
			t.Errorf("%s after %v, although KCP works", c.Transport(), time.Since(began))
		}
	})
}
