package console

import (
	"crypto/sha256"
	"maps"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"troupe/transport"
	tries "troupe/transport/internal/list"
)

const (
	loginLife = 8 * time.Hour // lifetime of a login, even if it is used
	loginsMax = 64            // maximum number of logins; another one ends the oldest
	// Failed attempts that a source may make in a burst, and the interval at which it gets another one.
	attemptsBurst = 5
	attemptEvery  = 10 * time.Second
	sourcesMax    = 1024 // maximum number of sources whose attempts are counted
)

// logins stores the logins of browsers and the failed attempts of sources, in memory only. It is safe for
// concurrent use.
type logins struct {
	mu      sync.Mutex
	open    map[[sha256.Size]byte]caller // by the SHA-256 of the cookie
	sources map[netip.Prefix]*source
	byTry   tries.List[*source] // least recent attempt first
}

func newLogins() *logins {
	return &logins{open: make(map[[sha256.Size]byte]caller), sources: make(map[netip.Prefix]*source)}
}

func (l *logins) begin(key string, role Role) (cookie string, who caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(l.open, func(_ [sha256.Size]byte, c caller) bool { return !now.Before(c.expires) })
	if len(l.open) >= loginsMax {
		delete(l.open, slices.MinFunc(slices.Collect(maps.Keys(l.open)), func(a, b [sha256.Size]byte) int {
			return l.open[a].expires.Compare(l.open[b].expires)
		}))
	}
	cookie = newToken()
	who = caller{name: key, role: role, csrf: newToken(), expires: now.Add(loginLife)}
	l.open[sha256.Sum256([]byte(cookie))] = who
	return cookie, who
}

func (l *logins) find(cookie string) (caller, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	who, ok := l.open[sha256.Sum256([]byte(cookie))]
	return who, ok && time.Now().Before(who.expires)
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

// source is an address that has recently tried to log in.
type source struct {
	queued tries.Link[*source]
	prefix netip.Prefix
	full   time.Time // when it has all its attempts again
}

// attempt counts an attempt before its result is known, so that concurrent attempts cannot exceed the limit.
// If there were too many attempts, it returns how long to wait. If there are too many sources, it drops the
// one with the least recent attempt.
func (l *logins) attempt(from netip.Prefix) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, s := time.Now(), l.sources[from]
	switch {
	case s != nil:
		l.byTry.Remove(&s.queued)
	case len(l.sources) >= sourcesMax:
		s = l.byTry.First()
		l.forget(s)
		fallthrough
	default:
		s = &source{prefix: from}
		l.sources[from] = s
	}
	l.byTry.Add(&s.queued, s)
	if s.full.Before(now) {
		s.full = now
	}
	if wait = s.full.Add(attemptEvery).Sub(now) - attemptsBurst*attemptEvery; wait > 0 {
		return wait
	}
	s.full = s.full.Add(attemptEvery)
	return 0
}

// right removes the attempt of a source that has logged in.
func (l *logins) right(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sources[from]
	if s == nil {
		return
	}
	if s.full = s.full.Add(-attemptEvery); !s.full.After(time.Now()) {
		l.forget(s)
	}
}

// forget drops a source and its attempts. The caller holds mu.
func (l *logins) forget(s *source) {
	l.byTry.Remove(&s.queued)
	delete(l.sources, s.prefix)
}

// sourceOf returns the address that a login attempt counts for: the peer of the connection or, if that is a
// trusted proxy, the last address that the proxy names. From other peers the header is ignored, because they
// could name any address.
func sourceOf(r *http.Request, proxies transport.Proxies) netip.Prefix {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	from := at.Addr().Unmap()
	named := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(named) - 1; i >= 0 && proxies.Has(from); i-- {
		name := strings.TrimSpace(named[i])
		client, err := netip.ParseAddr(name)
		if withPort, errPort := netip.ParseAddrPort(name); errPort == nil { // some proxies add the port
			client, err = withPort.Addr(), nil
		}
		if err != nil {
			break
		}
		from = client.Unmap()
	}
	return transport.SourceOf(from)
}

func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
