// Package admin lists game sessions, player sessions, placements and queues of a host, as
// tables or as JSON. It calls the same service API as game backends.
package admin
