package endpoint_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/internal/rfc6455"
)

// A message has 20 s from its first byte, however slowly it comes. A connection without one has all the time.
func TestSlowMessages(t *testing.T) {
	beat := []byte(`{"Action":"HeartbeatServerProcess","RequestId":"f","HealthStatus":true}`)
	whole := rfc6455.AppendMasked(nil, rfc6455.Text, 7, beat)
	large := rfc6455.AppendMasked(nil, rfc6455.Text, 7, make([]byte, 1<<20))
	ping := rfc6455.AppendMasked(nil, rfc6455.Ping, 7, []byte("x"))
	parts := rfc6455.AppendMasked(nil, rfc6455.Text, 7, []byte("{"))
	parts[0] &^= 0x80
	for name, c := range map[string]struct {
		first []byte // sent at once
		then  []byte // a byte of it each second, for as long as it takes
		code  int
	}{
		"one byte":       {whole[:1], nil, 1008},
		"a header":       {large[:14], nil, 1008},
		"byte by byte":   {large[:14], large[14:100], 1008},
		"half a ping":    {ping[:5], nil, 1008},
		"pings between":  {parts, append(append(append([]byte{}, ping...), ping...), ping...), 1008},
		"in 19 s":        {whole[:len(whole)-19], whole[len(whole)-19:], 0},
		"whole":          {whole, nil, 0},
		"whole and more": {append(whole[:len(whole):len(whole)], ping...), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			faked(t, new(backend), func(b *backend, _ func() *process, _ messages.ProcessLink, p *process) {
				time.Sleep(time.Hour)
				at := time.Now()
				_, _ = p.nc.Write(c.first)
				defer func() { // the goroutine ends
					p.nc.Close()
					time.Sleep(2 * time.Second)
				}()
				go func() {
					for i := range c.then {
						time.Sleep(time.Second)
						if _, err := p.nc.Write(c.then[i : i+1]); err != nil {
							return
						}
					}
				}()
				if c.code == 0 {
					if m := p.next(); m.StatusCode != 200 {
						t.Error(m.text)
					}
					time.Sleep(time.Hour)
					p.beat(true)
					return
				}
				if code, d := p.ends(), time.Since(at); code != c.code || d != 20*time.Second || b.count.ServersClosed.Get(counters.ServerClosedTooSlow) != 1 {
					t.Errorf("%d after %v", code, d)
				}
			})
		})
	}
}

// The messages of all connections together take 32 MiB. What is over it is closed with 1013; small messages pass.
func TestMemoryOfAllMessages(t *testing.T) {
	faked(t, new(backend), func(b *backend, _ func() *process, _ messages.ProcessLink, p *process) {
		large := rfc6455.AppendMasked(nil, rfc6455.Text, 7, []byte(`{"Action":"GetComputeCertificate","RequestId":"r","x":"`+strings.Repeat("a", 1<<20-60)+`"}`))
		var all []*process
		for i := range 40 {
			q, status := b.shake(fmt.Sprint("q", i))
			if q == nil {
				t.Fatal(status)
			}
			all = append(all, q)
			go q.nc.Write(large[:len(large)-1])
			synctest.Wait()
		}
		for i, q := range all[32:] {
			if code := q.ends(); code != 1013 {
				t.Errorf("%d: %d", 32+i, code)
			}
		}
		if n := b.count.ServersClosed.Get(counters.ServerClosedMemory); n != 8 {
			t.Errorf("%d were closed", n)
		}
		for range 100 {
			p.beat(true)
		}
		for _, q := range all[:32] {
			q.silent()
		}
		all[0].nc.Write(large[len(large)-1:])
		if m := all[0].next(); m.RequestId != "r" {
			t.Error(m.text)
		}
		for _, q := range all[1:32] { // too slow
			if code := q.ends(); code != 1008 {
				t.Error(code)
			}
		}
		for range 40 {
			_, _ = p.nc.Write(large)
			if m := p.next(); m.RequestId != "r" {
				t.Error(m.text)
			}
		}
	})
}

// The requests of a connection that wait take as much as one message, and the first one of them is always taken.
func TestMemoryOfWaitingRequests(t *testing.T) {
	faked(t, &backend{held: make(chan func(any, error), 100)}, func(b *backend, _ func() *process, _ messages.ProcessLink, p *process) {
		more := `,"x":"` + strings.Repeat("a", 1<<19) + `"`
		for i := range 4 {
			p.sendAs(fmt.Sprint(i), "AcceptPlayerSession", seat("g", "psess-1")+more)
		}
		for i := range 3 {
			if m := p.next(); m.StatusCode != 429 || m.RequestId != fmt.Sprint(i+1) {
				t.Error(m.text)
			}
		}
		(<-b.held)(nil, nil)
		if m := p.next(); m.StatusCode != 200 || m.RequestId != "0" {
			t.Error(m.text)
		}
		p.sendAs("1", "AcceptPlayerSession", seat("g", "psess-1")+more)
		synctest.Wait()
		(<-b.held)(nil, nil)
		if m := p.next(); m.StatusCode != 200 || m.RequestId != "1" {
			t.Error(m.text)
		}
	})
}

