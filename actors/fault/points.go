package fault

import "slices"

// Variable is the environment variable with the specification. In a binary with failpoints, the first Hit reads it,
// unless Set has been called.
const Variable = "TROUPE_FAULTS"

// Names of the points. A new point must also be added to names. The action error has an effect only at StoreWrite,
// StoreCommit and StoreCheckpoint.
const (
	StoreWrite        = "store.write"        // before the first change of a batch is written
	StoreCommit       = "store.commit"       // after the last change of a batch is written, before the commit
	StoreCommitted    = "store.committed"    // after the commit, before anyone is notified
	StoreAnswered     = "store.answered"     // after all commits of a batch have been answered
	StoreCheckpoint   = "store.checkpoint"   // before the log is checkpointed into the database
	StoreCheckpointed = "store.checkpointed" // after the checkpoint
	PlacementLaunched = "placement.launched" // a game session for a placement has been created and is durable
	PlacementSeated   = "placement.seated"   // the player sessions of a placement have been created; it is not FULFILLED yet
	MatchPlacing      = "match.placing"      // the tickets of a match are PLACING; its placement has not been started yet
	MatchFilled       = "match.filled"       // a running game session durably has the players of a match, and their tickets are not COMPLETED yet
)

var names = []string{StoreWrite, StoreCommit, StoreCommitted, StoreAnswered, StoreCheckpoint, StoreCheckpointed, PlacementLaunched, PlacementSeated, MatchPlacing, MatchFilled}

// Names returns the names of all points, even in a binary without failpoints.
func Names() []string { return slices.Clone(names) }
