package endpoint_test

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/internal/rfc6455"
	"troupe/transport/serversdk/endpoint"
	"troupe/transport/transporttest/memnet"
)

// backend accepts every process. Requests of matchmaking hang until free is closed.
type backend struct {
	free  chan struct{}
	links chan messages.ProcessLink
	held  chan func(any, error) // replies to SetPlayer; nil: it is answered at once
	wants int                   // of SetPlayer, so far
	asked chan func(any, error) // replies to questions about handshakes; nil: they are answered at once

	hidden  string   // of HideToken
	arrived []uint32 // of PushArrived
	e       *endpoint.Endpoint
	count   counters.Set
	shake   func(pid string) (p *process, status int)

	wrap func(net.Conn) net.Conn // makes the host's end of a connection; may be nil
}

// listener makes connections with wrap.
type listener struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err == nil && l.wrap != nil {
		nc = l.wrap(nc)
	}
	return nc, err
}

func (b *backend) Call(c messages.ProcessCall, reply func(any, error)) {
	switch what := c.What.(type) {
	case messages.HideToken:
		b.hidden = what.Token
	case messages.PushArrived:
		b.arrived = append(b.arrived, what.N)
	case messages.OpenProcess:
		switch {
		case !what.Asks:
			b.links <- c.Link
		case b.asked != nil:
			b.asked <- reply
			return
		}
	case messages.SetPlayer:
		b.wants++
		if b.held != nil {
			b.held <- reply
			return
		}
	}
	reply(nil, nil)
}

func (b *backend) Do(ctx context.Context, q messages.Request) (any, error) {
	if _, ok := q.(messages.AuthorizeCompute); ok {
		return messages.ComputeAuth{Token: "t2"}, nil
	}
	select {
	case <-b.free:
	case <-ctx.Done():
	}
	return &messages.Ticket{ID: "t"}, ctx.Err()
}

// faked runs f with an endpoint and a connected process.
func faked(t *testing.T, b *backend, f func(b *backend, dial func() *process, link messages.ProcessLink, p *process)) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		t.Cleanup(network.Close)
		on := network.Machine()
		l, err := on.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		b.free, b.links = make(chan struct{}), make(chan messages.ProcessLink, 100)
		e := endpoint.New(endpoint.Options{Backend: b, URL: "wss://sdk.example.test", HostURL: "ws://127.0.0.1:8080/sdk", Account: "000000000000", Region: "us-east-1", Counters: &b.count, Log: zerolog.Nop()})
		server := &http.Server{Handler: e}
		go server.Serve(listener{l, b.wrap})
		t.Cleanup(func() {
			server.Close()
			e.Close()
		})
		w := &world{t: t, fleet: "fleet-1", token: "t"}
		b.e, b.shake = e, func(pid string) (*process, int) {
			nc, err := on.DialContext(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			return w.shake(nc, "/any", w.query(pid))
		}
		dial := func() *process {
			p, status := b.shake("p")
			if p == nil {
				t.Fatal(status)
			}
			return p
		}
		p := dial()
		f(b, dial, <-b.links, p)
	})
}

// SS-41, SS-128: a request that takes long holds back neither heartbeats nor pongs, nor others.
func TestSlowRequests(t *testing.T) {
	faked(t, new(backend), func(b *backend, _ func() *process, _ messages.ProcessLink, p *process) {
		at := time.Now()
		slow := p.send("StartMatchBackfill", backfill("arn:aws:gamelift:us-east-1::gamesession/fleet-1/g", ""))
		p.frame(rfc6455.Ping, []byte("x"))
		p.beat(true)
		p.call(200, "AcceptPlayerSession", seat("g", "psess-1"))
		if d := time.Since(at); d > 100*time.Millisecond || p.pongs.Load() != 1 {
			t.Errorf("%v, %d pongs", d, p.pongs.Load())
		}
		close(b.free)
		if m := p.next(); m.RequestId != slow || m.StatusCode != 200 {
			t.Error(m.text)
		}
	})
}

