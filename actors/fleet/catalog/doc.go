// Package catalog keeps the resources: fleets, aliases, custom locations, scripts with their contents,
// capacity, port ranges, tags, fleet events, and what creators have been charged for.
//
// It decides on every change of a resource and on a fleet's status. It has no game sessions and no processes: a
// Listener gets what concerns them, and they report (FleetEvent, FleetRuns, FleetFails, ContentRuns, Emptied).
//
//	request -> Receive -> transaction of the ledger -> durable -> applied -> Listener -> Reply
//
// A fleet is NEW, DOWNLOADING, VALIDATING, BUILDING, ACTIVATING, ACTIVE, or in ERROR until some process
// runs; then DELETING until its game sessions have ended, and TERMINATED for a day.
//
// In a cluster, one Leader decides on the resources of all nodes. The catalog of each node follows the records that the Leader stores: it
// applies them, tells its Listener what concerns this node, answers queries, and reports to the Leader how fleets and scripts do.
//
// A Catalog has no goroutine and no lock: it belongs to the fleet actor, which calls it and passes it messages (Receive). All
// answered changes are in Options.Store, which it reads at the start, without damaged records (Unread). A panic ends the host.
package catalog
