package loadgen

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Config describes a swarm.
type Config struct {
	Addr            string   // host:port of the server's WebSocket listener; may be empty if each Login has an address
	Hz              float64  // messages per second and player; Run needs it, or Plan.Hz
	PayloadBytes    int      // payload size in bytes, at least 8; 0: 64
	Seed            uint64   // seed of the send schedule
	DialConcurrency int      // number of connections that are opened concurrently; 0: 64
	To              Target   // where messages go
	OpCode          int32    // op code of the messages; 0: OpLoad
	SDK             *SDK     // options of Troupe's Go client; nil: a bare WebSocket, which costs the generator less
	Protocol        Protocol // for a server that does not speak Realtime; nil: Realtime; requires ToRoom or ToTicks
	Message         []byte   // message to send; its Placeholders become the send time; nil: a payload of PayloadBytes; requires ToAnything
}

// Target is where the messages of a swarm go.
type Target int

// Possible targets.
const (
	ToRoom     Target = iota // all players of the room, including the sender
	ToSelf                   // the sender
	ToServer                 // the server, whose script returns each message to its sender
	ToAnything               // the server, whose script may do anything
	ToTicks                  // the server, which sends ticks by itself: the latency of a tick is the time since the player's last one
)

// Login identifies one player to connect. Players with the same Room number receive each other's messages.
type Login struct {
	Room            int
	PlayerSessionID string
	Addr            string // host:port; empty: the swarm's address
}

// Swarm is a set of logged-in players. Connect, Run and Close must be called from one goroutine. Totals and Disconnects
// may be called from any goroutine.
type Swarm struct {
	// set once
	cfg  Config
	base time.Time // zero point of the monotonic clock for the stamps

	shards  [shardCount]recorder
	window  window
	readers sync.WaitGroup

	conns []*conn // owned by the caller's goroutine
	rooms map[int][]*conn

	joins *Histogram

	joinMu  sync.Mutex    // guards joining
	joining time.Duration // total time during which at least one login was in progress

	sent        atomic.Int64 // all messages of all runs
	sendErrors  atomic.Int64
	disconnects atomic.Int64
	closing     atomic.Bool

	errMu    sync.Mutex // guards firstErr
	firstErr error
}

// New returns an empty swarm.
func New(cfg Config) (*Swarm, error) {
	if cfg.PayloadBytes == 0 {
		cfg.PayloadBytes = 64
	}
	if cfg.PayloadBytes < stampBytes {
		return nil, fmt.Errorf("payload of %d bytes has no room for the send time", cfg.PayloadBytes)
	}
	if cfg.To == ToAnything && cfg.PayloadBytes < textStampBytes {
		return nil, fmt.Errorf("payload of %d bytes has no room for the send time, which takes %d as text", cfg.PayloadBytes, textStampBytes)
	}
	if cfg.To != ToAnything && (cfg.OpCode != 0 || cfg.Message != nil) {
		return nil, errors.New("own op codes and messages are for scripts, of which it is not known what they answer")
	}
	if cfg.To != ToRoom && (cfg.SDK != nil || cfg.Protocol != nil && cfg.To != ToTicks) {
		return nil, errors.New("players of the SDK send to their rooms, and those of another protocol to their rooms or to a server with ticks")
	}
	if cfg.DialConcurrency <= 0 {
		cfg.DialConcurrency = 64
	}
	return &Swarm{cfg: cfg, base: time.Now(), rooms: make(map[int][]*conn), joins: NewHistogram()}, nil
}

// now is the time in nanoseconds since the swarm was made.
func (s *Swarm) now() int64 { return int64(time.Since(s.base)) }

// Connect logs in a wave of players. It returns when all are logged in, or with the first error.
func (s *Swarm) Connect(ctx context.Context, wave []Login) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fresh := make([]*conn, len(wave))
	began := time.Now()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(s.cfg.DialConcurrency, len(wave)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(wave) || ctx.Err() != nil {
					return
				}
				dialled := time.Now()
				c, err := s.dial(ctx, wave[i], len(s.conns)+i)
				if err != nil {
					cancel(fmt.Errorf("player %d: %w", len(s.conns)+i, err))
					return
				}
				fresh[i] = c
				s.joins.Record(time.Since(dialled))
			}
		})
	}
	wg.Wait()
	s.joinMu.Lock()
	s.joining += time.Since(began)
	s.joinMu.Unlock()
	if err := context.Cause(ctx); err != nil {
		for _, c := range fresh {
			if c != nil {
				c.leave()
			}
		}
		return fmt.Errorf("connect: %w", err)
	}
	for _, c := range fresh {
		s.adopt(c)
	}
	return nil
}

// Joins describes the logins of all waves so far.
type Joins struct {
	Players   int
	PerSecond float64 // rate while logins were in progress
	Took      Quantiles
}

// Joins returns how fast players logged in. Each time is from the start of the connection to the answer to the login.
func (s *Swarm) Joins() (j Joins) {
	s.joinMu.Lock()
	defer s.joinMu.Unlock()
	if j.Players = s.joins.Count(); j.Players == 0 || s.joining <= 0 {
		return Joins{}
	}
	j.Took = s.joins.Quantiles()
	j.PerSecond = float64(j.Players) / s.joining.Seconds()
	return j
}

// adopt starts the reader of a logged-in connection.
func (s *Swarm) adopt(c *conn) {
	s.conns = append(s.conns, c)
	c.number = len(s.rooms[c.room])
	s.rooms[c.room] = append(s.rooms[c.room], c)
	s.readers.Go(func() {
		err := c.read(s.now, &s.window)
		c.dead.Store(true)
		if !s.closing.Load() {
			s.disconnects.Add(1)
			s.noteError(fmt.Errorf("peer %d of room %d: %w", c.peer, c.room, err))
		}
	})
}

// Size returns the number of players connected so far.
func (s *Swarm) Size() int { return len(s.conns) }

// Totals returns how many messages the swarm has sent and received since it was created. With ToAnything, received
// counts all packets.
func (s *Swarm) Totals() (sent, received int64) {
	for i := range s.shards {
		r := &s.shards[i]
		r.mu.Lock()
		if s.cfg.To == ToAnything {
			received += r.others
		} else {
			received += r.received
		}
		r.mu.Unlock()
	}
	return s.sent.Load(), received
}

// Disconnects returns how many players lost their connection, and the first error of any player.
func (s *Swarm) Disconnects() (int64, error) {
	s.errMu.Lock()
	defer s.errMu.Unlock()
	return s.disconnects.Load(), s.firstErr
}

func (s *Swarm) noteError(err error) {
	s.errMu.Lock()
	defer s.errMu.Unlock()
	if s.firstErr == nil {
		s.firstErr = err
	}
}

// Close disconnects all players and waits for the readers.
func (s *Swarm) Close() error {
	if s.closing.Swap(true) {
		return errors.New("swarm closed twice")
	}
	for _, c := range s.conns {
		if s.cfg.SDK != nil { // leave waits until the last packet is written, so run them concurrently
			s.readers.Go(c.leave)
			continue
		}
		c.leave()
	}
	s.readers.Wait()
	return nil
}
