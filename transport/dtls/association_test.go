package dtls

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"troupe/messages/counters"
)

func TestTwoSidesTalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newNetwork()
		s := h.serve(t, nil)
		c := s.dialFrom(h, alice, nil)
		if !c.a.Write([]byte("hello")) {
			t.Fatal("not sent")
		}
		peer := await(t, s.new)
		if got := await(t, peer.got); string(got) != "hello" {
			t.Errorf("the server got %q", got)
		}
		for n := range 100 {
			peer.a.Write(fmt.Append(nil, n))
			if got := await(t, c.got); string(got) != fmt.Sprint(n) {
				t.Fatalf("message %d: %q", n, got)
			}
		}
		big := bytes.Repeat([]byte{7}, PlainMax)
		peer.a.Write(big)
		if got := await(t, c.got); !bytes.Equal(got, big) {
			t.Error("the largest record was changed")
		}
		if peer.a.Write(append(big, 1)) {
			t.Error("a record over PlainMax was sent")
		}
		counted(t, "full handshakes", func() int64 { return s.count.Handshakes.Get(counters.HandshakeFull) }, 1)
		if n := s.count.Associations.Get(counters.SuiteChaCha20); n != 1 {
			t.Errorf("%d associations", n)
		}
	})
}

func TestEitherSideEndsAnAssociation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newNetwork()
		s := h.serve(t, nil)
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
		c.closed <- nil // for the cleanup
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
	synctest.Test(t, func(t *testing.T) {
		h := newNetwork()
		s := h.serve(t, nil)
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
