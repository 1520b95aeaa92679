package store

import (
	"encoding/json"
	"errors"
)

// Kind groups records; it is part of their key.
type Kind string

// Kinds of records.
const (
	Script        Kind = "script"        // messages.Script
	Content       Kind = "content"       // a script's zip: its newest, and the last one that ran
	Fleet         Kind = "fleet"         // messages.Fleet with its events
	Alias         Kind = "alias"         // messages.Alias
	Location      Kind = "location"      // messages.Location, a custom one
	Queue         Kind = "queue"         // messages.Queue
	Placement     Kind = "placement"     // messages.Placement
	RuleSet       Kind = "ruleset"       // messages.RuleSet
	Matchmaker    Kind = "matchmaker"    // messages.Matchmaker
	Ticket        Kind = "ticket"        // messages.Ticket
	Match         Kind = "match"         // messages.Match, until its tickets have ended
	MatchedGame   Kind = "matchedgame"   // messages.MatchedGame, until its game session has ended
	GameSession   Kind = "gamesession"   // messages.GameSession with its request
	PlayerSession Kind = "playersession" // messages.PlayerSession
	Event         Kind = "event"         // messages.Event, until every sink has it
	Ban           Kind = "ban"           // bans.Ban, by player id, until it is over and another one comes
	Trial         Kind = "trial"         // contents of scripts that are being loaded or started, by their files
	Configured    Kind = "configured"    // the generation of a cluster's configured resources
	Secret        Kind = "secret"        // random bytes that only the host knows, by purpose
)

// Errors of Commit.
var (
	// ErrBusy says that too many changes wait to be written.
	ErrBusy = errors.New("store: too much waits to be written")
	// ErrClosed says that the store is closed.
	ErrClosed = errors.New("store: closed")
)

// Change is one record to be written, or deleted if Value is nil.
type Change struct {
	Kind  Kind
	ID    string
	Value []byte
}

// Put returns the change that writes v as JSON. It panics if v cannot be encoded, which is a bug: records are made of plain values.
func Put(kind Kind, id string, v any) Change {
	value, err := json.Marshal(v)
	if err != nil {
		panic("store: " + err.Error())
	}
	return Change{kind, id, value}
}

// Delete returns the change that deletes a record. Deleting an absent record is no error.
func Delete(kind Kind, id string) Change { return Change{Kind: kind, ID: id} }

// Store keeps records. Its methods may be called from any goroutine.
type Store interface {
	// Load calls f with every record of a kind, in order of id, and stops at an error. It is for the start: commits may wait for it. F must
	// not keep or modify value. Records that have changed since they were written are returned as damaged instead, and stay in the store
	// until they are overwritten or deleted.
	Load(kind Kind, f func(id string, value []byte) error) (damaged []Damage, err error)
	// Commit queues changes and returns at once. They become durable together, in the order of calls; the caller must not modify them.
	// Done, which may be nil, is called once, from any goroutine, maybe before Commit returns, and must not block. If it gets an error,
	// none of the changes is or becomes durable. Of commits that are refused together, the last one is answered first, so that the owner
	// can release each before those that it depends on.
	Commit(changes []Change, done func(error))
	Flush() // returns when everything that was committed before is durable or refused
	// Close flushes, and closes. Later commits are refused with ErrClosed.
	Close() error
}
