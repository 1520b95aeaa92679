package client

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
)

// What a host may do with a login. A non-nil result is ignored if the host has ended the connection or its answer is late.
func accepts(*hostLink) *wire.LoginResult { return nil }
func refuses(*hostLink) *wire.LoginResult { return &wire.LoginResult{} }

func saysBye(l *hostLink) *wire.LoginResult {
	l.bye(messages.CloseGoingAway)
	return &wire.LoginResult{}
}

func breaks(l *hostLink) *wire.LoginResult {
	l.cut()
	return &wire.LoginResult{}
}

func saysNothing(l *hostLink) *wire.LoginResult {
	l.late = time.Hour
	return &wire.LoginResult{}
}

// before makes a host send a unit before its answer.
func before(unit []byte) func(l *hostLink) *wire.LoginResult {
	return func(l *hostLink) *wire.LoginResult {
		l.units <- unit
		return nil
	}
}

// answers has the answer of each transport. If it is nil, opening fails. If there is none, opening blocks.
type answers = map[Transport]func(l *hostLink) *wire.LoginResult

// answering returns a fakeHost with these answers.
func answering(t *testing.T, all answers) *fakeHost {
	h := newFakeHost(t)
	h.down = make(map[Transport]error)
	for _, over := range []Transport{WS, WSS, KCP} {
		if answer, there := all[over]; !there {
			h.down[over] = nil
		} else if answer == nil {
			h.down[over] = errUnreachable
		}
	}
	h.enter = func(_ int, l *hostLink) *wire.LoginResult { return all[h.dials[len(h.dials)-1]](l) }
	return h
}

var errUnreachable = errors.New("unreachable")

// TestAuto checks which transports Auto tries, when, and with what result.
func TestAuto(t *testing.T) {
	for name, c := range map[string]struct {
		answers  answers
		patience time.Duration // timeout of the context; 0 for none
		opened   []Transport
		at       []time.Duration
		used     Transport
		err      []error
		text     string
	}{
		"KCP works":        {answers: answers{KCP: accepts}, opened: []Transport{KCP}, at: []time.Duration{0}, used: KCP},
		"KCP is silent":    {answers: answers{WSS: accepts}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 3 * time.Second}, used: WSS},
		"less time":        {answers: answers{WSS: accepts}, patience: 6 * time.Second, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 2 * time.Second}, used: WSS},
		"KCP is closed":    {answers: answers{KCP: nil, WSS: accepts}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 0}, used: WSS},
		"KCP goes silent":  {answers: answers{KCP: saysNothing, WSS: accepts}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 3 * time.Second}, used: WSS},
		"KCP breaks":       {answers: answers{KCP: breaks, WSS: accepts}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 0}, used: WSS},
		"KCP refuses":      {answers: answers{KCP: refuses, WSS: accepts}, opened: []Transport{KCP}, at: []time.Duration{0}, err: []error{ErrRefused}, text: "kcp at localhost:33402: client: login refused without a reason, as hosts do if they do not know the player session (any more)"},
		"KCP says goodbye": {answers: answers{KCP: saysBye, WSS: accepts}, opened: []Transport{KCP}, at: []time.Duration{0}, err: []error{ErrClosed}, text: "kcp at localhost:33402: closed by the host: 1001 host_draining"},
		"neither works": {
			answers: answers{KCP: breaks, WSS: nil}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 0},
			err: []error{errUnreachable, net.ErrClosed}, text: "wss at localhost:1900: unreachable; before: kcp at localhost:33402: connection lost",
		},
		"WSS refuses": {
			answers: answers{WSS: refuses}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 3 * time.Second},
			err: []error{ErrRefused, context.DeadlineExceeded}, text: "wss at localhost:1900: client: login refused without a reason, as hosts do if they do not know the player session (any more); before: kcp at localhost:33402: no answer in time: context deadline exceeded",
		},
		"no time at all": {patience: -1, opened: []Transport{KCP}, at: []time.Duration{0}, err: []error{context.DeadlineExceeded}, text: "kcp at localhost:33402: "},
	} {
		bubble(t, name, func(t *testing.T) {
			ctx := t.Context()
			if c.patience != 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.patience)
				defer cancel()
			}
			began := time.Now()
			h := answering(t, c.answers)
			got, err := h.try(ctx, Options{Transport: Auto})
			var at []time.Duration
			for _, when := range h.at {
				at = append(at, when.Sub(began))
			}
			if !slices.Equal(h.dials, c.opened) || !slices.Equal(at, c.at) {
				t.Errorf("opened %v at %v", h.dials, at)
			}
			for _, want := range c.err {
				if !errors.Is(err, want) {
					t.Errorf("error %v is not %v", err, want)
				}
			}
			if (err != nil) != (c.err != nil) || err != nil && !strings.HasPrefix(err.Error(), c.text) {
				t.Errorf("error %v", err)
			}
			if err == nil {
				if got.Transport() != c.used {
					t.Errorf("used %s", got.Transport())
				}
				got.Close()
			}
			synctest.Wait() // other attempts must have ended, otherwise the bubble fails the test
			for i, l := range h.links {
				if l.how == "" {
					t.Errorf("link %d is left open", i)
				}
			}
		})
	}
}

// TestDialEnds checks that Dial returns the right error for each answer, and leaves no link open.
func TestDialEnds(t *testing.T) {
	hello := unitOf(wire.NewPingResult(1))
	for name, c := range map[string]struct {
		answer func(l *hostLink) *wire.LoginResult
		how    string
		err    error
		took   time.Duration
	}{
		"refused":       {answer: refuses, how: "close", err: ErrRefused},
		"broken":        {answer: breaks, how: "cut", err: ErrClosed},
		"goodbye":       {answer: saysBye, how: "bye", err: net.ErrClosed},
		"another first": {answer: before(hello), how: "abort"},
		"garbage":       {answer: before([]byte{5, 1}), how: "abort", err: wire.ErrMalformed},
		"unreachable":   {err: errUnreachable},
		"silent":        {answer: saysNothing, how: "abort", err: context.DeadlineExceeded, took: dialTimeoutDefault},
	} {
		bubble(t, name, func(t *testing.T) {
			began := time.Now()
			h := answering(t, answers{WS: c.answer})
			got, err := h.try(t.Context(), Options{})
			if got != nil || err == nil || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("got %v, %v", got, err)
			}
			var refused *RefusedError
			var end *EndError
			if documented := errors.As(err, &refused) || errors.As(err, &end); documented == errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v is of no kind that Dial documents, or of two", err)
			}
			if c.answer == nil {
				return
			}
			if how := h.last().how; how != c.how || time.Since(began) != c.took {
				t.Errorf("%s after %v", how, time.Since(began))
			}
		})
	}
}

// A login's answer counts even if the host closes right after it.
func TestALoginAnswerCountsIfTheHostClosesAtOnce(t *testing.T) {
	for range 100 { // because Dial may find both the answer and the end, in random order
		with(t, func(t *testing.T, h *fakeHost) {
			h.enter = func(_ int, l *hostLink) *wire.LoginResult {
				l.cn.onUnit(unitOf(wire.NewLoginResult(&wire.LoginResult{Success: true, PeerID: 7})))
				l.bye(messages.CloseKicked)
				return &wire.LoginResult{}
			}
			c := h.dial(Options{})
			<-c.Done()
			if c.End().Code != 4006 || c.End().Retry() != messages.RetryNever {
				t.Errorf("end %s", c.End())
			}
		})
	}
}
