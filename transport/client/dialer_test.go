package client_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport/client"
)

// dialer is an Options.DialContext that the test can make fail (bad).
type dialer struct {
	web
	bad  atomic.Pointer[badDialer]
	open atomic.Int32 // connections that are still open
}

// badDialer is one way to fail.
type badDialer struct {
	dial func(ctx context.Context, good func() (net.Conn, error)) (net.Conn, error)
	err  error         // what the Client's error must match
	late time.Duration // how long after the end of its context it returns
	wait bool          // it blocks until its context ends
}

// tracked is a connection that is counted in dialer.open while it is open.
type tracked struct {
	net.Conn
	d      *dialer
	closed atomic.Bool
}

func (c *tracked) Close() error {
	if !c.closed.Swap(true) {
		c.d.open.Add(-1)
	}
	return c.Conn.Close()
}

func (d *dialer) dial(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error) {
	good := func() (net.Conn, error) {
		c, err := d.Machine().Dial(context.Background(), network, local, address)
		if err != nil {
			return nil, err
		}
		d.open.Add(1)
		return &tracked{Conn: c, d: d}, nil
	}
	if bad := d.bad.Load(); bad != nil {
		return bad.dial(ctx, good)
	}
	return good()
}

var badDialers = map[string]*badDialer{
	"fails": {err: syscall.ENETUNREACH, dial: func(context.Context, func() (net.Conn, error)) (net.Conn, error) { return nil, syscall.ENETUNREACH }},
	"never answers": {err: context.DeadlineExceeded, wait: true, dial: func(ctx context.Context, _ func() (net.Conn, error)) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}},
	"fails late": {err: context.DeadlineExceeded, wait: true, late: time.Second, dial: func(ctx context.Context, _ func() (net.Conn, error)) (net.Conn, error) {
		<-ctx.Done()
		time.Sleep(time.Second)
		return nil, syscall.ENETUNREACH
	}},
	"connects late": {err: context.DeadlineExceeded, wait: true, late: time.Second, dial: func(ctx context.Context, good func() (net.Conn, error)) (net.Conn, error) {
		<-ctx.Done()
		time.Sleep(time.Second)
		return good()
	}},
	"nothing": {dial: func(context.Context, func() (net.Conn, error)) (net.Conn, error) { return nil, nil }},
}

// closedAtOnce returns connections that are already closed.
var closedAtOnce = &badDialer{err: net.ErrClosed, dial: func(_ context.Context, good func() (net.Conn, error)) (net.Conn, error) {
	c, err := good()
	if err == nil {
		c.Close()
	}
	return c, err
}}

// rigs starts the rig of each transport.
var rigs = map[string]func(w web) *rig{
	"ws":  func(w web) *rig { return w.newWebSocketRig(nil, accepted, echo) },
	"wss": func(w web) *rig { return w.newRig(accepted, echo) },
	"kcp": func(w web) *rig { return w.newKCPRig(accepted, echo) },
}

// eachBad runs a test with every bad dialer over every transport. At the end no connection may be open, and no goroutine may run.
func eachBad(t *testing.T, all map[string]*badDialer, test func(t *testing.T, r *rig, o client.Options, d *dialer, bad *badDialer)) {
	for how, bad := range all {
		for over, newRig := range rigs {
			bubble(t, over+" "+how, func(t *testing.T) {
				d := &dialer{web: newWeb(t)}
				r := newRig(d.web)
				o := r.options()
				o.DialContext = d.dial
				test(t, r, o, d, bad)
				synctest.Wait()
				if n := d.open.Load(); n != 0 {
					t.Errorf("%d connections are left open", n)
				}
			})
		}
	}
}

