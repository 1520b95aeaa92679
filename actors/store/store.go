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
	Content       Kind = "content"       // the zip of a script's newest content, and of the last that ran
	Fleet         Kind = "fleet"         // messages.Fleet with its events
	Alias         Kind = "alias"         // messages.Alias
	Location      Kind = "location"      // messages.Location, a custom one
	Queue         Kind = "queue"         // messages.Queue
	Placement     Kind = "placement"     // messages.Placement
	GameSession   Kind = "gamesession"   // messages.GameSession with its request
	PlayerSession Kind = "playersession" // messages.PlayerSession
	Event         Kind = "event"         // messages.Event, until every sink has it
	Secret        Kind = "secret"        // bytes that only the host knows, by what they are for
)

// Errors of Commit.
var (
	// ErrBusy says that too much waits to be written.
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

// Put returns the change that writes v as JSON. It panics if v cannot be encoded:
// records are made of plain values.
func Put(kind Kind, id string, v any) Change {
	value, err := json.Marshal(v)
	if err != nil {
		panic("store: " + err.Error())
	}
	return Change{kind, id, value}
}

// Delete returns the change that deletes a record; one that is not there is no error.
func Delete(kind Kind, id string) Change { return Change{Kind: kind, ID: id} }

// Store keeps records. Its methods may be called from any goroutine.
type Store interface {
	// Load calls f with every record of a kind, in order of id, and stops at an error.
	// It is meant for the start: commits may wait for it. Value must not be kept or changed.
	// Records that are not what was written are left out, and are returned as damaged. They
	// stay in the store until something else is committed in their place.
	Load(kind Kind, f func(id string, value []byte) error) (damaged []Damage, err error)
	// Commit queues changes, which become durable together and in the order of calls,
	// and returns at once. It keeps changes, which must not change any more. Done, which
	// may be nil, is called once, from any goroutine, maybe before Commit returns, and
	// must not block. With an error none of the changes is there, nor will be. Of commits
	// that are refused together the last is told first: each is taken back while what it
	// was made on is still there.
	Commit(changes []Change, done func(error))
	// Flush returns when everything that was committed before is durable or refused.
	Flush()
	// Close flushes, and closes. Later commits are refused with ErrClosed.
	Close() error
}
