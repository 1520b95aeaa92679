package host

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"troupe/actors/store"
	"troupe/messages"
	"troupe/transport/console"
)

// operations implements console.Operations.
type operations struct{ *Host }

// Bans returns the bans in force.
func (h operations) Bans() []messages.Ban { return h.bans.All(time.Now()) }

// AwaitBans returns when the bans that other nodes have made or lifted before are in force or lifted here.
func (h operations) AwaitBans(ctx context.Context) error {
	if h.node == nil {
		return nil
	}
	return unavailable(ctx, h.node.follower.Synced(ctx))
}

// LogLevel returns the log level that the configuration or an operator has set most recently.
func (h operations) LogLevel() string {
	h.reloads.mu.Lock()
	defer h.reloads.mu.Unlock()
	return h.reloads.config.Log.Level
}

// SetLogLevel sets the log level. The next reload replaces it.
func (h operations) SetLogLevel(level, by string) error {
	h.reloads.mu.Lock()
	defer h.reloads.mu.Unlock()
	to, err := zerolog.ParseLevel(level)
	if err == nil && h.setLogLevel == nil {
		err = errors.New("the level of this host's log is not the host's to change")
	}
	if err != nil {
		return err
	}
	h.setLogLevel(to)
	h.reloads.config.Log.Level, h.reloads.levelBy = level, by
	return nil
}

// Acted commits and publishes the event of an operator's action.
func (h operations) Acted(a console.Action) {
	detail, err := json.Marshal(struct {
		Type string `json:"type"`
		console.Action
	}{"OperatorAction", a})
	if err != nil {
		panic(err) // Marshal cannot fail: all fields are text
	}
	e := messages.Event{ID: uuid.Must(uuid.NewV7()).String(), Kind: messages.EventOperator, Type: "OperatorAction", Time: time.Now(), ARN: "operator", Detail: detail}
	h.store.Commit([]store.Change{store.Put(store.Event, e.ID, e)}, func(err error) {
		if err == nil {
			h.events.Post(e)
		}
	})
}

// ClosedConnections returns the connections that were closed most recently.
func (h operations) ClosedConnections() []messages.ClosedConnection {
	if g := h.gateway.Load(); g != nil {
		return g.Closed()
	}
	return nil
}
