// Package catalog manages the resources: fleets, aliases, custom locations, scripts with their contents, builds, capacity, port
// ranges, tags, fleet events, and the charges of creators.
//
// The catalog decides on every change of a resource and on the status of fleets. It has no game sessions and no
// processes. It tells a Listener about changes that affect them. In return, their owners report with FleetEvent,
// FleetRuns, FleetFails, ContentRuns and Emptied.
//
//	request -> Receive -> transaction of the ledger -> durable -> applied -> Listener -> Reply
//
// A fleet is NEW, DOWNLOADING, VALIDATING, BUILDING, ACTIVATING and finally ACTIVE. It is in ERROR if no process runs,
// until one does. Deletion makes it DELETING until its game sessions have ended. Then it is TERMINATED, and it is
// dropped a day later.
//
// In a cluster, one Leader decides on the resources of all nodes. The catalog of each node follows the records that the
// Leader stores. It applies them, tells its Listener what affects this node, answers queries, and reports the state of
// fleets and scripts to the Leader.
//
// A Catalog has no goroutine and no lock. It belongs to the fleet actor, which calls it and forwards messages to it
// (Receive). All acknowledged changes are in Options.Store. The Catalog reads the store at the start and skips damaged
// records (Unread). A panic ends the host.
package catalog