// 12.4: the host ends. Requests that run have 2 s, handshakes get 503, and no connection gets a close frame (SS-36).
func TestEndOfTheHost(t *testing.T) {
	for _, answered := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
		faked(t, &backend{held: make(chan func(any, error), 10)}, func(b *backend, _ func() *process, _ messages.ProcessLink, p *process) {
			idle, _ := b.shake("idle")
			p.sendAs("r", "AcceptPlayerSession", seat("g", "psess-1"))
			reply := <-b.held
			time.AfterFunc(answered-time.Nanosecond, func() { reply(nil, nil) })
			begun := time.Now()
			over := make(chan time.Duration, 1)
			go func() {
				b.e.Close()
				over <- time.Since(begun)
			}()
			if code := idle.ends(); code != 0 || time.Since(begun) != 0 {
				t.Errorf("%d after %v", code, time.Since(begun))
			}
			if q, status := b.shake("new"); q != nil || status != 503 {
				t.Error(status)
			}
			p.sendAs("late", "AcceptPlayerSession", seat("g", "psess-2"))
			want := min(answered-time.Nanosecond, 2*time.Second)
			if answered <= 2*time.Second {
				if m := p.next(); m.RequestId != "r" || m.StatusCode != 200 {
					t.Error(m.text)
				}
			}
			if code := p.ends(); code != 0 || time.Since(begun) != want {
				t.Errorf("%d after %v", code, time.Since(begun))
			}
			if d := <-over; d != want || b.wants != 1 {
				t.Errorf("%v, %d requests", d, b.wants)
			}
			time.Sleep(2 * time.Second)
		})
	}
}

// A handshake that is accepted too late changes nothing.
func TestLateAnswerToAHandshake(t *testing.T) {
	faked(t, new(backend), func(b *backend, _ func() *process, _ messages.ProcessLink, p *process) {
		b.asked = make(chan func(any, error), 1)
		at := time.Now()
		if q, status := b.shake("p"); q != nil || status != 503 || time.Since(at) != 1500*time.Millisecond {
			t.Errorf("%d after %v", status, time.Since(at))
		}
		(<-b.asked)(nil, nil)
		p.silent()
		if len(b.links) > 0 {
			t.Error("the connection was opened")
		}
	})
}

// A process that gave up a handshake goes on with the connection that it has, although the host has accepted the handshake.
func TestGivenUpHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p", "sdkLanguage", "CSharp").ready(1)
		w.token = ask(w, messages.AuthorizeCompute{FleetID: w.fleet, Name: "host-01"}).Token
		g := w.hosts(p, 2)
		for range 3 {
			w.connect("p", "sdkLanguage", "CSharp").nc.Close()
			time.Sleep(3 * time.Second)
		}
		time.Sleep(time.Minute)
		var given []*process
		for range 3 { // the end of each is seen after the beginning of the next
			given = append(given, w.connect("p", "sdkLanguage", "CSharp"))
		}
		for _, q := range given {
			q.nc.Close()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		p.beat(true)
		p.call(200, "DescribePlayerSessions", of(g.ID))
		time.Sleep(time.Second)
		q := w.connect("p", "sdkLanguage", "CSharp") // and one that is not given up takes its place
		q.beat(true)
		at := time.Now()
		if code := p.ends(); code != 1000 || time.Since(at) != 10*time.Second {
			t.Errorf("%d after %v", code, time.Since(at))
		}
		w.connect("p", "sdkLanguage", "CSharp").nc.Close()
		synctest.Wait()
		ask(w, messages.TerminateGameSession{GameSessionID: g.ID})
		q.pushed("TerminateProcess", nil)
		w.connect("p", "sdkLanguage", "CSharp").nc.Close()
		synctest.Wait()
		q.call(200, "TerminateServerProcess", "")
		time.Sleep(time.Minute)
		if code := q.ends(); code != 0 {
			t.Error(code)
		}
	})
}

// The connection that was superseded may be dead. Then the process has none, until it connects again.
func TestGivenUpHandshakeOfADeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p", "sdkLanguage", "CSharp").ready(1)
		g := w.hosts(p, 2)
		p.deaf.Store(true)
		w.connect("p", "sdkLanguage", "CSharp").nc.Close()
		at := time.Now()
		ask(w, messages.TerminateGameSession{GameSessionID: g.ID})
		if code := p.ends(); code != 0 || time.Since(at) != 10*time.Second {
			t.Errorf("%d after %v", code, time.Since(at))
		}
		q := w.connect("p", "sdkLanguage", "CSharp")
		q.beat(true)
		q.pushed("TerminateProcess", nil)
	})
}
