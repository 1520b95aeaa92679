package faults

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"troupe/transport"
	"troupe/transport/client"
)

// Op codes of the messages.
const (
	opReliable int32 = 7
	opFast     int32 = 8
)

const (
	// sendEvery is the interval at which a player sends messages of each kind.
	sendEvery = 100 * time.Millisecond
	// sendMax bounds the wait for space in the send buffer.
	sendMax = 30 * time.Second
	// dialMax bounds a login.
	dialMax = 30 * time.Second
)

// access says how a player reaches a host.
type access struct {
	transport client.Transport
	tcp, udp  string // host:port
	tls       *tls.Config
	silence   time.Duration // client.Options.SilenceMax
	stall     time.Duration // client.Options.StallMax; 0: the client's default
	fast      bool          // client.Options.Fast
}

// player is one player with its own path.
type player struct {
	index int
	peer  int32 // peer id of the first login
	path  *Path
	c     *client.Client
	crew  *crew

	// Numbers of the last messages: taken has been passed to the client, sent has been accepted for sending.
	taken, sent  atomic.Uint64
	takenFast    atomic.Uint64
	unsent       atomic.Uint64 // reliable messages that could not be sent; their numbers are reused
	listened     chan struct{} // closed when all events have been read
	times        sendTimes     // send times of reliable messages
	mu           sync.Mutex    // guards the fields below
	ledger       *ledger
	resumes      []time.Duration // times from the connection loss to the answer to the login
	lastResume   time.Time
	changedPeers int // resumes that got a different peer id
	gapLost      uint64
	lastEvent    time.Time
	slowest      time.Duration // longest time until a reliable message arrived
}

// crew is the players of one game session.
type crew struct {
	players []*player
	byPeer  map[int32]int // player index by peer id; complete when the last player has logged in
	line    *timeline
	first   int         // number of the first player in the timeline, if there are several game sessions
	leaving atomic.Bool // connections that end from now on are meant to end
}

// sendTimes records when a player sent its messages, by number. Its methods may be called from any goroutine.
type sendTimes struct {
	mu    sync.Mutex // guards times
	times []time.Time
}

// note records the current time for a message. Numbers rise by 1 or repeat the last one.
func (s *sendTimes) note(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times[:number-1], time.Now())
}

// of returns when a message was sent. The message must have been noted.
func (s *sendTimes) of(number uint64) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times[number-1]
}

// enter logs all players in.
func enter(ctx context.Context, on transport.Network, seed uint64, ids []string, reach func(index int) access, line *timeline, first int) (_ *crew, err error) {
	all := &crew{byPeer: make(map[int32]int), line: line, first: first}
	defer func() {
		if err != nil {
			all.leave(false)
		}
	}()
	for i, id := range ids {
		a := reach(i)
		p := &player{index: i, crew: all, ledger: newLedger(len(ids)), listened: make(chan struct{}), lastEvent: time.Now()}
		if p.path, err = ListenPath(on, "127.0.0.1:0", seed, i, a.tcp, a.udp); err != nil {
			return nil, fmt.Errorf("path of player %d: %w", i, err)
		}
		o := client.Options{
			Addr: p.path.TCP(), KCPAddr: p.path.UDP(), PlayerSessionID: id, Transport: a.transport, TLS: a.tls,
			SilenceMax: a.silence, StallMax: a.stall, DialTimeout: dialMax, Fast: a.fast, OnDetached: p.onDetached, OnReconnected: p.onReconnected, OnGap: p.onGap,
		}
		if on != nil {
			o.DialContext = func(ctx context.Context, network string, _ netip.Addr, address string) (net.Conn, error) {
				return on.DialContext(ctx, network, address)
			}
		}
		p.c, err = client.Dial(ctx, o)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("log in player %d: %w", i, err), p.path.Close())
		}
		line.back(first+i, time.Now())
		p.peer = p.c.PeerID()
		all.byPeer[p.peer] = i
		all.players = append(all.players, p)
	}
	for _, p := range all.players {
		p.ledger.arrived, p.ledger.missing = p.onReliable, p.onLost
		go p.listen()
	}
	return all, nil
}