// 6.2, 6.3: the requests of a connection are answered in order; a repetition waits for the first one.
func TestOrder(t *testing.T) {
	faked(t, &backend{held: make(chan func(any, error), 100)}, func(b *backend, dial func() *process, _ messages.ProcessLink, p *process) {
		p.sendAs("a", "AcceptPlayerSession", seat("g", "psess-1"))
		p.sendAs("b", "AcceptPlayerSession", seat("g", "psess-2"))
		p.sendAs("a", "AcceptPlayerSession", seat("g", "psess-1"))
		p.silent() // its requests have been read before those of q
		q := dial()
		q.sendAs("a", "AcceptPlayerSession", seat("g", "psess-1"))
		p.silent()
		q.silent()
		if b.wants != 1 {
			p.t.Fatal(b.wants)
		}
		(<-b.held)(nil, nil)
		if m := p.next(); m.RequestId != "a" {
			t.Error(m.text)
		}
		if m := q.next(); m.RequestId != "a" || m.StatusCode != 200 {
			t.Error(m.text)
		}
		p.silent()
		(<-b.held)(nil, messages.Errorf(messages.InvalidRequest, "no"))
		if m := p.next(); m.RequestId != "b" || m.StatusCode != 400 || m.ErrorMessage != "no" {
			t.Error(m.text)
		}
		q.sendAs("b", "AcceptPlayerSession", seat("g", "psess-2"))
		if m := q.next(); m.StatusCode != 400 || b.wants != 2 {
			t.Error(m.text, b.wants)
		}
		time.Sleep(5*time.Minute + time.Second) // D-411
		q.sendAs("b", "AcceptPlayerSession", seat("g", "psess-2"))
		(<-b.held)(nil, nil)
		if m := q.next(); m.StatusCode != 200 || b.wants != 3 {
			t.Error(m.text, b.wants)
		}
		for i := range 66 { // the queue is bounded
			q.sendAs(strings.Repeat("x", i+1), "RemovePlayerSession", seat("g", "psess-1"))
		}
		if m := q.next(); m.StatusCode != 429 {
			t.Error(m.text)
		}
		for range 65 {
			(<-b.held)(nil, nil)
			q.next()
		}
	})
}

// SS-38: a repetition that comes too fast is refused, and the request that it repeats goes on. It has one effect and one answer.
func TestARepetitionThatIsTooFast(t *testing.T) {
	faked(t, &backend{held: make(chan func(any, error), 100)}, func(b *backend, _ func() *process, _ messages.ProcessLink, p *process) {
		p.sendAs("a", "AcceptPlayerSession", seat("g", "psess-1"))
		for range 499 {
			p.beat(true)
		}
		p.sendAs("a", "AcceptPlayerSession", seat("g", "psess-1"))
		if m := p.next(); m.RequestId != "a" || m.StatusCode != 429 {
			t.Fatal(m.text)
		}
		time.Sleep(time.Second)
		p.sendAs("a", "AcceptPlayerSession", seat("g", "psess-1"))
		p.silent()
		(<-b.held)(nil, nil)
		if m := p.next(); m.RequestId != "a" || m.StatusCode != 200 || b.wants != 1 {
			t.Error(m.text, b.wants)
		}
		p.silent()
	})
}

