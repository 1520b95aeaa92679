package tlsconf

import (
	"context"
	"slices"
	"time"
)

const warnEvery = 24 * time.Hour

// Watch checks the files and the clock at every interval until ctx ends. It reloads when a file has changed,
// or when the leaf is due for renewal. After a failed reload it tries again, because an error may disappear
// without a change of the files: permissions may be corrected, or a certificate may become valid. It logs
// errors. Once a day, it warns if the certificate or the private CA will expire soon.
func (s *Store) Watch(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.check()
		}
	}
}

func (s *Store) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	due := s.current.Load().renewAt
	changed := !slices.Equal(stampAll(s.source.files()), s.seen) || !due.IsZero() && !now.Before(due)
	if !changed && !s.failed {
		s.warnLocked(now)
		return
	}
	err := s.reloadLocked()
	if err != nil && changed { // log the same error only once
		s.o.Log.Error().Err(err).Msg("certificate not reloaded, the old one stays")
	}
	s.warnLocked(now)
}

// warnLocked logs a warning, at most once a day, if a certificate that only the operator can renew expires
// soon.
func (s *Store) warnLocked(now time.Time) {
	e := s.current.Load().expires
	if !e.soon(now) || now.Before(s.warned.Add(warnEvery)) {
		return
	}
	s.warned = now
	what := "certificate is near its end"
	if e.private {
		what = "the private CA is near its end: troupe tls rotate --prepare makes the next one, for devices to trust it before"
	}
	s.o.Log.Warn().Str("file", e.file).Time("not_after", e.end).Msg(what)
}
