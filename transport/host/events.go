package host

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/store"
	"troupe/actors/store/shared"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/events"
)

// Events configures the destinations of events (service-api.md 5).
type Events struct {
	Sinks []EventSink `config:"sinks" level:"common"`
	SSE   EventStream `config:"sse"`
}

// EventSink is a destination of events. At most one of Secret, SecretFile and SecretEnv may be set.
type EventSink struct {
	Name string `config:"name"` // unique name, used in the log
	// Type is webhook-sns (POST in the format of an SNS notification), webhook-raw (POST of the event itself)
	// or file (JSON lines).
	Type string `config:"type" values:"webhook-sns,webhook-raw,file"`
	URL  string `config:"url"` // URL of a webhook: http or https
	// Secret is the key that signs webhooks (X-Signature-256). Webhook-raw requires one. Only the owner may
	// then have access to the configuration file.
	Secret string `config:"secret"`
	// SecretFile is the path of a file with the secret; only its owner may have access.
	SecretFile string `config:"secretFile"`
	// SecretEnv is the name of an environment variable with the secret; it must not begin with TROUPE_.
	SecretEnv string `config:"secretEnv"`
	// Path is the path of the file of a file sink; its folder must exist.
	Path string `config:"path"`
	// MaxBytes is the maximum number of bytes in a file, after which the next file begins; 0: 64 MiB.
	MaxBytes int `config:"maxBytes"`
	Files    int `config:"files"` // number of files that are kept; 0: 4
	// NotificationTargets whose events the sink gets; * and ? are wildcards
	Targets []string `config:"targets"`
	// Kinds are the kinds of events that the sink gets: placement, matchmaking, gamesession, playersession
	// and operator. If it is empty, they are placement and matchmaking.
	Kinds []string `config:"kinds"`
	// All is whether the sink gets the events of all queues and matchmaking configurations, whatever their
	// NotificationTarget.
	All bool `config:"all"`
}

// EventStream configures GET /events. Readers need the secret as their bearer token, or an access key that
// allows every operation. If there is neither a secret nor a key, readers on this machine are accepted.
type EventStream struct {
	Own    bool `config:"own"`    // whether to also send events of game sessions and player sessions
	Buffer int  `config:"buffer"` // number of events that are kept for readers that reconnect; 0: 1024
	// Secret is the bearer token of readers. Only the owner may then have access to the configuration file.
	Secret     string `config:"secret"`
	SecretFile string `config:"secretFile"` // path of a file with the token; only its owner may have access
	SecretEnv  string `config:"secretEnv"`  // name of an environment variable with the token; it must not begin with TROUPE_
}

func (v *checks) events(e *Events) {
	seen := map[string]bool{}
	for i := range e.Sinks {
		s, key := &e.Sinks[i], fmt.Sprintf("events.sinks[%d]", i)
		v.once(seen, key+".name", s.Name)
		secret := s.Secret
		if v.secret(key, s.Secret, s.SecretFile, s.SecretEnv); s.SecretFile != "" {
			secret = "read at the start"
		}
		o := s.options(secret)
		v.err(key, o.Validate())
	}
	v.that("events.sinks", len(e.Sinks) <= events.SinksMax, fmt.Sprintf("must be at most %d", events.SinksMax))
	v.secret("events.sse", e.SSE.Secret, e.SSE.SecretFile, e.SSE.SecretEnv)
	v.that("events.sse.buffer", e.SSE.Buffer >= 0 && e.SSE.Buffer <= 100_000, "must be 0 to 100000")
}

func (s *EventSink) options(secret string) events.SinkOptions {
	o := events.SinkOptions{
		Name: s.Name, Type: s.Type, URL: s.URL, Secret: secret, Path: s.Path, FileBytesMax: int64(s.MaxBytes), Files: s.Files,
		Targets: s.Targets, All: s.All,
	}
	for _, k := range s.Kinds {
		o.Kinds = append(o.Kinds, messages.EventKind(k))
	}
	return o
}

