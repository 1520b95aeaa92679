package gateway

import (
	"hash/maphash"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/transport"
)

// Gateway accepts connections for a System. It is safe for concurrent use.
type Gateway struct {
	o            Options
	rates        inputRates
	started      time.Time
	drops        zerolog.Logger // sampled, because peers decide how many packets are dropped
	failures     *attempts[netip.Prefix]
	logins       *attempts[uint64] // logins without a reconnect token, by the hash of the player session id
	resumes      *attempts[uint64] // logins with a reconnect token, by the same hash
	seed         maphash.Seed      // random seed of the hashes, so that nobody can make two ids collide
	held         heldGuesses
	loginLimiter *loginLimiter
	closed       closedList
}

// New returns a Gateway.
func New(o Options) *Gateway {
	return &Gateway{
		o:            o,
		rates:        ratesOf(o.Limits),
		started:      time.Now(),
		seed:         maphash.MakeSeed(),
		drops:        o.Log.Sample(&zerolog.BurstSampler{Burst: 5, Period: time.Second}),
		failures:     newAttempts[netip.Prefix](o.Limits.LoginFailuresPerIPPerMinute),
		logins:       newAttempts[uint64](o.Limits.LoginsPerIDPerMinute),
		resumes:      newAttempts[uint64](o.Limits.ResumesPerIDPerMinute),
		loginLimiter: newLoginLimiter(o.Limits.LoginsPerSecond, o.Limits.LoginsWaiting),
	}
}

// Accept implements transport.Acceptor. It creates an actor for the connection.
func (g *Gateway) Accept(c transport.Conn) (transport.Handler, messages.CloseReason) {
	p := &peer{gateway: g, conn: c, channel: c.Channel(), openedAt: g.clock()}
	p.handle = g.o.System.Connect(c, p.channel, p)
	return p, 0
}

// clock returns the time since the gateway's start. It is monotonic.
func (g *Gateway) clock() time.Duration { return time.Since(g.started) }
