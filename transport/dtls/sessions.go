package dtls

import (
	"slices"
	"sync"
	"time"
)

// sessionLifetime is how long a session may be resumed (RFC 5246 F.1.4 allows up to a day).
const sessionLifetime = time.Hour

// Sessions is an in-memory cache of DTLS sessions. Resuming a session saves a round trip, and saves both sides the key
// exchange. The cache is bounded: a new entry evicts the oldest one. It is safe for concurrent use.
type Sessions struct {
	most int

	mu    sync.Mutex
	byKey map[string]session
	order []string // keys, oldest first
}

type session struct {
	id, secret []byte
	made       time.Time
}

// NewSessions returns a client's cache, for at most 64 hosts.
func NewSessions() *Sessions { return newSessions(64) }

func newSessions(most int) *Sessions {
	return &Sessions{most: most, byKey: make(map[string]session)}
}

func (s *Sessions) put(key string, id, secret []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.byKey[key]; !known {
		s.order = append(s.order, key)
	}
	s.byKey[key] = session{id: append([]byte(nil), id...), secret: append([]byte(nil), secret...), made: time.Now()}
	for len(s.order) > s.most {
		delete(s.byKey, s.order[0])
		s.order = s.order[1:]
	}
}

func (s *Sessions) get(key string) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.byKey[key]
	if ok && time.Since(found.made) > sessionLifetime {
		s.forget(key)
		return session{}, false
	}
	return found, ok
}

func (s *Sessions) drop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(key)
}

// forget removes a session. The search takes linear time, but it is called rarely. The caller holds mu.
func (s *Sessions) forget(key string) {
	if _, ok := s.byKey[key]; ok {
		delete(s.byKey, key)
		s.order = slices.DeleteFunc(s.order, func(k string) bool { return k == key })
	}
}
