package stock

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/transport/transporttest"
)

func TestUpgradeRequestAndLogin(t *testing.T) {
	for _, test := range []struct {
		opts   Options
		path   string
		origin string
		login  Packet
	}{
		{Options{Payload: []byte("hi")}, "/websocket", "", LoginPacket(CSharp, "psess-1", []byte("hi"))},
		{Options{Flavor: TypeScript, Origin: "https://game.invalid"}, "/", "https://game.invalid", LoginPacket(TypeScript, "psess-1", nil)},
		{Options{Path: "/other"}, "/other", "", LoginPacket(CSharp, "psess-1", nil)},
	} {
		_, p := dial(t, test.opts)
		h := p.req.Header
		if p.req.RequestURI != test.path || p.req.Method != "GET" || h.Get("Origin") != test.origin {
			t.Errorf("asked %s %s with origin %q", p.req.Method, p.req.RequestURI, h.Get("Origin"))
		}
		if h.Get("Sec-WebSocket-Version") != "13" || h.Get("Sec-WebSocket-Protocol") != "" || p.req.Host == "" {
			t.Errorf("header %v, host %q", h, p.req.Host)
		}
		if got := p.packet(); !reflect.DeepEqual(got, test.login) {
			t.Errorf("first packet %+v, want %+v", got, test.login)
		}
	}
}

