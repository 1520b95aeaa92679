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

// Reloadable returns the keys that Host.Reload can change in a running host. A key includes all keys below
// it.
func Reloadable() []string {
	return []string{
		"api.keys", "api.rate", "api.burst", "api.skew",
		"events.sinks", "events.sse.secret", "events.sse.secretFile", "events.sse.secretEnv", "log.level",
	}
}

type reloads struct {
	mu      sync.Mutex
	config  Config // configuration in force; guarded by mu
	levelBy string // the operator who set the log level; empty if the configuration did; guarded by mu

	auth  atomic.Pointer[awswire.Authenticator]
	keys  atomic.Pointer[[]awswire.Key] // access keys with their secrets
	token atomic.Pointer[string]        // bearer token of the event stream
}

// authenticate is an awswire.Authenticator that uses the access keys in force.
func (s *reloads) authenticate(r *http.Request) (awswire.Proof, error) { return (*s.auth.Load())(r) }

// streamToken returns the token of the event stream in force, or "" if there is none.
func (s *reloads) streamToken() string { return *s.token.Load() }

// loadSecrets reads the access keys and the token of the event stream from their files, and puts them in
// force.
func (s *reloads) loadSecrets(c *Config) error {
	keys, err := c.loadKeys()
	if err != nil {
		return err
	}
	auth, err := c.authenticator(keys)
	if err != nil {
		return err
	}
	token, err := secretOf(c.Events.SSE.Secret, c.Events.SSE.SecretFile)
	if err != nil {
		return fmt.Errorf("host: events.sse.secretFile: %w", err)
	}
	s.auth.Store(&auth)
	s.keys.Store(&keys)
	s.token.Store(&token)
	return nil
}

// Reload applies the keys of a new configuration that a running host can change (see Reloadable). It also
// reads secrets and certificates from their files again. It returns the keys that have changed: applied are
// in force now, restart need a restart. On an error, no key of the configuration has changed.
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
		// the guards of the pages and the listeners depend on whether calls are signed
		"api.keys":     c.API.signed() != s.config.API.signed(),
		"log.level":    h.setLogLevel == nil,
		"events.sinks": given.Own() != h.own, // game sessions decide at the start whether to report events
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
	h.console.EndLogins() // the key of a login may no longer be valid
	if h.setLogLevel != nil {
		level, _ := zerolog.ParseLevel(next.Log.Level) // cannot fail after Validate
		h.setLogLevel(level)
	}
	s.config, s.levelBy = next, ""
	return applied, restart, nil
}
