package messages

// ReportFleets tells the Leader of a cluster's catalog the state of the fleets and scripts on one node. Each report
// replaces the node's previous report.
type ReportFleets struct {
	ToCatalog[None]
	Node    string
	Fleets  []FleetReport
	Scripts []ScriptReport
	Events  []ReportedEvent // events since the last report that was answered
}

// FleetReport is the state of a fleet on one node.
type FleetReport struct {
	FleetID FleetID
	Runs    bool // a process runs
	Fails   bool // no process runs, and none is being started
	Empty   bool // the fleet is DELETING, and the node has no more game sessions of it
}

// ScriptReport is the state of a script's newest content on one node.
type ScriptReport struct {
	ScriptID   ScriptID
	Contents   int      // the number of the content
	Tried      bool     // each process configuration of the script runs the content or has refused it
	Refused    []string // reasons for which process configurations refused the content
	Runs       bool     // a process runs the content
	Everywhere bool     // no process configuration runs an earlier content
}

// ReportedEvent is a fleet event that occurred on a node.
type ReportedEvent struct {
	FleetID       FleetID
	Code, Message string
}

// ChargeCreator counts a game session that a creator is about to create on a fleet of a cluster. With Refund it reverts
// an earlier charge. The error says why the creator's limit does not allow the game session.
type ChargeCreator struct {
	ToCatalog[None]
	FleetID   FleetID
	CreatorID string
	For       string // names the game session, which is counted once however often it is charged
	Refund    bool
}
