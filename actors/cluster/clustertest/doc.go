// Package clustertest has a coordinator in memory, with faults of the store and of each host's way to it, and the checks that every
// coordinator passes. In a synctest bubble its leases are of virtual time. It keeps no record beyond the life of a Store.
package clustertest
