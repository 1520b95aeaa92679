package stock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeUDP is an in-memory socket. What the client writes goes to out with its time, and the client reads what
// the test sends to in.
type fakeUDP struct {
	in     chan []byte
	closed chan struct{}
	once   sync.Once

	mu  sync.Mutex
	out []sent
}

type sent struct {
	at     time.Time
	to     net.Addr
	packet Packet
}

var fakeServer = &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 33400}

func newFakeUDP() *fakeUDP { return &fakeUDP{in: make(chan []byte), closed: make(chan struct{})} }

func (u *fakeUDP) ReadFrom(b []byte) (int, net.Addr, error) {
	select {
	case datagram := <-u.in:
		return copy(b, datagram), fakeServer, nil
	case <-u.closed:
		return 0, nil, net.ErrClosed
	}
}

func (u *fakeUDP) WriteTo(b []byte, to net.Addr) (int, error) {
	body, _, err := SplitUnit(b)
	if err != nil {
		return 0, err
	}
	p, err := DecodePacket(body)
	if err != nil {
		return 0, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.out = append(u.out, sent{time.Now(), to, p})
	return len(b), nil
}

func (u *fakeUDP) sent() []sent {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.out)
}

func (u *fakeUDP) Close() error                     { u.once.Do(func() { close(u.closed) }); return nil }
func (u *fakeUDP) LocalAddr() net.Addr              { return fakeServer }
func (u *fakeUDP) SetDeadline(time.Time) error      { return nil }
func (u *fakeUDP) SetReadDeadline(time.Time) error  { return nil }
func (u *fakeUDP) SetWriteDeadline(time.Time) error { return nil }

// inBubble runs test in a synctest bubble with a logged-in client on an in-memory network. Everything the
// client writes to the WebSocket is read and dropped.
func inBubble(t *testing.T, opts Options, test func(t *testing.T, c *Client, p *peer, u *fakeUDP)) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		u := newFakeUDP()
		p := &peer{t: t, conn: theirs}
		var wg sync.WaitGroup
		wg.Go(func() {
			br, _, err := answer(theirs, nil)
			if err == nil {
				_, err = br.WriteTo(nowhere{})
			}
			_ = err // an error means that the pipe was closed
		})
		c, err := connect(t.Context(), ours, "game.invalid", "psess-1", opts, func(string) (net.PacketConn, error) { return u, nil })
		if err != nil {
			t.Fatal(err)
		}
		p.send(loginResponse(1, 33400))
		if _, err := c.AwaitLogin(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, c, p, u)
		c.Kill()
		_ = theirs.Close()
		wg.Wait()
	})
}

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

func serverAck(number int32) []byte {
	return EncodeUnit(Packet{OpCode: OpServerAck, SequenceNumber: number, TargetPlayer: 1, Sender: ServerID, UDPConnect: &Empty{}})
}

func TestRetrySchedule(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, c *Client, p *peer, u *fakeUDP) {
		start := time.Now()
		time.Sleep(16400 * time.Millisecond)
		synctest.Wait()
		want := []time.Duration{0, 100, 300, 700, 1500, 3100, 6300, 11300, 16300}
		out := u.sent()
		if len(out) != len(want) {
			t.Fatalf("%d datagrams, want %d", len(out), len(want))
		}
		for i, s := range out {
			if at := s.at.Sub(start); at != want[i]*time.Millisecond {
				t.Errorf("datagram %d after %v, want %v ms", i, at, int64(want[i]))
			}
			wanted := Packet{OpCode: OpUDPConnect, SequenceNumber: int32(i), TargetPlayer: ServerID, Sender: 1, UDPConnect: &Empty{}}
			if !reflect.DeepEqual(s.packet, wanted) {
				t.Errorf("datagram %d is %+v", i, s.packet)
			}
		}
		if c.Status() != StatusConnected || c.Stats().UDPConnectSent != len(want) {
			t.Errorf("status %v, stats %+v", c.Status(), c.Stats())
		}

		u.in <- serverAck(0)
		if err := c.AwaitFast(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		u.in <- serverAck(1)
		synctest.Wait()
		out = u.sent()
		if last := out[len(out)-1].packet; len(out) != len(want)+1 || last.OpCode != OpClientAck || last.SequenceNumber != 9 {
			t.Errorf("after the ack: %d datagrams, last %+v", len(out), last)
		}
	})
}