// leave disconnects all players, with or without a goodbye, and closes their paths.
func (c *crew) leave(goodbye bool) {
	c.leaving.Store(true)
	var ends sync.WaitGroup
	for _, p := range c.players {
		ends.Go(func() {
			if goodbye {
				p.c.Close()
			} else {
				p.c.Abort()
			}
			_ = p.path.Close() // an error is irrelevant: the sockets are closed either way
		})
	}
	ends.Wait()
}

// onReliable and onLost are the ledger's callbacks for reliable messages of the player from.
func (p *player) onReliable(from int, number uint64, twice bool) {
	sent := p.crew.players[from].times.of(number)
	took := time.Since(sent)
	p.crew.line.arrived(sent, took, twice)
	p.slowest = max(p.slowest, took)
}

func (p *player) onLost(from int, number uint64) {
	p.crew.line.count(p.crew.players[from].times.of(number), func(m *Moment) { m.Lost++ })
}

func (p *player) onDetached(client.End) {
	if !p.crew.leaving.Load() {
		p.crew.line.away(p.crew.first+p.index, time.Now())
	}
}

func (p *player) onReconnected(r client.Reconnected) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resumes, p.lastResume = append(p.resumes, r.After), time.Now()
	p.crew.line.back(p.crew.first+p.index, p.lastResume)
	p.crew.line.count(p.lastResume, func(m *Moment) { m.Resumes++ })
	if r.PeerID != p.peer {
		p.changedPeers++
	}
}

func (p *player) onGap(g client.Gap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gapLost += g.Lost
}

func (p *player) listen() {
	defer close(p.listened)
	for e := range p.c.Events() {
		if e.Kind != client.EventMessage || e.OpCode != opReliable && e.OpCode != opFast {
			continue // sent by the game's script
		}
		p.mu.Lock()
		p.lastEvent = time.Now()
		p.ledger.take(p.crew, &e)
		p.mu.Unlock()
	}
	p.onDetached(client.End{})
}

// play sends messages until halt is closed or the client ends. offset delays the first message, so that the players do
// not send at the same time.
func (p *player) play(halt <-chan struct{}, offset time.Duration) {
	timer := time.NewTimer(offset)
	defer timer.Stop()
	for {
		select {
		case <-halt:
			return
		case <-p.c.Done():
			return
		case <-timer.C:
		}
		timer.Reset(sendEvery)
		p.send(opFast, p.takenFast.Add(1))
		next := p.sent.Load() + 1
		p.times.note(next)
		p.taken.Store(next)
		if p.send(opReliable, next) == nil {
			p.sent.Store(next)
			p.crew.line.count(p.times.of(next), func(m *Moment) { m.Sent++ })
		} else {
			p.unsent.Add(1)
		}
	}
}

func (p *player) send(op int32, number uint64) error {
	ctx, cancel := context.WithTimeout(context.Background(), sendMax)
	defer cancel()
	m := client.Message{OpCode: op, TargetGroup: client.AllPlayers, Intent: client.Reliable, Payload: payload(op, p.index, number)}
	if op == opFast {
		m.Intent = client.Fast
	}
	return p.c.Send(ctx, m)
}

// newest returns the highest message number that the player may have sent with this op code.
func (p *player) newest(op int32) uint64 {
	if op == opFast {
		return p.takenFast.Load()
	}
	return p.taken.Load()
}

// missing returns how many of the newest reliable messages of all players have not arrived yet. It does not count holes
// below the last received number.
func (p *player) missing() (n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.crew.players {
		if sent := other.sent.Load(); sent > p.ledger.from[i].last {
			n += sent - p.ledger.from[i].last
		}
	}
	return n
}
