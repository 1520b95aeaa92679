// Package catalog keeps the resources: fleets, aliases, custom locations, scripts with their contents,
// capacity, port ranges, tags, fleet events, and what creators have been charged for.
//
// It decides on every change of a resource, and on the status of a fleet. It has no game sessions and no
// processes. It calls a Listener with changes that concern them, and they report to it (FleetEvent,
// FleetRuns, FleetFails, ContentRuns, Emptied).
//
//	request -> Receive -> transaction of the ledger -> durable -> applied -> Listener -> Reply
//
// A fleet is NEW, DOWNLOADING, VALIDATING, BUILDING, ACTIVATING, ACTIVE, or in ERROR until some process
// runs; then DELETING until its game sessions have ended, and TERMINATED for a day.
//
// A Catalog has no goroutine and no lock. It belongs to the fleet actor, which calls its methods and passes
// it messages (Receive). All answered changes are in Options.Store; at the start it reads them, and ignores
// damaged records (Unread). A panic in it crashes the fleet actor, and so ends the host.
package catalog
