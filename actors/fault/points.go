package fault

import "slices"

// Variable is the environment variable that is read at the first Hit, unless Set was
// called before, in binaries that are Enabled.
const Variable = "TROUPE_FAULTS"

// Points in the code, as Hit takes them. A new one belongs into names, too.
const (
	// StoreWrite is before the first change of a batch is written.
	StoreWrite = "store.write"
	// StoreCommit is after the last change of a batch is written, before the commit.
	StoreCommit = "store.commit"
	// StoreCommitted is after the commit, before anybody is told. An error changes nothing.
	StoreCommitted = "store.committed"
	// StoreAnswered is after all of a batch were told. An error changes nothing.
	StoreAnswered = "store.answered"
	// StoreCheckpoint is before the log is moved into the database.
	StoreCheckpoint = "store.checkpoint"
	// StoreCheckpointed is after that. An error changes nothing.
	StoreCheckpointed = "store.checkpointed"
	// PlacementLaunched is after a game session was made for a placement, and is durable.
	// An error changes nothing.
	PlacementLaunched = "placement.launched"
	// PlacementSeated is after the players of a placement have their seats, before it is
	// FULFILLED. An error changes nothing.
	PlacementSeated = "placement.seated"
	// MatchPlacing is after the tickets of a match are PLACING, before its placement is
	// started. An error changes nothing.
	MatchPlacing = "match.placing"
	// MatchFilled is after a running game session has the players of a match, durable, before their
	// tickets are COMPLETED. An error changes nothing.
	MatchFilled = "match.filled"
)

var names = []string{StoreWrite, StoreCommit, StoreCommitted, StoreAnswered, StoreCheckpoint, StoreCheckpointed, PlacementLaunched, PlacementSeated, MatchPlacing, MatchFilled}

// Names returns all points, also in a binary that has none of them.
func Names() []string { return slices.Clone(names) }
