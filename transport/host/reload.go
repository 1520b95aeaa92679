package host

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"troupe/transport/awswire"
)

// Reloadable returns the keys that a running host takes over (see Host.Reload). A key stands for those below it, too.
func Reloadable() []string {
	return []string{
		"api.keys", "api.rate", "api.burst", "api.skew",
		"events.sinks", "events.sse.secret", "events.sse.secretFile", "events.sse.secretEnv", "log.level",
	}
}

type reloads struct {
	mu      sync.Mutex
	config  Config // guarded by mu: what is in force
	levelBy string // guarded by mu: the operator who has set the level of the log; empty if that is the configuration's

	auth  atomic.Pointer[awswire.Authenticator]
	token atomic.Pointer[string] // of the event stream
}

// authenticate is an awswire.Authenticator with the keys that are in force.
func (s *reloads) authenticate(r *http.Request) (awswire.Proof, error) { return (*s.auth.Load())(r) }

// streamToken returns the token of the event stream that is in force; empty for none.
func (s *reloads) streamToken() string { return *s.token.Load() }

// loadSecrets reads the access keys and the token of the event stream, and puts them in force.
func (s *reloads) loadSecrets(c *Config) error {
	auth, err := c.authenticator()
	if err != nil {
		return err
	}
	token, err := secretOf(c.Events.SSE.Secret, c.Events.SSE.SecretFile)
	if err != nil {
		return fmt.Errorf("host: events.sse.secretFile: %w", err)
	}
	s.auth.Store(&auth)
	s.token.Store(&token)
	return nil
}

// Reload takes over the keys of a new configuration that a running host can change (see Reloadable), and reads secrets and certificates
// from their files again. It returns the keys that have changed: those that are in force now, and those that need a restart. On an error
// nothing of the configuration has changed.
func (h *Host) Reload(c Config) (applied, restart []string, err error) {
	if err := c.Validate(); err != nil {
		return nil, nil, fmt.Errorf("host: configuration: %w", err)
	}
	s := &h.reloads
	s.mu.Lock()
	defer s.mu.Unlock()
	given, err := c.eventOptions()
	if err != nil {
		return nil, nil, err
	}
	fixed := map[string]bool{
		"api.keys":     c.API.signed() != s.config.API.signed(), // the guards of the pages and listeners depend on it
		"log.level":    h.setLogLevel == nil,
		"events.sinks": given.Own() != h.own, // what the game sessions tell is decided at the start
	}
	next := s.config
	values := make(map[string]reflect.Value)
	each(reflect.ValueOf(c), "", func(key string, v reflect.Value) { values[key] = v })
	each(reflect.ValueOf(&next).Elem(), "", func(key string, v reflect.Value) {
		from, reloadable := values[key], slices.Contains(Reloadable(), key) && !fixed[key]
		same := reflect.DeepEqual(v.Interface(), from.Interface()) || v.Kind() == reflect.Slice && v.Len() == 0 && from.Len() == 0
		switch {
		case !same && reloadable:
			applied = append(applied, key)
		case !same:
			restart = append(restart, key)
		}
		if reloadable {
			v.Set(from)
		}
	})
	sinks, err := next.eventOptions()
	if err != nil {
		return nil, nil, err
	}
	if h.listeners.certs != nil {
		if err := h.listeners.certs.Reload(); err != nil {
			return nil, nil, err
		}
	}
	if err := s.loadSecrets(&next); err != nil {
		return nil, nil, err
	}
	if err := h.replaceSinks(sinks.Sinks); err != nil {
		return nil, nil, err
	}
	h.console.EndLogins() // with keys that may not be in force any more
	if h.setLogLevel != nil {
		level, _ := zerolog.ParseLevel(next.Log.Level) // Validate has checked it
		h.setLogLevel(level)
	}
	s.config, s.levelBy = next, ""
	return applied, restart, nil
}