// eventOptions returns the options of package events. It reads the secret files.
func (c *Config) eventOptions() (events.Options, error) {
	e := &c.Events
	o := events.Options{Region: c.Region, Account: c.Account, Stream: events.StreamOptions{Own: e.SSE.Own, Buffer: e.SSE.Buffer}}
	for i, s := range e.Sinks {
		secret, err := secretOf(s.Secret, s.SecretFile)
		if err != nil {
			return o, fmt.Errorf("host: events.sinks[%d].secretFile: %w", i, err)
		}
		o.Sinks = append(o.Sinks, s.options(secret))
	}
	return o, nil
}

// startEvents starts the delivery of events. Events that the previous process did not deliver come first.
func (h *Host) startEvents(options Options) error {
	c, log, count := &options.Config, options.Log, h.count
	o, err := c.eventOptions()
	if err != nil {
		return err
	}
	h.own = o.Own()
	o.Outbox, o.Log, o.Counters = &outbox{host: h, store: h.store, log: log, count: count, said: make(map[string]bool)}, log, count
	if n := h.node; n != nil {
		o.Node, o.Follow = n.name, n.followEvents
	}
	if options.Network != nil {
		o.DialContext = options.Network.DialContext
	}
	if h.events, err = events.New(o); err != nil {
		return fmt.Errorf("host: %w", err)
	}
	h.sinks = o.Sinks
	return nil
}

// replaceSinks switches the delivery to other sinks. It does nothing if sinks is unchanged. Only one
// goroutine may call it.
func (h *Host) replaceSinks(sinks []events.SinkOptions) error {
	if reflect.DeepEqual(sinks, h.sinks) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), eventsCloseWait)
	defer cancel()
	if err := h.events.Replace(ctx, sinks); err != nil {
		return fmt.Errorf("host: %w", err)
	}
	h.sinks = sinks
	return nil
}

// eventsCloseWait is how long the host waits for deliveries when it stops. Undelivered events are sent after
// the next start.
const eventsCloseWait = 2 * time.Second

func (h *Host) stopEvents() {
	if h.events == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), eventsCloseWait)
	defer cancel()
	h.events.Close(ctx)
}

// outbox implements events.Outbox with the store.
type outbox struct {
	host  *Host
	store store.Store
	log   zerolog.Logger
	count *counters.Set

	mu   sync.Mutex
	said map[string]bool // ids of damaged events that were already reported; guarded by mu
}

// Load implements events.Outbox. Damaged events are skipped and stay in the store.
func (o *outbox) Load(f func(id string, value []byte) error) error {
	var senseless []store.Damage
	checked := func(id string, value []byte) error {
		if err := actors.CheckEvent(value); err != nil {
			senseless = append(senseless, store.Damage{Kind: store.Event, ID: id, Err: err})
			return nil
		}
		return f(id, value)
	}
	damaged, err := o.store.Load(store.Event, checked)
	if term := o.host.term(); term != nil && err == nil {
		if _, err = term.Load(store.Event, checked); errors.Is(err, shared.ErrOver) {
			err = nil // they are the next leader's
		}
	}
	o.report(append(damaged, senseless...))
	return err
}

// report counts and logs each damaged event once.
func (o *outbox) report(damaged []store.Damage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	damaged = slices.DeleteFunc(damaged, func(d store.Damage) bool { return o.said[d.ID] })
	for _, d := range damaged {
		o.said[d.ID] = true
	}
	actors.ReportDamaged(o.log, o.count, damaged)
}

// Commit implements events.Outbox.
func (o *outbox) Commit(changes []events.Change, done func(error)) {
	all := make([]store.Change, len(changes))
	for i, c := range changes {
		all[i] = store.Change{Kind: store.Event, ID: c.ID, Value: c.Value}
	}
	o.store.Commit(all, done)
	term := o.host.term() // the leader has stored the events of placements and matchmaking there
	delivered := slices.DeleteFunc(slices.Clone(all), func(c store.Change) bool { return c.Value != nil })
	if term != nil && len(delivered) > 0 {
		term.Commit(delivered, nil)
	}
}
