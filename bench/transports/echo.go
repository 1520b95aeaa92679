package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/dtls"
	"troupe/transport/kcp"
	"troupe/transport/tlsconf"
)

// Kinds of echo.
const (
	plainUDP = "udp"
	overDTLS = "dtls"
	overKCP  = "kcp"
)

// payloadBytes is the size of an echoed message, as in the relay benchmark.
const payloadBytes = 64

// place is what a serving child says of itself.
type place struct {
	Addr string `json:"addr"`
	CA   string `json:"ca"`
}

// serveEcho is the child: it echoes until its standard input ends.
func serveEcho(ctx context.Context, kind string) error {
	dir, err := os.MkdirTemp("", "troupe-echo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := place{CA: tlsconf.CAFile(dir)}
	var stop func()
	if kind == plainUDP {
		p.Addr, stop, err = echoPlain()
	} else {
		p.Addr, stop, err = echoSecured(kind, dir)
	}
	if err != nil {
		return err
	}
	defer stop()
	if err := json.NewEncoder(os.Stdout).Encode(p); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return nil
}

// echoPlain is the yardstick: one socket, one goroutine, nothing else.
func echoPlain() (addr string, stop func(), err error) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return "", nil, err
	}
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort(buf[:n], from)
		}
	}()
	return conn.LocalAddr().String(), func() { conn.Close() }, nil
}

func echoSecured(kind, dir string) (addr string, stop func(), err error) {
	store, err := tlsconf.Load(tlsconf.Options{Dir: dir})
	if err != nil {
		return "", nil, err
	}
	var acceptor dtls.Acceptor = dtlsEcho{}
	if kind == overKCP {
		acceptor = kcp.NewListener(kcp.Options{}, kcpEcho{})
	}
	e, err := dtls.Listen(dtls.Options{Addr: "127.0.0.1:0", Certificate: store.Certificate, HalfOpenPerIP: -1, Channel: counters.DTLS}, acceptor)
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

func (e *kcpEchoed) OnText([]byte)          {}
func (e *kcpEchoed) OnAlive([]byte)         {}
func (e *kcpEchoed) OnClosed(transport.End) {}

// child is a serving copy of this program.
type child struct {
	place
	cmd  *exec.Cmd
	stop func()
}

func startEcho(ctx context.Context, kind string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve-echo", kind)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // the other core is the load's
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, stop: func() { in.Close(); _ = cmd.Wait() }}
	if err := json.NewDecoder(out).Decode(&c.place); err != nil {
		c.stop()
		return nil, errors.Join(fmt.Errorf("the %s echo did not start", kind), err)
	}
	c.CA = filepath.Clean(c.CA)
	return c, nil
}
