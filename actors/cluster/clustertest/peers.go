package clustertest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/cluster"
	"troupe/messages"
	"troupe/messages/coord"
)

// PeerPlace is the environment of one check of Peers. Node a calls node b.
type PeerPlace struct {
	A       cluster.Peers
	B       coord.Node              // registration of b, with the first incarnation of its process
	Begin   func(incarnation int64) // ends the process of b, and starts another one
	Become  func(incarnation int64) // gives b a new incarnation
	Stop    func()                  // ends the process of b
	Other   func()                  // ends the process of b, and makes node c listen at its address
	Refused func() int64            // returns the number of calls and connections that were refused at the address of b

	Stranger cluster.Peers                // a caller that is not a node of the cluster; nil if every caller is accepted
	Cut      func(requests, answers bool) // loses requests, answers or both; nil if that is not possible. If it is set, time is virtual.
}

// PeerCheck checks one requirement on Peers.
type PeerCheck struct {
	Name string
	Cut  bool // the check uses PeerPlace.Cut
	f    func(p *peers)
}

// peers is the state of a running check.
type peers struct {
	*testing.T
	*PeerPlace
	ran    atomic.Int64 // number of requests that b has begun to answer
	answer atomic.Pointer[func(context.Context, messages.Request) (any, error)]
}

// Do implements messages.Doer for b.
func (p *peers) Do(ctx context.Context, q messages.Request) (any, error) {
	p.ran.Add(1)
	return (*p.answer.Load())(ctx, q)
}

func (p *peers) answerWith(f func(context.Context, messages.Request) (any, error)) {
	p.answer.Store(&f)
}

// Run runs the check in the environment that place returns. place gets the Doer that answers the requests to b.
func (c PeerCheck) Run(t *testing.T, place func(t *testing.T, d messages.Doer) *PeerPlace) {
	p := &peers{T: t}
	p.answerWith(func(context.Context, messages.Request) (any, error) { return nil, nil })
	if p.PeerPlace = place(t, p); c.Cut && p.Cut == nil {
		t.Skip("nothing can be cut here")
	}
	c.f(p)
}

// PeerChecks returns the checks that every implementation of Peers must pass.
func PeerChecks() []PeerCheck {
	return []PeerCheck{
		{"an answer is what the node answered", false, peerAnswers},
		{"a refusal keeps its code, another error is Internal", false, peerErrors},
		{"a request that is not for other nodes is not sent", false, peerNotSent},
		{"the deadline and the replay key pass on", false, peerContext},
		{"a script's largest archive passes, one beyond the limit is refused", false, peerLarge},
		{"calls do not wait for each other", false, peerParallel},
		{"a call ends with its context, and so does what it asked for", false, peerCancelled},
		{"a call ends at its deadline", false, peerDeadline},
		{"a handler that panics fails its call alone", false, peerPanics},
		{"nobody listens: refused", false, peerNobody},
		{"a process that begins again is reached again", false, peerAgain},
		{"another incarnation refuses, and counts", false, peerIncarnation},
		{"another node refuses", false, peerOther},
		{"a stranger is not answered, and is counted", false, peerStranger},
		{"a process that ends leaves its calls unknown", false, peerEnds},
		{"a silent node is given up after three seconds, and is reached when it is back", true, peerSilent},
		{"a silent node ends calls that wait", true, peerSilentWaiting},
		{"a lost answer is unknown, and nothing is asked twice", true, peerAnswerLost},
		{"a node that was never reached is unavailable, and not refused", true, peerNeverReached},
		{"a silent node does not outlast a deadline", true, peerSilentDeadline},
	}
}

// limit is the maximum duration of a check.
const limit = 2 * time.Minute

func (p *peers) ctx() context.Context {
	ctx, cancel := context.WithTimeout(p.Context(), limit)
	p.Cleanup(cancel)
	return ctx
}

func (p *peers) hello() error {
	_, err := p.A.Call(p.ctx(), p.B, coord.Hello{})
	return err
}

func (p *peers) wants(what string, err, want error) {
	p.Helper()
	if !errors.Is(err, want) {
		p.Errorf("%s: %v, want %v", what, err, want)
	}
}

