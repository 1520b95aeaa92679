package events

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
)

// Types of sinks (service-api.md 5.4).
const (
	TypeSNS  = "webhook-sns" // POST in the format of an SNS notification
	TypeRaw  = "webhook-raw" // POST of the event itself
	TypeFile = "file"        // JSON lines
)

// SinkOptions configures one sink.
type SinkOptions struct {
	Name         string // unique among all sinks
	Type         string
	URL          string               // URL of a webhook: http or https
	Secret       string               // key of X-Signature-256; webhook-raw needs one
	Path         string               // path of a file sink; its folder must exist
	FileBytesMax int64                // maximum size of a file in bytes; 0: 64 MiB
	Files        int                  // number of files that are kept; 0: 4
	Targets      []string             // NotificationTargets whose events the sink gets; patterns of path.Match
	All          bool                 // whether the sink gets the events of every queue and matchmaking configuration
	Kinds        []messages.EventKind // kinds of events that the sink gets; empty: placement and matchmaking
}

// SinksMax is the maximum number of sinks.
const SinksMax = 32

const (
	queueMax       = 1000             // events that wait in memory for one sink; further ones stay in the outbox
	attemptTimeout = 10 * time.Second // timeout of one delivery
	giveUpAfter    = time.Hour        // age at which an undelivered event is dropped
	retryMin       = time.Second      // first pause between two attempts
	retryMax       = time.Minute      // longest pause between two attempts
	width          = 8                // concurrent deliveries of a webhook
	warnedMax      = 1000             // maximum number of targets without a sink for which a warning was logged
)

// Validate checks the options of a sink. The error does not name the sink.
func (o *SinkOptions) Validate() error {
	switch {
	case o.Name == "":
		return errors.New("has no name")
	case o.Type != TypeSNS && o.Type != TypeRaw && o.Type != TypeFile:
		return fmt.Errorf("type: must be %s, %s or %s", TypeSNS, TypeRaw, TypeFile)
	case (o.Path == "") == (o.Type == TypeFile):
		return errors.New("path: must be set for a file, and only there")
	case (o.URL == "") != (o.Type == TypeFile):
		return errors.New("url: must be set for a webhook, and only there")
	case o.Type == TypeRaw && o.Secret == "":
		return errors.New("secret: webhook-raw needs one")
	case o.Type == TypeFile && o.Secret != "":
		return errors.New("secret: a file is not signed")
	case o.FileBytesMax < 0 || o.Files < 0:
		return errors.New("the bounds of a file must not be negative")
	}
	if u, err := url.Parse(o.URL); o.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("url: must be an http or https address")
	}
	for _, pattern := range o.Targets {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("targets: %q is not a valid pattern", pattern)
		}
	}
	for _, k := range o.Kinds {
		if !k.Vendor() && k != messages.EventGameSession && k != messages.EventPlayerSession && k != messages.EventOperator {
			return fmt.Errorf("kinds: must be placement, matchmaking, gamesession, playersession or operator, not %q", string(k))
		}
	}
	if (o.takesKind(messages.EventPlacement) || o.takesKind(messages.EventMatchmaking)) && len(o.Targets) == 0 && !o.All {
		return errors.New("targets: must name targets of placements or matchmaking, unless all is set")
	}
	return nil
}

func (o *SinkOptions) takesKind(k messages.EventKind) bool {
	if len(o.Kinds) == 0 {
		return k.Vendor()
	}
	return slices.Contains(o.Kinds, k)
}

// takes reports whether the sink subscribes to an event. Only events of placements and matchmaking have
// targets.
func (o *SinkOptions) takes(e *messages.Event) bool {
	return o.takesKind(e.Kind) && (!e.Kind.Vendor() || o.All || o.maps(e.Target))
}

func (o *SinkOptions) maps(target string) bool {
	return target != "" && slices.ContainsFunc(o.Targets, func(pattern string) bool {
		ok, _ := path.Match(pattern, target)
		return ok
	})
}

// isFIFO reports whether a target must receive the events of a queue in order.
func isFIFO(target string) bool { return strings.HasSuffix(target, ".fifo") }

// StreamOptions configures GET /events.
type StreamOptions struct {
	Own    bool // whether to show events of game sessions and player sessions
	Buffer int  // number of events that are kept for readers that reconnect; 0: 1,024
}

// Options configures a Dispatcher.
type Options struct {
	Region, Account string
	Sinks           []SinkOptions
	Stream          StreamOptions
	Outbox          Outbox // stores events until every sink has received them; required
	Log             zerolog.Logger
	Counters        *counters.Set // required
	Node            string        // name of this node, which the stream shows; empty: the host has no cluster
	// Follow adds the events of the other nodes of a cluster, until ctx ends. It is called while somebody reads the
	// stream. Nil: the host has no cluster.
	Follow func(ctx context.Context)
	// DialContext opens connections to webhooks. Nil means the network of the operating system.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	queue int // queue length of each sink, for tests; 0: queueMax
}

// Outbox stores events by id until every sink has received them. It must be safe for concurrent use.
type Outbox interface {
	// Load calls f with every event, in order of ids, and stops if f returns an error. f must not keep or
	// change value.
	Load(f func(id string, value []byte) error) error
	// Commit writes changes atomically. It does not wait: it calls done once when they are durable or have
	// failed.
	Commit(changes []Change, done func(error))
}

// Change replaces an event in the outbox, or deletes it if Value is nil.
type Change struct {
	ID    string
	Value []byte
}

// Own reports whether any sink or the stream subscribes to events of game sessions or player sessions. If
// not, the host need not create them.
func (o *Options) Own() bool {
	return o.Stream.Own || slices.ContainsFunc(o.Sinks, func(s SinkOptions) bool {
		return s.takesKind(messages.EventGameSession) || s.takesKind(messages.EventPlayerSession)
	})
}

func (o *Options) validate() error {
	if len(o.Sinks) > SinksMax {
		return fmt.Errorf("events: %d sinks, at most %d are possible", len(o.Sinks), SinksMax)
	}
	seen, files := map[string]bool{}, map[string]bool{}
	for _, s := range o.Sinks {
		if err := s.Validate(); err != nil {
			return fmt.Errorf("events: sink %q: %w", s.Name, err)
		}
		if seen[s.Name] {
			return fmt.Errorf("events: sink %q is there twice", s.Name)
		}
		seen[s.Name] = true
		if s.Path == "" {
			continue
		}
		file, err := filepath.Abs(s.Path)
		if err != nil {
			return fmt.Errorf("events: sink %q: %w", s.Name, err)
		}
		if files[file] { // two sinks with one file would truncate each other's lines
			return fmt.Errorf("events: sink %q: another one has its file", s.Name)
		}
		files[file] = true
	}
	if o.Outbox == nil {
		return errors.New("events: no outbox")
	}
	return nil
}
