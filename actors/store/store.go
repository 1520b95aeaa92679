package store

import (
	"encoding/json"
	"errors"
)

// Kind is the kind of a record. It is part of the record's key.
type Kind string

// Kinds of records.
const (
	Script        Kind = "script"        // messages.Script
	Content       Kind = "content"       // a script's zip: its newest content and the last one that ran
	Build         Kind = "build"         // messages.Build
	Fleet         Kind = "fleet"         // messages.Fleet with its events
	Alias         Kind = "alias"         // messages.Alias
	Location      Kind = "location"      // messages.Location (custom locations only)
	Compute       Kind = "compute"       // messages.Compute, by fleet and name
	Process       Kind = "process"       // a process that speaks the Server SDK, by fleet, compute and its own id
	Queue         Kind = "queue"         // messages.Queue
	Placement     Kind = "placement"     // messages.Placement
	RuleSet       Kind = "ruleset"       // messages.RuleSet
	Matchmaker    Kind = "matchmaker"    // messages.Matchmaker
	Ticket        Kind = "ticket"        // messages.Ticket
	Match         Kind = "match"         // messages.Match, until its tickets have ended
	MatchedGame   Kind = "matchedgame"   // messages.MatchedGame, until its game session has ended
	GameSession   Kind = "gamesession"   // messages.GameSession with its request
	PlayerSession Kind = "playersession" // messages.PlayerSession
	Event         Kind = "event"         // messages.Event, until every sink has received it
	Ban           Kind = "ban"           // messages.Ban, by player id; an expired ban is deleted when another ban is added
	Trial         Kind = "trial"         // a content of a script that is being loaded or started, by a hash of its files
	Charge        Kind = "charge"        // the game sessions that a creator has recently created on a fleet of a cluster with a limit
	Configured    Kind = "configured"    // the generation of a cluster's configured resources
	Secret        Kind = "secret"        // random bytes that only the host knows, by their purpose
)

// Errors of Commit.
var (
	// ErrBusy says that too many changes are waiting to be written.
	ErrBusy = errors.New("store: too much waits to be written")
	// ErrClosed says that the store is closed. In a cluster, a change that was in progress may have been made.
	ErrClosed = errors.New("store: closed")
)

// Change is one record to write, or to delete if Value is nil.
type Change struct {
	Kind  Kind
	ID    string
	Value []byte
}

// Put returns the change that writes v as JSON. It panics if v cannot be encoded. That would be a bug, because records
// consist of plain values.
func Put(kind Kind, id string, v any) Change {
	value, err := json.Marshal(v)
	if err != nil {
		panic("store: " + err.Error())
	}
	return Change{kind, id, value}
}

// Delete returns the change that deletes a record. Deleting a record that does not exist is not an error.
func Delete(kind Kind, id string) Change { return Change{Kind: kind, ID: id} }

// Store stores records. Any goroutine may call its methods.
type Store interface {
	// Load calls f with every record of a kind, in the order of ids, and stops at the first error. It is meant for the
	// start, because commits may have to wait for it. f must not keep or modify value. Records that have changed since
	// they were written are not passed to f but returned as damaged. They stay in the store until they are overwritten
	// or deleted.
	Load(kind Kind, f func(id string, value []byte) error) (damaged []Damage, err error)
	// Commit queues changes and returns at once. The changes become durable together, in the order of calls. The caller
	// must not modify them. done may be nil. It is called exactly once, from any goroutine, possibly before Commit
	// returns, and must not block. If it gets an error, none of the changes is or becomes durable. If several commits
	// are refused together, the last one is answered first, so that the owner can undo each commit before those on
	// which it depends.
	Commit(changes []Change, done func(error))
	Flush() // returns when all earlier commits are durable or refused
	// Close flushes and closes the store. Later commits are refused with ErrClosed.
	Close() error
}