// SS-124: a push of 1 MB is one text message. SS-13: the members of results and pushes are at top level.
func TestLargePush(t *testing.T) {
	faked(t, new(backend), func(b *backend, _ func() *process, link messages.ProcessLink, p *process) {
		g := &messages.GameSession{ID: "g", MatchmakerData: strings.Repeat(`{"a":"ü"}`, 40_000), Data: strings.Repeat("<", 262_144)}
		link.Push(messages.PushGameSession{Session: g}, 1)
		var got struct{ MatchmakerData, GameSessionData string }
		p.pushed("CreateGameSession", &got)
		if got.MatchmakerData != g.MatchmakerData || got.GameSessionData != g.Data {
			t.Error("the push has changed")
		}
		link.Push(messages.PushRefresh{}, 0)
		if m := p.next(); m.text != `{"Action":"RefreshConnection","RefreshConnectionEndpoint":"wss://sdk.example.test","AuthToken":"t2"}` || b.hidden != "" {
			t.Error(m.text, b.hidden)
		}
		link.Push(messages.PushRefresh{Host: true}, 0)
		if m := p.next(); m.text != `{"Action":"RefreshConnection","RefreshConnectionEndpoint":"ws://127.0.0.1:8080/sdk","AuthToken":"t2"}` || b.hidden != "t2" {
			t.Error(m.text, b.hidden)
		}
	})
}

// SS-203: a push to a connection that answers no ping is lost: the connection is dropped. So is that of a process that does
// not read.
func TestDeafProcess(t *testing.T) {
	for name, pushes := range map[string]int{"silent": 1, "slow": 10} {
		t.Run(name, func(t *testing.T) {
			faked(t, new(backend), func(_ *backend, _ func() *process, link messages.ProcessLink, p *process) {
				p.deaf.Store(true)
				at := time.Now()
				for i := range pushes {
					link.Push(messages.PushGameSession{Session: &messages.GameSession{Data: strings.Repeat("a", 500_000)}}, uint32(i+1))
				}
				if code, d := p.ends(), time.Since(at); code != 0 || d > 10*time.Second || pushes == 1 && d != 10*time.Second {
					t.Errorf("%d after %v", code, d)
				}
			})
		})
	}
}

// SS-203: a push has arrived when the pong of its ping comes. Pongs that nobody has asked for say nothing.
func TestPushesArrive(t *testing.T) {
	faked(t, new(backend), func(b *backend, _ func() *process, link messages.ProcessLink, p *process) {
		push := func(n uint32) {
			link.Push(messages.PushTerminate{At: time.UnixMilli(int64(n))}, n)
			p.pushed("TerminateProcess", nil)
			synctest.Wait()
		}
		push(7)
		p.deaf.Store(true)
		push(8)
		time.Sleep(9 * time.Second)
		push(9)
		pong := func(payload ...byte) {
			p.frame(rfc6455.Pong, payload)
			synctest.Wait()
		}
		for _, n := range []byte{6, 7, 10, 255} {
			pong(0, 0, 0, n)
		}
		pong()
		pong(0, 0, 0, 0, 8)
		if !slices.Equal(b.arrived, []uint32{7}) {
			t.Error(b.arrived)
		}
		pong(0, 0, 0, 8)
		time.Sleep(9 * time.Second)
		p.silent()
		pong(0, 0, 0, 9)
		pong(0, 0, 0, 9)
		time.Sleep(time.Minute)
		p.silent()
		if !slices.Equal(b.arrived, []uint32{7, 8, 9}) {
			t.Error(b.arrived)
		}
		push(10)
		time.Sleep(5 * time.Second)
		push(11)
		pong(0, 0, 0, 10)
		at := time.Now()
		if code, d := p.ends(), time.Since(at); code != 0 || d != 10*time.Second {
			t.Errorf("%d after %v", code, d)
		}
	})
}

// stuck is a connection that neither writes nor closes while held.
type stuck struct {
	net.Conn
	writes, closes chan struct{} // closed: it goes on
}

// Write implements net.Conn.
func (s *stuck) Write(b []byte) (int, error) {
	<-s.writes
	return s.Conn.Write(b)
}

// Close implements net.Conn.
func (s *stuck) Close() error {
	<-s.closes
	return s.Conn.Close()
}

