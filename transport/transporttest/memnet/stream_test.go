package memnet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pair returns both ends of a connection.
func pair(t *testing.T, n *Network) (client, server *Stream) {
	t.Helper()
	t.Cleanup(n.Close)
	l, err := n.Node().Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = n.Node().Dial(t.Context(), l.Addr().(*net.TCPAddr).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	server = nc.(*Stream)
	t.Cleanup(func() { client.Reset(); server.Reset() })
	return client, server
}

type halfCloser interface {
	net.Conn
	CloseWrite() error
	SetLinger(seconds int) error
}

// TestStreamsBehaveAsTCP runs the same steps on a real loopback connection and in memory.
func TestStreamsBehaveAsTCP(t *testing.T) {
	steps := map[string]func(t *testing.T, a, b halfCloser){
		"close is EOF behind the data": func(t *testing.T, a, b halfCloser) {
			write(t, a, "data")
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(b); string(got) != "data" || err != nil {
				t.Errorf("%q %v", got, err)
			}
			if _, err := a.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("write after close: %v", err)
			}
			if err := a.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("second close: %v", err)
			}
		},
		"half-close leaves the other way open": func(t *testing.T, a, b halfCloser) {
			write(t, a, "question")
			if err := a.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(b); string(got) != "question" || err != nil {
				t.Fatalf("%q %v", got, err)
			}
			write(t, b, "answer")
			_ = b.Close()
			if got, err := io.ReadAll(a); string(got) != "answer" || err != nil {
				t.Errorf("%q %v", got, err)
			}
			if _, err := a.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("write after half-close: %v", err)
			}
		},
		"close with input unread resets": func(t *testing.T, a, b halfCloser) {
			write(t, a, "unread")
			buf := make([]byte, 1)
			if _, err := io.ReadFull(b, buf); err != nil { // the remaining bytes stay unread
				t.Fatal(err)
			}
			_ = b.Close()
			if _, err := a.Read(buf); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("read: %v", err)
			}
		},
		"close without lingering resets": func(t *testing.T, a, b halfCloser) {
			if err := a.SetLinger(0); err != nil {
				t.Fatal(err)
			}
			_ = a.Close()
			if _, err := b.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("read: %v", err)
			}
		},
		"writing to a closed end resets": func(t *testing.T, a, b halfCloser) {
			_ = b.Close()
			if _, err := a.Read(make([]byte, 1)); err != io.EOF {
				t.Fatal(err)
			}
			write(t, a, "nobody reads this")
			for range 1000 {
				if _, err := a.Write([]byte("x")); err != nil {
					return // broken pipe or reset
				}
				time.Sleep(time.Millisecond)
			}
			t.Error("writing goes on")
		},
		"deadlines": func(t *testing.T, a, b halfCloser) {
			_ = a.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("read: %v", err)
			}
			_ = a.SetReadDeadline(time.Time{})
			much := make([]byte, 64<<20)
			for n := 0; n < 64<<10; { // on a busy machine, the deadline may pass before the first byte is written
				_ = a.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
				more, err := a.Write(much[n:])
				if n += more; n == len(much) || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("wrote %d: %v", n, err)
				}
			}
			_ = a.SetWriteDeadline(time.Time{})
			go func() { _, _ = io.Copy(io.Discard, b) }()
			write(t, a, "x")
			a.Close()
		},
		"closing wakes who waits": func(t *testing.T, a, b halfCloser) {
			go func() {
				time.Sleep(10 * time.Millisecond)
				_ = a.Close()
			}()
			if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		},
	}
	for name, step := range steps {
		t.Run("loopback/"+name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			a, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			b, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			defer b.Close()
			step(t, a.(*net.TCPConn), b.(*net.TCPConn))
		})
		t.Run("memory/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := pair(t, New(1))
				step(t, a, b)
			})
		})
	}
}

func write(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := c.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
}

func TestAddressesAreThoseOfTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, New(1))
		if a.LocalAddr().String() != b.RemoteAddr().String() || a.RemoteAddr().(*net.TCPAddr).Port != b.LocalAddr().(*net.TCPAddr).Port {
			t.Error(a.LocalAddr(), a.RemoteAddr(), b.LocalAddr(), b.RemoteAddr())
		}
	})
}

// TestLossIsDelay: all bytes arrive in order, and take the time of the retransmissions.
func TestLossIsDelay(t *testing.T) {
	for _, loss := range []float64{0, 0.01, 0.05, 0.2} {
		synctest.Test(t, func(t *testing.T) {
			n := New(Seed(t))
			a, b := pair(t, n)
			n.SetAll(Condition{Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: loss, Reorder: loss, Duplicate: loss})
			sent := make([]byte, 1<<20)
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range sent {
				sent[i] = byte(rng.Uint32())
			}
			begun := time.Now()
			go func() {
				if _, err := a.Write(sent); err != nil {
					t.Error(err)
				}
				_ = a.CloseWrite()
			}()
			got, err := io.ReadAll(b)
			if err != nil || !bytes.Equal(got, sent) {
				t.Fatalf("%d of %d bytes: %v", len(got), len(sent), err)
			}
			took, st := time.Since(begun), n.Path(a.local.Addr(), b.local.Addr()).Stats()
			// The variance is less than the mean, so six times the square root of the mean is never exceeded.
			if want := loss * float64(st.Sent); math.Abs(float64(st.Lost)-want) > 6*math.Sqrt(want) {
				t.Errorf("%d of %d lost, asked %v", st.Lost, st.Sent, loss)
			}
			if took > time.Minute || loss == 0 && took > time.Second || loss == 0.2 && took < time.Second {
				t.Errorf("took %v with a loss of %v", took, loss)
			}
			_ = b.Close()
		})
	}
}

func TestASlowReaderPushesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, New(1))
		_ = a.SetWriteDeadline(time.Now().Add(time.Second))
		if n, err := a.Write(make([]byte, 1<<20)); n != BufferBytes || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(n, err)
		}
		if _, err := io.ReadFull(b, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		_ = a.SetWriteDeadline(time.Now().Add(time.Second))
		if n, _ := a.Write(make([]byte, 1<<20)); n != 1000 {
			t.Fatal(n)
		}
	})
}

// TestHalfOpen: an end notices a blocked path only through timeouts, and the stream continues when the path
// is unblocked.
func TestHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := pair(t, n)
		n.Partition(a.local.Addr(), b.local.Addr(), true)
		write(t, a, "late")
		_ = b.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := b.Read(make([]byte, 9)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		_ = b.SetReadDeadline(time.Time{})
		a.Reset() // b is not notified
		n.Partition(a.local.Addr(), b.local.Addr(), false)
		_ = b.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := b.Read(make([]byte, 9)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		_ = b.SetReadDeadline(time.Time{})
		write(t, b, "anybody?")
		if _, err := b.Read(make([]byte, 9)); !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := pair(t, n)
		back := n.Path(b.local.Addr(), a.local.Addr())
		back.Block(true) // data arrives, but acknowledgements do not
		go func() { _, _ = io.Copy(io.Discard, b) }()
		_ = a.SetWriteDeadline(time.Now().Add(time.Minute))
		if n, err := a.Write(make([]byte, 1<<20)); n != BufferBytes || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(n, err)
		}
		back.Block(false)
		_ = a.SetWriteDeadline(time.Now().Add(time.Minute))
		if n, err := a.Write(make([]byte, 1<<20)); n != 1<<20 {
			t.Fatal(n, err)
		}
		_ = a.Close()
	})
}

func TestDialing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		defer n.Close()
		n.SetAll(Condition{Delay: 30 * time.Millisecond})
		host, client := n.Node(), n.Node()
		l, err := host.Listen(80)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := host.Listen(80); !errors.Is(err, syscall.EADDRINUSE) {
			t.Error(err)
		}
		begun := time.Now()
		c, err := client.Dial(t.Context(), l.local)
		if err != nil || time.Since(begun) != 60*time.Millisecond {
			t.Fatal(err, time.Since(begun))
		}
		if err := l.Close(); err != nil { // c was never accepted
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Error(err)
		}
		_ = c.Close()
		if _, err := client.Dial(t.Context(), l.local); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		n.Isolate(host.Addr(), true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if _, err := client.Dial(ctx, l.local); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Error(err, time.Since(begun))
		}
	})
}

// A machine finds its sockets by textual address, from any of its addresses, also through a socket bound to
// all addresses.
func TestMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		m := n.Machine()
		ln, err := m.Listen("tcp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		if _, err := m.Listen("tcp", ":"+port); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a second listener: %v", err)
		}
		for _, to := range []string{"127.0.0.1", "localhost", "127.0.0.7", "[::1]", "0.0.0.0"} {
			c, err := m.DialFrom(t.Context(), "tcp", "", to+":"+port)
			if err != nil {
				t.Fatal(to, err)
			}
			s, _ := ln.Accept()
			if s.RemoteAddr().String() != c.LocalAddr().String() {
				t.Errorf("%s: %v and %v", to, s.RemoteAddr(), c.LocalAddr())
			}
			c.Close()
			s.Close()
		}
		ln.Close()
		if _, err := m.DialContext(t.Context(), "tcp", "127.0.0.1:"+port); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("after the end: %v", err)
		}
		udp, err := m.ListenPacket("udp", "0.0.0.0:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ = net.SplitHostPort(udp.LocalAddr().String())
		c, err := m.DialFrom(t.Context(), "udp", "127.0.0.9", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte("ping"))
		b := make([]byte, 10)
		size, from, err := udp.ReadFromUDPAddrPort(b)
		if err != nil || string(b[:size]) != "ping" || from.String() != c.LocalAddr().String() || from.Addr().String() != "127.0.0.9" {
			t.Errorf("%q from %v: %v", b[:size], from, err)
		}
		udp.WriteToUDPAddrPort([]byte("pong"), from)
		if size, err := c.Read(b); err != nil || string(b[:size]) != "pong" {
			t.Errorf("%q: %v", b[:size], err)
		}
		c.Close()
		udp.Close()
		n.Close()
	})
}