func TestRetriesEndWithTheConnection(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, c *Client, p *peer, u *fakeUDP) {
		c.Kill()
		time.Sleep(time.Minute)
		if n := len(u.sent()); n != 1 {
			t.Errorf("%d datagrams", n)
		}
		if err := c.AwaitFast(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("fast: %v", err)
		}
	})
}

func TestSequenceRule(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, c *Client, p *peer, u *fakeUDP) {
		message := func(op, number int32) {
			u.in <- EncodeUnit(Packet{OpCode: op, SequenceNumber: number, TargetPlayer: 1, Sender: ServerID})
		}
		message(10, -1) // stale, because it is not greater than -1
		message(11, 0)
		message(12, 0)
		message(13, 4)
		message(14, 3)
		message(15, 5)
		synctest.Wait()
		var taken []int32
		for _, e := range c.Pending() {
			taken = append(taken, e.OpCode)
		}
		if !slices.Equal(taken, []int32{11, 13, 15}) || c.Stats().Stale != 3 {
			t.Errorf("accepted %v, stats %+v", taken, c.Stats())
		}
		if log := c.Log(); len(log) != 7 || !log[1].Stale || log[2].Stale || !log[5].Stale {
			t.Errorf("log %v", log)
		}
		if err := c.CheckSequences(); err == nil {
			t.Error("no gap found")
		}
		u.in <- serverAck(2) // stale, so it is ignored
		synctest.Wait()
		if c.Status() != StatusConnected {
			t.Error("a stale ack changed the status")
		}
		p.send(Packet{OpCode: OpServerAck, TargetPlayer: 1, Sender: ServerID}) // the WebSocket is not checked for sequence numbers
		synctest.Wait()
		if c.Status() != StatusConnectedSendFast {
			t.Error("an ack by WebSocket did not change the status")
		}
	})
}

func TestSecondLoginResponseRestartsFast(t *testing.T) {
	sockets := make(chan *fakeUDP, 2)
	inBubble(t, Options{}, func(t *testing.T, c *Client, p *peer, u *fakeUDP) {
		c.openUDP = func(string) (net.PacketConn, error) { next := newFakeUDP(); sockets <- next; return next, nil }
		u.in <- serverAck(0)
		if err := c.AwaitFast(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.send(loginResponse(1, 33400))
		synctest.Wait()
		next := <-sockets
		if out := next.sent(); len(out) != 1 || out[0].packet.SequenceNumber != 0 || c.Status() != StatusConnected {
			t.Errorf("new channel sent %v, status %v", out, c.Status())
		}
		if err := c.CheckReceived(); err == nil || !strings.Contains(err.Error(), "LOGIN_RESPONSE number 2") {
			t.Errorf("check: %v", err)
		}
	})
}

func TestBadFastPort(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, c *Client, p *peer, u *fakeUDP) {
		p.send(loginResponse(1, -1))
		synctest.Wait()
		if err := c.AwaitFast(t.Context()); !errors.Is(err, ErrNoFast) {
			t.Errorf("fast: %v", err)
		}
	})
}

