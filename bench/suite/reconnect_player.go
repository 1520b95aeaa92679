package suite

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"troupe/bench/loadgen"
	"troupe/transport/client"
)

// numberBytes is the size of the stamp in a payload: the sender's index in its room, and the number of the message.
const numberBytes = 12

// cutPlayer is one client whose connection is cut, with counters of what it has received.
type cutPlayer struct {
	c     *client.Client
	index int // index in its room
	room  *cutRoom
	// owned by the pacer
	sent, unsent uint64

	mu sync.Mutex
	// guarded by mu
	from       []uint64 // highest number received, by the sender's index
	received   uint64
	lost       uint64
	duplicated uint64
	replayed   uint64
	gaps       uint64
	cutAt      time.Time
	back       chan time.Duration // receives the duration of the next reconnect; nil if no reconnect is expected
}

// cutRoom holds the players of one game session.
type cutRoom struct{ players []*cutPlayer }

// dial logs in a player and starts a goroutine that handles its events.
func (c *reconnects) dial(ctx context.Context, rm *cutRoom, index int, login loadgen.Login, sdk *loadgen.SDK) (err error) {
	p := &cutPlayer{index: index, room: rm, from: make([]uint64, len(rm.players))}
	p.c, err = client.Dial(ctx, client.Options{
		Addr: login.Addr, PlayerSessionID: login.PlayerSessionID, Transport: sdk.Transport, KCPAddr: sdk.Addr, TLS: sdk.TLS,
		OnReconnected: p.onReconnected, OnGap: p.onGap, DialTimeout: backMax,
	})
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	rm.players[index] = p
	c.ends.Go(p.listen)
	return nil
}

func (p *cutPlayer) onReconnected(b client.Reconnected) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replayed += b.Replayed
	if p.back != nil {
		p.back <- time.Since(p.cutAt)
		p.back = nil
	}
}

func (p *cutPlayer) onGap(g client.Gap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps++
}

func (p *cutPlayer) listen() {
	for e := range p.c.Events() {
		if e.Kind != client.EventMessage || e.OpCode != loadgen.OpLoad || len(e.Payload) < numberBytes {
			continue
		}
		index, number := binary.LittleEndian.Uint32(e.Payload), binary.LittleEndian.Uint64(e.Payload[4:])
		p.mu.Lock()
		switch last := &p.from[index]; {
		case number <= *last:
			p.duplicated++
		default:
			p.lost += number - *last - 1
			*last = number
			p.received++
		}
		p.mu.Unlock()
	}
}

// send sends the player's next message. A message that cannot be sent counts as unsent and is not expected to arrive.
func (p *cutPlayer) send(ctx context.Context, payload []byte) {
	binary.LittleEndian.PutUint32(payload, uint32(p.index))
	binary.LittleEndian.PutUint64(payload[4:], p.sent+1)
	if p.c.Send(ctx, client.Message{OpCode: loadgen.OpLoad, TargetGroup: client.AllPlayers, Payload: payload}) == nil {
		p.sent++
	} else if ctx.Err() == nil {
		p.unsent++
	}
}

// cut drops the connection. The returned channel receives the time until the player has reconnected.
func (p *cutPlayer) cut() <-chan time.Duration {
	back := make(chan time.Duration, 1)
	p.mu.Lock()
	p.back, p.cutAt = back, time.Now()
	p.mu.Unlock()
	p.c.NetworkChanged()
	return back
}

// missing returns how many of the newest messages from its room have not arrived yet.
func (p *cutPlayer) missing() (n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.room.players {
		n += other.sent - p.from[other.index]
	}
	return n
}
