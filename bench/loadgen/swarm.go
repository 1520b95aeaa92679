package loadgen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Config describes a swarm.
type Config struct {
	Addr            string  // host:port of the server's WebSocket listener
	Hz              float64 // messages per second and player; Run needs it
	PayloadBytes    int     // at least 8; 0 = 64
	Seed            uint64  // of the send schedule
	DialConcurrency int     // connections being opened at once; 0 = 64
	Numbered        bool    // ask for the extension: numbers and acknowledgements
	To              Target  // where messages go; with Numbered to the room
}

// Target is where the messages of a swarm go.
type Target int

// Targets.
const (
	ToRoom   Target = iota // all players of the room, the sender included
	ToSelf                 // the sender
	ToServer               // the server, whose script sends each back to its sender
)

// Login is one player to connect. Players with the same Room number receive each other's messages.
type Login struct {
	Room            int
	PlayerSessionID string
}

// Swarm is a set of logged-in players. Connect, Run and Close are for one goroutine; Totals and Disconnects for any.
type Swarm struct {
	// set once
	cfg      Config
	base     time.Time // zero of the monotonic clock that stamps count from
	loopback bool

	shards  [shardCount]recorder
	window  window
	readers sync.WaitGroup

	conns []*conn // owned by the caller's goroutine
	rooms map[int]int

	sent        atomic.Int64 // all messages
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
	if cfg.DialConcurrency <= 0 {
		cfg.DialConcurrency = 64
	}
	if cfg.To != ToRoom && cfg.Numbered {
		return nil, errors.New("numbered messages go to the group of all players")
	}
	host, _, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("server address: %w", err)
	}
	ip := net.ParseIP(host)
	s := &Swarm{cfg: cfg, base: time.Now(), rooms: make(map[int]int), loopback: ip != nil && ip.IsLoopback() && ip.To4() != nil}
	for i := range s.shards {
		s.shards[i].latency = newHistogram()
	}
	return s, nil
}

// now is the time in nanoseconds since the swarm was made.
func (s *Swarm) now() int64 { return int64(time.Since(s.base)) }

// Connect logs a wave of players in and returns when all are, or with the first error.
func (s *Swarm) Connect(ctx context.Context, wave []Login) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fresh := make([]*conn, len(wave))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(s.cfg.DialConcurrency, len(wave)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(wave) || ctx.Err() != nil {
					return
				}
				c, err := s.dial(ctx, wave[i], len(s.conns)+i)
				if err != nil {
					cancel(fmt.Errorf("player %d: %w", len(s.conns)+i, err))
					return
				}
				fresh[i] = c
			}
		})
	}
	wg.Wait()
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

// adopt starts the reader of a logged-in connection.
func (s *Swarm) adopt(c *conn) {
	s.conns = append(s.conns, c)
	s.rooms[c.room]++
	s.readers.Go(func() {
		err := c.read(s.now, &s.window)
		c.dead.Store(true)
		if !s.closing.Load() {
			s.disconnects.Add(1)
			s.noteError(fmt.Errorf("peer %d of room %d: %w", c.peer, c.room, err))
		}
		_ = c.net.Close()
	})
}

// Size is the number of players connected so far.
func (s *Swarm) Size() int { return len(s.conns) }

// Totals returns how many messages the swarm has sent and received since it was made.
func (s *Swarm) Totals() (sent, received int64) {
	for i := range s.shards {
		r := &s.shards[i]
		r.mu.Lock()
		received += r.received
		r.mu.Unlock()
	}
	return s.sent.Load(), received
}

// Disconnects is how many players lost their connection, and the first error met by any.
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

// Close lets every player leave and waits for the readers.
func (s *Swarm) Close() error {
	if s.closing.Swap(true) {
		return errors.New("swarm closed twice")
	}
	for _, c := range s.conns {
		c.leave()
	}
	s.readers.Wait()
	return nil
}