func TestQueueAndSilence(t *testing.T) {
	inBubble(t, Options{EventsMax: 5}, func(t *testing.T, c *Client, p *peer, u *fakeUDP) {
		ctx := t.Context()
		start := time.Now()
		if err := c.ExpectSilence(time.Second, nil); err != nil || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		for op := int32(10); op < 14; op++ {
			p.send(Packet{OpCode: op, Reliable: true, Sender: ServerID})
		}
		if e, err := c.Expect(ctx, Op(12)); err != nil || e.OpCode != 12 || e.Order != 3 {
			t.Errorf("expect %v, %v", e, err)
		}
		if err := c.ExpectSilence(time.Second, nil); err == nil {
			t.Error("that was no silence")
		}
		if err := c.ExpectSilence(time.Second, Op(99)); err != nil {
			t.Error(err)
		}
		for _, want := range []int32{10, 11, 13} { // the other packets have kept their order
			if e, err := c.Next(ctx); err != nil || e.OpCode != want {
				t.Errorf("next %v, %v, want op %d", e, err, want)
			}
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := c.Expect(short, OpVia(10, ChannelUDP)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("expect %v", err)
		}

		time.AfterFunc(time.Second, func() {
			p.send(Packet{OpCode: OpGroupMembershipUpdate, Reliable: true, Sender: ServerID, GroupMembershipUpdate: &GroupMembershipUpdate{}})
			p.send(Packet{OpCode: 20, Reliable: true, Sender: ServerID})
		})
		if e, err := c.NextData(ctx); err != nil || e.OpCode != 20 {
			t.Errorf("data %v, %v", e, err)
		}
		if s := c.Stats(); s.LogDropped != 2 || s.QueueDropped != 0 || s.ReceivedWebSocket != 7 {
			t.Errorf("stats %+v", s)
		}
		c.ResetStats()
		if c.Stats() != (Stats{}) {
			t.Error("stats are not reset")
		}
	})
}

func TestGroupBelief(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, c *Client, p *peer, u *fakeUDP) {
		for _, err := range []error{c.JoinGroup(1), c.JoinGroup(2), c.JoinGroup(3), c.LeaveGroup(2)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := c.Groups(); !slices.Equal(got, []int32{1, 3}) {
			t.Errorf("groups %v", got)
		}
		update := func(group int32, players ...int32) {
			p.send(Packet{
				OpCode: OpGroupMembershipUpdate, TargetPlayer: 1, Sender: ServerID, Reliable: true,
				GroupMembershipUpdate: &GroupMembershipUpdate{Group: group, Players: players},
			})
		}
		update(1)       // the join was refused
		update(2, 5, 1) // the leave was refused
		synctest.Wait()
		if got := c.Groups(); !slices.Equal(got, []int32{2, 3}) {
			t.Errorf("groups %v", got)
		}
		if err := c.CheckReceived(); err != nil {
			t.Error(err)
		}
	})
}