// asked checks how many requests b has begun to answer since the previous call.
func (p *peers) asked(want int64) {
	p.Helper()
	if ran := p.ran.Swap(0); ran != want {
		p.Errorf("b was asked %d times, want %d", ran, want)
	}
}

func peerAnswers(p *peers) {
	want := coord.HelloAnswer{Node: p.B, Incarnation: p.B.Incarnation, Clock: time.Unix(1, 2).UTC(), Coordinator: true}
	p.answerWith(func(_ context.Context, q messages.Request) (any, error) {
		if r, ok := q.(coord.Reach); ok && r.Node.Name == "c" && r.Node.Incarnation == 3 {
			return coord.Reached{Outcome: coord.Silent}, nil
		}
		return want, nil
	})
	got, err := p.A.Call(p.ctx(), p.B, coord.Hello{})
	a, ok := got.(coord.HelloAnswer)
	if err != nil || !ok || a.Node.Name != want.Node.Name || a.Node.Incarnation != p.B.Incarnation || a.Incarnation != p.B.Incarnation ||
		!a.Clock.Equal(want.Clock) || !a.Coordinator {
		p.Errorf("%#v, %v", got, err)
	}
	got, err = p.A.Call(p.ctx(), p.B, coord.Reach{Node: coord.Node{Name: "c", Incarnation: 3}})
	if err != nil || got != any(coord.Reached{Outcome: coord.Silent}) {
		p.Errorf("%#v, %v", got, err)
	}
	p.asked(2)
}

func peerErrors(p *peers) {
	for _, c := range []struct{ err, want error }{
		{messages.Errorf(messages.GameSessionFull, "full"), &messages.Error{Code: messages.GameSessionFull, Text: "full"}},
		{errors.New("broken"), &messages.Error{Code: messages.Internal, Text: "broken"}},
	} {
		p.answerWith(func(context.Context, messages.Request) (any, error) { return nil, c.err })
		p.wants("an error", p.hello(), c.want)
	}
}

type unknownRequest struct{ messages.ToThisHost[int] }

func peerNotSent(p *peers) {
	_, err := p.A.Call(p.ctx(), p.B, unknownRequest{})
	p.wants("a request without a name", err, &messages.Error{Code: messages.Internal})
	p.asked(0)
}

func peerContext(p *peers) {
	type seen struct {
		key  string
		left time.Duration
		has  bool
	}
	got := make(chan seen, 1)
	p.answerWith(func(ctx context.Context, _ messages.Request) (any, error) {
		deadline, ok := ctx.Deadline()
		got <- seen{messages.ReplayKey(ctx), time.Until(deadline), ok}
		return nil, nil
	})
	ctx, cancel := context.WithTimeout(p.Context(), limit)
	defer cancel()
	if _, err := p.A.Call(messages.WithReplayKey(ctx, "k\x00é 1"), p.B, coord.Hello{}); err != nil {
		p.Fatal(err)
	}
	if s := <-got; s.key != "k\x00é 1" || !s.has || s.left <= 0 || s.left > limit {
		p.Errorf("%+v", s)
	}
	if _, err := p.A.Call(p.Context(), p.B, coord.Hello{}); err != nil {
		p.Fatal(err)
	}
	if s := <-got; s.key != "" || s.has {
		p.Errorf("without both: %+v", s)
	}
}

func peerLarge(p *peers) {
	const archiveMax = 5_000_000 // limit of the service API (service-api.md 2.5)
	p.answerWith(func(_ context.Context, q messages.Request) (any, error) {
		if u, ok := q.(messages.UpdateScript); ok {
			return messages.UpdatedScript{Refused: []string{string(rune('0' + len(u.Zip)/1_000_000))}}, nil
		}
		return []*messages.Fleet{{Name: strings.Repeat("x", 9<<20)}}, nil
	})
	got, err := p.A.Call(p.ctx(), p.B, messages.UpdateScript{ID: "script-1", Zip: make([]byte, archiveMax)})
	if u, ok := got.(messages.UpdatedScript); err != nil || !ok || len(u.Refused) != 1 || u.Refused[0] != "5" {
		p.Errorf("%#v, %v", got, err)
	}
	p.asked(1)
	if p.Stranger == nil { // such a place sends no bytes, so there is no size limit
		return
	}
	_, err = p.A.Call(p.ctx(), p.B, messages.UpdateScript{ID: "script-1", Zip: make([]byte, 9<<20)})
	p.wants("too large a request", err, &messages.Error{Code: messages.Internal})
	p.asked(0)
	_, err = p.A.Call(p.ctx(), p.B, messages.FleetQuery{})
	p.wants("too large an answer", err, &messages.Error{Code: messages.Internal})
}

