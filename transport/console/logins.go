package console

import (
	"cmp"
	"crypto/sha256"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"troupe/transport"
)

const (
	// loginLife is how long a login is good, however busy it is.
	loginLife = 8 * time.Hour
	// loginsMax bounds the logins at a time: one more ends the oldest.
	loginsMax = 64
	// attempts that a source has at once, and how often it gets one more.
	attemptsBurst = 5
	attemptEvery  = 10 * time.Second
	// sourcesMax bounds the sources whose attempts are counted: one more is counted with
	// all others that are not.
	sourcesMax = 1024
)

// logins are the logins of browsers, and the attempts of those who tried. They live in memory
// only: a restart of the host ends them. Safe for concurrent use.
type logins struct {
	now func() time.Time

	mu      sync.Mutex
	open    map[[sha256.Size]byte]caller // by the hash of the cookie
	sources map[netip.Prefix]*rate.Limiter
	others  *rate.Limiter
}

func newLogins(now func() time.Time) *logins {
	return &logins{
		now: now, open: make(map[[sha256.Size]byte]caller), sources: make(map[netip.Prefix]*rate.Limiter), others: newAttempts(),
	}
}

func newAttempts() *rate.Limiter { return rate.NewLimiter(rate.Every(attemptEvery), attemptsBurst) }

// begin starts a login.
func (l *logins) begin(key string, role Role) (cookie string, who caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep()
	if len(l.open) >= loginsMax {
		var oldest [sha256.Size]byte
		first := true
		for id, c := range l.open {
			if first || cmp.Compare(c.expires.UnixNano(), l.open[oldest].expires.UnixNano()) < 0 {
				oldest, first = id, false
			}
		}
		delete(l.open, oldest)
	}
	cookie = newToken()
	who = caller{name: key, role: role, csrf: newToken(), expires: l.now().Add(loginLife)}
	l.open[sha256.Sum256([]byte(cookie))] = who
	return cookie, who
}

// sweep forgets logins that have expired. The caller holds mu.
func (l *logins) sweep() {
	now := l.now()
	for id, c := range l.open {
		if !now.Before(c.expires) {
			delete(l.open, id)
		}
	}
}

func (l *logins) find(cookie string) (caller, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	who, ok := l.open[sha256.Sum256([]byte(cookie))]
	return who, ok && l.now().Before(who.expires)
}

func (l *logins) end(cookie string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, sha256.Sum256([]byte(cookie)))
}

func (l *logins) endAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.open)
}

// attempt counts an attempt of a source, also one that will succeed, so that several at once
// are not more than the limit. It returns how long to wait if there were too many.
func (l *logins) attempt(from netip.Prefix) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, own := l.now(), l.limiter(from)
	if own.AllowN(now, 1) {
		return 0
	}
	return time.Duration((1 - own.TokensAt(now)) * float64(attemptEvery))
}

// limiter returns the attempts of a source. The caller holds mu.
func (l *logins) limiter(from netip.Prefix) *rate.Limiter {
	if own := l.sources[from]; own != nil {
		return own
	}
	if len(l.sources) >= sourcesMax {
		for source, own := range l.sources {
			if own.TokensAt(l.now()) >= attemptsBurst {
				delete(l.sources, source)
			}
		}
	}
	if len(l.sources) >= sourcesMax {
		return l.others
	}
	own := newAttempts()
	l.sources[from] = own
	return own
}

// sourceOf is the address of a request, as far as it belongs to one place. Of a proxy on this
// machine or in a private network it is the last address that the proxy names: otherwise one
// guest who guesses keys would keep out all others. A caller there could name any; their
// attempts are limited by those that are counted together once there are too many sources.
func sourceOf(r *http.Request) netip.Prefix {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	from := at.Addr().Unmap()
	if from.IsLoopback() || from.IsPrivate() {
		all := r.Header.Values("X-Forwarded-For")
		if len(all) > 0 {
			named := all[len(all)-1]
			named = strings.TrimSpace(named[strings.LastIndexByte(named, ',')+1:])
			if client, err := netip.ParseAddr(named); err == nil {
				from = client.Unmap()
			}
		}
	}
	return transport.SourceOf(from)
}

func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