func TestCheckReceivedFinds(t *testing.T) {
	ok := Packet{OpCode: 10, TargetPlayer: 1, Sender: ServerID, Reliable: true}
	with := func(edit func(*Packet)) []byte {
		p := ok
		edit(&p)
		return short(0x82, EncodeUnit(p))
	}
	for want, raw := range map[string][]byte{
		"reliable flag":                   with(func(p *Packet) { p.Reliable = false }),
		"sequence number on WebSocket":    with(func(p *Packet) { p.SequenceNumber = 3 }),
		"does not fit the op code":        with(func(p *Packet) { p.OpCode = OpGroupMembershipUpdate }),
		"does not fit the op code: #1 We": with(func(p *Packet) { p.Login = &LoginCommand{} }),
		"unpacked": with(func(p *Packet) {
			p.OpCode, p.GroupMembershipUpdate = OpGroupMembershipUpdate, &GroupMembershipUpdate{Players: []int32{1}, Unpacked: true}
		}),
		"bytes after the unit":    short(0x82, append(EncodeUnit(ok), 0)),
		"text message":            short(0x81, EncodeUnit(Packet{OpCode: 10, Reliable: true})),
		"undecodable":             short(0x82, []byte{5}),
		"unknown fields [1001]":   short(0x82, Unit(append(EncodePacket(ok), 0xC8, 0x3E, 1))),
		"shortest encoding":       short(0x82, Unit([]byte{0x30, 1, 0x08, 2})),
		"LOGIN_RESPONSE number 2": short(0x82, EncodeUnit(loginResponse(1, 33400))),
		"peer id differs":         with(func(p *Packet) { *p = loginResponse(1, 33400); p.TargetPlayer = 2 }),
	} {
		t.Run(want, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, c *Client, p *peer, u *fakeUDP) {
				if err := c.CheckReceived(); err != nil {
					t.Error(err)
				}
				p.write(raw)
				synctest.Wait()
				if err := c.CheckReceived(); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// udpPeer is the server's UDP socket.
type udpPeer struct {
	t    *testing.T
	conn net.PacketConn
	from net.Addr
}

func listenPeer(t *testing.T, on Network) (*udpPeer, int32) {
	t.Helper()
	conn, err := on.ListenUDP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { _ = conn.Close() })
	return &udpPeer{t: t, conn: conn}, int32(conn.LocalAddr().(*net.UDPAddr).Port)
}

// read returns the next packet that is not a repeated UDP_CONNECT.
func (u *udpPeer) read(p *peer) Packet {
	u.t.Helper()
	buf := make([]byte, 4096)
	for {
		n, from, err := u.conn.ReadFrom(buf)
		if err != nil {
			u.t.Fatal(err)
		}
		again := u.from != nil && from.String() == u.from.String()
		u.from = from
		if got := p.decode(bytes.Clone(buf[:n])); got.OpCode != OpUDPConnect || !again {
			return got
		}
	}
}

func (u *udpPeer) send(datagram []byte) {
	u.t.Helper()
	if _, err := u.conn.WriteTo(datagram, u.from); err != nil {
		u.t.Fatal(err)
	}
}

func TestFastChannel(t *testing.T) {
	ctx := t.Context()
	m := machine(t)
	u, port := listenPeer(t, m)
	c, p := dialIn(t, m, Options{})
	login(t, c, p, port)

	// Before the ack, every message goes by WebSocket, whether it is reliable or not.
	if err := c.Send(Message{OpCode: 10, TargetGroup: AllPlayers}); err != nil {
		t.Fatal(err)
	}
	if got := p.packet(); !got.Reliable || got.Sender != 1 || got.TargetGroup != AllPlayers {
		t.Errorf("%+v", got)
	}

	if got := u.read(p); got.OpCode != OpUDPConnect || got.SequenceNumber != 0 || got.Sender != 1 {
		t.Errorf("%+v", got)
	}
	u.send(serverAck(0))
	if err := c.AwaitFast(ctx); err != nil {
		t.Fatal(err)
	}
	ack := u.read(p)
	if ack.OpCode != OpClientAck || ack.SequenceNumber < 1 || c.Status() != StatusConnectedSendFast {
		t.Errorf("ack %+v, status %v", ack, c.Status())
	}

	// From now on, the channel depends on the intent and the size.
	next := ack.SequenceNumber
	fast := func(name string, err error, check func(Packet) bool) {
		t.Helper()
		next++
		if got := u.read(p); err != nil || got.SequenceNumber != next || got.Reliable || got.Sender != 1 || !check(got) {
			t.Errorf("%s: %+v, %v, want number %d", name, got, err, next)
		}
	}
	slow := func(name string, err error, check func(Packet) bool) {
		t.Helper()
		if got := p.packet(); err != nil || got.SequenceNumber != 0 || !got.Reliable || !check(got) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	fast("fast intent", c.Send(Message{OpCode: 10, Payload: make([]byte, 1200)}), func(p Packet) bool { return p.OpCode == 10 })
	fast("event", c.SendEvent(11), func(p Packet) bool { return p.OpCode == 11 && p.TargetPlayer == ServerID })
	fast("join", c.JoinGroup(4), func(p Packet) bool { return p.JoinGroup != nil && p.JoinGroup.Group == 4 })
	fast("leave", c.LeaveGroup(4), func(p Packet) bool { return p.OpCode == OpLeaveGroup && p.LeaveGroup.Group == 4 })
	fast("request", c.RequestMembership(4), func(p Packet) bool { return p.RequestGroupMembership.Group == 4 })
	fast("ping packet", c.SendPing(ChannelUDP), func(p Packet) bool { return p.OpCode == OpPing && p.Ping != nil })
	slow("too large for fast", c.Send(Message{OpCode: 10, Payload: make([]byte, 1201)}), func(p Packet) bool { return len(p.Payload) == 1201 })
	slow("reliable intent", c.Send(Message{OpCode: 10, Reliable: true}), func(p Packet) bool { return p.Sender == 1 })
	slow("forged", c.Send(Message{OpCode: 10, Reliable: true, Sender: new(int32(9))}), func(p Packet) bool { return p.Sender == 9 })
	slow("forced join", c.JoinGroup(4, ChannelWebSocket), func(p Packet) bool { return p.TargetPlayer == ServerID })
	slow("over the limit", c.Send(Message{OpCode: 10, Payload: make([]byte, 4097), NoLimit: true}), func(p Packet) bool { return len(p.Payload) == 4097 })
	if err := c.Send(Message{Payload: make([]byte, 4097)}); !errors.Is(err, ErrPayloadTooLarge) {
		t.Errorf("4097 bytes: %v", err)
	}
	if err := c.Send(Message{OpCode: 12, Via: ChannelUDP, Sequence: new(int32(2))}); err != nil {
		t.Fatal(err)
	}
	if got := u.read(p); got.SequenceNumber != 2 {
		t.Errorf("forged number: %+v", got)
	}

	// The client sends to the source address of the last datagram.
	other, _ := listenPeer(t, m)
	other.from = u.from
	other.send(EncodeUnit(Packet{OpCode: 20, SequenceNumber: 1, TargetPlayer: 1, Sender: ServerID}))
	if _, err := c.Expect(ctx, OpVia(20, ChannelUDP)); err != nil {
		t.Fatal(err)
	}
	if err := c.SendRawFast(EncodeUnit(Packet{OpCode: 21})); err != nil {
		t.Fatal(err)
	}
	if got := other.read(p); got.OpCode != 21 {
		t.Errorf("%+v", got)
	}
	if err := c.CheckReceived(); err == nil || !strings.Contains(err.Error(), "not from fastPort") {
		t.Errorf("check: %v", err)
	}
	if err := c.CheckSequences(); err != nil {
		t.Error(err)
	}

	// As after a NAT rebinding: another port, but the same sequence numbers.
	before := c.UDPLocalAddr().String()
	if err := c.RebindUDP(""); err != nil || c.UDPLocalAddr().String() == before {
		t.Fatalf("rebind: %v, still %s", err, before)
	}
	if err := c.SendUDPConnect(); err != nil {
		t.Fatal(err)
	}
	next++
	if got := other.read(p); got.OpCode != OpUDPConnect || got.SequenceNumber != next || other.from.String() == before {
		t.Errorf("after rebind: %+v from %v", got, other.from)
	}
	other.send(EncodeUnit(Packet{OpCode: 22, SequenceNumber: 2, TargetPlayer: 1, Sender: ServerID}))
	if _, err := c.Expect(ctx, Op(22)); err != nil {
		t.Fatal(err)
	}

	c.CloseUDP()
	if err := c.SendEvent(1); !errors.Is(err, ErrNoFast) {
		t.Errorf("send: %v", err)
	}
	if err := c.RebindUDP(""); !errors.Is(err, ErrNoFast) {
		t.Errorf("rebind: %v", err)
	}
}

func TestNoClientAck(t *testing.T) {
	inBubble(t, Options{NoClientAck: true}, func(t *testing.T, c *Client, p *peer, u *fakeUDP) {
		u.in <- serverAck(0)
		if err := c.AwaitFast(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(u.sent()); n != 1 {
			t.Errorf("%d datagrams before", n)
		}
		if err := c.SendClientAck(); err != nil {
			t.Fatal(err)
		}
		if out := u.sent(); len(out) != 2 || out[1].packet.OpCode != OpClientAck || out[1].packet.SequenceNumber != 1 {
			t.Errorf("sent %v", out)
		}
	})
}

func TestTypeScript(t *testing.T) {
	c, p := dial(t, Options{Flavor: TypeScript})
	p.packet()
	answer := loginResponse(3, 33400)
	answer.TargetPlayer = 7 // differs from the peer id in loginResult, to show which of the two the client uses
	p.send(answer)
	if _, err := c.AwaitLogin(t.Context()); err != nil || c.PeerID() != 7 {
		t.Errorf("id %d, %v", c.PeerID(), err)
	}
	if err := c.AwaitFast(t.Context()); !errors.Is(err, ErrNoFast) {
		t.Errorf("fast: %v", err)
	}
	if err := c.JoinGroup(1); !errors.Is(err, ErrUnsupported) {
		t.Errorf("join: %v", err)
	}
	if err := c.SendRawFast(nil); !errors.Is(err, ErrNoFast) {
		t.Errorf("raw: %v", err)
	}
	if err := c.Send(Message{OpCode: -500, TargetPlayer: 2}); err != nil {
		t.Fatal(err)
	}
	want := Packet{OpCode: -500, TargetPlayer: 2, TargetGroup: AllPlayers, Sender: 7, Reliable: true}
	if got := p.packet(); !reflect.DeepEqual(got, want) {
		t.Errorf("sent %+v", got)
	}
}

func TestRetryDelay(t *testing.T) {
	var got []string
	for n := range 9 {
		got = append(got, RetryDelay(n).String())
	}
	const want = "[100ms 200ms 400ms 800ms 1.6s 3.2s 5s 5s 5s]"
	if fmt.Sprint(got) != want || RetryDelay(1<<40) != 5*time.Second {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestImports enforces the rule of the package comment: only the standard library is imported. Otherwise a
// shared mistake in the server's codec could go unnoticed.
func TestImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 5 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if root, _, _ := strings.Cut(path, "/"); root == "troupe" || strings.Contains(root, ".") {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
