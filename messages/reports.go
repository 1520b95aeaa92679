package messages

// ReportFleets tells the catalog of a cluster how the fleets and scripts do on one node. Each report replaces the one before.
type ReportFleets struct {
	ToCatalog[None]
	Node    string
	Fleets  []FleetReport
	Scripts []ScriptReport
	Events  []ReportedEvent // since the last report that was answered
}

// FleetReport says how a fleet does on a node.
type FleetReport struct {
	FleetID FleetID
	Runs    bool // a process runs
	Fails   bool // no process runs, and none is being started
	Empty   bool // the fleet is DELETING, and the node has no game session of it
}

// ScriptReport says how the newest content that a node has of a script does on it.
type ScriptReport struct {
	ScriptID   ScriptID
	Contents   int      // the number of the content
	Tried      bool     // each process configuration runs the content, or has refused it
	Refused    []string // reasons of those that have refused it
	Runs       bool     // a process runs the content
	Everywhere bool     // no process configuration runs an earlier one
}

// ReportedEvent is an event of a fleet that a node has seen.
type ReportedEvent struct {
	FleetID       FleetID
	Code, Message string
}

// ChargeCreator counts a game session that a creator is about to create on a fleet of a cluster, or takes that back. The error says why the
// creator's limit does not allow it.
type ChargeCreator struct {
	ToCatalog[None]
	FleetID   FleetID
	CreatorID string
	Refund    bool
}