func TestAcceptKeyOfTheRFC(t *testing.T) {
	resp := &http.Response{StatusCode: 101, Header: http.Header{
		"Upgrade": {"WebSocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Accept": {"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="},
	}}
	if reason := refusal(resp, "dGhlIHNhbXBsZSBub25jZQ=="); reason != "" {
		t.Error(reason)
	}
}

func TestUpgradeRefused(t *testing.T) {
	set := func(key, value string) func(net.Conn) {
		return func(conn net.Conn) { _, _, _ = answer(conn, func(h http.Header) { h.Set(key, value) }) }
	}
	for name, test := range map[string]struct {
		serve  func(net.Conn)
		status int
	}{
		"wrong key":    {set("Sec-WebSocket-Accept", "AAAA"), 101},
		"extension":    {set("Sec-WebSocket-Extensions", "permessage-deflate"), 101},
		"sub-protocol": {set("Sec-WebSocket-Protocol", "x"), 101},
		"upgrade":      {set("Upgrade", "x"), 101},
		"connection":   {set("Connection", "close"), 101},
		"not found": {func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
		}, 404},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			var wg sync.WaitGroup
			wg.Go(func() { test.serve(theirs); _ = theirs.Close() })
			_, err := connect(t.Context(), ours, "game.invalid", "psess-1", Options{}, nil)
			wg.Wait()
			if e, ok := errors.AsType[*HandshakeError](err); !ok || e.StatusCode != test.status {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDialHonoursContext(t *testing.T) {
	ours, theirs := net.Pipe()
	defer func() { _ = theirs.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := connect(ctx, ours, "game.invalid", "psess-1", Options{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPings(t *testing.T) {
	c, p := dial(t, Options{})
	p.packet()
	p.write(short(0x89, []byte("are you there")))
	if f := p.read(); f.first != 0x8A || !f.masked || string(f.payload) != "are you there" {
		t.Errorf("pong %+v", f)
	}

	result := make(chan error, 1)
	go func() { result <- c.Ping(t.Context(), "mine") }()
	if f := p.read(); f.first != 0x89 || string(f.payload) != "mine" {
		t.Errorf("ping %+v", f)
	}
	p.write(short(0x8A, []byte("other")), short(0x8A, []byte("mine")))
	if err := <-result; err != nil {
		t.Error(err)
	}
	if s := c.Stats(); s.PingsReceived != 1 || s.PongsSent != 1 || s.PongsReceived != 2 {
		t.Errorf("stats %+v", s)
	}
}

func TestNoPong(t *testing.T) {
	c, p := dial(t, Options{NoPong: true, NoLogin: true})
	p.write(short(0x89, nil))
	p.send(Packet{OpCode: 5, Reliable: true, Sender: ServerID})
	if _, err := c.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.SendLogin(); err != nil {
		t.Fatal(err)
	}
	p.packet() // there was no pong before it
	if s := c.Stats(); s.PingsReceived != 1 || s.PongsSent != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestFragmentsBothWays(t *testing.T) {
	c, p := dial(t, Options{FragmentLogin: 10})
	var joined []byte
	for i, want := range []byte{0x02, 0x00, 0x80} { // 28 bytes in fragments of 10
		f := p.read()
		if f.first != want || !f.masked {
			t.Errorf("fragment %d starts with %#x", i, f.first)
		}
		joined = append(joined, f.payload...)
	}
	if !bytes.Equal(joined, unhex(t, vectors[0].hex)) {
		t.Errorf("login %x", joined)
	}

	unit := EncodeUnit(loginResponse(1, 0))
	p.write(short(0x02, unit[:3]), short(0x89, []byte("x")), short(0x00, nil), short(0x80, unit[3:]))
	if result, err := c.AwaitLogin(t.Context()); err != nil || result.PeerID != 1 {
		t.Errorf("login %+v, %v", result, err)
	}
	if f := p.read(); f.first != 0x8A {
		t.Errorf("ping between fragments was answered by %+v", f)
	}
}

func TestFrameLengths(t *testing.T) {
	c, p := dial(t, Options{NoLogin: true})
	for _, n := range []int{0, 125, 126, 0xFFFF, 0x10000} {
		want := bytes.Repeat([]byte{7}, n)
		if err := c.SendRawReliable(want); err != nil {
			t.Fatal(err)
		}
		if f := p.read(); f.first != 0x82 || !bytes.Equal(f.payload, want) {
			t.Errorf("%d bytes came as %d", n, len(f.payload))
		}
		// With two bytes of tag and up to five bytes of lengths, the sizes also cross every limit of the
		// frame length in this direction.
		p.write(Frame{Final: true, OpCode: FrameBinary, Payload: EncodeUnit(Packet{Payload: want})}.Encode())
		if e, err := c.Next(t.Context()); err != nil || len(e.Payload) != n {
			t.Errorf("%d bytes received as %v, %v", n, e, err)
		}
	}
	if err := c.SendFrames([]byte{0xF2, 0x00}); err != nil { // reserved bits and no mask
		t.Fatal(err)
	}
	if f := p.read(); f.first != 0xF2 || f.masked {
		t.Errorf("raw %+v", f)
	}
}

func TestClientCloses(t *testing.T) {
	c, p := dial(t, Options{})
	p.packet()
	closed := make(chan struct{})
	go func() { defer close(closed); c.Close() }()
	f := p.read()
	if f.first != 0x88 || !bytes.Equal(f.payload, []byte{0x03, 0xE8}) {
		t.Errorf("close frame %+v", f)
	}
	p.write(short(0x88, f.payload))
	_ = p.conn.Close()
	<-closed
	if code, reason, ok := c.CloseStatus(); !ok || code != 1000 || reason != "" {
		t.Errorf("status %d %q %v", code, reason, ok)
	}
	if c.Err() != nil || c.Status() != StatusDisconnected {
		t.Errorf("error %v, status %v", c.Err(), c.Status())
	}
	if err := c.Send(Message{OpCode: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("send after close: %v", err)
	}
	c.Close()
}

func TestServerCloses(t *testing.T) {
	c, p := dial(t, Options{})
	p.packet()
	refused := Packet{OpCode: OpLoginResponse, Sender: ServerID, Reliable: true, LoginResult: &LoginResult{}}
	p.send(refused)
	p.write(short(0x88, CloseFramePayload(1000, "no such session")))
	if f := p.read(); f.first != 0x88 || !bytes.Equal(f.payload, []byte{0x03, 0xE8}) {
		t.Errorf("answer to close %+v", f)
	}
	_ = p.conn.Close()
	if err := c.AwaitClose(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AwaitLogin(t.Context()); !errors.Is(err, ErrLoginRefused) {
		t.Errorf("login: %v", err)
	}
	if err := c.AwaitFast(t.Context()); !errors.Is(err, ErrLoginRefused) {
		t.Errorf("fast: %v", err)
	}
	if code, reason, ok := c.CloseStatus(); !ok || code != 1000 || reason != "no such session" {
		t.Errorf("status %d %q %v", code, reason, ok)
	}
	if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "no such session") {
		t.Errorf("next: %v", err)
	}
	if err := c.ExpectSilence(time.Hour, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("silence: %v", err)
	}
	if err := c.CheckReceived(); err != nil || c.LoggedIn() {
		t.Errorf("check: %v, logged in %v", err, c.LoggedIn())
	}
}

func TestKillResets(t *testing.T) {
	c, p := dial(t, Options{})
	p.packet()
	c.Kill()
	if _, err := p.tryRead(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("server read %v", err)
	}
	if _, _, ok := c.CloseStatus(); ok || c.Err() == nil {
		t.Errorf("close frame %v, error %v", ok, c.Err())
	}
	c.Kill()
	c.Close()
}

func TestServerVanishes(t *testing.T) {
	c, p := dial(t, Options{})
	p.packet()
	_ = p.conn.Close()
	<-c.Done()
	if _, err := c.AwaitLogin(t.Context()); !errors.Is(err, ErrClosed) || !errors.Is(err, io.EOF) {
		t.Errorf("login: %v", err)
	}
}

func TestPauseReading(t *testing.T) {
	c, p := dial(t, Options{})
	p.packet()
	c.PauseReading()
	p.write(short(0x89, nil))
	p.send(loginResponse(1, 0))
	if n := len(c.Log()); n != 0 {
		t.Errorf("%d packets while paused", n)
	}
	c.ResumeReading()
	if f := p.read(); f.first != 0x8A {
		t.Errorf("%+v", f)
	}
	if _, err := c.AwaitLogin(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestProtocolErrorsOfTheServer(t *testing.T) {
	for name, raw := range map[string][]byte{
		"masked":                  {0x82, 0x81, 0, 0, 0, 0, 0},
		"reserved bit":            {0xC2, 0},
		"unknown op":              {0x83, 0},
		"unknown control":         {0x8B, 0},
		"fragmented ping":         {0x09, 0},
		"long ping":               {0x89, 126, 0, 126},
		"continuation of nothing": {0x80, 0},
		"message in message":      {0x02, 0, 0x82, 0},
		"length not minimal":      {0x82, 126, 0, 5},
		"long not minimal":        {0x82, 127, 0, 0, 0, 0, 0, 0, 0, 5},
		"huge":                    {0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0},
		"text not UTF-8":          {0x81, 1, 0xFF},
		"close of one byte":       {0x88, 1, 3},
		"close code 1005":         {0x88, 2, 0x03, 0xED},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := dial(t, Options{NoLogin: true})
			p.write(raw)
			if f := p.read(); f.first != 0x88 || !bytes.Equal(f.payload, []byte{0x03, 0xEA}) {
				t.Errorf("got %+v, want a close with 1002", f)
			}
			<-c.Done()
			if !errors.Is(c.Err(), ErrProtocol) {
				t.Errorf("error %v", c.Err())
			}
		})
	}
}

// TestSecure: the C# flavor offers TLS 1.2 only. The other flavor lets the server choose.
func TestSecure(t *testing.T) {
	cert, roots := transporttest.Trusted()
	config := &tls.Config{Certificates: []tls.Certificate{*cert}}
	for flavor, want := range map[Flavor]uint16{CSharp: tls.VersionTLS12, TypeScript: tls.VersionTLS13} {
		m := machine(t)
		under, err := m.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ln := tls.NewListener(under, config)
		var wg sync.WaitGroup
		var version uint16
		wg.Go(func() {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			if br, _, err := answer(conn, nil); err == nil {
				version = conn.(*tls.Conn).ConnectionState().Version
				_, _ = br.ReadByte()
			}
		})
		c, err := Dial(t.Context(), "wss://"+ln.Addr().String()+"/ignored", "psess-1", Options{
			Flavor: flavor, TLS: &tls.Config{RootCAs: roots, ServerName: "localhost"}, LocalAddr: "127.0.0.1", Network: m,
		})
		if err != nil {
			t.Error(err)
		} else {
			if err := c.AwaitFast(t.Context()); !errors.Is(err, ErrNoFast) {
				t.Errorf("fast: %v", err)
			}
			c.Kill()
		}
		_ = ln.Close()
		wg.Wait()
		if version != want {
			t.Errorf("flavor %d spoke TLS %#x, want %#x", flavor, version, want)
		}
	}
}
