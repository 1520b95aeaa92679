package barerelay

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/dtls"
	"troupe/transport/kcp"
	"troupe/transport/tlsconf"
)

// ServeEcho is a server that sends back what comes and does nothing else: what each transport costs a message is the difference
// of the processes. It echoes over "udp", "dtls" or "kcp" until ctx ends, or is the room of "together" or "one-by-one" (Room). It listens at addr, and writes the address that it has got to the
// file announce, with the file of its trust anchors.
func ServeEcho(ctx context.Context, kind, addr, announce string) error {
	dir, err := os.MkdirTemp("", "troupe-echo-")
	if err != nil {
		return fmt.Errorf("echo: %w", err)
	}
	defer os.RemoveAll(dir)
	var stop func()
	switch kind {
	case "udp":
		addr, stop, err = plain(addr)
	case "dtls":
		addr, stop, err = secured(dtlsEcho{}, addr, dir)
	case "kcp":
		addr, stop, err = secured(kcp.NewListener(kcp.Options{}, kcpEcho{}), addr, dir)
	case Together, OneByOne:
		addr, stop, err = serveRoom(addr, kind == OneByOne)
	default:
		err = fmt.Errorf("%q cannot be echoed over", kind)
	}
	if err != nil {
		return fmt.Errorf("echo: %w", err)
	}
	defer stop()
	if err := Announce(announce, map[string]any{"ws": addr, "ca": tlsconf.CAFile(dir)}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// plain is the yardstick: one socket, one goroutine, nothing else.
func plain(addr string) (bound string, stop func(), err error) {
	conn, err := net.ListenPacket("udp4", addr)
	if err != nil {
		return "", nil, err
	}
	udp := conn.(*net.UDPConn)
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := udp.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = udp.WriteToUDPAddrPort(buf[:n], from)
		}
	}()
	return conn.LocalAddr().String(), func() { conn.Close() }, nil
}

func secured(acceptor dtls.Acceptor, addr, dir string) (bound string, stop func(), err error) {
	store, err := tlsconf.Load(tlsconf.Options{Dir: dir})
	if err != nil {
		return "", nil, err
	}
	e, err := dtls.Listen(dtls.Options{Addr: addr, Certificate: store.Certificate, HalfOpenPerIP: -1, Channel: counters.DTLS}, acceptor)
	if err != nil {
		return "", nil, err
	}
	return e.Addr().String(), func() { e.Close() }, nil
}

// dtlsEcho echoes every record.
type dtlsEcho struct{}

func (dtlsEcho) Accept(a *dtls.Association) dtls.Handler { return dtlsEchoed{a} }

type dtlsEchoed struct{ a *dtls.Association }

func (e dtlsEchoed) OnRecord(plain []byte) { e.a.Write(plain) }
func (dtlsEchoed) OnClosed(error)          {}

// kcpEcho echoes every message by way of a source, as the host's outbox does.
type kcpEcho struct{}

func (kcpEcho) Accept(c transport.Conn) (transport.Handler, messages.CloseReason) {
	e := &kcpEchoed{c: c}
	c.LoggedIn()
	c.SetSource(e)
	return e, 0
}

type kcpEchoed struct {
	c transport.Conn

	mu     sync.Mutex
	frames []*wire.Frame
}

func (e *kcpEchoed) OnUnit(unit []byte) {
	e.mu.Lock()
	e.frames = append(e.frames, wire.NewFrame(&wire.Header{OpCode: 1, Payload: unit}))
	e.mu.Unlock()
	e.c.Flush()
}

// Drain implements wire.Source.
func (e *kcpEchoed) Drain(into wire.Sink) (more bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for n < len(e.frames) {
		room := into.Append(e.frames[n])
		e.frames[n].Release()
		n++
		if !room {
			break
		}
	}
	e.frames = append(e.frames[:0], e.frames[n:]...)
	return len(e.frames) > 0
}

func (e *kcpEchoed) OnAlive([]byte)         {}
func (e *kcpEchoed) OnClosed(transport.End) {}
