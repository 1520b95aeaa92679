// Package catalog keeps the resources: fleets, aliases, custom locations, scripts with their contents,
// capacity, port ranges, tags, fleet events, and what creators have been charged for.
//
// It decides on every change of a resource, and on the status of a fleet. It knows no game session and
// no process: what those have to follow is told to a Listener, and what happened to processes is told to it
// (FleetEvent, FleetRuns, FleetFails, ContentRuns, Emptied).
//
//	request -> Receive -> transaction of the ledger -> durable -> applied -> Listener -> Reply
//
// A fleet is NEW, DOWNLOADING, VALIDATING, BUILDING, ACTIVATING, ACTIVE, or in ERROR until some process
// runs; then DELETING until its game sessions have ended, and TERMINATED for a day.
//
// A Catalog has no goroutine and no lock. It belongs to the fleet actor, which calls its methods and hands
// it messages (Receive). Everything that has been answered is in Options.Store; a start reads it, and
// leaves out records that make no sense (Unread). A crash ends the host, as the fleet actor's does.
package catalog
