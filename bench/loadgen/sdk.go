package loadgen

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"

	"troupe/transport/client"
)

// SDK makes players connect with Troupe's Go client, which supports more transports than the bare WebSocket.
type SDK struct {
	Transport client.Transport
	Addr      string // host:port for Transport; empty: the address of the swarm or of the Login
	TLS       *tls.Config
	// Fast makes messages use the fast channel: plain UDP with ws, DTLS with wss.
	Fast bool
}

// RoomsInTurn reports whether all players of a room must connect before those of the next room. Players from the same
// address with the same peer id need a socket each, and the host can send in one batch only what leaves by the same
// socket. If the rooms connect in turn, the players of a room share a socket, as players with different addresses do.
func (s *Swarm) RoomsInTurn() bool { return s.cfg.SDK != nil && s.cfg.SDK.Fast }

// eventsMax is how many events of a player may wait for the generator. Datagrams above it are dropped, like lost ones.
const eventsMax = 1 << 14

// sdkPlayer is a player's link that uses Troupe's Go client.
type sdkPlayer struct {
	of     *conn
	c      *client.Client
	fast   bool
	ctx    context.Context // context of all sends; interrupt cancels it
	cancel context.CancelFunc
	msg    client.Message // owned by Run, then by the pacer
}

func (c *conn) dialSDK(ctx context.Context, o *SDK, addr, playerSessionID string) error {
	if o.Addr != "" {
		addr = o.Addr
	}
	sdk, err := client.Dial(ctx, client.Options{
		Addr: addr, KCPAddr: addr, PlayerSessionID: playerSessionID, Transport: o.Transport, TLS: o.TLS, Fast: o.Fast,
		EventsMax: eventsMax, Reconnect: client.Reconnect{Off: true},
		DialTimeout: loginTimeout, SilenceMax: latencyMax, StallMax: latencyMax, // packet loss must not look like a lost connection
	})
	if err != nil {
		return &DialError{err}
	}
	p := &sdkPlayer{of: c, c: sdk, fast: o.Fast}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	c.link, c.peer = p, sdk.PeerID()
	return nil
}

func (p *sdkPlayer) prepare(cfg *Config) {
	p.msg = client.Message{OpCode: OpLoad, TargetGroup: client.AllPlayers, Payload: make([]byte, cfg.PayloadBytes), Intent: client.Reliable}
	if p.fast {
		p.msg.Intent = client.Fast
	}
}

func (p *sdkPlayer) send(nanos int64) error {
	binary.LittleEndian.PutUint64(p.msg.Payload, uint64(nanos))
	return p.c.Send(p.ctx, p.msg)
}

func (p *sdkPlayer) read(now func() int64, w *window) error {
	defer p.c.Abort()
	var b batch
	for e := range p.c.Events() {
		for more := true; more; {
			if err := p.take(e, &b); err != nil {
				return err
			}
			if more = b.n < len(b.stamps); more {
				select {
				case e, more = <-p.c.Events():
				default:
					more = false
				}
			}
		}
		p.of.rec.add(&b, now(), w)
	}
	return fmt.Errorf("the client has ended: %v", p.c.End())
}

// take counts an event.
func (p *sdkPlayer) take(e client.Event, b *batch) error {
	switch e.Kind {
	case client.EventFastUp:
		p.of.ready.Store(true)
	case client.EventFastDown:
		return fmt.Errorf("the fast channel is down: %w", p.c.FastErr())
	case client.EventMessage:
		if stamp, own := stampOf(Packet{OpCode: e.OpCode, Payload: e.Payload}); own {
			b.stamps[b.n] = stamp
			b.n++
			return nil
		}
		b.other++
	}
	return nil
}

func (p *sdkPlayer) interrupt() { p.cancel() }

func (p *sdkPlayer) leave() {
	p.cancel()
	p.c.Close() // With a goodbye: otherwise a host reserves the seats and waits for the players when it ends.
}
