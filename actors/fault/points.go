package fault

import "slices"

// Variable is the environment variable that is read at the first Hit, unless Set was called before, in binaries that are Enabled.
const Variable = "TROUPE_FAULTS"

// Points in the code, as Hit takes them. A new one belongs into names, too. An error changes nothing, except at StoreWrite,
// StoreCommit and StoreCheckpoint.
const (
	StoreWrite        = "store.write"        // before the first change of a batch is written
	StoreCommit       = "store.commit"       // after the last change of a batch is written, before the commit
	StoreCommitted    = "store.committed"    // after the commit, before anybody is told
	StoreAnswered     = "store.answered"     // after all of a batch were told
	StoreCheckpoint   = "store.checkpoint"   // before the log is moved into the database
	StoreCheckpointed = "store.checkpointed" // after that
	PlacementLaunched = "placement.launched" // a game session was made for a placement, and is durable
	PlacementSeated   = "placement.seated"   // the players of a placement have their seats; it is not FULFILLED yet
	MatchPlacing      = "match.placing"      // the tickets of a match are PLACING; its placement is not started yet
	MatchFilled       = "match.filled"       // a running game session has the players of a match, durable; their tickets are not COMPLETED yet
)

var names = []string{StoreWrite, StoreCommit, StoreCommitted, StoreAnswered, StoreCheckpoint, StoreCheckpointed, PlacementLaunched, PlacementSeated, MatchPlacing, MatchFilled}

// Names returns all points, also in a binary that has none of them.
func Names() []string { return slices.Clone(names) }