// SS-203: the time for the pong begins when the push is written, however long that takes.
func TestAPushOnASlowLink(t *testing.T) {
	var made []*stuck
	b := &backend{wrap: func(nc net.Conn) net.Conn {
		s := &stuck{nc, make(chan struct{}), make(chan struct{})}
		close(s.writes)
		close(s.closes)
		made = append(made, s)
		return s
	}}
	faked(t, b, func(b *backend, _ func() *process, link messages.ProcessLink, p *process) {
		slow := func(n uint32) {
			writes := make(chan struct{})
			made[0].writes = writes
			link.Push(messages.PushTerminate{}, n)
			time.Sleep(9 * time.Second)
			close(writes)
		}
		slow(1)
		p.pushed("TerminateProcess", nil)
		time.Sleep(time.Minute)
		p.silent()
		p.deaf.Store(true)
		at := time.Now()
		slow(2)
		if code, d := p.ends(), time.Since(at); code != 0 || d != 19*time.Second {
			t.Errorf("%d after %v", code, d)
		}
		if !slices.Equal(b.arrived, []uint32{1}) {
			t.Error(b.arrived)
		}
	})
}

// The owner of a process waits for none of its connections, and encodes nothing for it: neither for one that cannot be
// written, nor for one that takes long to close, as with TLS.
func TestALinkNeverBlocks(t *testing.T) {
	var made []*stuck
	b := &backend{wrap: func(nc net.Conn) net.Conn {
		s := &stuck{nc, make(chan struct{}), make(chan struct{})}
		close(s.writes)
		made = append(made, s)
		return s
	}}
	faked(t, b, func(b *backend, dial func() *process, link messages.ProcessLink, p *process) {
		made[0].writes = make(chan struct{})
		g := &messages.GameSession{Data: strings.Repeat("a", 1<<20)}
		var before, after runtime.MemStats
		link.Push(messages.PushGameSession{Session: g}, 1)
		synctest.Wait() // it is encoded
		runtime.ReadMemStats(&before)
		link.Push(messages.PushUpdate{Session: g}, 2)
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<18 {
			t.Errorf("%d bytes for a push", after.TotalAlloc-before.TotalAlloc)
		}
		ended := make(chan struct{})
		go func() {
			link.End(true)
			link.Supersede()
			close(ended)
		}()
		synctest.Wait()
		select {
		case <-ended:
		default:
			t.Error("the end waits for the connection")
		}
		close(made[0].writes)
		close(made[0].closes)
		if c := p.ends(); c != 0 {
			t.Error(c)
		}
		q := dial()
		close(made[1].closes)
		q.beat(true)
	})
}

// A client that closes gets its code back.
func TestCloseByTheProcess(t *testing.T) {
	faked(t, new(backend), func(_ *backend, _ func() *process, _ messages.ProcessLink, p *process) {
		p.frame(rfc6455.Close, []byte{0x03, 0xe9})
		if c := p.ends(); c != 1001 {
			t.Error(c)
		}
	})
}

// Whatever bytes a process sends, its connection ends in order, and the endpoint goes on.
func FuzzConnection(f *testing.F) {
	beat := []byte(`{"Action":"HeartbeatServerProcess","RequestId":"f","HealthStatus":true}`)
	for _, op := range []rfc6455.Opcode{rfc6455.Text, rfc6455.Binary, rfc6455.Ping, rfc6455.Pong, rfc6455.Close, rfc6455.Continuation} {
		f.Add(rfc6455.AppendMasked(rfc6455.AppendMasked(nil, op, 7, beat), rfc6455.Text, 7, beat))
	}
	f.Add([]byte{0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 1, 2, 3, 4, 5})
	f.Add([]byte{0x01, 0x81, 0, 0, 0, 0, '{', 0x80, 0x81, 0, 0, 0, 0, '}'})
	f.Fuzz(func(t *testing.T, input []byte) {
		faked(t, new(backend), func(_ *backend, dial func() *process, _ messages.ProcessLink, p *process) {
			go p.nc.Write(input)
			end := time.AfterFunc(time.Minute, func() { _ = p.nc.Close() })
			p.ends()
			end.Stop()
			_ = p.nc.Close()
			q := dial()
			q.beat(true)
		})
	})
}
