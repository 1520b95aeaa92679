package dtls

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"troupe/messages/counters"
)

// buggy accepts associations. The handler of some of them panics.
type buggy struct {
	acceptAll
	in atomic.Value // a string: where the next handler panics
}

type bug struct {
	*inbox
	where string
}

func (b *bug) OnRecord(plain []byte) {
	if b.where == "OnRecord" {
		panic("a bug")
	}
	b.inbox.OnRecord(plain)
}

func (b *bug) OnClosed(err error) {
	b.inbox.OnClosed(err)
	if b.where == "OnClosed" {
		panic("a bug")
	}
}

func (s *buggy) Accept(a *Association) Handler {
	where, _ := s.in.Swap("").(string)
	if where == "Accept" {
		panic("a bug")
	}
	return &bug{s.acceptAll.Accept(a).(*inbox), where}
}

// A panic while one peer's records are handled ends only that association. The reader, which serves all others, continues.
func TestAPanicCostsOneAssociation(t *testing.T) {
	for _, where := range []string{"Accept", "OnRecord", "OnClosed"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { panicsIn(t, where) })
		})
	}
}

func panicsIn(t *testing.T, where string) {
	acc := &buggy{acceptAll: acceptAll{new: make(chan *inbox, 64)}}
	h, o := newNetwork(), testOptions()
	o.Conn = h
	s := listen(t, o, acc)
	good := s.dialFrom(h, alice, nil)
	good.a.Write([]byte("x"))
	peer := await(t, acc.new)
	await(t, peer.got)
	acc.in.Store(where)
	bad := s.dialFrom(h, "10.0.0.3:1", nil)
	bad.a.Write([]byte("boom"))
	if where == "OnClosed" {
		bad.a.Close()
	}
	counted(t, "panics", s.count.ConnectionPanics.Load, 1)
	if where == "OnRecord" {
		if err := await(t, await(t, acc.new).closed); !errors.Is(err, ErrPanicked) {
			t.Error(err)
		}
	}
	counted(t, "associations", func() int64 { return int64(s.Stats().Associations) }, 1)
	good.a.Write([]byte("fine"))
	if got := await(t, peer.got); string(got) != "fine" {
		t.Errorf("%q", got)
	}
	counted(t, "open suites", func() int64 { return s.count.Associations.Get(counters.SuiteChaCha20) }, 1)
}
