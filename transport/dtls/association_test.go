package dtls

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"troupe/messages/counters"
)

func TestEitherSideEndsAnAssociation(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		c := s.dialFrom(h, alice, nil)
		c.a.Write([]byte("x"))
		peer := await(t, s.new)
		c.a.Close()
		if err := await(t, peer.closed); !errors.Is(err, ErrPeerClosed) {
			t.Error(err)
		}
		if err := await(t, c.closed); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		c.closed <- nil // for the cleanup, which awaits it
		if peer.a.Write([]byte("y")) || c.a.Write([]byte("z")) {
			t.Error("an ended association sends")
		}
		d := s.dialFrom(h, alice, nil)
		d.a.Write([]byte("x"))
		await(t, s.new).a.Close()
		if err := await(t, d.closed); !errors.Is(err, ErrPeerClosed) {
			t.Error(err)
		}
		d.closed <- nil
		if st := s.Stats(); st.Associations != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestASessionIsResumedWithoutAKeyExchange(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		sessions := NewSessions()
		for n := range 3 {
			c := s.dialFrom(h, alice, func(o *DialOptions) { o.Sessions = sessions })
			c.a.Write([]byte("x"))
			peer := await(t, s.new)
			await(t, peer.got)
			peer.a.Write([]byte("y"))
			await(t, c.got)
			counted(t, "handshakes", s.count.Handshakes.Total, int64(n+1))
			if full, resumed := s.count.Handshakes.Get(counters.HandshakeFull), s.count.Handshakes.Get(counters.HandshakeResumed); full != 1 || resumed != int64(n) {
				t.Errorf("after %d: %d full, %d resumed", n+1, full, resumed)
			}
		}
	})
}

// The program that gave Dial its socket may close it at any time. Then the handshake or the association ends at once.
func TestAClosedSocketEndsWhatUsesIt(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		for name, when := range map[string]time.Duration{"before": 0, "during the handshake": 3 * time.Second} {
			socket := h.enter(alice)
			h.pass = func(bool, []byte) int { return 0 } // nothing arrives
			time.AfterFunc(when, func() { socket.Close() })
			begun := time.Now()
			err := s.tryDial(time.Minute, func(o *DialOptions) { o.Conn = socket })
			if took := time.Since(begun); !errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled) || took != when {
				t.Errorf("%s: after %v: %v", name, took, err)
			}
		}
		h.pass = nil
		socket := h.enter(alice)
		c := s.dial(func(o *DialOptions) { o.Conn = socket })
		socket.Close()
		begun := time.Now()
		if err := await(t, c.closed); !errors.Is(err, net.ErrClosed) || time.Since(begun) != 0 {
			t.Errorf("after the handshake: after %v: %v", time.Since(begun), err)
		}
		c.closed <- nil // for the cleanup, which awaits it
	})
}