func peerParallel(p *peers) {
	const n = 50
	var together sync.WaitGroup
	together.Add(n)
	p.answerWith(func(context.Context, messages.Request) (any, error) {
		together.Done()
		together.Wait()
		return nil, nil
	})
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if err := p.hello(); err != nil {
				p.Error(err)
			}
		})
	}
	all.Wait()
}

// waits makes b answer a call only when the call's context ends. begun gets a value for each call that begins, ended for
// each call that ends.
func (p *peers) waits() (begun, ended chan struct{}) {
	begun, ended = make(chan struct{}, 9), make(chan struct{}, 9)
	p.answerWith(func(ctx context.Context, _ messages.Request) (any, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return nil, ctx.Err()
	})
	return begun, ended
}

func peerCancelled(p *peers) {
	begun, ended := p.waits()
	ctx, cancel := context.WithCancel(p.Context())
	go func() { <-begun; cancel() }()
	_, err := p.A.Call(ctx, p.B, messages.AwaitRoom{})
	p.wants("a cancelled call", err, context.Canceled)
	<-ended
	_, err = p.A.Call(ctx, p.B, messages.AwaitRoom{})
	p.wants("a call with a context that is over", err, context.Canceled)
	p.asked(1)
}

func peerDeadline(p *peers) {
	_, ended := p.waits()
	if err := p.reached(); err != nil {
		p.Fatal(err)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(p.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.A.Call(ctx, p.B, messages.AwaitRoom{})
	p.wants("a call at its deadline", err, context.DeadlineExceeded)
	if took := time.Since(began); p.Cut != nil && took != 50*time.Millisecond {
		p.Errorf("it took %v", took)
	}
	if p.Cut != nil { // on a busy machine the call may end before the request is sent
		<-ended
	}
}

// reached makes a connection without sending a request.
func (p *peers) reached() error {
	was := *p.answer.Load()
	p.answerWith(func(context.Context, messages.Request) (any, error) { return nil, nil })
	err := p.hello()
	p.answerWith(was)
	p.ran.Store(0)
	return err
}

func peerPanics(p *peers) {
	p.answerWith(func(context.Context, messages.Request) (any, error) { panic("a bug") })
	p.wants("a panic", p.hello(), &messages.Error{Code: messages.Internal})
	p.answerWith(func(context.Context, messages.Request) (any, error) { return nil, nil })
	p.wants("the next call", p.hello(), nil)
}

func peerNobody(p *peers) {
	p.wants("before", p.hello(), nil)
	p.Stop()
	p.gone("after the end")
}

// gone checks that calls are refused. Before that, a call may report that its connection has ended.
func (p *peers) gone(what string) {
	p.Helper()
	err := p.hello()
	for errors.Is(err, coord.ErrUnknown) || errors.Is(err, coord.ErrUnavailable) {
		time.Sleep(10 * time.Millisecond)
		err = p.hello()
	}
	p.wants(what, err, coord.ErrRefused)
}

func peerAgain(p *peers) {
	p.wants("before", p.hello(), nil)
	p.Stop()
	p.gone("between")
	p.Begin(8)
	old := p.B
	p.B.Incarnation = 8
	err := p.hello()
	for errors.Is(err, coord.ErrRefused) { // a failed attempt is remembered for a moment
		time.Sleep(10 * time.Millisecond)
		err = p.hello()
	}
	p.wants("afterwards", err, nil)
	_, err = p.A.Call(p.ctx(), old, coord.Hello{})
	p.wants("the incarnation before", err, coord.ErrRefused)
	p.asked(2)
}

// CL-30: a call for an old incarnation is refused.
func peerIncarnation(p *peers) {
	p.wants("before", p.hello(), nil)
	p.Become(9)
	p.wants("the incarnation before", p.hello(), coord.ErrRefused)
	p.B.Incarnation = 9
	p.wants("the new incarnation", p.hello(), nil)
	p.B.Incarnation = 0
	p.wants("no incarnation", p.hello(), coord.ErrRefused)
	p.asked(2)
	if n := p.Refused(); n != 2 {
		p.Errorf("%d were counted", n)
	}
}

// CL-30: a call for a node with another name is refused.
func peerOther(p *peers) {
	p.Other()
	p.wants("another node", p.hello(), coord.ErrRefused)
	p.asked(0)
}

// CL-30: a caller without the cluster's certificate is refused.
func peerStranger(p *peers) {
	if p.Stranger == nil {
		p.Skip("everybody is a node here")
	}
	_, err := p.Stranger.Call(p.ctx(), p.B, coord.Hello{})
	p.wants("a stranger", err, coord.ErrUnavailable)
	p.asked(0)
	if n := p.Refused(); n < 1 {
		p.Errorf("%d were counted", n)
	}
	p.wants("a node of the cluster", p.hello(), nil)
}

func peerEnds(p *peers) {
	begun, ended := p.waits()
	go func() { <-begun; p.Stop() }()
	_, err := p.A.Call(p.ctx(), p.B, messages.AwaitRoom{})
	p.wants("a call whose process ends", err, coord.ErrUnknown)
	<-ended
	p.asked(1)
}

// within checks that no more time has passed than it takes to detect a silent node.
func (p *peers) within(began time.Time) {
	p.Helper()
	if took := time.Since(began); took > Silence {
		p.Errorf("it took %v", took)
	}
}

func peerSilent(p *peers) {
	p.wants("before", p.hello(), nil)
	p.Cut(true, true)
	began := time.Now()
	p.wants("a silent node", p.hello(), coord.ErrUnknown)
	p.within(began)
	p.wants("the next call", p.hello(), coord.ErrUnavailable)
	p.Cut(false, false)
	time.Sleep(time.Second)
	p.asked(1)
	p.wants("the node is back", p.hello(), nil)
	p.asked(1)
}

func peerSilentWaiting(p *peers) {
	begun, ended := p.waits()
	var began time.Time
	go func() {
		<-begun
		time.Sleep(time.Minute)
		began = time.Now()
		p.Cut(true, true)
	}()
	_, err := p.A.Call(p.ctx(), p.B, messages.AwaitRoom{})
	p.wants("a call that waits", err, coord.ErrUnknown)
	p.within(began)
	<-ended
	p.within(began)
}

func peerAnswerLost(p *peers) {
	p.wants("before", p.hello(), nil)
	p.Cut(false, true)
	began := time.Now()
	p.wants("a lost answer", p.hello(), coord.ErrUnknown)
	p.within(began)
	p.Cut(false, false)
	time.Sleep(limit)
	p.asked(2)
}

func peerNeverReached(p *peers) {
	for _, c := range []struct{ requests, answers bool }{{true, false}, {false, true}} {
		p.Cut(c.requests, c.answers)
		began := time.Now()
		p.wants("a node that is silent from the beginning", p.hello(), coord.ErrUnavailable)
		p.within(began)
		time.Sleep(time.Second)
	}
	p.asked(0)
}

func peerSilentDeadline(p *peers) {
	p.wants("before", p.hello(), nil)
	p.Cut(true, true)
	for range 2 {
		began := time.Now()
		ctx, cancel := context.WithTimeout(p.Context(), time.Second)
		_, err := p.A.Call(ctx, p.B, coord.Hello{})
		cancel()
		p.wants("a silent node", err, context.DeadlineExceeded)
		if took := time.Since(began); took != time.Second {
			p.Errorf("it took %v", took)
		}
	}
}
