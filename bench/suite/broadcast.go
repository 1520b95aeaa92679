package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"troupe/bench/barerelay"
	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/messages/wire"
)

// broadcastSpeakers is how many members of the room speak, each with one message under way. So up to so many datagrams wait for each
// member, which go out together.
const broadcastSpeakers = 4

// broadcast loads a room of bench/barerelay. There is CPU per datagram only, as in echo. On loopback nearly all of it is the kernel's, which
// delivers a datagram to its receiver inside of the system call of its sender. Both ways of sending have the same room and the same speakers, who
// are answered as fast as the room can.
func (r *run) broadcast(ctx context.Context, spec server.Spec) (round result.Round, err error) {
	if r.p.Players > barerelay.MembersMax {
		return round, fmt.Errorf("--players must be 1 to %d: the room has no more", barerelay.MembersMax)
	}
	return r.busy(ctx, spec, "cpu_datagram_us", "datagrams_per_s", "", func(ctx context.Context, proc *server.Process, i int, datagrams *atomic.Int64) (func(), error) {
		m := &member{peer: int32(i) + 1, speaks: i < broadcastSpeakers, datagrams: datagrams}
		return func() { m.listen(ctx, r.p.Payload) }, m.enter(ctx, proc.Announce.WS)
	})
}

// member is a player of the room, with a socket of its own.
type member struct {
	peer      int32
	speaks    bool
	datagrams *atomic.Int64 // that all members have got
	conn      net.Conn
	number    int32 // of the last datagram sent
}

// enter does the handshake (realtime.md 7.3) until it is answered.
func (m *member) enter(ctx context.Context, addr string) (err error) {
	if m.conn, err = net.Dial("udp", addr); err != nil {
		return fmt.Errorf("enter the room: %w", err)
	}
	buf := make([]byte, 2048)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && ctx.Err() == nil; m.number++ {
		if _, err = m.conn.Write(wire.AppendUDPConnect(nil, m.peer, m.number)); err == nil {
			_ = m.conn.SetReadDeadline(time.Now().Add(echoPatience))
			_, err = m.conn.Read(buf)
		}
		if err == nil {
			m.number++
			_, err = m.conn.Write(wire.AppendClientAck(nil, m.peer, m.number))
			return err
		}
	}
	return errors.Join(fmt.Errorf("enter the room: %w", err), m.conn.Close())
}

// listen counts what arrives, and says the next thing when it hears itself.
func (m *member) listen(ctx context.Context, payload int) {
	defer m.conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = m.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	in, out, text := make([]byte, 2048), make([]byte, 0, 2048), make([]byte, payload)
	say := func() {
		m.number++
		out = wire.AppendMessage(out[:0], &wire.Header{OpCode: loadgen.OpLoad, Sequence: m.number, TargetGroup: wire.AllPlayers, Sender: m.peer, Payload: text})
		_, _ = m.conn.Write(out)
	}
	var said time.Time
	for ctx.Err() == nil {
		if m.speaks && time.Since(said) > echoPatience { // the first, or one that was lost
			say()
			said = time.Now()
		}
		_ = m.conn.SetReadDeadline(time.Now().Add(echoPatience))
		n, err := m.conn.Read(in)
		if err != nil {
			continue
		}
		m.datagrams.Add(1)
		var h wire.Header
		if packet, err := wire.SplitUnit(in[:n]); m.speaks && err == nil && h.Parse(packet) == nil && h.Sender == m.peer {
			say()
			said = time.Now()
		}
	}
}

// broadcasts are the two ways of sending to the members of a room.
func (r *run) broadcasts() (subjects []subject) {
	for _, kind := range []string{barerelay.OneByOne, barerelay.Together} {
		spec := server.Spec{Name: kind, Kind: server.Bare, Bin: r.o.Self.Bin, Args: append(r.o.Self.Echo, kind), Env: []string{"GOMAXPROCS=1"}}
		subjects = append(subjects, subject{name: kind, build: r.buildOf(r.host()), measure: func(ctx context.Context) (result.Round, error) {
			return r.broadcast(ctx, spec)
		}})
	}
	return subjects
}