// Whatever a program's DialContext does, Dial returns the dialer's error or that of its own context. It
// leaves no connection and no goroutine behind.
func TestDialWithABadDialer(t *testing.T) {
	eachBad(t, badDialers, func(t *testing.T, r *rig, o client.Options, d *dialer, bad *badDialer) {
		for _, auto := range []bool{false, true} {
			if auto {
				o.Transport = client.Auto
			}
			d.bad.Store(bad)
			began, want := time.Now(), bad.late
			if bad.wait {
				want += 15 * time.Second // DialTimeout
			}
			c, err := client.Dial(t.Context(), o)
			if c != nil || err == nil || bad.err != nil && !errors.Is(err, bad.err) || time.Since(began) != want {
				t.Errorf("%s: got %v, %v after %v", o.Transport, c, err, time.Since(began))
			}
		}
	})
	for over, newRig := range rigs {
		bubble(t, over+" closed at once", func(t *testing.T) {
			d := &dialer{web: newWeb(t)}
			d.bad.Store(closedAtOnce)
			o := newRig(d.web).options()
			o.DialContext = d.dial
			began := time.Now()
			c, err := client.Dial(t.Context(), o)
			if c != nil || !errors.Is(err, net.ErrClosed) || time.Since(began) != 0 || d.open.Load() != 0 {
				t.Errorf("got %v, %v after %v; %d are open", c, err, time.Since(began), d.open.Load())
			}
		})
		if over == "kcp" {
			continue
		}
		bubble(t, over+" closed by the host", func(t *testing.T) {
			d := &dialer{web: newWeb(t)}
			o := newRig(d.web).options()
			o.Addr, o.DialContext = d.listen(func(net.Conn) {}), d.dial
			began := time.Now()
			if c, err := client.Dial(t.Context(), o); c != nil || err == nil || time.Since(began) != 0 || d.open.Load() != 0 {
				t.Errorf("got %v, %v after %v; %d are open", c, err, time.Since(began), d.open.Load())
			}
		})
	}
}

// If DialContext fails while the Client reconnects, the Client keeps trying until the host's
// reconnect window ends. Close ends that at once.
func TestReconnectWithABadDialer(t *testing.T) {
	eachBad(t, badDialers, func(t *testing.T, r *rig, o client.Options, d *dialer, bad *badDialer) {
		c, _ := r.dial(o)
		d.bad.Store(bad)
		began := time.Now()
		c.NetworkChanged()
		end := ended(t, c)
		if took := time.Since(began); !errors.Is(end.Err, client.ErrGaveUp) || bad.err != nil && !errors.Is(end.Err, bad.err) || took < 35*time.Second || took > 35*time.Second+bad.late {
			t.Errorf("end %v after %v", end, took)
		}
		d.bad.Store(nil)
		c, _ = r.dial(o)
		d.bad.Store(bad)
		c.NetworkChanged()
		time.Sleep(time.Millisecond)
		began = time.Now()
		c.Close()
		if took := time.Since(began); took > bad.late || !c.End().Local {
			t.Errorf("Close took %v, end %v", took, c.End())
		}
	})
}

// If DialContext fails for the fast channel, the rest still works: the program is notified, and messages use the
// reliable channel. KCP needs no separate socket for the fast channel.
func TestFastWithABadDialer(t *testing.T) {
	eachBad(t, badDialers, func(t *testing.T, r *rig, o client.Options, d *dialer, bad *badDialer) {
		if r.over == client.KCP || bad.late > 0 { // a late socket works as well as an early one
			return
		}
		login := d.newFastRig(verified).secureLogin()
		r.login, o.Fast = login, true
		tcp := o.DialContext
		o.DialContext = func(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error) {
			if network == "udp" {
				d.bad.Store(bad)
			}
			return tcp(ctx, network, local, address)
		}
		began, want := time.Now(), time.Duration(0)
		if bad.wait {
			want = 30 * time.Second
		}
		o.SilenceMax = time.Hour
		c, _ := r.dial(o)
		awaitKind(t, c, client.EventFastDown)
		if err := c.FastErr(); err == nil || bad.err != nil && !errors.Is(err, bad.err) || time.Since(began) != want {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		toServer(t, c, client.Message{OpCode: 5, Intent: client.Fast})
		if e := awaitKind(t, c, client.EventMessage); e.OpCode != 5 || e.Fast {
			t.Errorf("got %+v", e)
		}
		c.Close()
		d.bad.Store(nil)
		c, _ = r.dial(o)
		time.Sleep(time.Second)
		began = time.Now()
		if c.Close(); time.Since(began) != 0 {
			t.Errorf("Close took %v", time.Since(began))
		}
	})
}
